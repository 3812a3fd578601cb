"""The labeling of least expected loss for independent decisions with known probabilities, and which rule finds it.

The result is a labeling of each set, its expected loss, and a bound of the least one; or a threshold of one set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values, as_array, as_bools, as_number, as_offsets, as_reals, refuse_outside
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import BAGS, DECISIONS_REFUSE
from setwise.core.terms import Trait
from setwise.decisions.branch_and_bound import ByBounds
from setwise.decisions.formula import Formula, formula_of
from setwise.decisions.large_sets import ByMoments, BySums, ByWindow
from setwise.decisions.small_sets import (
    LIMIT,
    LIMIT_LABEL_FREE,
    SMALL,
    ByCosts,
    ByCounts,
    ByEnumeration,
    ByMistakes,
    ByMode,
    ByTable,
    DecisionRule,
)
from setwise.kernels.segments import segment_sums
from setwise.losses import as_loss
from setwise.losses.row_costs import RowCosts

LARGE, LARGE_AFFINE = 4096, 32768
"""Larger sets are decided up to a tolerance; the second number is for losses that are affine in the true positives."""


def rule_for(loss: Loss, size: int, tol: float = 0.0) -> DecisionRule:
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
        f"a decision for {loss!r} is refused: another mistake may make it smaller, so the most probable decisions "
        f"need not be the best, and {size} decisions are too many to enumerate. Promise Trait.INCREASING if it holds.",
        DECISIONS_REFUSE,
    )


def _of_large(formula: Formula, tol: float) -> DecisionRule:
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


def _of_mistakes(loss: Loss, size: int) -> DecisionRule:
    """The rule for a loss that is no function of the counts."""
    bound_loss = loss.bind(Sets(np.zeros(size, dtype=bool), np.array([0, size])))
    if Trait.LABEL_FREE in loss.traits:
        # The costs of a loss that ignores labels are those of any truth.
        costs, rest = bound_loss.split()
        if costs is not None and not rest.terms:
            return ByCosts(costs)
        if size <= LIMIT_LABEL_FREE:
            return ByMistakes(loss, size)
    if size <= LIMIT:
        return ByEnumeration(loss, size)
    raise Refusal(
        f"a decision for {loss!r} is refused: it is not a function of the counts, and {size} decisions are too many to "
        f"enumerate (at most {LIMIT}, or {LIMIT_LABEL_FREE} if labels do not matter). Use a loss of counts.",
        DECISIONS_REFUSE,
    )


@final
@dataclass(frozen=True, eq=False)
class Decision:
    """Labelings with ``bounds <= least expected loss <= values``; equal, up to rounding, where ``exact``.

    Parameters
    ----------
    labels : bool, of the shape of the probabilities; whole numbers where classes are decided
    values : (n,) the expected loss of the labeling of each set
    bounds : (n,) a lower bound of the least expected loss of any labeling of the set
    exact : (n,) bool, whether no labeling has a smaller expected loss

    Examples
    --------
    >>> from setwise.decisions import least_expected_loss
    >>> found = least_expected_loss([0.6, 0.4], "f1")
    >>> found.labels.tolist(), found.values.round(2).tolist(), found.exact.tolist()
    ([True, True], [0.41], [True])
    """

    labels: NDArray[Any]
    values: Values
    bounds: Values
    exact: Bools


@final
@dataclass(frozen=True, eq=False)
class DecisionInPieces:
    """A labeling of one set that lies in several places, with ``bound <= least expected loss <= value``.

    Parameters
    ----------
    threshold : larger probabilities are predicted positive
    ties : how many of the probabilities that equal the threshold are predicted, the first ones in the order of the
        places; None predicts all of them
    size : the number of decisions that are predicted positive
    value : the expected loss of this labeling; where its distribution would take too long, a bound above it
    bound : a lower bound of the least expected loss of any labeling
    certified : whether ``value - bound`` is at most the tolerance that was asked for
    labels : the labeling at its places, where it was asked for

    Examples
    --------
    On a cluster :func:`setwise.dask.least_expected_loss` returns one; its fields say the same of a set that is at hand:

    >>> from setwise.decisions import DecisionInPieces
    >>> found = DecisionInPieces(threshold=0.4, ties=None, size=2, value=0.41, bound=0.41, certified=True)
    >>> (np.array([0.6, 0.4]) >= found.threshold).sum().item() == found.size
    True
    """

    threshold: float
    ties: int | None
    size: int
    value: float
    bound: float
    certified: bool
    labels: Any = None


def least_expected_loss(probabilities: ArrayLike, loss: Loss | str, offsets: Any = None, tol: float = 1e-3) -> Decision:
    """``argmin over h of E[loss(y, h)]`` of every set, where ``y_i = 1`` with probability ``q_i``, independently.

    For a loss of the counts to which no further mistake is good, the k most probable decisions are the best k. So the
    search is over k, and an expected loss is one over two independent counts: the positives among the first k, and
    those among the others (both Poisson-binomial).

    Source: own; compared with the enumeration of all labelings in tests/decisions/test_expected_loss.py.

    Parameters
    ----------
    probabilities : (p,) one set; (n, p) a label matrix whose rows are sets; or (total,) with ``offsets``; in [0, 1]
    loss : any loss of labels 0 and 1, or its name. Losses that are no such function of counts are enumerated
    offsets : (n+1,) int64; set i owns the decisions ``offsets[i]:offsets[i+1]``
    tol : the gap of the expected loss at which the search may stop in sets of more than 4,096 decisions; smaller sets
        are decided exactly

    Returns
    -------
    Decision
        The labels, of the shape of the probabilities, and for each set their expected loss and a bound of the least one

    Raises
    ------
    Refusal : for a loss that is no increasing function of the counts, and more decisions than can be enumerated
    ValueError : for probabilities outside of [0, 1], offsets that do not fit, ``tol`` below 0, and names of no loss
    TypeError : for a loss or a number of another kind

    Examples
    --------
    The error rate predicts what is more likely than not. F1 also takes the third decision:

    >>> from setwise.decisions import least_expected_loss
    >>> q = [0.9, 0.6, 0.4, 0.35, 0.1]
    >>> least_expected_loss(q, "error_rate").labels.astype(int).tolist()
    [1, 1, 0, 0, 0]
    >>> least_expected_loss(q, "f1").labels.astype(int).tolist()
    [1, 1, 1, 0, 0]
    """
    given = _Probabilities.of(probabilities, offsets)
    bound, gap, labels = as_loss(loss), as_number(tol, "tol", low=0.0), np.empty(len(given.flat), dtype=bool)
    if isinstance(bound, RowCosts) and bound.by_class is None:
        return _of_rows(given, bound)
    values, bounds = np.empty((2, len(given.offsets) - 1))
    for size, rows, places in given.groups():
        found = rule_for(bound, size, gap).decide(given.flat[places])
        labels[places], values[rows], bounds[rows] = found.labels, found.values, found.bounds
    return Decision(labels.reshape(given.shape), values, bounds, bounds >= values)


def expected_loss(probabilities: ArrayLike, labels: ArrayLike, loss: Loss | str, offsets: Any = None) -> Values:
    """``E[loss(y, labels)]`` of every set, (n,), where ``y_i = 1`` with probability ``q_i``, independently.

    Source: own; compared with the enumeration of all truths in tests/decisions/test_expected_loss.py.

    Parameters
    ----------
    probabilities : (p,) one set; (n, p) a label matrix whose rows are sets; or (total,) with ``offsets``; in [0, 1]
    labels : 0 and 1, of the shape of the probabilities
    loss : any loss of labels 0 and 1, or its name. Losses that are no such function of counts are enumerated
    offsets : (n+1,) int64; set i owns the decisions ``offsets[i]:offsets[i+1]``

    Returns
    -------
    expected losses : (n,) one for each set

    Raises
    ------
    Refusal : for a loss that is no increasing function of the counts, and more decisions than can be enumerated
    ValueError : for probabilities outside of [0, 1], labels and offsets that do not fit, and names of no loss
    TypeError : for a loss of another kind

    Examples
    --------
    The only decision is positive in 30 % of the cases, so predicting it costs 0.7 and leaving it out 0.3:

    >>> from setwise.decisions import expected_loss
    >>> expected_loss([0.3], [1], "jaccard").round(3).tolist(), expected_loss([0.3], [0], "jaccard").round(3).tolist()
    ([0.7], [0.3])
    """
    given = _Probabilities.of(probabilities, offsets)
    predicted = as_array(labels, "labels")
    if predicted.shape != given.shape:
        raise ValueError(f"labels must have the shape of the probabilities, {given.shape}; got {predicted.shape}.")
    guess, bound, values = as_bools(predicted, "labels").ravel(), as_loss(loss), np.empty(len(given.offsets) - 1)
    if isinstance(bound, RowCosts) and bound.by_class is None:
        zero, one = _expected_costs(given, bound)
        return segment_sums(np.where(guess, one, zero), given.offsets)
    for size, rows, places in given.groups():
        values[rows] = rule_for(bound, size).expect(given.flat[places], guess[places])
    return values


@final
@dataclass(frozen=True, eq=False)
class _Probabilities:
    """Checked probabilities, flat, with the layout of the sets."""

    flat: Values
    offsets: Ints
    shape: tuple[int, ...]

    @classmethod
    def of(cls, probabilities: ArrayLike, offsets: Any) -> _Probabilities:
        name = "probabilities"
        q = as_reals(probabilities, name)
        if q.ndim not in (1, 2) or q.size == 0 or (q.ndim == 2 and offsets is not None):
            wanted = "(p,), (n, p), or (total,) with offsets, and not be empty"
            raise ValueError(f"{name} must have the shape {wanted}; got shape {q.shape}.")
        refuse_outside(q, name)
        flat = np.ascontiguousarray(q).ravel()
        if offsets is not None:
            return cls(flat, as_offsets(offsets, len(flat)), q.shape)
        n = len(q) if q.ndim == 2 else 1
        return cls(flat, np.arange(n + 1, dtype=np.int64) * (len(flat) // n), q.shape)

    def groups(self) -> list[tuple[int, Ints, Ints]]:
        """The sizes that occur, the sets of each, and the places of their decisions, (sets, size)."""
        sizes = np.diff(self.offsets)
        rows = [(int(size), np.flatnonzero(sizes == size)) for size in np.unique(sizes)]
        return [(size, at, self.offsets[at][:, None] + np.arange(size)) for size, at in rows]


def _expected_costs(given: _Probabilities, costs: RowCosts) -> tuple[Values, Values]:
    """What it is expected to cost to predict 0, and to predict 1, for each row."""
    q, n = given.flat, len(given.flat)
    costs.saved_by_positive()
    positive, negative = costs.of_labels(np.ones(n, np.bool_)), costs.of_labels(np.zeros(n, np.bool_))
    zero, one = (q * if_positive + (1.0 - q) * if_not for if_positive, if_not in zip(positive, negative, strict=True))
    return zero, one


def _of_rows(given: _Probabilities, costs: RowCosts) -> Decision:
    """Each row by its own costs; positive where that is expected to cost less."""
    zero, one = _expected_costs(given, costs)
    values = segment_sums(np.minimum(zero, one), given.offsets)
    return Decision((one < zero).reshape(given.shape), values, values, np.ones(len(values), dtype=np.bool_))


TOL = 1e-3
"""The search for the threshold of a set that is too large to be exact may end this near to the least expected loss."""

ANY, AFFINE = LARGE, 1 << 17
"""So many rows may a set have for which all thresholds are compared, and so many where the loss is affine in fn."""


def rule_of_cuts(loss: Loss, size: int) -> DecisionRule:
    """The rule that finds the best threshold for sets of ``size`` decisions, which needs no probability to be chosen.

    A threshold predicts the k rows of largest scores, so a loss of counts need not increase.

    Raises
    ------
    Refusal : if there is none, with a sentence that says what helps
    """
    if loss.reads == "scores":
        raise Refusal(
            f"loss={loss!r} is refused: it reads the order of scores. Use a loss of labels, such as 'f1'.", BAGS
        )
    formula = formula_of(loss, size)
    if formula is None:
        try:
            return rule_for(loss, size)
        except Refusal as error:
            raise Refusal(
                f"loss={loss!r} is refused for {size} rows: it is not a function of the numbers of mistakes, and they "
                "are too many to enumerate. Use a loss of counts, such as 'f1', or None.",
                BAGS,
            ) from error
    if size <= SMALL:
        return ByTable(formula)
    if formula.increasing:
        return rule_for(loss, size, TOL)
    limit = AFFINE if formula.counts.affine else ANY
    if size <= limit:
        return ByWindow(formula)
    raise Refusal(
        f"loss={loss!r} is refused for {size} rows: another mistake may make it smaller, and then all thresholds are "
        f"compared, which takes too long for more than {limit} rows. Use fewer rows, another loss, such as 'f1', or "
        "None.",
        BAGS,
    )


def best_cut(rule: DecisionRule, probabilities: Values, scores: Values) -> tuple[float, float]:
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
