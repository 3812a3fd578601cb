"""Decisions from the joint probabilities of each label and the number of positives (GFM, Dembczynski et al. 2011).

``f(k, tp, P) = a(k, P) + b(k, P) tp`` has the expectation ``E[a] + sum_(i predicted) E[b y_i]``, whatever the
dependence between the decisions. So the k decisions of the least weights ``sum_s b(k, s) Pr(y_i = 1, P = s)`` are the
best k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import Bools, Ints, Values, as_reals, as_shaped
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import DECISIONS_REFUSE
from setwise.decisions.expected_loss import Decision
from setwise.decisions.formula import Formula, formula_of
from setwise.decisions.small_sets import SMALL, ByTable, of_first
from setwise.losses import as_loss


@final
@dataclass(frozen=True, eq=False)
class Lines:
    """``a + b tp`` for numbers k predicted (rows) and numbers s of positives (columns), (len(k), len(s)) each.

    They lie at or below the loss.
    """

    a: Values
    b: Values

    @classmethod
    def chords(cls, formula: Formula, k: Ints, s: Ints) -> Lines:
        """The lines through the least and the largest tp that are possible."""
        low, first, b = formula.chord(k[:, None].astype(np.float64), s[None, :].astype(np.float64))
        return cls(first - b * low, b)


def is_affine(formula: Formula) -> bool:
    """Whether the loss is known to be affine in tp at each k and P: by its coefficients, or by the whole table."""
    if formula.counts.affine:
        return True
    if formula.size > SMALL or formula.size < 2:
        return formula.size < 2
    return ByTable(formula).affine()


def least_by_lines(joint: Values, mass: Values, k: Ints, lines: Lines) -> tuple[Values, Ints]:
    """The least ``sum_s mass_s a(k, s) + sum_(i predicted) w_i(k)`` for each k, and the order of the weights.

    ``joint`` (n, p, u) are the probabilities that decision i is positive and P = s, and ``mass`` (n, u) those of P = s,
    for u values of s. Returns (n, len(k)), and for each set and k the decisions in the order of weights (n, p, len(k)).
    """
    weights = joint @ lines.b.T
    order = np.argsort(weights, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    # With none predicted the sum is empty.
    last = np.broadcast_to(np.maximum(k - 1, 0), (len(joint), 1, len(k)))
    chosen = np.where(k > 0, np.take_along_axis(sums, last, axis=1)[:, 0, :], 0.0)
    return mass @ lines.a.T + chosen, order


def labels_of(order: Ints, sizes: Ints, columns: Ints) -> Bools:
    """The labelings that predict the first ``sizes`` decisions of the given column of each order, (n, p)."""
    return of_first(np.take_along_axis(order, columns[:, None, None], axis=2)[:, :, 0], sizes)


CELLS = 1 << 22
"""About so many numbers are held at once."""

SLACK = 1e-6
"""The rounding that probabilities and their sums may have."""


def gfm(joint: ArrayLike, loss: Loss | str, none: ArrayLike | None = None) -> Decision:
    """``argmin over h of E[loss(y, h)]`` from ``joint[i, s - 1] = Pr(y_i = 1, number of positives = s)``.

    The general F-maximizer of Dembczynski et al. (2011): it is exact under any dependence between the decisions, for
    losses that are affine in the true positives at a given number predicted and given positives, as F_beta, MCC, the
    balanced error and the error rate are. O(p^3) for a set.

    A distribution has them only if ``joint[i, s - 1] <= Pr(P = s) = sum_i joint[i, s - 1] / s`` and all numbers of
    positives P have the sum 1. All these may be off by rounding, up to 1e-6.

    Parameters
    ----------
    joint : (p, p) for one set, or (n, p, p), s = 1..p; for example from one multinomial classifier for each label
    loss : a loss of counts that is affine as above, or its name
    none : (n,) the probability that no label is positive. The joint probabilities are then scaled so that all numbers
        have the sum 1, and may belong to no distribution, as those of separate models: where they do not, or had to be
        scaled, ``exact`` is False, and the bound is 0 or the value if that is smaller. None takes what is left to 1,
        and refuses joint probabilities that belong to no distribution

    Returns
    -------
    Decision
        The labels, (p,) or (n, p), and for each set their expected loss and a lower bound of the least one

    Raises
    ------
    Refusal : for a loss that is not affine in the true positives, as Jaccard
    ValueError : for other shapes, numbers outside of [0, 1], and without ``none`` those that belong to no distribution
    TypeError : for a loss of another kind

    Examples
    --------
    Two of four labels are positive: the first two with probability 0.6, or the last two. All four predicted have a
    sure F1 of 2/3, and the first two one of 0.6:

    >>> from setwise.decisions import gfm
    >>> joint = np.zeros((4, 4))
    >>> joint[:2, 1], joint[2:, 1] = 0.6, 0.4
    >>> found = gfm(joint, "f1")
    >>> found.labels.tolist(), found.values.round(3).tolist()
    ([True, True, True, True], [0.333])
    """
    given = as_reals(joint, "joint")
    if given.ndim not in (2, 3) or given.size == 0 or given.shape[-1] != given.shape[-2]:
        raise ValueError(f"joint must have shape (p, p) or (n, p, p), and not be empty; got shape {given.shape}.")
    sets = _rounded(given, "joint").reshape(-1, *given.shape[-2:])
    p = sets.shape[-1]
    sets, mass, exact = _plain(sets) if none is None else _scaled(sets, none)
    loss = as_loss(loss)
    formula = formula_of(loss, p)
    if formula is None or not is_affine(formula):
        raise Refusal(
            f"gfm refuses {loss!r}: it is not known to be affine in the true positives at each number predicted. "
            "Use F_beta, MCC or the balanced error, or least_expected_loss_of_samples.",
            DECISIONS_REFUSE,
        )
    joint_all = np.concatenate([np.zeros((len(sets), p, 1)), sets], axis=2)
    labels, values = least_affine(formula, joint_all, mass, np.arange(p + 1))
    bounds = np.where(exact, values, np.minimum(values, 0.0))
    return Decision(labels[0] if given.ndim == 2 else labels, values, bounds, exact)


def _rounded(values: Values, name: str) -> Values:
    """Probabilities that are in [0, 1] up to rounding, moved there."""
    inside = np.clip(values, 0.0, 1.0)
    far = np.abs(values - inside) > SLACK
    if far.any():
        raise ValueError(f"{name} must be in [0, 1]; got {values[far][0].item()!r}.")
    return inside


def _numbers(sets: Values) -> Values:
    """The probabilities of 1..p positives, (n, p): with s positives, the probabilities of all labels add up to s."""
    return np.asarray(sets.sum(axis=1) / np.arange(1.0, sets.shape[1] + 1.0))


def _plain(sets: Values) -> tuple[Values, Values, Bools]:
    """Joint probabilities of distributions, those of 0..p positives, and that the answer is exact."""
    mass = _numbers(sets)
    total = mass.sum(axis=1)
    if (total > 1.0 + SLACK).any():
        raise ValueError(
            "joint must belong to a distribution: its numbers of positives have the sum "
            f"{total.max():.9g}, above 1. Give none, the probability of no positive, to scale them."
        )
    above = sets > mass[:, None] + SLACK
    if above.any():
        row, i, s = (int(at[0]) for at in np.nonzero(above))
        raise ValueError(
            f"joint must belong to a distribution: a label is among {s + 1} positives with the probability "
            f"{sets[row, i, s]:.9g}, but all labels together give {s + 1} positives the probability "
            f"{mass[row, s]:.9g}. Give none, the probability of no positive, for estimates of separate models."
        )
    return sets, np.column_stack([np.maximum(1.0 - total, 0.0), mass]), np.ones(len(sets), dtype=bool)


def _scaled(sets: Values, none: Any) -> tuple[Values, Values, Bools]:
    """The joint probabilities and those of 0..p positives, which add up to 1; and whether both were and are so."""
    mass = _numbers(sets)
    total = mass.sum(axis=1)
    empty = _rounded(as_shaped(np.atleast_1d(as_reals(none, "none")), len(sets), "none"), "none")
    empty = np.where((total == 0) & (empty >= 1.0 - SLACK), 1.0, empty)
    odd = (total == 0) & (empty < 1)
    if odd.any():
        raise ValueError(f"none must be 1 where joint is 0 everywhere; got {empty[odd][0].item()!r}.")
    factor = (1.0 - empty) / np.where(total > 0, total, 1.0)
    scaled, numbers = sets * factor[:, None, None], mass * factor[:, None]
    exact = (np.abs(total + empty - 1.0) <= SLACK) & (scaled <= numbers[:, None] + SLACK).all(axis=(1, 2))
    return scaled, np.column_stack([empty, numbers]), exact


def least_affine(formula: Formula, joint: Values, mass: Values, s: Ints) -> tuple[Bools, Values]:
    """The best labelings (n, p) and their expected losses (n,), for numbers s (u,) of positives.

    ``joint`` (n, p, u) has ``Pr(y_i = 1, P = s)``, and ``mass`` (n, u) ``Pr(P = s)``.
    """
    n, p, _ = joint.shape
    low, high = formula.numbers
    labels, values = np.empty((n, p), dtype=bool), np.full(n, np.inf)
    columns = max(1, min(high - low + 1, CELLS // p))
    rows = max(1, CELLS // (p * columns))
    for first in range(low, high + 1, columns):
        k = np.arange(first, min(first + columns, high + 1))
        lines = Lines.chords(formula, k, s)
        for a in range(0, n, rows):
            part = slice(a, a + rows)
            expected, order = least_by_lines(joint[part], mass[part], k, lines)
            at = expected.argmin(axis=1)
            found = expected[np.arange(len(at)), at]
            better = found < values[part]
            values[part] = np.where(better, found, values[part])
            labels[part] = np.where(better[:, None], labels_of(order, k[at], at), labels[part])
    return labels, values
