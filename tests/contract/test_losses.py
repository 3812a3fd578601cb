"""What every loss in ``setwise.losses`` promises to the rest of the library, checked for each of its examples."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from contract.loss_examples import batches, places
from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets, table, traits
from setwise.core.exceptions import Refusal
from setwise.core.terms import SHAPES, Trait
from setwise.losses import LOSSES, BorderConvexity, Hamming, SetFunctionLoss, plain_losses


def test_every_class_has_examples_of_its_own():
    for name, kind in LOSSES.items():
        for p in (1, 4):
            found = kind.examples(p)
            assert found, name
            assert all(type(loss) is kind for loss in found)
        assert kind.name == name
    assert {"jaccard", "f1", "auc", "hamming"} <= set(plain_losses())


def test_a_set_of_which_nothing_is_known_costs_nothing():
    sets = Sets(np.array([-1, -1, -1, 1, 0], np.int8), np.array([0, 3, 5]))
    for name, kind in plain_losses().items():
        loss = kind()
        # Paths need a graph.
        if loss.reads == "labels" and not isinstance(loss, BorderConvexity):
            for labels in subsets(3):
                assert loss.values(sets, [*labels, 1, 0])[0] == 0.0, name


def truths(loss, p):
    """All ground truths; some of large sets, and fewer for a function of sets, which is called for each set alone."""
    step = rounds(1, 5 if isinstance(loss, SetFunctionLoss) else 3)
    return np.concatenate([subsets(p)[::step], subsets(p)[-1:]]) if p > 3 else subsets(p)


@pytest.mark.draw(4)
@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_promised_traits_hold_for_every_ground_truth(make, p):
    for loss in make(p):
        for y in truths(loss, p):
            missing = (loss.traits & set(SHAPES)) - traits(loss, y)
            assert not missing, f"{loss!r} promises {missing}, which fails for {y.astype(int)}"
            bound = loss.bind(Sets.single(y))
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
        held, every = loss.denied, iter(subsets(5))
        while held and (y := next(every, None)) is not None:
            held &= traits(loss, y)
        assert not held, f"{loss!r} denies {held}, which holds for all y with p = 5"


@pytest.mark.draw(3)
@pytest.mark.parametrize("p", [1, 3, 6])
def test_values_are_finite_and_not_negative(make, p):
    for loss in make(p):
        for y in truths(loss, p):
            values = table(loss, y)
            assert np.isfinite(values).all()
            assert (values >= 0).all()


def test_a_perfect_prediction_costs_what_no_mistake_costs(make, rng):
    for loss in make(5):
        for sets in batches(loss, 5, rng):
            bound = loss.bind(sets)
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


def test_a_multiple_is_a_multiple_and_a_sum_a_sum(make_any, rng):
    for loss in make_any(4):
        y = rng.random(4) < 0.5
        guess = rng.random(4) if loss.reads == "scores" else rng.random(4) < 0.5
        assert (2.5 * loss)(y, guess) == pytest.approx(2.5 * loss(y, guess))
        assert (2.5 * loss).traits == loss.traits
        assert (2.5 * loss).reads == loss.reads
        if loss.reads == "scores":
            with pytest.raises(Refusal, match="reads the order of scores"):
                loss + Hamming()
        else:
            assert (loss + loss)(y, guess) == pytest.approx(2 * loss(y, guess))
            assert sum([loss, 2 * loss])(y, guess) == pytest.approx(3 * loss(y, guess))
        with pytest.raises(ValueError, match="factor must be a finite number"):
            loss * -1.0


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
