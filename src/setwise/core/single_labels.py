"""One label of a large space that is wrong, or none: the single mistakes over which MLSP maximizes.

What one wrong label costs, lambda(Y, y) of MLSP, is a term of such a batch.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch
from setwise.core.checks import (
    Bools,
    Ints,
    Values,
    as_array,
    as_factor,
    as_number,
    as_offsets,
    as_parts,
    as_reals,
    shown,
)
from setwise.core.exceptions import Refusal
from setwise.core.pages import LABEL_SPACES
from setwise.core.terms import Term
from setwise.kernels.segments import chosen_offsets, segment_sums


class Flips(Batch):
    """Single wrong labels of n inputs whose labels are too many to list (MLSP Eq. 6).

    Input i has labels y that are written as ``width_i`` whole numbers, and any number of them are right: ``truths[i]``.
    Its scores s_i give each label the score ``f(x_i, y) = <s_i, psi(y)>``. A labeling of the batch names one label of
    each input whose membership is wrong: it holds its numbers *plus one*, or zeros where no label is wrong. Its phi is
    ``-v_y psi(y)``, where v_y is 1 for right labels and -1 for others, and 0 where no label is wrong. So
    ``max lambda(Y, y) (1 + <s, phi>)`` is the hinge of MLSP, and a batch without right labels asks for the best label.

    The last score of each input is that of a constant, which all its labels have.

    Parameters
    ----------
    truths : for each input the right labels, (m_i, width_i) int64, distinct, which may be none
    widths : (n,) how many numbers write a label of each input, one or more
    score_counts : (n,) how many scores each input has
    """

    binary = True
    """Costs of single labels apply directly."""

    def __init__(self, truths: Any, widths: Ints, score_counts: Ints) -> None:
        self.offsets = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
        self._score_offsets = np.concatenate(([0], np.cumsum(score_counts))).astype(np.int64)
        as_offsets(self.offsets, int(self.offsets[-1]))
        self.labels = np.zeros(int(self.offsets[-1]), np.int64)
        self.truths = tuple(self._checked(i, given) for i, given in enumerate(truths))

    def _checked(self, i: int, given: Any) -> Ints:
        """The right labels of an input, (m, width); raises ValueError for what is no list of distinct labels."""
        found, width = as_array(given, f"truths[{i}]"), int(self.sizes[i])
        if found.size == 0:
            return np.zeros((0, width), np.int64)
        if found.ndim != 2 or found.shape[1] != width or found.dtype.kind not in "iu":
            raise ValueError(
                f"truths[{i}] must be whole numbers of shape (m, {width}); got {found.dtype} of shape {found.shape}."
            )
        self.check_labels(i, found, f"truths[{i}]")
        if len(np.unique(found, axis=0)) < len(found):
            raise ValueError(f"truths[{i}] must hold distinct labels; got {shown(found.tolist())}.")
        return found.astype(np.int64)

    def to_predict(self) -> Self:
        """The same inputs without right labels."""
        unknown = self.take(np.arange(len(self)))
        unknown.truths = tuple(rows[:0] for rows in self.truths)
        return unknown

    def own(self, parts: Ints) -> dict[str, Any]:
        """The fields that a subclass adds, of the chosen inputs."""
        return {}

    @final
    def take(self, parts: Ints) -> Self:
        """The chosen inputs, whose right labels need no second check."""
        chosen = object.__new__(type(self))
        chosen.offsets = chosen_offsets(as_parts(parts, len(self)), self.offsets)
        chosen._score_offsets = chosen_offsets(parts, self._score_offsets)
        chosen.labels = np.zeros(int(chosen.offsets[-1]), np.int64)
        chosen.truths = tuple(self.truths[i] for i in parts.tolist())
        vars(chosen).update(self.own(parts))
        return chosen

    @abstractmethod
    def check_labels(self, i: int, labels: Ints, name: str) -> None:
        """Raise ValueError if one of ``labels`` (m, width_i) is no label of input i."""

    @abstractmethod
    def indicators(self, labels: Ints) -> Values:
        """The vectors psi of the label of each input, (n_scores,), and zeros where no label is named."""

    @abstractmethod
    def label_scores(self, i: int, scores: Values, labels: Ints) -> Values:
        """The scores f (m,) of ``labels`` (m, width_i) of input i, whose own scores are ``scores``."""

    def reach(self, scores: Values) -> Values:
        """No label of an input has a score of larger size than this, (n,). psi has entries of at most 1 here."""
        return segment_sums(np.abs(scores).astype(np.float64), self.score_offsets)

    @property
    @abstractmethod
    def largest(self) -> int | Ints:
        """The largest number plus one that a label may hold, for each place."""

    @property
    def n_labels(self) -> int:
        """One more than the largest number that a labeling may hold."""
        return int(np.max(self.largest, initial=0)) + 1

    @property
    def score_offsets(self) -> Ints:
        return self._score_offsets

    @cached_property
    def target(self) -> Values:
        # Where no label is wrong, phi is 0.
        return np.zeros(self.n_scores)

    def encode(self, labels: NDArray[Any]) -> Values:
        found = self.indicators(np.asarray(labels, np.int64))
        signs = np.where(self.right(labels), -1.0, 1.0)
        found *= np.repeat(signs, np.diff(self.score_offsets))
        return found

    def named(self, labels: NDArray[Any]) -> Bools:
        """Whether a labeling names a label of each input, (n,)."""
        return np.asarray(labels[self.offsets[:-1]] > 0)

    def right(self, labels: NDArray[Any]) -> Bools:
        """Whether the label that a labeling names is one of the right ones, (n,)."""
        flat, starts, owners, places = self._written
        out = np.zeros(len(self), dtype=bool)
        if len(owners):
            equal = np.logical_and.reduceat(labels[places] == flat, starts)
            out[owners[equal]] = True
        return out

    def of_input(self, i: int, labels: NDArray[Any]) -> Ints:
        """The label of input i that a labeling names, (width_i,), as it is written in ``truths``."""
        return np.asarray(labels[self.offsets[i] : self.offsets[i + 1]], np.int64) - 1

    @cached_property
    def _written(self) -> tuple[Ints, Ints, Ints, Ints]:
        """All right labels one after another plus one, their first places there, their inputs, and where these are."""
        counts = np.array([len(rows) for rows in self.truths], np.int64)
        owners = np.repeat(np.arange(len(self)), counts)
        flat = [rows.ravel() + 1 for rows in self.truths if len(rows)]
        ends = chosen_offsets(owners, self.offsets) if len(owners) else np.zeros(1, np.int64)
        starts = ends[:-1]
        places = np.arange(int(ends[-1])) + np.repeat(self.offsets[owners] - starts, self.sizes[owners])
        return (np.concatenate(flat) if flat else np.zeros(0, np.int64)), starts, owners, places


class FlipCosts(Term):
    """``factor * lambda(Y, y)`` where a labeling names the label y, and 0 where it names none.

    Attributes
    ----------
    factor : above 0
    binary : whether all costs are 0 or 1, before the factor
    """

    factor: float
    binary: ClassVar[bool] = False

    @property
    @abstractmethod
    def most(self) -> float:
        """No label costs more than this, before the factor."""

    @abstractmethod
    def of(self, batch: Any, i: int, labels: Ints) -> Values:
        """``lambda(Y_i, y)`` of ``labels`` (m, width) of input i, (m,) of 0 or above, before the factor."""

    def check(self, batch: Batch) -> None:
        if not isinstance(batch, Flips):
            raise Refusal(
                f"{type(self).__name__} refuses {type(batch).__name__}: it costs single labels of a large space, such "
                "as LabelSequences.",
                LABEL_SPACES,
            )

    def values(self, batch: Flips, labels: NDArray[Any]) -> Values:
        out = np.zeros(len(batch))
        for i in np.flatnonzero(batch.named(labels)).tolist():
            out[i] = self.factor * self.of(batch, i, batch.of_input(i, labels)[None])[0]
        return out

    def scaled(self, factor: float) -> Self:
        return replace(self, factor=self.factor * factor)  # type: ignore[type-var]

    def take(self, batch: Flips, parts: Ints) -> Self:
        return self


@final
@dataclass(frozen=True)
class EqualCosts(FlipCosts):
    """1 for every label, so that the max loss is 0 if the whole set is right, and otherwise 1.

    ``MaxLoss()`` means the same.

    Source: MLSP 3 with lambda = 1.

    Parameters
    ----------
    factor : by which the cost is multiplied, above 0

    Raises
    ------
    TypeError, ValueError : if factor is no number above 0

    Examples
    --------
    >>> from setwise.spaces.sequences import Sequences
    >>> from setwise.losses import EqualCosts, MaxLoss
    >>> # Labels 0, 1 at two places are right.
    >>> one = Sequences(lengths=[2], k=3, truths=[[[0, 1]]])
    >>> # A labeling names one wrong label plus one, or zeros for none.
    >>> wrong = np.array([2, 1]) + 1
    >>> loss = MaxLoss(EqualCosts())
    >>> loss.values(one, wrong).item(), loss.values(one, [0, 0]).item()
    (1.0, 0.0)
    """

    factor: float = 1.0
    binary: ClassVar[bool] = True

    most = 1.0

    def __post_init__(self) -> None:
        as_factor(self.factor)

    def of(self, batch: Flips, i: int, labels: Ints) -> Values:
        return np.ones(len(labels))

    def values(self, batch: Flips, labels: NDArray[Any]) -> Values:
        return np.where(batch.named(labels), self.factor, 0.0)


@final
@dataclass(frozen=True)
class NearestHammingCosts(FlipCosts):
    """``missed`` for right labels, and for others the least share of places in which they differ from a right label.

    Where no label is right, each costs ``missed``. This is the minimum over Y of a loss of single labels for the
    Hamming loss.

    Source: MLSP 3 for costs that depend on all right labels; Blaschko and Lampert (2008) for losses of single labels.

    Parameters
    ----------
    missed : the cost of a right label that is not predicted, 0 or above
    factor : by which the cost is multiplied, above 0

    Raises
    ------
    TypeError, ValueError : if missed is no number of 0 or above, or factor none above 0

    Examples
    --------
    >>> from setwise.spaces.sequences import Sequences
    >>> from setwise.losses import MaxLoss, NearestHammingCosts
    >>> # Two sequences of two labels are right.
    >>> one = Sequences(lengths=[2], k=3, truths=[[[0, 1], [2, 2]]])
    >>> # Right, one place off, both off.
    >>> named = [np.array(label) + 1 for label in ([0, 1], [2, 1], [1, 0])]
    >>> loss = MaxLoss(NearestHammingCosts(missed=3.0))
    >>> [loss.values(one, label).item() for label in named]
    [3.0, 0.5, 1.0]
    """

    missed: float = 1.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        as_number(self.missed, "missed", low=0.0)
        as_factor(self.factor)

    @property
    def most(self) -> float:
        return max(1.0, self.missed)

    def of(self, batch: Flips, i: int, labels: Ints) -> Values:
        truths = batch.truths[i]
        if not len(truths):
            return np.full(len(labels), self.missed)
        shares = (labels[:, None] != truths[None]).mean(axis=2).min(axis=1)
        return np.where(shares == 0.0, self.missed, shares)


@final
@dataclass(frozen=True)
class GivenCosts(FlipCosts):
    """``function(truths, label)``, a number from 0 to ``most``.

    Searches go down the best labels until no other can cost more, so the smaller ``most`` is, the sooner they end.

    Source: MLSP 3, any lambda.

    Parameters
    ----------
    function : of the right labels (m, width) of an input and a label (width,), all whole numbers; it returns the cost
        of this label, in [0, most]
    most : no label costs more than this, 0 or above
    factor : by which the cost is multiplied, above 0

    Raises
    ------
    TypeError : if function cannot be called, or most or factor is no number
    ValueError : if most is negative or factor not above 0, or when function returns a number that is not in [0, most]

    Examples
    --------
    >>> from setwise.spaces.sequences import Sequences
    >>> from setwise.losses import GivenCosts, MaxLoss
    >>> def first(truths, label):
    ...     return float((truths[:, 0] != label[0]).all())  # whether the first is wrong
    >>> loss = MaxLoss(GivenCosts(first))
    >>> one = Sequences(lengths=[2], k=3, truths=[[[0, 1]]])
    >>> [loss.values(one, np.array(label) + 1).item() for label in ([0, 2], [1, 1])]
    [0.0, 1.0]
    """

    function: Callable[[Ints, Ints], float]
    most: float = 1.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be callable; got {shown(self.function)}.")
        as_number(self.most, "most", low=0.0)
        as_factor(self.factor)

    def of(self, batch: Flips, i: int, labels: Ints) -> Values:
        truths, shown_labels = batch.truths[i].view(), labels.view()
        for given in (truths, shown_labels):
            given.setflags(write=False)
        values = [self.function(truths, label) for label in shown_labels]
        found = as_reals(values, "function(truths, label)", (len(labels),))
        if len(found) and (found.min() < 0.0 or found.max() > self.most):
            wrong = found.min() if found.min() < 0.0 else found.max()
            raise ValueError(f"function(truths, label) must be from 0 to {self.most:.4g}; got {wrong:.4g}.")
        return found
