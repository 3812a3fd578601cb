"""Fits on a Dask cluster whose workers are killed, are slow, or come later: the same bits every time."""

import os
import signal
import threading
import time
from contextlib import contextmanager

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


@contextmanager
def two_workers():
    """A cluster of two workers that are processes of their own, and its client; those that end are started again."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client


class DelayedCall:
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
    wanted, cuts, _ = fitted(client, ids)
    rng = np.random.default_rng(1)
    for _ in range(rounds(20, 1)):
        number, delay, k = int(rng.integers(1, cuts)), rng.uniform(0.0, 0.2), int(rng.integers(2))
        with two_workers() as (_, own), monkeypatch.context() as patch:
            victim = list(own.run(os.getpid).values())[k]
            during = DelayedCall(patch, number, delay, lambda pid=victim: os.kill(pid, signal.SIGKILL))
            assert fitted(own, ids)[:2] == (wanted, cuts)
            during.thread.join()


def test_a_worker_that_is_killed_while_rows_are_loaded(client):
    wanted = fitted(client)[0]
    for seconds in np.linspace(0.0, 0.5, rounds(10, 1)):
        with two_workers() as (_, own):
            victim = next(iter(own.run(os.getpid).values()))
            thread = threading.Timer(seconds, os.kill, (victim, signal.SIGKILL))
            thread.start()
            assert fitted(own)[0] == wanted
            thread.join()


def test_a_worker_that_is_slow(client):
    """A process that is stopped for most of the time."""
    wanted, done, stops = fitted(client)[0], threading.Event(), []
    with two_workers() as (_, own):
        slow = next(iter(own.run(os.getpid).values()))

        def stutter():
            while not done.wait(0.02):
                os.kill(slow, signal.SIGSTOP)
                time.sleep(rounds(20, 5) / 100)
                os.kill(slow, signal.SIGCONT)
                stops.append(slow)

        thread = threading.Thread(target=stutter)
        thread.start()
        try:
            found = fitted(own)[0]
        finally:
            done.set()
            thread.join()
    assert len(stops) > 5
    assert found == wanted


def test_workers_that_come_and_go(client, monkeypatch):
    wanted = fitted(client)[0]
    with two_workers() as (cluster, own):
        for workers in (3, 1, 2)[: rounds(3, 2)]:
            with monkeypatch.context() as patch:
                during = DelayedCall(patch, 3, 0.0, lambda n=workers: cluster.scale(n))
                assert fitted(own)[0] == wanted
            during.thread.join()
            own.wait_for_workers(workers)
            assert fitted(own)[0] == wanted
