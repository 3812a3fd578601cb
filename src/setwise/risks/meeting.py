"""Sets that span places and are small: their scores are gathered and evaluated together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.surrogate import Evaluator, Surrogate
from setwise.risks.census import GATHERED, Census


@final
@dataclass(frozen=True, eq=False)
class Meeting:
    """The gathered sets of all places, in one batch.

    Parameters
    ----------
    evaluator : the surrogate of the gathered sets; None where there are none
    weights : the share of each of them in the risk
    order : row i of the batch is row ``order[i]`` of the places, one after another
    ends : where the rows of each place end
    """

    evaluator: Evaluator | None
    weights: Values
    order: Ints
    ends: Ints

    @classmethod
    def of(cls, census: Census, rows: Sequence[tuple[Bools, Ints]], surrogate: Surrogate) -> "Meeting":
        """The meeting of the gathered rows of each place, given by their labels and the numbers of their sets."""
        truth, numbers = (np.concatenate(column) for column in zip(*rows, strict=True))
        ends = np.cumsum([len(labels) for labels, _ in rows])
        order = np.argsort(numbers, kind="stable")
        chosen = np.flatnonzero(census.kinds == GATHERED)
        offsets = np.concatenate(([0], np.cumsum(census.sizes[chosen]))).astype(np.int64)
        evaluator = surrogate.on(Sets(truth[order], offsets)) if len(chosen) else None
        return cls(evaluator, census.weights[chosen], order, ends)

    @property
    def floor(self) -> float:
        """A lower bound of the values of the sets; inf where there are none."""
        return np.inf if self.evaluator is None else self.evaluator.floor

    def evaluate(self, scores: Sequence[Values], tol: float) -> tuple[tuple[float, float], list[Values]]:
        """The weighted sums of the values and of the bounds, and the weighted gradient of the rows of each place."""
        if self.evaluator is None:
            return (0.0, 0.0), list(scores)
        flat = np.concatenate(scores)[self.order]
        found = self.evaluator(flat, tol)
        gradient = np.empty_like(flat)
        gradient[self.order] = found.gradient * np.repeat(self.weights, np.diff(self.evaluator.batch.score_offsets))
        sums = float(self.weights @ found.values), float(self.weights @ found.upper)
        return sums, np.split(gradient, self.ends[:-1])
