"""What every loss in ``setwise.losses`` promises to the rest of the library, checked for each of its examples."""

import dataclasses
import pickle
from itertools import pairwise

import numpy as np
import pytest

from cases import composites
from setwise.core.classes import Classes
from setwise.core.count_loss import CountLoss
from setwise.core.counts import Counts
from setwise.core.enumerate import labelings, subsets, table, traits
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Orders, Sets
from setwise.core.traits import SHAPES, Trait
from setwise.losses import LOSSES, Cardinality, Hamming, plain_losses

MAKERS = {name: kind.examples for name, kind in LOSSES.items()} | {"composites": composites}
OF_LABELS = sorted(name for name, make in MAKERS.items() if all(loss.reads == "labels" for loss in make(3)))


@pytest.fixture(params=OF_LABELS)
def make(request):
    """Instances of a loss of labels for a size p."""
    return MAKERS[request.param]


@pytest.fixture(params=sorted(MAKERS))
def make_any(request):
    """Instances of any loss for a size p."""
    return MAKERS[request.param]


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)


def ragged(sizes, rng, ratio):
    """Sets of the given sizes with labels at the given ratio."""
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Sets(rng.random(offsets[-1]) < ratio, offsets)


def batches(loss, p, rng):
    """Ragged batches where the loss takes sets of any size of at least p, else batches of sets of p."""
    sizes = [p] * 4 if places(loss) is not None else [p, p + 3, p, p + 1]
    for ratio in (0.0, 0.4, 1.0):
        yield ragged(sizes, rng, ratio)


def places(loss):
    """The number of decisions that the parameters of a loss fix, None where they fix none."""
    inner = loss.parts if hasattr(loss, "parts") else [(1.0, getattr(loss, f.name)) for f in dataclasses.fields(loss)]
    for _, value in inner:
        if isinstance(value, Loss) and places(value) is not None:
            return places(value)
        if isinstance(value, np.ndarray):
            return len(value) - (type(loss) is Cardinality)
    return None


def test_every_class_has_examples_of_its_own():
    for name, kind in LOSSES.items():
        for p in (1, 4):
            found = kind.examples(p)
            assert found, name
            assert all(type(loss) is kind for loss in found)
        assert kind.name == name
    assert {"jaccard", "f1", "auc", "hamming"} <= set(plain_losses())


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_promised_traits_hold_for_every_ground_truth(make, p):
    for loss in make(p):
        for y in subsets(p):
            missing = (loss.traits & set(SHAPES)) - traits(loss, y)
            assert not missing, f"{loss!r} promises {missing}, which fails for {y.astype(int)}"
            bound = loss.structure(Sets.single(y))
            assert not (bound.traits & set(SHAPES)) - traits(loss, y)
            assert loss.traits & set(SHAPES) <= bound.traits


def test_promises_imply_one_another(make_any):
    for loss in make_any(4):
        found = loss.traits
        assert (Trait.MODULAR not in found) or {Trait.SUBMODULAR, Trait.SUPERMODULAR} <= found
        assert (Trait.CARDINALITY not in found) or {Trait.COUNTS, Trait.LABEL_FREE} <= found
        assert not (found & loss.denied)


def test_what_is_denied_fails_for_some_ground_truth(make):
    for loss in make(5):
        held = frozenset.intersection(*(traits(loss, y) for y in subsets(5)))
        assert not (loss.denied & held), f"{loss!r} denies {loss.denied & held}, which holds for all y with p = 5"


@pytest.mark.parametrize("p", [1, 3, 6])
def test_values_are_finite_and_not_negative(make, p):
    for loss in make(p):
        for y in subsets(p):
            values = table(loss, y)
            assert np.isfinite(values).all()
            assert (values >= 0).all()


def test_a_perfect_prediction_costs_what_no_mistake_costs(make, rng):
    for loss in make(5):
        for sets in batches(loss, 5, rng):
            bound = loss.structure(sets)
            none = bound.values(sets.labels)
            np.testing.assert_allclose(bound.at_empty(), none, atol=1e-12)
            y = sets.labels[:5]
            assert loss(y, y) == pytest.approx(none[0], abs=1e-12)


def test_the_metric_is_the_set_function(make, rng):
    for loss in make(6):
        y, mistakes = rng.random(6) < 0.5, rng.random(6) < 0.5
        guess = y ^ mistakes
        assert loss(y, guess) == pytest.approx(loss.of_mistakes(y)(mistakes))
        assert loss(y.astype(int), guess.astype(float)) == loss(y, guess)
        assert isinstance(loss(y, guess), float)


