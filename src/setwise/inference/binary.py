"""Helpers of the methods for independent binary decisions: the modular part of a loss moves into the scores."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Floats, Values
from setwise.core.inference import Inference
from setwise.core.structure import Structure
from setwise.kernels.segments import segment_sums

FORBIDDEN = 1e200
"""The cost in score of a forbidden mistake, which is more than all else can win."""


@final
@dataclass(frozen=True, eq=False)
class Reduced:
    """The problem ``max_A r(A) - m(A)`` in place of ``max_A l(A) - m(A)``: costs of single mistakes become scores.

    A is the set of mistakes, and ``m(A) = sum_(i in A) s_i (2 y_i - 1)`` is the score that they lose. Where the modular
    part of l makes mistake i cost c, the margin of i becomes ``m_i - c``, and r is the remainder of l. Under slack
    rescaling nothing can move, for the score multiplies the loss.

    Parameters
    ----------
    sets : the true labels
    rest : r, the structure without its modular part
    shift : (total,) numbers that are added to the scores; None adds nothing
    """

    sets: Sets
    rest: Structure
    shift: Values | None

    @classmethod
    def of(cls, structure: Structure, slack: bool) -> "Reduced":
        """Splits a structure into its modular part, which becomes the shift, and the remainder."""
        sets = structure.batch
        assert isinstance(sets, Sets)
        costs, rest = (None, structure) if slack else structure.split()
        if costs is None:
            return cls(sets, rest, None)
        # Scores stay finite: a cost of -inf forbids the mistake, and a huge one does the same.
        costs = np.maximum(costs, -FORBIDDEN)
        # A mistake on a positive takes its score away, so its cost is taken off the score.
        shift = np.where(sets.truth, -costs, costs)
        return cls(sets, rest, shift if sets.known is None else np.where(sets.known, shift, 0.0))

    def scores(self, scores: Floats) -> Floats:
        """Returns the scores plus the shift."""
        return scores if self.shift is None else scores + self.shift

    def margins(self, scores: Floats) -> Values:
        """Returns the margins ``s_i (2 y_i - 1)`` of the shifted scores, (total,) float64."""
        moved = self.scores(scores)
        return np.where(self.sets.truth, moved, -moved).astype(np.float64)

    def target_shift(self, scores: Floats) -> Values | float:
        """Returns ``<s, truth - target>`` of each set, to be added to values that are counted from the true labels."""
        shift = self.sets.target_shift
        return 0.0 if shift is None else segment_sums(shift * scores, self.sets.offsets)

    def labels(self, mistakes: Bools) -> Bools:
        """Returns the labeling that makes these mistakes."""
        return mistakes ^ self.sets.truth


def unfit(method: Inference, structure: Structure, slack: bool, unknown: bool = False) -> str | None:
    """Returns why a method for independent binary decisions refuses a batch, as a sentence; None if it fits.

    With ``unknown`` the method takes batches with labels that are not known.
    """
    name, batch = type(method).__name__, structure.batch
    if not isinstance(batch, Sets):
        kind = type(batch).__name__
        return f"{name} refuses {kind}: it knows independent binary decisions. Use an inference made for {kind}."
    if batch.totals is not None:
        return f"{name} refuses pieces of sets: their labelings are evaluated together. Use the whole sets."
    if batch.known is not None and not unknown:
        return f"{name} refuses labels that are not known. Use Auto or Enumeration."
    if slack and batch.compared is not None:
        return f"{name} refuses slack rescaling of {structure!r}: the truth is none of the labelings it takes."
    return None
