"""Any surrogate of a loss of whole bags, against completions of their labels (HOL 4.1), as log-odds."""

from dataclasses import replace

import numpy as np

from setwise.core.checks import Values, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import BAGS_AS_A_WHOLE
from setwise.core.surrogate import Surrogate
from setwise.estimators.weak import soft_labels
from setwise.estimators.weak.bundle import TOL, as_log_odds, descend
from setwise.estimators.weak.completions import Completions
from setwise.estimators.weak.knowledge import Knowledge
from setwise.estimators.weak.problem import LinearModel, Problem, Settings
from setwise.surrogates import MarginRescaling, Ramp


def fit(problem: Problem, start: Values | None, settings: Settings, surrogate: Surrogate) -> LinearModel:
    """A local minimum of ``0.5 |w|^2 + C sum over bags of a surrogate``, mapped to log-odds.

    A loss that gives unknown labels a meaning is bound to the labels 1, 0 and -1, and says itself what is known.
    Another one is minimized over the weights and the completions of the labels in turn.
    """
    begin = soft_labels.fit(problem, None, settings).w if start is None else start
    found = LinearModel(begin)
    if isinstance(surrogate, Ramp):
        # The ramp is flat where scores are large and where they are 0; margin rescaling is its convex bound.
        bound = MarginRescaling(surrogate.loss, surrogate.inference, surrogate.scale)
        found = minimized(problem, begin, settings, bound)
    if found.status != "interrupted":
        found = minimized(problem, found.w, settings, surrogate)
    return as_log_odds(problem, found, loss_of(surrogate).reads == "scores")


def minimized(problem: Problem, start: Values, settings: Settings, surrogate: Surrogate) -> LinearModel:
    """The same from ``start``, as scores of the scale that the surrogate gives them."""
    if not loss_of(surrogate).weak:
        return alternated(problem, start, settings, Completions(problem.knowledge, surrogate))
    try:
        return descend(problem, problem.bound(surrogate), start, settings)
    except KeyboardInterrupt:
        return LinearModel(start, "interrupted", "interrupted; these are the weights of the start", np.nan)


def alternated(problem: Problem, start: Values, settings: Settings, bags: Completions) -> LinearModel:
    """``min over w and y of 0.5 |w|^2 + C sum over bags of surrogate(s; y)``, for labelings y that agree.

    In turn each bag takes the labeling of greatest score where that lowers its surrogate, and the weights descend. So
    the objective never rises where the maxima of the surrogate are exact, and it ends where no bag takes another
    labeling, or a round gains little.
    """
    found, steps = LinearModel(start, objective=np.nan), 0
    status, words = "max_iter", f"stopped after max_iter={settings.max_iter} completions"
    for _ in range(settings.max_iter):
        before = found.objective
        try:
            changed = bags.improve(found.scores(problem.X))
            if not changed:
                status, words = "converged", "no bag takes another labeling"
                break
            found = descend(problem, bags.evaluator, found.w, settings)
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
            f"method must be a surrogate of a loss, as MarginRescaling('f1'); got {shown(surrogate)}.", BAGS_AS_A_WHOLE
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
            f"method must be a surrogate of a loss of known labels, as 'f1', for {classes} classes; got one of "
            f"{loss!r}, which says itself what is known of one class."
        )
    if len(knowledge.order) < n:
        raise ValueError(
            f"all rows must be of known bags where method is a surrogate of {loss!r}, which judges them; nothing is "
            f"known of {n - len(knowledge.order)} of {n} rows: leave them out, or give counts or between."
        )
