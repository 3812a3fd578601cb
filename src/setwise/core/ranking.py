"""Losses of a ranking: what it costs that negatives stand above positives."""

from abc import ABC, abstractmethod
from typing import Any, final

from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import as_scores
from setwise.core.loss import Values
from setwise.core.sets import Ints, Sets


class RankLoss(ABC):
    """1 - a measure of how far the positives of a set stand above its negatives when sorted by score.

    In a ranking without ties let ``k_i`` be the number of negatives above the i-th best positive. The loss is
    ``sum_i weight_i sum_(j < k_i) drop_(i+j)``, i and j from 0, with ``weight`` and ``drop`` not negative: each swapped
    pair costs something by its places. That form is what exact inference needs. A set of one class only costs 0.
    """

    @abstractmethod
    def values(self, sets: Sets, scores: NDArray[Any]) -> Values:
        """The loss of the ranking by ``scores`` (total,), for every set, (n,); ties as in scikit-learn's metric."""

    @abstractmethod
    def weight(self, i: Ints, P: Ints, N: Ints) -> Values:
        """``weight_i`` of the positive at place i (from 0) among P, vectorized."""

    @abstractmethod
    def drop(self, r: Ints, P: Ints, N: Ints) -> Values:
        """What is lost when a positive falls from rank r + 1 to rank r + 2, vectorized."""

    @property
    def depth(self) -> int | None:
        """Ranks that count, the others lose nothing; None where all do and ``drop`` never grows with r."""
        return None

    def check(self, sets: Sets) -> None:  # noqa: B027  (every ranking loss fits every set)
        """Raise ValueError where the parameters do not fit the sets."""

    @final
    def judge(self, sets: Sets, scores: NDArray[Any]) -> Values:
        """The loss of the predictions that ``scores`` make, (n,)."""
        return self.values(sets, scores)

    @final
    def __call__(self, y_true: ArrayLike, scores: ArrayLike) -> float:
        """The loss of ranking by ``scores`` (p,) where ``y_true`` (p,) holds 0 and 1."""
        sets = Sets.single(y_true)
        return float(self.values(sets, as_scores(scores, sets.total))[0])
