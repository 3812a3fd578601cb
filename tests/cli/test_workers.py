"""The processes of ``setwise compare`` end with it, however it ends."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from setwise.cli import main
from setwise.estimators.base import end_with


def session(leader):
    """The processes of the group of a process that still run, with their commands."""
    shown = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,pgid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 3) for line in shown.splitlines()]
    return {int(pid): args for pid, its, state, args in rows if its == str(leader) and state[0] != "Z"}


def waited(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.2)
    return condition()


@pytest.mark.skipif(sys.platform == "win32", reason="needs ps and signals")
@pytest.mark.parametrize(("number", "code"), [(15, 143), pytest.param(2, 130, marks=pytest.mark.slow), (9, -9)])
def test_no_worker_outlives_the_command(number, code, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "t.npz", X=rng.normal(size=(20_000, 20)), y=rng.integers(0, 2, 20_000))
    words = [sys.executable, "-m", "setwise", "compare", tmp_path / "t.npz", "--n-jobs", "2", "--out", tmp_path / "r"]
    process = subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # What is started in the background by a shell ignores Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  (no threads run here)
    )

    def workers():
        return [args for args in session(process.pid).values() if "loky" in args and "popen" in args]

    try:
        assert waited(lambda: len(workers()) == 2, 90)
        time.sleep(1.0)
        process.send_signal(number)
        said = process.communicate(timeout=120)[1]
        assert process.returncode == code
        assert waited(lambda: not session(process.pid), 30), session(process.pid)
        assert number == 9 or said.endswith("setwise: interrupted, nothing was written.\n")
        assert number == 9 or not (tmp_path / "r").exists()
    finally:
        for pid in session(process.pid):
            os.kill(pid, signal.SIGKILL)


def test_a_worker_watches_its_parent_where_the_system_tells_its_end(monkeypatch):
    started = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread.name))
    for system in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", system)
        end_with(os.getppid())
    assert started == ["end_with"] * 2


def test_the_handler_of_sigterm_is_put_back(capsys):
    before = signal.getsignal(signal.SIGTERM)
    assert main(["list"]) == 0
    assert signal.getsignal(signal.SIGTERM) is before
