"""The size of a checkpoint, the time to write it, and the time to go on from it, beside one cut, for d weights.

A fit of the Lovász hinge of Jaccard on 2,000 rows of d normal features is ended after 100 iterations. To check a file
takes one cut. ``python benchmarks/checkpoints.py [d ...]``
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checkpoint import Checkpoint, FitState, read_sealed, write_sealed
from setwise.learners import OneSlack
from setwise.models import RowModel
from setwise.risks import MeanRisk
from setwise.surrogates import LovaszHinge
from timing import table

ROWS, STEPS, REPEATS, C = 2000, 100, 5, 1e4


def seconds(work: Callable[[], object]) -> float:
    """The least time of several runs."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def measured(d: int, folder: Path) -> tuple[str, ...]:
    """One row of the table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, d))
    y = X[:, :10].sum(axis=1) + 3.0 * rng.standard_normal(ROWS) > 3.0
    sets = Sets.single(y)
    risk = MeanRisk(RowModel(X, sets.offsets), LovaszHinge("jaccard").on(sets))
    file, learner = folder / f"{d}.npz", OneSlack(C=C, tol=0.0, max_iter=STEPS)
    fit = learner.minimize(risk, checkpoint=Checkpoint(file, every=1e9).open())
    kept, arrays = Checkpoint(file).open(resume=True), read_sealed(file)
    works = (
        lambda: write_sealed(folder / "again.npz", arrays),
        lambda: read_sealed(file),
        lambda: FitState.of(kept, "one_slack", C, risk),
        lambda: risk.cut(fit.w),
    )
    size = f"{file.stat().st_size / 1e6:.2f}"
    return f"{d:,}", str(len(arrays["work/slopes"])), size, *(f"{1e3 * seconds(work):.1f}" for work in works)


def main(sizes: list[int]) -> None:
    rows = [("d", "planes", "MB", "write ms", "read ms", "check ms", "cut ms")]
    with tempfile.TemporaryDirectory() as folder:
        rows += [measured(d, Path(folder)) for d in sizes]
    table(rows)


if __name__ == "__main__":
    main([int(float(a)) for a in sys.argv[1:]] or [100, 1000, 10_000, 100_000])
