"""The run: in each outer fold the whole choice is repeated on the training part and judged on the test part.

The fits of all base models over some rows are made once and shared by all strategies and measures.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, final

import numpy as np
from scipy.sparse import issparse

from setwise.compare.answer import Answer, CandidateResult, FloorReport, OtherRowsReport, Recommendation
from setwise.compare.budget import ALWAYS, Clock, Costs, fewer, left_out
from setwise.compare.checkpoint import judged, keep_judged, keep_plan, planned
from setwise.compare.drift import TrainingRows
from setwise.compare.fits import Advance, Fits, judged_by, no_advance, rows_of
from setwise.compare.other_rows import OtherRows
from setwise.compare.plan import FIRST, LEAST_FOLDS, PLAIN, REFERENCE, Key, NamedLoss, Plan, shared_words
from setwise.compare.problem import Problem
from setwise.compare.recommendation import Admits, curves_of, decide, recommendation_of, simplest
from setwise.compare.sentences import way
from setwise.compare.text import figure, seconds_text
from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.checks import as_kind, as_number, shown
from setwise.core.exceptions import Refusal
from setwise.core.pages import HOW_IT_CHOOSES, OPTIONS
from setwise.datasets.files import FeatureNames
from setwise.decisions import UnmetFloor
from setwise.decisions.task import Task
from setwise.estimators.selection.choice import BY_COSTS, cross_fitted, gain_of
from setwise.estimators.selection.floors import FlooredThreshold, FloorShares
from setwise.estimators.selection.out_of_fold import OutOfFoldBase
from setwise.estimators.selection.problem import SelectionProblem as Rows
from setwise.estimators.selection.strategies import SingleThreshold
from setwise.estimators.splits import Folds

Say = Callable[[str], None]


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
    say: Say | None = None,
) -> list[Answer]:
    """One answer for each measure: the choice on all rows, and what the same choice gains on outer folds.

    First all base models are fitted to all rows, out of fold, once for all strategies and measures, and for each
    measure every strategy is tuned and the choice is made. Then each outer fold repeats all of this on its training
    part, and judges it on its test part. The gain that is reported is that of the repeated choice. Folds are
    stratified, and never split a set.

    A budget cuts the end of this list: what takes too long on all rows for two thirds of the outer folds to have room
    is left out, apart from logistic regression and the next base model, and no outer fold is begun that would not end
    in time. With fewer than four of them the folds inside judge, which the choice has seen; the answer says so. The
    seconds that are left then are for what was left out on all rows.

    Parameters
    ----------
    problem : the data
    measures : the measures, each with its loss
    plan : folds, base models and strategies; None takes the default
    advance : called with words on what is done and with the number of steps that are done by then
    test : further rows on which the recommendation and the reference are judged, or None
    notes : sentences on what was left out before
    budget : the seconds for all of it; None leaves nothing out
    checkpoint : an open one, as ``Checkpoint("fit.npz").open(resume=True)``, that keeps what outer folds and fits of
        base models have found, and gives what an earlier comparison of the same data and plan has; None for none
    others : the rows of a file that are not among the problem, on which the recommendation is judged; None for none
    say : called with a sentence as soon as a base model has an answer on all rows; None says nothing

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
    _check(problem, measures, plan, test, budget)
    if checkpoint is not None:
        as_kind(checkpoint, "checkpoint", OpenCheckpoint, "Checkpoint('fit.npz').open()")
    if others is not None:
        as_kind(others, "others", OtherRows, "those that setwise.compare.command.read_sample gives")
    if not callable(advance):
        raise TypeError(f"advance must be a function of what was done and how much; got {shown(advance)}.")
    if isinstance(notes, str) or not isinstance(notes, Sequence) or not all(isinstance(one, str) for one in notes):
        raise TypeError(f"notes must be a list of sentences; got {shown(notes)}.")
    plan, measures = plan.of(problem), [one.of(problem) for one in measures]
    clock, costs = Clock(budget), Costs.of(problem, measures)
    whole = rows_of(problem, measures[0])
    counts = np.bincount(problem.y.ravel(), minlength=problem.several or 2)
    fewest = int(counts.min())
    needed = max(plan.folds, -(-plan.inner * plan.folds // (plan.folds - 1)))
    way_out = "; leave these rows out, or give them the label of another class" if problem.several else ""
    try:
        if fewest < needed and not problem.many:
            which = problem.classes[counts.argmin()] if problem.several else "one class"
            raise ValueError(f"it has {fewest} rows of {which}, and {needed} are needed{way_out}.")
        folds = problem.outer_folds(whole, plan.folds, plan.seed)
        for train, _ in folds:
            whole.take(train).folds(plan.inner, 0)
            held = np.bincount(problem.y[train].ravel(), minlength=problem.several)
            if problem.several and held.min() < plan.inner:
                lacking = f"{held.min()} rows of {problem.classes[held.argmin()]}"
                raise ValueError(f"a training part has {lacking}, and {plan.inner} are needed{way_out}.")
    except ValueError as error:
        parts = f"{plan.folds} outer folds with {plan.inner} folds inside each"
        raise Refusal(f"The problem {problem.name} is too small for {parts}: {error}", HOW_IT_CHOOSES) from None
    kept = None if checkpoint is None else checkpoint.part("all rows")
    plan = planned(checkpoint, plan)
    choice = _Choice(Fits(whole, problem, plan, "all rows", advance, kept), problem, plan, costs, clock)
    judges = choice.made(measures, say)
    keep_plan(checkpoint, choice.plan)
    judges = choice.repeat(judges, folds[: choice.plan.outer], checkpoint, say)
    for judge in judges:
        judge.plan = replace(choice.plan, outer=len(judge.losses))
    return [judge.answer(test, (*shared_words(problem), *notes, *choice.notes()), others) for judge in judges]


END = 0.95
"""The share of a budget after which no outer fold may end; the rest is for the report."""


def _check(problem: Problem, measures: Sequence[NamedLoss], plan: Plan, test: Problem | None, budget: object) -> None:
    """Refuse what is none of the kinds that a comparison takes, and measures and floors that do not fit."""
    for name, one in (("problem", problem), ("test", problem if test is None else test)):
        as_kind(one, name, Problem, "Problem(name, about, X, y)")
        values = one.X.data if issparse(one.X) else one.X
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise ValueError(f"X of the {name} must not hold inf.")
    if test is not None and test.X.shape[1] != problem.X.shape[1]:
        raise ValueError(f"test must have the {problem.X.shape[1]} features of the problem; got {test.X.shape[1]}.")
    as_kind(plan, "plan", Plan, "Plan()")
    if not isinstance(measures, Sequence) or not measures or not all(isinstance(m, NamedLoss) for m in measures):
        raise TypeError(f"measures must be a list, as [NamedLoss('f1', FBeta())]; got {shown(measures)}.")
    if budget is not None:
        as_number(budget, "budget", low=0.0, open_low=True)
    for measured in measures:
        if not problem.several:
            measured.loss.check(problem.sets)
        if plan.floor is not None and measured.orders:
            raise ValueError(f"a {plan.floor.kind} is kept by a threshold, and {measured.title} has none.")
    if plan.floor is not None:
        if problem.odd:
            more = "; --positive tells one class from the others, and MeasureClassifier takes FlooredThreshold(of=...)"
            raise ValueError(f"a {plan.floor.kind} is for {problem.odd}{more if problem.several else ''}.")
        plan.floor.check(problem.y)


@final
class _Choice:
    """The choice on all rows, in the order of the plan while the budget has room, and its repetition in outer folds.

    Attributes
    ----------
    plan : what is tried, less what was left out
    cut : words on what was left out
    """

    def __init__(self, fits: Fits, problem: Problem, plan: Plan, costs: Costs, clock: Clock) -> None:
        self._fits, self._problem, self._costs, self._clock = fits, problem, costs, clock
        self.plan, self.cut = plan, list[str]()
        self._whole, self._gone = plan, list[Key]()
        # The seconds on a usual machine of what is never left out over the base models that are fitted.
        self._room = 0.0
        # All outer folds have room beside the choice on all rows, so that a slow one costs one of them and not all.
        outer = plan.folds if plan.outer is None else plan.outer
        self._share = END / (1.0 + (1.0 - 1.0 / plan.folds) * outer)

    def made(self, measures: Sequence[NamedLoss], say: Say | None) -> list["_MeasureRecord"]:
        """Fit, choose for each measure, and settle what outer folds repeat."""
        self._fit(measures, say)
        judges = [_MeasureRecord(self._problem, measured, self.plan, self._fits, self._admits) for measured in measures]
        self.plan = replace(self.plan, skipped=self.plan.skipped | {key for key in self._gone if key[1]})
        for judge in judges:
            # What does not fit all rows, as a decision by costs that some rows lack, may fit a part of them.
            refused = {one.key for one in judge.decision.candidates if one.refusal}
            judge.plan, judge.refused = replace(self.plan, skipped=self.plan.skipped | refused), len(refused)
        self.cut += left_out(self._gone)
        return judges

    def repeat(
        self, judges: list["_MeasureRecord"], folds: Folds, checkpoint: OpenCheckpoint | None, say: Say | None
    ) -> list["_MeasureRecord"]:
        """Repeat the choice on the training part of each outer fold that has time, and judge it on the test part.

        Returns the judges; new ones where too few outer folds have time, but something that was left out has.
        """
        least, of_fold = min(LEAST_FOLDS, self.plan.folds), (1.0 - 1.0 / self.plan.folds) * self._clock.passed
        for k, (train, test) in enumerate(folds, 1):
            begin = self._clock.passed
            # Fewer than the least number of outer folds say nothing, but only the first one tells what a fold takes.
            if not self._clock.has((1 if k == 1 else max(1, least - k + 1)) * of_fold, END):
                if k <= least and self.cut:
                    # The choice on all rows gets the time of the outer folds; no fit is made twice.
                    self.plan, self.cut, self._share, self._room = self._whole, [], END, 0.0
                    self._gone.clear()
                    judges = self.made([judge.measured for judge in judges], say)
                self.cut.append(f"{len(folds) - k + 1} of {self.plan.folds} outer folds")
                break
            # What a rule under floors has reached is not kept.
            outer = None if checkpoint is None or self.plan.floor is not None else checkpoint.part(f"outer fold {k}")
            parts = [None if outer is None else outer.part(str(i)) for i in range(len(judges))]
            known = [one for part in parts if (one := judged(part)) is not None]
            if len(known) == len(judges):
                for judge, (losses, chosen) in zip(judges, known, strict=True):
                    judge.losses.append(losses)
                    judge.chosen.append(chosen)
                steps = self.plan.steps(self._problem, len(judges)) // (self.plan.folds + 1)
                self._fits.advance(f"outer fold {k}", steps)
                continue
            responses = None if checkpoint is None else checkpoint.part(f"responses {k}")
            whole, where = self._fits.rows, f"outer fold {k}"
            fits = Fits(whole.take(train), self._problem, self.plan, where, self._fits.advance, responses).complete()
            for judge, part in zip(judges, parts, strict=True):
                judge.see(fits, whole.take(test))
                keep_judged(part, judge.losses[-1], judge.chosen[-1])
            if responses is not None and outer is not None:
                # What was judged is not asked for again.
                responses.put({})
            of_fold = self._clock.passed - begin
        return judges

    def _fit(self, measures: Sequence[NamedLoss], say: Say | None) -> None:
        """Fit the base models; the first two with one constant each in any case that ends within the budget."""
        plan, made = self.plan, dict[str, list[float | None]]()
        for base, constant in plan.order(self._problem):
            usual, new = self._costs.fits(base.name, plan), base.name not in made
            early, room = len(made) < 2 and new, self._room + (self._costs.judged(base.name, plan) if new else 0.0)
            known = self._fits.known(base, constant)
            late = not self._clock.has(self._clock.expects(usual + room), END if early else self._share)
            if made and not known and late:
                self._fits.advance("", 1)
                continue
            source, self._room = known or self._fits.add(base, constant), room
            # The first fits start processes too, and those of a checkpoint take no time.
            if made and source.seconds and not known:
                self._clock.done(usual, source.seconds)
            made.setdefault(base.name, []).append(constant)
            if say is not None and len(made[base.name]) == 1 and not known:
                self._tell(base.name, source, measures, say)
        lacking = [base.name for base in plan.models(self._problem) if base.name not in made]
        grid = tuple(c for c in plan.grid if c in made[FIRST])
        self._gone += [(name, "") for name in lacking]
        self.cut += fewer(plan.grid, grid)
        self.plan = replace(plan, grid=grid, bases=tuple(base for base in plan.bases if base not in lacking))

    def _tell(self, base: str, source: OutOfFoldBase, measures: Sequence[NamedLoss], say: Say) -> None:
        """Say what a base model reaches by itself on all rows, as soon as it is known."""
        found = []
        for measured in measures:
            task, key = judged_by(self._fits.rows, measured), (base, self.plan.reference(measured).name)
            with suppress(Refusal):
                rule = self.plan.reference(measured) if measured.classes or self.plan.by_row else FIRST_RULE
                says = source.response().scores if measured.orders else cross_fitted(rule, source, task)
                found.append(f"{way(key)}, {measured.title} {figure(measured.shown(task.mean_loss(says)))}")
        if found and self.plan.floor is None:
            rows = f"{len(source.truth):,} rows that it did not see"
            say(f"After {self._clock.passed:.0f} s: {'; '.join(found)} on {rows}.")

    def _admits(self, base: str, strategy: str) -> bool:
        """Whether a strategy over a base model has room."""
        usual = self._costs.step((base, strategy), self.plan)
        # What is refused takes no time.
        room = self._clock.expects(usual + self._room)
        if strategy in ALWAYS or not usual or self._clock.has(room, self._share):
            return True
        self._gone.append((base, strategy))
        return False

    def notes(self) -> list[str]:
        """What the budget has cut, in a sentence."""
        if not self.cut:
            return []
        whole = seconds_text(self._clock.expects(self._costs.expected(self._whole)))
        cut = f"Left out to end in time: {'; '.join(self.cut)}."
        return [f"{cut} This run is slower than planned: all of the plan takes {whole} here (--time-budget)."]


FIRST_RULE = SingleThreshold(n_resamples=0)
"""What a first answer is judged by; the resamples of a tuned threshold would take longer."""


@final
class _MeasureRecord:
    """The choice on all rows for one measure, and what is known of it so far, outer fold by outer fold."""

    def __init__(self, problem: Problem, measured: NamedLoss, plan: Plan, fits: Fits, admits: Admits) -> None:
        self.problem, self.measured, self.plan = problem, measured, plan
        self.reference, self.task = plan.reference(measured), judged_by(fits.rows, measured)
        self._advance, self.refused = fits.advance, 0
        self.losses, self.chosen, self.reached = list[dict[Key, float]](), list[Key](), list[dict[Key, FloorShares]]()
        if plan.floor is not None:
            self._require_floor(plan.floor, fits)
        self.decision = decide(fits, measured, plan, admits)
        if plan.by_row and simplest([self.decision.held_out[key] for key in ((FIRST, BY_COSTS), REFERENCE)], self.task):
            # One threshold is clearly cheaper.
            self.plan = replace(plan, by_row=False)
            self.reference = self.plan.reference(measured)
            self.decision = decide(fits, measured, self.plan, admits)
        parts = [(test, judged_by(fits.rows.take(test), measured)) for _, test in fits.folds]
        # The losses of all ways in each fold inside, by models and rules that did not see the fold.
        held = self.decision.held_out.items()
        self._inside = [{key: part.mean_loss(says[test]) for key, says in held} for test, part in parts]

    def see(self, fits: Fits, test: Rows) -> None:
        """Choose on the training part and judge on the test part of one outer fold."""
        decision = decide(fits, self.measured, self.plan)
        self._advance("", self.refused)
        task = judged_by(test, self.measured)
        said = decision.said(task.loss, test)
        self.losses.append({key: task.mean_loss(one) for key, one in said.items()})
        self.chosen.append(decision.chosen)
        self.reached.append(self._reached(task, said))

    def _require_floor(self, floor: FlooredThreshold, fits: Fits) -> None:
        """Raise Refusal unless a base model keeps the floors on these rows."""
        unmet = list[tuple[float, str]]()
        for source in fits.best(self.task, self.reference).tuned.values():
            try:
                floor.point(source.response().scores, self.task)
            except UnmetFloor as short:
                said = short.sentence
                unmet.append((short.reachable, f"{source.name}: {said[0].lower()}{said[1:]}"))
            else:
                return
        raise Refusal(f"no base model keeps {floor.words} on all rows. Nearest is {max(unmet)[1]}", OPTIONS)

    def _reached(self, task: Task, said: Mapping[Key, Any]) -> dict[Key, FloorShares]:
        """What each rule reaches under floors by what it has said; nothing without floors."""
        return {} if self.plan.floor is None else {key: self.plan.floor.reached(task, one) for key, one in said.items()}

    def _floored(self, test: Mapping[Key, FloorShares]) -> FloorReport | None:
        """How the ways keep the floors; None without floors."""
        if self.plan.floor is None:
            return None
        reached = self._reached(self.task, self.decision.said(self.task.loss))
        able = frozenset(key for key, rule in self.decision.rules.items() if not rule.short and reached[key].kept)
        return FloorReport(self.plan.floor, reached, tuple(self.reached), able, test)

    def answer(self, test: Problem | None, notes: tuple[str, ...], others: OtherRows | None) -> Answer:
        """The choice on all rows, beside what the folds say."""
        decision, repeated = self.decision, len(self.losses) >= min(LEAST_FOLDS, self.plan.folds)
        losses = self.losses if repeated else self._inside
        choices = self.chosen if repeated else [decision.chosen] * len(losses)
        unseen = rows_of(test or self.problem, self.measured)
        on_test = {} if test is None else decision.said(unseen.task.loss, unseen)
        tested = {key: unseen.task.mean_loss(one) for key, one in on_test.items()}
        outer = {one.key: np.array([found.get(one.key, np.nan) for found in losses]) for one in decision.candidates}
        rows = tuple(
            CandidateResult(**vars(one), outer=outer[one.key], test=tested.get(one.key, np.nan))
            for one in decision.candidates
        )
        tuned = REFERENCE[1] if self.plan.by_row else self.reference.name
        found = Answer(
            self.problem, self.measured, self.plan, rows, decision.chosen, tuple(choices),
            Recommendation(decision.chosen), floored=self._floored(self._reached(unseen.task, on_test)),
            repeated=repeated, notes=notes, curves=curves_of(decision, self.task, tuned),
        )  # fmt: skip
        key = found.chosen if found.changes else found.reference.key
        winner = recommendation_of(key, decision, self.task, self.problem, self.measured, self.plan)
        return replace(
            found,
            winner=winner,
            test_differs=() if test is None else self._differences(key, winner.labels, unseen),
            test_gain=self._on_test(unseen.task, on_test, key),
            others=None if others is None else self._on_others(key, others),
        )

    def _differences(self, key: Key, called: Any, test: Rows) -> tuple[str, ...]:
        """How further rows differ from those of the problem, which were ``called`` positive out of fold."""
        held, decision = self.problem, self.decision
        fresh = decision.sources.of(key).fresh(test.X, test.task.groups)
        rule = decision.rules[key].for_rows(test.task.loss)
        labels = fresh.response().labels if self.measured.orders else rule.labels(fresh)
        names = held.features or FeatureNames(range(held.X.shape[1]))
        known = TrainingRows.of(held.X, held.columns, held.groups, held.each(called), held.weights)
        return tuple(known.differences(test.X, held.columns, names, held.each(labels), held.classes))

    def _on_test(self, task: Task, said: Mapping[Key, Any], key: Key) -> tuple[float, float, float] | None:
        """What the recommendation gains over the reference on further rows, with a bootstrap interval."""
        first = (FIRST, self.reference.name)
        if not said or self.measured.orders or key == first:
            return None
        found = gain_of(task, said[first], said[key])
        return found.gain, *found.interval

    def _on_others(self, key: Key, others: OtherRows) -> OtherRowsReport:
        """What the recommendation, the reference and logistic regression at 0.5 reach on the other rows of a file."""
        self._advance(f"the other rows, {self.measured.title}", 0)
        rules, sources = self.decision.rules, self.decision.sources
        keys = dict.fromkeys((key, self.decision.candidates[0].key, REFERENCE, PLAIN))
        ways = {one: (rules[one], sources.of(one)) for one in keys if one in rules}
        return others.judge(ways, self.measured, self.decision.held_out, self.plan.floor)
