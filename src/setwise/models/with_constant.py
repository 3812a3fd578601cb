"""A model whose sets have one more score, that of a constant."""

from typing import Any, final

import numpy as np

from setwise.core.batch import segments
from setwise.core.checks import Floats, Ints, Values, as_kind, as_number, as_offsets, as_point, as_shaped
from setwise.core.risk import Features, as_base, as_lower
from setwise.kernels.segments import chosen_offsets


@final
class WithConstant(Features):
    """The scores of ``inner``, and behind those of each set the score ``constant * c``, whose weight c comes last in w.

    Batches of single labels, as :class:`setwise.core.label_sequences.Sequences`, have such a score: the threshold above
    which a label is predicted.

    Source: this library.

    Parameters
    ----------
    inner : a model without fixed scores
    offsets : (n+1,) set i has the scores ``offsets[i]:offsets[i+1]`` of ``inner``, one or more
    constant : 0 or above; 0 leaves the weight out, so that these scores are 0
    base : (n_scores + n,) fixed scores that are added, None for none
    lower : (d,) least values of the weights; None is those of ``inner``

    Raises
    ------
    TypeError : for an ``inner`` that is no model
    ValueError : for an ``inner`` with fixed scores, a ``constant`` below 0, and shapes that do not agree

    Examples
    --------
    >>> from setwise.models import Independent, WithConstant
    >>> model = WithConstant(Independent([[1.0], [2.0], [3.0]], intercept=0.0), offsets=[0, 2, 3])
    >>> model.scores(np.array([1.0, -0.5]))  # two sets, each with the weight of the constant behind it
    array([ 1. ,  2. , -0.5,  3. , -0.5])
    """

    def __init__(
        self, inner: Features, offsets: Ints, constant: float = 1.0, base: Values | None = None, lower: Any = None
    ) -> None:
        self.inner: Features = as_kind(inner, "inner", Features, "Independent(X)")
        if inner.base is not None:
            raise ValueError("inner must have no fixed scores; give them as base.")
        self.inner_offsets = as_offsets(offsets, len(inner.row_lengths))
        self.offsets = self.inner_offsets + np.arange(len(self.inner_offsets))
        self.constant = as_number(constant, "constant", low=0.0)
        self.size = inner.size + bool(self.constant)
        self.row_lengths = np.insert(inner.row_lengths, self.inner_offsets[1:], self.constant)
        self.base = as_base(base, len(self.row_lengths))
        usual = None if inner.lower is None else np.append(inner.lower, [-np.inf] * (self.size - inner.size))
        self.lower = usual if lower is None else as_lower(lower, self.size)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w = as_point(w, self.size)
        threshold = self.constant * w[-1] if self.constant else 0.0
        s = np.insert(self.inner.scores(w[: self.inner.size], parts), self._ends(parts), threshold)
        if self.base is None:
            return s
        return s + (self.base if parts is None else self.base[segments(parts, self.offsets)])

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        own, last = self._split(gradient, parts)
        slope = self.inner.pullback(own, parts)
        return np.append(slope, self.constant * last.sum()) if self.constant else slope

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        own, last = self._split(gradient, parts)
        slopes = self.inner.pullbacks(own, parts)
        return np.column_stack([slopes, self.constant * last]) if self.constant else slopes

    def based(self, base: Values | None, lower: Values | None) -> "WithConstant":
        free = np.full(self.size, -np.inf) if lower is None else lower
        return WithConstant(self.inner, self.inner_offsets, self.constant, base, free)

    def _ends(self, parts: Ints | None) -> Ints:
        """Where the scores of the chosen sets end among those of ``inner``."""
        if parts is None:
            return self.inner_offsets[1:]
        segments(parts, self.inner_offsets)
        return chosen_offsets(parts, self.inner_offsets)[1:]

    def _split(self, gradient: Floats, parts: Ints | None) -> tuple[Values, Values]:
        """The gradient in the scores of ``inner``, and in those of the constants."""
        ends = self._ends(parts)
        g = as_shaped(gradient, int(ends[-1]) + len(ends), "gradient")
        last = ends + np.arange(len(ends))
        return np.delete(g, last), np.asarray(g[last], dtype=np.float64)
