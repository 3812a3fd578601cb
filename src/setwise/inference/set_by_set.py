"""A maximizer that searches each set by itself, with what the searches of a set keep for the next one."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.structure import Structure
from setwise.kernels.threads import map_units


class Found(Protocol):
    """What a search has found: labels (p,), and an upper bound of the best value."""

    @property
    def labels(self) -> NDArray[Any]:
        """The best labels."""

    @property
    def bound(self) -> float:
        """The least upper bound."""


Unit = TypeVar("Unit")


@final
class SetBySet(Maximizer):
    """``search(unit, scores, tol)`` for each set; threads share the sets, and parts share the units.

    Parameters
    ----------
    method, structure : as in :class:`setwise.core.inference.Maximizer`, margin rescaling
    units : one for each set, with all that its searches keep
    search : finds the labels of one set for its scores (float64) and its tolerance
    """

    def __init__(
        self,
        method: Inference,
        structure: Structure,
        units: Sequence[Unit],
        search: Callable[[Unit, Values, float], Found],
    ) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self._units: Sequence[Any] = units
        self._search: Callable[[Any, Values, float], Found] = search

    def take(self, parts: Ints) -> Maximizer:
        return SetBySet(self.method, self.structure.take(parts), [self._units[i] for i in parts], self._search)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        spans = self.structure.batch.score_offsets

        def one(i: int) -> Found:
            return self._search(self._units[i], scores[spans[i] : spans[i + 1]].astype(np.float64), float(tol[i]))

        found = map_units(one, range(len(self._units)))
        labels = np.concatenate([search.labels for search in found])
        return self.solved(scores, labels, np.array([search.bound for search in found]))


def each_set(structure: Structure) -> list[Structure]:
    """The structure of each set by itself."""
    return [structure.take(np.array([i])) for i in range(len(structure.batch))]
