"""Losses of counts on tensors of any device: their formulas run there as they are written for NumPy.

The Lovász extension sorts errors; margin rescaling, slack rescaling and the ramp rank the decisions of each class by
their margins.
"""

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from setwise.core.batch import Sets
from setwise.core.checks import Values
from setwise.core.counts import Counts
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.core.terms import Trait
from setwise.torch.device_array import DeviceArray
from setwise.torch.operators import ValueAndGradient

SIZES = [(P, N) for P in range(4) for N in range(4) if P + N] + [(6, 11), (40, 7), (1, 60), (60, 1), (25, 25)]
"""Numbers of positives and negatives at which each formula on tensors is compared with the loss itself."""

LARGE = (1 << 10, 1 << 17, 1 << 24)
"""Numbers of decisions at which it is compared with the formula of NumPy."""


class CountTerm(NamedTuple):
    """``factor`` times a loss of counts, and what its coefficients say.

    ``quotient`` says whether its coefficients are known on a device. By ``fixed_fp`` the loss is affine in fn where fp
    is fixed, and by ``fixed_predicted`` where the number of predicted positives is.
    """

    factor: float
    loss: Loss
    quotient: bool
    fixed_fp: bool
    fixed_predicted: bool


@final
@dataclass(frozen=True)
class DeviceCounts:
    """``sum of factor * f(fn, fp, P, N)`` on tensors of any device, without waiting for it."""

    parts: tuple[CountTerm, ...]

    @classmethod
    def of(cls, loss: Loss) -> "DeviceCounts | None":
        """The loss on tensors, or None for what is no formula of counts, or has one that tensors can not run.

        Whether they can is tried on small tensors of the CPU: the results must be those of the loss on the host.
        """
        pairs = loss.parts if isinstance(loss, Combination) else ((1.0, loss),)
        try:
            return cls(tuple(_part(factor, part) for factor, part in pairs))
        # Any error of a formula that is not made for these arrays means that its place is the host.
        except Exception:
            return None

    @property
    def fixed_fp(self) -> bool:
        """Whether the loss is affine in fn where fp is fixed."""
        return all(part.fixed_fp for part in self.parts)

    @property
    def fixed_predicted(self) -> bool:
        """Whether the loss is affine in fn where the number of predicted positives is fixed."""
        return all(part.fixed_predicted for part in self.parts)

    def __call__(self, fn: Tensor, fp: Tensor, P: Tensor, N: Tensor) -> Tensor:
        """The loss at these counts, float64; all four broadcast."""
        return self._sum([_values(part.loss, fn, fp, P, N) for part in self.parts])

    def gains(self, misses: Tensor, before: int, P: Tensor, N: Tensor) -> Tensor:
        """What each of k consecutive mistakes adds, (S, k) float64, for the numbers (S,) of positives and negatives.

        ``misses`` (S, k + 1) are the numbers of false negatives before the first of these mistakes, which comes after
        ``before`` others, and after each of them. Gains beyond the P + N mistakes of a set have no meaning. Gains of a
        quotient N/D are ``(t D - b N) / (D (D + b))`` where a mistake adds t to N and b to D; those of other losses are
        differences of neighboring values.
        """
        fn = misses.double()
        made = torch.arange(before, before + fn.shape[1], device=fn.device, dtype=torch.float64)
        fp = torch.minimum(made - fn, N[:, None])
        return self._sum([_gains(part, fn, fp, P, N) for part in self.parts])

    def _sum(self, each: list[Tensor]) -> Tensor:
        """The sum of one tensor for each loss, times its factor."""
        factors = [part.factor for part in self.parts]
        return reduce(torch.add, [x if c == 1.0 else c * x for c, x in zip(factors, each, strict=True)])


def _gains(part: CountTerm, fn: Tensor, fp: Tensor, P: Tensor, N: Tensor) -> Tensor:
    """The gains of one loss, for the counts (S, k + 1) before the first mistake and after each."""
    if not part.quotient:
        return _values(part.loss, fn, fp, P[:, None], N[:, None]).diff(dim=1)
    top, bottom = _quotient(part.loss, P, N)
    before = fn[:, :-1], fp[:, :-1]
    numerator, denominator = (c[:, :1] + c[:, 1:2] * before[0] + c[:, 2:] * before[1] for c in (top, bottom))
    positive = fn[:, 1:] > before[0]
    t, b = (torch.where(positive, c[:, 1:2], c[:, 2:]) for c in (top, bottom))
    after = denominator + b
    # The denominator may be 0 before the first mistake, where the loss is defined apart from the formula.
    first = (numerator[:, :1] + t[:, :1]) / after[:, :1] - _values(part.loss, 0 * P, 0 * P, P, N)[:, None]
    return torch.where(denominator > 0, (t * denominator - b * numerator) / (denominator * after), first)


