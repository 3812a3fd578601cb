"""The choice of a method and of C by the likelihood of what is known of bags that were held out, and the fit of it.

What the knowledge cannot decide is said: bags without signal, and the interval of the intercept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Self, final

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2, t

from setwise.core.checks import Ints, Values
from setwise.decisions.task import standard_error
from setwise.estimators.base import base_threads
from setwise.estimators.weak.families import Family
from setwise.estimators.weak.knowledge import Knowledge
from setwise.estimators.weak.problem import BagProblem, ConstantModel, FitProgress, FitSettings, Model

CS = (0.01, 0.1, 1.0, 10.0)
"""The values of C that are tried."""

ROWS, BAGS = 30_000, 50
"""A race takes bags at random up to so many rows, but so many bags at least if there are as many."""

CONSTANT = ("constant", 0.0)
"""The name and C of the reference: without a weight of the bags all features have the weight 0."""

DIGITS = 9
"""Log-likelihoods are compared to so many digits behind the point, for rounding decides nothing."""

FAR = 50.0
"""Log-odds farther away are infinite."""

ROUGH = 1e-4
"""Fits of a race end at this tolerance, if not before."""


@final
@dataclass(frozen=True)
class WeakCandidate:
    """A method with its C, and how likely held-out bags are under it.

    Attributes
    ----------
    method, C : what was fitted; ``"constant"`` is the mean share as the probability of all rows, for comparison
    likelihood, error : the mean over held-out bags of ``log Pr(what is known of the bag)``, and its standard error
    """

    method: str
    C: float
    likelihood: float
    error: float


@final
@dataclass(frozen=True)
class ChoiceMargin:
    """How far the choice is ahead of the best candidate of another method, or of another C if one method ran.

    Attributes
    ----------
    method, C : that candidate
    difference, error : by how much the choice is better in mean log-likelihood of a bag, and the standard error of
        this, over bags; below 0 where the other was not better by more than that error
    """

    method: str
    C: float
    difference: float
    error: float


@final
@dataclass(frozen=True, eq=False)
class RaceOutcome:
    """The outcome of a race.

    Attributes
    ----------
    candidates : all of them, the best first; the constant is among them
    best : the choice
    doubt : the best of the others
    signal : how much better the choice is than the constant, in mean log-likelihood of a bag, and its standard error
    chance : the p-value of that, by a t test over bags against "no better"
    """

    candidates: tuple[WeakCandidate, ...]
    best: WeakCandidate
    doubt: ChoiceMargin
    signal: tuple[float, float]
    chance: float


def likeliest_constant(knowledge: Knowledge) -> ConstantModel:
    """The log-odds from -50 to 50, the same for all rows, of greatest likelihood of what is known."""
    return ConstantModel(likeliest_shift(knowledge, np.zeros(knowledge.sets.total), knowledge.log_odds)[0])


def likeliest_shift(knowledge: Knowledge, scores: Values, start: float) -> tuple[float, float]:
    """The c from -50 to 50 for which ``scores + c`` make what is known most likely, and the -log-likelihood there."""

    def loss(c: Values) -> tuple[float, Values]:
        found = knowledge.likelihood(scores + c[0])
        return float(found.values.sum()), np.array([found.gradient.sum()])

    found = minimize(loss, [start], jac=True, method="L-BFGS-B", bounds=[(-FAR, FAR)])
    return float(found.x[0]), float(found.fun)


def _some_bags(problem: BagProblem, rng: np.random.Generator) -> Ints:
    """The bags of the race, in their order."""
    sizes = problem.knowledge.sets.sizes
    drawn = rng.permutation(len(sizes))
    count = max(int(np.searchsorted(np.cumsum(sizes[drawn]), ROWS, side="right")), min(BAGS, len(sizes)))
    return np.sort(drawn[:count])


def _folds(parts: Ints, cv: int, rng: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
    """For each fold the places of its bags among ``parts``, and the bags of all others."""
    k = min(cv, len(parts))
    fold = rng.permutation(len(parts)) % k
    for f in range(k):
        yield np.flatnonzero(fold == f), parts[fold != f]


def _going(model: Model) -> Model:
    """The model, unless Ctrl-C has ended its fit."""
    if model.status == "interrupted":
        raise KeyboardInterrupt
    return model


def _ranked(values: dict[tuple[str, float], Values], trusted: str) -> RaceOutcome:
    """The outcome, from the log-likelihoods of each bag under each candidate."""
    order = sorted(values, key=lambda key: (-values[key].mean(), key[0] == "constant", key[1]))
    found = tuple(WeakCandidate(*key, *_mean_and_error(values[key])) for key in order)
    real = [key for key in order if key != CONSTANT]
    # The best candidate of the trusted method stays, unless that of another is better by more than a standard error.
    usual = next(key for key in real if key[0] == trusted)
    gain, error = _mean_and_error(values[real[0]] - values[usual])
    best = real[0] if gain > error else usual
    others = [key for key in real if key[0] != best[0]] or [key for key in real if key != best] or [CONSTANT]
    doubt = ChoiceMargin(*others[0], *_mean_and_error(values[best] - values[others[0]]))
    chosen = found[order.index(best)]
    gain, error = _mean_and_error(values[best] - values[CONSTANT])
    chance = float(t.sf(gain / max(error, np.finfo(np.float64).tiny), len(values[best]) - 1))
    return RaceOutcome(found, chosen, doubt, (gain, error), chance)


def _mean_and_error(values: Values) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(values.mean()), float(standard_error(values))


CHANCE = 0.01
"""What a test finds is chance where its p-value is above this."""

REMEDY = "Know the labels y of some rows, or form bags whose shares differ."

DROP = 1.92
"""So much may the log-likelihood drop in an interval of 95 %."""


@final
@dataclass(frozen=True)
class Interval:
    """How far what is known decides the intercept.

    Attributes
    ----------
    low, high : constants that may be added to all log-odds
    undecided : the share of the rows of which something is known whose predicted label depends on which is added
    """

    low: float
    high: float
    undecided: float


def words_on_signal(knowledge: Knowledge, race: RaceOutcome | None) -> str | None:
    """A sentence where the bags tell rows apart no better than chance, or None (naive bags).

    After a race: one share explains what is known of all bags, up to chance, and held-out bags are more likely by the
    features than by one share only by chance, or by less than 1.92 in all. Without one the same must be known of all
    bags, up to one row.
    A label that was given lifts it.
    """
    if knowledge.labeled or (knowledge.sets.labels >= 0).all():
        return None
    count = len(knowledge)
    if count == 1:
        return f"one bag carries no signal of which of its rows are positive. {REMEDY}"
    if race is None:
        same = _same(knowledge.low, knowledge.sets.sizes) and _same(knowledge.high, knowledge.sets.sizes)
        return f"the bags carry hardly any signal: the same is known of all {count} of them. {REMEDY}" if same else None
    p, (gain, error) = _chance_of_one_share(knowledge), race.signal
    if p <= CHANCE or (race.chance <= CHANCE and gain * count > DROP):
        return None
    return (
        f"the bags show no signal: one share of positives explains what is known of {count} bags up to chance "
        f"(p = {p:.2g}), and held-out bags are hardly more likely by the features than by one share (by {gain:.3g} ± "
        f"{error:.2g} a bag, p = {race.chance:.2g}). {REMEDY}"
    )


def _same(counts: Ints, sizes: Ints) -> bool:
    """Whether counts of all bags are the same share of their sizes, up to one row."""
    return bool((np.abs(counts - sizes * (counts.sum() / sizes.sum())) <= 1.0).all())


def _chance_of_one_share(knowledge: Knowledge) -> float:
    """The p-value of a chi-squared test that one share of positives explains the numbers that are known of bags."""
    sizes, share = knowledge.sets.sizes, float(expit(likeliest_constant(knowledge).log_odds))
    off = np.clip(sizes * share, knowledge.low, knowledge.high) - sizes * share
    variance = np.maximum(sizes * share * (1.0 - share), np.finfo(np.float64).tiny)
    return float(chi2.sf((off * off / variance).sum(), len(sizes) - 1))


def interval_of(knowledge: Knowledge, scores: Values) -> Interval:
    """The constants c for which the log-odds ``scores + c`` are within 1.92 of the greatest log-likelihood: 95 %."""

    def loss(c: float) -> float:
        return float(knowledge.likelihood(scores + c).values.sum())

    best, least = likeliest_shift(knowledge, scores, 0.0)
    limit = least + DROP
    low, high = _edge(loss, best, limit, -1.0), _edge(loss, best, limit, 1.0)
    return Interval(low, high, float(((scores + low > 0.0) != (scores + high > 0.0)).mean()))


def _edge(loss: Callable[[float], float], inside: float, limit: float, way: float) -> float:
    """Where the loss rises above the limit, on one side of a point inside; to a thousandth of the distance."""
    step = 0.125
    while loss(inside + way * step) <= limit:
        step *= 2.0
        if step > FAR:
            return way * np.inf
    near, far = (step / 2.0 if step > 0.125 else 0.0), step
    while far - near > 1e-3 * far:
        middle = (near + far) / 2.0
        near, far = (middle, far) if loss(inside + way * middle) <= limit else (near, middle)
    return inside + way * far


USUAL = 1.0
"""C where no race chooses it: that of logistic regression in scikit-learn."""

INTERRUPTED = "interrupted while methods were compared; this is their common start, fitted to soft labels"


@final
@dataclass(frozen=True, eq=False)
class SelectedModel:
    """A model of one class against the rest, and how it was chosen.

    Attributes
    ----------
    model : the model
    method, C : how it was fitted; ``"soft_labels"`` where Ctrl-C came before
    race : the race, or None if there was none
    choice : a sentence on the choice and its doubt
    advice : a sentence on what bags without signal cannot teach, or None
    interval : how far the intercept is decided, or None after Ctrl-C
    interrupted : whether Ctrl-C has ended the fit
    """

    model: Model
    method: str
    C: float
    race: RaceOutcome | None
    choice: str
    advice: str | None = None
    interval: Interval | None = None
    interrupted: bool = True


@final
@dataclass(frozen=True, eq=False)
class SelectionPlan:
    """What is fitted, and how it is chosen.

    Attributes
    ----------
    family : linear models, or a classifier
    methods : the names of the methods that are tried
    Cs : the values of C that are tried
    settings : how each is fitted, C aside
    cv : the number of folds of a race
    seed : the seed of the folds
    """

    family: Family
    methods: tuple[str, ...]
    Cs: tuple[float, ...]
    settings: FitSettings
    cv: int
    seed: int

    @classmethod
    def of(cls, family: Family, method: str, C: float | str, settings: FitSettings, cv: int, seed: int) -> Self:
        """The plan for a method and a C, each of which may be ``"auto"``."""
        methods = family.methods if method == "auto" else (method,)
        Cs = CS if C == "auto" and family.regularized else (USUAL if isinstance(C, str) else C,)
        return cls(family, methods, Cs, settings, cv, seed)

    @property
    def open(self) -> bool:
        """Whether there is anything to choose."""
        return len(self.methods) * len(self.Cs) > 1

    def race(self, problem: BagProblem) -> RaceOutcome:
        """Judge all methods with all C on the bags of each fold in turn, by models of the others.

        Raises KeyboardInterrupt after Ctrl-C.
        """
        rng = np.random.default_rng(self.seed)
        parts = _some_bags(problem, rng)
        values = {key: np.full(len(parts), np.nan) for key in (CONSTANT, *product(self.methods, self.Cs))}
        for held_out, train in _folds(parts, self.cv, rng):
            judged = problem.take(parts[held_out])
            for key, model in self._models(problem.take(train)):
                values[key][held_out] = -judged.knowledge.likelihood(model.scores(judged.X)).values
        return _ranked({key: np.round(each, DIGITS) for key, each in values.items()}, self.methods[0])

    def _models(self, problem: BagProblem) -> Iterator[tuple[tuple[str, float], Model]]:
        """All candidates, fitted to a problem."""
        yield CONSTANT, likeliest_constant(problem.knowledge)
        start = None
        for C in self.Cs:
            quiet = replace(self.settings, C=C, tol=max(self.settings.tol, ROUGH), watch=FitProgress())
            start = _going(self.family.start(problem, start, quiet))
            for method in self.methods:
                self.settings.watch.note(f"compared: {method}, C = {C:g}")
                yield (method, C), _going(self.family.fit(method, problem, start, quiet))

    def train(self, problem: BagProblem) -> SelectedModel:
        """The model that the plan chooses; after Ctrl-C the best so far, or KeyboardInterrupt if there is none."""
        with base_threads(problem.X):
            return self._train(problem)

    def _train(self, problem: BagProblem) -> SelectedModel:
        # These are taken without a race.
        method, C = self.methods[0], USUAL if USUAL in self.Cs else self.Cs[0]
        start = self.family.start(problem, None, replace(self.settings, C=C))
        if start.status == "interrupted":
            return SelectedModel(start, "soft_labels", C, None, "")
        outcome = None
        if self.open and len(problem.knowledge) > 1:
            try:
                outcome = self.race(problem)
            except KeyboardInterrupt:
                return SelectedModel(_stopped(start, INTERRUPTED), "soft_labels", C, None, "")
            self.settings.watch.close()
            method = outcome.best.method
            if outcome.best.C != C:
                C = outcome.best.C
                start = self.family.start(problem, start, replace(self.settings, C=C))
        choice = self._words(method, C, outcome)
        self.settings.watch.say(choice)
        return self._last(problem, start, SelectedModel(start, method, C, outcome, choice))

    def _last(self, problem: BagProblem, start: Model, chosen: SelectedModel) -> SelectedModel:
        """The fit of what was chosen, and what is to be said of it."""
        if start.status == "interrupted":
            return chosen
        try:
            model = self.family.fit(chosen.method, problem, start, replace(self.settings, C=chosen.C))
        except KeyboardInterrupt:
            return replace(chosen, model=_stopped(start, INTERRUPTED), method="soft_labels")
        if model.status == "interrupted":
            return replace(chosen, model=model)
        try:
            interval = interval_of(problem.knowledge, model.scores(problem.X))
        except KeyboardInterrupt:
            words = "interrupted after the fit of the weights, while the interval of the intercept was looked for"
            return replace(chosen, model=_stopped(model, words))
        advice = words_on_signal(problem.knowledge, chosen.race)
        return replace(chosen, model=model, interval=interval, advice=advice, interrupted=False)

    def _words(self, method: str, C: float, outcome: RaceOutcome | None) -> str:
        """The choice and its doubt."""
        what = self._named(method, C)
        if not self.open:
            return f"{what}, as asked for"
        if outcome is None:
            return f"{what}, without a comparison, which needs two bags or more"
        doubt = outcome.doubt
        if doubt.difference < 0.0:
            return (
                f"{what}: {self._named(doubt.method, doubt.C)} makes held-out bags more likely, but only by "
                f"{-doubt.difference:.3g} ± {doubt.error:.2g} (log-likelihood of a bag, ± its standard error)"
            )
        return (
            f"{what}: held-out bags are more likely by {doubt.difference:.3g} ± {doubt.error:.2g} (log-likelihood of a "
            f"bag, ± its standard error) than under {self._named(doubt.method, doubt.C)}"
        )

    def _named(self, method: str, C: float) -> str:
        return f"{method} with C = {C:g}" if self.family.regularized and method != "constant" else method


def _stopped(model: Model, words: str) -> Model:
    """The model, marked as what Ctrl-C has left."""
    return replace(model, status="interrupted", message=words)
