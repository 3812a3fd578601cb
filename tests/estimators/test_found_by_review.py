"""Defects that a review found, each with the case that showed it."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from setwise import SetClassifier
from setwise.core.risk import SurrogateRisk
from setwise.core.sets import Sets
from setwise.learners import OneSlack
from setwise.losses import Capped, EarlyDetection, FBeta, Hamming, Jaccard, RocArea
from setwise.models import Independent
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling, is_extension, margin_scale


@pytest.mark.parametrize("surrogate", [LovaszHinge(Jaccard()), MarginRescaling(FBeta()), SlackRescaling(Jaccard())])
@pytest.mark.parametrize("size", [0, 3, 5, 4000])
def test_a_batch_checks_the_number_of_its_scores(surrogate, size):
    with pytest.raises(ValueError, match=r"scores must have shape \(4,\)"):
        surrogate.batch(Sets.rows([[1, 0], [0, 1]]), np.zeros(size))


@pytest.mark.parametrize("kind", [LovaszHinge, MarginRescaling, SlackRescaling])
def test_a_value_beyond_float64_is_refused_and_not_called_exact(kind):
    with pytest.raises(OverflowError, match="scores are too large"):
        kind(Hamming())([1, 0, 1, 1], [-1.7e308, 1.7e308, -1.7e308, -1.7e308])


def test_a_batch_takes_whole_numbers_as_numbers():
    sets = Sets.rows([[1, 0], [0, 1]])
    whole, real = (LovaszHinge(Jaccard()).batch(sets, s).gradient for s in (np.zeros(4, int), np.zeros(4)))
    np.testing.assert_array_equal(whole, real)
    swapped = LovaszHinge(Jaccard()).batch(sets, np.zeros(4, ">f8"))
    np.testing.assert_array_equal(swapped.gradient, real)


@pytest.mark.parametrize("loss", [Capped([1, 1, 5], 9.0), Hamming([1, 2, 3]), EarlyDetection([1.0])])
def test_a_batch_checks_that_its_loss_fits(loss):
    with pytest.raises(ValueError, match="weights, one for each place"):
        LovaszHinge(loss).batch(Sets.rows([[1, 0], [0, 1]]), np.zeros(4))


@pytest.mark.parametrize(
    ("labels", "offsets", "words"),
    [
        (np.array([2, 0, 1]), np.array([0, 3]), "labels must be bool"),
        ([True, False], np.array([0.0, 2.0]), "offsets must be int64"),
        (np.ones((2, 2), dtype=bool), np.array([0, 4]), "labels must be bool of shape"),
    ],
)
def test_sets_hold_bools_and_whole_offsets(labels, offsets, words):
    with pytest.raises(ValueError, match=words):
        Sets(labels, offsets)


@pytest.mark.parametrize("loss", ["hamming", "jaccard"])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_the_size_of_features_does_not_stop_learning(loss, size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(300) > 0.3
    model = SetClassifier(loss, C=100).fit(X * size, y)
    assert model.duality_gap_ <= 1e-3
    assert (model.predict(X * size) == y).mean() > 0.85


def test_bounds_give_way_to_rounding():
    rng = np.random.default_rng(1)
    X = 1e40 * rng.standard_normal((50, 2))
    risk = SurrogateRisk(Independent(), X, Sets.single(X[:, 0] > 0), LovaszHinge(Jaccard()))
    fit = OneSlack(10.0, max_iter=50).minimize(risk)
    assert fit.lower_bound <= fit.upper_bound


def test_an_early_interrupt_is_not_swallowed():
    X, y = np.eye(4), np.array([True, False, True, False])
    risk = SurrogateRisk(Independent(), X, Sets.single(y), LovaszHinge(Jaccard()))
    risk.cut = _raise
    with pytest.raises(KeyboardInterrupt):
        OneSlack().minimize(risk)


def _raise(w):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        ({"groups": np.array(["a", 1, 1, "a"], dtype=object)}, "groups must be ids of one type"),
        ({"groups": np.array(["2020-01-01", "NaT", "2020-01-01", "NaT"], dtype="M8[D]")}, "groups must not hold NaT"),
        ({"y": csr_matrix(np.eye(4))}, "a label matrix Y must be dense"),
    ],
)
def test_groups_and_targets_are_refused_in_sentences(fit, words):
    arguments = {"X": np.eye(4)[:, :2], "y": [0, 1, 0, 1]} | fit
    with pytest.raises(ValueError, match=words):
        SetClassifier().fit(**arguments)


@pytest.mark.parametrize("parameters", [{"loss": Jaccard}, {"surrogate": LovaszHinge}, {"learner": OneSlack}])
def test_a_class_is_not_an_object(parameters):
    with pytest.raises(ValueError, match="parameter of SetClassifier"):
        SetClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_other_sentences():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(ValueError, match="class_weight must weigh the classes"):
        SetClassifier("hamming", class_weight={0: 1, 1: 2, 9: 1}).fit(X, y)
    with pytest.raises(ValueError, match="y must be an array of labels"):
        SetClassifier().fit(X, y).score(X, None)
    with pytest.raises(OverflowError, match="scale X or C down"):
        SetClassifier(C=1e300).fit(X, y)
    for make in (lambda: LovaszHinge("jaccard"), lambda: MarginRescaling("f1"), lambda: SlackRescaling(Jaccard)):
        with pytest.raises(TypeError, match="loss must be a loss object"):
            make()
    with pytest.raises(TypeError, match="inference must be None or an Inference"):
        MarginRescaling(FBeta(), "greedy")
    with pytest.raises(ValueError, match="weights must be 1 finite numbers"):
        SurrogateRisk(Independent(), np.eye(2), Sets.single([0, 1]), LovaszHinge(Jaccard()), np.array([-1.0]))
    with pytest.raises(ValueError, match="has 2 weights"):
        is_extension(LovaszHinge(Capped([1, 1], 1.0)), 3)
    with pytest.raises(ValueError, match="1 to 16 decisions"):
        is_extension(LovaszHinge(Jaccard()), -1)
    for ask in (lambda: is_extension(MarginRescaling(RocArea()), 3), lambda: margin_scale(RocArea(), [0, 1])):
        with pytest.raises(ValueError, match="judges a ranking"):
            ask()
    assert margin_scale(1e-20 * Hamming(), [0, 1]) == pytest.approx(1e20)
