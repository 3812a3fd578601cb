"""The best threshold among those that meet floors of recall, precision or specificity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import FLOORS
from setwise.decisions.fixed_sequence import SetSums, Share
from setwise.decisions.floors import SHARES, SIDES, SLACK, Floor, FloorRequest, UnmetFloor, as_requests, share, together
from setwise.decisions.row_weights import RowWeighted
from setwise.decisions.thresholds import SortedDecisions, Sweep, as_sets, bound, counted, sweep_all, weighted
from setwise.kernels.thresholds import falling_counts

RESOLUTION = 1e-4
"""How exactly the best reachable value of a floor is found that only a walk along the cuts can tell."""


@final
@dataclass(frozen=True)
class OperatingPoint:
    """A threshold that meets floors, at which ``score >= threshold`` is predicted positive.

    Attributes
    ----------
    threshold : inf predicts none and -inf all; otherwise the midpoint of two distinct neighboring scores
    loss : the loss at this threshold, which is the least of all that meet the floors
    low, high : all thresholds t with ``low <= t <= high`` have this loss on these scores and meet the floors
    recall, precision, specificity : the shares on these scores, 0 where they are 0/0
    reached : how sure each floor is, one value for each. With a confidence it is the lower bound of the rate on new
        rows, without one the rate on these scores. For ``recall_at_false_positive_rate`` it is the false-positive rate,
        or its upper bound on new rows

    Examples
    --------
    >>> from setwise.decisions import precision_at_recall
    >>> point = precision_at_recall([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.4, 0.1], recall=0.9)
    >>> round(point.threshold, 2), point.recall, round(point.precision, 3), round(point.specificity, 3)
    (0.55, 1.0, 0.667, 0.667)
    """

    threshold: float
    loss: float
    low: float
    high: float
    recall: float
    precision: float
    specificity: float
    reached: tuple[float, ...]


def constrained_threshold(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    loss: Loss | str,
    floor: Floor | Sequence[Floor],
    *,
    sample_weight: ArrayLike | None = None,
) -> OperatingPoint:
    """``argmin over t of mean_i loss(y_i, [scores_i >= t])`` among the thresholds that meet all floors.

    All cut points are compared, as in :func:`~setwise.decisions.best_threshold`. The floors count the decisions of all
    sets together.

    Source: own; compared with all thresholds in tests/decisions/test_floors.py.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`; unknown labels are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    loss : any loss of labels, or its name
    floor : one floor or a list of floors, as ``Floor("recall", 0.9, confidence=0.95)``
    sample_weight : (p,) or flat (total,) the weight of each row, which counts as so many equal ones, none for 0. With a
        confidence it must be None: its tests are for rows that are equally likely

    Returns
    -------
    OperatingPoint
        The threshold, its loss and shares, and what it reaches of each floor

    Raises
    ------
    UnmetFloor : a ValueError where no threshold meets the floors; it names the best reachable value
    Refusal : for losses of a ranking, those that ask for a number of predicted positives, those that weights of rows do
        not fit, and weights with a confidence
    ValueError : for labels, scores and weights that do not fit, and shares that are 0/0 at every threshold
    TypeError : for a loss or a floor of another kind

    Examples
    --------
    Without the floor the best F1 is at 0.25. Two of the three negatives must be left out, so 0.7 remains:

    >>> from setwise.decisions import Floor, constrained_threshold
    >>> y = [1, 1, 0, 1, 0, 0]
    >>> scores = [0.9, 0.8, 0.6, 0.3, 0.2, 0.1]
    >>> point = constrained_threshold(y, scores, "f1", Floor("specificity", 0.9))
    >>> round(point.threshold, 2), round(point.loss, 2), round(point.recall, 2)
    (0.7, 0.2, 0.67)
    """
    floors = together(as_requests(floor))
    loss, sets = weighted(loss, as_sets(y), "constrained_threshold", sample_weight)
    swept = sweep_all(loss.bind(sets), scores)
    cuts = CutCounts.of(swept.order, sets, _row_weights(loss, floors))
    return cuts.best(np.append(swept.start, swept.losses), cuts.meeting(floors), floors)


def _row_weights(loss: Loss | str, floors: tuple[FloorRequest, ...]) -> Values | None:
    """The weights of rows that a loss counts, which floors without a confidence count too; None for none."""
    if not isinstance(loss, RowWeighted):
        return None
    _refuse_confidence(floors)
    return loss.weights


def _refuse_confidence(floors: tuple[FloorRequest, ...]) -> None:
    """Refuse floors with a confidence where rows have weights."""
    if any(asked.floor.confidence is not None for asked in floors):
        raise Refusal(
            "a floor with a confidence refuses weights of rows: the confidence holds only for equally likely rows. "
            "Leave out confidence or sample_weight.",
            FLOORS,
        )


def kept_at(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    floor: Floor | Sequence[Floor],
    thresholds: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> Bools:
    """Whether the floors are met at each of some thresholds, as :func:`constrained_threshold` asks for it."""
    floors = together(as_requests(floor))
    cuts = CutCounts.of_scores(y, scores, floors, sample_weight)
    met = np.logical_and.reduce([cuts.met(asked.floor) for asked in floors])
    return np.asarray(met[cuts.order.cuts_at(np.asarray(thresholds, dtype=np.float64))])


def nearest_threshold(
    y: ArrayLike | Sets, scores: ArrayLike, loss: Loss | str, floor: Floor | Sequence[Floor]
) -> OperatingPoint:
    """``argmin over t of max_floor (least - value(t))``, and of such thresholds that of the least mean loss.

    For floors that no threshold meets; the arguments are those of :func:`constrained_threshold`.
    """
    sets, floors = as_sets(y), as_requests(floor)
    swept = sweep_all(bound(loss, sets, "nearest_threshold"), scores)
    cuts = CutCounts.of(swept.order, sets, _row_weights(loss, floors))
    point = cuts.best(np.append(swept.start, swept.losses), cuts.nearest(floors)[0], floors)
    k = cuts.order.cuts_at(np.array([point.threshold]))
    values = (float(one.floor.values(cuts.tp[k], cuts.fp[k], cuts.P, cuts.N)[0]) for one in floors)
    return replace(point, reached=tuple(one.of_share(value) for one, value in zip(floors, values, strict=True)))


def lowest_threshold(
    y: ArrayLike | Sets, scores: ArrayLike, floor: Floor | Sequence[Floor], weights: Values | None = None
) -> float:
    """The lowest threshold that meets all floors, which predicts the most; UnmetFloor where none does.

    Floors without a confidence count the ``weights`` (total,) of rows.
    """
    sets = as_sets(y)
    cuts = CutCounts.of(SortedDecisions.of(sets, scores, together=True), sets, weights)
    last = np.flatnonzero(cuts.meeting(together(as_requests(floor))))[-1:]
    return float(cuts.order.between(last)[0])


def precision_at_recall(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    recall: float,
    confidence: float | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> OperatingPoint:
    """The threshold of greatest precision with ``recall >= recall``, see :class:`Floor`; ``loss`` is 1 - precision.

    Of equal precisions the one of the greatest recall is taken. The decisions of all sets are counted together.

    Source: own; compared with all thresholds in tests/decisions/test_floors.py.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`; unknown labels are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    recall : the least recall ``tp / P``, in [0, 1]
    confidence : a number in (0, 1), with which the floor holds on new decisions; None counts those at hand
    sample_weight : (p,) or flat (total,) the weight of each row, which counts as so many equal ones, none for 0. With a
        confidence it must be None: its tests are for rows that are equally likely

    Returns
    -------
    OperatingPoint
        The threshold, its recall, precision and specificity, and what it reaches of the floor

    Raises
    ------
    UnmetFloor : a ValueError where no threshold meets the floor; it names the best reachable value
    Refusal : for weights with a confidence
    ValueError : for labels, scores and weights that do not fit, numbers out of range, and labels without a positive
    TypeError : for a number of another kind

    Examples
    --------
    >>> from setwise.decisions import precision_at_recall
    >>> y = [1, 1, 0, 1, 0, 0]
    >>> scores = [0.9, 0.8, 0.6, 0.3, 0.2, 0.1]
    >>> point = precision_at_recall(y, scores, recall=0.9)
    >>> point.threshold, point.precision, point.recall
    (0.25, 0.75, 1.0)
    """
    floor = FloorRequest.least("recall", recall, confidence)
    cuts = CutCounts.of_scores(y, scores, (floor,), sample_weight)
    loss = 1.0 - share(cuts.tp, cuts.tp + cuts.fp)
    return cuts.best(loss, cuts.meeting((floor,)), (floor,), cuts.P - cuts.tp)


def recall_at_precision(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    precision: float,
    confidence: float | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> OperatingPoint:
    """The threshold of greatest recall with ``precision >= precision``, see :class:`Floor`; ``loss`` is 1 - recall.

    Of equal recalls the one of the greatest precision is taken. The decisions of all sets are counted together.

    Source: own; compared with all thresholds in tests/decisions/test_floors.py.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`; unknown labels are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    precision : the least precision ``tp / (tp + fp)``, in [0, 1]
    confidence : a number in (0, 1), with which the floor holds on new decisions; None counts those at hand
    sample_weight : (p,) or flat (total,) the weight of each row, which counts as so many equal ones, none for 0. With a
        confidence it must be None: its tests are for rows that are equally likely

    Returns
    -------
    OperatingPoint
        The threshold, its recall, precision and specificity, and what it reaches of the floor

    Raises
    ------
    UnmetFloor : a ValueError where no threshold meets the floor; it names the best reachable value
    Refusal : for weights with a confidence
    ValueError : for labels, scores and weights that do not fit, numbers out of range, and labels without a positive
    TypeError : for a number of another kind

    Examples
    --------
    >>> from setwise.decisions import recall_at_precision
    >>> y = [1, 1, 0, 1, 0, 0]
    >>> scores = [0.9, 0.8, 0.6, 0.3, 0.2, 0.1]
    >>> point = recall_at_precision(y, scores, precision=0.9)
    >>> round(point.threshold, 2), point.precision, round(point.recall, 2)
    (0.7, 1.0, 0.67)
    """
    floor = FloorRequest.least("precision", precision, confidence)
    return _most_recall(y, scores, floor, "recall_at_precision", sample_weight)


def recall_at_false_positive_rate(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    rate: float,
    confidence: float | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> OperatingPoint:
    """The threshold of greatest recall with ``fp / N <= rate``, see :class:`Floor`; ``loss`` is 1 - recall.

    Of equal recalls the one with the fewest false positives is taken. The decisions of all sets are counted together.
    With ``confidence`` the upper bound of the rate, one minus the lower bound of the specificity, is at most ``rate``.
    ``reached``, and ``reachable`` of an :class:`UnmetFloor`, are rates too.

    Source: own; compared with all thresholds in tests/decisions/test_floors.py.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`; unknown labels are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    rate : the largest false-positive rate ``fp / N``, in [0, 1]
    confidence : a number in (0, 1), with which the floor holds on new decisions; None counts those at hand
    sample_weight : (p,) or flat (total,) the weight of each row, which counts as so many equal ones, none for 0. With a
        confidence it must be None: its tests are for rows that are equally likely

    Returns
    -------
    OperatingPoint
        The threshold, its recall, precision and specificity, and what it reaches of the floor

    Raises
    ------
    UnmetFloor : a ValueError where no threshold meets the floor; it names the best reachable value
    Refusal : for weights with a confidence
    ValueError : for labels, scores and weights that do not fit, numbers out of range, and labels of one kind only
    TypeError : for a number of another kind

    Examples
    --------
    >>> from setwise.decisions import recall_at_false_positive_rate
    >>> y = [1, 1, 0, 1, 0, 0]
    >>> scores = [0.9, 0.8, 0.6, 0.3, 0.2, 0.1]
    >>> point = recall_at_false_positive_rate(y, scores, rate=0.2)  # none of the three negatives
    >>> round(point.threshold, 2), round(point.recall, 2), point.reached
    (0.7, 0.67, (0.0,))
    """
    floor = FloorRequest.rate("specificity", "false-positive rate", rate, confidence)
    return _most_recall(y, scores, floor, "recall_at_false_positive_rate", sample_weight)


def recall_at_alarm_rate(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    rate: float,
    confidence: float | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> OperatingPoint:
    """The threshold of greatest recall with ``(tp + fp) / (P + N) <= rate``, a limit of alarms.

    If you can check 50 of 1,000 rows a day, pass ``rate=0.05``. With equal recalls, the fewest alarms are
    taken. The decisions of all sets are counted together. With ``confidence`` the rate holds on new decisions, see
    :class:`Floor`; ``reached``, and ``reachable`` of an :class:`UnmetFloor`, are rates too.

    Source: own; compared with all thresholds in tests/decisions/test_floors.py.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`; unknown labels are left out
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    rate : the largest share of decisions that are predicted positive, in [0, 1]
    confidence : a number in (0, 1), with which the floor holds on new decisions; None counts those at hand
    sample_weight : (p,) or flat (total,) the weight of each row, which counts as so many equal ones, none for 0. With a
        confidence it must be None: its tests are for rows that are equally likely

    Returns
    -------
    OperatingPoint
        The threshold, its recall, precision and specificity, and what it reaches of the rate

    Raises
    ------
    UnmetFloor : a ValueError where no threshold meets the rate; it names the best reachable value
    Refusal : for weights with a confidence
    ValueError : for labels, scores and weights that do not fit, numbers out of range, and labels without a positive
    TypeError : for a number of another kind

    Examples
    --------
    >>> from setwise.decisions import recall_at_alarm_rate
    >>> y = [1, 1, 0, 1, 0, 0]
    >>> scores = [0.9, 0.8, 0.6, 0.3, 0.2, 0.1]
    >>> point = recall_at_alarm_rate(y, scores, rate=0.4)  # two of the six
    >>> round(point.threshold, 2), round(point.recall, 2), round(point.reached[0], 2)
    (0.7, 0.67, 0.33)
    """
    floor = FloorRequest.rate("unflagged", "share of alarms", rate, confidence)
    return _most_recall(y, scores, floor, "recall_at_alarm_rate", sample_weight)


def _most_recall(
    y: ArrayLike | Sets, scores: ArrayLike, floor: FloorRequest, caller: str, sample_weight: ArrayLike | None
) -> OperatingPoint:
    cuts = CutCounts.of_scores(y, scores, (floor,), sample_weight)
    Floor("recall", 0.0).check(cuts.P, cuts.N, f"the recall that {caller} makes largest")
    loss = 1.0 - share(cuts.tp, np.full(len(cuts.tp), cuts.P))
    return cuts.best(loss, cuts.meeting((floor,)), (floor,), cuts.fp)


@final
@dataclass(frozen=True, eq=False)
class CutCounts:
    """The counts of the decisions of one order if the first k are predicted positive, for k = 0..m.

    Parameters
    ----------
    order : one segment of decisions in falling order of their scores
    tp, fp : (m+1,) the numbers of positives and negatives among the predicted
    owners : (m,) the set of each decision; None for one set, whose decisions are independent
    """

    order: SortedDecisions
    tp: Values
    fp: Values
    owners: Ints | None

    @classmethod
    def of(cls, order: SortedDecisions, sets: Sets, weights: Values | None = None) -> CutCounts:
        """The counts along an order of one segment, or the sums of weights (total,) of the decisions."""
        w = None if weights is None else weights[order.items]
        positives = np.count_nonzero(order.labels) if w is None else w[order.labels].sum()
        fn, fp = falling_counts(order.labels, order.offsets, np.array([positives]), w)
        owners = np.searchsorted(sets.offsets, order.items, side="right") if len(sets) > 1 else None
        return cls(order, np.append(0.0, positives - fn), np.append(0.0, fp), owners)

    @classmethod
    def of_scores(
        cls, y: ArrayLike | Sets, scores: ArrayLike, floors: tuple[FloorRequest, ...], sample_weight: ArrayLike | None
    ) -> CutCounts:
        """The counts along the order of all decisions together, which floors are to be met by."""
        sets, weights = as_sets(y), None
        if sample_weight is not None:
            _refuse_confidence(floors)
            weights, sets = counted(sets, sample_weight)
        return cls.of(SortedDecisions.of(sets, scores, together=True), sets, weights)

    @property
    def P(self) -> float:  # noqa: N802
        """The number of positives."""
        return float(self.tp[-1])

    @property
    def N(self) -> float:  # noqa: N802
        """The number of negatives."""
        return float(self.fp[-1])

    def meeting(self, floors: tuple[FloorRequest, ...]) -> Bools:
        """The cuts that meet all floors, (m+1,); raises UnmetFloor if there is none."""
        for asked in floors:
            asked.floor.check(self.P, self.N, asked.words)
        met = [self.met(asked.floor) for asked in floors]
        found = np.logical_and.reduce(met)
        if not found.any():
            raise self._unmet(floors, met)
        return np.asarray(found)

    def nearest(self, floors: tuple[FloorRequest, ...]) -> tuple[Bools, float]:
        """The cuts at which the floor that is missed most lacks least, (m+1,), and how much it lacks there."""
        lacks = [one.floor.least - one.floor.values(self.tp, self.fp, self.P, self.N) for one in floors]
        short = np.where(self.order.apart, np.max(lacks, axis=0), np.inf)
        return short <= short.min() + SLACK, float(short.min())

    def met(self, floor: Floor) -> Bools:
        """The cuts that meet a floor, any of which may be picked, (m+1,)."""
        if floor.confidence is None or floor.least in (0.0, 1.0) or not len(self.order.labels):
            return np.asarray(floor.met(self.tp, self.fp, self.P, self.N) & self.order.apart)
        along = self.along(floor)
        side = SIDES[floor.measure]
        if side == "both":
            return along.sure_in_walks(floor.level)
        return along.sure_before_failure(floor.level, from_last=side == "low")

    def along(self, floor: Floor) -> Share:
        """The share of a floor at all cuts, and over which sets."""
        right, whole = SHARES[floor.measure](self.tp, self.fp, self.P, self.N)
        return Share(right, whole, np.flatnonzero(self.order.apart), floor.least, self._over_sets(floor))

    def _over_sets(self, floor: Floor) -> SetSums | None:
        if self.owners is None:
            return None
        y = self.order.labels
        counted = {"recall": y, "specificity": ~y}.get(floor.measure, np.ones(len(y), dtype=bool))
        names, first, owner = np.unique(self.owners[counted], return_index=True, return_inverse=True)
        sizes: Values = np.bincount(owner, minlength=len(names)).astype(np.float64)
        mean: Values = np.full(len(owner) + 1, len(owner) / max(len(names), 1))
        if floor.measure == "precision":
            start, step = np.zeros(len(names)), y.astype(np.float64) - floor.least
            seen = np.bincount(first, minlength=len(owner)).cumsum()
            mean = np.arange(len(owner) + 1.0) / np.append(1.0, seen)
        elif floor.measure == "recall":
            start, step = -floor.least * sizes, np.ones(len(owner))
        else:
            start, step = (1.0 - floor.least) * sizes, np.full(len(owner), -1.0)
        mean *= floor.least
        sums, places = SetSums.of(owner, start, step, mean), np.append(0, np.cumsum(counted))
        return SetSums(sums.count, sums.sums[:, places], sums.failing[places])

    def _unmet(self, floors: tuple[FloorRequest, ...], met: list[Bools]) -> UnmetFloor:
        # The first floor that fails together with those before it is named, with what they leave to it.
        left, first = self.order.apart, 0
        while (left & met[first]).any():
            left, first = left & met[first], first + 1
        asked = floors[first]
        at, k = self._best_of(asked, left)
        threshold = self.order.between(np.array([k]))[0]
        others = f" together with {' and '.join(one.words for one in floors[:first])}" if first else ""
        more = None if asked.floor.confidence is None or first else self._sets_needed(asked.floor)
        sets = f" Rows of one set may depend on each other: about {more:,} sets like these are needed." if more else ""
        return UnmetFloor(
            f"{asked.opening} is not met by any threshold of these scores{others}: {asked.best} is {at:.4g}, at the "
            f"threshold {threshold:.6g}.{sets}",
            at,
        )

    def _sets_needed(self, floor: Floor) -> int | None:
        if self.owners is None or not 0.0 < floor.least < 1.0:
            return None
        return self.along(floor).sets_needed(floor.level, len(np.unique(self.owners)), SIDES[floor.measure])

    def _best_of(self, asked: FloorRequest, left: Bools) -> tuple[float, int]:
        """The best value of a floor that none of these cuts meets, in the words of its call, and its cut."""
        floor = asked.floor
        values = np.where(left, floor.values(self.tp, self.fp, self.P, self.N), -1.0)
        k = int(values.argmax())
        if not self._walks(floor):
            return asked.reached(self.tp[k : k + 1], self.fp[k : k + 1], self.P, self.N), k
        low, high = 0.0, floor.least
        while high - low > RESOLUTION:
            middle = 0.5 * (low + high)
            found = self.met(replace(floor, least=middle)) & left
            if found.any():
                low, k = middle, int(np.flatnonzero(found)[-1])
            else:
                high = middle
        return asked.of_share(low), k

    def _walks(self, floor: Floor) -> bool:
        """Whether a floor is sure at cuts that were tested in turn, so that no bound at one cut alone tells it."""
        return floor.confidence is not None and (self.owners is not None or SIDES[floor.measure] == "both")

    def best(
        self, loss: Values, allowed: Bools, floors: tuple[FloorRequest, ...], then: Values | None = None
    ) -> OperatingPoint:
        """The allowed cut of the least loss, and of those with the least one that of the least ``then``."""
        if then is None:
            key = np.where(allowed, loss, np.inf)
        else:
            # Sums of weights are rounded.
            key = np.where(allowed & (loss <= loss[allowed].min() + SLACK), then, np.inf)
        found = Sweep(self.order, key[1:], key[:1]).best()[0]
        k = int(self.order.cuts_at(np.array([found.threshold]))[0])
        tp, fp = self.tp[k : k + 1], self.fp[k : k + 1]
        names = ("recall", "precision", "specificity")
        shares = {name: float(share(*SHARES[name](tp, fp, self.P, self.N))[0]) for name in names}
        reached = tuple(
            one.of_share(one.floor.least) if self._walks(one.floor) else one.reached(tp, fp, self.P, self.N)
            for one in floors
        )
        return OperatingPoint(found.threshold, float(loss[k]), found.low, found.high, **shares, reached=reached)
