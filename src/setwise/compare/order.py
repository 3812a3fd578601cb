"""Losses of a ranking: they read the order of the scores, in which no threshold and no decision occurs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.estimators.selection import Candidate, OutOfFold, Task
from setwise.estimators.selection.choice import chosen_of
from setwise.estimators.selection.levers import Base, Evidence, Lever, Rule

REPLICATES = 200
"""Draws of the bootstrap; each of them sorts all rows."""


@final
@dataclass(frozen=True)
class Order(Lever):
    """The scores of the base model as they are; only their order counts."""

    name: ClassVar[str] = "order"

    def refuses(self, task: Task, base: Base) -> str | None:
        """None: every base model has scores."""
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        """Nothing is tuned."""
        return ByScores()


@final
@dataclass(frozen=True)
class ByScores(Rule):
    """The scores of the base model in place of labels."""

    def labels(self, evidence: Evidence) -> Any:
        """The scores, (n,) or (n, p)."""
        return evidence.response().scores


def order_of(sources: Mapping[str, OutOfFold], task: Task) -> tuple[tuple[Candidate, ...], tuple[str, str]]:
    """A candidate for each base model, and the key of the choice: the first, unless one gains above its error."""
    scores = [source.response().scores for source in sources.values()]
    losses = np.array([_mean(task, one) for one in scores])
    drawn = _replicated(task, scores)
    gains, drawn_gains = losses[0] - losses, drawn[:, :1] - drawn
    errors, gain_errors = drawn.std(axis=0, ddof=1), drawn_gains.std(axis=0, ddof=1)
    candidates = [
        Candidate(base, Order.name, float(loss), float(error), float(gain), float(gain_error))
        for base, loss, error, gain, gain_error in zip(sources, losses, errors, gains, gain_errors, strict=True)
    ]
    best = chosen_of(losses, gains, gain_errors)
    candidates[best] = replace(candidates[best], chosen=True)
    return tuple(candidates), candidates[best].key


def _mean(task: Task, scores: Values) -> float:
    return float(task.loss.values(task.sets, task.flat(scores)).mean())


def _replicated(task: Task, scores: list[Values]) -> Values:
    """The mean loss of the scores of each base model on samples of the rows, or of the sets, with replacement."""
    rng = np.random.default_rng(0)
    if not task.spans_rows:
        losses = np.column_stack([task.loss.values(task.sets, task.flat(one)) for one in scores])
        n = len(losses)
        return np.array([rng.multinomial(n, np.full(n, 1.0 / n)) @ losses / n for _ in range(REPLICATES)])
    out = np.empty((REPLICATES, len(scores)))
    for row in out:
        drawn = rng.integers(0, len(task.truth), len(task.truth))
        part = task.take(drawn)
        row[:] = [_mean(part, one[drawn]) for one in scores]
    return out
