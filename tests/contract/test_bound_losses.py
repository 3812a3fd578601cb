"""Every loss bound to a batch: its counts, costs and quotients, and what is known of its labelings."""

import numpy as np
import pytest

from contract.loss_examples import batches, places
from setwise.core.batch import Classes, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.counts import Counts
from setwise.core.enumerate import labelings, subsets, table
from setwise.core.exceptions import Refusal
from setwise.core.loss import CountLoss
from setwise.core.terms import Mistakes, Trait
from setwise.losses import Hamming, Jaccard


def test_a_bound_loss_of_some_sets_is_the_bound_loss_of_all_at_them(make_any, rng):
    for loss in make_any(4):
        for sets in batches(loss, 4, rng):
            bound = loss.bind(sets)
            labels = rng.integers(0, 2, sets.total).astype(bool)
            if loss.reads == "scores" and not isinstance(bound.batch, Sets):
                labels = np.zeros(sets.total, dtype=np.int64)
            for parts in (np.array([1, 2]), np.array([3, 0]), np.array([2])):
                part = bound.take(parts)
                at = bound.batch.decisions(parts)
                np.testing.assert_allclose(part.values(labels[at]), bound.values(labels)[parts])
                np.testing.assert_array_equal(part.batch.labels, sets.take(parts).labels)


def test_label_free_losses_do_not_see_the_labels(make):
    for loss in make(5):
        if Trait.LABEL_FREE in loss.traits:
            first = table(loss, np.zeros(5))
            for y in subsets(5):
                np.testing.assert_allclose(table(loss, y), first, atol=1e-12)


def test_cardinality_losses_depend_on_the_number_of_mistakes(make):
    size = subsets(5).sum(axis=1)
    for loss in make(5):
        if Trait.CARDINALITY in loss.traits:
            for y in subsets(5):
                values = table(loss, y)
                assert all(np.ptp(values[size == k]) <= 1e-12 for k in range(6))


@pytest.mark.draw(2)
def test_counts_of_a_bound_loss_are_the_loss(make):
    masks = subsets(5)
    for loss in make(5):
        for y in subsets(5):
            counts = loss.bind(Sets.single(y)).counts
            assert counts is not None or Trait.COUNTS not in loss.traits
            if counts is None or counts.areas is not None:
                continue
            fn, fp = ((masks & side).sum(axis=1).astype(float) for side in (y, ~y))
            np.testing.assert_allclose(counts.of(fn, fp, np.zeros(len(masks), dtype=int)), table(loss, y), atol=1e-12)


def test_the_formula_of_the_counts_is_the_loss(make_any, rng):
    for loss in make_any(4):
        if not isinstance(loss, CountLoss) or loss.reads != "labels":
            continue
        for y in subsets(4):
            guess = rng.random(4) < 0.5
            counts = (y & ~guess, ~y & guess, y, ~y)
            expected = loss.of_counts(*(np.array([float(mask.sum())]) for mask in counts))[0]
            assert loss(y, guess) == pytest.approx(expected, abs=1e-12), loss


def test_quotients_are_the_loss(make_any):
    for loss in make_any(6):
        if not isinstance(loss, CountLoss):
            continue
        for P in range(7):
            N = 6 - P
            quotient = loss.quotient(np.array([float(P)]), np.array([float(N)]))
            if quotient is None:
                continue
            top, bottom = (part[0] for part in quotient)
            fn, fp = (v.ravel().astype(float) for v in np.mgrid[: P + 1, : N + 1])
            below = bottom[0] + bottom[1] * fn + bottom[2] * fp
            some = fn + fp > 0
            assert (below[some] > 0).all()
            values = loss.of_counts(fn, fp, np.full_like(fn, P), np.full_like(fn, N))
            above = top[0] + top[1] * fn + top[2] * fp
            np.testing.assert_allclose(values[some], (above / np.where(below > 0, below, 1.0))[some], atol=1e-12)


def test_monge_losses_have_mixed_differences_of_one_sign(make_any):
    for loss in make_any(8):
        for P in range(1, 8):
            if loss.reads == "classes" or isinstance(loss.bind(Sets.single(np.arange(8) < P)).batch, Classes):
                continue
            counts = loss.bind(Sets.single(np.arange(8) < P)).counts
            if isinstance(counts, Counts) and counts.monge and counts.areas is None:
                fn, fp = np.arange(P + 1.0)[:, None], np.arange(9.0 - P)
                cells = np.broadcast_to(counts.of(fn, fp, 0), (P + 1, 9 - P))
                assert (np.diff(np.diff(cells, axis=0), axis=1) <= 1e-12).all()