def test_a_batch_is_its_sets_one_by_one(make_any, rng):
    for loss in make_any(4):
        for sets in batches(loss, 4, rng):
            guess = rng.random(sets.total) if loss.reads == "scores" else rng.random(sets.total) < 0.5
            together = loss.values(sets, guess)
            assert together.shape == (len(sets),)
            alone = [loss(sets.labels[a:b], guess[a:b]) for a, b in pairwise(sets.offsets)]
            if loss.reads != "classes":
                np.testing.assert_allclose(together, alone, atol=1e-12)


def test_a_structure_of_some_sets_is_the_structure_of_all_at_them(make_any, rng):
    for loss in make_any(4):
        for sets in batches(loss, 4, rng):
            bound = loss.structure(sets)
            labels = rng.integers(0, 2, sets.total).astype(bool)
            if loss.reads == "scores" and not isinstance(bound.batch, Sets):
                labels = np.zeros(sets.total, dtype=np.int64)
            for parts in (np.array([1, 2]), np.array([3, 0]), np.array([2])):
                part = bound.take(parts)
                at = bound.batch.decisions(parts)
                np.testing.assert_allclose(part.values(labels[at]), bound.values(labels)[parts])
                np.testing.assert_array_equal(part.batch.labels, sets.take(parts).labels)


def orders_of(sets, rng):
    """A random beginning of a random permutation of each set, sometimes none of it."""
    runs = []
    for i, (a, b) in enumerate(pairwise(sets.offsets)):
        runs.append(a + rng.permutation(b - a)[: 0 if i == 1 else rng.integers(1, b - a + 1)])
    items = np.concatenate(runs).astype(np.int32)
    return Orders(items, sets.labels[items], np.concatenate(([0], np.cumsum([len(r) for r in runs]))))


def test_gains_are_differences_of_values_along_an_order(make, rng):
    for loss in make(4):
        for sets in batches(loss, 4, rng):
            orders, bound = orders_of(sets, rng), loss.structure(sets)
            gains = bound.gains(orders)
            assert gains.shape == (len(orders.items),)
            for i, (a, b) in enumerate(pairwise(orders.offsets)):
                labels = sets.labels.copy()
                before = bound.values(labels)[i]
                for j in range(a, b):
                    labels[orders.items[j]] ^= True
                    after = bound.values(labels)[i]
                    assert gains[j] == pytest.approx(after - before, abs=1e-10)
                    before = after


def test_gains_of_the_set_function_sum_to_the_loss_of_all_mistakes(make, rng):
    for loss in make(6):
        f = loss.of_mistakes(rng.random(6) < 0.5)
        gains = f.gains(rng.permutation(6))
        assert f(np.zeros(6, dtype=bool)) + gains.sum() == pytest.approx(f(np.ones(6, dtype=bool)), abs=1e-10)


def test_marginals_are_gains_of_one_more_mistake(make, rng):
    for loss in make(4):
        for sets in batches(loss, 4, rng):
            bound = loss.structure(sets)
            for rate in (0.0, 0.5, 1.0):
                mistakes = rng.random(sets.total) < rate
                marginals, now = bound.marginals(mistakes ^ sets.labels), bound.values(mistakes ^ sets.labels)
                assert marginals.shape == (sets.total,)
                assert (marginals[mistakes] == 0).all()
                for i in np.flatnonzero(~mistakes):
                    more = mistakes.copy()
                    more[i] = True
                    owner = sets.owners[i]
                    expected = bound.values(more ^ sets.labels)[owner] - now[owner]
                    assert marginals[i] == pytest.approx(expected, abs=1e-10)


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


def test_counts_of_a_structure_are_the_loss(make):
    masks = subsets(5)
    for loss in make(5):
        for y in subsets(5):
            counts = loss.structure(Sets.single(y)).counts
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
            if loss.reads == "classes" or isinstance(loss.structure(Sets.single(np.arange(8) < P)).batch, Classes):
                continue
            counts = loss.structure(Sets.single(np.arange(8) < P)).counts
            if isinstance(counts, Counts) and counts.monge and counts.areas is None:
                fn, fp = np.arange(P + 1.0)[:, None], np.arange(9.0 - P)
                cells = np.broadcast_to(counts.of(fn, fp, 0), (P + 1, 9 - P))
                assert (np.diff(np.diff(cells, axis=0), axis=1) <= 1e-12).all()


