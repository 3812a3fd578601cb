"""The weighted mean of a surrogate over sets whose rows lie in several places, exactly.

A catalog says which place holds what, and how each set is evaluated: where all its rows are, from summaries, or, for a
small set that spans places, where its scores are gathered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values, as_kind, as_number, as_point
from setwise.core.exceptions import Refusal
from setwise.core.pages import PLACES_REFUSE
from setwise.core.risk import CuttingPlane, PartPlanes, Risk
from setwise.core.surrogate import Evaluation, Evaluator, Piece, PiecedEvaluation, PiecedEvaluator, Question, Surrogate
from setwise.models.rows import RowBlock
from setwise.risks.mean import EPSILON, ShiftedRisk, shares
from setwise.risks.places import PlaceArguments, PlacedObjects, Places

FEW, MOST = 1 << 16, 1 << 24
"""Sets of at most so many rows are gathered where they span places. Larger ones are, up to the second number, where
their surrogate needs all scores in one place."""


class Extent(NamedTuple):
    """The ids (m,) of the sets that have rows at a place, rising, and how many rows and positives of each there are."""

    ids: Any
    sizes: Ints
    positives: Ints


def extent_of(truth: Bools, ids: Any) -> Extent:
    """Which sets have rows at a place, where ``ids`` (rows,) names them; None makes all rows one set."""
    if ids is None:
        some = np.zeros(1 if len(truth) else 0, dtype=np.int64)
        return Extent(some, some + len(truth), some + int(truth.sum()))
    if len(ids) != len(truth):
        raise ValueError(f"groups must have one id for each row, {len(truth)} in a place; got {len(ids)}.")
    known, owners = np.unique(ids, return_inverse=True)
    positives = np.bincount(owners[truth], minlength=len(known))
    return Extent(known, np.bincount(owners, minlength=len(known)), positives)


def joined_ids(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The ids of all places, one after another, in a type in which different ids differ.

    Raises
    ------
    ValueError : where there is no such type, as for -1 beside 2^63, for 2^53 + 1 beside .5, and for 1 beside "1"
    """
    parts = [some for some in parts if len(some)]
    kinds = {"number" if some.dtype.kind in "biuf" else "date" if some.dtype.kind in "mM" else "text" for some in parts}
    if len(kinds) > 1:
        raise ValueError(f"groups must hold ids of one kind in all places; got {' and '.join(sorted(kinds))}.")
    whole = [some for some in parts if some.dtype.kind in "biu"]
    joined = np.concatenate(parts)
    if joined.dtype.kind != "f" or not whole:
        return joined
    # NumPy joins int64 and uint64 to float64, which does not hold all of them.
    low, high = min(int(some.min()) for some in whole), max(int(some.max()) for some in whole)
    if len(whole) == len(parts) and (low >= 0 or high < 1 << 63):
        return np.concatenate([some.astype(np.uint64 if low >= 0 else np.int64) for some in parts])
    if max(-low, high) > 1 << 53:
        types = ", ".join(sorted({str(some.dtype) for some in parts}))
        raise ValueError(f"groups must have one type of numbers in all places; {types} hold no type in common.")
    return joined


class PlaceSets(NamedTuple):
    """How the sets of a place are evaluated, in the order of their ids, (m,) each.

    ``numbers`` are those of the sets in the whole data set; ``kinds`` are :data:`WHOLE`, :data:`GATHERED` or
    :data:`SPREAD`; ``weights`` are their shares of the risk.
    """

    numbers: Ints
    kinds: Ints
    weights: Values


WHOLE, GATHERED, SPREAD = 0, 1, 2
"""Sets that lie in one place; small ones that do not, whose scores are gathered; and large ones that do not."""


