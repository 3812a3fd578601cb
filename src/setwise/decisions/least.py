"""The labeling of least expected loss for independent decisions with known probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import Bools, Ints, Values, as_array, as_bools, as_number, as_offsets, as_reals, refuse_outside
from setwise.core.loss import Loss
from setwise.decisions.choice import rule_for
from setwise.decisions.decision import Decision
from setwise.losses import as_loss


def least_expected_loss(probabilities: ArrayLike, loss: Loss | str, offsets: Any = None, tol: float = 1e-3) -> Decision:
    """``argmin over h of E[loss(y, h)]`` of every set, where ``y_i = 1`` with probability ``q_i``, independently.

    For a loss of the counts to which no further mistake is good, the k most probable decisions are the best k. So the
    search is over k, and an expected loss is one over two independent counts: the positives among the first k, and
    those among the others (both Poisson-binomial).

    Source: own; compared with the enumeration of all labelings in tests/decisions/test_least.py.

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
    given = _Given.of(probabilities, offsets)
    bound, gap, labels = as_loss(loss), as_number(tol, "tol", low=0.0), np.empty(len(given.flat), dtype=bool)
    values, bounds = np.empty(given.n), np.empty(given.n)
    for size, rows, places in given.groups():
        found = rule_for(bound, size, gap).decide(given.flat[places])
        labels[places], values[rows], bounds[rows] = found.labels, found.values, found.bounds
    return Decision(labels.reshape(given.shape), values, bounds, bounds >= values)


def expected_loss(probabilities: ArrayLike, labels: ArrayLike, loss: Loss | str, offsets: Any = None) -> Values:
    """``E[loss(y, labels)]`` of every set, (n,), where ``y_i = 1`` with probability ``q_i``, independently.

    Source: own; compared with the enumeration of all truths in tests/decisions/test_least.py.

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
    given = _Given.of(probabilities, offsets)
    guess, bound, values = given.labels(labels), as_loss(loss), np.empty(given.n)
    for size, rows, places in given.groups():
        values[rows] = rule_for(bound, size).expect(given.flat[places], guess[places])
    return values


@final
@dataclass(frozen=True, eq=False)
class _Given:
    """Checked probabilities, flat, with the layout of the sets."""

    flat: Values
    offsets: Ints
    shape: tuple[int, ...]

    @classmethod
    def of(cls, probabilities: ArrayLike, offsets: Any) -> _Given:
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

    @property
    def n(self) -> int:
        return len(self.offsets) - 1

    def groups(self) -> list[tuple[int, Ints, Ints]]:
        """The sizes that occur, the sets of each, and the places of their decisions, (sets, size)."""
        sizes = np.diff(self.offsets)
        rows = [(int(size), np.flatnonzero(sizes == size)) for size in np.unique(sizes)]
        return [(size, at, self.offsets[at][:, None] + np.arange(size)) for size, at in rows]

    def labels(self, labels: ArrayLike) -> Bools:
        """The given labels, flat."""
        given: NDArray[Any] = as_array(labels, "labels")
        if given.shape != self.shape:
            raise ValueError(f"labels must have the shape of the probabilities, {self.shape}; got {given.shape}.")
        return as_bools(given, "labels").ravel()
