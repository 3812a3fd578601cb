"""Fits on a Dask cluster whose workers are killed, are slow, or come later: the same bits every time."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from rounds import rounds

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'setwise[dask]'")

import dask.array as da  # noqa: E402

from setwise.dask import SetClassifier  # noqa: E402
from setwise.risks import DistributedRisk  # noqa: E402

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3_000, 5))
Y = (X[:, 0] - 0.5 * X[:, 1] + 0.5 * RNG.normal(size=3_000) > 0.6).astype(int)
IDS = RNG.integers(40, size=3_000)
CHUNKS = (700, 1, 1_299, 1_000)


def fitted(client, ids=None):
    """The bits of a fit, the number of its cuts, and how long it took."""
    rows = [da.from_array(each, chunks=(CHUNKS, *each.shape[1:])) for each in (X, Y)]
    groups = None if ids is None else da.from_array(ids, chunks=(CHUNKS,))
    start = time.perf_counter()
    model = SetClassifier("jaccard", "convex", C=100.0, tol=1e-3, client=client).fit(*rows, groups)
    seconds = time.perf_counter() - start
    assert model.status_ == "converged"
    return (model.coef_.tobytes(), model.objective_, model.lower_bound_), model.n_iter_, seconds


@pytest.fixture
def cluster():
    """Two workers that are processes of their own; those that end are started again."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as found:
        yield found


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as found:
        yield found


class During:
    """Calls a function in a thread, some seconds after the cut with a given number was begun."""

    def __init__(self, monkeypatch, number, seconds, function):
        self.thread = threading.Thread(target=lambda: (time.sleep(seconds), function()))
        cut, calls = DistributedRisk.cut, []

        def counted(risk, *arguments):
            calls.append(risk)
            if len(calls) == number:
                self.thread.start()
            return cut(risk, *arguments)

        monkeypatch.setattr(DistributedRisk, "cut", counted)


@pytest.mark.parametrize("ids", [None, IDS], ids=["one set", "sets"])
def test_a_worker_that_is_killed(client, ids, monkeypatch):
    wanted, cuts, seconds = fitted(client, ids)
    rng = np.random.default_rng(1)
    for _ in range(rounds(20, 2)):
        client.wait_for_workers(2)
        victim = rng.choice(list(client.run(os.getpid).values()))
        number, delay = int(rng.integers(1, cuts)), rng.uniform(0.0, seconds / cuts)
        with monkeypatch.context() as patch:
            during = During(patch, number, delay, lambda pid=victim: os.kill(pid, signal.SIGKILL))
            found = fitted(client, ids)
        during.thread.join()
        assert found[:2] == (wanted, cuts)


def test_a_worker_that_is_killed_while_rows_are_loaded(client):
    wanted = fitted(client)[0]
    for seconds in np.linspace(0.0, 0.5, rounds(10, 2)):
        client.wait_for_workers(2)
        victim = next(iter(client.run(os.getpid).values()))
        thread = threading.Timer(seconds, os.kill, (victim, signal.SIGKILL))
        thread.start()
        assert fitted(client)[0] == wanted
        thread.join()


def test_a_worker_that_is_slow(client):
    """A process that is stopped for most of the time."""
    wanted = fitted(client)[0]
    slow, done, stops = next(iter(client.run(os.getpid).values())), threading.Event(), []

    def stutter():
        while not done.wait(0.02):
            os.kill(slow, signal.SIGSTOP)
            time.sleep(0.2)
            os.kill(slow, signal.SIGCONT)
            stops.append(slow)

    thread = threading.Thread(target=stutter)
    thread.start()
    try:
        found = fitted(client)
    finally:
        done.set()
        thread.join()
    assert len(stops) > 5
    assert found[0] == wanted


def test_workers_that_come_and_go(cluster, client, monkeypatch):
    wanted = fitted(client)[0]
    for workers in (3, 1, 2):
        with monkeypatch.context() as patch:
            during = During(patch, 3, 0.0, lambda n=workers: cluster.scale(n))
            assert fitted(client)[0] == wanted
        during.thread.join()
        client.wait_for_workers(workers)
        assert fitted(client)[0] == wanted
