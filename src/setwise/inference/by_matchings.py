"""Assignments of rows to columns by Murty's list of the best ones."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import Values, as_count
from setwise.core.inference import Inference, Maximizer
from setwise.core.matchings import Assignments
from setwise.core.structure import Structure
from setwise.inference.single_labels import Falling, RankedMaximizer, farther, unfit_for_flips
from setwise.kernels.sequences import best_assignments


@final
@dataclass(frozen=True)
class ByMatchings(Inference):
    """The worst assignment of each input, or none: ``max lambda (1 - v f)``, or ``lambda - v f``; the K best of them.

    Exact for equal costs, by the ``|Y| + 1`` best assignments (Murty 1968), and under margin rescaling for Hamming
    costs to one right assignment. Otherwise it goes down the best assignments until no other can be worse. After
    ``limit`` of them it answers with a bound. Each assignment costs O(n^3 m) for n rows and m columns.

    Parameters
    ----------
    limit : so many assignments are looked at for an input and a call, at most

    Raises
    ------
    TypeError : for a ``limit`` that is no whole number
    ValueError : for a ``limit`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``Assignments`` and losses that are not one cost of single
        labels

    Examples
    --------
    >>> from setwise.core.matchings import Assignments
    >>> from setwise.inference import ByMatchings
    >>> from setwise.losses import MaxLoss
    >>> batch = Assignments(shapes=[[2, 2]], truths=[[[0, 1]]])  # rows to columns; the identity is right
    >>> maximizer = ByMatchings().prepare(MaxLoss().structure(batch), slack=True)
    >>> found = maximizer.maximize([1.0, 0.5, 0.5, 1.0, -1.75])  # f(identity) = 0.25 is below its margin of 1
    >>> print(found.labels - 1, found.values)
    [0 1] [0.75]
    """

    limit: int = 1000

    name: ClassVar[str] = "by_matchings"
    about: ClassVar[str] = "the best assignments, one after another"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count(self.limit, "limit")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        return unfit_for_flips(self, structure, Assignments)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _ByMatchings(self, structure, slack, self.limit)


@final
class _ByMatchings(RankedMaximizer):
    def falling(self, i: int, scores: Values, weights: Values | None = None, many: int = 1) -> Falling:
        pairs, constant = self.flips.parts(i, scores)
        if weights is not None:
            pairs, constant = farther(pairs, self.flips.truths[i], weights), constant + float(weights.sum())
        for value, columns in best_assignments(pairs):
            yield value + constant, columns
