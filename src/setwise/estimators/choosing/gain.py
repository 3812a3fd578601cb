"""What a choice is worth: the whole choice is repeated in outer folds, and judged on rows that it did not see."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Bools
from setwise.decisions.task import Task, replicated_losses
from setwise.estimators.choosing.choice import Choice
from setwise.estimators.choosing.folds import Folds
from setwise.estimators.choosing.out_of_fold import OutOfFold
from setwise.estimators.choosing.problem import Problem

REPLICATES = 2000
"""Draws of the bootstrap, of which the tails are read."""


@final
@dataclass(frozen=True, eq=False)
class Gain:
    """The loss of the reference minus that of the choice, on rows that neither saw.

    Attributes
    ----------
    gain : the paired difference; above 0 the choice is better
    error : its standard error, by the bootstrap
    interval : its 95 % interval, by the bootstrap over rows or sets
    reference_loss, loss : the two mean losses
    choices : (base, lever) that each outer fold chose
    """

    gain: float
    error: float
    interval: tuple[float, float]
    reference_loss: float
    loss: float
    choices: tuple[tuple[str, str], ...]


def repeated_choice(
    problem: Problem,
    folds: Folds,
    bases: Callable[[Problem], Mapping[str, OutOfFold]],
    decide: Callable[[Mapping[str, OutOfFold], Task], Choice],
    seed: int = 0,
) -> Gain:
    """The gain of the choice over the reference, from outer folds in each of which the whole choice is repeated.

    Parameters
    ----------
    problem : all rows with their target, and the loss
    folds : the training and test rows of the outer folds
    bases : makes the out-of-fold responses of the base models for the problem of some rows
    decide : chooses among them, as :func:`choose` does
    seed : of the bootstrap

    Notes
    -----
    The interval counts the noise of the test rows. It does not count that other training rows might lead to other
    choices, apart from the choices of the outer folds.
    """
    task = problem.task
    chosen = np.zeros(task.truth.shape, dtype=np.bool_)
    reference = np.zeros(task.truth.shape, dtype=np.bool_)
    choices = []
    for train, test in folds:
        inner, held = problem.take(train), problem.take(test)
        models = bases(inner)
        choice = decide(models, inner.task)
        if choice.interrupted:
            # A gain of choices that were cut short would be that of another method.
            raise KeyboardInterrupt
        first = next(iter(models))
        reference[test] = choice.reference.labels(models[first].fresh(held.X, held.task.groups))
        chosen[test] = choice.rule.labels(models[choice.chosen.base].fresh(held.X, held.task.groups))
        choices.append(choice.chosen.key)
    return gain_of(task, reference, chosen, tuple(choices), seed)


def gain_of(
    task: Task, reference: Bools, chosen: Bools, choices: tuple[tuple[str, str], ...] = (), seed: int = 0
) -> Gain:
    """The gain of one prediction over another one for the same rows, with its bootstrap interval."""
    drawn = replicated_losses(task, [reference, chosen], REPLICATES, seed)
    gains = drawn[:, 0] - drawn[:, 1]
    low, high = np.quantile(gains, [0.025, 0.975])
    first, second = task.mean_loss(reference), task.mean_loss(chosen)
    error = float(gains.std(ddof=1))
    return Gain(first - second, error, (float(low), float(high)), first, second, choices)
