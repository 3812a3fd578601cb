"""Adapt a comparison to a budget of seconds: time the methods, leave out what takes too long, and report it."""

import time
from collections.abc import Callable, Mapping, Sequence

from setwise.compare.methods import ROUGH, Method
from setwise.compare.plan import Plan, within
from setwise.compare.problem import Problem
from setwise.compare.until import OutOfTimeError, check_time
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal

Advance = Callable[[str, int], None]


def within_budget(
    train: Problem, loss: Loss, plan: Plan, methods: Sequence[Method], budget: float, advance: Advance
) -> tuple[Plan, tuple[Method, ...], list[str]]:
    """The plan and the methods that fit into about ``budget`` seconds, and sentences on what is left out.

    Every method is timed by two fits on the training part ``train``, at both ends of the grid. If one of them takes
    longer than a fit may take when the smallest plan runs this method alone, the method is left out. For the other
    methods :func:`setwise.compare.plan.within` decides.

    Raises
    ------
    ValueError : if no method is fast enough
    """
    limit = budget / plan.least.work
    seconds: dict[Method, float] = {}
    for method in methods:
        advance(f"{train.name}: timing {method.name}", 0)
        try:
            seconds[method] = _timed(method, train, loss, plan, limit)
        except Refusal:
            seconds[method] = 0.0  # the method will refuse again in the comparison, which costs no time
        except OutOfTimeError:
            pass  # a method without seconds is too slow
    if not any(seconds.values()):
        raise ValueError(
            f"{train.name} is too large for {_seconds(budget)}: no method makes a fit in {_seconds(limit)}; raise "
            "--budget."
        )
    smaller, kept = within(plan, seconds, budget)
    sentences = _left_out(plan, smaller, seconds, kept, budget)
    late = [m.name for m in methods if m not in seconds]
    if late:
        sentences.append(
            f"{_list(late)} {'is' if len(late) == 1 else 'are'} left out: a single fit takes more than "
            f"{_seconds(limit)}, too much for a budget of {_seconds(budget)}."
        )
    return smaller, kept, sentences


def _timed(method: Method, train: Problem, loss: Loss, plan: Plan, limit: float) -> float:
    """The mean seconds of a fit that serves to choose C, over both ends of the grid."""
    # The first iteration compiles and is not timed. Logistic regression ignores max_iter, so it needs the deadline.
    method.train(train, loss, plan.grid[0], 1.0, 1, time.perf_counter() + limit)
    begin = time.perf_counter()
    for i, c in enumerate((plan.grid[0], plan.grid[-1]), 1):
        # The time of a fit changes along the grid, so the mean of both ends stands for it.
        method.train(train, loss, c, *ROUGH, deadline=begin + i * limit)
        check_time(begin + i * limit)
    return (time.perf_counter() - begin) / 2


def _left_out(
    asked: Plan, done: Plan, seconds: Mapping[Method, float], kept: Sequence[Method], budget: float
) -> list[str]:
    """One sentence on what a smaller plan leaves out, or no sentence if it leaves out nothing."""
    parts = []
    if len(done.grid) < len(asked.grid):
        parts.append(f"C is chosen from {len(done.grid)} values instead of {len(asked.grid)}")
    if done.folds < asked.folds:
        parts.append(f"there are {done.folds} folds instead of {asked.folds}")
    # Methods that were too slow to be timed have no seconds, and a sentence of their own.
    slowest = [m.name for m in seconds if m not in kept]
    if slowest:
        parts.append(f"{_list(slowest)}, the slowest, {'is' if len(slowest) == 1 else 'are'} left out")
    if not parts:
        return []
    needed, expected = asked.work * sum(seconds.values()), done.work * sum(seconds[m] for m in kept)
    rest = f" Even so it was expected to take {_seconds(expected)}." if expected > budget else ""
    whole = f"all of it would take about {_seconds(needed)} (--budget)."
    return [f"To fit into {_seconds(budget)}, {_list(parts)}: {whole}{rest}"]


def _list(names: Sequence[str]) -> str:
    """The names as a list in words, "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"
