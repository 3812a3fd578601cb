"""Networks without edges: their nodes are independent decisions."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

from setwise.core.batch import Sets
from setwise.core.checks import Floats, Ints, Values, as_kind
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.networks import Graphs
from setwise.core.structure import Structure


@final
@dataclass(frozen=True)
class WithoutEdges(Inference):
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
    >>> from setwise.inference import Auto, WithoutEdges
    >>> from setwise.losses import Jaccard
    >>> nodes = Graphs(np.array([True, False, False]), np.array([0, 3]), np.zeros((0, 2), dtype=np.int64))
    >>> found = WithoutEdges(Auto()).prepare(Jaccard().structure(nodes)).maximize([2.0, 0.5, -2.0])
    >>> print(found.labels, found.values)  # one false positive: 1/2 + 0.5
    [ True  True False] [1.]
    """

    inner: Inference

    name: ClassVar[str] = "without_edges"
    about: ClassVar[str] = "the nodes of a network without edges, as independent decisions"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_kind(self.inner, "inner", Inference, "setwise.inference.Auto()")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        if not isinstance(structure.batch, Graphs):
            return f"WithoutEdges refuses {type(structure.batch).__name__}: it knows Graphs. Use Auto()."
        if len(structure.batch.edges):
            return f"WithoutEdges refuses {structure!r} on graphs with edges. Use Auto()."
        return self.inner.refuses(_on_sets(structure), slack)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _WithoutEdges(self, structure, self.inner.prepare(_on_sets(structure), slack))


def _on_sets(structure: Structure) -> Structure:
    """The same loss over independent decisions, whose scores have the same layout."""
    batch = structure.batch
    return Structure(Sets(batch.labels, batch.offsets), structure.terms, structure.source)


@final
class _WithoutEdges(Maximizer):
    """Hands the scores on."""

    def __init__(self, method: Inference, structure: Structure, inner: Maximizer) -> None:
        self.method, self.structure, self.slack, self._inner = method, structure, inner.slack, inner

    def take(self, parts: Ints) -> Maximizer:
        return _WithoutEdges(self.method, self.structure.take(parts), self._inner.take(parts))

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        return self._inner.solve(scores, tol)

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        return self._inner.max_marginals(scores, base)
