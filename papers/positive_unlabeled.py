"""Positive and unlabeled rows: some positives are labeled, and the share of positives among the others is known.

The protocol was fixed before the first test result.

*Data.* Wisconsin breast cancer (569 rows, malignant is positive) and handwritten digits (1,797 rows, even digits are
positive), which come with scikit-learn, and mammography (11,183 rows, Woods et al. 1993). When quick, breast cancer
with one prior and three seeds.

*Splits.* For each of ten seeds half of the rows, stratified, are for training. 30 of their positives, drawn at random,
are labeled. The other training rows are thinned at random to the largest set in which the share of positives is the
prior, .1, .3 or .5: these are the unlabeled rows. Test rows are the other half, thinned to the same share. Features are
standardized by the labeled and unlabeled rows.

*The prior* is the share of positives among the unlabeled rows; labeled ones do not count. Each method that needs it is
told the right one, one that is a fifth less and one that is a fifth more.

*Methods.* All are linear in the features. None is tuned, as there are no labels to tune by: logistic regression with
``C = 1`` is the base of all, nnPU aside, which has its own descent and no regularization.

- count likelihood: ``WeakSetClassifier(C=1)`` with y of 1 and -1, and all training rows in one bag, which takes that
  method. What the bag is told counts labeled positives too: ``proportions = (30 + prior m) / (30 + m)`` for m unlabeled
  rows;
- matched threshold: logistic regression of labeled against unlabeled, and the threshold above which the share of the
  unlabeled rows is the prior;
- nnPU (Kiryo et al. 2017) of ``pulearn``, told the prior, with its own step of .01, and with 1; 1,000 iterations;
- Elkan-Noto and weighted Elkan-Noto of ``pulearn``, with a fifth held out; they know no prior;
- bagging (Mordelet and Vert 2014) of ``pulearn``: 30 models, each of as many unlabeled rows as there are labeled ones;
- unlabeled as negative: logistic regression, as it is;
- full labels: logistic regression of the true labels of all training rows.

Without ``pulearn`` its rows are left out, and a sentence says so.

*Measures.* F1 and error on test rows in percent, mean and standard error over seeds, which share rows.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, final

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from papers.experiment import Advance, Experiment, Outcome, Settings, Table, need_data
from papers.lovasz_paper import mean_and_error
from papers.measure_reference import read_table
from papers.paired_mean import PairedMean
from setwise.core.checks import Bools, Ints, Values
from setwise.estimators import WeakSetClassifier
from setwise.losses import FBeta

PRIORS, QUICK_PRIORS = (0.1, 0.3, 0.5), (0.3,)
TOLD = {"right": 1.0, "a fifth less": 0.8, "a fifth more": 1.2}
"""Factors of the prior that methods are told."""
SEEDS, QUICK_SEEDS, LABELED = 10, 3, 30
MEASURES = ("F1", "error")


@final
@dataclass(frozen=True, eq=False)
class PositiveUnlabeledTask:
    """Training rows, whether they are labeled positives and their true labels, and test rows with true labels."""

    X: Values
    labeled: Bools
    truth: Bools
    X_test: Values
    y_test: Bools
    seed: int

    @classmethod
    def of(cls, X: Values, y: Bools, prior: float, seed: int) -> "PositiveUnlabeledTask":
        """A split of a table."""
        rng = np.random.default_rng([seed, 82])
        train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
        known = rng.permutation(train[y[train]])[:LABELED]
        unlabeled = thinned(np.setdiff1d(train, known), y, prior, rng)
        test = thinned(test, y, prior, rng)
        rows = np.concatenate([known, unlabeled])
        scaler = StandardScaler().fit(X[rows])
        labeled = np.arange(len(rows)) < len(known)
        return cls(scaler.transform(X[rows]), labeled, y[rows], scaler.transform(X[test]), y[test], seed)


def thinned(rows: Ints, y: Bools, prior: float, rng: np.random.Generator) -> Ints:
    """The largest part of rows, drawn at random, in which the share of positives is the prior, rounded."""
    ones, zeros = rng.permutation(rows[y[rows]]), rng.permutation(rows[~y[rows]])
    total = min(len(ones) / prior, len(zeros) / (1.0 - prior))
    return np.sort(np.concatenate([ones[: round(total * prior)], zeros[: round(total * (1.0 - prior))]]))


def logistic(X: Values, y: Bools) -> LogisticRegression:
    """The base of all methods."""
    return LogisticRegression(C=1.0, max_iter=2000).fit(X, y)


def count_likelihood(task: PositiveUnlabeledTask, prior: float) -> Bools:
    """Predictions of test rows by the likelihood of the labels and the number of positives."""
    m, k = int((~task.labeled).sum()), int(task.labeled.sum())
    model = WeakSetClassifier(C=1.0)
    with warnings.catch_warnings():
        # One bag on purpose.
        warnings.filterwarnings("ignore", message=".*groups.*")
        model.fit(task.X, np.where(task.labeled, 1, -1), proportions=(k + prior * m) / (k + m))
    return np.asarray(model.predict(task.X_test) == 1)


def matched(task: PositiveUnlabeledTask, prior: float) -> Bools:
    """Predictions of logistic regression of labeled against unlabeled, with a threshold."""
    model = logistic(task.X, task.labeled)
    threshold = np.quantile(model.decision_function(task.X[~task.labeled]), 1.0 - prior)
    return np.asarray(model.decision_function(task.X_test) > threshold)


def _peer(name: str) -> Any:
    """A class of pulearn."""
    return getattr(import_module("pulearn"), name)


def nnpu(task: PositiveUnlabeledTask, prior: float, step: float) -> Bools:
    """Predictions of nnPU."""
    model = _peer("NNPUClassifier")(prior=prior, learning_rate=step, random_state=task.seed)
    return np.asarray(model.fit(task.X, task.labeled.astype(int)).predict(task.X_test) == 1)


def elkan_noto(task: PositiveUnlabeledTask, weighted: bool) -> Bools:
    """Predictions of either way of Elkan and Noto."""
    sizes = (int(task.labeled.sum()), int((~task.labeled).sum())) if weighted else ()
    kind = _peer("WeightedElkanotoPuClassifier" if weighted else "ElkanotoPuClassifier")
    model = kind(LogisticRegression(C=1.0, max_iter=2000), *sizes, hold_out_ratio=0.2, random_state=task.seed)
    return np.asarray(model.fit(task.X, task.labeled.astype(int)).predict(task.X_test) == 1)


def bagging(task: PositiveUnlabeledTask) -> Bools:
    """Predictions of bagging."""
    base, size = LogisticRegression(C=1.0, max_iter=2000), int(task.labeled.sum())
    model = _peer("BaggingPuClassifier")(
        base, n_estimators=30, max_samples=size, oob_score=False, random_state=task.seed
    )
    return np.asarray(model.fit(task.X, task.labeled.astype(int)).predict(task.X_test) == 1)


WITH_PRIOR: dict[str, tuple[Callable[[PositiveUnlabeledTask, float], Bools], bool]] = {
    "count likelihood": (count_likelihood, False),
    "matched threshold": (matched, False),
    "nnPU": (partial(nnpu, step=0.01), True),
    "nnPU, step 1": (partial(nnpu, step=1.0), True),
}
WITHOUT: dict[str, tuple[Callable[[PositiveUnlabeledTask], Bools], bool]] = {
    "Elkan-Noto": (partial(elkan_noto, weighted=False), True),
    "weighted Elkan-Noto": (partial(elkan_noto, weighted=True), True),
    "bagging": (bagging, True),
    "unlabeled as negative": (lambda task: np.asarray(logistic(task.X, task.labeled).predict(task.X_test)), False),
    "full labels": (lambda task: np.asarray(logistic(task.X, task.truth).predict(task.X_test)), False),
}
"""Methods, and whether they need pulearn."""

ROWS = (*(f"{name}, {told}" for name in WITH_PRIOR for told in TOLD), *WITHOUT)


def measures(task: PositiveUnlabeledTask, prior: float) -> Values:
    """F1 and error in percent of each row of the table, (rows, 2); NaN for rivals that are not installed."""
    there = find_spec("pulearn") is not None
    ways: list[tuple[Callable[[], Bools], bool]] = []
    for fit, peer in WITH_PRIOR.values():
        ways += [(partial(fit, task, told * prior), peer) for told in TOLD.values()]
    ways += [(partial(alone, task), peer) for alone, peer in WITHOUT.values()]
    found = np.full((len(ROWS), 2), np.nan)
    for row, (way, peer) in enumerate(ways):
        if peer and not there:
            continue
        with warnings.catch_warnings():
            if peer:
                # What other projects warn of is theirs.
                warnings.simplefilter("ignore")
            guess = way()
        y = task.y_test
        found[row] = 100.0 * (1.0 - FBeta()(y, guess)), 100.0 * float((guess != y).mean())
    return found


def tables_of(settings: Settings) -> dict[str, tuple[Values, Bools]]:
    """Features and labels by the names of the tables."""
    cancer, digits = load_breast_cancer(), load_digits()
    found: dict[str, tuple[Values, Bools]] = {"breast cancer": (cancer.data, cancer.target == 0)}
    if settings.quick:
        return found
    (path,) = need_data(settings, "positive_unlabeled", ["mammography.csv"], "mammography", ("imbalanced",))
    table: Any = read_table(path)
    found["even digits"] = digits.data, digits.target % 2 == 0
    found["mammography"] = np.asarray(table.X, dtype=np.float64), np.asarray(table.y, dtype=bool)
    return found


def words_on(samples: list[Values]) -> list[str]:
    """How often the count likelihood, told the same prior, wins; (rows, 2, seeds) for each table and prior."""
    said = []
    for rival in [row for row in ROWS if not row.startswith("count likelihood")]:
        told = next((each for each in TOLD if rival.endswith(f", {each}")), "right")
        ours, other = ROWS.index(f"count likelihood, {told}"), ROWS.index(rival)
        parts = []
        for j, name in enumerate(MEASURES):
            wins = losses = 0
            for one in samples:
                pair = PairedMean.of(one[ours, j], one[other, j])
                better = (pair.difference > 0) == (name == "F1")
                wins, losses = wins + (pair.clear and better), losses + (pair.clear and not better)
            parts.append(f"{name} wins {wins}, loses {losses}, undecided {len(samples) - wins - losses}")
        if np.isfinite(samples[0][other]).all():
            said.append(f"{ROWS[ours]}, against {rival}: {'; '.join(parts)}.")
    if find_spec("pulearn") is None:
        said.append("pulearn is not installed: its rows are left out.")
    return said


def run(settings: Settings, advance: Advance) -> Outcome:
    """Train on positive and unlabeled rows, test on rows, for each table and prior."""
    priors, seeds = size_of(settings)
    tables, every = [], []
    for name, (X, y) in tables_of(settings).items():
        samples = []
        for prior in priors:
            found = []
            for i in range(seeds):
                found.append(measures(PositiveUnlabeledTask.of(X, y, prior, settings.seed + i), prior))
                advance(f"{name}, prior {prior}")
            samples.append(np.stack(found, axis=-1))
        every += samples
        for j, measure in enumerate(MEASURES):
            means, errors = mean_and_error(np.stack([one[:, j] for one in samples], axis=1))
            # Full labels are no rival.
            best = means == (np.nanmax if j == 0 else np.nanmin)(means[:-1], axis=0)
            title = f"{name}: {measure} in percent ± standard error over {seeds} seeds."
            columns = tuple(f"prior {prior}" for prior in priors)
            tables.append(Table(title, ROWS, columns, means, errors, None, None, best, 1))
    return Outcome(tuple(tables), tuple(words_on(every)))


def size_of(settings: Settings) -> tuple[tuple[float, ...], int]:
    """The priors and the number of seeds."""
    return (QUICK_PRIORS, QUICK_SEEDS) if settings.quick else (PRIORS, SEEDS)


def steps(settings: Settings) -> int:
    """The number of calls of ``advance``."""
    priors, seeds = size_of(settings)
    return len(priors) * seeds * (1 if settings.quick else 3)


EXPERIMENT = Experiment("positive_unlabeled", "Positive and unlabeled rows with a known prior", steps, run)
