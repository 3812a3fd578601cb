"""The recommended way in detail: its threshold and the flat range of it, its coefficients, and code that repeats it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from setwise.compare.answer import Flat, Winner
from setwise.compare.code import code_of
from setwise.compare.deciding import Decision
from setwise.compare.floors import FlooredThreshold, calls
from setwise.compare.measures import Measured
from setwise.compare.plan import FIRST, Key, Plan
from setwise.compare.problem import Problem
from setwise.compare.way_words import way as words
from setwise.core.checks import Values
from setwise.datasets.columns import Category
from setwise.decisions import threshold_curve
from setwise.estimators.selection import Task

NEARLY = 0.01
"""How much of a measure, or of the range of a cost, a threshold in the flat range may lose."""

DRAWN = 400
"""So many cut points are drawn in a picture."""


def winner_of(key: Key, decision: Decision, task: Task, problem: Problem, measured: Measured, plan: Plan) -> Winner:
    """The details of the way with this key, tuned and fitted on all rows."""
    source, rule = decision.sources.of(key), decision.rules[key]
    threshold, response = rule.threshold, source.response(rule.weight)
    flat = None
    if threshold is not None and np.ndim(threshold) == 0:
        flat = flat_range(task, response.scores, float(threshold), measured, plan.floor)
    # A linear model on top has other coefficients than the model below it.
    plain = threshold is not None or measured.orders
    constant = decision.sources.constants[key[0]]
    return Winner(
        key,
        constant,
        threshold,
        rule.weight,
        response.probability,
        flat,
        coefficients(source.fitted(rule.weight), problem) if key[0] == FIRST and plain else None,
        code_of(key, constant, problem, measured, plan),
        source.fitted(rule.weight),
        rule.joint,
        _planes(decision, key, problem, measured),
    )


def flat_range(
    task: Task, scores: Values, at: float, measured: Measured, floor: FlooredThreshold | None = None
) -> Flat:
    """The cut points next to ``at`` whose out-of-fold loss is at most 1 % above the one at ``at``.

    Under a floor that is kept at ``at`` it is kept at all of them.
    """
    thresholds, losses = threshold_curve(task.sets, task.flat(scores), task.loss)
    finite = np.isfinite(thresholds)
    thresholds, losses = np.asarray(thresholds[finite][::-1]), np.asarray(losses[finite][::-1])
    if not len(thresholds):
        return Flat(np.array([at]), np.array([np.nan]), at, at, 0.0)
    place = int(np.argmin(np.abs(thresholds - at)))
    tolerance = NEARLY * (1.0 if measured.is_score else float(np.ptp(losses)))
    worse = losses > losses[place] + tolerance + 1e-12
    if floor is not None:
        worse |= ~floor.met(thresholds, scores, task)
        # The nearest cut point of a threshold beyond all scores may be on the other side of the floor.
        worse[place] = False
    bad = np.flatnonzero(worse)
    low, high = int(np.searchsorted(bad, place)) - 1, int(np.searchsorted(bad, place))
    first = int(bad[low]) + 1 if low >= 0 else 0
    last = int(bad[high]) - 1 if high < len(bad) else len(thresholds) - 1
    shown = np.unique(np.concatenate([np.linspace(0, len(losses) - 1, DRAWN).astype(int), [first, place, last]]))
    shares = None
    if floor is not None:
        tp, fp = calls(thresholds[shown], scores.ravel(), task.truth.ravel())
        shares = np.stack([tp / max(task.truth.sum(), 1), tp / np.maximum(tp + fp, 1.0), (tp + fp) / task.truth.size])
    ends = float(thresholds[first]), float(thresholds[last])
    return Flat(thresholds[shown], losses[shown], *ends, tolerance, shares)


def coefficients(model: Any, problem: Problem) -> Mapping[str, float] | None:
    """The coefficients of a fitted linear pipeline by the names of its features; None where it has several labels."""
    if problem.many:
        return None
    names = [str(name) for name in (problem.features or [f"feature {i}" for i in range(problem.X.shape[1])])]
    weights = np.ravel(model[-1].coef_)
    if problem.columns:
        names = [str(name) for name in model[0].get_feature_names_out()]
    elif problem.has_gaps:
        names += [f"{names[i]} is missing" for i in model[1].indicator_.features_]
    found = dict(zip(names, weights.tolist(), strict=True))
    for j, column in enumerate(problem.columns):
        # One of two words is there where the other one is not, so that two coefficients say one thing.
        pair = [f"{column.name} = {word}" for word in column.words] if isinstance(column, Category) else []
        if len(pair) == 2 and set(pair) <= set(found) and not np.isnan(problem.X[:, j]).any():
            found[pair[1]] -= found.pop(pair[0])
    return found


def _planes(decision: Decision, key: Key, problem: Problem, measured: Measured) -> Mapping[str, Any]:
    """Functions that label points of the plane, for a problem of two features without groups that matter."""
    if problem.X.shape[1] != 2 or problem.many or problem.columns or measured.orders or decision.rules[key].joint:
        return {}

    def labels(way: Key, points: Values) -> Any:
        return decision.rules[way].labels(decision.sources.of(way).fresh(points))

    first = decision.candidates[0].key
    ways = {first: None, key: None}
    return {words(one): partial(labels, one) for one in ways}
