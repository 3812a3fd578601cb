"""Losses of single classes on networks of k labels: the network and each class agree by multipliers (DD section 3)."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Ints, Values, as_count, as_kind
from setwise.core.inference import Inference, Maximizer, rounding_next_to
from setwise.core.networks import ClassGraphs
from setwise.core.structure import LabelCosts, OneLabel, Structure
from setwise.inference.decomposition.lowering import Lowering, Seen, size_of
from setwise.inference.set_by_set import SetBySet, each_set

SHARE = 0.1
"""The network is searched until its own gap is at most this share of the gap so far."""


@final
@dataclass(frozen=True)
class ClassDecomposition(Inference):
    """``max_y sum_c l_c([y = c]) + <s, phi(y)>`` for losses of single classes on networks of k labels.

    For any multipliers m, one for each node and class with a loss, the sum of two kinds of maxima is an upper bound (DD
    Eq. 10 and Algorithm 1, one class against the rest):
    ``max_y [<s, phi(y)> + sum_i m_i(y_i)] + sum_c max_z [l_c(z) - sum_i m_i(c) z_i]``. The first one is a problem of
    the network with other scores of nodes, each of the others a binary problem without edges. A bundle method lowers
    the bound, first with two multipliers for each class, one for its true nodes and one for all others, then with all.

    The labels of the network are candidates, and so are those of the classes where they agree with it. Where the best
    ones do not reach the lowest bound, the solution is not exact, and the bound says how much better others may be. The
    multipliers are kept between calls, as far as ``inner`` keeps its messages.

    Parameters
    ----------
    inner : the method for the network and for the binary problems
    max_iter : the largest number of evaluations of the bound of a set

    Raises
    ------
    TypeError : for an ``inner`` that is no inference, and a ``max_iter`` that is no whole number
    ValueError : for a ``max_iter`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``ClassGraphs``, losses that are no sum over single classes,
        slack rescaling, and where ``inner`` refuses the network or a class

    Examples
    --------
    >>> from setwise.core.networks import ClassGraphs
    >>> from setwise.inference import Auto, ClassDecomposition
    >>> from setwise.losses import Jaccard, MeanOverClasses
    >>> pair = ClassGraphs(np.array([0, 1]), np.array([0, 2]), np.array([[0, 1]]), k=3)
    >>> structure = MeanOverClasses(Jaccard()).structure(pair)
    >>> found = ClassDecomposition(Auto()).prepare(structure).maximize([2.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.25])
    >>> print(found.labels, found.values.round(4))  # the class losses are 1/2, 1 and 0; the scores differ by 0.25
    [0 0] [0.25]
    >>> bool(found.bounds[0] >= found.values[0])
    True
    """

    inner: Inference
    max_iter: int = 100

    name: ClassVar[str] = "class_decomposition"
    about: ClassVar[str] = "a network and its classes agree by multipliers"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_kind(self.inner, "inner", Inference, "setwise.inference.Auto()")
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        batch = structure.batch
        if not isinstance(batch, ClassGraphs):
            kind = type(batch).__name__
            return f"ClassDecomposition refuses {kind}: it knows ClassGraphs. Use an inference made for {kind}."
        if slack:
            return f"ClassDecomposition refuses slack rescaling of {structure!r}: the product does not split."
        costs, losses = _split(structure)
        if len(losses) + len(costs) < len(structure.terms) or not losses:
            return f"ClassDecomposition refuses {structure!r}: it is not a sum of losses of single classes. Use Auto()."
        reasons = [self.inner.refuses(Structure(batch, costs))]
        reasons += [self.inner.refuses(term.structure) for term in losses]
        return next((why for why in reasons if why is not None), None)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return SetBySet(self, structure, [_Set(self, one) for one in each_set(structure)], self._search)

    def _search(self, one: "_Set", scores: Values, tol: float) -> Lowering:
        """Lower the bound with two multipliers for each class, then with all."""
        labels, scale = np.maximum(one.batch.labels, 0), size_of(scores, one.batch.total)
        close = partial(rounding_next_to, scores=scores, batch=one.batch)
        at, value = partial(one.at, scores), partial(one.value, scores)
        search = Lowering(at, value, labels, scale, close, tol, self.max_iter)
        sides, former = one.sides(), one.multipliers.ravel()
        found = sides @ search.lower(np.zeros(sides.shape[1]), sides)
        if not search.done:
            lowest = search.bound
            # The multipliers of the call before may be a better start.
            again = former.any() and search.at(former).bound < lowest
            found = search.lower(former if again else found)
        one.multipliers[:] = found.reshape(one.own.shape)
        return search


def _split(structure: Structure) -> tuple[tuple[LabelCosts, ...], tuple[OneLabel, ...]]:
    """Returns the terms that are costs of labels, and those that are losses of a class."""
    costs = tuple(term for term in structure.terms if isinstance(term, LabelCosts))
    return costs, tuple(term for term in structure.terms if isinstance(term, OneLabel))


@final
class _Set:
    """One set: its network with the costs of labels, and one binary problem for each class with a loss.

    Attributes
    ----------
    own : (c, p) the label whose nodes each binary problem asks for; -1 where its answer is no in any case
    multipliers : (c, p) those of the least bound of the last search
    """

    def __init__(self, method: ClassDecomposition, structure: Structure) -> None:
        assert isinstance(structure.batch, ClassGraphs)
        costs, losses = _split(structure)
        self.batch, self.structure = structure.batch, structure
        self._network = method.inner.prepare(Structure(self.batch, costs))
        self._losses = [method.inner.prepare(term.structure) for term in losses]
        p = self.batch.total
        self.own = np.stack([self.batch.labels if t.label is None else np.full(p, t.label) for t in losses])
        self.multipliers = np.zeros(self.own.shape)
        self._asks = self.own >= 0
        # Places of the scores to which multipliers are added; those of no label are 0.
        self._places = self.batch.node_columns[np.arange(p), np.maximum(self.own, 0)]

    def sides(self) -> Values:
        """The multipliers (c p, 2 c) that are the same for all true nodes of a class, and for all others."""
        true = (self.own == self.batch.labels) & self._asks
        both = np.stack([true, ~true & self._asks], axis=1).astype(np.float64)
        out = np.zeros((*self.own.shape, 2 * len(self.own)))
        for c in range(len(self.own)):
            out[c, :, 2 * c : 2 * c + 2] = both[c].T
        return out.reshape(self.own.size, -1)

    def at(self, scores: Values, multipliers: Values, gap: float) -> Seen:
        """The bound, a plane below it and labelings for multipliers (c p,)."""
        batch, m = self.batch, multipliers.reshape(self.own.shape)
        moved = scores.copy()
        for places, each in zip(self._places, m, strict=True):
            moved[places] += each
        network = self._network.maximize(moved, SHARE * max(gap, 0.0) if gap < np.inf else 0.0)
        labels = network.labels
        # What is counted from a target is counted from 0 before it is added up.
        constant = float(batch.at_target(moved)[0] - batch.at_target(scores)[0])
        bound, level = float(network.bounds[0]) + constant, float(network.values[0]) + constant
        chosen = np.zeros(m.shape, dtype=bool)
        for c, loss in enumerate(self._losses):
            found = loss.maximize(-m[c])
            base = float(loss.structure.batch.at_target(-m[c])[0])
            bound, level = bound + float(found.bounds[0]) + base, level + float(found.values[0]) + base
            chosen[c] = found.labels
        slope = np.where(self._asks, (labels == self.own) * 1.0 - chosen, 0.0)
        return Seen(bound, level, slope.ravel(), [labels, self._agreed(moved, labels, chosen)])

    def value(self, scores: Values, labels: NDArray[np.int64]) -> float:
        """The value of labels, relative to the target."""
        return float(self.structure.values(labels)[0] + self.batch.won(scores, labels)[0])

    def _agreed(self, moved: Values, labels: Ints, chosen: NDArray[np.bool_]) -> Ints:
        """The labels of the network where their class chose them too, else the best label that a class chose."""
        each = np.full((self.batch.total, self.batch.k), -np.inf)
        for own, takes in zip(self.own, chosen & self._asks, strict=True):
            at = np.flatnonzero(takes)
            each[at, own[at]] = moved[self.batch.node_columns[at, own[at]]]
        asked = ((labels == self.own) & self._asks).any(axis=0)
        refused = asked & ~((labels == self.own) & chosen).any(axis=0)
        return np.where(refused & (each > -np.inf).any(axis=1), each.argmax(axis=1), labels)
