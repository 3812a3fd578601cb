"""Problems that become simpler ones: unknown labels, networks without edges, and maxima of linear functions.

Decisions of unknown labels follow their scores, and the others are solved without them. A maximizer may keep the best
labeling of each set that it has found.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values, as_kind, as_scores
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Solutions, Takes, as_base_values
from setwise.core.networks import Graphs
from setwise.core.terms import MaximumOfSums, Mistakes, Term
from setwise.inference.independent_decisions import SETS
from setwise.kernels.segments import segment_sums


@dataclass(frozen=True)
class Reduction(Inference):
    """A method that hands simpler problems to another one, ``inner``."""

    inner: Inference

    def __post_init__(self) -> None:
        as_kind(self.inner, "inner", Inference, "setwise.inference.Auto()")


@final
@dataclass(frozen=True)
class KnownLabels(Reduction):
    """``inner`` for the decisions with known labels; each of the others is positive where its score is above 0.

    It is as exact as ``inner``, for losses of counts do not depend on the other decisions at all. Slack rescaling is
    refused, because there the score of all decisions multiplies the loss.

    Source: this library.

    Parameters
    ----------
    inner : a method for sets whose labels are all known

    Raises
    ------
    TypeError : for an ``inner`` that is no inference
    Refusal : from :meth:`prepare`, for losses other than counts and costs of mistakes, slack rescaling, and where
        ``inner`` refuses the known part

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Auto, KnownLabels
    >>> from setwise.losses import Jaccard
    >>> batch = Sets(np.array([1, -1, 0], dtype=np.int8), offsets=np.array([0, 3]))
    >>> found = KnownLabels(Auto()).prepare(Jaccard().bind(batch)).maximize([2.0, 3.0, 0.5])
    >>> print(found.labels, found.values)  # the third is wrong, 1/2 + 0.5, and the second wins 3
    [ True  True  True] [4.]
    """

    name: ClassVar[str] = "known_labels"
    about: ClassVar[str] = "only the decisions with known labels"
    takes: ClassVar[Takes] = replace(
        SETS,
        slack=": the scores of unknown labels multiply the loss there.",
        terms=Counts | Mistakes,
        other_terms="it depends on the places of all decisions. Use Enumeration.",
        unknown=True,
    )

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        given = [term for term in bound_loss.terms if isinstance(term, Counts) and term.predicted is not None]
        if given and bound_loss.batch.known is not None:
            return (
                f"KnownLabels refuses {bound_loss!r}: the number of predicted positives includes those with unknown "
                "labels. Use Enumeration."
            )
        if bound_loss.batch.known is None or not bound_loss.batch.known.any():
            return None
        return self.inner.refuses(_known_part(bound_loss)[0])

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _KnownLabels(self, bound_loss, slack)


@final
class _KnownLabels(Maximizer):
    def __init__(self, method: KnownLabels, bound_loss: BoundLoss, slack: bool) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        known = bound_loss.batch.known
        self._known = np.ones(bound_loss.batch.total, dtype=bool) if known is None else known
        self._inner, self._sets = None, np.zeros(0, dtype=np.int64)
        if self._known.any():
            part, self._sets = _known_part(bound_loss)
            self._inner = method.inner.prepare(part)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.bound_loss.batch
        labels = scores > 0
        # An unknown label costs nothing, so its decision wins its score where that is positive.
        free = segment_sums(np.where(self._known, 0.0, np.maximum(scores, 0.0)), batch.offsets)
        values, bounds, exact = free, free.copy(), np.ones(len(batch), dtype=bool)
        if self._inner is not None:
            found = self._inner.solve(scores[self._known], tol[self._sets])
            labels[self._known] = found.labels
            values[self._sets] += found.values
            bounds[self._sets] += found.bounds
            exact[self._sets] = found.exact
        # A set without a known label has no mistakes, so its loss is constant.
        if len(self._sets) < len(batch):
            without = np.setdiff1d(np.arange(len(batch)), self._sets)
            constant = self.bound_loss.take(without).values(np.zeros(int(batch.sizes[without].sum()), dtype=bool))
            values[without] += constant
            bounds[without] += constant
        return Solutions(labels, values, bounds, exact)


def _known_part(bound_loss: BoundLoss) -> tuple[BoundLoss, np.ndarray]:
    """Returns the bound loss on the known decisions alone, and the sets that have any."""
    batch = bound_loss.batch
    assert isinstance(batch, Sets)
    known = np.ones(batch.total, dtype=bool) if batch.known is None else batch.known
    sizes = np.add.reduceat(known.astype(np.int64), batch.offsets[:-1])
    sets = np.flatnonzero(sizes)
    compared = None if batch.compared is None else batch.compared[known]
    part = Sets(batch.truth[known], np.concatenate(([0], np.cumsum(sizes[sets]))), compared)
    terms: list[Term] = []
    for term in bound_loss.terms:
        if isinstance(term, Mistakes):
            terms.append(Mistakes(term.costs[known]))
        else:
            assert isinstance(term, Counts)
            # P and N belong to whole sets and are taken by set; areas belong to decisions.
            areas = None if term.areas is None else term.areas[known]
            whole = replace(term, areas=None).take(batch, sets)
            terms.append(replace(whole, areas=areas))
    return BoundLoss(part, tuple(terms), bound_loss.source), sets


@final
class CachedMaximizer(Maximizer):
    """What ``inner`` finds, or what this maximizer returned last where that has the larger value (HOL 4.1).

    A completion that is not certified may be worse than the one before it. Kept in this way its value never falls below
    what the last labeling has, so the tangent of a step stays below the function that the next step sees, and
    alternation between completions and weights descends. The bounds are those of ``inner``.

    Parameters
    ----------
    inner : any maximizer without slack rescaling
    """

    def __init__(self, inner: Maximizer) -> None:
        batch = inner.bound_loss.batch
        self.method, self.bound_loss, self.slack, self._inner = inner.method, inner.bound_loss, inner.slack, inner
        self._memory = np.zeros(batch.total, dtype=np.int64)
        self._filled = np.zeros(len(batch), dtype=bool)
        self._sets: Ints = np.arange(len(batch))
        self._places: Ints = np.arange(batch.total)

    def take(self, parts: Ints) -> "CachedMaximizer":
        chosen = CachedMaximizer(self._inner.take(parts))
        # The parts remember in the arrays of the whole.
        chosen._memory, chosen._filled = self._memory, self._filled
        chosen._sets, chosen._places = self._sets[parts], self._places[self.bound_loss.batch.decisions(parts)]
        return chosen

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        found, batch = self._inner.solve(scores, tol), self.bound_loss.batch
        former, filled = self._memory[self._places], self._filled[self._sets]
        values = np.where(filled, self.bound_loss.values(former) + batch.won(scores, former), -np.inf)
        better = values > found.values
        labels = np.where(better[batch.owners], former, found.labels).astype(found.labels.dtype)
        self._memory[self._places], self._filled[self._sets] = labels, True
        values = np.maximum(values, found.values)
        return Solutions(labels, values, np.maximum(found.bounds, values), found.exact)


@final
@dataclass(frozen=True)
class EdgelessReduction(Reduction):
    """``inner`` for the nodes of networks of two labels that have no edges; as exact and as fast as it is.

    Source: this library.

    Parameters
    ----------
    inner : a method for independent decisions

    Raises
    ------
    TypeError : for an ``inner`` that is no inference
    Refusal : from :meth:`prepare`, for batches other than ``Graphs``, graphs with edges, and where ``inner`` refuses
        the nodes

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import Auto, EdgelessReduction
    >>> from setwise.losses import Jaccard
    >>> nodes = Graphs(np.array([True, False, False]), np.array([0, 3]), np.zeros((0, 2), dtype=np.int64))
    >>> found = EdgelessReduction(Auto()).prepare(Jaccard().bind(nodes)).maximize([2.0, 0.5, -2.0])
    >>> print(found.labels, found.values)  # one false positive: 1/2 + 0.5
    [ True  True False] [1.]
    """

    name: ClassVar[str] = "without_edges"
    about: ClassVar[str] = "the nodes of a network without edges, as independent decisions"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(Graphs, "{kind}: it takes Graphs. Use Auto().")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        if len(bound_loss.batch.edges):  # type: ignore[attr-defined]
            return f"EdgelessReduction refuses {bound_loss!r} on graphs with edges. Use Auto()."
        return self.inner.refuses(_on_sets(bound_loss), slack)

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _EdgelessReduction(self, bound_loss, self.inner.prepare(_on_sets(bound_loss), slack))


def _on_sets(bound_loss: BoundLoss) -> BoundLoss:
    """The same loss over independent decisions, whose scores have the same layout."""
    assert isinstance(bound_loss.batch, Graphs)
    return replace(bound_loss, batch=bound_loss.batch.nodes)


@final
class _EdgelessReduction(Maximizer):
    """Hands the scores on."""

    def __init__(self, method: Inference, bound_loss: BoundLoss, inner: Maximizer) -> None:
        self.method, self.bound_loss, self.slack, self._inner = method, bound_loss, inner.slack, inner

    def take(self, parts: Ints) -> Maximizer:
        return _EdgelessReduction(self.method, self.bound_loss.take(parts), self._inner.take(parts))

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        return self._inner.solve(scores, tol)

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        return self._inner.max_marginals(scores, base)


MOST = 256
"""The most combinations of pieces, one of each term, that are tried."""


@final
@dataclass(frozen=True)
class ByPieces(Reduction):
    """``max_y r(y) + max_j f_j(y) + <s, phi(y)>`` as ``max_j max_y r(y) + f_j(y) + <s, phi(y)>``, for linear f_j.

    A linear function of the labels moves into the scores, so each piece is one maximization of the remainder r and of
    other scores by ``inner``: a minimum cut on graphs, where only scores of nodes change between the pieces. It is
    exact where ``inner`` is. Of several terms all combinations of their pieces are tried, up to 256.

    Source: this library; maxima change places, and nothing is approximated.

    Parameters
    ----------
    inner : a method for the loss without these terms

    Raises
    ------
    TypeError : for an ``inner`` that is no inference
    Refusal : from :meth:`prepare`, for losses without such a maximum or with more than 256 combinations of pieces,
        slack rescaling, and where ``inner`` refuses the remainder

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import Auto, ByPieces
    >>> from setwise.losses import BoxFullness
    >>> image = Graphs.images([np.array([[-1, -1, 0]], dtype=np.int8)])  # a box of two pixels
    >>> bound_loss = BoxFullness(0.5).bind(image)
    >>> found = ByPieces(Auto()).prepare(bound_loss).maximize([0.5, 0.5, -2.0, 0.25, 0.25])
    >>> print(found.labels)  # both pixels of the box are positive, which costs |2 - 1|
    [ True  True False]
    """

    name: ClassVar[str] = "by_pieces"
    about: ClassVar[str] = "one maximization for each linear piece of the loss"

    def refuses(self, bound_loss: BoundLoss, slack: bool = False) -> str | None:
        terms, rest = _split(bound_loss)
        if bound_loss.batch.unary is None:
            return f"ByPieces refuses {type(bound_loss.batch).__name__}: its scores are not those of single decisions."
        if not terms:
            return f"ByPieces refuses {bound_loss!r}: no term is a maximum of linear functions. Use Auto()."
        if slack:
            return "ByPieces refuses slack rescaling: the product is not a sum. Use margin rescaling."
        number = prod(len(term.costs) for term in terms)
        if number > MOST:
            what = f"{number} combinations of pieces are more than {MOST}"
            return f"ByPieces refuses {bound_loss!r}: {what}. Use fewer boxes."
        return self.inner.refuses(rest)

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        terms, rest = _split(bound_loss)
        return _ByPieces(self, bound_loss, terms, self.inner.prepare(rest))


def _split(bound_loss: BoundLoss) -> tuple[list[MaximumOfSums], BoundLoss]:
    """Returns the maxima of linear functions, and the bound loss of all other terms."""
    terms = [term for term in bound_loss.terms if isinstance(term, MaximumOfSums)]
    rest = tuple(term for term in bound_loss.terms if not isinstance(term, MaximumOfSums))
    return terms, BoundLoss(bound_loss.batch, rest, bound_loss.source)


@final
class _ByPieces(Maximizer):
    def __init__(self, method: ByPieces, bound_loss: BoundLoss, terms: list[MaximumOfSums], inner: Maximizer) -> None:
        self.method, self.bound_loss, self.slack, self._inner = method, bound_loss, False, inner
        self._pieces = [term.as_scores(bound_loss.batch) for term in terms]

    def _combinations(self) -> Iterator[tuple[Floats, Values]]:
        """The change of the scores, (n_scores,), and the constants, (n,), of each combination of pieces."""
        for chosen in product(*(range(len(changes)) for changes, _ in self._pieces)):
            pieces = [(changes[j], each[:, j]) for j, (changes, each) in zip(chosen, self._pieces, strict=True)]
            constants = np.sum([constant for _, constant in pieces], axis=0)
            if (constants > -np.inf).any():
                yield np.sum([change for change, _ in pieces], axis=0), constants

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.bound_loss.batch
        best, bounds, rivals = np.full((3, len(batch)), -np.inf)
        labels = np.zeros(batch.total, dtype=bool if batch.n_labels == 2 else np.int64)
        for change, constants in self._combinations():
            found = self._inner.solve(scores + change, tol)
            better = found.values + constants > best
            labels = np.where(better[batch.owners], found.labels, labels)
            best, bounds = np.maximum(best, found.values + constants), np.maximum(bounds, found.bounds + constants)
            # The best value of an exact piece is known, whatever its bound lost by rounding.
            rivals = np.maximum(rivals, np.where(found.exact, found.values, found.bounds) + constants)
        found = self.solved(scores, labels, bounds)
        return Solutions(labels, found.values, found.bounds, (best >= rivals) | found.exact)

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        batch = self.bound_loss.batch
        given, base = as_scores(scores, batch.n_scores), as_base_values(base, len(batch))
        out = np.full((batch.total, batch.n_labels), -np.inf)
        for change, constants in self._combinations():
            found = self._inner.max_marginals(given + change)
            out = np.maximum(out, found + (base + constants)[batch.owners, None])
        return out
