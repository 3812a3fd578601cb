"""A loss is 1 - metric: the losses of counts against scikit-learn, and the numbers of the papers."""

import numpy as np
import pytest
from scipy.stats import gmean, hmean
from sklearn import metrics

from setwise import loss_augmented_inference
from setwise.core.batch import Sets
from setwise.core.exceptions import BrokenPromise
from setwise.inference.count_objective import monge_sets
from setwise.losses import (
    MCC,
    BalancedError,
    BreakEven,
    ClassWeightedHamming,
    CountFunctionLoss,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    HMean,
    Jaccard,
    PrecisionAtK,
    RecallAtK,
    SetFunctionLoss,
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


@pytest.mark.draw(10)
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
                assert loss(y, s) == loss.values(sets, scores)[i] == pytest.approx(1.0 - value)
            even = s >= np.sort(s)[-y.sum()] if y.any() else np.zeros(p, dtype=bool)
            precision, recall = (f(y, even, zero_division=1) for f in (metrics.precision_score, metrics.recall_score))
            assert precision == recall
            assert BreakEven()(y, s) == BreakEven().values(sets, scores)[i] == pytest.approx(1.0 - recall)


def test_predictions_with_another_number_of_positives_are_scores_with_ties():
    y = [1, 1, 1, 0, 0, 0]
    assert PrecisionAtK(2)(y, [1, 1, 1, 1, 0, 0]) == pytest.approx(1 / 4)  # two of four, three of them right
    assert RecallAtK(2)(y, [1, 1, 1, 1, 0, 0]) == pytest.approx(1 - 1.5 / 3)
    assert PrecisionAtK(2)(y, [1, 0, 0, 0, 0, 0]) == pytest.approx(1 - (1 + 2 / 5) / 2)  # one of the others is drawn
    assert BreakEven()([0, 0], [1.0, 0.0]) == 0.0


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


def is_monge(loss):
    return bool(monge_sets(loss.bind(Sets.single(np.arange(60) < 20)).counts)[0])


def test_which_losses_are_monge():
    for loss in (Jaccard(), FBeta(), FBeta(2.0), Tversky(0.3, 0.5), GMean(), HMean(), ErrorRate(), 2.0 * GMean()):
        assert is_monge(loss), loss
    for loss in (FBeta(0.5), MCC(), Tversky(1.0, 0.3)):
        assert not is_monge(loss), loss
    assert is_monge(Jaccard() + GMean())
    assert is_monge(Jaccard() + 2 * CountFunctionLoss(lambda fn, fp: np.sqrt(fn + fp)))


def test_the_shape_of_a_function_of_counts_is_read_off_its_tables():
    tolerant = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20))
    assert tolerant.traits == {Trait.COUNTS}
    bound = tolerant.bind(Sets.rows(np.arange(40).reshape(4, 10) % 3 == 0)).traits
    assert {Trait.INCREASING, Trait.SUBMODULAR} <= bound
    assert Trait.MODULAR not in bound
    assert Trait.MODULAR in CountFunctionLoss(lambda fn, fp: fn + 2 * fp).bind(Sets.single([0, 1, 1])).traits
    large = Sets.single(np.arange(5000) < 2000)
    assert Trait.SUBMODULAR not in tolerant.bind(large).traits  # 6 million cells are not looked at
    modular = CountFunctionLoss(tolerant.f, Trait.MODULAR)
    with pytest.raises(BrokenPromise, match="on these sets it is not supermodular and modular"):
        modular.bind(large)  # but their corner is


@pytest.mark.parametrize("promise", [Trait.SUBMODULAR, [Trait.INCREASING, Trait.SUBMODULAR], Trait.MODULAR])
def test_a_broken_promise_is_refused_when_the_loss_is_bound(promise):
    false = CountFunctionLoss(lambda fn, fp, P, N: fn * fp / 3, promise)
    with pytest.raises(BrokenPromise, match="breaks its promise: on these sets it is not submodular"):
        false([1, 1, 0, 0], [0, 0, 1, 1])
    pairs = SetFunctionLoss(lambda y, wrong: float(wrong.sum()) ** 2, promise)
    for y in (np.arange(4) % 2, np.arange(90) % 2):
        with pytest.raises(BrokenPromise, match="on these sets it is not submodular"):
            pairs.bind(Sets.single(y))


