"""The formula of a loss for every possible truth: the truth of a decision is random, so its counts are too."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Values
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.core.pages import DECISIONS_REFUSE
from setwise.core.terms import Trait
from setwise.losses.combinations import MeanOverClasses, OneClass

MANY = 1 << 26
"""Whether the parameters of a loss fit a set is asked for at most so many decisions."""


def possible(p: int, k: Values, s: Values) -> tuple[Values, Values]:
    """The least and the largest number of true positives where k of p decisions are predicted and s are positive."""
    return np.maximum(k + s - p, 0.0), np.minimum(k, s)


@final
@dataclass(frozen=True, eq=False)
class Formula:
    """``f(fn, fp, P, N)`` for sets of ``size`` decisions of which P = 0..size are positive, and all others negative.

    Parameters
    ----------
    size : the number p of decisions
    counts : the loss bound to truths with P = first, first + 1, ... positives; for all P they are p + 1
    first : the least number of positives
    """

    size: int
    counts: Counts
    first: int = 0

    def at(self, k: Values | float, tp: Values, fn: Values) -> Values:
        """The loss where k decisions are predicted, of which tp are positive, and fn others are; arrays broadcast."""
        return self.of(fn, k - tp, tp + fn)

    def of(self, fn: Values, fp: Values, P: Values) -> Values:
        """The loss at these counts, where P of the ``size`` decisions are positive; arrays broadcast."""
        if self.costs is None:
            return self.counts.of(fn, fp, np.rint(P).astype(np.int64) - self.first)
        # Both numbers are known, so nothing need be looked up, which would take most of the time.
        out = self._sum(fn, fp, P, self.size - P)
        return out if self.costs == (0.0, 0.0) else out + (self.costs[0] * fn + self.costs[1] * fp)

    def chord(self, k: Values, s: Values) -> tuple[Values, Values, Values]:
        """The least tp where k are predicted and s positive, the loss there, and its slope to the largest tp.

        The slope is 0 where only one number is possible.
        """
        low, high = possible(self.size, k, s)
        first = self.at(k, low, s - low)
        return low, first, (self.at(k, high, s - high) - first) / np.maximum(high - low, 1.0)

    def of_rights(self, tp: Values, fn: Values, fp: Values, tn: Values) -> Values:
        """The loss at four counts, whose sum need not be ``size``, for a formula without costs; arrays broadcast."""
        return self._sum(fn, fp, tp + fn, tn + fp)

    def _sum(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The formulas without costs."""
        if not self.counts.formulas:
            return np.zeros(np.broadcast_shapes(*(np.shape(x) for x in (fn, fp, P, N))))
        parts = [f(fn, fp, P, N) if factor == 1.0 else factor * f(fn, fp, P, N) for factor, f in self.counts.formulas]
        return np.asarray(reduce(np.add, parts))

    @cached_property
    def costs(self) -> tuple[float, float] | None:
        """The costs of a false negative and of a false positive that are added, if they are those of all truths."""
        linear = self.counts.linear
        if linear is None:
            return 0.0, 0.0
        # Truths of one class tell the cost of that class only.
        miss, alarm = linear[1:, 0], linear[:-1, 1]
        return (float(miss[0]), float(alarm[0])) if np.ptp(miss) == 0 and np.ptp(alarm) == 0 else None

    def expected_costs(self, means: Values) -> Values:
        """The expected costs, (p+1,), where the first k = 0..p are predicted and ``means`` (p+1,) of them are positive.

        They fall up to the best k and grow after it, because the probabilities of the decisions fall.
        """
        miss, alarm = self.costs or (0.0, 0.0)
        return np.asarray(miss * (means[-1] - means) + alarm * (np.arange(len(means)) - means))

    @cached_property
    def without_costs(self) -> "Formula":
        """The formula without costs that are the same for all truths."""
        return self if self.costs is None else replace(self, counts=replace(self.counts, linear=None))

    @property
    def modular(self) -> bool:
        """Whether the loss is, for each truth, a sum of costs of mistakes."""
        return not self.counts.formulas and self.counts.predicted is None

    @property
    def diluted(self) -> bool:
        """Whether it is known that one more right decision never makes the loss larger, and there are no costs."""
        return bool(self.counts.diluted) and self.counts.linear is None and self.counts.predicted is None

    @property
    def increasing(self) -> bool:
        """Whether no further mistake makes the loss smaller, so that the k most probable decisions are the best k."""
        # At fixed k and P one true positive less is a false negative more and a false positive more.
        return Trait.INCREASING in self.counts.traits

    @cached_property
    def numbers(self) -> tuple[int, int]:
        """The least and the largest number of decisions that may be predicted positive."""
        fixed = self.counts.predicted
        return (0, self.size) if fixed is None else (int(fixed[0]), int(fixed[0]))

    def check_labels(self, labels: Bools) -> None:
        """Raise ValueError for labelings (n, p) that predict a number for which the loss is not defined."""
        low, high = self.numbers
        sizes = labels.sum(axis=1)
        if (sizes < low).any() or (sizes > high).any():
            odd = int(sizes[(sizes < low) | (sizes > high)][0])
            raise ValueError(f"labels must predict {low} decisions of each set for this loss; got {odd} of them.")

    @cached_property
    def affine_beside_misses(self) -> bool:
        """Whether at given k and fn the loss is affine in tp, but for P = 0, as it is for Jaccard."""
        if self.counts.quotient is None or self.size < 2:
            return False
        top, bottom = (part[1:] for part in self.counts.quotient)
        # With P = tp + fn and fp = k - tp, the denominator must not depend on tp, and the numerator only linearly.
        constant = all((np.diff(part[:, 1:], axis=0) == 0).all() for part in (top, bottom))
        flat = (np.diff(bottom[:, 0]) == bottom[1:, 2]).all() and (np.diff(top[:, 0], 2) == 0).all()
        return constant and bool(flat) and bool((bottom[:, 0] > 0).all())

    @cached_property
    def fraction(self) -> "Fraction | None":
        """The loss as a quotient of linear functions of P, fn and fp, but for P = 0; None if it is not one."""
        if self.counts.quotient is None or self.size < 2:
            return None
        top, bottom = self.counts.quotient
        return Fraction.of(top[1:], bottom[1:], self.first + 1)

    @cached_property
    def largest(self) -> float:
        """The largest value of an increasing loss, which is that of a labeling without a right decision."""
        P, N = self.counts.P, self.counts.N
        return 0.0 if self.modular and self.counts.linear is None else float(self.counts.of(P, N).max())


