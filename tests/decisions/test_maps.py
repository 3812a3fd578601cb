"""Maps of classes: values by enumeration, certificates, and the price of a label for each pixel."""

from itertools import product

import numpy as np
import pytest

from rounds import rounds
from setwise.core.batch import Classes
from setwise.core.exceptions import Refusal
from setwise.decisions import expected_loss, least_expected_loss, least_expected_loss_of_map
from setwise.decisions.expected_loss import rule_for
from setwise.decisions.formula import formula_of
from setwise.decisions.maps import MapSearch
from setwise.losses import (
    BalancedError,
    CappedLoss,
    CostMatrix,
    ErrorRate,
    FBeta,
    GMean,
    HMean,
    Jaccard,
    MeanOverClasses,
    PrecisionAtK,
    SaturatingLoss,
)

INNER = [
    Jaccard(),
    Jaccard("ignore"),
    FBeta(zero_division=0.0),
    ErrorRate(),
    BalancedError(),
    GMean(),
    SaturatingLoss(0.3),
]


def small(case):
    """A map of a few pixels, with certain pixels and impossible classes among them."""
    rng = np.random.default_rng(case)
    p, k = int(rng.integers(1, 6)), int(rng.integers(2, 4))
    q = rng.dirichlet(np.full(k, rng.choice([0.2, 1.0, 5.0])), p)
    if case % 4 == 1:
        q = np.eye(k)[rng.integers(0, k, p)]
    if case % 4 == 2:
        q = np.broadcast_to(q[:1], q.shape).copy()
    if case % 4 == 3:
        q[:, -1] = 0.0
        q[:, 0] += 1.0 - q.sum(axis=1)
    return q


@pytest.mark.draw(10)
@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_values_and_bounds_of_small_maps(inner):
    best, cases = 0, rounds(80, 30)
    for case in range(cases):
        q = small(case)
        p, k = q.shape
        every = np.array(list(product(range(k), repeat=p)))
        chance = np.prod(q[np.arange(p), every], axis=1)
        bound_loss = MeanOverClasses(inner).bind(Classes(every.ravel(), np.arange(len(every) + 1) * p, k))
        expected = np.array([chance @ bound_loss.values(np.tile(h, len(every))) for h in every])
        found = least_expected_loss_of_map(q, inner)
        value = expected[(every == found.labels).all(axis=1)][0]
        np.testing.assert_allclose(found.values, [value], atol=1e-9)
        assert found.bounds[0] <= expected.min() + 1e-9
        assert found.exact[0] == (found.bounds[0] == found.values[0])
        best += value <= expected.min() + 1e-9
        if k == 2:
            assert value <= expected.min() + 1e-9
    # It is a search, so it need not find the best labeling of every map.
    assert best >= 0.8 * cases


def smooth_map(h, w, k, sharp):
    rng = np.random.default_rng(h)
    y, x = np.mgrid[:h, :w] / h
    z = [np.sin(9 * rng.random() * x + 9 * rng.random() * y + 6 * rng.random()) - 0.1 * c for c in range(k)]
    e = np.exp(sharp * np.stack(z, axis=-1))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.slow
@pytest.mark.draw(4)
@pytest.mark.parametrize("inner", ["jaccard", FBeta(), GMean(), HMean()], ids=repr)
def test_one_label_a_pixel_is_between_masks_and_the_most_probable_labels(inner):
    for q in (smooth_map(20, 30, 4, 1.0), smooth_map(45, 45, 5, 3.0)):
        k = q.shape[-1]
        found, masks = least_expected_loss_of_map(q, inner), least_expected_loss_of_map(q, inner, overlapping=True)
        columns = q.reshape(-1, k).T
        for labels, value in (
            (found.labels[..., None] == np.arange(k), found.values[0]),
            (masks.labels, masks.values[0]),
        ):
            alone = expected_loss(columns, labels.reshape(-1, k).T, inner)
            np.testing.assert_allclose(value, alone.mean(), atol=1e-9)
        most = expected_loss(columns, q.reshape(-1, k).argmax(axis=1) == np.arange(k)[:, None], inner).mean()
        assert masks.bounds[0] <= masks.values[0] <= found.values[0] <= most + 1e-12
        assert found.bounds[0] == masks.bounds[0]


