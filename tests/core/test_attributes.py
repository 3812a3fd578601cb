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
import os, signal, sys, threading, time, warnings
import numpy as np
from setwise import SetClassifier
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 2))
y = X[:, 0] + rng.standard_normal(60) > 0.0

def fit():
    return SetClassifier("f1", "margin", C=1.0, max_iter=3).fit(X, y).coef_

def for_ever():
    while True:
        fit()

threading.Thread(target=for_ever, daemon=True).start()
time.sleep(0.5)
answers = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        fit()
        os._exit(0)
    answers.append(os.waitpid(child, 0)[1])
print(answers)
os._exit(0)
"""


FIRST = """
import os, signal, sys, threading, time
import numpy as np
from setwise.kernels.segments import differences, running_sums
x, offsets = np.ones(4), np.array([0, 4])
threading.Thread(target=running_sums, args=(x, offsets), daemon=True).start()
while "numba" not in sys.modules:
    time.sleep(0.001)
answers = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        differences(x, offsets, np.zeros(1))
        os._exit(0)
    answers.append(os.waitpid(child, 0)[1])
print(answers)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_the_child_of_a_fork_calls_kernels_while_another_thread_makes_the_first_one(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIRST],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert ran.stdout.split() == str([0] * 3).split(), ran.stderr


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


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_the_child_of_a_fork_fits_while_another_thread_fits():
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == str([0] * 8).split(), ran.stderr
