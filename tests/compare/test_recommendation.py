"""The advice where the right one is known: stay where logistic regression is true, change where no line can do it.

A few seeds are tried here, and twenty of each kind by ``benchmarks/verdicts.py``.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise.cli import options_parser
from setwise.compare import NamedLoss, Plan, Problem, compare
from setwise.compare.command import plan_of
from setwise.compare.problem import bags
from setwise.compare.recommendation import shares_at
from setwise.decisions.task import Task
from setwise.losses import EarlyDetection, FBeta


def logistic(seed, rows=1000):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(rows, 6)), rng.normal(size=6)
    y = (rng.random(rows) < 1.0 / (1.0 + np.exp(2.0 - 1.2 * X @ w))).astype(int)
    return Problem("logistic model", "Rows of a logistic model.", X, y)


def changes(problem, measured, seed, base="linear,boosted"):
    options = options_parser().parse_args(["compare", "--quick", "--seed", str(seed), "--base", base])
    (found,) = compare(problem, [measured], plan_of(options, problem))
    return found.changes


def true_model(seed, **more):
    return changes(logistic(seed), NamedLoss("f1", FBeta()), seed, **more)


def early(seed, **more):
    return changes(bags(300, seed), NamedLoss("early_detection", EarlyDetection()), seed, **more)


@pytest.mark.slow
def test_a_few_verdicts():
    assert not any(true_model(seed, base="linear") for seed in range(2))
    assert early(0, base="linear")


@pytest.mark.parametrize("weighted", [False, True])
def test_shares_at_thresholds_are_those_of_counting(weighted):
    rng = np.random.default_rng(0)
    scores, truth = rng.integers(0, 8, 60) / 8.0, rng.random(60) < 0.4
    weights = rng.random(60) if weighted else None
    task, w = Task(truth, FBeta(), weights=weights), np.ones(60) if weights is None else weights
    for t, (recall, precision, called) in zip(
        np.unique(scores), shares_at(np.unique(scores), scores, task).T, strict=True
    ):
        labels = scores >= t
        assert recall == pytest.approx(recall_score(truth, labels, sample_weight=weights))
        assert precision == pytest.approx(precision_score(truth, labels, sample_weight=weights))
        assert called == pytest.approx(np.average(labels, weights=w))
    assert shares_at(np.array([2.0]), scores, task)[:, 0].tolist() == [0.0, 1.0, 0.0]


def test_curves_and_calibration_are_those_of_the_scores_out_of_fold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.normal(size=200) > 0.5).astype(int)
    (found,) = compare(
        Problem("p", "P.", X, y), [NamedLoss("f1", FBeta())], Plan(2, 3, (1.0,), ("linear",), ("threshold",))
    )
    curve = found.curves["linear"]
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=1000))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1]
    for recall, precision, called in curve.shares.T:
        best = min((scores >= t).sum() for t in scores if (y[scores >= t].sum() >= recall * y.sum() - 1e-9))
        assert called == pytest.approx(best / 200)
        assert precision * called == pytest.approx(recall * y.mean())
    labels = scores >= found.winner.threshold
    assert curve.tuned == pytest.approx([recall_score(y, labels), precision_score(y, labels), labels.mean()])
    assert curve.bins[0] == pytest.approx([part.mean() for part in np.array_split(np.sort(scores), 10)])
    assert curve.bins[1].mean() == pytest.approx(y.mean())
