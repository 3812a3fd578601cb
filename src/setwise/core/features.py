"""Features: what gives scores, an affine function of the weights."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from setwise.core.arrays import Floats, Ints, Values


class Features(ABC):
    """``s = base + Phi w`` for the sets of one batch, bound to their data X.

    Attributes
    ----------
    size : number d of weights
    lower : (d,) the least values of the weights, -inf where there is none; None bounds no weight
    base : (n_scores,) fixed scores; None is 0
    row_lengths : (n_scores,) upper bounds of the lengths of the rows of Phi: ``|s_i - base_i| <= row_lengths_i |w|``
    """

    size: int
    lower: Values | None = None
    base: Values | None = None
    row_lengths: Values

    @abstractmethod
    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        """``base + Phi w`` of the chosen sets, or of all, flat in the layout of the batch."""

    @abstractmethod
    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        """``Phi^T g``, (d,): the adjoint of the linear part of :meth:`scores`."""

    @abstractmethod
    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        """The same for each of the chosen sets on its own, (b, d)."""

    @abstractmethod
    def based(self, base: Values | None, lower: Values | None) -> "Features":
        """The same Phi with other fixed scores and other bounds."""

    def centred(self, w0: Values) -> "Features":
        """Features of the step from ``w0``: ``base + Phi w0 + Phi v`` with ``v >= lower - w0``."""
        return self.based(self.scores(w0), None if self.lower is None else self.lower - w0)


def as_lower(lower: Any, size: int) -> Values | None:
    """``lower`` as float64 (size,) below +inf; None bounds no weight."""
    if lower is None:
        return None
    out = np.asarray(lower, dtype=np.float64)
    if out.shape != (size,) or np.isnan(out).any() or (out == np.inf).any():
        raise ValueError(f"lower must hold {size} numbers below inf, one for each weight; got shape {out.shape}.")
    return out


def as_base(base: Any, size: int) -> Values | None:
    """``base`` as float64 (size,), finite; None is no fixed score."""
    if base is None:
        return None
    out = np.asarray(base, dtype=np.float64)
    if out.shape != (size,) or not np.isfinite(out).all():
        raise ValueError(f"base must hold {size} finite numbers, one for each score; got shape {out.shape}.")
    return out
