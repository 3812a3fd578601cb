"""The choice among strategies, by out-of-fold losses of rules that did not see the rows they are judged on.

What it is worth is seen where the whole choice is repeated in outer folds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import STRATEGIES
from setwise.decisions.task import REPLICATES, Comparison, Task, compared
from setwise.estimators.selection.out_of_fold import OutOfFoldBase
from setwise.estimators.selection.problem import SelectionProblem
from setwise.estimators.selection.strategies import Rule, Strategy
from setwise.estimators.splits import FOLDS, Folds, among
from setwise.losses.row_costs import RowCosts

BY_COSTS = "decision"
"""The strategy that takes the place of the reference where each row has its own costs, by which it decides."""


def by_row(task: Task) -> bool:
    """Whether each row of a task has its own costs."""
    return isinstance(task.loss, RowCosts) and task.loss.by_class is None


ONE_ERROR = 0.8413
"""The probability that a normal variable is below one standard error."""


@dataclass(frozen=True)
class Candidate:
    """A strategy over a base model, and its loss on rows that neither the model nor the rule saw.

    Attributes
    ----------
    base : the name of the base model
    strategy : the name of the strategy
    loss : the mean loss over the sets; NaN if the strategy was refused
    error : its standard error, by the bootstrap
    gain : the loss of the reference minus this loss, on the same rows
    gain_error : the standard error of this paired difference
    seconds : what tuning and judging took, without the fits of the base model
    chosen : whether this is the choice
    refusal : why the strategy does not fit, in a sentence; empty if it does
    """

    base: str
    strategy: str
    loss: float = np.nan
    error: float = np.nan
    gain: float = np.nan
    gain_error: float = np.nan
    seconds: float = field(default=0.0, compare=False)
    chosen: bool = False
    refusal: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The names of the base model and of the strategy."""
        return self.base, self.strategy


@final
@dataclass(frozen=True, eq=False)
class Choice:
    """The candidates, the one that was chosen, and its rule.

    Attributes
    ----------
    candidates : all strategies over all base models, in the order in which they were tried; the first is the reference
    labels : the cross-fitted labels of each candidate that was not refused, by (base, strategy); False for rows that
        were not judged
    chosen : the candidate to take
    rule : its rule, tuned on all rows
    reference : the rule of the reference, tuned on all rows
    score : the score of the choice on the rows that were judged
    interrupted : whether Ctrl-C ended the search before all strategies were tried
    """

    candidates: tuple[Candidate, ...]
    labels: Mapping[tuple[str, str], Bools]
    chosen: Candidate
    rule: Rule
    reference: Rule
    score: float
    interrupted: bool = False


