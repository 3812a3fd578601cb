"""The cross-entropy of a bag's proportion of positives and its mean probability, the usual start with proportions."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import expit, log_expit, xlogy

from setwise.core.batch import Sets
from setwise.core.checks import Floats, Ints, Values, as_kind
from setwise.core.loss import Loss
from setwise.core.structure import Structure
from setwise.core.surrogate import Evaluation, Evaluator, Surrogate
from setwise.losses import as_loss
from setwise.probabilistic.bags import Bags

LEAST = 1e-300
"""The least mean probability of either label: with 0 the divergence would be infinite."""


@final
class BagDivergence(Evaluator):
    """``sum over bags of m KL(R || mean of sigmoid(s_i)) + logistic losses of known labels``. Not convex.

    R is the share of positives that is nearest to the mean among those from the least to the largest number that the
    structure allows, of m decisions.

    Source: own; compared with the formula in tests/probabilistic/test_count_likelihood.py.

    Parameters
    ----------
    structure : of the values 0 and -inf, as that of :class:`setwise.probabilistic.AllowedPartition`

    Raises
    ------
    TypeError : for anything but a structure
    Refusal : for other batches and other values than these
    ValueError, OverflowError : when called, for scores that are not finite or whose sums leave float64

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import CountRange
    >>> from setwise.probabilistic import BagDivergence
    >>> bag = Sets(np.array([-1, -1, 1], dtype=np.int8), np.array([0, 3]))  # two unknown labels, and a known one
    >>> both = BagDivergence(CountRange(3, 3).structure(bag).zero())(np.zeros(3))
    >>> np.exp(-both.values).round(6)  # 1/2 for the known label, and (1/2)^2 for the share 1 of the bag
    array([0.125])
    """

    batch: Sets
    convex = False
    floor = 0.0

    def __init__(self, structure: Structure) -> None:
        as_kind(structure, "structure", Structure, "CountRange(1).structure(sets).zero()")
        self.structure, self.bags = structure, Bags.of(structure, "BagDivergence")
        self.batch = structure.batch  # type: ignore[assignment]
        bags = self.bags
        first = np.searchsorted(bags.bags, np.arange(len(bags.owners)))
        last = np.searchsorted(bags.bags, np.arange(len(bags.owners)), side="right") - 1
        # Of several ranges of one bag, each holds all of its decisions.
        places = np.repeat(bags.starts[first] - np.concatenate(([0], np.cumsum(bags.sizes)[:-1])), bags.sizes)
        self._members = bags.members[places + np.arange(len(places))]
        self._begins = np.concatenate(([0], np.cumsum(bags.sizes)[:-1])).astype(np.int64)
        self._low, self._high = bags.low[first] / bags.sizes, bags.high[last] / bags.sizes
        self._known = np.ones(self.batch.total, dtype=bool)
        self._known[self._members] = False

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        s = np.asarray(scores, dtype=np.float64)
        p, sizes = expit(s), self.bags.sizes
        sign = np.where(self.bags.fixed[self._known] > 0, 1.0, -1.0)
        values = np.zeros(len(self.batch))
        np.add.at(values, self.batch.owners[self._known], -log_expit(sign * s[self._known]))
        gradient = p - self.bags.fixed
        if len(sizes):
            # Both are sums: 1 - mean would lose the digits of a mean near 1.
            of_ones, of_zeros = p[self._members], expit(-s[self._members])
            mean, rest = (np.maximum(np.add.reduceat(q, self._begins) / sizes, LEAST) for q in (of_ones, of_zeros))
            R, S = np.clip(mean, self._low, self._high), np.clip(rest, 1.0 - self._high, 1.0 - self._low)
            each = sizes * (xlogy(R, R / mean) + xlogy(S, S / rest))
            np.add.at(values, self.bags.owners, np.maximum(each, 0.0))
            gradient[self._members] = np.repeat(S / rest - R / mean, sizes) * of_ones * of_zeros
        return Evaluation(values, gradient.astype(scores.dtype), values, np.ones(len(values), dtype=bool))

    def take(self, parts: Ints) -> "BagDivergence":
        return BagDivergence(self.structure.take(parts))

    def __repr__(self) -> str:
        return f"the divergence of bags of {self.structure!r}"


@final
@dataclass(frozen=True, eq=False)
class ProportionLoss(Surrogate):
    """``m KL(R || mean of sigmoid(s_i))`` for each bag of m decisions with a share R of positives.

    This is the cross-entropy of the proportion and the mean probability without its least value, times the size of the
    bag. Where a range of shares is known, R is the nearest of them, so that nothing is lost inside. Decisions with
    known labels have the logistic loss, and bags are their unknown decisions.

    Source: own; compared with the formula in tests/probabilistic/test_count_likelihood.py.

    Parameters
    ----------
    loss : as for :class:`setwise.probabilistic.CountLikelihood`

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text; from :meth:`on` for anything but ``Sets``
    ValueError : for a name that no loss has
    Refusal : from :meth:`on`, where the labelings of least loss are no ranges of numbers of positives

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import CountRange
    >>> from setwise.probabilistic import ProportionLoss
    >>> bag = Sets(np.array([-1, -1, -1], dtype=np.int8), np.array([0, 3]))
    >>> ProportionLoss(CountRange(1, 2)).on(bag)(np.zeros(3)).values  # the mean 1/2 lies between 1/3 and 2/3
    array([0.])
    >>> ProportionLoss(CountRange(1, 1)).on(bag)(np.zeros(3)).values.round(3)  # log(2/3) + 2 log(4/3)
    array([0.17])
    """

    loss: Loss

    name: ClassVar[str] = "proportion_loss"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))

    def on(self, batch: Any) -> Evaluator:
        return BagDivergence(self.loss.structure(as_kind(batch, "batch", Sets, "Sets(labels, offsets)")).zero())
