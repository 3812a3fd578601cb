"""Thresholds of rare labels against those of LibMultiLabel, on four public label matrices.

``python benchmarks/rare_labels.py FOLDER [NAME ...]``. The folder holds ``enron.npz``, ``bibtex.npz``,
``rcv1subset1500.npz`` and ``yeast.npz``: labels ``Y``, features ``X``, or ``X_data``, ``X_indices``, ``X_indptr`` and
``X_shape``, and ``n_train``. With ``--sparse`` no folder is needed: the seconds of CSR matrices of 100,000 x 100,000.

The protocol, fixed before the first result:

- Five random splits, seeds 0 to 4, with as many training rows as the official split, or half of the rows. The method
  and its constants were developed on the same tables, on the splits of seeds 100 to 104.
- The base model is one ``LinearSVC(C=1)`` for each label, the solver of LibMultiLabel. The scores on which thresholds
  are tuned are out of fold, three folds; labels with one class on a part get the score -1.
- The measures are those of scikit-learn with ``zero_division=0`` on the test rows.
- ``LibMultiLabel``: what ``train_thresholding`` of LibMultiLabel 0.10 does (Lin and Lin 2023, micromacro-freq). From
  the most frequent label on, each fold takes the threshold of greatest F1 over the number of labels so far, plus the
  micro F1 of the labels so far. The threshold is the mean over the folds.
- ``SCutFBR``: what LibMultiLabel did before, SCutFBR of Yang (2001) with fbr from 0.1 to 0.8. A fold whose best F1 is
  not above fbr takes its highest score as threshold. fbr is chosen for each label by an inner cross-validation of
  three folds. The threshold is the mean over the folds.
- A row is lost if the mean macro F1 of ``label_thresholds`` is below that of LibMultiLabel or SCutFBR, or its mean
  micro F1 more than .01 below that of the threshold 0. The error is that of the mean paired difference of the splits.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from setwise.decisions import best_threshold, label_thresholds, top_k_labels

NAMES = ("yeast", "enron", "rcv1subset1500", "bibtex")
SEEDS, FOLDS = range(5), 3
FBR = np.arange(1, 9) / 10
OURS, RIVALS = "label_thresholds", ("LibMultiLabel", "SCutFBR")


def load(path: Path) -> tuple[Any, Any, int]:
    """Features, labels and the number of training rows."""
    file = np.load(path, allow_pickle=False)
    Y = file["Y"].astype(bool)
    if "X_data" in file:
        parts = file["X_data"].astype(float), file["X_indices"], file["X_indptr"]
        X = csr_matrix(parts, shape=tuple(file["X_shape"]))
    else:
        X = csr_matrix(file["X"].astype(float))
    return X, Y, int(file["n_train"]) or len(Y) // 2


def scores_of(X: Any, Y: Any, new: Any) -> Any:
    """The scores of new rows by one machine for each label."""
    out = np.full((new.shape[0], Y.shape[1]), -1.0)
    for j, y in enumerate(Y.T):
        if y.any() and not y.all():
            out[:, j] = LinearSVC(random_state=0).fit(X, y).decision_function(new)
    return out


def out_of_fold(X: Any, Y: Any, seed: int) -> tuple[Any, Any]:
    """The scores of rows by models of the other folds, and the fold of each row."""
    scores, folds = np.zeros(Y.shape), np.zeros(len(Y), int)
    for k, (fit, held) in enumerate(KFold(FOLDS, shuffle=True, random_state=seed).split(Y)):
        scores[held], folds[held] = scores_of(X[fit], Y[fit], X[held]), k
    return scores, folds


def f1(Y: Any, guess: Any) -> tuple[float, float]:
    """Macro and micro F1."""
    tp, size = (Y & guess).sum(axis=0), Y.sum(axis=0) + guess.sum(axis=0)
    return float(np.mean(2 * tp / np.maximum(size, 1))), float(2 * tp.sum() / max(size.sum(), 1))


def cuts(y: Any, scores: Any) -> tuple[Any, Any, Any, Any]:
    """Thresholds from all positive to none, and the counts tp, fp, fn at them."""
    order = np.argsort(scores, kind="stable")
    s, left = scores[order], y[order]
    ends = np.nextafter(s[0], -np.inf), np.nextafter(s[-1], np.inf)
    thresholds = np.concatenate([ends[:1], 0.5 * (s[1:] + s[:-1]), ends[1:]])
    fn = np.concatenate([[0], np.cumsum(left)])
    tp, fp = left.sum() - fn, (~left).sum() - np.concatenate([[0], np.cumsum(~left)])
    return thresholds, tp, fp, fn


def share(top: Any, bottom: Any) -> Any:
    """The quotient, 0 where it is 0/0."""
    return np.where(bottom > 0, top / np.maximum(bottom, 1), 0.0)


def last_best(values: Any) -> int:
    """The last of the greatest values."""
    return len(values) - 1 - int(np.argmax(values[::-1]))


def libmultilabel(Y: Any, scores: Any, folds: Any) -> Any:
    """Thresholds of micromacro-freq."""
    thresholds, sums = np.zeros(Y.shape[1]), np.zeros(3)
    for m, j in enumerate(np.argsort(-Y.sum(axis=0), kind="stable"), 1):
        found = np.zeros(3)
        for k in range(FOLDS):
            t, *counts = cuts(Y[folds == k, j], scores[folds == k, j])
            tp, fp, fn = counts
            all_tp, all_fp, all_fn = (c + s for c, s in zip(counts, sums, strict=True))
            macro, micro = share(2 * tp, 2 * tp + fp + fn) / m, share(2 * all_tp, 2 * all_tp + all_fp + all_fn)
            best = last_best(macro + micro)
            thresholds[j] += t[best] / FOLDS
            found += [c[best] for c in counts]
        sums += found
    return thresholds


def scutfbr(Y: Any, scores: Any, folds: Any) -> Any:
    """Thresholds of SCutFBR for each fbr, (8, p)."""
    thresholds = np.zeros((len(FBR), Y.shape[1]))
    for j in range(Y.shape[1]):
        for k in range(FOLDS):
            t, tp, fp, fn = cuts(Y[folds == k, j], scores[folds == k, j])
            values = share(2 * tp, 2 * tp + fp + fn)
            best = last_best(values)
            thresholds[:, j] += np.where(values[best] > FBR, t[best], scores[folds == k, j].max()) / FOLDS
    return thresholds


def tuned_scutfbr(X: Any, Y: Any, scores: Any, folds: Any, seed: int) -> Any:
    """Thresholds of SCutFBR, with fbr by an inner cross-validation."""
    reached = np.zeros((len(FBR), Y.shape[1]))
    for k in range(FOLDS):
        fit = folds != k
        inner = scutfbr(Y[fit], *out_of_fold(X[fit], Y[fit], seed))
        for i, t in enumerate(inner):
            guess, truth = scores[~fit] >= t, Y[~fit]
            reached[i] += share(2 * (guess & truth).sum(axis=0), guess.sum(axis=0) + truth.sum(axis=0))
    # The largest fbr with the greatest F1; the least one if none predicts a positive right.
    best = np.array([last_best(column) if column.max() > 0 else 0 for column in reached.T])
    return scutfbr(Y, scores, folds)[best, np.arange(Y.shape[1])]


def compare(path: Path, name: str) -> list[str]:
    """The table of one data set; returns the rows that are lost."""
    X, Y, n = load(path / f"{name}.npz")
    found: dict[str, list[tuple[float, float]]] = {}
    few = []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(len(Y))
        a, b = order[:n], order[n:]
        new, (scores, folds) = scores_of(X[a], Y[a], X[b]), out_of_fold(X[a], Y[a], seed)
        few.append(int((Y[a].sum(axis=0) < 10).sum()))
        thresholds = {
            "threshold 0": 0.0,
            "common threshold": best_threshold(Y[a].ravel(), scores.ravel(), "f1").threshold,
            "shrinkage=0.0": label_thresholds(Y[a], scores, "f1", shrinkage=0.0).thresholds,
            "shrinkage=0.2": label_thresholds(Y[a], scores, "f1", shrinkage=0.2).thresholds,
            OURS: label_thresholds(Y[a], scores, "f1").thresholds,
            "LibMultiLabel": libmultilabel(Y[a], scores, folds),
            "SCutFBR": tuned_scutfbr(X[a], Y[a], scores, folds, seed),
        }
        for rule, t in thresholds.items():
            found.setdefault(rule, []).append(f1(Y[b], new >= t))
    table = {rule: np.array(values) for rule, values in found.items()}
    print(f"\n{name}: {Y.shape[1]} labels, {np.mean(few):.1f} of them with fewer than 10 positives in training")
    for rule, values in table.items():
        gain = table[OURS][:, 0] - values[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        text = "" if rule == OURS else f"   {OURS} gains {gain.mean():+.4f} +- {error:.4f} of macro F1"
        print(f"  {rule:18} macro {values[:, 0].mean():.4f} micro {values[:, 1].mean():.4f}{text}", flush=True)
    ours, zero = table[OURS].mean(axis=0), table["threshold 0"].mean(axis=0)
    lost = [f"{name}: macro F1 below {r}" for r in RIVALS if ours[0] < table[r][:, 0].mean()]
    return lost + [f"{name}: micro F1 more than .01 below threshold 0"] * bool(ours[1] < zero[1] - 0.01)


def sparse(n: int = 100_000, entries: int = 5_000_000) -> None:
    """The seconds and the memory of CSR matrices n x n."""
    import resource

    rng = np.random.default_rng(0)
    # Each row stores at least five labels, and labels have different frequencies.
    at = np.concatenate([np.arange(5 * n) % n, rng.integers(n, size=entries - 5 * n)])
    columns = np.concatenate(
        [np.arange(5 * n) // n + 7 * (np.arange(5 * n) % n), (n * rng.random(entries - 5 * n) ** 2)]
    )
    scores = csr_matrix((rng.random(entries), (at, columns.astype(int) % n)), shape=(n, n))
    scores.data = np.minimum(scores.data, 1.0)
    Y = csr_matrix((rng.random(scores.nnz) < 0.5 * scores.data, scores.indices, scores.indptr), shape=(n, n))
    small = csr_matrix(np.eye(20)) * 0.5
    calls = {
        "label_thresholds": lambda Y, q: label_thresholds(Y, q, "f1"),
        "label_thresholds, shrinkage=0.0": lambda Y, q: label_thresholds(Y, q, "f1", shrinkage=0.0),
        "top_k_labels, macro_f1": lambda _, q: top_k_labels(q, min(5, q.nnz // q.shape[0]), "macro_f1"),
    }
    for name, call in calls.items():
        call(csr_matrix(np.eye(20, dtype=bool)), small)
        wall, processor = time.perf_counter(), time.process_time()
        call(Y, scores)
        seconds = time.perf_counter() - wall, time.process_time() - processor
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{name}, {scores.nnz} entries: {seconds[0]:.1f} s, {seconds[1]:.1f} s of the processor, {peak:.2f} GiB")


def main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["--sparse"]:
        sparse()
        return
    lost = [row for name in sys.argv[2:] or NAMES for row in compare(Path(sys.argv[1]), name)]
    print("\nlost: " + ("; ".join(lost) or "none"))


if __name__ == "__main__":
    main()
