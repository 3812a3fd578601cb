"""Losses of the number that is predicted positive, whichever decisions are wrong."""

from typing import Self

from setwise.core.counts import Bend, convex_monge
from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait


class PrevalenceLoss(CountLoss):
    """A convex function of ``fp - fn``, 0 at 0, which right decisions never raise; a subclass gives the formula.

    Misses and false alarms that are equally many cost nothing, so the loss is not increasing.
    """

    @classmethod
    def examples(cls, p: int) -> list[Self]:
        return [cls()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS})

    @property
    def denied(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING}

    @property
    def monge(self) -> bool:
        """True: the loss is a convex function of ``fp - fn``."""
        return True

    @property
    def affine(self) -> bool:
        """True: the loss depends on the number predicted, and not on which decisions are."""
        return True

    @property
    def diluted(self) -> bool:
        """True, as the class says."""
        return True

    @property
    def bend(self) -> Bend:
        """A convex function of ``fp - fn`` is convex along both, and Monge."""
        return convex_monge
