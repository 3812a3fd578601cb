"""A loss is 1 - metric: the losses of counts against scikit-learn, and the numbers of the papers."""

import numpy as np
import pytest
from scipy.stats import gmean, hmean
from sklearn import metrics

from setwise.core.sets import Sets
from setwise.inference.counts.structure import is_monge
from setwise.losses import (
    MCC,
    BalancedError,
    BreakEven,
    ClassWeightedHamming,
    CountLoss,
    ErrorRate,
    FBeta,
    GMean,
    HMean,
    Jaccard,
    PrecisionAtK,
    RecallAtK,
    Trait,
    Tversky,
)


def labelings():
    """Random truths and predictions, from none to all positive."""
    rng = np.random.default_rng(0)
    for p in (1, 2, 5, 30):
        for rates in np.ndindex(4, 4):
            truth, guess = (rng.random(p) < np.array([0.0, 0.3, 0.7, 1.0])[r] for r in rates)
            yield truth, guess


def recalls(y, z):
    """Recalls of the classes that are in ``y``."""
    return [np.mean(z[y == c] == c) for c in np.unique(y)]


METRICS = {
    "error rate": (ErrorRate(), metrics.accuracy_score),
    "balanced error": (BalancedError(), metrics.balanced_accuracy_score),
    "jaccard": (Jaccard(), lambda y, z: metrics.jaccard_score(y, z, zero_division=1)),
    "f1": (FBeta(), lambda y, z: metrics.f1_score(y, z, zero_division=1)),
    "f1, zero": (FBeta(zero_division=0.0), lambda y, z: metrics.f1_score(y, z, zero_division=0)),
    "f2": (FBeta(2.0), lambda y, z: metrics.fbeta_score(y, z, beta=2, zero_division=1)),
    "f half, zero": (FBeta(0.5, 0.0), lambda y, z: metrics.fbeta_score(y, z, beta=0.5, zero_division=0)),
    "dice": (Tversky(0.5, 0.5), lambda y, z: metrics.f1_score(y, z, zero_division=1)),
    "tversky is jaccard": (Tversky(1.0, 1.0), lambda y, z: metrics.jaccard_score(y, z, zero_division=1)),
    "g-mean": (GMean(), lambda y, z: gmean(recalls(y, z))),
    "h-mean": (HMean(), lambda y, z: hmean(recalls(y, z))),
    "mcc": (MCC(), metrics.matthews_corrcoef),
}


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true", "ignore:divide by zero")
@pytest.mark.filterwarnings("ignore:A single label was found")
@pytest.mark.parametrize("name", METRICS)
def test_a_loss_is_one_minus_its_metric(name):
    loss, metric = METRICS[name]
    for y, z in labelings():
        assert loss(y, z) == pytest.approx(1.0 - metric(y, z), abs=1e-12), (y, z)


def test_losses_at_k_are_the_metrics_of_the_top_k():
    rng = np.random.default_rng(1)
    for p, k in ((1, 1), (6, 2), (20, 7), (20, 20)):
        sets = Sets.rows(rng.random((9, p)) < rng.random((9, 1)))
        scores = rng.permutation(9 * p).astype(float)
        for i in range(9):
            y, s = sets.labels[i * p : (i + 1) * p], scores[i * p : (i + 1) * p]
            top = s >= np.sort(s)[-k]
            precision, recall = (f(y, top, zero_division=1) for f in (metrics.precision_score, metrics.recall_score))
            for loss, value in ((PrecisionAtK(k), precision), (RecallAtK(k), recall)):
                assert loss(y, top) == pytest.approx(1.0 - value)
                assert loss.judge(sets, scores)[i] == pytest.approx(1.0 - value)
            even = s >= np.sort(s)[-y.sum()] if y.any() else np.zeros(p, dtype=bool)
            precision, recall = (f(y, even, zero_division=1) for f in (metrics.precision_score, metrics.recall_score))
            assert precision == recall
            assert BreakEven()(y, even) == pytest.approx(1.0 - recall)
            assert BreakEven().judge(sets, scores)[i] == pytest.approx(1.0 - recall)


def test_labelings_with_another_number_of_positives_are_valued_too():
    y = [1, 1, 1, 0, 0, 0]
    assert PrecisionAtK(2)(y, [1, 0, 0, 0, 0, 0]) == pytest.approx(1 / 2)  # one place is empty
    assert PrecisionAtK(2)(y, [1, 1, 1, 1, 0, 0]) == pytest.approx(1 / 4)  # two of four, three of them right
    assert RecallAtK(2)(y, [1, 1, 1, 1, 0, 0]) == pytest.approx(1 - 1.5 / 3)
    assert BreakEven()(y, [1, 0, 0, 0, 0, 0]) == pytest.approx(2 / 3)  # recall 1/3 is below precision 1
    assert BreakEven()([0, 0], [0, 0]) == 0.0
    assert BreakEven()([0, 0], [1, 0]) == 1.0


def test_the_balanced_error_is_the_weighted_hamming_loss_of_dd():
    rng = np.random.default_rng(2)
    y, z = rng.random(30) < 0.3, rng.random(30) < 0.5
    P, N = y.sum(), (~y).sum()
    assert BalancedError()(y, z) == pytest.approx(
        ClassWeightedHamming(negative=1 / (2 * N), positive=1 / (2 * P))(y, z)
    )


def test_counts_of_large_sets_do_not_overflow():
    P, N = np.array([4e8]), np.array([6e8])
    assert MCC().of_counts(P / 4, N / 4, P, N)[0] == pytest.approx(1.0 - 0.5 * 2.4e17 / np.sqrt(4.5e8 * 5.5e8 * 2.4e17))


def test_which_losses_are_monge():
    for loss in (Jaccard(), FBeta(), FBeta(2.0), Tversky(0.3, 0.5), GMean(), HMean(), ErrorRate(), 2.0 * GMean()):
        assert is_monge(loss, 9, 14), loss
    for loss in (FBeta(0.5), MCC(), Tversky(1.0, 0.3)):
        assert not is_monge(loss, 9, 14), loss
    assert is_monge(Jaccard() + GMean(), 9, 14)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="beta must be a finite number"):
        FBeta(0.0)
    with pytest.raises(ValueError, match="alpha must be a finite number"):
        Tversky(-1.0)
    with pytest.raises(ValueError, match="zero_division must be a finite number"):
        FBeta(1.0, 2.0)
    with pytest.raises(TypeError, match="k must be a whole number"):
        PrecisionAtK(1.5)
    with pytest.raises(ValueError, match="k must be at least 1"):
        RecallAtK(0)
    with pytest.raises(ValueError, match="fits sets of 3 decisions or more; got one of 2"):
        PrecisionAtK(3)([1, 0], [1, 0])
    with pytest.raises(TypeError, match="f must be a function"):
        CountLoss(3)
    with pytest.raises(ValueError, match="promises must be among INCREASING"):
        CountLoss(lambda fn, fp, P, N: fn + fp, (Trait.CARDINALITY,))
    with pytest.raises(ValueError, match="f must return finite numbers >= 0"):
        CountLoss(lambda fn, fp, P, N: fn - fp)([1, 0], [1, 1])
