"""The threshold of scores at which the expected loss of one set of independent decisions is least."""

import numpy as np

from setwise.core.checks import Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import BAGS
from setwise.decisions.by_table import SMALL, ByTable
from setwise.decisions.by_window import ByWindow
from setwise.decisions.choice import LARGE, rule_for
from setwise.decisions.formula import Formula, formula_of
from setwise.decisions.rule import Rule

TOL = 1e-3
"""The search for the threshold of a set that is too large to be exact may end this near to the least expected loss."""

ANY, AFFINE = LARGE, 1 << 17
"""So many rows may a set have for which all thresholds are compared, and so many where the loss is affine in fn."""


def rule_of_cuts(loss: Loss, size: int) -> Rule:
    """The rule that finds the best threshold for sets of ``size`` decisions, which needs no probability to be chosen.

    A threshold predicts the k rows of largest scores, so a loss of counts need not increase.

    Raises
    ------
    Refusal : if there is none, with a sentence that says what helps
    """
    if loss.reads == "scores":
        raise Refusal(
            f"loss={loss!r} is refused: it evaluates an order of scores. Use a loss of labels, as 'f1'.", BAGS
        )
    formula = formula_of(loss, size)
    if formula is None:
        return _of_mistakes(loss, size)
    if size <= SMALL:
        return ByTable(formula)
    if formula.increasing:
        return rule_for(loss, size, TOL)
    return _of_any_counts(loss, formula)


def best_cut(rule: Rule, probabilities: Values, scores: Values) -> tuple[float, float]:
    """``argmin over t of E[loss(y, scores > t)]`` and its expected loss; rows of equal scores are never separated.

    The probabilities (p,) that a row is positive never fall as the scores (p,) grow. The threshold is halfway between
    the scores of the last positive and the first negative row, and -inf or inf where all rows are positive, or none.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    cuts = np.concatenate(([0], np.flatnonzero(ordered[1:] < ordered[:-1]) + 1, [len(scores)]))
    k, value = rule.cut(probabilities, order, cuts)
    if k in (0, len(scores)):
        return (np.inf if k == 0 else -np.inf), value
    last, first = float(ordered[k - 1]), float(ordered[k])
    middle = last / 2.0 + first / 2.0
    # The midpoint of two neighboring floats may be rounded onto the upper one, which would then be negative.
    return (middle if first <= middle < last else first), value


def _of_mistakes(loss: Loss, size: int) -> Rule:
    """The rule for a loss that is no function of the counts."""
    try:
        return rule_for(loss, size)
    except Refusal as error:
        raise Refusal(
            f"loss={loss!r} is refused for {size} rows: it is no function of the numbers of mistakes, and they are too "
            "many to enumerate. Use a loss of counts, as 'f1', or None.",
            BAGS,
        ) from error


def _of_any_counts(loss: Loss, formula: Formula) -> Rule:
    """The rule for a loss of counts that a further mistake may make smaller."""
    limit = AFFINE if formula.counts.affine else ANY
    if formula.size <= limit:
        return ByWindow(formula)
    raise Refusal(
        f"loss={loss!r} is refused for {formula.size} rows: a further mistake may make it smaller, and then all "
        f"thresholds are compared, which takes too long for more than {limit} rows. Use fewer rows, another loss, as "
        "'f1', or None.",
        BAGS,
    )
