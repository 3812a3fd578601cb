"""Multiple instances: a bag is positive if one of its rows is, and only bags have labels.

The protocol was fixed before the first test result; only seconds of training were looked at before.

*Data.* Elephant and Fox (Andrews, Tsochantaridis and Hofmann 2002), 200 bags of 1,391 and 1,320 rows with 230 features,
and Musk1 (Dietterich, Lathrop and Lozano-Perez 1997), 92 bags of 476 rows with 166 features; about half of the bags are
positive. When quick, 60 bags of five rows in three dimensions are generated.

*Maps.* Rows as they are, and 100 features of scikit-learn's ``Nystroem`` for the kernel ``exp(-gamma |x - x'|^2)``;
each after ``StandardScaler``. Both are fitted to the training rows alone.

*Methods.* Each on both maps, linear in the features.

- count likelihood: ``WeakSetClassifier(method="count_likelihood", C=C)`` with ``at_least=1`` for positive bags and
  ``counts=0`` for negative ones; a bag is predicted positive if ``Pr(one or more) > 1/2``;
- the same model, a bag being predicted positive only if one of its rows is, by itself;
- single-instance SVM: ``LinearSVC`` of rows that have the labels of their bags; a bag is positive if one row is;
- mi-SVM, our code: from there, rows of positive bags take the labels that they are given, at least one of a bag being
  positive, and so on until no label changes, 20 times at most (Andrews et al. 2002);
- MI-SVM, our code: each positive bag is its mean at first, and then its row of greatest score, in the same way;
- on rows as they are also the count likelihood with ``C="auto"``, which the estimator finds by the likelihood of bags
  that it holds out itself. No method but this one is free of the inner folds below.

*Tuning.* The same for all: accuracy of bags, mean over two stratified inner folds of the training bags; of equals the
first. C is .01, .1 or 1 for the count likelihood and, as a hinge counts each row, .001, .01 or .1 for the SVMs on rows
as they are, and .01, .1 or 1 on Nystroem's features, which are smaller. The gamma is .3 or 1 divided by the number of
features. The second row takes what the first has chosen.

*Splits.* 10 times 10 stratified folds of bags; when quick, 2 times 3.

*Measure.* Accuracy of bags in percent, and its standard error over bags, each bag with its mean over the repetitions.
Published figures of mi-SVM and MI-SVM are not printed: no source at hand confirmed them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from papers.experiment import Advance, Experiment, Outcome, Settings, Table, need_data
from papers.paired_mean import verdict
from setwise.core.checks import Bools, Ints, Values
from setwise.estimators import WeakSetClassifier

TABLES = ("Elephant", "Fox", "Musk1")
REPETITIONS, FOLDS, INNER, ROUNDS = 10, 10, 2, 20
QUICK_REPETITIONS, QUICK_FOLDS = 2, 3
GAMMAS = (0.3, 1.0)
LIKELIHOOD_C, ROWS_C, KERNEL_C = (0.01, 0.1, 1.0), (0.001, 0.01, 0.1), (0.01, 0.1, 1.0)

Score = Callable[[Values], Values]


@final
@dataclass(frozen=True, eq=False)
class LabeledBags:
    """Rows with the numbers of their bags, (n,), and the labels of the bags, (m,)."""

    X: Values
    owners: Ints
    labels: Bools

    def take(self, parts: Ints) -> "LabeledBags":
        """Some bags, numbered anew."""
        place = np.full(len(self.labels), -1)
        place[parts] = np.arange(len(parts))
        rows = np.flatnonzero(place[self.owners] >= 0)
        return LabeledBags(self.X[rows], place[self.owners[rows]], self.labels[parts])

    def mapped(self, features: Any) -> "LabeledBags":
        """The same bags with the features of a fitted transformer."""
        return LabeledBags(features.transform(self.X), self.owners, self.labels)

    def highest(self, scores: Values) -> Values:
        """The greatest score of each bag, (m,)."""
        top = np.full(len(self.labels), -np.inf)
        np.maximum.at(top, self.owners, scores)
        return top


def likelihood(bags: LabeledBags, C: float | str) -> WeakSetClassifier:
    """The model of greatest likelihood of the labels of bags."""
    model = WeakSetClassifier(method="count_likelihood", C=C)
    least, none = np.where(bags.labels, 1.0, np.nan), np.where(bags.labels, np.nan, 0.0)
    return model.fit(bags.X, groups=bags.owners, at_least=least, counts=none)


def by_likelihood(bags: LabeledBags, C: Any) -> Callable[[LabeledBags], Bools]:
    """Predictions of bags by ``Pr(one or more) > 1/2``."""
    model = likelihood(bags, C)
    return lambda new: np.asarray(model.predict_bags(new.X, new.owners).at_least_one > 0.5)


def by_rows(bags: LabeledBags, C: Any) -> Callable[[LabeledBags], Bools]:
    """Predictions of bags by the most probable row of the same model."""
    return _any_row(likelihood(bags, C).decision_function)


def single_instance(bags: LabeledBags, C: float) -> Callable[[LabeledBags], Bools]:
    """Predictions of an SVM of rows with the labels of their bags."""
    return _any_row(_svm(bags.X, bags.labels[bags.owners], C))


def mi_svm(bags: LabeledBags, C: float) -> Callable[[LabeledBags], Bools]:
    """Predictions of mi-SVM: labels of rows and an SVM in turn."""
    positive = bags.labels[bags.owners]
    y, score = positive, _svm(bags.X, positive, C)
    for _ in range(ROUNDS):
        s = score(bags.X)
        # In each positive bag the row of greatest score stays positive.
        found = positive & ((s > 0.0) | (s == bags.highest(s)[bags.owners]))
        if np.array_equal(found, y):
            break
        y, score = found, _svm(bags.X, found, C)
    return _any_row(score)


def whole_svm(bags: LabeledBags, C: float) -> Callable[[LabeledBags], Bools]:
    """Predictions of MI-SVM: one row of each positive bag and an SVM in turn."""
    negative = ~bags.labels[bags.owners]
    wanted = np.flatnonzero(bags.labels)
    sums = np.zeros((len(bags.labels), bags.X.shape[1]))
    np.add.at(sums, bags.owners, bags.X)
    chosen = (sums / np.bincount(bags.owners)[:, None])[wanted]
    places: Ints | None = None
    for _ in range(ROUNDS):
        y = np.arange(len(wanted) + int(negative.sum())) < len(wanted)
        score = _svm(np.concatenate([chosen, bags.X[negative]]), y, C)
        s = score(bags.X)
        order = np.lexsort((-s, bags.owners))
        tops = order[np.searchsorted(bags.owners[order], wanted)]
        if places is not None and np.array_equal(places, tops):
            break
        places, chosen = tops, bags.X[tops]
    return _any_row(score)


METHODS: dict[str, tuple[Callable[[LabeledBags, Any], Callable[[LabeledBags], Bools]], bool]] = {
    "count likelihood": (by_likelihood, True),
    "single-instance SVM": (single_instance, False),
    "mi-SVM, our code": (mi_svm, False),
    "MI-SVM, our code": (whole_svm, False),
}
"""Each method, and whether it takes the grid of the count likelihood."""

SHOWN = ("count likelihood", "count likelihood, one row positive", *list(METHODS)[1:])
ROWS = (*SHOWN, "count likelihood, C = auto", *(f"{name}, Nystroem" for name in SHOWN))


def _svm(X: Values, y: Bools, C: float) -> Score:
    model = LinearSVC(C=C, dual=False).fit(X, y)
    return lambda rows: np.asarray(model.decision_function(rows))


def _any_row(score: Score) -> Callable[[LabeledBags], Bools]:
    return lambda new: np.asarray(new.highest(score(new.X)) > 0.0)


def maps(kernel: bool, d: int, seed: int) -> list[Any]:
    """The maps of features to choose from."""
    if not kernel:
        return [StandardScaler()]
    return [make_pipeline(StandardScaler(), Nystroem(gamma=g / d, n_components=100, random_state=seed)) for g in GAMMAS]


def chosen(train: LabeledBags, kernel: bool, seed: int) -> dict[str, tuple[int, float]]:
    """For each method the map and the C of the greatest accuracy over the inner folds."""
    found: dict[str, dict[tuple[int, float], list[float]]] = {name: {} for name in METHODS}
    folds = StratifiedKFold(INNER, shuffle=True, random_state=seed)
    for a, b in folds.split(train.labels, train.labels):
        part, held_out = train.take(a), train.take(b)
        for k, features in enumerate(_fitting(kernel, part, seed)):
            here, there = part.mapped(features), held_out.mapped(features)
            for name, (fit, ours) in METHODS.items():
                for C in LIKELIHOOD_C if ours else KERNEL_C if kernel else ROWS_C:
                    right = float((fit(here, C)(there) == there.labels).mean())
                    found[name].setdefault((k, C), []).append(right)
    # Equal means may differ in their last digits.
    return {name: max(each, key=lambda key: round(float(np.mean(each[key])), 12)) for name, each in found.items()}


def _fitting(kernel: bool, train: LabeledBags, seed: int) -> Iterator[Any]:
    """The maps, fitted to the rows; Nystroem takes no more features than there are rows."""
    for features in maps(kernel, train.X.shape[1], seed):
        if kernel:
            features.set_params(nystroem__n_components=min(100, len(train.X)))
        yield features.fit(train.X)


def one_fold(train: LabeledBags, test: LabeledBags, seed: int) -> Bools:
    """Which test bags each row of the table has right, (rows, bags)."""
    right = []
    for kernel in (False, True):
        best = chosen(train, kernel, seed)
        fitted = list(_fitting(kernel, train, seed))
        both = [(train.mapped(features), test.mapped(features)) for features in fitted]
        for name, (fit, ours) in METHODS.items():
            k, C = best[name]
            here, there = both[k]
            right.append(fit(here, C)(there) == there.labels)
            if ours:
                right.append(by_rows(here, C)(there) == there.labels)
        if not kernel:
            right.append(by_likelihood(both[0][0], "auto")(both[0][1]) == test.labels)
    return np.array(right)


def one_repetition(bags: LabeledBags, folds: int, seed: int, advance: Callable[[], None]) -> Bools:
    """The same for all bags, each in the fold that tests it."""
    right = np.zeros((len(ROWS), len(bags.labels)), dtype=bool)
    cut = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for train, test in cut.split(bags.labels, bags.labels):
        right[:, test] = one_fold(bags.take(train), bags.take(test), seed)
        advance()
    return right


def generated(rng: np.random.Generator) -> LabeledBags:
    """60 bags of five rows; half of them have a row or two about (2, 2, 0)."""
    X, owners = rng.standard_normal((300, 3)), np.repeat(np.arange(60), 5)
    labels = np.arange(60) % 2 == 1
    X[(np.arange(300) % 5 < rng.integers(1, 3, 60)[owners]) & labels[owners], :2] += 2.0
    return LabeledBags(X, owners, labels)


def tables_of(settings: Settings) -> dict[str, LabeledBags]:
    """The bags by the names of the tables."""
    if settings.quick:
        return {"generated": generated(np.random.default_rng([settings.seed, 81]))}
    files = [f"{name.lower()}_bags.npz" for name in TABLES]
    found = {}
    paths = need_data(settings, "multiple_instances", files, "multiple instances", ("weak_labels",))
    for name, path in zip(TABLES, paths, strict=True):
        with np.load(path) as held:
            owners = np.unique(held["bags"], return_inverse=True)[1]
            found[name] = LabeledBags(held["X"].astype(np.float64), owners, held["y_bag"].astype(bool))
    return found


def _kept(settings: Settings, name: str, bags: LabeledBags, i: int, advance: Advance) -> Bools:
    """One repetition, from the folder ``out`` if it is there."""
    repetitions, folds = size_of(settings)
    path = None if settings.out is None else settings.out / f"multiple_instances-{name}-{settings.seed + i}.npy"
    say = f"{name}, {i + 1} of {repetitions}"
    if path is not None and path.is_file():
        for _ in range(folds):
            advance(say)
        return np.asarray(np.load(path))
    right = one_repetition(bags, folds, settings.seed + i, lambda: advance(say))
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, right)
    return right


def words_on(name: str, samples: Values) -> list[str]:
    """Whether the count likelihood, tuned, is better than the SVMs on the same features; (rows, bags) in percent."""
    said = []
    for ours in ("count likelihood", "count likelihood, Nystroem"):
        for rival in SHOWN[2:]:
            other = f"{rival}, Nystroem" if "Nystroem" in ours else rival
            pair = samples[ROWS.index(ours)], samples[ROWS.index(other)]
            said.append(f"{name}: {verdict(*pair, other, ours)}")
    return said


def run(settings: Settings, advance: Advance) -> Outcome:
    """Train on bags and test on bags, for each table."""
    found, words = {}, []
    for name, bags in tables_of(settings).items():
        rights = [_kept(settings, name, bags, i, advance) for i in range(size_of(settings)[0])]
        found[name] = 100.0 * np.mean(rights, axis=0)
        words += words_on(name, found[name])
    means = np.column_stack([each.mean(axis=1) for each in found.values()])
    errors = np.column_stack([each.std(axis=1, ddof=1) / np.sqrt(each.shape[1]) for each in found.values()])
    title = "Accuracy of bags in percent ± standard error over bags."
    return Outcome(
        (Table(title, ROWS, tuple(found), means, errors, None, None, means == means.max(axis=0), 1),), tuple(words)
    )


def size_of(settings: Settings) -> tuple[int, int]:
    """The numbers of repetitions and of folds."""
    return (QUICK_REPETITIONS, QUICK_FOLDS) if settings.quick else (REPETITIONS, FOLDS)


def steps(settings: Settings) -> int:
    """The number of calls of ``advance``."""
    repetitions, folds = size_of(settings)
    return repetitions * folds * (1 if settings.quick else len(TABLES))


EXPERIMENT = Experiment("multiple_instances", "Multiple instances, bags that are positive if one row is", steps, run)