def _values(loss: Loss, fn: Tensor, fp: Tensor, P: Tensor, N: Tensor) -> Tensor:
    """The formula of one loss; its result may be constant along some of the counts."""
    formula = loss.formula
    assert formula is not None
    shape: tuple[int, ...] = torch.broadcast_shapes(fn.shape, fp.shape, P.shape, N.shape)  # type: ignore[no-untyped-call]
    found = formula(*(DeviceArray(each) for each in (fn, fp, P, N)))  # type: ignore[arg-type]
    if not isinstance(found, DeviceArray):
        raise TypeError(f"the formula of {loss!r} must return an array like those that it is given.")
    return found.tensor.double().broadcast_to(shape)


def _quotient(loss: Loss, P: Tensor, N: Tensor) -> tuple[Tensor, Tensor]:
    """The coefficients (S, 3) of 1, fn and fp in numerator and denominator."""
    assert isinstance(loss, CountLoss)
    positives = DeviceArray(P)
    found = loss.quotient(positives, DeviceArray(N))  # type: ignore[arg-type]
    assert found is not None
    # Coefficients that do not depend on the counts are arrays of NumPy.
    return positives.as_tensor(found[0]), positives.as_tensor(found[1])


def _part(factor: float, loss: Loss) -> CountTerm:
    """One loss, compared with itself on the host; TypeError or whatever else is raised where it does not fit."""
    _compare(loss)
    P, N = _large_counts()[2:]
    modular = Trait.MODULAR in loss.traits
    if not isinstance(loss, CountLoss):
        return CountTerm(factor, loss, False, modular, modular)
    with np.errstate(all="ignore"):
        term = loss.counts(P, N)
    flat = term.quotient is not None and not term.quotient[1][:, 1].any()
    diagonal = term.affine is True
    return CountTerm(factor, loss, _knows_quotient(loss, term, P, N), modular or flat, modular or diagonal)


def _compare(loss: Loss) -> None:
    """Raise where the formula on tensors differs from the loss."""
    formula = loss.formula
    if formula is None:
        raise TypeError(f"{loss!r} has no formula of counts.")
    with np.errstate(all="ignore"):
        for P, N in SIZES:
            fn, fp = (each.ravel() for each in np.meshgrid(np.arange(P + 1.0), np.arange(N + 1.0)))
            truth = np.broadcast_to(np.arange(P + N) < P, (len(fn), P + N))
            rank = np.concatenate([np.arange(P), np.arange(N)])
            wrong = np.where(truth, rank < fn[:, None], rank < fp[:, None])
            expected = loss.bind(Sets.rows(truth)).values((wrong ^ truth).ravel())
            _agree(expected, _on_cpu(loss, fn, fp, np.full_like(fn, P), np.full_like(fp, N)))
        counts = _large_counts()
        _agree(np.asarray(formula(*counts)), _on_cpu(loss, *counts))


def _knows_quotient(loss: CountLoss, term: Counts, P: Values, N: Values) -> bool:
    """Whether tensors give the coefficients of a quotient; False for losses that are none."""
    if term.quotient is None:
        return False
    small = np.array(SIZES, dtype=np.float64).T
    pairs = [(term.quotient, P, N), (loss.quotient(*small), *small)]
    try:
        for expected, positives, negatives in pairs:
            assert expected is not None
            found = _quotient(loss, torch.from_numpy(positives), torch.from_numpy(negatives))
            for wanted, got in zip(expected, found, strict=True):
                _agree(wanted, got.numpy())
    # The coefficients are made in a way that tensors can not follow, so gains are differences.
    except Exception:
        return False
    return True


def _large_counts() -> tuple[Values, Values, Values, Values]:
    """Counts (fn, fp, P, N) of large sets."""
    rng = np.random.default_rng(0)
    total = np.repeat(LARGE, 50)
    P = rng.integers(1, total)
    fn, fp = rng.integers(0, P + 1), rng.integers(0, total - P + 1)
    return tuple(each.astype(np.float64) for each in (fn, fp, P, total - P))  # type: ignore[return-value]


def _on_cpu(loss: Loss, *counts: Values) -> Values:
    """The formula on tensors of the CPU."""
    return _values(loss, *(torch.from_numpy(each.copy()) for each in counts)).numpy()


def _agree(expected: Values, found: Values) -> None:
    """Raise where two arrays differ by more than rounding."""
    if not np.allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-12, atol=1e-13):
        raise ValueError("a formula differs on tensors.")


