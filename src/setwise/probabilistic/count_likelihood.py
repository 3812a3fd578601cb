"""The likelihood of what is known of numbers of positives, under independent decisions: ``A(s) - A_allowed(s)``."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Floats, Ints, Values, as_kind
from setwise.core.loss import Loss
from setwise.core.structure import Structure
from setwise.core.surrogate import Difference, Evaluation, Evaluator, Surrogate
from setwise.kernels.count_partition import count_partitions
from setwise.kernels.segments import segment_sums
from setwise.losses import as_loss
from setwise.probabilistic.bags import Bags


@final
class AllowedPartition(Evaluator):
    """``log sum_y exp <s, y>`` over the labelings y that a structure allows. Convex.

    The gradient is the mean of y, the posterior marginals of independent decisions given that y is allowed. Both are
    exact to rounding.

    Source: own; compared with the enumeration of all labelings in tests/probabilistic/test_count_likelihood.py.

    Parameters
    ----------
    structure : of the values 0 and -inf, for sets of independent decisions: one without terms allows all labelings, and
        ``CountRange(low, high).structure(sets).zero()`` ranges of the numbers of positives

    Raises
    ------
    TypeError : for anything but a structure
    Refusal : for other batches and other values than these
    ValueError, OverflowError : when called, for scores that are not finite or whose sums leave float64

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import CountRange
    >>> from setwise.probabilistic import AllowedPartition
    >>> bag = Sets(np.array([-1, -1, -1], dtype=np.int8), np.array([0, 3]))  # three unknown labels
    >>> one = AllowedPartition(CountRange(1, 1).structure(bag).zero())(np.zeros(3))  # one of them is positive
    >>> np.exp(one.values).round(6), one.gradient.round(3)  # three labelings, equally probable
    (array([3.]), array([0.333, 0.333, 0.333]))
    """

    batch: Sets

    def __init__(self, structure: Structure) -> None:
        as_kind(structure, "structure", Structure, "CountRange(1).structure(sets).zero()")
        self.structure, self.bags = structure, Bags.of(structure, "AllowedPartition")
        self.batch = structure.batch  # type: ignore[assignment]

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        s, bags = np.asarray(scores, dtype=np.float64), self.bags
        each, means = np.empty(len(bags.low)), np.empty(len(bags.members))
        count_partitions(s[bags.members], bags.starts, bags.low, bags.high, each, means)
        if len(bags.owners) < len(each):
            each = self._of_ranges(each, means)
        values = segment_sums(s * bags.fixed, self.batch.offsets)
        np.add.at(values, bags.owners, each)
        gradient = bags.fixed + np.bincount(bags.members, means, len(s))
        return Evaluation(values, gradient.astype(scores.dtype), values, np.ones(len(values), dtype=bool))

    def _of_ranges(self, each: Values, means: Values) -> Values:
        """The values of bags from those of their ranges; ``means`` are weighted by the probability of the range."""
        bags = self.bags.bags
        values = np.logaddexp.reduceat(each, np.searchsorted(bags, np.arange(len(self.bags.owners))))
        means *= np.repeat(np.exp(each - values[bags]), np.diff(self.bags.starts))
        return values

    def take(self, parts: Ints) -> "AllowedPartition":
        return AllowedPartition(self.structure.take(parts))

    def __repr__(self) -> str:
        return f"the log-partition function of {self.structure!r}"


@final
@dataclass(frozen=True, eq=False)
class CountLikelihood(Surrogate):
    """``-log Pr(y has the least loss)`` with ``Pr(y_i = 1) = sigmoid(s_i)``, independently: ``A(s) - A_allowed(s)``.

    The loss says what is known: all labelings of least loss agree with it (HOL 4.1). So a number of positives, a range
    of them, "at least one", and single known labels are one formula. Its gradient is ``Pr(y_i = 1) - Pr(y_i = 1 |
    known)``, exact to rounding. It is a difference of convex functions: the majorant has the tangent of the second, so
    that it is the cross-entropy with the posterior as soft labels, and the convex-concave procedure is the EM
    algorithm. Known labels alone give the logistic loss.

    Parameters
    ----------
    loss : a loss whose labelings of least loss are ranges of numbers of positives, as ``CountRange(low, high)``, and
        ``BoxFullness(shares)`` for the numbers next to given shares; or the name of one

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text; from :meth:`on` for anything but ``Sets``
    ValueError : for a name that no loss has
    Refusal : from :meth:`on`, where the labelings of least loss are no such ranges

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import CountRange
    >>> from setwise.probabilistic import CountLikelihood
    >>> bag = Sets(np.array([-1, -1], dtype=np.int8), np.array([0, 2]))  # two unknown labels, each positive with 1/2
    >>> at_least_one = CountLikelihood(CountRange(1)).on(bag)(np.zeros(2))
    >>> np.exp(-at_least_one.values)
    array([0.75])
    >>> at_least_one.gradient.round(3)  # 1/2 less the posterior, 2/3
    array([-0.167, -0.167])
    """

    loss: Loss

    name: ClassVar[str] = "count_likelihood"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))

    def on(self, batch: Any) -> Evaluator:
        as_kind(batch, "batch", Sets, "Sets(labels, offsets)")
        known = AllowedPartition(self.loss.structure(batch).zero())
        # A probability is at most 1.
        return Difference(AllowedPartition(Structure(batch)), known, floor=0.0)
