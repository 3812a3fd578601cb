"""The ROC area that XGBoost reports on a Dask cluster beside the true one and ours, on even and on skewed partitions.

``python benchmarks/auc_over_workers.py [ROWS]``: 10 features of float32 in 8 partitions on two workers of one thread.
Each partition is a site; the first four lie on one worker, and the last four on the other one. The sites differ by
``skew``: site k has ``skew (k - 3.5) / 3.5`` added to the logit of its positives and to one feature, so that for a skew
of 0 all sites are alike. The protocol was written before the first result, but for the placing of the sites: where Dask
put all of them on one worker, the reported area was the true one.

- ``xgboost.dask.train`` with ``binary:logistic``, 20 rounds and its default depth, on the partitions as they lie;
  *reported* is the AUC of the training rows that its history holds after the last round, which workers share.
- Its predictions for the same rows, which stay on the cluster, are judged by ``setwise.dask.mean_loss``, and, once
  gathered, by ``sklearn.metrics.roc_auc_score``, which is the truth. Errors are differences from it.
- ``setwise.dask.SetClassifier("auc", "convex", tol=1e-2)`` on the same rows, with its own ``score`` and the true area
  of its scores. It is linear and the trees are not, so the areas of the two are not compared.
"""

import argparse
import time

import dask.array as da
import numpy as np
import xgboost.dask
from dask import delayed
from distributed import Client, LocalCluster
from sklearn.metrics import roc_auc_score

from setwise.dask import SetClassifier, mean_loss
from timing import table

SITES, FEATURES = 8, 10
HEAD = ("skew", "rows", "model", "true area", "reported", "its error", "ours", "our error", "s of ours")


def site(k: int, rows: int, skew: float) -> tuple[np.ndarray, np.ndarray]:
    """X and y of one site."""
    rng, shift = np.random.default_rng(k), skew * (k - 3.5) / 3.5
    X = rng.standard_normal((rows, FEATURES), dtype=np.float32)
    chance = 1.0 / (1.0 + np.exp(2.0 - X[:, 1:4].sum(axis=1) - shift))
    X[:, 0] += shift
    return X, (rng.random(rows) < chance).astype(np.int8)


def collections(client: Client, rows: int, skew: float) -> tuple[da.Array, da.Array]:
    """The partitions, one for each site: those of the lower half on one worker, the others on the other one."""
    workers, columns = sorted(client.nthreads()), []
    for i, shape, dtype in ((0, (rows, FEATURES), np.float32), (1, (rows,), np.int8)):
        held = [
            client.submit(column, i, k, rows, skew, workers=workers[2 * k // SITES], pure=False) for k in range(SITES)
        ]
        columns.append(da.concatenate([da.from_delayed(delayed(part), shape, dtype) for part in held]))
    return columns[0], columns[1]


def column(i: int, k: int, rows: int, skew: float) -> np.ndarray:
    """The features or the labels of a site."""
    return site(k, rows, skew)[i]


def timed(y: da.Array, scores: da.Array) -> tuple[float, float]:
    """The area that is found over the partitions, and its seconds."""
    start = time.perf_counter()
    return 1.0 - mean_loss(y, scores, "auc"), time.perf_counter() - start


def rows_of(client: Client, rows: int, skew: float) -> list[tuple[str, ...]]:
    """The rows of one skew."""
    X, y = collections(client, rows, skew)
    there, found = y.compute(), []
    data = xgboost.dask.DaskDMatrix(client, X, y)
    parameters = {"objective": "binary:logistic", "eval_metric": "auc", "nthread": 1}
    fitted = xgboost.dask.train(client, parameters, data, num_boost_round=20, evals=[(data, "train")])
    predicted = client.persist(xgboost.dask.predict(client, fitted["booster"], X))
    model = SetClassifier("auc", "convex", tol=1e-2, client=client).fit(X, y)
    for name, scores, reported in (
        ("XGBoost", predicted, fitted["history"]["train"]["auc"][-1]),
        ("SetClassifier", client.persist(model.decision_function(X)), model.score(X, y)),
    ):
        true, (ours, seconds) = roc_auc_score(there, scores.compute()), timed(y, scores)
        errors = f"{reported - true:+.1e}", f"{ours:.6f}", f"{ours - true:+.1e}"
        found.append(
            (f"{skew:g}", f"{len(there):,}", name, f"{true:.6f}", f"{reported:.6f}", *errors, f"{seconds:.2f}")
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=float, nargs="?", default=8e5)
    given = parser.parse_args()
    found = [HEAD]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for skew in (0.0, 1.0, 2.0, 4.0):
            found += rows_of(client, int(given.rows) // SITES, skew)
            print(*found[-2], sep="  ", flush=True)
    print(f"XGBoost {xgboost.__version__}")
    table(found)


if __name__ == "__main__":
    main()
