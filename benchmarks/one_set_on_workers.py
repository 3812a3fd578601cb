"""One set of many rows on the workers of a Dask cluster: seconds and traffic of a cut, memory, and a rival.

``python benchmarks/one_set_on_workers.py [ROWS] [--workers 2] [--memory 1.5GB] [--folder DIR] [--persist] [--convex]
[--noise 1]``. The rows, 20 features of float32 and a label, are drawn once and written to Parquet in row groups of
250,000 (2.4 GB for 30 million rows); about a twentieth of them is positive. Workers have one thread each, and load the
rows anew for each pass, or keep them with ``--persist``; ``--convex`` leaves out the ramp and what is beside it. The
protocol was written before the first result:

- *Reading once*: all row groups are read by the workers, one after another, and nothing is kept.
- *Fit*: the Lovász hinge of Jaccard, and margin rescaling of F1 and of Jaccard by the size, each to a certified gap of
  1e-2, and the ramp of F1, which has no certificate: seconds in all, cuts, seconds a cut after the first, what the
  workers sent and were sent for a cut (of pickled answers and questions), the largest memory of a worker's process, and
  the score of the measure on all rows. The convex surrogates of so noisy a set are expected to predict nothing; with
  ``--noise 0.3``, which was added later, the labels depend on the features more.
- *Beside it*: ``SGDClassifier.partial_fit`` with the log-loss over the same row groups in this process, one pass and
  five, with the best threshold for the measure of a sample of 100,000 rows; and with the best threshold of all rows.
"""

import argparse
import pickle
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import SGDClassifier

from setwise.decisions import best_threshold
from setwise.losses import as_loss
from setwise.risks.places import PlacedObjects
from setwise.surrogates import MarginRescaling
from timing import table

FEATURES, GROUP = 20, 250_000


