"""docs/moving/tuned_threshold.md: scikit-learn's TunedThresholdClassifierCV beside what takes its place here."""

import inspect

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, fbeta_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    RepeatedKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    train_test_split,
)

from setwise import MeasureClassifier
from setwise.decisions import best_threshold, threshold_curve
from setwise.estimators.selection import SingleThreshold
from setwise.losses import ClassWeightedHamming, FBeta, as_loss

PREFIT = {"cv": "prefit", "refit": False}


def cost(y, found):
    """A false alarm costs 1, a miss 5; larger is better, as scorers have it."""
    return -float(np.sum(~y & found) + 5 * np.sum(y & ~found))


SCORES = {
    "accuracy": "error_rate",
    "balanced_accuracy": "balanced_error",
    "f1": "f1",
    "jaccard": "jaccard",
    "matthews_corrcoef": "mcc",
    make_scorer(fbeta_score, beta=2): FBeta(2.0),
    make_scorer(cost): ClassWeightedHamming(1.0, 5.0),
}


@pytest.fixture(scope="module", params=range(2))
def fitted(request):
    """A classifier, and rows that it was not fitted on, with their labels and scores."""
    seed = request.param
    X, y = make_classification(800, 5, weights=[0.9], class_sep=0.7, random_state=seed)
    A, B, a, b = train_test_split(X, y == 1, train_size=0.5, random_state=seed, stratify=y)
    model = LogisticRegression().fit(A, a)
    return model, B, b, model.predict_proba(B)[:, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("scoring", "loss"), SCORES.items(), ids=[str(loss) for loss in SCORES.values()])
def test_on_our_cut_points_it_finds_our_value(scoring, loss, fitted):
    model, X, y, scores = fitted
    found = best_threshold(y, scores, loss)
    cuts, _ = threshold_curve(y, scores, loss)
    cuts = np.sort(cuts[np.isfinite(cuts)])
    theirs = TunedThresholdClassifierCV(model, scoring=scoring, thresholds=cuts, **PREFIT).fit(X, y)
    one = 0.0 if isinstance(loss, ClassWeightedHamming) else 1.0
    # The two thresholds that predict all and none are no cut points of theirs.
    least = min(as_loss(loss)(y, scores >= cut) for cut in cuts)
    assert theirs.best_score_ == pytest.approx(one - least)
    assert found.loss <= least + 1e-12
    if np.isfinite(found.threshold):
        assert found.low <= theirs.best_threshold_ <= found.high or found.loss == pytest.approx(least)
        assert (theirs.predict(X) == (scores >= theirs.best_threshold_)).all()


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["f1", "balanced_accuracy", "matthews_corrcoef"])
def test_no_grid_is_better_on_the_same_scores(scoring, fitted):
    model, X, y, scores = fitted
    for thresholds in (10, 100, 1000):
        grid = TunedThresholdClassifierCV(model, scoring=scoring, thresholds=thresholds, **PREFIT).fit(X, y)
        assert grid.best_score_ <= 1 - best_threshold(y, scores, SCORES[scoring]).loss + 1e-12


def test_a_fixed_threshold_takes_ours(fitted):
    model, X, y, scores = fitted
    threshold = best_threshold(y, scores, "f1").threshold
    fixed = FixedThresholdClassifier(model, threshold=threshold).fit(X, y)
    assert f1_score(y, fixed.predict(X)) == f1_score(y, fixed.predict_proba(X)[:, 1] >= threshold)


def test_the_wrapper_without_bagging_has_the_best_cut_of_the_scores_out_of_fold(fitted):
    model, X, y, scores = fitted
    exact = [SingleThreshold(n_resamples=0)]
    prefit = MeasureClassifier(model, "f1", exact, **PREFIT).fit(X, y)
    assert prefit.best_threshold_ == best_threshold(y, scores, "f1").threshold
    assert (prefit.predict(X) == (scores >= prefit.best_threshold_)).all()
    assert prefit.best_score_ <= 1 - best_threshold(y, scores, "f1").loss

    folds = StratifiedKFold(5)
    ours = MeasureClassifier(LogisticRegression(), "f1", exact, folds).fit(X, y)
    held_out = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="predict_proba")[:, 1]
    assert ours.best_threshold_ == best_threshold(y, held_out, "f1").threshold


@pytest.mark.slow
def test_its_score_is_a_mean_over_folds_and_ours_that_of_one_set(fitted):
    _, X, y, _ = fitted
    folds = StratifiedKFold(5)
    theirs = TunedThresholdClassifierCV(LogisticRegression(), scoring="f1", cv=folds).fit(X, y)
    held_out = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="predict_proba")[:, 1]
    pooled = f1_score(y, held_out >= theirs.best_threshold_)
    assert pooled <= 1 - best_threshold(y, held_out, "f1").loss
    assert pooled != pytest.approx(theirs.best_score_, abs=1e-6)


def test_the_arguments_of_the_table_have_the_same_names():
    ours, theirs = (inspect.signature(kind).parameters for kind in (MeasureClassifier, TunedThresholdClassifierCV))
    assert set(theirs) - set(ours) == {"scoring", "thresholds"}
    assert ours["response_method"].default == theirs["response_method"].default == "auto"
    assert ours["refit"].default is theirs["refit"].default is True


@pytest.mark.parametrize("cv", [0.2, RepeatedKFold(n_splits=2, n_repeats=2)])
def test_a_share_of_the_rows_is_refused(cv, fitted):
    _, X, y, _ = fitted
    with pytest.raises(ValueError, match="cv must"):
        MeasureClassifier(LogisticRegression(), "f1", ["threshold"], cv).fit(X, y)


@pytest.mark.filterwarnings("ignore:F-score is ill-defined")
def test_f1_of_nothing_predicted_where_nothing_is_positive():
    nothing = np.zeros(3, dtype=bool)
    assert f1_score(nothing, nothing) == FBeta(zero_division=0.0)(nothing, nothing) - 1 == 0
    assert FBeta()(nothing, nothing) == 0