def test_one_more_right_decision_never_makes_diluted_losses_larger(make_any):
    for loss in make_any(8):
        if not isinstance(loss, CountLoss) or not loss.diluted:
            continue
        fn, fp, tp, tn = (x.ravel() for x in np.meshgrid(*[np.arange(6.0)] * 4, indexing="ij"))
        # A set of which nothing is known costs nothing.
        fn, fp, tp, tn = np.array([fn, fp, tp, tn])[:, fn + fp + tp + tn > 0]
        values = loss.of_counts(fn, fp, tp + fn, tn + fp)
        assert (loss.of_counts(fn, fp, tp + fn + 1.0, tn + fp) <= values + 1e-12).all()
        assert (loss.of_counts(fn, fp, tp + fn, tn + fp + 1.0) <= values + 1e-12).all()


def test_costs_and_the_rest_make_the_loss(make, rng):
    for loss in make(5):
        for sets in batches(loss, 5, rng):
            bound, labels = loss.bind(sets), rng.random(sets.total) < 0.5
            costs, rest = bound.split()
            linear = 0.0
            if costs is not None:
                assert costs.shape == (sets.total,)
                linear = np.add.reduceat(np.where(labels != sets.labels, costs, 0.0), sets.offsets[:-1])
            assert rest.split()[0] is None
            np.testing.assert_allclose(linear + rest.values(labels), bound.values(labels), atol=1e-12)


def test_the_labelings_of_least_loss_are_told(make, rng):
    rows = labelings(4, 2).astype(bool)
    for loss in make(4):
        y = rng.random(4) < 0.5
        bound = loss.bind(Sets.single(y))
        try:
            zero = bound.zero()
        except Refusal:
            assert Trait.INCREASING not in loss.traits
            continue
        values = np.array([bound.values(row)[0] for row in rows])
        expected = np.where(values <= values.min() + 1e-12, 0.0, -np.inf)
        np.testing.assert_array_equal([zero.values(row)[0] for row in rows], expected)


def test_unknown_labels_cost_nothing(make, rng):
    for loss in make(5):
        if places(loss) is not None:
            continue
        y, known = rng.random(5) < 0.5, np.array([True, False, True, True, False])
        # To the last three, unknown labels are boxes, borders and bags.
        reads = ("SetFunctionLoss", "EarlyDetection", "BoxFullness", "BorderConvexity", "CountRange")
        if any(name in repr(loss) for name in reads):
            continue
        part = Sets(np.where(known, y, -1).astype(np.int8), np.array([0, 5]))
        for guess in subsets(5):
            assert loss.bind(part).values(guess)[0] == pytest.approx(loss(y[known], guess[known]))


def test_losses_of_classes_are_bound_to_k_labels(make_any, rng):
    for loss in make_any(4):
        y = rng.integers(0, 3, 4)
        batch = Classes.single(y, 3)
        if loss.reads == "classes" or Trait.LABEL_FREE in loss.traits:
            values = [loss.bind(batch).values(row)[0] for row in labelings(4, 3)]
            assert np.isfinite(values).all()
            if Trait.INCREASING in loss.traits:
                assert loss.bind(batch).values(y)[0] == pytest.approx(min(values))
        else:
            with pytest.raises(Refusal, match=r"refuses 3 labels|refuses Classes"):
                loss.bind(batch)


@pytest.mark.parametrize("factor", [0, -2.0, np.nan, np.inf, 1e300])
def test_a_bound_loss_takes_positive_factors_only(factor):
    with pytest.raises(ValueError, match="factor must be"):
        factor * Jaccard().bind(Sets.single([1, 0, 1]))


def test_bound_losses_add_up_and_nothing_else_is_added():
    sets = Sets.single([1, 0, 1, 1])
    one, two = Jaccard().bind(sets), Hamming().bind(sets)
    labels = np.array([True, True, False, True])
    assert sum([one, two]).values(labels) == pytest.approx(one.values(labels) + two.values(labels))
    for wrong in (lambda: one + 3, lambda: 3 + one, lambda: one * "a", lambda: one * one):
        with pytest.raises(TypeError, match="unsupported operand|can't multiply"):
            wrong()


def test_terms_have_the_shape_of_their_batch():
    sets = Sets.single([1, 0, 1, 1])
    with pytest.raises(ValueError, match="costs must have shape"):
        BoundLoss(sets, (Mistakes(np.ones(3)),))
    with pytest.raises(TypeError, match="terms must be"):
        BoundLoss(sets, (1,))
