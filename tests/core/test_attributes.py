import os
import subprocess
import sys
import threading

import pytest

from setwise.core.attributes import cached_property


class BarrierObject:
    started = threading.Barrier(2, timeout=30)

    @cached_property
    def value(self):
        """What is computed."""
        self.started.wait()
        return object()


def test_two_threads_compute_at_once():
    # With a lock for the class the second one would wait for the first, and the barrier would break.
    slow = BarrierObject(), BarrierObject()
    threads = [threading.Thread(target=lambda one=one: one.value) for one in slow]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("value" in vars(one) for one in slow)


def test_two_threads_keep_the_same_value():
    slow, found = BarrierObject(), []
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is slow.value
    assert BarrierObject.value.__doc__ == "What is computed."


FORKS = """
import os, signal, sys, threading, time
import numpy as np
from setwise import SetClassifier
from setwise.kernels.segments import count_true
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 2))
y = X[:, 0] + rng.standard_normal(60) > 0.0
going, children = True, {}

def fit():
    SetClassifier("f1", "margin", C=1.0, max_iter=3).fit(X, y)

def fit_on():
    while going:
        fit()

def fork(times, pause, name):
    begin = time.perf_counter()
    for _ in range(times):
        delay = time.perf_counter() - begin
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            fit()
            os._exit(0)
        children[child] = f"{name} + {delay:.3f} s"
        time.sleep(pause)

other = threading.Thread(target=fit_on, daemon=True)
other.start()
fork(12, 0.003, "first fit")
count_true.left = 0.0
fork(3, 0.1, "first kernel")
assert other.is_alive() and "numba" in sys.modules
going = False
for child, forked in children.items():
    end = os.waitpid(child, 0)[1]
    if end:
        print("hung" if end == signal.SIGALRM else "failed", "when forked at", forked)
print(len(children), "children", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a fork beside threads is not safe on a Mac, and Windows has none")
def test_the_child_of_a_fork_fits_while_another_thread_fits_first_and_makes_its_first_kernel(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    bad = ran.stdout.splitlines()[:-1]
    assert ran.stdout == "15 children\n", f"{len(bad)} did not end well: {bad} {ran.stderr}"


LATE = """
import sys
import numpy as np
from setwise import MeasureClassifier, SetClassifier
X = np.random.default_rng(0).standard_normal((60, 2))
y = X[:, 0] > 0.3
known = set(sys.modules)
SetClassifier("jaccard", "lovasz", max_iter=3).fit(X, y)
SetClassifier("f1", threshold="exact", max_iter=3).fit(X, y)
MeasureClassifier(loss="f1").fit(X, y)
print([name for name in sorted(set(sys.modules) - known) if name.startswith("setwise")])
"""


def test_a_fit_imports_nothing_of_the_library():
    # A child that is forked meanwhile would wait for the lock of that import, which nobody gives back there.
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", LATE], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[]", ran.stderr
