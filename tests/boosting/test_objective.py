"""Objectives for boosters: gradients of surrogates set by set, and second derivatives of leaves that are votes."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from setwise.boosting import metric, objective
from setwise.core.exceptions import Refusal
from setwise.core.terms import Trait
from setwise.losses import (
    LOSSES,
    BalancedError,
    EarlyDetection,
    FBeta,
    Hamming,
    Jaccard,
    MeanOverClasses,
    RocArea,
    SetFunctionLoss,
    ZeroOne,
)
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp

SURROGATES = {
    "lovasz": LovaszHinge,
    "margin": lambda loss: MarginRescaling(0.1 * loss, scale="size"),
    "ramp": lambda loss: Ramp(0.1 * loss, scale="size"),
}
CASES = [
    (Jaccard(), "lovasz"),
    (Jaccard(), "ramp"),
    (FBeta(2.0), "margin"),
    (FBeta(1.0), "ramp"),
    (Hamming(), "lovasz"),
    (BalancedError(), "lovasz"),
    (2.0 * Jaccard() + 0.1 * Hamming(), "lovasz"),
    (RocArea(), "margin"),
]


def rows(seed, tied=False):
    """Labels, scores and shuffled ids of sets: of both classes, of one class only, and of one row."""
    rng = np.random.default_rng(seed)
    sizes = [7, 1, 12, 5, 4, 1]
    ids = np.repeat(np.arange(6), sizes)
    y = (rng.random(30) < 0.4).astype(float)
    y[ids == 3], y[ids == 4] = 0.0, 1.0
    y[:2], y[7], y[29] = [0, 1], 0, 1
    scores = 2.0 * rng.standard_normal(30)
    order = rng.permutation(30)
    return y[order], np.round(scores[order]) if tied else scores[order], ids[order]


def total(y, scores, ids, surrogate):
    """``n / k`` times the sum of the surrogate, one set after the other."""
    return len(y) / 6 * sum(surrogate(y[ids == i], scores[ids == i]).value for i in range(6))


@pytest.mark.draw(9)
@pytest.mark.parametrize(("loss", "name"), CASES, ids=str)
def test_gradients_are_those_of_each_set_and_of_finite_differences(loss, name):
    y, scores, ids = rows(0)
    if isinstance(loss, RocArea):
        keep = ~np.isin(ids, [1, 3, 4, 5])
        y, scores, ids = y[keep], scores[keep], np.where(ids[keep] == 0, 0, 1)
    k = len(np.unique(ids))
    surrogate = SURROGATES[name](loss)
    gradient, _ = objective(loss, groups=ids, surrogate=name)(y, scores)
    for i in range(k):
        own = surrogate(y[ids == i], scores[ids == i]).gradient * len(y) / k
        assert_allclose(gradient[ids == i], own, atol=1e-12)
    step = 1e-6
    for i in range(len(y)):
        up, down = (
            surrogate_sum(y, scores + sign * step * (np.arange(len(y)) == i), ids, surrogate) for sign in (1, -1)
        )
        assert abs((up - down) / (2 * step) - gradient[i]) < 1e-5


def surrogate_sum(y, scores, ids, surrogate):
    k = len(np.unique(ids))
    return len(y) / k * sum(surrogate(y[ids == i], scores[ids == i]).value for i in range(k))


@pytest.mark.parametrize(("loss", "name"), CASES[:7], ids=str)
def test_with_ties_the_order_of_rows_changes_nothing(loss, name):
    y, scores, ids = rows(1, tied=True)
    gradient, second = objective(loss, groups=ids, surrogate=name)(y, scores)
    same = [np.flatnonzero((y == a) & (scores == b) & (ids == c)) for a, b, c in set(zip(y, scores, ids, strict=True))]
    assert max(map(len, same)) > 1
    for tied in same:
        assert_array_equal(gradient[tied], gradient[tied[0]])
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(30)
        other = objective(loss, groups=ids[order], surrogate=name)(y[order], scores[order])
        assert_allclose(other[0], gradient[order], atol=1e-12)
        assert_allclose(other[1], second[order], atol=1e-12)


@pytest.mark.draw(2)
@pytest.mark.parametrize("scores", [np.zeros(30), rows(2, tied=True)[1]], ids=["zeros", "ties"])
@pytest.mark.parametrize(("loss", "name"), [(Jaccard(), "lovasz"), (ZeroOne(), "lovasz"), (FBeta(1.0), "margin")])
def test_with_ties_the_gradient_is_a_subgradient(loss, name, scores):
    y, _, ids = rows(2)
    surrogate = SURROGATES[name](loss)
    gradient, _ = objective(loss, groups=ids, surrogate=name)(y, scores)
    start, rng = total(y, scores, ids, surrogate), np.random.default_rng(0)
    for width in (1e-3, 0.3, 3.0):
        for _ in range(20):
            other = scores + width * rng.standard_normal(30)
            assert total(y, other, ids, surrogate) >= start + gradient @ (other - scores) - 1e-9


def test_places_in_a_set_keep_their_gradient_where_scores_tie():
    y, scores = np.array([0, 1, 1, 1, 0, 1.0]), np.zeros(6)
    loss = EarlyDetection(np.arange(6.0, 0.0, -1.0) / 6)
    gradient, _ = objective(loss)(y, scores)
    assert_allclose(gradient, 6 * LovaszHinge(loss)(y, scores).gradient)
    assert len(np.unique(gradient[y == 1])) > 1


@pytest.mark.parametrize("label", [0.0, 1.0])
@pytest.mark.parametrize("name", ["lovasz", "margin", "ramp"])
def test_one_class_only(label, name):
    y, scores = np.full(5, label), np.array([-3.0, -0.1, 0.0, 0.1, 3.0])
    gradient, second = objective("jaccard", surrogate=name)(y, scores)
    assert np.isfinite(gradient).all()
    assert (second > 0).all()
    # Nothing draws scores away from the only label.
    assert (gradient * (2 * label - 1) <= 0).all()


def test_second_derivatives_make_leaves_of_votes():
    y, scores, ids = rows(3)
    for loss, name in CASES[:6]:
        gradient, second = objective(loss, groups=ids, surrogate=name)(y, scores)
        assert (np.abs(gradient) <= second + 1e-12).all()
        # A factor of the loss, or of the weights, changes no leaf.
        by_factor = objective(100.0 * loss, groups=ids, surrogate="lovasz")(y, scores) if name == "lovasz" else None
        if by_factor is not None:
            assert_allclose(by_factor[0] / by_factor[1], gradient / second, atol=1e-9)
    gradient, second = objective("jaccard", groups=ids)(y, scores)
    assert np.abs(gradient).sum() <= 30
    assert second.min() == pytest.approx(1.0)


def test_where_nothing_is_wrong_all_gradients_are_0_and_second_derivatives_are_not():
    y, _, ids = rows(4)
    for name in SURROGATES:
        gradient, second = objective("jaccard", groups=ids, surrogate=name)(y, 100.0 * (2 * y - 1))
        assert not gradient.any()
        assert_allclose(second, 1.0)


def test_weights_weigh_sets():
    y, scores, ids = rows(5)
    weight = np.array([1.0, 0.0, 3.0, 2.0, 1.0, 5.0])
    plain, weighed = (objective("jaccard", groups=ids)(y, scores, w) for w in (None, 7.0 * weight[ids]))
    for one, other in zip(plain, weighed, strict=True):
        assert_allclose(other, one * weight[ids] / 2.0)
    with pytest.raises(ValueError, match="weight must be the same for all rows of a set"):
        objective("jaccard", groups=ids)(y, scores, np.arange(30.0))
    for wrong in (-weight[ids], 0 * weight[ids], np.ones(3)):
        with pytest.raises(ValueError, match=r"^weight must "):
            objective("jaccard", groups=ids)(y, scores, wrong)
    with pytest.raises(ValueError, match="weight must be finite"):
        objective("jaccard", groups=ids)(y, scores, weight[ids] * np.nan)


def test_one_set_of_all_rows_and_sizes_of_groups():
    y, scores, ids = rows(6)
    assert_allclose(objective("jaccard")(y, scores)[0], 30 * LovaszHinge("jaccard")(y, scores).gradient)
    order = np.argsort(ids, kind="stable")
    by_ids = objective("jaccard", groups=ids[order])(y[order], scores[order])
    # A group without rows is no set.
    sizes = np.insert(np.bincount(ids), 2, 0)
    assert_allclose(objective("jaccard")(y[order], scores[order], None, sizes), by_ids)
    with pytest.raises(ValueError, match="sizes of groups whose sum is 30"):
        objective("jaccard")(y, scores, None, [29])
    with pytest.raises(Refusal, match=r"^boosting refuses groups: the data set already has groups\. Give them once"):
        objective("jaccard", groups=ids)(y, scores, None, [30])


def test_other_labels_are_read_at_the_next_call():
    y, scores, ids = rows(7)
    own = objective("jaccard", groups=ids)
    own(y, scores)
    assert_array_equal(own(1 - y, scores)[0], objective("jaccard", groups=ids)(1 - y, scores)[0])


def test_float32_scores_have_the_gradients_of_their_values():
    y, scores, ids = rows(8)
    single = scores.astype(np.float32)
    own = objective("jaccard", groups=ids)
    assert_array_equal(own(y.astype(np.float32), single)[0], own(y, single.astype(np.float64))[0])


def test_copies_do_the_same():
    y, scores, ids = rows(9)
    own = objective("jaccard", groups=ids)
    found = own(y, scores)
    for other in (copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
        assert_array_equal(other(y, scores), found)


REFUSED = {
    "minus one": ((np.array([-1.0, 1.0]), np.zeros(2)), "labels of a booster must hold labels 0 and 1 only; got -1.0"),
    "three classes": ((np.array([0, 1, 2]), np.zeros(3)), "labels 0 and 1 only; got 2"),
    "no rows": ((np.zeros(0), np.zeros(0)), r"must have shape \(p,\) with p >= 1"),
    "NaN label": ((np.array([0, np.nan]), np.zeros(2)), "labels 0 and 1 only; got nan"),
    "NaN": ((np.array([0, 1]), np.array([0, np.nan])), "y_pred must be finite; got NaN or inf"),
    "inf": ((np.array([0, 1]), np.array([0, np.inf])), "y_pred must be finite; got NaN or inf"),
    "two scores a row": ((np.array([0, 1]), np.zeros((2, 2))), r"boosting refuses y_pred of shape \(2, 2\) for 2 rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_malformed_calls_are_refused(case):
    arguments, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=sentence):
        objective("jaccard")(*arguments)


def test_huge_scores_are_refused_where_their_sum_leaves_float64():
    with pytest.raises(OverflowError, match="y_pred are too large"):
        objective("jaccard")(np.array([0, 1]), np.array([1e306, -1e306]))
    gradient, second = objective("jaccard")(np.array([0, 1]), np.array([1e300, -1e300]))
    # The errors are equal, and then positives come first: they have the whole loss.
    assert_allclose(gradient, [0.0, -2.0])
    assert_allclose(second, [1.0, 2.0])


def test_other_rows_than_groups_has_are_refused():
    sentence = (
        "boosting refuses 20 rows: groups has 30 ids, one for each row of the whole data. For other rows, such as "
        "those of a fold, a validation set or a worker, make another objective."
    )
    y, scores, ids = rows(10)
    with pytest.raises(Refusal) as caught:
        objective("jaccard", groups=ids)(y[:20], scores[:20])
    assert caught.value.sentence == sentence


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"loss": "f1"}, Refusal, "LovaszHinge refuses FBeta"),
        ({"loss": MeanOverClasses("jaccard"), "surrogate": "ramp"}, Refusal, "it is for more than two labels"),
        ({"loss": "jaccard", "surrogate": "hinge"}, ValueError, "surrogate must be one of 'lovasz', 'margin', 'ramp'"),
        ({"loss": "jaccard", "scale": 2.0}, Refusal, r"objective refuses scale=2\.0: the Lovász hinge has no scale"),
        ({"loss": "jaccard", "surrogate": "ramp", "scale": -1.0}, ValueError, "scale must be a finite number"),
        ({"loss": "jaccard", "groups": [[1, 2]]}, ValueError, r"groups must have shape \(n,\), one id for each row"),
        ({"loss": "jaccard", "groups": []}, ValueError, r"groups must have shape \(n,\)"),
        ({"loss": "jaccard", "groups": [1.0, np.nan]}, ValueError, "groups must not hold"),
        ({"loss": "no loss"}, ValueError, "no loss"),
    ],
)
def test_malformed_arguments_are_refused(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        objective(**arguments)


@pytest.mark.parametrize("module", ["lightgbm.dask", "xgboost.dask", "xgboost.dask.utils", "xgboost.spark.core"])
def test_distributed_callers_are_refused(module):
    namespace = {"__name__": module, "own": objective("jaccard"), "y": np.array([0, 1]), "scores": np.zeros(2)}
    exec("def train():\n    return own(y, scores)", namespace)
    with pytest.raises(Refusal) as caught:
        namespace["train"]()
    caller = ".".join(module.split(".")[:2])
    assert caught.value.sentence == (
        f"objective refuses {caller}: each worker sees its own rows only, and the loss of a set needs all of its rows "
        "together. Train on one machine, for example with LGBMClassifier or xgboost.train."
    )


@pytest.mark.draw(7)
@pytest.mark.parametrize("loss", [loss for kind in LOSSES.values() for loss in kind.examples(8)], ids=repr)
@pytest.mark.parametrize("name", ["lovasz", "margin", "ramp"])
def test_every_loss_is_refused_or_has_finite_derivatives_that_follow_the_rows(loss, name):
    rng = np.random.default_rng(12)
    y, scores, ids = (rng.random(24) < 0.4).astype(float), np.round(rng.standard_normal(24)), np.repeat(np.arange(3), 8)
    try:
        own = objective(loss, groups=ids, surrogate=name)
        gradient, second = own(y, scores)
    except Refusal:
        return
    assert np.isfinite(gradient).all()
    assert (second >= np.maximum(np.abs(gradient) - 1e-9, 1e-9)).all()
    # Sets in another order keep their rows' order, which some losses read; the rows of others may change places too.
    by_counts = loss.reads == "scores" or Trait.COUNTS in loss.traits
    order = rng.permutation(24) if by_counts else np.concatenate([np.flatnonzero(ids == i) for i in (2, 0, 1)])
    other = objective(loss, groups=ids[order], surrogate=name)(y[order], scores[order])
    assert_allclose(other[0], gradient[order], atol=1e-9)
    assert_allclose(other[1], second[order], atol=1e-9)


def test_a_maximum_that_is_not_certain_is_said():
    y, scores, _ = rows(11)
    # Only bounds of this maximum are known for 30 rows; nothing is promised of the function.
    loss = SetFunctionLoss(lambda mistakes, truth: float(np.sqrt(mistakes.sum()) * (1 + (mistakes & truth).sum() % 3)))
    with pytest.warns(UserWarning, match=r"^the maximum of MarginRescaling.* is not certain for 1 of 1 sets"):
        objective(loss, surrogate="margin")(y, scores)


def test_a_metric_of_probabilities_asks_for_the_threshold_once():
    y, chances = np.array([1, 0, 1]), np.array([0.2, 0.5, 0.7])
    guessed = metric("f1", booster="xgboost")
    with pytest.warns(UserWarning, match=r"metric decides at threshold=0, .* give threshold=0.5 for probabilities"):
        guessed(y, chances)
    guessed(y, chances)
    for told in (metric("f1", booster="xgboost", threshold=0.0), metric("auc", booster="xgboost")):
        told(y, chances)
    metric("f1", booster="xgboost")(y, chances - 0.3)
