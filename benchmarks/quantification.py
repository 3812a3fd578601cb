"""Objectives and seconds of training for quantification losses, beside SVM^perf.

``python benchmarks/quantification.py DATA [PROGRAM]``, where DATA holds the folders ``imbalanced`` and
``svmlight_reuters_acq``, and PROGRAM the binary ``svm_perf_learn`` with QuaPy's patch; without it the certificates of
setwise stand alone.

Protocol, written down before the first run. Data: four imbalanced tables with all rows, medians in place of what is
missing, standardized; and 2,000 texts. Losses: the ten names of QuaPy. C: .01, 1 and 100, as in QuaPy's example. The
program runs as QuaPy runs it (``-w 3``, its default tolerance), at most two minutes a fit; setwise with the defaults of
``SVMperf``. Both have one thread. The objective of the program is the one of its weights, as it writes them, evaluated
here over all labelings; what it prints itself leaves out labelings without a loss and stands beside. "lower by" is the
share of the program's objective by which ours is lower, negative where it is higher; what differs by less than 1e-9 is
equal. Seconds are those of the processor, of one fit, the program's with its reading of the file.
"""

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import clone  # noqa: F401
from papers.measure_reference import read_table
from setwise import SVMperf
from setwise.estimators.svmperf import NAMED
from setwise.surrogates import MarginRescaling

TABLES = ("yeast_me2", "pc1", "us_crime", "kc1")
CS = (0.01, 1.0, 100.0)
CODES = {"01": 0, "f1": 1, "kld": 12, "nkld": 13, "q": 22, "qacc": 23, "qf1": 24, "qgm": 25, "mae": 26, "mrae": 27}
LONGEST, EQUAL = 120, 1e-9
WIDTHS = (11, 4, 4, 10, 10, 10, 10, 8, 10, 10)
PRINTED = "Primal objective value: pval="


@dataclass(frozen=True)
class ProgramResult:
    """What a fit of the program found: its objective over all labelings, the one that it prints, and its seconds."""

    objective: float
    printed: float
    seconds: float


def problems(data: Path):
    """The names, rows and labels of the data."""
    for name in TABLES:
        one = read_table(data / "imbalanced" / f"{name}.csv")
        prepare = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        yield name, prepare.fit_transform(one.X), np.asarray(one.y).astype(int)
    texts = np.load(data / "svmlight_reuters_acq/reuters_acq.npz", allow_pickle=False)
    parts = tuple(texts[f"train_{part}"] for part in ("data", "indices", "indptr"))
    rows = csr_matrix(parts, shape=(2000, int(texts["n_features"]))).astype(np.float64)
    yield "reuters_acq", rows, (texts["train_y"] > 0).astype(int)


def by_program(program: Path, loss: str, C: float, X, y) -> ProgramResult | None:
    """The program on a file of its own; None where it takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        rows, model = Path(folder) / "rows", Path(folder) / "model"
        dump_svmlight_file(X, y, str(rows), zero_based=False)
        words = [str(program), "-c", str(C), "-w", "3", "-l", str(CODES[loss]), str(rows), str(model)]
        begin = seconds_of_children()
        try:
            said = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False).stdout
        except subprocess.TimeoutExpired:
            return None
        seconds = seconds_of_children() - begin
        printed = float(said.split(PRINTED)[1].split()[0])
        return ProgramResult(objective(loss, C, X, y, *weights(model, X.shape[1])), printed, seconds)


def weights(model: Path, d: int):
    """The weights (d,) and the intercept of a linear model in the program's file."""
    lines = model.read_text().splitlines()
    threshold = next(float(line.split()[0]) for line in lines if "# threshold b" in line)
    w = np.zeros(d)
    for line in lines[lines.index(next(line for line in lines if "# threshold b" in line)) + 1 :]:
        factor, *entries = line.split("#")[0].split()
        for entry in entries:
            at, value = entry.split(":")
            # The feature after the last one is the constant, whose weight is the threshold.
            if int(at) <= d:
                w[int(at) - 1] += float(factor) * float(value)
    return w, -threshold


def objective(loss: str, C: float, X, y, w, b: float) -> float:
    """``0.5 |w|^2 + 0.5 b^2 + 100 C`` times margin rescaling over all labelings."""
    risk = MarginRescaling(NAMED[loss], scale="size")(y, X @ w + b)
    assert risk.exact
    return 0.5 * float(w @ w + b * b) + 100.0 * C * risk.value


def seconds_of_children() -> float:
    """The seconds of the processor that finished children have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(*cells: str) -> None:
    """Print a row at once, because a run takes minutes."""
    print("  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip(), flush=True)


def main(data: Path, program: Path | None = None) -> None:
    """One row for each problem, C and loss."""
    show("data", "C", "loss", "program", "it prints", "setwise", "its bound", "lower by", "program, s", "setwise, s")
    lower = []
    for name, X, y in problems(data):
        for C in CS:
            for loss in NAMED:
                begin = time.process_time()
                ours = SVMperf(loss=loss, C=C).fit(X, y)
                seconds = time.process_time() - begin
                theirs = None if program is None else by_program(program, loss, C, X, y)
                share = np.nan if theirs is None else 1 - ours.objective_ / theirs.objective
                lower.append((share, ours.duality_gap_))
                beside = ("", "", "") if theirs is None else (
                    f"{theirs.objective:.6g}", f"{theirs.printed:.6g}", f"{theirs.seconds:.2f}"
                )  # fmt: skip
                found = f"{ours.objective_:.6g}", f"{ours.lower_bound_:.6g}", f"{share:+.1e}"
                show(name, f"{C:g}", loss, *beside[:2], *found, beside[2], f"{seconds:.2f}")
    compared = [share for share, _ in lower if not np.isnan(share)]
    print(f"\nThe largest certified gap of setwise is {max(gap for _, gap in lower):.1e}.")
    if compared:
        equal = sum(abs(share) <= EQUAL for share in compared)
        higher = sum(share < -EQUAL for share in compared)
        most = max(compared)
        print(f"{len(compared)} objectives: {equal} equal, {higher} of ours higher, lower by up to {most:.1e}.")


if __name__ == "__main__":
    warnings.simplefilter("always", ConvergenceWarning)
    with threadpool_limits(1):
        main(Path(sys.argv[1]), *map(Path, sys.argv[2:3]))
