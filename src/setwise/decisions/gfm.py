"""Decisions from the joint probabilities of each label and the number of positives (GFM)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.checks import as_reals, as_shaped
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.decisions.decision import Decision
from setwise.decisions.formula import Formula, formula_of
from setwise.decisions.lines import Lines, is_affine, labels_of, least_by_lines
from setwise.losses import as_loss

CELLS = 1 << 22
"""About so many numbers are held at once."""

SLACK = 1e-6
"""The rounding that probabilities may have."""


def gfm(joint: ArrayLike, loss: Loss | str, none: ArrayLike | None = None) -> Decision:
    """``argmin over h of E[loss(y, h)]`` from ``joint[i, s - 1] = Pr(y_i = 1, number of positives = s)``.

    The general F-maximizer of Dembczynski et al. (2011): it is exact under any dependence between the decisions, for
    losses that are affine in the true positives at a given number predicted and given positives, as F_beta, MCC, the
    balanced error and the error rate are. O(p^3) for a set.

    Parameters
    ----------
    joint : (p, p) for one set, or (n, p, p), s = 1..p; for example from one multinomial classifier for each label
    loss : a loss of counts that is affine as above, or its name
    none : (n,) the probability that no label is positive. The joint probabilities are then scaled so that all numbers
        have the sum 1. None takes what is left to 1, and refuses joint probabilities of a larger sum

    Raises
    ------
    Refusal : for a loss that is not affine in the true positives, as Jaccard
    """
    given = as_reals(joint, "joint")
    if given.ndim not in (2, 3) or given.size == 0 or given.shape[-1] != given.shape[-2]:
        raise ValueError(f"joint must have shape (p, p) or (n, p, p), and not be empty; got shape {given.shape}.")
    if (given < 0).any() or (given > 1).any():
        raise ValueError("joint must hold probabilities in [0, 1].")
    sets = given.reshape(-1, *given.shape[-2:])
    p = sets.shape[-1]
    number = np.arange(1.0, p + 1.0)
    # With s positives, the probabilities of all labels add up to s.
    mass = sets.sum(axis=1) / number
    sets, mass = _scaled(sets, mass, none)
    formula = affine_formula(as_loss(loss), p)
    joint_all = np.concatenate([np.zeros((len(sets), p, 1)), sets], axis=2)
    found = least_affine(formula, joint_all, mass, np.arange(p + 1))
    labels = found[0][0] if given.ndim == 2 else found[0]
    return Decision(labels, found[1], found[1], np.ones(len(sets), dtype=bool))


def _scaled(sets: Values, mass: Values, none: Any) -> tuple[Values, Values]:
    """The joint probabilities and those of 0..p positives, which add up to 1."""
    total = mass.sum(axis=1)
    if none is None:
        if (total > 1.0 + SLACK).any():
            raise ValueError(
                f"joint must belong to a distribution: its numbers of positives have the sum {total.max():g}, above 1. "
                "Give none, the probability of no positive, to scale them."
            )
        return sets, np.column_stack([np.maximum(1.0 - total, 0.0), mass])
    empty = as_shaped(np.atleast_1d(as_reals(none, "none")), len(sets), "none")
    if (empty < 0).any() or (empty > 1).any() or ((total == 0) & (empty < 1)).any():
        raise ValueError("none must hold probabilities in [0, 1], below 1 only where joint is not 0.")
    factor = (1.0 - empty) / np.where(total > 0, total, 1.0)
    return sets * factor[:, None, None], np.column_stack([empty, mass * factor[:, None]])


def affine_formula(loss: Loss, size: int) -> Formula:
    """The formula of a loss that is affine in the true positives; others are refused."""
    formula = formula_of(loss, size)
    if formula is None or not is_affine(formula):
        raise Refusal(
            f"gfm refuses {loss!r}: it is not known to be affine in the true positives at each number predicted. "
            "Use F_beta, MCC or the balanced error, or least_expected_loss_of_samples."
        )
    return formula


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