@final
class SetCatalog:
    """All sets of a data set, numbered by their sorted ids.

    Parameters
    ----------
    extents : which sets each place has
    surrogate : what is evaluated
    weights : (n,) non-negative, not all 0; None gives all sets the same weight

    Attributes
    ----------
    ids, sizes, positives, kinds, weights : of the n sets; the weights have the sum 1
    spread : the surrogate bound to each of the spread sets, by their numbers
    """

    def __init__(self, extents: Sequence[Extent], surrogate: Surrogate, weights: ArrayLike | None = None) -> None:
        if not sum(len(extent.ids) for extent in extents):
            raise ValueError("rows must not be empty in all places.")
        self.ids = np.unique(joined_ids([extent.ids for extent in extents]))
        self.numbers = [
            np.searchsorted(self.ids, extent.ids.astype(self.ids.dtype)).astype(np.int64) for extent in extents
        ]
        n, totals = len(self.ids), np.zeros((len(self.ids), 3), dtype=np.int64)
        for numbers, extent in zip(self.numbers, extents, strict=True):
            totals[numbers] += np.column_stack([np.ones_like(numbers), extent.sizes, extent.positives])
        self.sizes, self.positives = totals[:, 1], totals[:, 2]
        self.kinds = np.where(totals[:, 0] == 1, WHOLE, np.where(self.sizes <= FEW, GATHERED, SPREAD))
        self.weights = shares(weights, n)
        self.spread = self._spread(surrogate)

    def _spread(self, surrogate: Surrogate) -> dict[int, PiecedEvaluator]:
        """The surrogate of each spread set; sets for which there is none are gathered."""
        found: dict[int, PiecedEvaluator] = {}
        for i in np.flatnonzero(self.kinds == SPREAD).tolist():
            positives, size = int(self.positives[i]), int(self.sizes[i])
            try:
                found[i] = surrogate.in_pieces(size - positives, positives)
            except Refusal as why:
                if size > MOST:
                    raise Refusal(
                        f"a set of {size} rows in several places is refused, at most {MOST}: {why.sentence}",
                        why.page or PLACES_REFUSE,
                    ) from why
                self.kinds[i] = GATHERED
        return found

    def plan(self, k: int) -> PlaceSets:
        """How the sets of place k are evaluated."""
        numbers = self.numbers[k]
        return PlaceSets(numbers, self.kinds[numbers], self.weights[numbers])

    @cached_property
    def holders(self) -> dict[int, list[int]]:
        """The places that hold a piece of each spread set, rising."""
        return {i: [k for k, numbers in enumerate(self.numbers) if (numbers == i).any()] for i in self.spread}


class PlaceValue(NamedTuple):
    """The sums of the values and of the bounds of the whole sets, and the scores of the rows that are gathered."""

    value: float
    upper: float
    scores: Values


class PlacePlane(NamedTuple):
    """The plane of a place: its slope, ``<g, s - base>``, and a bound of the digits that were lost over ``|w|``."""

    slope: Values
    inner: float
    lost: float


