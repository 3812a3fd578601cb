"""The choice among all strategies over all base models, by out-of-fold losses alone, and the recommended way in detail.

Of that its threshold and the flat range of it, its coefficients, and code that repeats it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from setwise.compare.answer import BaseCurve, Recommendation, ThresholdRange
from setwise.compare.fits import SEED, BaseResponses, Fits, judged_by
from setwise.compare.plan import FIRST, PLAIN, Key, MostProbable, NamedLoss, Plan, base_model, import_of, is_own_loss
from setwise.compare.problem import Problem
from setwise.compare.sentences import WAYS
from setwise.compare.source import source
from setwise.core.checks import Bools, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.datasets.columns import Category
from setwise.decisions import threshold_curve
from setwise.decisions.task import Task, compared
from setwise.estimators.selection.choice import Candidate, choose, chosen_of, errors_needed, judge
from setwise.estimators.selection.cost_weight import CostWeight
from setwise.estimators.selection.floors import FlooredThreshold
from setwise.estimators.selection.problem import SelectionProblem as Rows
from setwise.estimators.selection.strategies import OwnPrediction, Rule
from setwise.losses.row_costs import RowCosts

ORDER_REPLICATES = 200
"""Draws of the bootstrap where the order of scores is judged; each of them sorts all rows."""

Admits = Callable[[str, str], bool]
"""Says by the names of a base model and a strategy whether the strategy is tried."""


@final
@dataclass(frozen=True, eq=False)
class CandidateChoice:
    """All candidates over some rows, their rules, and the one that was chosen.

    Attributes
    ----------
    candidates : out-of-fold losses, and gains over the reference with standard errors; the reference comes first
    rules : the rule of each candidate that was not refused, tuned on all these rows
    chosen : the key of the candidate to take
    held_out : for each rule what it says of these rows, tuned without the fold of the row: labels, or scores
    sources : the responses of the base models with the constants that suit the measure
    """

    candidates: tuple[Candidate, ...]
    rules: Mapping[Key, Rule]
    chosen: Key
    held_out: Mapping[Key, Any]
    sources: BaseResponses

    def said(self, loss: Loss, new: Rows | None = None) -> dict[Key, Any]:
        """What each rule says of new rows, or of these rows by models that did not see them: labels, or scores.

        The loss is that of the rows.
        """
        # What a model says of the rows is kept for all strategies.
        sources = list(map(self.sources.of, self.rules))
        known = {one: one.held_out() if new is None else one.fresh(new.X, new.task.groups) for one in sources}
        return {key: rule.for_rows(loss).labels(known[self.sources.of(key)]) for key, rule in self.rules.items()}


def decide(fits: Fits, measured: NamedLoss, plan: Plan, admits: Admits | None = None) -> CandidateChoice:
    """The reference, unless another way has a paired out-of-fold gain above one standard error.

    First each base model chooses among its strategies, as :class:`setwise.MeasureClassifier` does: its tuned threshold,
    unless a strategy gains more than one standard error over it. Of these choices those remain that gain more than one
    standard error over logistic regression with a tuned threshold. The first of them is taken, in the order of the
    base models, that is within one standard error of the best. Under floors only what keeps them on these rows is
    taken, if anything does. A strategy that ``admits`` says no to, by the names of its base model and its own, is not
    tried.

    Raises
    ------
    Refusal : if the reference refuses the loss
    """
    task, reference = judged_by(fits.rows, measured), plan.reference(measured)
    where = f"{fits.where}, {measured.title}"
    fits.advance(f"{where}: thresholds", 0)
    sources = fits.best(task, reference)
    if measured.orders:
        scores = {(base, reference.name): source.response().scores for base, source in sources.tuned.items()}
        figures, beside = judge([Candidate(*key) for key in scores], scores, task, SEED, ORDER_REPLICATES)
        chosen = list(scores)[chosen_of(beside.losses, beside.gains, beside.gain_errors)]
        fits.advance(f"{where}: order", sum(len(plan.tried(base)) for base in sources.tuned))
        rules = {key: reference.tune(sources.of(key).held_out(), task) for key in scores}
        candidates = tuple(replace(one, chosen=one.key == chosen) for one in figures)
        return CandidateChoice(candidates, rules, chosen, scores, sources)

    def tell(base: str, strategy: str) -> None:
        fits.advance(f"{where}: {base_model(base).title}, {WAYS[strategy].title}", 1)

    tried, labels, own = list[Candidate](), dict[Key, Bools](), dict[str, str]()
    for base, responses in sources.tuned.items():
        known = (reference.name, PLAIN[1]) if base == FIRST else (reference.name,)
        others = [strategy for strategy in plan.kept(base, task) if strategy.name not in known]
        found = choose({base: responses}, task, others, reference=reference, seed=SEED, progress=tell, admits=admits)
        if found.interrupted:
            raise KeyboardInterrupt
        tried += found.candidates
        labels |= found.labels
        own[base] = found.chosen.strategy
    if not measured.classes:
        # Logistic regression at 0.5 has a constant of its own but under floors, and says what the threshold is worth.
        if plan.floor is None:
            tell(*PLAIN)
        labels[PLAIN] = sources.plain.response().labels
        tried.insert(1, Candidate(*PLAIN))
    judged, _ = judge(tried, labels, task, SEED)
    strategies = {PLAIN[1]: OwnPrediction(), reference.name: reference}
    strategies |= {strategy.name: strategy for base in sources.tuned for strategy in plan.kept(base, task)}
    rules = {}
    for base, name in labels:
        # What fits the folds may not fit all rows; the candidate then has no figures on new rows.
        with suppress(Refusal):
            rules[base, name] = strategies[name].bound(task).tune(sources.of((base, name)).held_out(), task)
    first = (FIRST, reference.name)
    rivals = [first, *(key for key in own.items() if key != first)]
    # A threshold that misses a floor is a rival of nothing, and where all of them do the reference is as good as any.
    rivals = [key for key in rivals if key not in rules or not rules[key].short] or [first]
    chosen = rivals[simplest([labels[key] for key in rivals], task)]
    return CandidateChoice(tuple(judged), rules, chosen, labels, sources)


def simplest(labels: Sequence[Bools], task: Task) -> int:
    """The first that loses no more than one standard error more than the best, among those that beat the first at all.

    A prediction beats the first one by the rule of :class:`setwise.MeasureClassifier`: its gain is above one standard
    error, or above the one of the luckiest of several. If none does, the answer is 0. So a base model that comes later,
    and is less simple, is taken only for a gain that can be told from noise.
    """
    found = compared(task, labels, SEED)
    needed = errors_needed(found.gains, found.drawn_gains, found.gain_errors)
    best = chosen_of(found.losses, found.gains, needed)
    if best == 0:
        return 0
    beside_best = replace(found, first=best)
    return int(np.argmax((found.gains > needed) & (-beside_best.gains <= beside_best.gain_errors)))


def code_of(key: Key, constant: float | None, problem: Problem, measured: NamedLoss, plan: Plan) -> str:
    """Lines of Python that fit the base model with the strategy, for the X, y and groups of the problem."""
    base = base_model(key[0])
    model = base.build(problem, constant, plan.seed)
    # The constant is what was chosen, also where it is the default.
    texts = {"C": f"{constant or 1.0:g}", "columns": "data.columns"}
    expression, imports = source(model, texts, base.code)
    if measured.orders:
        return _ordered([*imports, *problem.code, f"model = {expression}", "model.fit(X, y)"])
    more_of_rows = "" if problem.groups is None else ", groups=groups"
    more_of_rows += "" if problem.weights is None else ", sample_weight=data.weights"
    cv = plan.inner if problem.blocks is None else f"block_folds({plan.inner}, y, blocks)"
    average = f', average="{measured.average}"' if problem.many and measured.average != "samples" else ""
    name = "as_it_is" if key[1] == MostProbable.name else key[1]
    strategy, loss = f'"{name}"', f'"{measured.name}"'
    more = ["from setwise import MeasureClassifier"]
    more += [] if problem.blocks is None else ["from setwise.estimators.splits import block_folds"]
    # What no name stands for is made by its own code.
    floors = () if plan.floor is None else (plan.floor, *plan.floor.decisions)
    own = (CostWeight(),) if key[1] == CostWeight.name else ()
    unnamed = [one for one in (*floors, *own) if one.name == key[1] or one is plan.floor]
    if unnamed:
        found = [source(one) for one in unnamed]
        strategy = ", ".join(text for text, _ in found)
        more += [line for _, needed in found for line in needed]
    if is_own_loss(measured.name):
        loss, lines_of = import_of(measured.name)
        more += lines_of
    elif measured.name != measured.loss.name:
        more, loss = [*more, f"from setwise.losses import {type(measured.loss).__name__}"], repr(measured.loss)
    own_labels, lines = is_own_loss(measured.name) and problem.labels != (0, 1), list(problem.code)
    if own_labels:
        # A function gets the labels of the file, and the classifier takes the last one in order for the positive one.
        more.append("import numpy as np")
        lines.append(f"y = np.array({list(problem.labels)})[y]")
        average += "" if problem.labels[0] < problem.labels[1] else f", pos_label={problem.labels[1]!r}"
    lines += [
        f"base = {expression}",
        f"model = MeasureClassifier(\n    base, loss={loss},\n    strategies=[{strategy}], cv={cv}{average}\n)",
        f"model.fit(X, y{more_of_rows})",
    ]
    if not problem.many and problem.groups is None and problem.origin and problem.origin.file:
        costs = measured.loss.columns if isinstance(measured.loss, RowCosts) else {}
        more_of = "".join(f", {cell}_cost={place!r}" for cell, place in costs.items())
        predicted = f"model.predict(X{more_of})"
        lines.append(f"labels = {predicted if own_labels else f'[data.classes[label] for label in {predicted}]'}")
    return _ordered([*imports, *more, *lines])


def _ordered(lines: list[str]) -> str:
    """The imports first and sorted, others' before those of setwise, then the other lines."""
    imports = dict.fromkeys(line for line in lines if line.startswith(("import ", "from ")))
    ordered = sorted(imports, key=lambda line: ("setwise" in line, line[0] == "f", line))
    return "\n".join([*ordered, "", *(line for line in lines if line not in ("", *imports))])