def test_costs_and_the_rest_make_the_loss(make, rng):
    for loss in make(5):
        for sets in batches(loss, 5, rng):
            bound, labels = loss.structure(sets), rng.random(sets.total) < 0.5
            costs, rest = bound.split()
            linear = 0.0
            if costs is not None:
                assert costs.shape == (sets.total,)
                linear = np.add.reduceat(np.where(labels != sets.labels, costs, 0.0), sets.offsets[:-1])
            assert rest.split()[0] is None
            np.testing.assert_allclose(linear + rest.values(labels), bound.values(labels), atol=1e-12)


def test_a_multiple_is_a_multiple_and_a_sum_a_sum(make_any, rng):
    for loss in make_any(4):
        y = rng.random(4) < 0.5
        guess = rng.random(4) if loss.reads == "scores" else rng.random(4) < 0.5
        assert (2.5 * loss)(y, guess) == pytest.approx(2.5 * loss(y, guess))
        assert (2.5 * loss).traits == loss.traits
        assert (2.5 * loss).reads == loss.reads
        if loss.reads == "scores":
            with pytest.raises(Refusal, match="judges an order of scores"):
                loss + Hamming()
        else:
            assert (loss + loss)(y, guess) == pytest.approx(2 * loss(y, guess))
            assert sum([loss, 2 * loss])(y, guess) == pytest.approx(3 * loss(y, guess))
        with pytest.raises(ValueError, match="factor must be a finite number"):
            loss * -1.0


def test_the_labelings_of_least_loss_are_told(make, rng):
    rows = labelings(4, 2).astype(bool)
    for loss in make(4):
        y = rng.random(4) < 0.5
        bound = loss.structure(Sets.single(y))
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
        if type(loss).__name__ == "SetFunctionLoss" or "EarlyDetection" in repr(loss):
            continue
        part = Sets(np.where(known, y, -1).astype(np.int8), np.array([0, 5]))
        for guess in subsets(5):
            assert loss.structure(part).values(guess)[0] == pytest.approx(loss(y[known], guess[known]))


def test_sets_of_a_wrong_length_are_refused(make):
    for loss in make(4):
        y = np.array([1, 0, 1, 0, 1])
        if places(loss) is None:
            assert np.isfinite(loss(y, 1 - y))
            continue
        with pytest.raises(ValueError, match="decisions"):
            loss(y, y)
        with pytest.raises(ValueError, match="decisions"):
            loss.of_mistakes(y)


def test_bad_labels_are_refused(make):
    for loss in make(3):
        with pytest.raises(ValueError, match="y_pred must have the shape of y_true"):
            loss([1, 0, 1], [1, 0])
        with pytest.raises(ValueError, match="y_true must hold labels 0 and 1"):
            loss([1, 0, 2], [1, 0, 1])
        with pytest.raises(ValueError, match="y_pred must hold labels 0 and 1"):
            loss([1, 0, 1], [1, np.nan, 1])
        with pytest.raises(ValueError, match="y_true must have shape"):
            loss([[1, 0, 1]], [1, 0, 1])
        with pytest.raises(ValueError, match="y_true must have shape"):
            loss([], [])
        with pytest.raises(ValueError, match="mistakes must be bool"):
            loss.of_mistakes([1, 0, 1])([1, 0, 1])


def test_losses_are_values_that_can_be_written_and_read(make_any):
    for loss in make_any(3):
        twin = pickle.loads(pickle.dumps(loss))
        assert twin([1, 0, 1], [0, 0, 1]) == loss([1, 0, 1], [0, 0, 1])
        assert twin.traits == loss.traits
        assert " at 0x" not in repr(loss)
        assert len(repr(loss)) < 160


def test_losses_of_classes_are_bound_to_k_labels(make_any, rng):
    for loss in make_any(4):
        y = rng.integers(0, 3, 4)
        batch = Classes.single(y, 3)
        if loss.reads == "classes" or Trait.LABEL_FREE in loss.traits:
            values = [loss.structure(batch).values(row)[0] for row in labelings(4, 3)]
            assert np.isfinite(values).all()
            if Trait.INCREASING in loss.traits:
                assert loss.structure(batch).values(y)[0] == pytest.approx(min(values))
        else:
            with pytest.raises(Refusal, match=r"refuses 3 labels|refuses Classes"):
                loss.structure(batch)
