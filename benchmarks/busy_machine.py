"""Training on 1500 x 103 features x 14 labels while other processes keep all cores but one busy.

``python benchmarks/busy_machine.py``. Small products run on one thread, so a fit should wait for nobody: the ratio of
both times should stay near what sharing caches and clocks costs. With as many BLAS threads as cores the same fit took
nine times as long beside one other process, measured beforehand.
"""

import multiprocessing
import os
from contextlib import contextmanager

from problems import yeast_like
from setwise import SetClassifier
from timing import race, table


def spin() -> None:
    while True:
        pass


@contextmanager
def busy(processes: int):
    """So many processes that compute without end."""
    started = [multiprocessing.Process(target=spin, daemon=True) for _ in range(processes)]
    for process in started:
        process.start()
    try:
        yield
    finally:
        for process in started:
            process.terminate()


def main() -> None:
    X, Y = yeast_like()
    fits = {
        name: lambda name=name: SetClassifier("hamming", "margin", name, C=150.0, random_state=0).fit(X, Y)
        for name in ("one_slack", "block_frank_wolfe")
    }
    others = max(1, (os.cpu_count() or 2) - 1)
    alone = race(fits, rounds=5)
    with busy(others):
        beside = race(fits, rounds=5)
    rows = [("learner", "alone, s", f"beside {others} busy, s", "ratio")]
    rows += [(name, f"{alone[name]:.3f}", f"{beside[name]:.3f}", f"{beside[name] / alone[name]:.2f}") for name in fits]
    table(rows)


if __name__ == "__main__":
    main()