NEARLY = 0.01
"""How much of a measure, or of the range of a cost, a threshold in the flat range may lose."""

DRAWN = 400
"""So many cut points are drawn in a picture."""


def recommendation_of(
    key: Key, decision: CandidateChoice, task: Task, problem: Problem, measured: NamedLoss, plan: Plan
) -> Recommendation:
    """The details of the way with this key, tuned and fitted on all rows."""
    responses, rule = decision.sources.of(key), decision.rules[key]
    threshold, response = rule.threshold, responses.response(rule.weight)
    flat = None
    if threshold is not None and np.ndim(threshold) == 0:
        flat = flat_range(task, response.scores, float(threshold), measured, plan.floor)
    constant = decision.sources.constants[key[0]]
    fitted = responses.fitted(rule.weight)
    # A linear model on top has other coefficients than the model below it.
    named = coefficients(fitted, problem) if key[0] == FIRST and (threshold is not None or measured.orders) else None
    code = code_of(key, constant, problem, measured, plan)
    labels = response.labels if measured.orders else rule.for_rows(task.loss).labels(responses.held_out())
    weight = 1.0 if isinstance(rule.weight, RowCosts) else rule.weight
    return Recommendation(
        key, constant, threshold, weight, response.probability, flat, named, code, fitted, rule.joint, labels, rule
    )