def choose(
    bases: Mapping[str, OutOfFoldBase],
    task: Task,
    strategies: Sequence[Strategy],
    *,
    reference: Strategy,
    seed: int = 0,
    progress: Callable[[str, str], None] | None = None,
    admits: Callable[[str, str], bool] | None = None,
) -> Choice:
    """The reference, unless a paired gain is above its standard error; then the least loss among such candidates.

    Where each row has its own costs, what decides it by them takes the place of the reference in this choice; gains are
    still those over the reference.

    The reference is the first base model with the strategy ``reference``. Each strategy is tuned on the out-of-fold
    responses of all folds but one, and judged on that fold; where folds leave rows out, on the training rows of a
    fold that were tested in others. So neither models nor rules saw the rows they are judged
    on, but the choice did: the loss of the chosen candidate is a little too low on average, and
    :func:`repeated_choice` says what the choice is worth.

    Parameters
    ----------
    bases : the out-of-fold responses of each base model, by name, over the same rows and folds
    task : the truth of these rows, and the loss
    strategies : what is tried over each base model
    reference : the strategy that is left only for a better one; it need not be among ``strategies``
    seed : of the bootstrap
    progress : called with the names of the base model and of the strategy before each is tried
    admits : says by the same names whether a strategy is tried, which the reference always is; None admits all

    Raises
    ------
    Refusal : if the reference refuses the loss
    """
    first = next(iter(bases))
    others = ((b, strategy) for b in bases for strategy in strategies if (b, strategy.name) != (first, reference.name))
    plan = [(first, reference), *others]
    tried: list[Candidate] = []
    labels: dict[tuple[str, str], Bools] = {}
    interrupted = False
    try:
        for base, strategy in plan:
            if progress is not None:
                progress(base, strategy.name)
            if tried and admits is not None and not admits(base, strategy.name):
                continue
            candidate, guess = _tried(base, strategy, bases[base], task)
            if not isinstance(guess, Refusal):
                labels[candidate.key] = guess
            elif not tried:
                raise guess
            tried.append(candidate)
    except KeyboardInterrupt:
        # What was tried before Ctrl-C is judged, if there is anything to choose.
        if not tried:
            raise
        interrupted = True
    judged = np.sort(np.concatenate([test for _, (_, test) in _judged_folds(bases[first], task)]))
    every = len(judged) == len(task.truth)
    held = labels if every else {key: one[judged] for key, one in labels.items()}
    runs, told = (None, task) if every else (runs_of(len(judged)), task.take(judged))
    figures, found = judge(tried, held, told, seed, runs=runs)
    # With costs of each row the usual way is to decide each by its own, and one threshold is an exception.
    usual = (first, BY_COSTS) if by_row(task) and (first, BY_COSTS) in labels else next(iter(labels))
    beside = replace(found, first=list(labels).index(usual))
    needed = errors_needed(beside.gains, beside.drawn_gains, beside.gain_errors)
    best = list(labels)[chosen_of(beside.losses, beside.gains, needed, beside.first)]
    candidates = tuple(replace(candidate, chosen=candidate.key == best) for candidate in figures)
    chosen = next(candidate for candidate in candidates if candidate.chosen)
    by_name = {strategy.name: strategy for strategy in (*strategies, reference)}
    known = task if len(bases[first].tested) == len(task.truth) else task.take(bases[first].tested)
    rule = by_name[chosen.strategy].bound(task).tune(bases[chosen.base].held_out(), known)
    base_rule = rule if chosen is candidates[0] else reference.bound(task).tune(bases[first].held_out(), known)
    return Choice(candidates, labels, chosen, rule, base_rule, told.as_score(chosen.loss), interrupted)


def cross_fitted(strategy: Strategy, base: OutOfFoldBase, task: Task) -> Bools:
    """The labels of all rows, each by the rule that was tuned without the row's fold."""
    strategy = strategy.bound(task)
    base.prepare(strategy.fits)
    labels = np.zeros_like(task.truth)
    for i, (train, test) in _judged_folds(base, task):
        evidence = base.held_out(train, without=i if strategy.many_numbers else None)
        rule = strategy.tune(evidence, task.take(train)).for_rows(task.take(test).loss)
        labels[test] = rule.labels(base.held_out(test))
    return labels


def _judged_folds(base: OutOfFoldBase, task: Task) -> list[tuple[int | None, tuple[Ints, Ints]]]:
    """The numbers of the folds that are judged, with the rows that tune rules for them and their test rows.

    The test rows of a single fold, which no model saw, are divided into folds without a number. Where folds leave
    rows out a rule is tuned on training rows that were tested in another fold. Folds whose training rows have none,
    or one label only there, as the first ones of ``TimeSeriesSplit``, are not judged.
    """
    tested, folds = base.tested, base.folds
    if len(folds) == 1:
        parts = base.problem.take(tested).folds(FOLDS, 0)
        return [(None, (tested[train], tested[test])) for train, test in parts]
    if len(tested) == len(task.truth):
        return list(enumerate(folds))
    there = among(tested, len(task.truth))
    known = [(np.flatnonzero(there & among(train, len(there))), test) for train, test in folds]
    found: list[tuple[int | None, tuple[Ints, Ints]]]
    found = [(i, pair) for i, pair in enumerate(known) if len(np.unique(task.truth[pair[0]])) > 1]
    if not found:
        raise Refusal("cv must test rows with both labels before its last fold: give more folds.", STRATEGIES)
    return found


def runs_of(n: int) -> Ints:
    """The numbers (n,) of runs of about sqrt(n) rows that follow each other, which are drawn together."""
    runs: Ints = np.arange(n, dtype=np.int64) // max(round(n**0.5), 1)
    return runs


