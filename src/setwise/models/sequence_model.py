"""The linear model of sequences: emissions score the label of each place, transitions each pair of neighbors."""

from itertools import pairwise
from typing import Any, final

import numpy as np

from setwise.core.batch import segments
from setwise.core.checks import LARGEST_LABEL, Floats, Ints, Values, as_count, as_point, as_shaped
from setwise.core.risk import Features, as_base, as_lower
from setwise.kernels.segments import chosen_offsets
from setwise.models.rows import check_rows


@final
class SequenceModel(Features):
    """``u_t[v] = <W_v, x_t>`` for label v at place t, and ``P[u, v] = A_uv`` for neighboring labels u, v.

    The scores of a sequence of length T are its ``u`` (T, k), then ``P`` (k, k), as those of
    :class:`setwise.core.label_sequences.Sequences` without the constant. ``w`` holds the rows of W (k, d), one after
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
    >>> from setwise.models import SequenceModel
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
        if self.base is None:
            return out
        return out + (self.base if parts is None else self.base[segments(parts, self.score_offsets)])

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
