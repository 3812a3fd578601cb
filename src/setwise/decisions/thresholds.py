"""The loss of sets of decisions at all cut points of their scores, and the threshold at which it is least."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Orders, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Floats, Ints, Values, as_row_weights, as_scores, as_weights
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import THRESHOLDS_REFUSE
from setwise.decisions.row_weights import RowWeighted
from setwise.kernels.sorting import sort_falling
from setwise.kernels.thresholds import EQUAL, best_cuts, group_places, mean_along
from setwise.losses import as_loss


@final
@dataclass(frozen=True)
class Threshold:
    """A threshold of scores, at which ``score >= threshold`` is predicted positive, and its loss.

    Attributes
    ----------
    threshold : inf predicts none and -inf all; otherwise the midpoint of two distinct neighboring scores, or the upper
        one of them where no number lies between
    loss : the mean loss over the sets at this threshold
    low, high : all thresholds t with ``low <= t <= high`` have this loss on these scores, up to rounding
    exact : whether it is known that no other threshold has a smaller loss on these scores

    Examples
    --------
    >>> from setwise.decisions import best_threshold
    >>> best_threshold([1, 0, 0], [3.0, 1.0, 0.0], "jaccard")
    Threshold(threshold=2.0, loss=0.0, low=1.0000000000000002, high=3.0, exact=True)
    """

    threshold: float
    loss: float
    low: float
    high: float
    exact: bool = True


@final
@dataclass(frozen=True, eq=False)
class SortedDecisions:
    """Decisions in falling order of their scores, in segments; those of unknown label are left out.

    Parameters
    ----------
    items : (m,) their places in the batch
    labels : (m,) their labels
    scores : (m,) their scores, float32 or float64
    offsets : (n+1,) the segments, each of which may be empty
    """

    items: NDArray[np.int32]
    labels: Bools
    scores: Floats
    offsets: Ints

    @classmethod
    def of(cls, sets: Sets, scores: ArrayLike, *, together: bool = False) -> SortedDecisions:
        """Every set as a segment of its own, or all sets ``together`` as one segment; O(total log total)."""
        values, labels, offsets, kept = as_scores(scores, sets.total), sets.truth, sets.offsets, None
        if sets.known is not None:
            kept = np.flatnonzero(sets.known).astype(np.int32)
            values, labels, offsets = values[kept], labels[kept], np.searchsorted(kept, offsets).astype(np.int64)
        segments = np.array([0, len(values)], dtype=np.int64) if together else offsets
        items, labels, values, _ = sort_falling(values, labels, segments)
        return cls(items if kept is None else kept[items], labels, values, segments)

    def segment(self, i: int) -> SortedDecisions:
        """One segment alone."""
        a, b = self.offsets[i], self.offsets[i + 1]
        return SortedDecisions(self.items[a:b], self.labels[a:b], self.scores[a:b], np.array([0, b - a]))

    def neighbors(self, cuts: Ints) -> tuple[Floats, Floats]:
        """The score above one cut of each segment, inf where none is predicted, and that below it, or -inf."""
        if not len(self.scores):
            return np.full(len(cuts), np.inf), np.full(len(cuts), -np.inf)
        at, sizes = self.offsets[:-1] + cuts, np.diff(self.offsets)
        last = len(self.scores) - 1
        upper = np.where(cuts > 0, self.scores[np.clip(at - 1, 0, last)], np.inf)
        return upper, np.where(cuts < sizes, self.scores[np.clip(at, 0, last)], -np.inf)

    def cuts_at(self, thresholds: Values) -> Ints:
        """The cuts of the only segment that predict what thresholds do."""
        return np.searchsorted(self.rising, -thresholds, side="right")

    @cached_property
    def rising(self) -> Floats:
        """The negative scores, which rise."""
        return -self.scores

    @cached_property
    def apart(self) -> Bools:
        """The cuts of the only segment that do not separate equal scores, none and all included, (m+1,)."""
        return np.asarray(np.append(np.inf, self.scores) != np.append(self.scores, -np.inf))

    def between(self, cuts: Ints) -> Values:
        """The threshold of one cut of each segment, (n,): the midpoint of its neighbors as a number of their type.

        It is inf or -inf where there is no score on one side.
        """
        upper, lower = self.neighbors(cuts)
        with np.errstate(invalid="ignore"):
            middle = (0.5 * upper.astype(np.float64) + 0.5 * lower.astype(np.float64)).astype(self.scores.dtype)
        # The midpoint of two floats may be rounded onto the lower one, which would then be predicted too.
        middle = np.where(middle > lower, middle, upper)
        # Where none is predicted there is no score above; this comes first, so that no score at all gives inf.
        return np.where(upper == np.inf, np.inf, np.where(lower == -np.inf, -np.inf, middle)).astype(np.float64)

    def best(self, losses: Values, start: Values, equal: float = EQUAL) -> Ints:
        """The cut of least loss of each segment, (n,), see :class:`Sweep`; O(m)."""
        return best_cuts(self.scores, losses, start, self.offsets, equal)[0]

    def at(self, values: Values, start: Values, cuts: Ints) -> Values:
        """What is ``start`` (n,) at first and ``values`` (m,) after each decision, at one cut of each segment, (n,)."""
        inside = np.maximum(self.offsets[:-1] + cuts - 1, 0)
        return np.where(cuts > 0, values[inside] if len(values) else 0.0, start)


@final
@dataclass(frozen=True, eq=False)
class Sweep:
    """The losses of segments of sorted scores at all their cut points.

    Parameters
    ----------
    order : the decisions in falling order
    losses : (m,) the loss once each decision and those before it in its segment are predicted positive
    start : (n,) the loss of each segment where none is predicted
    """

    order: SortedDecisions
    losses: Values
    start: Values

    def best(self) -> list[Threshold]:
        """The threshold of least loss of each segment; O(m)."""
        return self._thresholds(*best_cuts(self.order.scores, self.losses, self.start, self.order.offsets, EQUAL), True)

    def threshold(self, cut: int) -> Threshold:
        """The threshold at a cut of the only segment."""
        at = np.array([cut])
        return self._thresholds(at, at, at, False)[0]

    def _thresholds(self, cuts: Ints, first: Ints, last: Ints, exact: bool) -> list[Threshold]:
        """One threshold for each segment, at a cut in a flat run."""
        upper, _ = self.order.neighbors(first)
        _, lower = self.order.neighbors(last)
        # A threshold equal to the score below would predict that one too, so the interval begins above it.
        with np.errstate(over="ignore"):
            low = np.where(lower > -np.inf, np.nextafter(lower, np.inf, dtype=self.order.scores.dtype), lower)
        losses = self.order.at(self.losses, self.start, cuts)
        found = zip(self.order.between(cuts), losses, low, upper, strict=True)
        return [Threshold(float(t), float(loss), float(a), float(b), exact) for t, loss, a, b in found]


def as_sets(y: Any) -> Sets:
    """``y`` as a batch: one set for an array (p,) of 0 and 1."""
    if isinstance(y, Batch) and not isinstance(y, Sets):
        raise TypeError(f"y must be labels 0 and 1 of shape (p,), or a batch of the kind Sets; got {type(y).__name__}.")
    return y if isinstance(y, Sets) else Sets.single(y, "y")


def bound(loss: Loss | str, sets: Sets, caller: str, sample_weight: ArrayLike | None = None) -> BoundLoss:
    """The loss bound to sets, if a threshold can decide about their labels; rows of weight 0 are left out."""
    loss, sets = weighted(loss, sets, caller, sample_weight)
    return loss.bind(sets)


def weighted(loss: Loss | str, sets: Sets, caller: str, sample_weight: ArrayLike | None) -> tuple[Loss, Sets]:
    """A loss that a threshold can decide about, with weights of rows if given, and the sets of rows that count."""
    loss = as_loss(loss)
    if loss.reads == "scores":
        raise Refusal(
            f"{caller} refuses {loss!r}: it reads the order of scores, not labels. Use FBeta() or another.",
            THRESHOLDS_REFUSE,
        )
    if sample_weight is None:
        return loss, sets
    weights, sets = counted(sets, sample_weight)
    return RowWeighted(loss, weights), sets


def counted(sets: Sets, sample_weight: ArrayLike) -> tuple[Values, Sets]:
    """The weights of rows (total,), checked, and the sets in which rows of weight 0 have no known label."""
    weights = as_weights(as_row_weights(sample_weight, sets.total), "sample_weight")
    return weights, replace(sets, labels=np.where(weights > 0, sets.labels, -1))


def sweep_each(bound_loss: BoundLoss, order: SortedDecisions) -> Sweep:
    """The losses of every set at its own cut points, in an order with one segment for each set; O(m) for counts."""
    losses = _losses(bound_loss, Orders(order.items, order.labels, order.offsets))
    return Sweep(order, losses, losses_of_none(bound_loss))


def sweep_all(bound_loss: BoundLoss, scores: ArrayLike, shares: Values | None = None) -> Sweep:
    """The mean loss of all sets at the cut points of all their scores; O(total log total) for a loss of counts.

    ``shares`` (n,) of the sets in the mean sum to 1; None weighs all sets alike.
    """
    sets = bound_loss.batch
    assert isinstance(sets, Sets)
    order = SortedDecisions.of(sets, scores, together=True)
    if len(sets) == 1:
        return sweep_each(bound_loss, order)
    losses, start, owners, places = losses_by_set(bound_loss, order)
    with np.errstate(over="ignore"):
        along = mean_along(losses, start, owners, places, shares)
        none = np.array([np.average(start, weights=shares)])
    # Sums of losses that are finite may leave float64.
    return Sweep(order, _finite(bound_loss, along), _finite(bound_loss, none))


def losses_by_set(bound_loss: BoundLoss, order: SortedDecisions) -> tuple[Values, Values, Ints, Ints]:
    """How each decision of a common order changes the loss of its own set.

    Decision j of the order changes the loss of set ``owners[j]`` to ``losses[places[j]]``; ``start`` (n,) holds the
    losses where none is predicted. Returns losses, start, owners, places.
    """
    owners = bound_loss.batch.owners[order.items]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(bound_loss.batch)))])
    places = group_places(owners, offsets)
    each = Orders(np.empty_like(order.items), np.empty_like(order.labels), offsets)
    each.items[places], each.labels[places] = order.items, order.labels
    return _losses(bound_loss, each), losses_of_none(bound_loss), owners, places


def _losses(bound_loss: BoundLoss, orders: Orders) -> Values:
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(bound_loss, bound_loss.sweep_of(orders))


def losses_of_none(bound_loss: BoundLoss) -> Values:
    """The loss of every set where none is predicted, (n,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(bound_loss, bound_loss.values(np.zeros(bound_loss.batch.total, dtype=bool)))


def _finite(bound_loss: BoundLoss, values: Values) -> Values:
    if (values == -np.inf).any():
        raise Refusal(
            f"a threshold refuses {bound_loss!r}: it allows only some numbers of predicted positives.",
            THRESHOLDS_REFUSE,
        )
    if not np.isfinite(values).all():
        raise OverflowError(f"{bound_loss!r} overflows float64 on these sets; scale its parameters down.")
    return values


def best_threshold(
    y: ArrayLike | Sets, scores: ArrayLike, loss: Loss | str, *, sample_weight: ArrayLike | None = None
) -> Threshold:
    """``argmin over t of mean_i loss(y_i, [scores_i >= t])``: the best common threshold of all sets.

    All cut points between distinct scores are compared, and equal scores are never separated: no other threshold has a
    smaller loss on these scores. Of several cut points with the least loss, those next to each other form a run. The
    run that spans the widest range of scores is taken, and the middle of its cut points. Thresholds that predict none
    (inf) or all (-inf) are the answer only where all others have a larger loss.

    One sort and one pass, O(total log total), for a function of counts and for costs of single decisions. Any other
    loss, and a function ``f(y_true, y_pred)`` of yours, is evaluated once for each decision of a set, O(p^2).

    Source: own; compared with all thresholds in tests/decisions/test_thresholds.py.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`; decisions of
        unknown label (-1 in a batch) have no loss and are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    loss : any loss of labels, or what :func:`setwise.losses.as_loss` takes for one
    sample_weight : (p,) or flat (total,) the weight of each row, which counts as so many equal ones, none for 0. It is
        for losses of counts, and those that are a sum over rows

    Returns
    -------
    Threshold
        The threshold, its mean loss, and the interval of thresholds with the same loss

    Raises
    ------
    Refusal : for losses of a ranking, which have no threshold, those that ask for a number of predicted positives, and
        those that weights of rows do not fit
    ValueError : for labels, scores and weights that do not fit, and names of no loss
    TypeError : for a loss of another kind

    Examples
    --------
    The four largest scores hold all three positives and one negative, so F1 is 6/7:

    >>> from setwise.decisions import best_threshold
    >>> found = best_threshold([1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.6, 0.3, 0.2, 0.1], "f1")
    >>> found.threshold, round(found.loss, 4), round(1 / 7, 4)
    (0.25, 0.1429, 0.1429)
    """
    return sweep_all(bound(loss, as_sets(y), "best_threshold", sample_weight), scores).best()[0]


def threshold_curve(
    y: ArrayLike | Sets, scores: ArrayLike, loss: Loss | str, *, sample_weight: ArrayLike | None = None
) -> tuple[Values, Values]:
    """``(t, mean_i loss(y_i, [scores_i >= t]))`` at all cut points of the scores, from inf down to -inf.

    It takes as long as :func:`best_threshold`, whose loss is the least one here.

    Source: own; compared with all thresholds in tests/decisions/test_thresholds.py.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`; unknown labels are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    loss : any loss of labels, or its name
    sample_weight : (p,) or flat (total,) the weight of each row, which counts as so many equal ones, none for 0. It is
        for losses of counts, and those that are a sum over rows

    Returns
    -------
    thresholds, losses : (c+1,) each, for c distinct scores: the thresholds, which fall, and their mean losses

    Raises
    ------
    Refusal : for losses of a ranking, those that ask for a number of predicted positives, and those that weights of
        rows do not fit
    ValueError : for labels, scores and weights that do not fit, and names of no loss
    TypeError : for a loss of another kind

    Examples
    --------
    >>> from setwise.decisions import threshold_curve
    >>> thresholds, losses = threshold_curve([1, 0, 1], [0.8, 0.6, 0.4], "jaccard")
    >>> thresholds.round(2).tolist(), losses.round(2).tolist()
    ([inf, 0.7, 0.5, -inf], [1.0, 0.5, 0.67, 0.33])
    """
    swept = sweep_all(bound(loss, as_sets(y), "threshold_curve", sample_weight), scores)
    cuts = np.flatnonzero(swept.order.apart)
    return swept.order.between(cuts), np.append(swept.start, swept.losses)[cuts]
