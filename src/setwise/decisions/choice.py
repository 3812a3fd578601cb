"""Which rule decides sets of a size for a loss."""

import numpy as np

from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import DECISIONS_REFUSE
from setwise.core.terms import Trait
from setwise.decisions.by_bounds import ByBounds
from setwise.decisions.by_costs import ByCosts
from setwise.decisions.by_enumeration import LIMIT, LIMIT_LABEL_FREE, ByCounts, ByEnumeration, ByMistakes
from setwise.decisions.by_mode import ByMode
from setwise.decisions.by_moments import ByMoments
from setwise.decisions.by_sums import BySums
from setwise.decisions.by_table import SMALL, ByTable
from setwise.decisions.by_window import ByWindow
from setwise.decisions.formula import Formula, formula_of
from setwise.decisions.rule import Rule

LARGE, LARGE_AFFINE = 4096, 32768
"""Larger sets are decided up to a tolerance; the second number is for losses that are affine in the true positives."""


def rule_for(loss: Loss, size: int, tol: float = 0.0) -> Rule:
    """The rule that decides sets of ``size`` decisions for ``loss`` exactly, or up to the bound that it returns.

    Raises
    ------
    Refusal : if there is none
    """
    formula = formula_of(loss, size)
    if formula is None or (Trait.MODULAR in loss.traits and Trait.LABEL_FREE in loss.traits):
        return _of_mistakes(loss, size)
    if size <= SMALL:
        table = ByTable(formula)
        if formula.increasing or table.misses_cost():
            return table
        if size <= LIMIT_LABEL_FREE:
            return ByCounts(table)
    elif formula.increasing and Trait.CARDINALITY in loss.traits:
        return ByMode(formula)
    elif formula.increasing:
        return _of_large(formula, tol)
    raise Refusal(
        f"a decision for {loss!r} is refused: a further mistake may make it smaller, so the most probable decisions "
        f"need not be the best, and {size} decisions are too many to enumerate. Promise Trait.INCREASING if it holds.",
        DECISIONS_REFUSE,
    )


def _of_large(formula: Formula, tol: float) -> Rule:
    """The rule for an increasing function of counts that is too large for a table."""
    if formula.modular:
        return BySums(formula)
    if formula.size <= LARGE or formula.numbers[0] == formula.numbers[1]:
        return ByWindow(formula)
    if formula.fraction is not None:
        return ByMoments(formula, tol)
    if formula.counts.affine and formula.size <= LARGE_AFFINE:
        return ByWindow(formula)
    return ByBounds(formula, tol)


def _of_mistakes(loss: Loss, size: int) -> Rule:
    """The rule for a loss that is no function of the counts."""
    structure = loss.structure(Sets(np.zeros(size, dtype=bool), np.array([0, size])))
    if Trait.LABEL_FREE in loss.traits:
        # The costs of a loss that ignores labels are those of any truth.
        costs, rest = structure.split()
        if costs is not None and not rest.terms:
            return ByCosts(costs)
        if size <= LIMIT_LABEL_FREE:
            return ByMistakes(loss, size)
    if size <= LIMIT:
        return ByEnumeration(loss, size)
    raise Refusal(
        f"a decision for {loss!r} is refused: it is no function of the counts, and {size} decisions are too many to "
        f"enumerate (at most {LIMIT}, or {LIMIT_LABEL_FREE} where labels do not matter). Use a loss of counts.",
        DECISIONS_REFUSE,
    )
