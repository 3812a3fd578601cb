"""The methods for linear models of rows in bags, by their names.

Soft labels are the convex start of all: logistic regression in which each row has its share of a positive as a label.
Others take the likelihood of what is known, the mean probability of each bag, completions and training in turn, margin
rescaling against completions, or any surrogate of a loss of whole bags (HOL 4.1).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Values, shown
from setwise.core.exceptions import Refusal
from setwise.core.learner import plain_interrupts
from setwise.core.loss import Loss
from setwise.core.pages import BAGS_AS_A_WHOLE
from setwise.core.surrogate import Difference, Evaluator, LinearEvaluator, Surrogate
from setwise.estimators.weak.knowledge import Knowledge, Posterior
from setwise.estimators.weak.problem import (
    TOL,
    BagProblem,
    FitSettings,
    LinearModel,
    as_log_odds,
    calibrated,
    descend_by_bundles,
    descend_by_lbfgs,
)
from setwise.probabilistic import AllowedPartition, CountLikelihood, ProportionLoss
from setwise.surrogates import MarginRescaling, Ramp


def fit_to(problem: BagProblem, targets: Values, start: Values | None, settings: FitSettings) -> LinearModel:
    """Minimize ``0.5 |w|^2 + C sum_i log(1 + exp s_i) - R_i s_i`` for the shares R of a positive, (total,).

    It is the start of all methods, and the supervised step of EM and of alternations.
    """
    sets = problem.knowledge.sets
    loss = Difference(AllowedPartition(BoundLoss(sets)), LinearEvaluator(sets, targets, np.zeros(len(sets))))
    flat = np.append(np.zeros(int(problem.X.shape[1])), problem.knowledge.log_odds)
    begin = flat if start is None else start
    return descend_by_lbfgs(problem.risk(loss, settings.n_jobs), begin, settings)


def fit_smooth(
    problem: BagProblem, start: Values, settings: FitSettings, kind: Callable[[Loss], Surrogate]
) -> LinearModel:
    """A local minimum of ``0.5 |w|^2 + C sum over bags of a smooth surrogate of CountRange``, from ``start``."""
    return descend_by_lbfgs(problem.risk(kind(problem.knowledge.loss), settings.n_jobs), start, settings)


SHARPNESS = (2.0, 4.0, 8.0, np.inf)
"""Factors of the log-odds in the rounds: 1 is EM, which has converged at the start, and the last are hard labels."""

ROUNDS = 20
"""The largest number of rounds with hard labels."""


def fit_by_alternation(problem: BagProblem, start: Values, settings: FitSettings) -> LinearModel:
    """Logistic regression of completed labels, and the labels that it completes, until these no longer change.

    It begins at the greatest likelihood. A completion is the mean labeling among those that agree with what is known,
    at a factor of the log-odds that grows to inf. At last the scale is that of greatest likelihood of the bags; the
    boundary stays.
    """
    found = fit_smooth(problem, start, settings, CountLikelihood)
    if found.status == "interrupted":
        return found
    try:
        posterior, before = Posterior(problem.knowledge), None
        for sharpness in (*SHARPNESS, *[np.inf] * (ROUNDS - 1)):
            targets = posterior(found.scores(problem.X), sharpness)
            if before is not None and np.array_equal(before, targets):
                break
            before = targets if sharpness == np.inf else None
            found = fit_to(problem, targets, found.w, settings)
            if found.status == "interrupted":
                return found
        slope, _ = calibrated(problem.knowledge, found.scores(problem.X), boundary_stays=True)
    except KeyboardInterrupt:
        return replace(found, status="interrupted", message="interrupted; these are the weights of the last labels")
    return replace(found, w=slope * found.w)


ROUNDING = 1e-9
"""A surrogate is less where it is by more than this share."""


@final
class Completions:
    """A labeling of each bag, at first that of greatest score, and the surrogate against these labelings.

    Of the labelings with a given number of positives that of greatest score has the least surrogate, for a loss of
    counts. Where only a range of numbers is known it need not have, and a bag keeps its labeling where that costs less.

    Attributes
    ----------
    labels : (total,) whether rows are positive; None before the first call of :meth:`improve`
    evaluator : the surrogate, bound to them
    """

    evaluator: Evaluator

    def __init__(self, knowledge: Knowledge, surrogate: Surrogate) -> None:
        self.surrogate, self.sets = surrogate, knowledge.sets
        self.labels: Bools | None = None
        self._posterior = Posterior(knowledge)

    def improve(self, scores: Values) -> bool:
        """Give a bag the labeling of greatest score (total,) where its surrogate is less there; whether any has it."""
        with plain_interrupts():
            found: Bools = self._posterior(scores, np.inf) > 0.5
            evaluator = self._bound(found)
            if self.labels is None:
                self.labels, self.evaluator = found, evaluator
                return True
            before = self.evaluator(scores).values
            better = evaluator(scores).values < before - ROUNDING * np.abs(before)
            if not better.any():
                return False
            labels = np.where(better[self.sets.owners], found, self.labels)
            self.labels, self.evaluator = labels, self._bound(labels)
        return True

    def _bound(self, labels: Bools) -> Evaluator:
        return self.surrogate.on(Sets(labels, self.sets.offsets))


def fit_judged_bags(problem: BagProblem, start: Values, settings: FitSettings, surrogate: Surrogate) -> LinearModel:
    """A local minimum of ``0.5 |w|^2 + C sum over bags of a surrogate``, mapped to log-odds.

    A loss that gives unknown labels a meaning is bound to the labels 1, 0 and -1, and says itself what is known.
    Another one is minimized over the weights and the completions of the labels in turn.
    """
    found = LinearModel(start)
    if isinstance(surrogate, Ramp):
        # The ramp is flat where scores are large and where they are 0; margin rescaling is its convex bound.
        bound = MarginRescaling(surrogate.loss, surrogate.inference, surrogate.scale)
        found = minimized(problem, start, settings, bound)
    if found.status != "interrupted":
        found = minimized(problem, found.w, settings, surrogate)
    return as_log_odds(problem, found, loss_of(surrogate).reads == "scores")


def minimized(problem: BagProblem, start: Values, settings: FitSettings, surrogate: Surrogate) -> LinearModel:
    """The same from ``start``, as scores of the scale that the surrogate gives them."""
    if not loss_of(surrogate).weak:
        return alternated(problem, start, settings, Completions(problem.knowledge, surrogate))
    try:
        return descend_by_bundles(problem, problem.bound(surrogate), start, settings)
    except KeyboardInterrupt:
        return LinearModel(start, status="interrupted", message="interrupted; these are the weights of the start")


def alternated(problem: BagProblem, start: Values, settings: FitSettings, bags: Completions) -> LinearModel:
    """``min over w and y of 0.5 |w|^2 + C sum over bags of surrogate(s; y)``, for labelings y that agree.

    In turn each bag takes the labeling of greatest score where that lowers its surrogate, and the weights descend. So
    the objective never rises where the maxima of the surrogate are exact, and it ends where no bag takes another
    labeling, or a round gains little.
    """
    found, steps = LinearModel(start), 0
    status, words = "max_iter", f"stopped after max_iter={settings.max_iter} completions"
    for _ in range(settings.max_iter):
        before = found.objective
        try:
            changed = bags.improve(found.scores(problem.X))
            if not changed:
                status, words = "converged", "no bag takes another labeling"
                break
            found = descend_by_bundles(problem, bags.evaluator, found.w, settings)
        except KeyboardInterrupt:
            status, words = "interrupted", "interrupted; these are the best weights so far"
            break
        steps += found.n_iter
        if found.status == "interrupted":
            status, words = found.status, found.message
            break
        if before - found.objective <= max(settings.tol, TOL) * abs(found.objective):
            status, words = "converged", "a round of completions gains no more than the tolerance"
            break
    return replace(found, status=status, message=words, n_iter=steps)


def loss_of(surrogate: Surrogate) -> Loss:
    """The loss that a surrogate brings."""
    loss = getattr(surrogate, "loss", None)
    if not isinstance(loss, Loss):
        raise Refusal(
            f"method must be a surrogate of a loss, such as MarginRescaling('f1'); got {shown(surrogate)}.",
            BAGS_AS_A_WHOLE,
        )
    return loss


def check(surrogate: Surrogate, knowledge: Knowledge, n: int, classes: int) -> None:
    """Refuse losses that do not fit bags of n rows of which nothing else is known, or k classes."""
    loss = loss_of(surrogate)
    if loss.of_one_batch(knowledge.sets):
        raise Refusal(
            f"method refuses {loss!r}: it numbers all decisions in one order, and rows are put into the order of bags.",
            BAGS_AS_A_WHOLE,
        )
    if not loss.weak:
        return
    if classes > 2:
        raise ValueError(
            f"method must be a surrogate of a loss of known labels, such as 'f1', for {classes} classes; got one of "
            f"{loss!r}, which itself says what is known of one class."
        )
    if len(knowledge.order) < n:
        raise ValueError(
            f"all rows must be of known bags where method is a surrogate of {loss!r}, which judges them; nothing is "
            f"known of {n - len(knowledge.order)} of {n} rows: leave them out, or give counts or between."
        )


def fit_ranges(
    problem: BagProblem, start: Values, settings: FitSettings, kind: Callable[[Loss], Surrogate]
) -> LinearModel:
    """A local minimum of ``0.5 |w|^2 + C sum over bags of a surrogate of CountRange``, as log-odds.

    Under margin rescaling a bag costs what its best labeling with a wrong number of positives, or with wrong known
    labels, has more in loss and score than its best labeling that agrees with what is known. The ramp, which begins
    there, compares with what is predicted. The scores are then log-odds by the factor of greatest likelihood.
    """
    known = problem.knowledge
    return fit_judged_bags(BagProblem(problem.X, known), start, settings, kind(known.loss))


Method = Callable[[BagProblem, Values, FitSettings], LinearModel]
"""A function of a problem, of the weights (d + 1,) where it begins, and of settings."""

LINEAR: Mapping[str, Method] = MappingProxyType(
    {
        "proportion_loss": partial(fit_smooth, kind=ProportionLoss),
        "count_likelihood": partial(fit_smooth, kind=CountLikelihood),
        "alternation": fit_by_alternation,
        "margin": partial(fit_ranges, kind=MarginRescaling),
        "ramp": partial(fit_ranges, kind=Ramp),
    }
)
