"""How likely each row is positive, given its log-odds and what is known of its bag; and the best labeling so."""

import numpy as np

from setwise.core.checks import Values
from setwise.estimators.weak.knowledge import Knowledge
from setwise.probabilistic import AllowedPartition


class Posterior:
    """``E[y | known]`` of independent decisions, at ``sharpness`` times the scores.

    Where the sharpness is inf it is the labeling of greatest score among those that agree with what is known
    (``Structure.zero()``): in each bag the top ones.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self.sets = knowledge.sets
        self.allowed = AllowedPartition(knowledge.loss.structure(knowledge.sets).zero())
        given = np.bincount(self.sets.owners[self.sets.labels == 1], minlength=len(self.sets))
        unknown = np.bincount(self.sets.owners[self.sets.labels == -1], minlength=len(self.sets))
        self.low = np.maximum(knowledge.low - given, 0)
        self.high = np.minimum(knowledge.high - given, unknown)

    def __call__(self, scores: Values, sharpness: float = 1.0) -> Values:
        """The means (total,) at the scores (total,)."""
        if sharpness < np.inf:
            return np.asarray(self.allowed(sharpness * scores).gradient)
        return self._completion(scores)

    def _completion(self, scores: Values) -> Values:
        """The best labeling that is allowed: of equal scores the first rows are positive."""
        sets = self.sets
        unknown = np.flatnonzero(sets.labels == -1)
        owners = sets.owners[unknown]
        order = unknown[np.lexsort((-scores[unknown], owners))]
        sizes = np.bincount(owners, minlength=len(sets))
        positive = np.bincount(owners[scores[unknown] > 0], minlength=len(sets))
        count = np.clip(positive, self.low, self.high)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        labels: Values = (sets.labels == 1).astype(np.float64)
        labels[order] = rank < np.repeat(count, sizes)
        return labels
