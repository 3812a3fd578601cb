"""What the tables of papers share: the choice of C by inner folds, and paired differences over repetitions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.stats import t as student

from papers.methods import ROUGH, Method, standardized
from papers.problems import folds_of, mean_loss_of
from setwise.compare.problem import Problem
from setwise.core.loss import Loss

QUICK_GRID = (1e-3, 1e-1, 10.0)


@final
@dataclass(frozen=True)
class ConstantSearch:
    """How a method chooses its C: the number of inner folds, the constants to choose from, and the seed."""

    inner: int = 3
    grid: tuple[float, ...] = QUICK_GRID
    seed: int = 0


def choose(method: Method, train: Problem, loss: Loss, plan: ConstantSearch, advance: Callable[[], None]) -> float:
    """The constant c of the grid with the least mean loss over the inner folds, the smallest one of equals."""
    parts = [standardized(train.take(a), train.take(b)) for a, b in folds_of(train, plan.inner, plan.seed + 1)]
    means = []
    for c in plan.grid:
        losses = []
        for part, held_out in parts:
            losses.append(mean_loss_of(held_out, loss, method.train(part, loss, c, *ROUGH).margins(held_out)))
            advance()
        means.append(np.mean(losses))
    # Equal means may differ in their last digits; rounding lets the smallest c win.
    return plan.grid[int(np.argmin(np.round(means, 12)))]


@final
@dataclass(frozen=True)
class PairedMean:
    """The mean paired difference ``first - second`` over folds, and the half-width of its 95 % interval.

    The interval is that of Student's t; folds share training data, so it is somewhat too narrow.
    """

    difference: float
    width: float

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0 by more than rounding."""
        return abs(self.difference) > self.width + 1e-12

    @classmethod
    def of(cls, first: Any, second: Any) -> "PairedMean":
        """The paired difference of two sequences of losses, (folds,) each."""
        differences = np.asarray(first) - np.asarray(second)
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        return cls(float(differences.mean()), float(student.ppf(0.975, len(differences) - 1) * error))


def verdict(first: Any, second: Any, rival: str, ours: str = "ours", less: bool = False) -> str:
    """Whether the first of two sequences in percent, (folds,) each, is better than that of the rival, in words.

    More is better, or less.
    """
    pair = PairedMean.of(first, second)
    won = ("wins" if (pair.difference < 0) == less else "loses") if pair.clear else "is undecided"
    means = f"{np.mean(first):.1f} and {np.mean(second):.1f} %"
    return f"{ours} {won} against {rival} ({means}, difference {pair.difference:+.1f} ± {pair.width:.1f})."