@final
@dataclass(frozen=True, eq=False)
class Shard:
    """The labels of the rows of a place, in the order of the kinds of their sets, and the evaluator of the whole ones.

    The rows themselves are not among it: they are passed to what needs them, and may be read anew for that.

    Parameters
    ----------
    size : the number of weights
    order : row i of the share is row ``order[i]`` of the place; None where the order is the same
    truth : the labels of the rows, (m,)
    numbers, offsets : set ``numbers[i]`` has the rows ``offsets[i]:offsets[i+1]``
    kinds, weights : the kind and the share in the risk of each of them
    evaluator : the surrogate of the whole sets; None where there are none
    """

    size: int
    order: Ints | None
    truth: Bools
    numbers: Ints
    offsets: Ints
    kinds: Ints
    weights: Values
    evaluator: Evaluator | None

    @classmethod
    def of(cls, rows: RowBlock, truth: Bools, ids: Any, plan: PlaceSets, surrogate: Surrogate) -> "Shard":
        """The share of a place whose rows belong to the sets ``ids``, in an order of its own."""
        if len(rows.lengths) != len(truth):
            raise ValueError(f"truth must have one label for each row, {len(rows.lengths)}; got {len(truth)}.")
        order, sorted_rows = np.lexsort((plan.numbers, plan.kinds)), None
        kinds, sizes = plan.kinds[order], np.array([len(truth)] if len(plan.kinds) else [], dtype=np.int64)
        if ids is not None:
            owners = np.unique(ids, return_inverse=True)[1]
            places = np.empty(len(order), dtype=np.int64)
            places[order] = np.arange(len(order))
            sizes, ranks = np.bincount(owners, minlength=len(order))[order], places[owners]
            if (np.diff(ranks) < 0).any():
                sorted_rows = np.argsort(ranks, kind="stable")
                truth = truth[sorted_rows]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        n_whole = int((kinds == WHOLE).sum())
        end = offsets[n_whole]
        whole = surrogate.on(Sets(truth[:end], offsets[: n_whole + 1])) if n_whole else None
        numbers, weights = plan.numbers[order], plan.weights[order]
        return cls(rows.size, sorted_rows, truth, numbers, offsets, kinds, weights, whole)

    def width(self) -> int:
        """The number of weights."""
        return self.size

    def scores(self, rows: RowBlock, w: Values) -> Values:
        """The scores of the rows of the place, (m,), in the order of the share."""
        scores = rows.scores(w)
        return scores if self.order is None else scores[self.order]

    def begin(self, scores: Values, tol: float) -> Evaluation | None:
        """The evaluation of the whole sets."""
        return None if self.evaluator is None else self.evaluator(scores[: self._end(WHOLE)], tol)

    def brief(self, scores: Values, begun: Evaluation | None) -> PlaceValue:
        """What the place sends before anything is known of sets that span places."""
        part, weights = slice(self._end(WHOLE), self._end(GATHERED)), self.weights[self.kinds == WHOLE]
        sums = (0.0, 0.0) if begun is None else (float(weights @ begun.values), float(weights @ begun.upper))
        return PlaceValue(*sums, scores[part])

    def gathered(self) -> tuple[Bools, Ints]:
        """The labels of the rows that are gathered, and the numbers of their sets."""
        part, sizes = slice(self._end(WHOLE), self._end(GATHERED)), np.diff(self.offsets)
        chosen = self.kinds == GATHERED
        return self.truth[part], np.repeat(self.numbers[chosen], sizes[chosen])

    def floor(self) -> float:
        """A lower bound of the values of the whole sets; inf where there are none."""
        return np.inf if self.evaluator is None else self.evaluator.floor

    def convex(self) -> bool:
        """Whether the surrogate of the whole sets is convex."""
        return self.evaluator is None or self.evaluator.convex

    def answer(self, scores: Values, questions: dict[int, Question]) -> dict[int, Any]:
        """The answers to questions about the spread sets, by their numbers."""
        return {number: questions[number](piece) for number, piece in self._pieces(scores) if number in questions}

    def end(
        self,
        rows: RowBlock,
        scores: Values,
        begun: Evaluation | None,
        gathered: Values,
        gradients: dict[int, Question],
    ) -> PlacePlane:
        """The plane of all rows, from the weighted gradient of the gathered rows, and the gradients of spread sets."""
        parts = []
        if begun is not None:
            sizes, n_whole = np.diff(self.offsets), int((self.kinds == WHOLE).sum())
            parts.append(begun.gradient * np.repeat(self.weights[:n_whole], sizes[:n_whole]))
        parts.append(gathered)
        spread = self.weights[self.kinds == SPREAD]
        for (number, piece), weight in zip(self._pieces(scores), spread, strict=True):
            parts.append(gradients[number](piece) * weight)
        gradient = np.concatenate(parts)
        inner = float(gradient @ scores)
        if self.order is not None:
            ordered, gradient = gradient, np.empty_like(gradient)
            gradient[self.order] = ordered
        return PlacePlane(rows.pullback(gradient), inner, float(np.abs(gradient) @ rows.lengths))

    def _pieces(self, scores: Values) -> list[tuple[int, Piece]]:
        """The numbers of the spread sets and their pieces."""
        found = []
        for i in np.flatnonzero(self.kinds == SPREAD):
            part = slice(self.offsets[i], self.offsets[i + 1])
            found.append((int(self.numbers[i]), Piece(scores[part], self.truth[part])))
        return found

    def _end(self, kind: int) -> int:
        """Where the rows of the sets of this kind end."""
        return int(self.offsets[int((self.kinds <= kind).sum())])


@final
@dataclass(frozen=True, eq=False)
class GatheredSets:
    """The gathered sets of all places, in one batch.

    Parameters
    ----------
    evaluator : the surrogate of the gathered sets; None where there are none
    weights : the share of each of them in the risk
    order : row i of the batch is row ``order[i]`` of the places, one after another
    ends : where the rows of each place end
    """

    evaluator: Evaluator | None
    weights: Values
    order: Ints
    ends: Ints

    @classmethod
    def of(cls, catalog: SetCatalog, rows: Sequence[tuple[Bools, Ints]], surrogate: Surrogate) -> "GatheredSets":
        """The meeting of the gathered rows of each place, given by their labels and the numbers of their sets."""
        truth, numbers = (np.concatenate(column) for column in zip(*rows, strict=True))
        ends = np.cumsum([len(labels) for labels, _ in rows])
        order = np.argsort(numbers, kind="stable")
        chosen = np.flatnonzero(catalog.kinds == GATHERED)
        offsets = np.concatenate(([0], np.cumsum(catalog.sizes[chosen]))).astype(np.int64)
        evaluator = surrogate.on(Sets(truth[order], offsets)) if len(chosen) else None
        return cls(evaluator, catalog.weights[chosen], order, ends)

    @property
    def floor(self) -> float:
        """A lower bound of the values of the sets; inf where there are none."""
        return np.inf if self.evaluator is None else self.evaluator.floor

    def evaluate(self, scores: Sequence[Values], tol: float) -> tuple[tuple[float, float], list[Values]]:
        """The weighted sums of the values and of the bounds, and the weighted gradient of the rows of each place."""
        if self.evaluator is None:
            return (0.0, 0.0), list(scores)
        flat = np.concatenate(scores)[self.order]
        found = self.evaluator(flat, tol)
        gradient = np.empty_like(flat)
        gradient[self.order] = found.gradient * np.repeat(self.weights, np.diff(self.evaluator.batch.score_offsets))
        sums = float(self.weights @ found.values), float(self.weights @ found.upper)
        return sums, np.split(gradient, self.ends[:-1])