@pytest.mark.parametrize(
    "f",
    [
        lambda fn, fp, P, N: np.sum(fn + fp),
        lambda *_: 0.5,
        lambda fn, fp, P, N: (fn + fp) * 1j,
        lambda fn, fp, P, N: np.zeros(7),
        lambda fn, fp, P, N: "none",
        lambda fn, fp: 5 * fn[0],
    ],
)
def test_a_function_of_counts_must_be_vectorized(f):
    loss = CountFunctionLoss(f)
    with pytest.raises(ValueError, match="f must return real numbers of shape"):
        loss([1, 0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="f must return real numbers of shape"):
        loss_augmented_inference(loss, [1, 0, 1], np.zeros(3))


@pytest.mark.parametrize("f", [lambda fn, fp: min(fn, 2), lambda fn, fp: fn if fn > 2 else fp])
def test_words_of_python_are_told_from_words_of_arrays(f):
    with pytest.raises(ValueError, match="write np.where for if, np.minimum for min"):
        CountFunctionLoss(f)([1, 0, 1, 1], [0, 1, 1, 0])


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
    with pytest.raises(ValueError, match="fits sets of 3 decisions or more; got one of 2"):
        RecallAtK(3).bind(Sets(np.array([1, 0, 1, 1, 0, 0]) > 0, [0, 4, 6]))
    with pytest.raises(TypeError, match="f must be a function"):
        CountFunctionLoss(3)
    with pytest.raises(ValueError, match="promises must be among the traits INCREASING"):
        CountFunctionLoss(lambda fn, fp, P, N: fn + fp, (Trait.CARDINALITY,))
    with pytest.raises(TypeError, match="promises must be traits"):
        SetFunctionLoss(lambda y, wrong: 0.0, "submodular")
    assert CountFunctionLoss(lambda fn, fp: fn + fp, Trait.INCREASING).promises == {Trait.INCREASING}
    for make in (lambda: Hamming(["a"]), lambda: Hamming([1 + 2j]), lambda: Hamming([[1.0]]), lambda: Hamming([-1.0])):
        with pytest.raises(ValueError, match="weights must"):
            make()
    for value in ("a", None, 1j, True):
        with pytest.raises(TypeError, match="beta must be a number"):
            FBeta(value)
    with pytest.raises(ValueError, match="f must return finite numbers >= 0"):
        CountFunctionLoss(lambda fn, fp, P, N: fn - fp)([1, 0], [1, 1])


def test_values_beyond_float64_are_refused():
    huge = Hamming([1e300, 1e300, 1.0])
    for loss in (1e100 * huge, 1e100 * CountFunctionLoss(lambda fn, fp: 1e300 * (fn + fp))):
        with pytest.raises(OverflowError, match="overflows float64 on these predictions; scale its parameters down"):
            loss([1, 0, 1], [0, 1, 1])
        with pytest.raises(OverflowError, match="overflows float64"):
            loss.values(Sets.single([1, 0, 1]), [0, 1, 1])
    for make in (lambda: 1e308 * Hamming(), lambda: 1e99 * (1e99 * Hamming()), lambda: Tversky(1e308)):
        with pytest.raises(ValueError, match=r"must be a finite number in \(0, 1e\+100\]"):
            make()


def test_a_function_of_one_count_alone_is_a_loss_of_any_set():
    # Above a million cells the corner of the table is a column of one count and a row of the other.
    y = np.arange(3000) % 5 < 2
    for loss in (CountFunctionLoss(lambda fn, fp: 5 * fn), CountFunctionLoss(lambda fn, fp, P, N: 5 * fn / P)):
        scale = 5.0 if loss.f.__code__.co_argcount == 2 else 5.0 / y.sum()
        assert loss(y, np.zeros(3000, bool)) == pytest.approx(scale * y.sum())
        found = loss_augmented_inference(loss, y, np.zeros(3000))
        assert found.value == pytest.approx(scale * y.sum())
