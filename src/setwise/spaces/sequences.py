"""Labelings of sequences: the space, the batch, the linear model, and the search for the best ones.

Each labeling of a sequence is a single label. Emissions score the label of each place, transitions each pair of
neighbors. The Viterbi algorithm finds the best labelings in order, and the best at each distance.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import segments
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import LARGEST_LABEL, Floats, Ints, Values, as_array, as_count, as_point, as_shaped, shown
from setwise.core.inference import Inference, Maximizer, Takes
from setwise.core.risk import Features, as_base, as_lower
from setwise.core.single_labels import Flips
from setwise.inference.single_labels import Falling, RankedMaximizer, farther, single_labels
from setwise.kernels.segments import chosen_offsets
from setwise.kernels.sequences import best_by_distance, best_sequences
from setwise.models.joint_labels import ModelWithConstant
from setwise.models.rows import check_rows
from setwise.spaces.boxes import as_lists
from setwise.spaces.large_space import LargeSpace, as_arrays, as_right, as_written, named, offsets_of
from setwise.spaces.spaces import as_distinct, code_of, members


@final
class Sequences(Flips):
    """Labelings ``y`` of n sequences, of which some are right: ``f(y) = sum_t u_t[y_t] + sum_t P[y_t, y_t+1] + c``.

    The scores of a sequence of length T are those of its places, ``u`` (T, k), then those of neighboring labels,
    ``P`` (k, k), then that of the constant, c.

    Parameters
    ----------
    lengths : (n,) the numbers of places, one or more each
    k : the number of labels of a place
    truths : for each sequence its right labelings, (m_i, T_i) whole numbers in 0..k-1, distinct; m_i may be 0. None for
        no right labelings at all, as in batches to predict
    """

    def methods(self, auto: Any) -> tuple[Inference, ...]:
        return (BySequences(),)

    def __init__(self, lengths: Any, k: int, truths: Any = None) -> None:
        self.k = as_count(k, "k", high=LARGEST_LABEL)
        sizes = as_lengths(lengths, "lengths")
        super().__init__(as_truths(truths, len(sizes)), sizes, sizes * k + k * k + 1)

    @property
    def largest(self) -> int:
        return self.k

    def check_labels(self, i: int, labels: Ints, name: str) -> None:
        if labels.min() < 0 or labels.max() >= self.k:
            raise ValueError(f"{name} must hold labels 0..{self.k - 1}; got {shown(labels.tolist())}.")

    def indicators(self, labels: Ints) -> Values:
        out, k = np.zeros(self.n_scores), self.k
        named = np.repeat(self.named(labels), self.sizes)
        first, tables = self.score_offsets[self.owners], self.score_offsets[1:] - 1 - k * k
        at = np.flatnonzero(named)
        out[first[at] + self.places[at] * k + labels[at] - 1] = 1.0
        later = at[self.places[at] > 0]
        np.add.at(out, tables[self.owners[later]] + (labels[later - 1] - 1) * k + labels[later] - 1, 1.0)
        out[self.score_offsets[1:][self.named(labels)] - 1] = 1.0
        return out

    def label_scores(self, i: int, scores: Values, labels: Ints) -> Values:
        unary, pairs, constant = self.parts(i, scores)
        along = unary[np.arange(len(unary)), labels].sum(axis=1)
        return np.asarray(along + pairs[labels[:, :-1], labels[:, 1:]].sum(axis=1) + constant)

    def reach(self, scores: Values) -> Values:
        # A sequence may have the same two neighbors again and again.
        most = super().reach(scores)
        return np.asarray(most * np.maximum(self.sizes - 1, 1))

    def parts(self, i: int, scores: Values) -> tuple[Values, Values, float]:
        """The scores of the places (T, k) of sequence i, those of neighbors (k, k), and that of the constant."""
        k, cut = self.k, int(self.sizes[i]) * self.k
        return scores[:cut].reshape(-1, k), scores[cut:-1].reshape(k, k), float(scores[-1])

    def own(self, parts: Ints) -> dict[str, Any]:
        return {"k": self.k}


def as_lengths(lengths: Any, name: str) -> Ints:
    """Whole numbers, 1 or more each, as int64 (n,), n >= 1."""
    found = as_array(lengths, name)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size or found.min() < 1:
        raise ValueError(f"{name} must be whole numbers from 1 on, one for each input; got {shown(found.tolist())}.")
    return found.astype(np.int64)


def as_truths(truths: Any, n: int) -> list[Any]:
    """One list of right labels for each of n inputs; None stands for none at all."""
    return as_lists(truths, n, "truths", "arrays of labels, one for each input")


@final
@dataclass(frozen=True)
class BySequences(Inference):
    """The worst labeling of each sequence, or none: ``max lambda (1 - v f)``, or ``lambda - v f``; the K best of them.

    Exact for equal costs, by the ``|Y| + 1`` best labelings, ``O(T k^2 |Y|)``; and for Hamming costs to one right
    labeling, by position and distance, O(T^2 k^2). Otherwise it goes down the best labelings, O(T k^2) each, until no
    other can be worse. After ``limit`` of them it answers with a bound.

    Source: this library, for the hinge of MLSP Eq. 6; the labelings come from the Viterbi algorithm.

    Parameters
    ----------
    limit : so many labelings are looked at for an input and a call, at most

    Raises
    ------
    TypeError : for a ``limit`` that is no whole number
    ValueError : for a ``limit`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``Sequences`` and losses that are not one cost of single
        labels

    Examples
    --------
    >>> from setwise.spaces.sequences import Sequences
    >>> from setwise.spaces import BySequences
    >>> from setwise.losses import MaxLoss
    >>> batch = Sequences(lengths=[2], k=2, truths=[[[0, 0]]])
    >>> scores = [1.0, 0.0, 1.0, 0.5] + [0.0] * 4 + [0.0]  # of places, of neighbors, and the constant
    >>> found = BySequences().prepare(MaxLoss().bind(batch), slack=True).maximize(scores)
    >>> print(found.labels - 1, found.values)  # (0, 1) has f = 1.5, so its violation is 2.5
    [0 1] [2.5]
    """

    limit: int = 1000

    name: ClassVar[str] = "by_sequences"
    about: ClassVar[str] = "the best labelings of a sequence, one after another"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = single_labels(Sequences)

    def __post_init__(self) -> None:
        as_count(self.limit, "limit")

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _BySequences(self, bound_loss, slack, self.limit)


@final
class _BySequences(RankedMaximizer):
    def falling(self, i: int, scores: Values, weights: Values | None = None, many: int = 1) -> Falling:
        unary, pairs, constant = self.flips.parts(i, scores)
        T = len(unary)
        if weights is not None:
            unary, constant = farther(unary, self.flips.truths[i], weights), constant + float(weights.sum())
        whole, seen = np.array([0, T]), 0
        while True:
            labels, sums = best_sequences(unary, pairs[None], whole, many)
            for r in range(seen, many):
                if sums[r, 0] == -np.inf:
                    return
                yield float(sums[r, 0]) + constant, labels[r]
            # A longer list begins with the shorter one.
            seen, many = many, 4 * many

    def by_distance(self, i: int, scores: Values, truth: Ints) -> tuple[Values, Ints]:
        unary, pairs, constant = self.flips.parts(i, scores)
        sums, labels = best_by_distance(unary, pairs, truth)
        return sums[1:] + constant, labels[1:]


@final
class SequenceModel(Features):
    """``u_t[v] = <W_v, x_t>`` for label v at place t, and ``P[u, v] = A_uv`` for neighboring labels u, v.

    The scores of a sequence of length T are its ``u`` (T, k), then ``P`` (k, k), as those of
    :class:`setwise.spaces.sequences.Sequences` without the constant. ``w`` holds the rows of W (k, d), one after
    another, and then those of A (k, k).

    Source: the scores of a linear-chain conditional random field (Lafferty, McCallum and Pereira 2001).

    Parameters
    ----------
    X : (places, d) float64, dense or CSR: the features of the places of all sequences
    offsets : (n+1,) sequence i has the rows ``offsets[i]:offsets[i+1]``; None makes all rows one sequence
    k : the number of labels
    base : (n_scores,) fixed scores that are added, None for none
    lower : (k d + k k,) least values of the weights, None for none

    Raises
    ------
    TypeError : for a ``k`` that is no whole number
    ValueError : for shapes that do not agree, numbers that are not finite, and a sparse X that is not float64
    OverflowError : where the length of a row of X is beyond float64

    Examples
    --------
    >>> from setwise.spaces import SequenceModel
    >>> model = SequenceModel([[1.0], [2.0]], k=2)  # one sequence of two places
    >>> scores = model.scores(np.array([1.0, -1.0, 0.0, 5.0, 6.0, 0.0]))  # W = (1, -1), and A of the four pairs
    >>> scores[:4].reshape(2, 2), scores[4:].reshape(2, 2)
    (array([[ 1., -1.],
           [ 2., -2.]]), array([[0., 5.],
           [6., 0.]]))
    """

    def __init__(
        self, X: Any, offsets: Ints | None = None, k: int = 2, base: Values | None = None, lower: Any = None
    ) -> None:
        self.X, self.offsets, _, lengths = check_rows(X, offsets, 0.0)
        self.k = as_count(k, "k", high=LARGEST_LABEL)
        self._free = self.k * int(self.X.shape[1])
        self.size = self._free + self.k**2
        self.score_offsets = self._ends(self.offsets)
        self.row_lengths = np.ones(int(self.score_offsets[-1]))
        self.row_lengths[self._unary(self.offsets)] = lengths[:, None]
        self.base, self.lower = as_base(base, len(self.row_lengths)), as_lower(lower, self.size)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w, (X, offsets) = as_point(w, self.size), self._chosen(parts)
        out = np.empty(int(self._ends(offsets)[-1]))
        out[self._unary(offsets)] = X @ w[: self._free].reshape(self.k, -1).T
        out[self._pairs(offsets)] = w[self._free :]
        return self.with_base(out, parts, self.score_offsets)

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        X, offsets = self._chosen(parts)
        g = as_shaped(gradient, int(self._ends(offsets)[-1]), "gradient")
        emissions = np.asarray(X.T @ g[self._unary(offsets)]).T
        return np.concatenate([emissions.ravel(), g[self._pairs(offsets)].sum(axis=0)])

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        X, offsets = self._chosen(parts)
        g = as_shaped(gradient, int(self._ends(offsets)[-1]), "gradient")
        own = g[self._unary(offsets)]
        slopes = np.empty((len(offsets) - 1, self.size))
        slopes[:, self._free :] = g[self._pairs(offsets)]
        for i, (low, high) in enumerate(pairwise(offsets.tolist())):
            slopes[i, : self._free] = np.asarray(X[low:high].T @ own[low:high]).T.ravel()
        return slopes

    def based(self, base: Values | None, lower: Values | None) -> "SequenceModel":
        return SequenceModel(self.X, self.offsets, self.k, base, lower)

    def _chosen(self, parts: Ints | None) -> tuple[Any, Ints]:
        """The rows of the chosen sequences, and their offsets."""
        if parts is None:
            return self.X, self.offsets
        return self.X[segments(parts, self.offsets)], chosen_offsets(parts, self.offsets)

    def _ends(self, offsets: Ints) -> Ints:
        """Where the scores of sequences begin and end."""
        return self.k * offsets + self.k**2 * np.arange(len(offsets))

    def _unary(self, offsets: Ints) -> Ints:
        """The positions of the scores of each place, (places, k)."""
        before = self.k**2 * np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return (self.k * np.arange(offsets[-1]) + before)[:, None] + np.arange(self.k)

    def _pairs(self, offsets: Ints) -> Ints:
        """The positions of the scores of neighboring labels of each sequence, (n, k * k)."""
        return (self._ends(offsets)[1:] - self.k**2)[:, None] + np.arange(self.k**2)


@final
@dataclass(frozen=True, eq=False)
class LabelSequences(LargeSpace):
    """The ``k^T`` sequences of T labels: ``f(x, y) = sum_t <W_(y_t), x_t> + sum_t A_(y_t, y_t+1) + c``.

    X is a list of arrays (T_i, d), and Y a list of collections of sequences of T_i labels each. The weights are
    W (k, d), A (k, k) and that of the constant, c.

    Source: MLSP 3, over the labelings of a chain.

    Parameters
    ----------
    labels : distinct hashable objects, the k labels of a place

    Raises
    ------
    TypeError : if labels is no collection, as a text
    ValueError : if labels are not hashable, not distinct, or none

    Examples
    --------
    >>> from setwise.spaces import LabelSequences
    >>> space = LabelSequences(["a", "b"])
    >>> # One sequence of two places with one feature.
    >>> batch, model = space.bind([[[1.0], [-1.0]]])
    >>> w = [-1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]  # W for a and b, then A, then c
    >>> space.best(batch, model.scores(np.array(w)), limit=1)[0]
    [(['b', 'a'], 2.0)]
    """

    labels: Any

    name: ClassVar[str] = "sequences"

    @classmethod
    def examples(cls) -> list[tuple[Any, Any]]:
        return [(LabelSequences(["a", 1, None]), [np.cos(np.arange(6.0)).reshape(3, 2), np.ones((1, 2))])]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", as_distinct(self.labels, "labels"))

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """The number of each label."""
        return {label: j for j, label in enumerate(self.labels)}

    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Sequences, Features]:
        arrays, k = as_arrays(X, 2, "(T, d)"), len(self.labels)
        lengths = [len(x) for x in arrays]
        truths = [
            as_written([self._codes(y, T, f"Y[{i}]") for y in rows], T, f"Y[{i}]")
            for i, (rows, T) in enumerate(zip(as_right(Y, len(arrays)), lengths, strict=True))
        ]
        model = SequenceModel(np.concatenate(arrays), offsets_of(lengths), k)
        return Sequences(lengths, k, truths), ModelWithConstant(model, model.score_offsets, constant)

    def decode(self, labels: NDArray[Any]) -> list[Any] | None:
        codes = named(labels)
        return None if codes is None else [self.labels[code] for code in codes]

    def _codes(self, sequence: Any, length: int, name: str) -> Ints:
        """The numbers of a sequence of labels, (length,)."""
        found = [code_of(label, self.places, name) for label in members(sequence, name, "sequences of labels")]
        if len(found) != length:
            raise ValueError(f"{name} must hold sequences of {length} labels, one for each row of X; got {len(found)}.")
        return np.array(found, dtype=np.int64)
