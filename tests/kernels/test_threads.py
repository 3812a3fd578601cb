"""Units that threads share: each is taken once, errors end the work, and nested calls are serial."""

import threading

import pytest

from setwise.kernels.threads import available, share_units, thread_limit


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_unit_is_taken_once(threads):
    with thread_limit(threads):
        found = share_units(list, range(1000))
        assert available() == threads
    assert len(found) == threads
    assert sorted(unit for one in found for unit in one) == list(range(1000))


def test_workers_run_at_the_same_time_and_their_calls_are_serial():
    together = threading.Barrier(3, timeout=30)

    def worker(units):
        together.wait()
        return available(), threading.get_ident(), len(list(units))

    with thread_limit(3):
        found = share_units(worker, range(50))
    assert [one[0] for one in found] == [1, 1, 1]
    assert len({one[1] for one in found}) == 3
    assert sum(one[2] for one in found) == 50


def test_fewer_units_than_threads_and_none():
    with thread_limit(8):
        assert sorted(share_units(list, [4, 5])) in ([[], [4, 5]], [[4], [5]])
        assert share_units(list, []) == [[]]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_ends_the_work_of_all(threads):
    taken = []

    def worker(units):
        for unit in units:
            taken.append(unit)
            if unit == 3:
                raise RuntimeError("three")
            threading.Event().wait(0.001)

    with thread_limit(threads), pytest.raises(RuntimeError, match="three"):
        share_units(worker, range(100_000))
    assert len(taken) < 1000