@final
class DistributedRisk(Risk):
    """``R(w) = sum_i omega_i B_i(Phi_i w)`` over the n sets of a data set whose rows lie in several places.

    Rows never leave their place, and are asked for twice for each plane: for their scores, and for the slope. Sets that
    lie whole in one place are evaluated there. Of the others, small ones send their scores; of large ones the places
    send summaries of their scores, in a few rounds, until the value is known only to within ``tol``
    (:mod:`setwise.core.surrogate`). All sums are taken in the order of the places, as a tree, so that the bits of a
    plane do not depend on who computes what.

    The whole risk is one part, so a learner for parts makes planes of the whole.

    Source: own; docs/guide/cluster.md shows it at work.

    Parameters
    ----------
    places : where the rows lie
    rows : the :class:`~setwise.models.RowBlock` of each place
    truth : the labels (m,) of the rows of each place, bool
    surrogate : any; large sets that span places need one that can be evaluated in pieces
    ids : the ids (m,) of the sets of these rows; None makes all rows one set
    weights : (n,) non-negative, not all 0, in the order of the sorted ids; None gives all sets the same weight

    Raises
    ------
    TypeError : for arguments of another kind
    ValueError : for labels and ids that do not fit the rows, places whose rows differ in features, and weights below 0,
        all 0 or of another shape
    Refusal : where the sets that span places are too many for their ``room``, or the surrogate needs a large one of
        them in one place

    Examples
    --------
    >>> from setwise.models import RowBlock
    >>> from setwise.risks import DistributedRisk
    >>> from setwise.risks.places import LocalObjects, LocalPlaces
    >>> from setwise.surrogates import LovaszHinge
    >>> rows = LocalObjects([RowBlock([[1.0], [2.0]], intercept=0.0), RowBlock([[3.0]], intercept=0.0)])
    >>> truth = LocalObjects([np.array([True, False]), np.array([True])])  # one set that lies in two places
    >>> risk = DistributedRisk(LocalPlaces(2), rows, truth, LovaszHinge("hamming"))
    >>> risk.cut(np.array([0.25])).value  # max(0, 1 - 0.25) + max(0, 1 + 0.5) + max(0, 1 - 0.75)
    2.5
    """

    def __init__(
        self,
        places: Places,
        rows: PlacedObjects,
        truth: PlacedObjects,
        surrogate: Surrogate,
        ids: PlacedObjects | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        self.places = as_kind(places, "places", Places, "LocalPlaces(8)")
        self.surrogate = as_kind(surrogate, "surrogate", Surrogate, "MarginRescaling(loss)")
        as_kind(rows, "rows", PlacedObjects, "LocalObjects(list of RowBlock)")
        as_kind(truth, "truth", PlacedObjects, "LocalObjects(list of bool arrays)")
        if ids is not None:
            as_kind(ids, "ids", PlacedObjects, "None, or LocalObjects(list of arrays)")
        self.catalog = SetCatalog(places.tell(extent_of, truth, ids), surrogate, weights)
        gathered = int(self.catalog.sizes[self.catalog.kinds == GATHERED].sum())
        if gathered > places.room:
            raise Refusal(
                f"{gathered} rows of sets that span places are refused, because there is room only for the scores of "
                f"{places.room}: give more memory, or sort the rows by set, so that few sets span places.",
                PLACES_REFUSE,
            )
        plans = PlaceArguments([self.catalog.plan(k) for k in range(places.count)])
        self._rows, self._shares = rows, places.keep(Shard.of, rows, truth, ids, plans, surrogate)
        sizes = set(places.tell(Shard.width, self._shares))
        if len(sizes) > 1:
            raise ValueError(f"rows must have the same features in all places; got {sorted(sizes)} weights.")
        self.size, self.n_parts = sizes.pop(), 1
        self._meeting = GatheredSets.of(self.catalog, places.tell(Shard.gathered, self._shares), surrogate)
        parts = [one for one in (self._meeting.evaluator, *self.catalog.spread.values()) if one is not None]
        self.convex = all(places.tell(Shard.convex, self._shares)) and all(one.convex for one in parts)
        floors = [*places.tell(Shard.floor, self._shares), self._meeting.floor]
        floors += [one.floor for one in self.catalog.spread.values()]
        # Where the surrogate has a floor, the risk has one, and learners begin with it.
        self.floors = None if min(floors) == -np.inf else np.array([min(floors)])

    def centred(self, w0: Values) -> ShiftedRisk:
        """The risk of steps from the weights ``w0``."""
        return ShiftedRisk(self, w0)

    def cut(self, w: Values, tol: float = 0.0) -> CuttingPlane:
        """Returns the plane ``sum_i omega_i (B_i(s_i) + <g_i, Phi_i v - Phi_i w>)``, a function of v."""
        w, tol, places = as_point(w, self.size), as_number(tol, "tol", low=0.0), self.places
        scores = places.keep(Shard.scores, self._shares, self._rows, w)
        begun = places.keep(Shard.begin, self._shares, scores, tol)
        briefs = places.tell(Shard.brief, self._shares, scores, begun)
        found, gathered = self._meeting.evaluate([brief.scores for brief in briefs], tol)
        spread = self._spread(scores, tol)
        gradients = PlaceArguments(gathered), PlaceArguments(self._gradients(spread))
        ends = places.tell(Shard.end, self._shares, self._rows, scores, begun, *gradients)
        slope, inner, lost = (tree_sum([end[k] for end in ends]) for k in range(3))
        weights = self.catalog.weights
        values = [brief.value for brief in briefs] + [found[0]] + [weights[i] * one.value for i, one in spread.items()]
        uppers = [brief.upper for brief in briefs] + [found[1]] + [weights[i] * one.upper for i, one in spread.items()]
        value, upper = float(tree_sum(values)), float(tree_sum(uppers))
        rounding = 4.0 * EPSILON * (abs(value) + abs(inner) + lost * float(np.sqrt(w @ w)))
        return CuttingPlane(value - float(inner), np.asarray(slope), value, upper, rounding)

    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> PartPlanes:
        """Returns the plane of the whole risk, its only part."""
        cut = self.cut(w, tol)
        offset, value, upper, rounding = (np.array([x]) for x in (cut.offset, cut.value, cut.upper, cut.rounding))
        return PartPlanes(offset, cut.slope[None, :], value, upper, rounding)

    def _spread(self, scores: PlacedObjects, tol: float) -> dict[int, PiecedEvaluation]:
        """The evaluations of the spread sets, whose dialogues go on side by side."""
        dialogues = {i: one.search(tol) for i, one in self.catalog.spread.items()}
        found: dict[int, PiecedEvaluation] = {}
        questions: dict[int, Question] = {}
        replies: dict[int, list[Any] | None] = dict.fromkeys(dialogues)
        while replies:
            questions = {}
            for i, reply in replies.items():
                try:
                    questions[i] = next(dialogues[i]) if reply is None else dialogues[i].send(reply)
                except StopIteration as end:
                    found[i] = end.value
            if not questions:
                break
            answers = self.places.tell(Shard.answer, self._shares, scores, questions)
            replies = {i: [answers[k][i] for k in self.catalog.holders[i]] for i in questions}
        return found

    def _gradients(self, spread: dict[int, PiecedEvaluation]) -> list[dict[int, Question]]:
        """What computes the gradient of its pieces at each place."""
        out: list[dict[int, Question]] = [{} for _ in range(self.places.count)]
        for i, one in spread.items():
            for k, gradient in zip(self.catalog.holders[i], one.gradients, strict=True):
                out[k][i] = gradient
        return out


def tree_sum(parts: Sequence[Any]) -> Any:
    """The sum of numbers or arrays, halves first, so that its bits depend on their order alone."""
    if len(parts) <= 2:
        return sum(parts[1:], parts[0])
    middle = len(parts) // 2
    return tree_sum(parts[:middle]) + tree_sum(parts[middle:])
