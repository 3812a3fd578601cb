"""Margin and slack rescaling: surrogates that maximize over all labelings (LH section 3)."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_number
from setwise.core.inference import Inference, Problem, Solutions
from setwise.core.loss import Loss
from setwise.core.ranking import RankLoss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.surrogate import Bounds, Surrogate, check_loss
from setwise.inference.default import default_inference
from setwise.inference.worst_ranking import worst_ranking
from setwise.kernels.segments import segment_sums


@final
@dataclass(frozen=True, eq=False)
class MarginRescaling(Surrogate):
    """``max_yh loss(y, yh) + <s, yh - y> / g`` with 0/1 labels and a scale g (LH Eq. 21 with g = 1).

    Convex, never below the loss of what the scores predict. An extension of the loss only for increasing losses and g
    at most :func:`setwise.surrogates.margin_scale` (LH Prop. 2). Exact for modular losses, losses of counts,
    supermodular losses, losses of a ranking and any loss of up to 20 decisions; beyond that greedy: ``exact`` is False
    then and ``upper`` honest.

    A loss that ties the number of predicted positives to k, as precision at k, is maximized over such labelings, and
    y is replaced by the mean of the best of them: positives count min(1, k / P), negatives max(0, k - P) / N.

    Parameters
    ----------
    loss : any loss. A loss of a ranking is maximized over rankings; a swapped pair loses ``(s_i - s_j) / (P N g)``
    inference : None chooses by the loss; an object forces one, e.g. ``Greedy()`` as in LH 6.1
    scale : g > 0, or ``"size"`` for the number of decisions of each set. Scores of a large set add up while a loss like
        F1 stays below 1, so that tiny scores would do at g = 1; ``"size"`` weighs the loss against the mean score, as
        SVM^perf does: its C is ours / 100. A loss of a ranking has a mean over pairs already: for it ``"size"`` is 1
    """

    loss: Loss | RankLoss
    inference: Inference | None = None
    scale: float | str = 1.0

    def __post_init__(self) -> None:
        check_loss(self.loss)
        _check_inference(self.inference)
        if self.scale != "size":
            as_number(self.scale, "scale", low=0.0, open_low=True)
        if self.inference is not None and isinstance(self.loss, RankLoss):
            raise Refusal(f"{self.inference!r} refuses {self.loss!r}: it judges a ranking. Leave inference out.")

    def _batch(self, sets: Sets, scores: NDArray[Any]) -> Bounds:
        """Value, gradient ``(yh - y) / g`` and bound of every set."""
        if isinstance(self.loss, RankLoss):
            return self._rank(self.loss, sets, scores)
        scale = self._scale(sets, scores.dtype)
        found = _solve(Problem(self.loss, sets, scores / scale), self.inference)
        step = np.where(found.mistakes, 1 - 2 * sets.labels.astype(scores.dtype), 0)
        reference = self.loss.reference(sets)
        if reference is None:
            return Bounds(found.values, step / scale, found.bounds, found.exact)
        away = (sets.labels - reference) / scale
        lift = segment_sums(away * scores, sets.offsets)
        return Bounds(found.values + lift, (step / scale + away).astype(scores.dtype), found.bounds + lift, found.exact)

    def _scale(self, sets: Sets, dtype: np.dtype) -> NDArray[Any]:
        if self.scale != "size":
            return np.asarray(self.scale, dtype=dtype)
        return sets.sizes.astype(dtype)[sets.owners] if len(sets) > 1 else sets.sizes[0].astype(dtype)

    def _rank(self, loss: RankLoss, sets: Sets, scores: NDArray[Any]) -> Bounds:
        scale = 1.0 if isinstance(self.scale, str) else self.scale
        values, gradient = worst_ranking(loss, sets, scores / scale)
        return Bounds(values, (gradient / scale).astype(scores.dtype), values, np.ones(len(sets), dtype=bool))


@final
@dataclass(frozen=True, eq=False)
class SlackRescaling(Surrogate):
    """``max_yh loss(y, yh) (1 + <s, yh - y>)`` with 0/1 labels (LH Eq. 22).

    Convex, never below the loss of the signs, an extension exactly of increasing losses (LH Prop. 1). Exact for
    cardinality losses and any loss of up to 20 decisions; beyond that greedy, ``exact`` is False and ``upper`` honest.

    Parameters
    ----------
    loss : any loss
    inference : None chooses by the loss; an object forces one
    """

    loss: Loss
    inference: Inference | None = None

    def __post_init__(self) -> None:
        check_loss(self.loss)
        _check_inference(self.inference)
        if isinstance(self.loss, RankLoss):
            why = "it judges a ranking, not a set of mistakes"
            raise Refusal(f"SlackRescaling refuses {self.loss!r}: {why}. Use surrogate='margin'.")

    def _batch(self, sets: Sets, scores: NDArray[Any]) -> Bounds:
        """Value, gradient ``loss * (yh - y)`` and bound of every set."""
        if self.loss.reference(sets) is not None:
            raise Refusal(
                f"SlackRescaling refuses {self.loss!r}: the truth is not among the labelings it is about. "
                "Use surrogate='margin'."
            )
        found = _solve(Problem(self.loss, sets, scores, slack=True), self.inference)
        weight = self.loss.values(sets, found.mistakes)[sets.owners]
        gradient = np.where(found.mistakes, np.where(sets.labels, -weight, weight), 0.0).astype(scores.dtype)
        return Bounds(found.values, gradient, found.bounds, found.exact)


def _check_inference(inference: object) -> None:
    if inference is not None and not isinstance(inference, Inference):
        raise TypeError(f"inference must be None or an Inference, as setwise.inference.Greedy(); got {inference!r}.")


def _solve(problem: Problem, inference: Inference | None) -> Solutions:
    method = default_inference(problem) if inference is None else inference
    why = method.refuses(problem)
    if why is not None:
        raise Refusal(why)
    return method.maximize(problem)
