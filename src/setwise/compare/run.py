"""The run: in each outer fold the whole choice is repeated on the training part and judged on the test part.

The fits of all base models over some rows are made once and shared by all strategies and measures.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import final

import numpy as np
from scipy.sparse import issparse

from setwise.compare.answer import Answer, CandidateResult, FloorReport, OtherRowsReport, Recommendation
from setwise.compare.checkpoint import judged, keep_judged
from setwise.compare.fits import Advance, Fits, judged_by, no_advance, rows_of
from setwise.compare.other_rows import OtherRows
from setwise.compare.plan import LEAST_FOLDS, PLAIN, Key, NamedLoss, Plan, shared_words
from setwise.compare.problem import Problem
from setwise.compare.recommendation import CandidateChoice, decide, recommendation_of
from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.checks import Values, as_kind, as_number, shown
from setwise.core.exceptions import Refusal
from setwise.core.pages import HOW_IT_CHOOSES, OPTIONS
from setwise.decisions import UnmetFloor
from setwise.decisions.task import Task
from setwise.estimators.selection.choice import gain_of
from setwise.estimators.selection.floors import FloorShares
from setwise.estimators.selection.problem import SelectionProblem as Rows
from setwise.estimators.splits import Folds


def compare(
    problem: Problem,
    measures: Sequence[NamedLoss],
    plan: Plan | None = None,
    advance: Advance = no_advance,
    test: Problem | None = None,
    notes: Sequence[str] = (),
    budget: float | None = None,
    checkpoint: OpenCheckpoint | None = None,
    others: OtherRows | None = None,
) -> list[Answer]:
    """One answer for each measure: the choice on all rows, and what the same choice gains on outer folds.

    In each outer fold all base models are fitted on the training part, with inner folds, once for all strategies and
    measures. For each measure every strategy is tuned there, the whole choice is made there, and both are judged on the
    test part. The gain that is reported is that of the repeated choice. Folds are stratified, and never split a set.

    Parameters
    ----------
    problem : the data
    measures : the measures, each with its loss
    plan : folds, base models and strategies; None takes the default
    advance : called with words on what is done and with the number of steps that are done by then
    test : further rows on which the recommendation and the reference are judged, or None
    notes : sentences on what was left out before
    budget : the seconds after which further outer folds are given up, once there are three; None gives up none
    checkpoint : an open one, as ``Checkpoint("fit.npz").open(resume=True)``, that keeps what outer folds and fits of
        base models have found, and gives what an earlier comparison of the same data and plan has; None for none
    others : the rows of a file that are not among the problem, on which the recommendation is judged; None for none

    Returns
    -------
    answers : a list of :class:`Answer`, one for each measure, in their order

    Raises
    ------
    ValueError : if the data do not allow the folds, a measure does not fit the sets, or no base model keeps the floors
    TypeError : for arguments of another kind

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from setwise.compare import NamedLoss, Plan, Problem, compare
    >>> from setwise.losses import FBeta
    >>> X, y = make_classification(150, 3, n_redundant=0, weights=[0.8], class_sep=0.7, random_state=0)
    >>> plan = Plan(folds=2, inner=3, grid=(1.0,), bases=("linear",), strategies=("threshold",))
    >>> answer = compare(Problem("made", "Generated rows.", X, y), [NamedLoss("f1", FBeta())], plan)[0]

    >>> answer.chosen, answer.own.round(2).tolist()  # the losses of the choice on the two outer folds
    (('linear', 'threshold'), [0.2, 0.11])
    """
    plan = Plan() if plan is None else plan
    _check(problem, measures, plan, advance, test, notes, budget)
    if checkpoint is not None:
        as_kind(checkpoint, "checkpoint", OpenCheckpoint, "Checkpoint('fit.npz').open()")
    if others is not None:
        as_kind(others, "others", OtherRows, "those that setwise.compare.command.read_sample gives")
    of_all = None if checkpoint is None else checkpoint.part("all rows")
    judges = [_MeasureRecord(problem, measured, plan) for measured in measures]
    whole = rows_of(problem, measures[0])
    folds, fits = _outer(problem, whole, plan), None
    begin, late = time.perf_counter(), ""
    if plan.floor is not None:
        # A floor that nothing keeps on all rows is refused before the work in outer folds, not after it.
        plan.floor.check(whole.target)
        fits = Fits(whole, problem, plan, "all rows", advance, of_all)
        for judge in judges:
            judge.require_floor(fits)
    for k, (train, held_out) in enumerate(folds, 1):
        if _is_late(begin, budget, k - 1):
            late = f"Only {k - 1} of {plan.folds} outer folds are run: they take longer than was expected."
            break
        # What a rule under floors has reached is not kept.
        outer = None if checkpoint is None or plan.floor is not None else checkpoint.part(f"outer fold {k}")
        parts = [None if outer is None else outer.part(str(i)) for i in range(len(judges))]
        known = [one for part in parts if (one := judged(part)) is not None]
        if len(known) == len(judges):
            for judge, one in zip(judges, known, strict=True):
                judge.remember(*one)
            advance(f"outer fold {k}", plan.steps(problem, len(measures)) // (plan.folds + 1))
            continue
        responses = None if checkpoint is None else checkpoint.part(f"responses {k}")
        part = Fits(whole.take(train), problem, plan, f"outer fold {k}", advance, responses)
        for judge, place in zip(judges, parts, strict=True):
            judge.see(part, whole.take(held_out), f"outer fold {k}", advance)
            keep_judged(place, judge.losses[-1], judge.chosen[-1])
        # Its fits are not held beside those of the next fold.
        del part
        if responses is not None and outer is not None:
            # What was judged is not asked for again.
            responses.put({})
    fits = fits or Fits(whole, problem, plan, "all rows", advance, of_all)
    notes = (*shared_words(problem, plan.models(problem)), *notes, *([late] if late else []))
    return [judge.answer(fits, test, notes, advance, others) for judge in judges]


def _check(
    problem: object, measures: object, plan: object, advance: object, test: object, notes: object, budget: object
) -> None:
    """Refuse what is none of the kinds that a comparison takes."""
    for name, one in (("problem", problem), ("test", test)):
        if name == "problem" or one is not None:
            _finite(as_kind(one, name, Problem, "Problem(name, about, X, y)"), name)
    as_kind(plan, "plan", Plan, "Plan()")
    if not isinstance(measures, Sequence) or not measures or not all(isinstance(m, NamedLoss) for m in measures):
        raise TypeError(f"measures must be a list, as [NamedLoss('f1', FBeta())]; got {shown(measures)}.")
    if not callable(advance):
        raise TypeError(f"advance must be a function of what was done and how much; got {shown(advance)}.")
    if isinstance(notes, str) or not isinstance(notes, Sequence) or not all(isinstance(one, str) for one in notes):
        raise TypeError(f"notes must be a list of sentences; got {shown(notes)}.")
    if budget is not None:
        as_number(budget, "budget", low=0.0, open_low=True)
    if isinstance(test, Problem) and isinstance(problem, Problem) and test.X.shape[1] != problem.X.shape[1]:
        raise ValueError(f"test must have the {problem.X.shape[1]} features of the problem; got {test.X.shape[1]}.")


def _finite(problem: Problem, name: str) -> None:
    values = problem.X.data if issparse(problem.X) else problem.X
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError(f"X of the {name} must not hold inf.")


def _is_late(begin: float, budget: float | None, done: int) -> bool:
    """Whether one more outer fold would leave too little of the budget for the choice on all rows."""
    if budget is None or done < LEAST_FOLDS:
        return False
    return (time.perf_counter() - begin) / done * (done + 2) > budget


def _outer(problem: Problem, whole: Rows, plan: Plan) -> Folds:
    check_size(problem, plan)
    try:
        folds = whole.folds(plan.folds, plan.seed)
        for train, _ in folds:
            whole.take(train).folds(plan.inner, 0)
    except ValueError as error:
        raise _too_small(problem, plan, str(error)) from None
    return folds


def check_size(problem: Problem, plan: Plan) -> None:
    """Raise ValueError if a class is too rare to be in all outer and inner folds."""
    if problem.many:
        return
    fewest = int(np.bincount(problem.y.ravel(), minlength=2).min())
    needed = max(plan.folds, -(-plan.inner * plan.folds // (plan.folds - 1)))
    if fewest < needed:
        raise _too_small(problem, plan, f"it has {fewest} rows of one class, and {needed} are needed.")


def _too_small(problem: Problem, plan: Plan, why: str) -> Refusal:
    """The refusal of a problem that has too few rows for the folds, and why."""
    folds = f"{plan.folds} outer folds with {plan.inner} folds inside each"
    return Refusal(f"The problem {problem.name} is too small for {folds}: {why}", HOW_IT_CHOOSES)


@final
class _MeasureRecord:
    """What is known of one measure so far, outer fold by outer fold."""

    def __init__(self, problem: Problem, measured: NamedLoss, plan: Plan) -> None:
        self.problem, self.measured, self.plan = problem, measured, plan
        self.reference = plan.reference(measured)
        self.losses: list[dict[Key, float]] = []
        self.chosen: list[Key] = []
        self.reached: list[dict[Key, FloorShares]] = []
        self.seconds = 0.0

    def see(self, fits: Fits, test: Rows, where: str, advance: Advance) -> None:
        """Choose on the training part and judge on the test part of one outer fold."""
        start = time.perf_counter()
        decision = self._decide(fits, where, advance)
        found, reached = self._judged(decision, test)
        self.remember(found, decision.chosen)
        self.reached.append(reached)
        self.seconds += time.perf_counter() - start

    def remember(self, losses: dict[Key, float], chosen: Key) -> None:
        """Take what was found in an outer fold."""
        self.losses.append(losses)
        self.chosen.append(chosen)

    def _decide(self, fits: Fits, where: str, advance: Advance) -> CandidateChoice:
        task = judged_by(fits.rows.task, self.measured)
        return decide(fits, task, self.plan, self.reference, f"{where}, {self.measured.title}", advance)

    def require_floor(self, fits: Fits) -> None:
        """Raise Refusal unless a base model keeps the floors on these rows."""
        assert self.plan.floor is not None
        task, unmet = judged_by(fits.rows.task, self.measured), list[tuple[float, str]]()
        for source in fits.best(task, self.reference).tuned.values():
            try:
                self.plan.floor.point(source.response().scores, task)
            except UnmetFloor as short:
                said = short.sentence
                unmet.append((short.reachable, f"{source.name}: {said[0].lower()}{said[1:]}"))
            else:
                return
        raise Refusal(f"no base model keeps {self.plan.floor.words} on all rows. Nearest is {max(unmet)[1]}", OPTIONS)

    def _judged(self, decision: CandidateChoice, test: Rows) -> tuple[dict[Key, float], dict[Key, FloorShares]]:
        """The loss of each rule on new rows, and under floors what it reaches there."""
        task = judged_by(test.task, self.measured)
        # What a model says of the rows is kept for all strategies.
        fresh = {source: source.fresh(test.X, task.groups) for source in map(decision.sources.of, decision.rules)}
        losses, reached = dict[Key, float](), dict[Key, FloorShares]()
        for key, rule in decision.rules.items():
            predicted = rule.labels(fresh[decision.sources.of(key)])
            losses[key] = task.mean_loss(predicted)
            if self.plan.floor is not None:
                found = self.plan.floor.reached(task, predicted)
                reached[key] = replace(found, kept=found.kept and not rule.short)
        return losses, reached

    def _floored(self, decision: CandidateChoice, task: Task, test: Mapping[Key, FloorShares]) -> FloorReport | None:
        """How the ways keep the floors; None without floors."""
        if self.plan.floor is None:
            return None
        reached = {
            key: self.plan.floor.reached(task, rule.labels(decision.sources.of(key).held_out()))
            for key, rule in decision.rules.items()
        }
        able = frozenset(key for key, rule in decision.rules.items() if not rule.short and reached[key].kept)
        return FloorReport(self.plan.floor, reached, tuple(self.reached), able, test)

    def answer(
        self, fits: Fits, test: Problem | None, notes: tuple[str, ...], advance: Advance, others: OtherRows | None
    ) -> Answer:
        """The choice on all rows, beside what the outer folds say."""
        start = time.perf_counter()
        decision = self._decide(fits, "all rows", advance)
        unseen = None if test is None else rows_of(test, self.measured)
        on_test, kept_on_test = ({}, {}) if unseen is None else self._judged(decision, unseen)
        rows = tuple(
            CandidateResult(
                **vars(candidate),
                outer=np.array([found.get(candidate.key, np.nan) for found in self.losses]),
                test=on_test.get(candidate.key, np.nan),
            )
            for candidate in decision.candidates
        )
        base_only = [(base, self.reference.name) for base, _ in self.chosen]
        found = Answer(
            self.problem, self.measured, self.plan, rows, decision.chosen, tuple(self.chosen),
            _picked(self.losses, self.chosen), _picked(self.losses, base_only), Recommendation(decision.chosen),
            decision.sources.constants, None, self._floored(decision, fits.rows.task, kept_on_test), notes=notes,
        )  # fmt: skip
        key, task = found.chosen if found.changes else found.reference.key, judged_by(fits.rows.task, self.measured)
        found = replace(
            found,
            winner=recommendation_of(key, decision, task, self.problem, self.measured, self.plan),
            test_gain=None if unseen is None else self._on_test(decision, key, unseen),
            others=None if others is None else self._on_others(decision, key, others, advance),
        )
        self.seconds += time.perf_counter() - start
        return replace(found, seconds=self.seconds)

    def _on_others(self, decision: CandidateChoice, key: Key, others: OtherRows, advance: Advance) -> OtherRowsReport:
        """What the recommendation, the reference and logistic regression at 0.5 reach on the other rows of a file."""
        advance(f"the other rows, {self.measured.title}", 0)
        keys = [one for one in dict.fromkeys((key, decision.candidates[0].key, PLAIN)) if one in decision.rules]
        ways = {one: (decision.rules[one], decision.sources.of(one)) for one in keys}
        return others.judge(ways, self.measured, self.plan.floor)

    def _on_test(self, decision: CandidateChoice, key: Key, test: Rows) -> tuple[float, float, float] | None:
        """What the recommendation gains over the reference on further rows, with a bootstrap interval."""
        first = decision.candidates[0].key
        if self.measured.orders or key == first:
            return None
        task = judged_by(test.task, self.measured)
        usual, advised = (decision.labels(one, test.X, task.groups) for one in (first, key))
        found = gain_of(task, usual, advised)
        return found.gain, *found.interval


def _picked(losses: Sequence[Mapping[Key, float]], keys: Sequence[Key]) -> Values:
    """For each outer fold the loss of the way with its key."""
    return np.array([found[key] for found, key in zip(losses, keys, strict=True)])
