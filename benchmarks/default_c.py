"""How far the default C of the ramp is below the best of a grid, in the measure on new rows.

``python benchmarks/default_c.py DATA [SPLITS [SEED]]``, where DATA holds the folder ``imbalanced``. For each table and
measure the best C is the one of 1, 10, ..., 1e6 with the best mean over the splits, so it is a little too good. It was
asked for that the default is within .01 of it on eight of the ten tables. The default was found on the splits of seed 1
and then tried on those of seed 2.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import clone  # noqa: F401
from papers.measure_protocol import TABLES, TEST_SHARE
from papers.measure_reference import DataTable, read_table
from setwise import SetClassifier
from timing import table

GRID = tuple(10.0**k for k in range(7))
LOSSES = ("f1", "jaccard")
CLOSE = 0.01


def scores(one: DataTable, loss: str, splits: int, seed: int) -> np.ndarray:
    """The test scores of the default and of each C of the grid, (splits, 1 + m)."""
    found = []
    for train, test in StratifiedShuffleSplit(splits, test_size=TEST_SHARE, random_state=seed).split(one.X, one.y):
        prepare = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        X, rows = prepare.fit_transform(one.X[train]), prepare.transform(one.X[test])
        models = [SetClassifier(loss, "ramp", C=C, tol=1e-2).fit(X, one.y[train]) for C in ("auto", *GRID)]
        found.append([model.score(rows, one.y[test]) for model in models])
    return np.array(found)


def main(data: Path, splits: int = 6, seed: int = 2) -> None:
    """One row for each table and measure."""
    rows = [("table", "measure", "default", "best of the grid", "at C", "below ± its error")]
    close = dict.fromkeys(LOSSES, 0)
    for name in TABLES:
        one = read_table(data / "imbalanced" / f"{name}.csv")
        for loss in LOSSES:
            found = scores(one, loss, splits, seed)
            best = int(found[:, 1:].mean(axis=0).argmax())
            below = found[:, 1 + best] - found[:, 0]
            close[loss] += below.mean() <= CLOSE
            error = below.std(ddof=1) * np.sqrt(1 / splits + TEST_SHARE / (1 - TEST_SHARE))
            means = f"{found[:, 0].mean():.3f}", f"{found[:, 1 + best].mean():.3f}", f"{GRID[best]:g}"
            rows.append((name, loss, *means, f"{below.mean():+.3f} ± {error:.3f}"))
    table(rows)
    for loss, number in close.items():
        print(f"{loss}: within {CLOSE} on {number} of {len(TABLES)} tables.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