def _tried(name: str, strategy: Strategy, base: OutOfFoldBase, task: Task) -> tuple[Candidate, Bools | Refusal]:
    """A candidate that is not judged yet, and its cross-fitted labels, or why it is refused."""
    start = perf_counter()
    why = f"{strategy.name} refuses more than two classes." if task.classes and not strategy.several_classes else None
    why = why or strategy.refuses(task, base) or strategy.refuses_weights(task)
    if why is None:
        try:
            base.prepare(strategy.bound(task).fits)
            start = perf_counter()
            labels = cross_fitted(strategy, base, task)
            return Candidate(name, strategy.name, seconds=perf_counter() - start), labels
        except Refusal as refusal:
            # Some losses show only on the sets whether they fit, and some costs only in the folds.
            found = refusal
    else:
        found = Refusal(why, STRATEGIES)
    return Candidate(name, strategy.name, seconds=perf_counter() - start, refusal=found.sentence), found


def judge(
    tried: Sequence[Candidate],
    predictions: Mapping[tuple[str, str], NDArray[Any]],
    task: Task,
    seed: int,
    replicates: int = REPLICATES,
    runs: Ints | None = None,
) -> tuple[list[Candidate], Comparison]:
    """The candidates with their losses, gains over the first one, and errors by the bootstrap; and their comparison.

    Rows with the same number in ``runs`` (n,) are drawn together.
    """
    found = compared(task, list(predictions.values()), seed, replicates, runs)
    figures = np.column_stack([found.losses, found.errors, found.gains, found.gain_errors]).tolist()
    names = ("loss", "error", "gain", "gain_error")
    by_key = {key: dict(zip(names, row, strict=True)) for key, row in zip(predictions, figures, strict=True)}
    return [replace(candidate, **by_key.get(candidate.key, {})) for candidate in tried], found


def errors_needed(gains: Values, drawn_gains: Values, gain_errors: Values) -> Values:
    """What each gain must exceed, (m,): one standard error, or more where the best of several is luckier than each.

    One standard error is exceeded by luck in 16 % of cases, and by the luckiest of several equal candidates more often.
    So it is multiplied by the 84 % quantile of the largest standardized error among the candidates of a replicate,
    which is 1 for one candidate, and hardly more for candidates that predict nearly alike.
    """
    able = gain_errors > 0
    if not able.any():
        return gain_errors
    lucky = ((drawn_gains[:, able] - gains[able]) / gain_errors[able]).max(axis=1)
    return gain_errors * max(1.0, float(np.quantile(lucky, ONE_ERROR)))


def chosen_of(losses: Values, gains: Values, gain_errors: Values, usual: int = 0) -> int:
    """The least loss among the candidates whose gain over the usual one is above its standard error, or else that."""
    # A gain of rounding errors, where nothing differs, is no gain.
    able = (gains > gain_errors) & (gains > 1e-12 * np.abs(losses).max())
    return int(np.argmin(np.where(able, losses, np.inf))) if able.any() else usual


GAIN_REPLICATES = 2000
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
    choices : (base, strategy) that each outer fold chose
    """

    gain: float
    error: float
    interval: tuple[float, float]
    reference_loss: float
    loss: float
    choices: tuple[tuple[str, str], ...]


def repeated_choice(
    problem: SelectionProblem,
    folds: Folds,
    bases: Callable[[SelectionProblem], Mapping[str, OutOfFoldBase]],
    decide: Callable[[Mapping[str, OutOfFoldBase], Task], Choice],
    seed: int = 0,
) -> Gain:
    """The gain of the choice over the reference, from outer folds; the whole choice is repeated in each.

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
    chosen, reference = np.zeros_like(task.truth), np.zeros_like(task.truth)
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
        rule = choice.rule.for_rows(held.task.loss)
        chosen[test] = rule.labels(models[choice.chosen.base].fresh(held.X, held.task.groups))
        choices.append(choice.chosen.key)
    told = np.sort(np.concatenate([test for _, test in folds]))
    if len(told) == len(task.truth):
        return gain_of(task, reference, chosen, tuple(choices), seed)
    return gain_of(task.take(told), reference[told], chosen[told], tuple(choices), seed, runs_of(len(told)))


def gain_of(
    task: Task,
    reference: Bools,
    chosen: Bools,
    choices: tuple[tuple[str, str], ...] = (),
    seed: int = 0,
    runs: Ints | None = None,
) -> Gain:
    """The gain of one prediction over another one for the same rows, with its interval; see :func:`compared`."""
    found = compared(task, [reference, chosen], seed, GAIN_REPLICATES, runs)
    gains = found.drawn_gains[:, 1]
    low, high = np.quantile(gains, [0.025, 0.975]).tolist()
    first, second = found.losses.tolist()
    return Gain(first - second, float(gains.std(ddof=1)), (low, high), first, second, choices)