@final
@dataclass(frozen=True)
class Ranks:
    """The decisions of one class of S sets, ranked by their margins: what a mistake loses in score.

    Parameters
    ----------
    margins : (S, p) the margins of the class upwards, and then inf
    lost : (S, p + 1) the sums of the first margins; beyond the size of the class they have no meaning
    size, low : (S,) int64, the number of decisions, and of those that are wrong in the best labelings anyway, as a
        mistake of them loses no score and the loss does not fall; their margins count as 0 in the other fields
    base, gain : (S,) what these mistakes win in score, and what all of negative margin do
    rank : (S, p) int64, the rank of each decision from 0; at least the size of the class for all others
    below_zero : (S, p) whether a decision of the class has a negative margin
    """

    margins: Tensor
    lost: Tensor
    size: Tensor
    low: Tensor
    base: Tensor
    gain: Tensor
    rank: Tensor
    below_zero: Tensor

    @classmethod
    def of(cls, margins: Tensor, own: Tensor, increasing: bool) -> "Ranks":
        """The ranks of the decisions (S, p) of the class; ``increasing`` tells whether the loss increases."""
        place = torch.arange(margins.shape[1], device=margins.device).expand_as(margins)
        size = own.sum(dim=1)
        below = own & (margins < 0)
        gain = -torch.where(below, margins, 0.0).sum(dim=1)
        ordered, order = torch.where(own, margins, torch.inf).sort(dim=1, stable=True)
        rank = restored(place.contiguous(), order)
        low, base = torch.zeros_like(size), torch.zeros_like(gain)
        if increasing:
            low, base, ordered = (own & (margins <= 0)).sum(dim=1), gain, ordered.clamp(min=0.0)
        lost = running_sums(torch.where(place < size[:, None], ordered, 0.0))
        return cls(ordered, lost, size, low, base, gain, rank, below)

    def first(self, count: Tensor) -> Tensor:
        """A mask of the ``count`` (S,) decisions of least margin, (S, p)."""
        return self.rank < count[:, None]


def restored(values: Tensor, order: Tensor) -> Tensor:
    """The values (S, p) of sorted items, each at the place from which the ``order`` (S, p) took its item."""
    if torch.are_deterministic_algorithms_enabled():
        # PyTorch would sort the places anyway to scatter there, and wait for the device, as it does not know that the
        # places are different.
        return values.gather(1, order.argsort(dim=1))
    return torch.empty_like(values).scatter(1, order, values)


def running_sums(terms: Tensor) -> Tensor:
    """The sums (S, p + 1) of the first 0, 1, ..., p terms (S, p), in the same order of additions on every device.

    PyTorch's own running sums of floats on GPUs may differ from run to run, and are refused where algorithms have to be
    deterministic.
    """
    sums = torch.nn.functional.pad(terms, (1, 0))
    reach = 1
    while reach < sums.shape[1]:
        sums = torch.cat([sums[:, :reach], sums[:, reach:] + sums[:, :-reach]], dim=1)
        reach *= 2
    return sums


MISTAKES = 1 << 21
"""So many mistakes of all sets are evaluated at once, at most."""


