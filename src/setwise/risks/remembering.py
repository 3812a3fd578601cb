"""A risk that remembers the planes that were made of it, so that another fit may begin with them."""

from dataclasses import replace
from typing import final

import numpy as np

from setwise.core.checks import Ints, Values, as_kind, as_point
from setwise.core.exceptions import Refusal
from setwise.core.pages import NOT_CONVEX
from setwise.core.promises import ROUNDING
from setwise.core.risk import Cut, Cuts, Risk

MOST = 100
"""The number of planes that are remembered between fits."""


@final
class Remembering(Risk):
    """The same convex risk, whose ``planes`` are those that were made of it; offsets and slopes do not depend on C.

    Along a path of C each fit begins with the planes of the fits before it, and needs few new ones. Between two fits
    :meth:`keep` drops all but the planes that are highest at the last solution, which would hardly matter again.

    Source: own; that planes do not depend on C is read off their definition.

    Parameters
    ----------
    inner : a convex risk

    Raises
    ------
    TypeError : for anything but a risk
    Refusal : for a risk that is not convex

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import OneSlack
    >>> from setwise.models import Independent
    >>> from setwise.risks import MeanRisk, Remembering
    >>> from setwise.surrogates import LovaszHinge
    >>> inner = MeanRisk(Independent([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> risk = Remembering(inner)
    >>> risk.keep(OneSlack(C=0.5).minimize(risk).w)
    >>> warm, cold = OneSlack(C=0.6).minimize(risk), OneSlack(C=0.6).minimize(inner)
    >>> len(warm.history) <= len(cold.history), round(warm.objective, 3), round(cold.objective, 3)
    (True, 0.42, 0.42)
    """

    def __init__(self, inner: Risk) -> None:
        if not as_kind(inner, "inner", Risk, "MeanRisk(features, evaluator)").convex:
            raise Refusal("Remembering refuses a risk that is not convex: its planes do not lie below it.", NOT_CONVEX)
        self.inner, self.size, self.n_parts = inner, inner.size, inner.n_parts
        self.lower, self.floors, self.planes = inner.lower, inner.floors, ()
        self._made: list[Cut] = []

    def cut(self, w: Values, tol: float = 0.0) -> Cut:
        cut = self.inner.cut(w, tol)
        self.size = self.inner.size
        # The offset is value - <slope, w>, so it has the rounding of the larger of these two.
        length = float(np.sqrt(cut.slope @ cut.slope) * np.sqrt(w @ w))
        self._made.append(replace(cut, rounding=cut.rounding + ROUNDING * (abs(cut.value) + length)))
        return cut

    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> Cuts:
        return self.inner.cuts(w, parts, tol)

    def keep(self, w: Values) -> None:
        """Make the planes made so far those that the next fit begins with, but at most 100, the highest at ``w``."""
        w, known = as_point(w, self.size), [*self.planes, *self._made]
        heights = np.array([cut.offset + float(cut.slope @ w[: len(cut.slope)]) for cut in known])
        best = np.sort(np.argsort(-heights, kind="stable")[:MOST])
        self.planes, self._made = tuple(known[i] for i in best), []
