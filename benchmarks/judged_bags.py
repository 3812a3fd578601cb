"""Whole bags: F1 where only numbers of positives are known, and AUC where it is known whether there are any.

``python benchmarks/judged_bags.py [--table cancer|digits] [--size 16|64] [--only WORD]`` has surrogates of F1 beside
the count likelihood. The protocol was written before the first test result. Where the ramps begin was changed after it,
by the seeds 100 to 104 of the first table, and since then scores keep the boundary of their surrogate.

*Tables.* Breast cancer of scikit-learn, malignant rows positive (37 %), and its digits, those of an 8 positive (10 %).
*Splits.* Ten stratified ones, a quarter held out, by the seeds 0 to 9. *Bags.* The training rows in bags of 16 or 64 at
random, with the true numbers of positives; the rows held out in bags of the same size.

*Methods.* ``WeakSetClassifier`` with each method, ``C="auto"`` for all, so that C is .01, .1, 1 or 10 by the
likelihood of bags that the estimator holds out itself, and no label of a row is read.

*Measure.* The mean over held-out bags of one minus F1, where a bag without positives costs 0 if none is predicted, in
percent; once with rows predicted positive above the probability 1/2, and once at the threshold of ``loss="f1"``. With
its standard error over the splits, and that of the difference from the count likelihood in the same column.

``python benchmarks/judged_bags.py --instances FOLDER`` has multiple instances. This protocol too was written before the
first result.

*Data.* ``elephant_bags.npz``, ``fox_bags.npz`` and ``musk1_bags.npz`` in the folder: rows, and whether each bag has a
positive one. *Splits.* Ten stratified ones of the bags, a quarter held out, by the seeds 0 to 9.

*Methods.* ``WeakSetClassifier(random_state=seed)`` with all defaults, which gets ``at_least=1`` for positive bags and
``counts=0`` for negative ones. Its rival is a random forest of 300 trees and the same seed, on the mean, the maximum
and the minimum of each feature of each bag. The count likelihood, the method for rows that is trusted most, is printed
for comparison, with ``C="auto"``; nothing is tested on it.

*Measure.* The AUC of held-out bags, by ``predict_bags(..).at_least_one``. Each set is a cell: Student's t of the paired
differences over the splits, with the variance of Nadeau and Bengio (2003), one-sided for "behind the rival", and Holm's
correction over the three cells at .05. Cells that are lost are printed as LOST, those below 0 as behind.

The log-odds of the forest in ``WeakSetClassifier`` were scaled out of bag after the first result (differences of -.017,
-.009 and -.027, none lost), because bags that it had not seen were so much more likely. That changes no AUC of the
forest, but how often it is taken. Features of bags must also gain 1.92 in all since then.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split

import clone  # noqa: F401
from papers.measure_reference import holm, p_below
from papers.multiple_instances import LabeledBags
from setwise import WeakSetClassifier
from setwise.compare.answer import PairedDifference
from setwise.core.batch import Sets
from setwise.losses import FBeta
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp, SlackRescaling

SEEDS, SIZES = range(10), (16, 64)
METHODS = {
    "count likelihood": "count_likelihood",
    "margin of the count": "margin",
    "ramp of the count": "ramp",
    "margin of F1": MarginRescaling("f1"),
    "margin of F1, by size": MarginRescaling("f1", scale="size"),
    "slack of F1": SlackRescaling("f1"),
    "ramp of F1, by size": Ramp("f1", scale="size"),
    "Lovász hinge of Jaccard": LovaszHinge("jaccard"),
    "margin of Hamming": MarginRescaling("hamming"),
}


def table(name):
    """Rows and their labels of 0 and 1."""
    X, y = load_breast_cancer(return_X_y=True) if name == "cancer" else load_digits(return_X_y=True)
    return X, (y == 0 if name == "cancer" else y == 8).astype(int)


def bags(n, size, seed):
    """The bag of each of n rows, at random."""
    return np.random.default_rng(seed).permutation(n) // size


def judged(predicted, y, groups):
    """The mean of one minus F1 over bags, in percent."""
    order = np.argsort(groups, kind="stable")
    sets = Sets(y[order] == 1, np.concatenate(([0], np.cumsum(np.bincount(groups)))))
    return 100 * FBeta().values(sets, predicted[order]).mean()


def figures(name, size, method):
    """The measure of each split, (seeds, 2), and the seconds of all fits."""
    X, y = table(name)
    found, seconds = [], 0.0
    for seed in SEEDS:
        train, test, known, truth = train_test_split(X, y, stratify=y, random_state=seed)
        groups = bags(len(train), size, seed)
        begin = time.perf_counter()
        model = WeakSetClassifier(method=method, loss="f1")
        model.fit(train, groups=groups, counts=np.bincount(groups, known).astype(int))
        seconds += time.perf_counter() - begin
        s, groups = model.decision_function(test), bags(len(test), size, seed)
        found.append([judged(s > 0, truth, groups), judged(s > model.threshold_, truth, groups)])
    return np.array(found), seconds


def fitted_to(bags, **options):
    """A model of bags of which it is known whether they have a positive row."""
    known = {"at_least": np.where(bags.labels, 1.0, np.nan), "counts": np.where(bags.labels, np.nan, 0.0)}
    return WeakSetClassifier(**options).fit(bags.X, groups=bags.owners, **known)


def auc(model, bags):
    """The AUC of bags."""
    return roc_auc_score(bags.labels, model.predict_bags(bags.X, bags.owners).at_least_one)


def moments(bags):
    """The mean, the maximum and the minimum of each feature of each bag."""
    parts = [bags.X[bags.owners == b] for b in range(len(bags.labels))]
    return np.array([np.concatenate([part.mean(0), part.max(0), part.min(0)]) for part in parts])


def instances(folder):
    """Print the AUC of each split of each set, and what the test says of the three sets."""
    cells = {}
    for name in ("elephant", "fox", "musk1"):
        with np.load(folder / f"{name}_bags.npz") as file:
            bags = LabeledBags(
                file["X"].astype(float), np.unique(file["bags"], return_inverse=True)[1], file["y_bag"] == 1
            )
        found, seconds = [], [0.0, 0.0]
        for seed in SEEDS:
            cut = StratifiedShuffleSplit(1, test_size=0.25, random_state=seed)
            train, test = (bags.take(part) for part in next(cut.split(bags.labels, bags.labels)))
            begin = time.perf_counter()
            ours = fitted_to(train, random_state=seed)
            seconds[0] += time.perf_counter() - begin
            begin = time.perf_counter()
            forest = RandomForestClassifier(300, random_state=seed).fit(moments(train), train.labels)
            seconds[1] += time.perf_counter() - begin
            rival = roc_auc_score(test.labels, forest.predict_proba(moments(test))[:, 1])
            rows = fitted_to(train, method="count_likelihood", random_state=seed)
            found.append([auc(ours, test), rival, auc(rows, test)])
            shown = "  ".join(f"{value:.3f}" for value in found[-1])
            print(
                f"{name:8} split {seed}: {shown}  bags judged by {ours.bag_method_}, rows by {ours.method_}", flush=True
            )
        found = np.array(found)
        cells[name] = PairedDifference.of(found[:, 0] - found[:, 1], 1 / 3)
        means = ", ".join(
            f"{what} {mean:.3f}" for what, mean in zip(("ours", "forest", "count"), found.mean(0), strict=True)
        )
        print(f"{name}: {means}; seconds of all fits: ours {seconds[0]:.1f}, forest {seconds[1]:.1f}", flush=True)
    p_values = [p_below(cell) for cell in cells.values()]
    for (name, cell), p, adjusted in zip(cells.items(), p_values, holm(p_values), strict=True):
        verdict = "LOST" if adjusted < 0.05 else "behind" if cell.mean < 0 else ""
        words = f"{cell.mean:+.4f} ± {cell.error:.4f}  p {p:.3f}  Holm {adjusted:.3f}  {verdict}"
        print(f"{name:8} ours - forest {words}".rstrip())
    print(f"{sum(cell.mean < 0 for cell in cells.values())} of {len(cells)} cells are behind")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", choices=("cancer", "digits"))
    parser.add_argument("--size", type=int, choices=SIZES)
    parser.add_argument("--only", default="", help="a word in the names of the methods that run beside the first")
    parser.add_argument("--instances", type=Path, help="the folder of the sets of multiple instances")
    args = parser.parse_args()
    if args.instances is not None:
        instances(args.instances)
        return
    for name in ("cancer", "digits") if args.table is None else (args.table,):
        for size in SIZES if args.size is None else (args.size,):
            print(f"{name}, bags of {size}: F1 loss of bags at 1/2, and beside count likelihood; the same for F1")
            first = None
            for words, method in METHODS.items():
                if first is not None and args.only not in words:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    found, seconds = figures(name, size, method)
                first = found if first is None else first
                shown = [
                    f"{part.mean():5.1f} ± {part.std(ddof=1) / len(part) ** 0.5:3.1f}"
                    for column in (0, 1)
                    for part in (found[:, column], found[:, column] - first[:, column])
                ]
                print(f"{words:24} {'   '.join(shown)}   {seconds:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