def flat_range(
    task: Task, scores: Values, at: float, measured: NamedLoss, floor: FlooredThreshold | None = None
) -> ThresholdRange:
    """The cut points next to ``at`` whose out-of-fold loss is at most 1 % above the one at ``at``.

    Under a floor that is kept at ``at`` it is kept at all of them.
    """
    thresholds, losses = threshold_curve(task.sets, task.flat(scores), task.set_loss)
    finite = np.isfinite(thresholds)
    thresholds, losses = np.asarray(thresholds[finite][::-1]), np.asarray(losses[finite][::-1])
    if not len(thresholds):
        return ThresholdRange(np.array([at]), np.array([np.nan]), at, at, 0.0)
    # The cut point next to an infinite threshold is the outermost one.
    place = int(np.argmin(np.abs(thresholds - np.clip(at, thresholds[0], thresholds[-1]))))
    tolerance = NEARLY * (1.0 if measured.is_score and not measured.is_gain else float(np.ptp(losses)))
    worse = losses > losses[place] + tolerance + 1e-12
    if floor is not None:
        worse |= ~floor.met(thresholds, scores, task)
        # The nearest cut point of a threshold beyond all scores may be on the other side of the floor.
        worse[place] = False
    bad = np.concatenate([[-1], np.flatnonzero(worse), [len(thresholds)]])
    after = int(np.searchsorted(bad, place))
    first, last = int(bad[after - 1]) + 1, int(bad[after]) - 1
    shown = np.unique(np.concatenate([np.linspace(0, len(losses) - 1, DRAWN).astype(int), [first, place, last]]))
    ends = float(thresholds[first]), float(thresholds[last])
    shares = shares_at(thresholds[shown], scores, task)
    return ThresholdRange(thresholds[shown], losses[shown], *ends, tolerance, shares)