def test_overlapping_masks_are_the_decisions_of_the_classes():
    q = np.random.default_rng(0).random((6, 7, 3))
    found = least_expected_loss_of_map(q, "f1", overlapping=True)
    alone = least_expected_loss(q.reshape(-1, 3).T, "f1")
    assert (alone.labels == found.labels.reshape(-1, 3).T).all()
    np.testing.assert_allclose(found.values, [alone.values.mean()])
    assert found.exact.all()


def test_the_mean_over_classes_may_be_named():
    q = smooth_map(8, 8, 3, 2.0)
    one, other = (least_expected_loss_of_map(q, loss) for loss in ("jaccard", MeanOverClasses("jaccard")))
    assert (one.labels == other.labels).all()
    assert one.labels.shape == (8, 8)
    assert one.labels.dtype == np.int64


def test_single_precision_is_enough():
    q = smooth_map(9, 9, 4, 2.0).astype(np.float32)
    assert least_expected_loss_of_map(q, "jaccard").labels.shape == (9, 9)


@pytest.mark.parametrize("loss", [CappedLoss(np.arange(1.0, 10.0), 2.0), PrecisionAtK(2), "auc"], ids=repr)
def test_losses_of_no_counts_are_refused(loss):
    with pytest.raises(Refusal, match=r"it is not a function of the counts of labels"):
        least_expected_loss_of_map(np.full((9, 2), 0.5), loss)


@pytest.mark.parametrize("case", range(12))
def test_a_matrix_of_costs_gives_each_pixel_its_cheapest_class(case):
    rng, q = np.random.default_rng(case), small(case)
    p, k = q.shape
    loss = CostMatrix(rng.integers(-3, 9, (k, k)))
    found = least_expected_loss_of_map(q.reshape(p, 1, k), loss)
    every = np.array(list(product(range(k), repeat=p)))
    # The expected loss of each labeling, over the truths of all pixels.
    chance = np.array([q[np.arange(p), truth].prod() for truth in every])
    costs = np.array([[loss.counted[truth, guess].mean() for truth in every] for guess in every]) @ chance
    assert found.labels.shape == (p, 1)
    assert found.exact.all()
    assert found.values[0] == pytest.approx(costs.min(), abs=1e-12)
    assert costs[(every == found.labels.ravel()).all(axis=1)][0] == pytest.approx(costs.min(), abs=1e-12)


def test_a_matrix_of_costs_needs_all_classes_of_each_pixel():
    q, loss = np.full((4, 3), 1 / 3), CostMatrix(1 - np.eye(3))
    for more in ({"overlapping": True}, {"classes": [1, 2]}):
        with pytest.raises(Refusal, match="Leave both out"):
            least_expected_loss_of_map(q, loss, **more)
    with pytest.raises(ValueError, match=r"a column for each class, 3; got 2"):
        least_expected_loss_of_map(q, CostMatrix(1 - np.eye(2)))


def test_sums_over_classes_must_be_one():
    with pytest.raises(ValueError, match=r"sum 1 over the last axis, the classes; got the sum 0.9"):
        least_expected_loss_of_map(np.full((4, 3), 0.3), "jaccard")


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("inner", [Jaccard(), FBeta(), FBeta(zero_division=0.0)], ids=repr)
def test_the_search_in_larger_maps_is_near_the_best_partition(inner, monkeypatch):
    """Where maps of ten pixels are searched as larger ones are, labels are nearly those of all divisions."""
    maps = [np.random.default_rng(case).dirichlet(np.full(4, [0.1, 0.3, 1.0, 5.0][case % 4]), 10) for case in range(40)]
    best = [least_expected_loss_of_map(q, inner) for q in maps]
    monkeypatch.setattr("setwise.decisions.maps.FEW", 0)
    found = [least_expected_loss_of_map(q, inner) for q in maps]
    excess = np.array([a.values[0] - b.values[0] for a, b in zip(found, best, strict=True)])
    assert (excess >= -1e-12).all()
    assert all(a.bounds[0] <= b.values[0] + 1e-12 for a, b in zip(found, best, strict=True))
    assert (excess < 1e-12).mean() >= 0.9
    assert excess.max() < 1e-3


