"""A risk is the function of the weights that learners minimize; it is evaluated by planes below it."""

from abc import ABC, abstractmethod

import numpy as np

from setwise.core.arrays import Ints, Values
from setwise.core.cut import Bundle, Cut, Cuts
from setwise.core.pages import NOT_CONVEX
from setwise.core.refusal import Refusal


class Risk(ABC):
    """A sum of ``n_parts`` functions of the weights; planes of parts add up to planes of the whole.

    A subclass decides where the parts are computed: in this process, in threads, or on other machines.

    Source: own; docs/architecture.md tells what learners and risks know of each other.

    Attributes
    ----------
    size : the number d of weights; it may grow with a cut, and then older planes are padded with zeros
    n_parts : the number of parts
    lower : (d,) the lower bounds of the weights, -inf for a free weight; None bounds no weight
    convex : whether the planes lie below the risk
    floors : (n_parts,) lower bounds of all values of the parts; None if none are known
    planes : planes that are known to lie below the whole risk; learners that make planes of the whole begin with them
    part_planes : one plane below each part; learners that make planes of parts begin with them
    iterations : the number of iterations behind these planes, where a fit goes on

    Examples
    --------
    >>> from setwise.core.sets import Sets
    >>> from setwise.models import Independent
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(Independent([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> cut = risk.cut(np.array([0.5]))  # of max(0, 1 - w)
    >>> print(cut.value, cut.slope, cut.offset)  # the plane 1 - w
    0.5 [-1.] 1.0
    """

    size: int
    n_parts: int
    lower: Values | None = None
    convex: bool = True
    floors: Values | None = None
    planes: tuple[Cut, ...] = ()
    part_planes: Bundle | None = None
    iterations: int = 0

    @property
    def floor(self) -> float:
        """A lower bound of all values of the whole risk."""
        return -np.inf if self.floors is None else float(self.floors.sum())

    @abstractmethod
    def cut(self, w: Values, tol: float = 0.0) -> Cut:
        """A plane below the whole risk, made at ``w``; its value may be up to ``tol`` below the risk."""

    @abstractmethod
    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> Cuts:
        """Planes below the chosen parts, made at ``w``; the sum of their values may be up to ``tol`` too low."""

    def majorant(self, w: Values) -> "Risk":
        """A convex risk that is nowhere below this one and equals it at ``w``; itself where it is convex."""
        if self.convex:
            return self
        raise Refusal(f"{type(self).__name__} has no convex majorant.", NOT_CONVEX)

    def redrawn(self, seed: int) -> "Risk":
        """The same risk with new noise, which depends on the seed alone; itself if it has no noise."""
        return self