def shares_at(thresholds: Values, scores: Values, task: Task) -> Values:
    """Recall, precision and the share of rows called positive at each of k thresholds, (3, k), by weights of rows."""
    order, weights = np.argsort(scores, axis=None), _weights(task)
    places = np.searchsorted(scores.ravel()[order], thresholds, "left")
    masses = np.stack([weights * task.truth.ravel(), weights])[:, order[::-1]]
    sums = np.hstack([np.zeros((2, 1)), np.cumsum(masses, axis=1)])
    tp, called = sums[:, len(order) - places]
    # Of no alarm all are right.
    precision = np.divide(tp, called, out=np.ones(len(tp)), where=called > 0)
    return np.stack([tp / sums[0, -1], precision, called / sums[1, -1]])


def _weights(task: Task) -> Values:
    """The weight of each label, (n p,)."""
    return np.ones(task.truth.size) if task.weights is None else task.weights


def curves_of(decision: CandidateChoice, task: Task, reference: str) -> Mapping[str, BaseCurve]:
    """Recall, precision and probabilities of each base model, with the constant that was chosen for it.

    Of more than two classes there are none.
    """
    found = {}
    for base, responses in ({} if task.classes else decision.sources.tuned).items():
        response, rule = responses.response(), decision.rules.get((base, reference))
        scores = response.scores.ravel()
        # At the scores of positive rows recall grows in equal steps with the fewest alarms.
        positives = np.sort(scores[task.truth.ravel()])[::-1]
        drawn = positives[np.unique(np.linspace(0, len(positives) - 1, DRAWN).astype(int))]
        at = None if rule is None else rule.threshold
        tuned = None if at is None else shares_at(np.array([at]), scores, task)[:, 0]
        bins = _bins(scores, task) if response.probability else None
        found[base] = BaseCurve(shares_at(drawn, scores, task), tuned, bins)
    return found


BINS = 10
"""So many parts of the rows tell how good probabilities are."""


def _bins(scores: Values, task: Task) -> Values:
    """The mean probability, the share of positive rows and the share of all rows, in parts of equal size, (3, 10)."""
    weights, truth = _weights(task), task.truth.ravel()
    parts = [part for part in np.array_split(np.argsort(scores, kind="stable"), BINS) if len(part)]
    means = [[np.average(one[part], weights=weights[part]) for part in parts] for one in (scores, truth)]
    return np.array([*means, [weights[part].sum() / weights.sum() for part in parts]])


def coefficients(model: Any, problem: Problem) -> Mapping[str, float] | None:
    """The coefficients of a fitted linear pipeline by the names of its features; None where it has several labels."""
    if problem.many:
        return None
    names = [str(name) for name in (problem.features or [f"feature {i}" for i in range(problem.X.shape[1])])]
    if problem.columns:
        names = [str(name) for name in model[0].get_feature_names_out()]
    elif problem.has_gaps:
        names += [f"{names[i]} is missing" for i in model[1].indicator_.features_]
    found = dict(zip(names, np.ravel(model[-1].coef_).tolist(), strict=True))
    for j, column in enumerate(problem.columns):
        # One of two words is there where the other one is not, so that two coefficients say one thing.
        pair = [f"{column.name} = {word}" for word in column.words] if isinstance(column, Category) else []
        if len(pair) == 2 and set(pair) <= set(found) and not np.isnan(problem.X[:, j]).any():
            found[pair[1]] -= found.pop(pair[0])
    return found
