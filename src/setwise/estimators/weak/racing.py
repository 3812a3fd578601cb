"""The choice of a method and of C by the likelihood of what is known of bags that were held out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import final

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t

from setwise.core.checks import Ints, Values
from setwise.estimators.weak.family import Family
from setwise.estimators.weak.knowledge import Knowledge
from setwise.estimators.weak.problem import ConstantModel, Model, Problem, Settings
from setwise.estimators.weak.progress import Watch
from setwise.probabilistic import CountLikelihood

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
class Doubt:
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
class Race:
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
    doubt: Doubt
    signal: tuple[float, float]
    chance: float


def race(problem: Problem, family: Family, methods: tuple[str, ...], Cs: tuple[float, ...], settings: Settings,
         cv: int, seed: int) -> Race:  # fmt: skip
    """Judge all methods with all C on the bags of each of ``cv`` folds in turn, by models of the others.

    Raises KeyboardInterrupt after Ctrl-C.
    """
    rng = np.random.default_rng(seed)
    parts = _some_bags(problem, rng)
    keys = [CONSTANT, *product(methods, Cs)]
    values = {key: np.full(len(parts), np.nan) for key in keys}
    for held_out, train in _folds(parts, cv, rng):
        judged = problem.take(parts[held_out])
        for key, model in _models(problem.take(train), family, methods, Cs, settings):
            values[key][held_out] = log_likelihood(model, judged)
    return _ranked({key: np.round(each, DIGITS) for key, each in values.items()}, methods[0])


def likeliest_constant(knowledge: Knowledge) -> ConstantModel:
    """The log-odds from -50 to 50, the same for all rows, of greatest likelihood of what is known."""
    evaluator, total = CountLikelihood(knowledge.loss).on(knowledge.sets), int(knowledge.sets.offsets[-1])

    def loss(c: Values) -> tuple[float, Values]:
        found = evaluator(np.full(total, c[0]))
        return float(found.values.sum()), np.array([found.gradient.sum()])

    found = minimize(loss, [knowledge.log_odds], jac=True, method="L-BFGS-B", bounds=[(-FAR, FAR)])
    return ConstantModel(float(found.x[0]))


def log_likelihood(model: Model, problem: Problem) -> Values:
    """``log Pr(what is known)`` of each bag, (bags,)."""
    known = problem.knowledge
    return -np.asarray(CountLikelihood(known.loss).on(known.sets)(model.scores(problem.X)).values)


def _some_bags(problem: Problem, rng: np.random.Generator) -> Ints:
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


def _models(
    problem: Problem, family: Family, methods: tuple[str, ...], Cs: tuple[float, ...], settings: Settings
) -> Iterator[tuple[tuple[str, float], Model]]:
    """All candidates, fitted to a problem."""
    yield CONSTANT, likeliest_constant(problem.knowledge)
    start = None
    for C in Cs:
        quiet = replace(settings, C=C, tol=max(settings.tol, ROUGH), watch=Watch())
        start = _going(family.start(problem, start, quiet))
        for method in methods:
            settings.watch.note(f"race: {method}, C = {C:g}")
            yield (method, C), _going(family.fit(method, problem, start, quiet))


def _going(model: Model) -> Model:
    """The model, unless Ctrl-C has ended its fit."""
    if model.status == "interrupted":
        raise KeyboardInterrupt
    return model


def _ranked(values: dict[tuple[str, float], Values], trusted: str) -> Race:
    """The outcome, from the log-likelihoods of each bag under each candidate."""
    order = sorted(values, key=lambda key: (-values[key].mean(), key[0] == "constant", key[1]))
    found = tuple(WeakCandidate(*key, *_mean_and_error(values[key])) for key in order)
    real = [key for key in order if key[0] != "constant"]
    best = _chosen(values, real, trusted)
    others = [key for key in real if key[0] != best[0]] or [key for key in real if key != best] or [CONSTANT]
    reference = next(key for key in order if key[0] == "constant")
    doubt = Doubt(*others[0], *_mean_and_error(values[best] - values[others[0]]))
    chosen = found[order.index(best)]
    gain, error = _mean_and_error(values[best] - values[reference])
    chance = float(t.sf(gain / max(error, np.finfo(np.float64).tiny), len(values[best]) - 1))
    return Race(found, chosen, doubt, (gain, error), chance)


def _chosen(values: dict[tuple[str, float], Values], order: list[tuple[str, float]], trusted: str) -> tuple[str, float]:
    """The best candidate of the trusted method, unless that of another is better by more than a standard error."""
    usual = next(key for key in order if key[0] == trusted)
    gain, error = _mean_and_error(values[order[0]] - values[usual])
    return order[0] if gain > error else usual


def _mean_and_error(values: Values) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
