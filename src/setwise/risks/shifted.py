"""A risk as a function of steps from a start."""

from dataclasses import replace
from typing import final

from setwise.core.checks import Ints, Values, as_kind, as_point, as_reals
from setwise.core.risk import Cut, Cuts, Risk


@final
class Shifted(Risk):
    """``R(origin + v)``, a function of v.

    Source: this library.

    Parameters
    ----------
    inner : R, with a fixed number of weights
    origin : (d,)

    Raises
    ------
    TypeError : for an ``inner`` that is no risk
    ValueError : for an ``origin`` of another shape, or that is not finite

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.models import Independent
    >>> from setwise.risks import MeanRisk, Shifted
    >>> from setwise.surrogates import LovaszHinge
    >>> inner = MeanRisk(Independent([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> risk = Shifted(inner, origin=[2.0])
    >>> inner.cut(np.array([0.5])).value, risk.cut(np.array([-1.5])).value  # both at w = 0.5
    (0.5, 0.5)
    """

    def __init__(self, inner: Risk, origin: Values) -> None:
        as_kind(inner, "inner", Risk, "DistributedRisk(places, rows, truth, surrogate)")
        self.inner: Risk = inner
        self.origin = as_reals(origin, "origin", (inner.size,))
        self.size, self.n_parts = inner.size, inner.n_parts
        self.lower = None if inner.lower is None else inner.lower - self.origin
        self.convex, self.floors = inner.convex, inner.floors

    def cut(self, w: Values, tol: float = 0.0) -> Cut:
        cut = self.inner.cut(self.origin + as_point(w, self.size), tol)
        return replace(cut, offset=cut.offset + float(cut.slope @ self.origin))

    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> Cuts:
        cuts = self.inner.cuts(self.origin + as_point(w, self.size), parts, tol)
        return replace(cuts, offsets=cuts.offsets + cuts.slopes @ self.origin)

    def majorant(self, w: Values) -> "Shifted":
        return Shifted(self.inner.majorant(self.origin + as_point(w, self.size)), self.origin)