@final
@dataclass(frozen=True, eq=False)
class Fraction:
    """``(t0 + t1 P + t2 fn + t3 fp) / (b0 + b1 P + b2 fn + b3 fp)``, with ``top`` t (4,) and ``bottom`` b (4,)."""

    top: Values
    bottom: Values

    def without_positives(self, k: Values) -> Values:
        """The quotient where nothing is positive and k are predicted; 0/0 is taken for 0."""
        top, bottom = (part[0] + part[3] * k for part in (self.top, self.bottom))
        return np.asarray(top / np.where(bottom > 0.0, bottom, 1.0))

    @classmethod
    def of(cls, top: Values, bottom: Values, first: int = 1) -> "Fraction | None":
        """From the coefficients (m, 3) of 1, fn and fp for P = first, ...; None if they are not linear in P."""
        found = []
        for part in (top, bottom):
            slope = (part[-1, 0] - part[0, 0]) / (len(part) - 1.0)
            line = part[0, 0] + slope * np.arange(len(part))
            near = np.abs(part[:, 0] - line) <= 1e-13 * np.abs(part[:, 0]).max()
            if not near.all() or (np.ptp(part[:, 1:], axis=0) > 0).any():
                return None
            found.append(np.array([part[0, 0] - slope * first, slope, part[0, 1], part[0, 2]]))
        return cls(found[0], found[1])


def formula_of(loss: Loss, size: int, likely: tuple[int, int] | None = None) -> Formula | None:
    """The formula of ``loss`` for sets of ``size`` decisions; None if it is not a function of the counts.

    It is for the numbers of positives between the two that are ``likely``, which differ; None stands for all numbers.

    Raises
    ------
    Refusal : for losses that read the order of scores, or whose number of predicted positives depends on the truth
    ValueError : for parameters that do not fit sets of this size
    """
    first, last = (0, size) if likely is None else likely
    P = np.arange(first, last + 1)
    if isinstance(loss, CountLoss) and loss.reads == "scores":
        loss.check(_negatives(size))
        counts = loss.counts(P.astype(np.float64), (size - P).astype(np.float64))
        if counts.predicted is not None and np.ptp(counts.predicted) > 0:
            raise Refusal(
                f"a decision for {loss!r} is refused: the number that it predicts depends on the truth. Use "
                "PrecisionAtK(k) or RecallAtK(k).",
                DECISIONS_REFUSE,
            )
        return Formula(size, counts, first)
    if loss.reads == "scores":
        raise Refusal(
            f"a decision for {loss!r} is refused: it reads the order of scores. Rank by probability.",
            DECISIONS_REFUSE,
        )
    if not _of_counts(loss):
        return None
    loss.check(_negatives(size))
    pieces = Sets.pieces(P, size - P)
    found = _bind(loss, pieces).counts
    if found is None:
        return None
    formula = Formula(size, found, first)
    # A sum of costs that depend on P and of other formulas is better one formula: it tells what is known of it.
    whole = _bind(loss, pieces, whole=True).counts if formula.costs is None and not formula.modular else None
    return formula if whole is None else Formula(size, whole, first)


def _negatives(size: int) -> Sets:
    """A set of so many negatives, or of very many."""
    size = min(size, MANY)
    return Sets(np.zeros(size, dtype=bool), np.array([0, size]))


def _of_counts(loss: Loss) -> bool:
    """Whether a loss of binary decisions is a function of the counts."""
    if isinstance(loss, Combination):
        return all(_of_counts(part) for _, part in loss.parts)
    if isinstance(loss, MeanOverClasses | OneClass):
        return _of_counts(loss.loss)
    return Trait.COUNTS in loss.traits


def _bind(loss: Loss, pieces: Sets, whole: bool = False) -> BoundLoss:
    """The loss bound to pieces of sets, which are smaller than the sets whose size was checked.

    With ``whole`` modular losses that depend on P are bound by their formulas, not as costs of mistakes.
    """
    if isinstance(loss, Combination):
        return reduce(BoundLoss.__add__, [factor * _bind(part, pieces, whole) for factor, part in loss.parts])
    if whole and isinstance(loss, CountLoss) and Trait.LABEL_FREE not in loss.traits:
        return BoundLoss(pieces, (loss.counts(pieces.count(1), pieces.count(0)),))
    # The mean over two classes of a loss that does not tell them apart is the loss itself.
    if isinstance(loss, MeanOverClasses | OneClass) and Trait.LABEL_FREE in loss.loss.traits:
        return _bind(loss.loss, pieces)
    return loss._bind(pieces)