def test_the_losses_of_moved_pixels_are_near_their_expectations():
    """The sum that moves make smaller is near the exact one, also where classes have few positives."""
    rng = np.random.default_rng(0)
    for inner in (Jaccard(), FBeta(2.0, zero_division=0.0)):
        for p, near in ((60, 2e-2), (600, 2e-3)):
            q = rng.dirichlet([1.0, 0.3, 0.1], p)
            formula = formula_of(inner, p)
            rule, labels = rule_for(inner, p), rng.integers(0, 3, p)
            search = MapSearch(q, np.arange(3), rule, formula, labels == np.arange(3)[:, None])
            moved = search._moved(labels)
            before, after = search._value(labels), search._value(moved)
            assert after < before - 0.05
            # From here no pixel alone leads to a loss that is clearly smaller.
            for i, c in zip(rng.integers(0, p, 30), rng.integers(0, 3, 30), strict=True):
                other = moved.copy()
                other[i] = c
                assert search._value(other) >= after - near / 10


def test_rare_classes_get_pixels_where_that_is_worth_it():
    """The most probable labels give a rare class nothing, though any pixel of it is worth more than many of others."""
    q = np.column_stack([np.linspace(0.99, 0.55, 400), np.zeros(400)])
    q[:, 1] = 1.0 - q[:, 0]
    q = np.column_stack([q[:, 0], q[:, 1] * 0.9, q[:, 1] * 0.1])
    found = least_expected_loss_of_map(q, "jaccard")
    assert not (q.argmax(axis=1) != 0).any()
    assert (np.bincount(found.labels, minlength=3) > 0).all()
    assert found.values[0] < expected_loss(q.T, np.eye(3, dtype=bool)[[0] * 400].T, "jaccard").mean() - 0.05


@pytest.mark.draw(2)
@pytest.mark.parametrize("inner", [Jaccard(), FBeta(zero_division=0.0)], ids=repr)
def test_in_large_maps_classes_that_are_nearly_surely_absent_get_nothing(inner):
    """Maps of 129 x 129 pixels are decided as well as those of 128 x 128, and never worse than by argmax."""
    excess = {}
    for side in (128, 129):
        y, x = np.mgrid[:side, :side] / side
        rng = np.random.default_rng(7)
        z = np.zeros((side, side, 8))
        for _ in range(6):
            a, b, c, size = (*rng.normal(0.0, 4.0, (2, 8)), 6.0 * rng.random(8), 2.0 * rng.random(8))
            z += size * np.sin(a * x[..., None] + b * y[..., None] + c)
        e = np.exp(z - 4.0 * np.arange(8))
        q = e / e.sum(axis=-1, keepdims=True)
        columns = q.reshape(-1, 8).T
        assert (columns.sum(axis=1)[-3:] < 0.1).all()
        found = least_expected_loss_of_map(q, inner)
        used = least_expected_loss_of_map(q, inner, overlapping=True).labels.any(axis=(0, 1))
        excess[side] = found.values[0] - found.bounds[0]
        assert excess[side] >= 0.0
        for allowed in (np.ones(8, dtype=bool), used):
            masks = np.where(allowed[:, None], columns, -1.0).argmax(axis=0) == np.arange(8)[:, None]
            assert found.values[0] <= expected_loss(columns, masks, inner).mean() + 1e-12
        assert (np.bincount(found.labels.ravel(), minlength=8)[~used] == 0).all()
    assert excess[129] <= excess[128] + 2e-3


def test_the_loss_of_a_rare_class_at_the_means_holds_the_chance_that_it_is_absent():
    q = np.full((20000, 2), [1.0 - 1e-7, 1e-7])
    search = MapSearch(
        q, np.arange(2), rule_for(Jaccard(), 20000), formula_of(Jaccard(), 20000), np.eye(2, dtype=bool)[[0] * 20000].T
    )
    nothing = search.every.losses(np.array([20000.0, 0.0]), np.array([19999.998, 0.0]))[1]
    several = search.every.losses(np.array([19990.0, 10.0]), np.array([19989.999, 1e-6]))[1]
    np.testing.assert_allclose(nothing, 1.0 - (1.0 - 1e-7) ** 20000, rtol=1e-9)
    assert several > 1.0 - 1e-6


def test_a_class_whose_pixels_cost_more_than_they_bring_is_emptied():
    """No single pixel of a mask of an absent class is worth a move, but all together are."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet([5.0, 4.0], 20000) * (1.0 - 1e-8)
    q = np.column_stack([q, np.full(20000, 1e-8)])
    labels = q.argmax(axis=1)
    labels[:20] = 2
    formula, rule = formula_of(Jaccard(), 20000), rule_for(Jaccard(), 20000)
    search = MapSearch(q, np.arange(3), rule, formula, labels == np.arange(3)[:, None])
    moved = search._moved(labels)
    assert not (moved == 2).any()
    assert search._value(moved) < search._value(labels) - 0.3
