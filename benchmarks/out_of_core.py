"""One set of N rows x 20 float32 in a Parquet file: seconds of a cut beside those of reading the file once.

``python benchmarks/out_of_core.py [rows [memory [folder]]]``

*Data.* Rows are normal; a label is positive where a sum of the features and half as much noise is above 1. The file is
written to ``folder`` in row groups of 100,000 rows, a tenth of which is in memory at a time, and is removed at the end.

*A cut.* The mean of three cuts of the risk at different weights, to a gap of 1e-3. "read" is the time of reading all
blocks as matrices once, by the reader that cuts use; a cut reads twice, beside its own work. "bind" is the pass that
checks the rows. The file is in the memory of the operating system throughout, for its cache cannot be emptied here: on
a disk that is slower than the decoding, each pass takes longer. "peak" is the growth of the resident memory of the
process, as Linux tells it, since all was imported and compiled.

*Rival.* ``SGDClassifier(loss="log_loss").partial_fit`` over the same blocks, five passes, with the threshold of best F1
on the first 100,000 rows of the file; ours are ``FileClassifier("f1", surrogate, tol=1e-2)`` with "convex" and with
"auto", the ramp, as they are and with a threshold of the same sample. All have their defaults otherwise. Both F1 are
exact, of all rows of a second file, which has a tenth of the rows and at least 100,000.
"""

import resource
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score

from setwise import FileClassifier
from setwise.datasets.blocks import Budget
from setwise.decisions import best_threshold
from setwise.distributed.file_classifier import placed_rows
from setwise.risks import DistributedRisk
from setwise.surrogates import LovaszHinge, MarginRescaling
from timing import table

D, GROUP = 20, 100_000


def write(path: Path, n: int, seed: int) -> None:
    """A file of n rows, group by group."""
    rng = np.random.default_rng(seed)
    w = np.random.default_rng(0).normal(size=D) / np.sqrt(D)
    names = [f"x{j}" for j in range(D)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int8())])
    with pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=False) as file:
        for first in range(0, n, GROUP):
            X = rng.normal(size=(min(GROUP, n - first), D)).astype(np.float32)
            y = (X @ w + 0.5 * rng.normal(size=len(X)) > 1.0).astype(np.int8)
            file.write_table(pa.table([*X.T.copy(), y], schema=schema), row_group_size=GROUP)


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


class PeakMemory:
    """The largest resident memory in the ``with`` block, above that at its begin."""

    def __enter__(self) -> "PeakMemory":
        self.ended = threading.Event()
        self.begin = self.most = resident()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while not self.ended.wait(0.005):
            self.most = max(self.most, resident())

    def __exit__(self, *unused: object) -> None:
        self.ended.set()
        self.thread.join()

    @property
    def text(self) -> str:
        """The growth in megabytes."""
        return f"{(self.most - self.begin) / 1e6:.0f} MB"


def cuts(path: Path, n: int, memory: str) -> None:
    """Seconds of reading the file and of a cut, and their memory."""
    rows = [("surrogate", "rows", "blocks", "read", "bind", "cut", "cut / read", "peak")]
    for surrogate in (LovaszHinge("jaccard"), MarginRescaling("f1", scale="size")):
        with PeakMemory() as peak:
            found = placed_rows(path, "y", None, None, Budget.of(memory), 2)
            begin = time.perf_counter()
            found.places.tell(len, found.X)
            read = time.perf_counter() - begin
            begin = time.perf_counter()
            truth = found.positives(1)
            risk = DistributedRisk(found.places, found.places.rows(found.X, 1.0), truth, surrogate)
            bind = time.perf_counter() - begin
            rng, begin = np.random.default_rng(1), time.perf_counter()
            for _ in range(3):
                risk.cut(rng.normal(size=D + 1) / 4, 1e-3)
            cut = (time.perf_counter() - begin) / 3
        seconds = (f"{read:.2f} s", f"{bind:.2f} s", f"{cut:.2f} s", f"{cut / read:.1f}")
        rows.append((surrogate.name, f"{n:,}", str(found.places.count), *seconds, peak.text))
        del risk, truth, found
    table(rows)


def fits(path: Path, fresh: Path, memory: str) -> None:
    """Ours and a logistic regression by stochastic steps over the same blocks."""
    truth = pq.read_table(fresh, columns=["y"])["y"].to_numpy()
    rows = [("method", "seconds", "peak", "F1 of fresh rows", "with threshold of a sample")]
    sample = pq.ParquetFile(path).read_row_group(0).to_pandas()
    X, y = sample.drop(columns="y").to_numpy(), sample["y"].to_numpy()

    def note(
        name: str, seconds: float, peak: PeakMemory, scores: np.ndarray, of_sample: np.ndarray, zero: float
    ) -> None:
        threshold = best_threshold(y, of_sample, "f1").threshold
        plain, tuned = (f1_score(truth, scores > t) for t in (zero, threshold))
        rows.append((name, f"{seconds:.1f}", peak.text, f"{plain:.4f}", f"{tuned:.4f}"))

    for surrogate in ("convex", "auto"):
        begin = time.perf_counter()
        with PeakMemory() as peak:
            ours = FileClassifier("f1", surrogate, tol=1e-2, memory=memory, n_jobs=2).fit(path, "y")
        seconds = time.perf_counter() - begin
        name = f"FileClassifier, {ours.surrogate_}, gap {ours.duality_gap_:.1e}, {ours.n_iter_} cuts"
        note(name, seconds, peak, ours.decision_function(fresh), ours.decision_function(X), 0.0)
    begin = time.perf_counter()
    with PeakMemory() as peak:
        rival = SGDClassifier(loss="log_loss", random_state=0)
        found = placed_rows(path, "y", None, None, Budget.of(memory), 1)
        for _ in range(5):
            found.places.tell(
                lambda rows, labels: rival.partial_fit(rows, labels, classes=[0, 1]) and None, found.X, found.y
            )
    seconds = time.perf_counter() - begin
    test = placed_rows(fresh, "y", None, None, Budget.of(memory), 1)
    scores = np.concatenate(test.places.tell(rival.decision_function, test.X))
    note("SGDClassifier.partial_fit, 5 passes", seconds, peak, scores, rival.decision_function(X), 0.0)
    table(rows)


def main(n: int, memory: str, folder: str | None) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path, fresh, small = Path(made, "rows.parquet"), Path(made, "fresh.parquet"), Path(made, "small.parquet")
        write(path, n, 1)
        write(fresh, max(n // 10, 100_000), 2)
        write(small, 2000, 3)
        print(f"{n:,} rows, {path.stat().st_size / 1e6:.0f} MB on disk, memory={memory!r}")
        # Everything is compiled first.
        FileClassifier("jaccard", "convex", max_iter=1, tol=0.9).fit(small, "y")
        FileClassifier("f1", tol=0.9).fit(small, "y")
        cuts(path, n, memory)
        fits(path, fresh, memory)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(float(given[0])) if given else 3_000_000, given[1] if len(given) > 1 else "1GB", (given[2:] or [None])[0])
