"""Margin rescaling: the loss and the score that is won are added up (LH Eq. 21)."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.batch import Batch
from setwise.core.checks import as_number, shown
from setwise.core.evaluator import Evaluator, Surrogate
from setwise.core.inference import Inference, check_inference
from setwise.core.measure import Loss
from setwise.core.rankings import Rankings
from setwise.inference.auto import Auto
from setwise.losses import as_loss
from setwise.surrogates.evaluators import Difference, Support


@final
@dataclass(frozen=True, eq=False)
class MarginRescaling(Surrogate):
    """``max_y loss(y) + <s, phi(y) - phi(truth)> / g``, g a scale (LH Eq. 21 has 1); phi(y) = y for 0/1 labels.

    Convex, and never below the loss of what the scores predict. It is an extension of the loss only for increasing
    losses and g at most :func:`setwise.surrogates.margin_scale` (LH Prop. 2). What is maximized exactly, and what only
    with a bound, says :class:`setwise.inference.Auto`; ``upper`` of the evaluation is that bound.

    Where a loss is about labelings with k predicted positives only, as precision at k, the truth is replaced by the
    mean of the best of them: positives count min(1, k / P), negatives max(0, k - P) / N. Where labels are not known,
    the best labeling among those of no loss takes the place of the truth; the surrogate is then a difference of two
    maxima.

    Parameters
    ----------
    loss : any loss, or the name of one. A loss of a ranking is maximized over rankings; a swapped pair of a positive i
        and a negative j loses ``(s_i - s_j) / (P N g)``
    inference : None chooses by the loss; an object forces one, e.g. ``Greedy()`` as in LH 6.1
    scale : g > 0, or ``"size"`` for the number of decisions of each set. Scores of a large set add up while a loss like
        F1 stays below 1, so that tiny scores would do at g = 1; ``"size"`` weighs the loss against the mean score, as
        SVM^perf does: its C is ours / 100. A loss of a ranking has a mean over pairs already: for it ``"size"`` is 1
    """

    loss: Loss
    inference: Inference | None = None
    scale: float | str = 1.0

    name: ClassVar[str] = "margin"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        check_inference(self.inference)
        if not isinstance(self.scale, str):
            as_number(self.scale, "scale", low=0.0, open_low=True)
        elif self.scale != "size":
            raise ValueError(f"scale must be a number above 0 or 'size'; got {shown(self.scale)}.")

    def on(self, batch: Batch) -> Evaluator:
        structure = self.loss.structure(batch)
        method, scale = self.inference or Auto(), self._scale(structure.batch)
        worst = Support(method.prepare(structure), scale)
        if batch.known is None:
            return worst
        return Difference(worst, Support(method.prepare(structure.zero()), scale), floor=0.0)

    def _scale(self, batch: Any) -> float | Values:
        if not isinstance(self.scale, str):
            return float(self.scale)
        return 1.0 if isinstance(batch, Rankings) else batch.sizes.astype(np.float64)
