"""One label of a large space that is wrong, or none: the single mistakes over which MLSP maximizes."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.batch import Batch
from setwise.core.cached import cached_property
from setwise.core.checks import as_array, as_offsets, as_parts, shown
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

    def chosen(self, parts: Ints) -> Self:
        """The chosen inputs, whose right labels need no second check, without the fields of a subclass."""
        chosen = object.__new__(type(self))
        chosen.offsets = chosen_offsets(as_parts(parts, len(self)), self.offsets)
        chosen._score_offsets = chosen_offsets(parts, self._score_offsets)
        chosen.labels = np.zeros(int(chosen.offsets[-1]), np.int64)
        chosen.truths = tuple(self.truths[i] for i in parts.tolist())
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
    def binary(self) -> bool:
        """Costs of single labels apply directly."""
        return True

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