def write(rows: int, folder: Path, noise: float = 1.0) -> Path:
    """The Parquet file, which is drawn if it is not there."""
    path = folder / (f"rows_{rows}.parquet" if noise == 1.0 else f"rows_{rows}_{noise:g}.parquet")
    if path.exists():
        return path
    names = [f"x{j}" for j in range(FEATURES)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int8())])
    direction = np.random.default_rng(0).normal(size=FEATURES).astype(np.float32) / 4.0
    # Scores have a variance of 1.25, and the logistic distribution one of 3.29.
    level = 3.6 * np.sqrt((1.25 + 3.29 * noise**2) / (1.25 + 3.29))
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for k in range(-(-rows // GROUP)):
            rng, m = np.random.default_rng(k + 1), min(GROUP, rows - k * GROUP)
            X = rng.standard_normal((m, FEATURES), dtype=np.float32)
            y = X @ direction + noise * rng.logistic(size=m) > level
            columns = [pa.array(column) for column in X.T] + [pa.array(y.astype(np.int8))]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=GROUP)
    return path


def blocks(path: Path):
    """X and y of each row group."""
    file = pq.ParquetFile(path)
    for k in range(file.num_row_groups):
        part = file.read_row_group(k)
        yield np.column_stack([part[f"x{j}"] for j in range(FEATURES)]), part["y"].to_numpy()


class Traffic:
    """Counts the bytes of the pickled questions and answers of the places."""

    def __init__(self) -> None:
        from setwise.dask.workers import Workers

        self.sent = self.received = self.calls = 0
        tell = Workers.tell

        def counted(places, function, *arguments):
            small = [each for each in arguments if not isinstance(each, PlacedObjects)]
            self.sent += places.count * len(pickle.dumps(small))
            found = tell(places, function, *arguments)
            self.received += sum(len(pickle.dumps(answer)) for answer in found)
            return found

        Workers.tell = counted


def peak(dask_worker) -> float:
    """The largest memory of a worker's process so far, MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def only_read(part) -> int:
    return len(part)


def ours(path: Path, given: argparse.Namespace) -> None:
    from dask import delayed
    from distributed import Client, LocalCluster

    from setwise.dask import SetClassifier

    def load(k, labels):
        part = pq.ParquetFile(path).read_row_group(k, ["y"] if labels else [f"x{j}" for j in range(FEATURES)])
        return part["y"].to_numpy() if labels else np.column_stack(list(part.columns))

    rows = [
        ("loss", "surrogate", "s", "cuts", "s a cut", "kB sent a cut", "kB received", "MB a worker", "gap", "score")
    ]
    count = pq.ParquetFile(path).num_row_groups
    fits = (("jaccard", "lovasz"), ("f1", "margin"), ("jaccard", "margin"), ("f1", "ramp"))
    for loss, surrogate in fits[: -1 if given.convex else None]:
        named = MarginRescaling(loss, scale="size") if surrogate == "margin" else surrogate
        with (
            LocalCluster(
                n_workers=given.workers, threads_per_worker=1, memory_limit=given.memory, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            if len(rows) == 1:
                start = time.perf_counter()
                client.gather(client.map(lambda k: len(load(k, False)), range(count), pure=False))
                print(f"reading once: {time.perf_counter() - start:.1f} s", flush=True)
            X = [delayed(load)(k, False) for k in range(count)]
            y = [delayed(load)(k, True) for k in range(count)]
            traffic, start = Traffic(), time.perf_counter()
            model = SetClassifier(loss, named, tol=1e-2, persist=given.persist).fit(X, y)
            seconds, cuts = time.perf_counter() - start, model.n_iter_
            times = model.history_["seconds"]
            each = (times[-1] - times[0]) / max(cuts - 1, 1)
            most = max(client.run(peak).values())
            rows.append(
                (
                    loss,
                    surrogate,
                    f"{seconds:.0f}",
                    str(cuts),
                    f"{each:.2f}",
                    f"{traffic.sent / cuts / 1e3:.0f}",
                    f"{traffic.received / cuts / 1e3:.0f}",
                    f"{most:.0f}",
                    f"{model.duality_gap_:.1e}",
                    f"{model.score(X, y):.4f}",
                )
            )
            print(*rows[-1], flush=True)
    table(rows)


def rival(path: Path) -> None:
    """Logistic regression by stochastic gradients, with thresholds."""
    rows = [("measure", "passes", "s", "threshold of a sample", "of all rows")]
    model, seconds = SGDClassifier(loss="log_loss", random_state=0), 0.0
    for passes in range(1, 6):
        start = time.perf_counter()
        for X, y in blocks(path):
            model.partial_fit(X, y, classes=[0, 1])
        seconds += time.perf_counter() - start
        if passes not in (1, 5):
            continue
        scores = np.concatenate([model.decision_function(X) for X, _ in blocks(path)])
        truth = np.concatenate([y for _, y in blocks(path)]) == 1
        some = np.random.default_rng(0).choice(len(truth), min(100_000, len(truth)), replace=False)
        for name in ("jaccard", "f1"):
            loss = as_loss(name)
            cut = best_threshold(truth[some], scores[some], loss).threshold
            found = [1.0 - loss(truth.astype(int), scores >= cut), 1.0 - best_threshold(truth, scores, loss).loss]
            rows.append((name, str(passes), f"{seconds:.0f}", *(f"{score:.4f}" for score in found)))
    table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=float, nargs="?", default=3e6)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="1.5GB")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--noise", type=float, default=1.0, help="the scale of the logistic noise")
    parser.add_argument("--convex", action="store_true", help="leave the ramp and the rival out")
    parser.add_argument("--persist", action="store_true", help="workers keep the rows in memory")
    given = parser.parse_args()
    path = write(int(given.rows), given.folder, given.noise)
    print(f"{int(given.rows):,} rows, {path.stat().st_size / 1e9:.2f} GB, {given.workers} workers of {given.memory}")
    ours(path, given)
    if not given.convex:
        rival(path)


if __name__ == "__main__":
    main()
