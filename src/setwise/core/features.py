"""Features map weights to scores; the map is affine."""

from abc import ABC, abstractmethod
from typing import Any

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.checks import as_reals


class Features(ABC):
    """``s = base + Phi w`` for the sets of one batch, bound to their data X.

    Source: own; docs/adr/0002-surrogates-live-on-scores.md tells what models give and take.

    Attributes
    ----------
    size : the number d of weights
    lower : (d,) the lower bounds of the weights, -inf for a free weight; None bounds no weight
    base : (n_scores,) fixed scores that are added; None means 0
    row_lengths : (n_scores,) upper bounds of the Euclidean lengths of the rows of Phi, so that
        ``|s_i - base_i| <= row_lengths_i |w|``

    Examples
    --------
    >>> from setwise.models import Independent
    >>> features = Independent([[1.0, 2.0], [0.0, 3.0]], intercept=0.0)
    >>> w, g = np.array([1.0, -1.0]), np.array([1.0, 1.0])
    >>> features.scores(w), features.pullback(g)
    (array([-1., -3.]), array([1., 5.]))
    >>> float(features.scores(w) @ g) == float(w @ features.pullback(g))  # one map and its adjoint
    True
    """

    size: int
    lower: Values | None = None
    base: Values | None = None
    row_lengths: Values

    @abstractmethod
    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        """``base + Phi w`` of the chosen sets, or of all sets, flat in the layout of the batch."""

    @abstractmethod
    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        """``Phi^T g``, (d,): the adjoint of the linear part of :meth:`scores`, which turns gradients into slopes."""

    @abstractmethod
    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        """``Phi_i^T g_i`` of each of the b chosen sets, or of all sets, (b, d)."""

    @abstractmethod
    def based(self, base: Values | None, lower: Values | None) -> "Features":
        """The features with the same Phi, other fixed scores and other bounds."""

    def centred(self, w0: Values) -> "Features":
        """``base + Phi w0 + Phi v`` with ``v >= lower - w0``: the features whose weights v are steps away from w0."""
        return self.based(self.scores(w0), None if self.lower is None else self.lower - w0)


def as_lower(lower: Any, size: int) -> Values | None:
    """Check lower bounds of weights and return them as float64 (size,), all below +inf; None bounds no weight."""
    # A bound of -inf is fine and means a free weight; a bound of +inf leaves no weight at all.
    return None if lower is None else as_reals(lower, "lower", (size,), finite=False)


def as_base(base: Any, size: int) -> Values | None:
    """Check fixed scores and return them as finite float64 (size,); None stands for no fixed scores."""
    return None if base is None else as_reals(base, "base", (size,))
