"""A risk: what learners minimize, a function of the weights that answers with planes."""

from abc import ABC, abstractmethod

import numpy as np

from setwise.core.arrays import Ints, Values
from setwise.core.cut import Cut, Cuts
from setwise.core.refusal import Refusal


class Risk(ABC):
    """A sum of ``n_parts`` functions of the weights; planes of parts add up to planes of the whole.

    Where the parts live (in this process, in threads, on other machines) is its own affair.

    Attributes
    ----------
    size : number d of weights; it may grow with a cut, older planes are padded with zeros then
    n_parts : number of parts
    lower : (d,) the least values of the weights, -inf where there is none; None bounds no weight
    convex : whether the planes lie below the risk
    floors : (n_parts,) numbers below all values of the parts; None knows none
    """

    size: int
    n_parts: int
    lower: Values | None = None
    convex: bool = True
    floors: Values | None = None

    @property
    def floor(self) -> float:
        """A number below all values of the whole risk."""
        return -np.inf if self.floors is None else float(self.floors.sum())

    @abstractmethod
    def cut(self, w: Values, tol: float = 0.0) -> Cut:
        """A plane below the whole risk, made at ``w``; its value may be up to ``tol`` below the risk."""

    @abstractmethod
    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> Cuts:
        """Planes below the chosen parts, made at ``w``; their values may be up to ``tol`` below in sum."""

    def majorant(self, w: Values) -> "Risk":
        """A convex risk that is nowhere below this one and equals it at ``w``; itself where it is convex."""
        if self.convex:
            return self
        raise Refusal(f"{type(self).__name__} has no convex majorant.")

    def redrawn(self, seed: int) -> "Risk":
        """The same risk with other noise, a function of the seed; itself where there is none."""
        return self