def extension(
    counts: DeviceCounts, errors: Tensor, codes: Tensor, clipped: bool, level: float = 0.0, folded: bool = False
) -> ValueAndGradient:
    """``(l(none) + sum_j e_(j) gain_j)_+`` along errors (S, p), sorted down, and its derivative by the errors.

    The errors e are ``level + errors``; a sum in float32 would round small scores to the same number. If they are
    ``folded``, a number x above 1 stands for the error ``1 - 1 / x``, so that errors near 1 differ. With ``clipped``
    errors below 0 count as 0. One stable sort; gains and sums are float64. Sets with errors that are NaN or inf have
    values that are, and a gradient of NaN.
    """
    P, N = ((codes == label).sum(dim=1).double() for label in (1, 0))
    # What does not count comes last, so that the mistakes of a set are its first P + N.
    ordered, order = torch.where(codes < 0, -torch.inf, errors).sort(dim=1, descending=True, stable=True)
    labels = codes.gather(1, order)
    running = torch.nn.functional.pad((labels == 1).cumsum(dim=1, dtype=torch.int32), (1, 0))
    # The formula need not be defined for sets in which nothing counts.
    sums = torch.where(P + N > 0, counts(0 * P, 0 * P, P, N), 0.0)
    # Counts and gains are float64, so they are made in pieces, of which one at a time takes memory.
    step, pieces = max(1, MISTAKES // max(len(codes), 1)), []
    for a in range(0, codes.shape[1], step):
        top = ordered[:, a : a + step].double() + level
        top = torch.where(top > 1.0, 1.0 - 1.0 / top, top) if folded else top
        idle = (labels[:, a : a + step] < 0) | (top <= 0) if clipped else labels[:, a : a + step] < 0
        gains = torch.where(idle, 0.0, counts.gains(running[:, a : a + step + 1], a, P, N))
        sums = sums + (torch.where(idle, 0.0, top) * gains).sum(dim=1)
        pieces.append(gains.to(errors.dtype))
    slopes = torch.cat(pieces, dim=1) if pieces else torch.zeros_like(errors)
    # Where the sum is clipped at 0, a subgradient is 0.
    still = sums <= 0
    values = torch.where(still, 0.0, sums).to(errors.dtype)
    slopes = torch.where(still[:, None], 0.0, slopes) + (sums - sums)[:, None].to(errors.dtype)
    return ValueAndGradient(values, restored(slopes, order))


LARGEST_TABLE = 1024
"""The most decisions of a set whose whole table of counts is searched."""

CELLS = 1 << 22
"""So many cells of all tables are computed at once, at most."""


@final
@dataclass(frozen=True)
class DeviceObjective:
    """``f + won`` at the counts (fn, fp) of sets, or with ``slack`` ``f (1 + won)``; ``won`` is the score of mistakes.

    Without ``slack`` the score ``base`` of the mistakes that cost nothing is left out, as a huge one would bury the
    loss in its rounding.
    """

    counts: DeviceCounts
    misses: Ranks
    alarms: Ranks
    slack: bool

    @property
    def base(self) -> Tensor:
        """The score of the mistakes that are made anyway, (S,)."""
        return self.misses.base + self.alarms.base

    def __call__(self, fn: Tensor, fp: Tensor) -> Tensor:
        """The objective at counts (S, K) int64 of each set."""
        P, N = self.misses.size, self.alarms.size
        loss = self.counts(fn.double(), fp.double(), P[:, None].double(), N[:, None].double())
        lost = self.misses.lost.gather(1, fn) + self.alarms.lost.gather(1, fp)
        return loss * (1.0 + (self.base[:, None] - lost)) if self.slack else loss - lost


def rescaled(
    counts: DeviceCounts, scores: Tensor, codes: Tensor, increasing: bool, slack: bool = False, ramp: bool = False
) -> ValueAndGradient | None:
    """``max_h l(h) + <s, h - y>`` or with ``slack`` ``max_h l(h) (1 + <s, h - y>)``, with its gradient.

    With ``ramp`` the labeling of the largest score takes the place of y. All of it is float64. The best mistakes of
    given counts are those of least margin, so the maximum is one over tables of counts. The tables of up to 1,024
    decisions are searched whole. Of larger ones only the best cell of each row is needed, or of each diagonal, for
    losses that are affine there and margin rescaling; other losses have no way here, and None is returned. Scores that
    are not finite give NaN.
    """
    p = codes.shape[1]
    if p > LARGEST_TABLE and (slack or not (counts.fixed_fp or counts.fixed_predicted)):
        return None
    exact, positive = scores.double(), codes == 1
    misses, alarms = Ranks.of(exact, positive, increasing), Ranks.of(-exact, codes == 0, increasing)
    objective = DeviceObjective(counts, misses, alarms, slack)
    search = _of_tables if p <= LARGEST_TABLE else _of_rows if counts.fixed_fp else _of_diagonals
    fn, fp, found = search(objective)
    wrong = (misses.first(fn) | alarms.first(fp)).to(scores.dtype)
    some = misses.size + alarms.size > 0
    if slack:
        loss = counts(fn.double(), fp.double(), misses.size.double(), alarms.size.double())
        # The formula need not be defined for sets in which nothing counts.
        wrong = wrong * torch.where(some, loss, 0.0)[:, None].to(scores.dtype)
    elif ramp:
        predicted = (misses.below_zero | alarms.below_zero).to(scores.dtype)
        found, wrong = found + ((misses.base - misses.gain) + (alarms.base - alarms.gain)), wrong - predicted
    else:
        found = found + objective.base
    if ramp:
        # The loss of the predicted labeling is at least 0, so only rounding is below.
        found = torch.where(found < 0, 0.0, found)
    # The sum is 0, or NaN in sets with scores that are not finite.
    counted = torch.where(codes < 0, 0.0, exact)
    odd = (counted - counted).sum(dim=1)
    wrong = wrong + odd[:, None].to(wrong.dtype)
    values = torch.where(some, found, 0.0) + odd
    return ValueAndGradient(values.to(scores.dtype), torch.where(positive, -wrong, wrong))


def _of_tables(objective: DeviceObjective) -> tuple[Tensor, Tensor, Tensor]:
    """The best counts fn and fp and their objective, (S,) each, by a search of whole tables.

    A cell is numbered ``fn (N + 1) + fp``, less the mistakes that are made anyway; a table of p decisions has at most
    ``(p/2 + 1)^2`` of them.
    """
    low, side = (objective.misses.low, objective.alarms.low), objective.alarms.size - objective.alarms.low + 1
    number = (objective.misses.size - low[0] + 1) * side
    sets, p = objective.misses.lost.shape[0], objective.misses.lost.shape[1] - 1
    whole, step = (p // 2 + 1) * ((p + 1) // 2 + 1), max(1, CELLS // max(sets, 1))
    best = torch.full_like(objective.base, -torch.inf)
    where = torch.zeros_like(number)
    for start in range(0, whole, step):
        cells = torch.arange(start, min(start + step, whole), device=best.device).expand(sets, -1)
        inside = cells < number[:, None]
        cells = torch.where(inside, cells, 0)
        rows = cells.div(side[:, None], rounding_mode="floor")
        values = objective(low[0][:, None] + rows, low[1][:, None] + cells - rows * side[:, None])
        most, at = torch.where(inside, values, -torch.inf).max(dim=1)
        where = torch.where(most > best, start + at, where)
        best = torch.maximum(best, most)
    fn = where.div(side, rounding_mode="floor")
    return low[0] + fn, low[1] + where - fn * side, best


def _of_rows(objective: DeviceObjective) -> tuple[Tensor, Tensor, Tensor]:
    """The same for losses that are affine in fn where fp is fixed: the misses of margins below the slope are made."""
    misses, alarms = objective.misses, objective.alarms
    every = torch.arange(misses.lost.shape[1], device=misses.lost.device)
    fp = (alarms.low[:, None] + every).clamp(max=alarms.size[:, None])
    first, last = (each[:, None].expand_as(fp) for each in (misses.low, misses.size))
    slope = _slopes(objective, (first, fp), (last, fp), last - first)
    return _best_of(objective, torch.searchsorted(misses.margins, slope).clamp(first, last), fp)


def _of_diagonals(objective: DeviceObjective) -> tuple[Tensor, Tensor, Tensor]:
    """The same for losses that are affine where ``fp - fn`` is fixed: the steps of margins below the slope are made.

    The margins of consecutive steps rise, so their number is found by bisection.
    """
    misses, alarms = objective.misses, objective.alarms
    p = misses.lost.shape[1] - 1
    # The diagonals that meet the table, each from its first cell to its last.
    least, most = alarms.low - misses.size, alarms.size - misses.low
    shift = (least[:, None] + torch.arange(p + 1, device=least.device)).clamp(max=most[:, None])
    first = torch.maximum(misses.low[:, None], alarms.low[:, None] - shift)
    steps = torch.minimum(misses.size[:, None], alarms.size[:, None] - shift) - first
    ends = first + steps
    slope = _slopes(objective, (first, first + shift), (ends, ends + shift), steps)
    low, high = torch.zeros_like(steps), steps
    for _ in range(p.bit_length()):
        middle = (low + high).div(2, rounding_mode="floor")
        at = first + torch.minimum(middle, steps - 1).clamp(min=0)
        here = (at.clamp(max=p - 1), (at + shift).clamp(max=p - 1))
        cost = misses.margins.gather(1, here[0]) + alarms.margins.gather(1, here[1])
        open_, more = low < high, cost < slope
        low, high = torch.where(open_ & more, middle + 1, low), torch.where(open_ & ~more, middle, high)
    return _best_of(objective, first + low, first + low + shift)


def _slopes(
    objective: DeviceObjective, first: tuple[Tensor, Tensor], last: tuple[Tensor, Tensor], steps: Tensor
) -> Tensor:
    """The loss that one step adds between two cells of a line, (S, K); 0 where there is no step."""
    totals = objective.misses.size[:, None].double(), objective.alarms.size[:, None].double()
    ends = [objective.counts(fn.double(), fp.double(), *totals) for fn, fp in (first, last)]
    return torch.where(steps > 0, (ends[1] - ends[0]) / steps.clamp(min=1), 0.0).contiguous()


def _best_of(objective: DeviceObjective, fn: Tensor, fp: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The best of some cells (S, K)."""
    best, at = objective(fn, fp).max(dim=1, keepdim=True)
    return fn.gather(1, at)[:, 0], fp.gather(1, at)[:, 0], best[:, 0]
