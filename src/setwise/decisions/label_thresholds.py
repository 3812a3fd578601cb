"""One threshold for each column of a label matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.checks import Values, as_choice
from setwise.core.loss import Loss
from setwise.decisions.by_row import best_of_rows
from setwise.decisions.columns import Columns
from setwise.decisions.pooled import best_of_pool
from setwise.decisions.sweep import bound, sweep_each
from setwise.losses import as_loss


@final
@dataclass(frozen=True, eq=False)
class LabelThresholds:
    """The thresholds of the columns of a label matrix: ``scores >= thresholds`` are predicted positive.

    Attributes
    ----------
    thresholds : (p,) float64; inf predicts none of a column and -inf all of it
    loss : the averaged loss at these thresholds
    exact : whether no other thresholds have a smaller loss on these scores

    Examples
    --------
    >>> from setwise.decisions import label_thresholds
    >>> scores = np.array([[0.9, 0.2], [0.3, 0.4]])
    >>> found = label_thresholds([[1, 0], [0, 1]], scores, "f1")
    >>> (scores >= found.thresholds).tolist(), found.loss
    ([[True, False], [False, True]], 0.0)
    """

    thresholds: Values
    loss: float
    exact: bool


def label_thresholds(
    Y: ArrayLike | Sets, scores: ArrayLike, loss: Loss | str, average: str = "macro"
) -> LabelThresholds:
    """``argmin over t_1..t_p of the averaged loss of [scores[:, j] >= t_j]``: one threshold for each label.

    - ``average="macro"``: the mean of the losses of the columns, each of which is one set. Every column has its own
      best threshold, so the answer is exact. One sort, O(n p log n).
    - ``average="micro"``: the loss of all n p decisions as one set. For a quotient of counts (F, Jaccard) the best
      value v makes ``min of numerator - v denominator`` zero, which is a sum over columns; v is found in a few passes
      of O(n p) (Dinkelbach 1967). This is exact, as it is for sums of costs. Other losses of counts are lowered one
      column after another.
    - ``average="samples"``: the mean of the losses of the rows. From the best common threshold on, one column after
      another is given its best threshold while the loss falls.

    ``exact`` is False where columns are changed one after another, unless p is 1 or the loss is a sum of costs of
    single decisions. No change of a single threshold makes such a loss smaller, and that of ``"samples"`` is at most
    the loss of the best common threshold.

    Parameters
    ----------
    Y : (n, p) labels 0 and 1, or a batch of n sets of p decisions each, in which labels may be unknown (-1)
    scores : (n, p) finite; the larger, the more likely positive. For a batch they may be flat, (n p,)
    loss : any loss of labels, or its name; under micro a loss of counts or a sum of costs
    average : "macro", "micro" or "samples"

    Returns
    -------
    LabelThresholds
        The thresholds (p,), the averaged loss at them, and whether no others have a smaller one

    Raises
    ------
    Refusal : for losses of a ranking, and under micro for those that neither counts nor costs determine
    ValueError : for labels and scores that do not fit, and another average
    TypeError : for a loss of another kind

    Examples
    --------
    >>> from setwise.decisions import label_thresholds
    >>> Y = [[1, 0], [1, 1], [0, 0], [0, 1]]
    >>> scores = [[0.9, 0.2], [0.7, 0.4], [0.5, 0.1], [0.1, 0.3]]
    >>> found = label_thresholds(Y, scores, "f1", average="macro")
    >>> found.thresholds.round(2).tolist(), found.loss, found.exact
    ([0.6, 0.25], 0.0, True)
    """
    best = AVERAGES[as_choice(average, "average", AVERAGES)]
    return LabelThresholds(*best(Columns.of(Y, scores), as_loss(loss)))


def _of_columns(columns: Columns, loss: Loss) -> tuple[Values, float, bool]:
    """The best threshold of each column, the mean of their losses, and that it is the least."""
    found = sweep_each(bound(loss, columns.sets, "label_thresholds"), columns.order).best()
    return np.array([one.threshold for one in found]), float(np.mean([one.loss for one in found])), True


AVERAGES = {"macro": _of_columns, "micro": best_of_pool, "samples": best_of_rows}
"""How the losses of a label matrix become one number, by name."""
