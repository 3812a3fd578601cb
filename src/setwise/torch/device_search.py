"""Margin rescaling, slack rescaling and the ramp of a loss of counts on tensors of any device."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from setwise.torch.device_counts import DeviceCounts
from setwise.torch.device_ranks import Ranks
from setwise.torch.forms import Evaluated

LARGEST_TABLE = 1024
"""The most decisions of a set whose whole table of counts is searched."""

CELLS = 1 << 22
"""So many cells of all tables are computed at once, at most."""


@final
@dataclass(frozen=True)
class Objective:
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
) -> Evaluated | None:
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
    objective = Objective(counts, misses, alarms, slack)
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
    return Evaluated(values.to(scores.dtype), torch.where(positive, -wrong, wrong))


def _of_tables(objective: Objective) -> tuple[Tensor, Tensor, Tensor]:
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


def _of_rows(objective: Objective) -> tuple[Tensor, Tensor, Tensor]:
    """The same for losses that are affine in fn where fp is fixed: the misses of margins below the slope are made."""
    misses, alarms = objective.misses, objective.alarms
    fp = alarms.low[:, None] + torch.arange(misses.lost.shape[1], device=misses.lost.device)
    fp = torch.minimum(fp, alarms.size[:, None])
    first, last = (each[:, None].expand_as(fp) for each in (misses.low, misses.size))
    slope = _slopes(objective, (first, fp), (last, fp), last - first)
    fn = torch.searchsorted(misses.margins, slope)
    fn = torch.minimum(torch.maximum(fn, first), last)
    return _best_of(objective, fn, fp)


def _of_diagonals(objective: Objective) -> tuple[Tensor, Tensor, Tensor]:
    """The same for losses that are affine where ``fp - fn`` is fixed: the steps of margins below the slope are made.

    The margins of consecutive steps rise, so their number is found by bisection.
    """
    misses, alarms = objective.misses, objective.alarms
    p = misses.lost.shape[1] - 1
    # The diagonals that meet the table, each from its first cell to its last.
    least, most = alarms.low - misses.size, alarms.size - misses.low
    shift = least[:, None] + torch.arange(p + 1, device=least.device)
    shift = torch.minimum(shift, most[:, None])
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


def _slopes(objective: Objective, first: tuple[Tensor, Tensor], last: tuple[Tensor, Tensor], steps: Tensor) -> Tensor:
    """The loss that one step adds between two cells of a line, (S, K); 0 where there is no step."""
    totals = objective.misses.size[:, None].double(), objective.alarms.size[:, None].double()
    ends = [objective.counts(fn.double(), fp.double(), *totals) for fn, fp in (first, last)]
    return torch.where(steps > 0, (ends[1] - ends[0]) / steps.clamp(min=1), 0.0).contiguous()


def _best_of(objective: Objective, fn: Tensor, fp: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The best of some cells (S, K)."""
    best, at = objective(fn, fp).max(dim=1, keepdim=True)
    return fn.gather(1, at)[:, 0], fp.gather(1, at)[:, 0], best[:, 0]
