"""The order of points on a grid: two points are enough to break it, and a search finds how to break most of it."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Classes
from setwise.core.bound_loss import BoundLoss, LabelCosts
from setwise.core.checks import Floats, Ints, Values, as_count
from setwise.core.inference import NO_SPLIT, Inference, Maximizer, Solutions, Takes
from setwise.core.terms import MisplacedPairs
from setwise.inference.message_passing import label_costs
from setwise.kernels.paths import best_misplaced, search_pairs


@final
@dataclass(frozen=True)
class ByOrder(Inference):
    """``max_y l(y) + <s, phi(y)>`` for :class:`setwise.losses.OrderedPoints`, alone or with costs of single labels.

    *0/1* (HOL 5.1): where the best states of the scores lie wrong, they are the answer. Otherwise the best labeling
    that lies wrong moves the two points of one pair, and the best state of each row and column is enough to find them.
    Exact, O(k g^2 + k^2 g) for k points of g*g states.

    *Share of pairs*, and labelings of the right order (:meth:`setwise.core.bound_loss.BoundLoss.zero`): branch and
    bound over the states of one point after the other. Exact unless ``max_iter`` ends the search, then with the bound
    of what is left.

    Parameters
    ----------
    max_iter : the largest number of branches of a set

    Raises
    ------
    TypeError : for a ``max_iter`` that is no whole number
    ValueError : for one below 1
    Refusal : from :meth:`prepare`, for losses that are not ``OrderedPoints`` with costs of labels, and slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Classes
    >>> from setwise.inference import ByOrder
    >>> from setwise.losses import OrderedPoints
    >>> bound_loss = OrderedPoints(2).bind(Classes.single([0, 3], k=4))  # two points on a grid of 2 x 2
    >>> found = ByOrder().prepare(bound_loss).maximize([1.0, 0.0, 0.0, 0.0, 0.0, 0.8, 0.0, 1.0])
    >>> print(found.labels, found.values.round(2))  # the second point moves up beside the first: 1 - 0.2
    [0 1] [0.8]
    """

    max_iter: int = 100_000

    name: ClassVar[str] = "by_order"
    about: ClassVar[str] = "the order of points, by pairs in the wrong order"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(
        Classes,
        "{kind}: it takes independent decisions with k labels. Use Auto().",
        slack=NO_SPLIT,
    )

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        kinds = [type(term) for term in bound_loss.terms]
        if kinds.count(MisplacedPairs) != 1 or not set(kinds) <= {MisplacedPairs, LabelCosts}:
            return f"ByOrder refuses {bound_loss!r}: it is not the order of points with costs of labels. Use Auto()."
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _ByOrder(self, bound_loss)


@final
class _ByOrder(Maximizer):
    def __init__(self, method: ByOrder, bound_loss: BoundLoss) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self._max_iter, self._costs = method.max_iter, np.stack(label_costs(bound_loss), axis=1)
        (self._order,) = (term for term in bound_loss.terms if isinstance(term, MisplacedPairs))
        self._truth: Ints = np.asarray(bound_loss.batch.labels, dtype=np.int64)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.bound_loss.batch
        each = scores.reshape(batch.total, batch.n_labels).astype(np.float64) + self._costs
        if not self._order.share and not self._order.required:
            labels = np.zeros(batch.total, dtype=np.int64)
            worth = np.full(len(batch), self._order.factor)
            best_misplaced(each, self._truth, batch.offsets, self._order.width, worth, labels)
            return self.solved(scores, labels)
        labels = each.argmax(axis=1)
        if self._order.required and batch.known is not None:
            labels = np.where(batch.known, self._truth, labels)
        elif self._order.required:
            labels = self._truth.copy()
        spans = zip(pairwise(batch.offsets.tolist()), tol.tolist(), strict=True)
        bounds = np.array([self._search(each[a:b], slice(a, b), labels, t) for (a, b), t in spans])
        return self.solved(scores, labels, bounds - batch.at_target(scores))

    def _search(self, each: Values, at: slice, labels: Ints, tol: float) -> float:
        """Improves the labels of a set in place, and returns the bound; unknown points take their best state."""
        own, order = self._truth[at], self._order
        known = np.flatnonzero(own >= 0)
        # A pair of points needs two of them; the others follow the scores, where they already are.
        free = float(each.max(axis=1)[own < 0].sum())
        if not len(known):
            return free
        pairs = len(known) * (len(known) - 1) // 2
        worth = -np.inf if order.required else order.factor / max(pairs, 1)
        found = labels[at][known]
        _, bound = search_pairs(each[known], own[known], order.width, worth, tol, self._max_iter, found)
        labels[at.start + known] = found
        return free + float(bound)
