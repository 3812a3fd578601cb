"""F1 of whole bags where only numbers of positives are known: surrogates of F1 beside the count likelihood.

``python benchmarks/judged_bags.py [--table cancer|digits] [--size 16|64] [--only WORD]``. The protocol was written
before the first test result. Where the ramps begin was changed after it, by the seeds 100 to 104 of the first table,
and since then scores keep the boundary of their surrogate.

*Tables.* Breast cancer of scikit-learn, malignant rows positive (37 %), and its digits, those of an 8 positive (10 %).
*Splits.* Ten stratified ones, a quarter held out, by the seeds 0 to 9. *Bags.* The training rows in bags of 16 or 64 at
random, with the true numbers of positives; the rows held out in bags of the same size.

*Methods.* ``WeakSetClassifier`` with each method, ``C="auto"`` for all, so that C is .01, .1, 1 or 10 by the
likelihood of bags that the estimator holds out itself, and no label of a row is read.

*Measure.* The mean over held-out bags of one minus F1, where a bag without positives costs 0 if none is predicted, in
percent; once with rows predicted positive above the probability 1/2, and once at the threshold of ``loss="f1"``. With
its standard error over the splits, and that of the difference from the count likelihood in the same column.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from setwise import WeakSetClassifier
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", choices=("cancer", "digits"))
    parser.add_argument("--size", type=int, choices=SIZES)
    parser.add_argument("--only", default="", help="a word in the names of the methods that run beside the first")
    args = parser.parse_args()
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
