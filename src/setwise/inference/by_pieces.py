"""Losses that are maxima of linear functions: one maximization for each function, and the best of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.checks import Floats, Values, as_kind, as_scores
from setwise.core.inference import Inference, Maximizer, Solutions, as_base_values
from setwise.core.structure import Structure
from setwise.core.terms import LargestOf

MOST = 256
"""The most combinations of pieces, one of each term, that are tried."""


@final
@dataclass(frozen=True)
class ByPieces(Inference):
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
    >>> structure = BoxFullness(0.5).structure(image)
    >>> found = ByPieces(Auto()).prepare(structure).maximize([0.5, 0.5, -2.0, 0.25, 0.25])
    >>> print(found.labels)  # both pixels of the box are positive, which costs |2 - 1|
    [ True  True False]
    """

    inner: Inference

    name: ClassVar[str] = "by_pieces"
    about: ClassVar[str] = "one maximization for each linear piece of the loss"

    def __post_init__(self) -> None:
        as_kind(self.inner, "inner", Inference, "setwise.inference.Auto()")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        terms, rest = _split(structure)
        if structure.batch.unary is None:
            return f"ByPieces refuses {type(structure.batch).__name__}: its scores are not those of single decisions."
        if not terms:
            return f"ByPieces refuses {structure!r}: no term is a maximum of linear functions. Use Auto()."
        if slack:
            return "ByPieces refuses slack rescaling: the product does not split. Use margin rescaling."
        number = prod(len(term.costs) for term in terms)
        if number > MOST:
            what = f"{number} combinations of pieces are more than {MOST}"
            return f"ByPieces refuses {structure!r}: {what}. Use fewer boxes."
        return self.inner.refuses(rest)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        terms, rest = _split(structure)
        return _ByPieces(self, structure, terms, self.inner.prepare(rest))


def _split(structure: Structure) -> tuple[list[LargestOf], Structure]:
    """Returns the maxima of linear functions, and the structure of all other terms."""
    terms = [term for term in structure.terms if isinstance(term, LargestOf)]
    rest = tuple(term for term in structure.terms if not isinstance(term, LargestOf))
    return terms, Structure(structure.batch, rest, structure.source)


@final
class _ByPieces(Maximizer):
    def __init__(self, method: ByPieces, structure: Structure, terms: list[LargestOf], inner: Maximizer) -> None:
        self.method, self.structure, self.slack, self._inner = method, structure, False, inner
        self._pieces = [term.as_scores(structure.batch) for term in terms]

    def _combinations(self) -> Iterator[tuple[Floats, Values]]:
        """The change of the scores, (n_scores,), and the constants, (n,), of each combination of pieces."""
        for chosen in product(*(range(len(changes)) for changes, _ in self._pieces)):
            pieces = [(changes[j], each[:, j]) for j, (changes, each) in zip(chosen, self._pieces, strict=True)]
            constants = np.sum([constant for _, constant in pieces], axis=0)
            if (constants > -np.inf).any():
                yield np.sum([change for change, _ in pieces], axis=0), constants

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.structure.batch
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
        batch = self.structure.batch
        given, base = as_scores(scores, batch.n_scores), as_base_values(base, len(batch))
        out = np.full((batch.total, batch.n_labels), -np.inf)
        for change, constants in self._combinations():
            found = self._inner.max_marginals(given + change)
            out = np.maximum(out, found + (base + constants)[batch.owners, None])
        return out
