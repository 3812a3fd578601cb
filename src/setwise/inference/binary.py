"""What methods for independent binary decisions share: the modular part of a loss moves into the scores."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Bools, Floats, Values
from setwise.core.inference import Inference
from setwise.core.sets import Sets
from setwise.core.structure import Structure
from setwise.kernels.segments import segment_sums

FORBIDDEN = 1e200
"""What a forbidden mistake costs in score: more than anything else can win."""


@final
@dataclass(frozen=True, eq=False)
class Reduced:
    """``max_A r(A) - m(A)`` in place of ``l(A) - m(A)``: the costs of single mistakes are margins like the others.

    ``A`` are the mistakes and ``m(A) = sum_(i in A) s_i (2 y_i - 1)`` is the score that they lose; where a mistake
    costs c, its margin becomes ``m_i - c``. Under slack rescaling nothing can move.

    Parameters
    ----------
    sets : the ground truth
    rest : r, the structure without its modular part
    shift : (total,) what is added to the scores; None adds nothing
    """

    sets: Sets
    rest: Structure
    shift: Values | None

    @classmethod
    def of(cls, structure: Structure, slack: bool) -> "Reduced":
        """Move what can be moved."""
        sets = structure.batch
        assert isinstance(sets, Sets)
        costs, rest = (None, structure) if slack else structure.split()
        if costs is None:
            return cls(sets, rest, None)
        costs = np.maximum(costs, -FORBIDDEN)
        shift = np.where(sets.truth, -costs, costs)
        return cls(sets, rest, shift if sets.known is None else np.where(sets.known, shift, 0.0))

    def scores(self, scores: Floats) -> Floats:
        """The scores against which r is maximized."""
        return scores if self.shift is None else scores + self.shift

    def margins(self, scores: Floats) -> Values:
        """``s_i (2 y_i - 1)`` of the shifted scores, (total,) float64."""
        moved = self.scores(scores)
        return np.where(self.sets.truth, moved, -moved).astype(np.float64)

    def lift(self, scores: Floats) -> Values | float:
        """``<s, truth - target>`` of each set, which is to be added to what is won over the truth."""
        away = self.sets.lift
        return 0.0 if away is None else segment_sums(away * scores, self.sets.offsets)

    def labels(self, mistakes: Bools) -> Bools:
        """The labeling with these mistakes."""
        return mistakes ^ self.sets.truth


def unfit(method: Inference, structure: Structure, slack: bool, unknown: bool = False) -> str | None:
    """Why a method for independent binary decisions with known labels does not fit a batch; None if it fits.

    With ``unknown`` the method takes labels that are not known.
    """
    name, batch = type(method).__name__, structure.batch
    if not isinstance(batch, Sets):
        kind = type(batch).__name__
        return f"{name} refuses {kind}: it knows independent binary decisions. Use an inference made for {kind}."
    if batch.totals is not None:
        return f"{name} refuses pieces of sets: their labelings are judged together. Use the whole sets."
    if batch.known is not None and not unknown:
        return f"{name} refuses labels that are not known. Use Auto or Enumeration."
    if slack and batch.compared is not None:
        return f"{name} refuses slack rescaling of {structure!r}: the truth is none of the labelings it takes."
    return None
