"""What every loss exported by ``setwise.losses`` promises to the rest of the library, checked for each of them."""

import dataclasses
import inspect
import pickle
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from setwise import losses
from setwise.core.counts import CountBased
from setwise.core.enumerate import subsets, table, traits
from setwise.core.loss import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Orders, Sets
from setwise.core.traits import Trait

SHAPES = {Trait.INCREASING, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR}


def _root_of_mistakes(y, mistakes):
    return float(np.sqrt(mistakes.sum() + (mistakes & y).sum()))


def _misses_squared(fn, fp, P, N):
    return fn**2 + 0.5 * fp + 0.0 * (P + N)


def _weights(p):
    return np.random.default_rng(p).integers(0, 9, p) / 4


# One row a class: instances for sets of p decisions. A loss without a row fails test_every_loss_has_a_row.
ROWS: dict[str, Callable[[int], list[Loss]]] = {
    "AreaWeighted": lambda p: [
        losses.AreaWeighted(losses.Jaccard(), _weights(p) + 0.25),
        losses.AreaWeighted(losses.FBeta(), _weights(p) + 0.25),
        losses.AreaWeighted(losses.BalancedError(), (_weights(p) + 0.25) / 100),
    ],
    "BalancedError": lambda p: [losses.BalancedError()],
    "BreakEven": lambda p: [losses.BreakEven()],
    "Capped": lambda p: [
        losses.Capped(_weights(p), 1.5),
        losses.Capped(_weights(p), 1e3),
        losses.Capped(np.full(p, 0.5), 0.75),
    ],
    "Cardinality": lambda p: [
        losses.Cardinality(np.sqrt(np.arange(p + 1.0))),
        losses.Cardinality(np.arange(p + 1.0) ** 2),
        losses.Cardinality(3.0 * np.arange(p + 1.0)),
        losses.Cardinality(np.minimum(np.arange(p + 1), p - np.arange(p + 1)) + 1.0),
        losses.Cardinality(np.random.default_rng(p).random(p + 1)),
    ],
    "ClassWeighted": lambda p: [
        losses.ClassWeighted(losses.Jaccard(), 0.5, 2.0),
        losses.ClassWeighted(losses.Jaccard("fraction"), 0.01, 0.02),
        losses.ClassWeighted(losses.BalancedError(), 0.1, 0.03),
        losses.ClassWeighted(losses.FBeta(zero_division=0.5), 3.0, 1.0),
    ],
    "ClassWeightedHamming": lambda p: [losses.ClassWeightedHamming(0.5, 2.0), losses.ClassWeightedHamming(0.0, 1.0)],
    "CountLoss": lambda p: [
        losses.CountLoss(_misses_squared, (Trait.INCREASING, Trait.SUPERMODULAR)),
        losses.CountLoss(_misses_squared),
    ],
    "EarlyDetection": lambda p: [losses.EarlyDetection(), losses.EarlyDetection(_weights(p))],
    "ErrorRate": lambda p: [losses.ErrorRate()],
    "FBeta": lambda p: [losses.FBeta(), losses.FBeta(2.0, zero_division=0.0), losses.FBeta(0.5, zero_division=0.25)],
    "GMean": lambda p: [losses.GMean()],
    "HMean": lambda p: [losses.HMean()],
    "Hamming": lambda p: [losses.Hamming(), losses.Hamming(_weights(p)), losses.Hamming(np.full(p, 2.0))],
    "Jaccard": lambda p: [losses.Jaccard(), losses.Jaccard("fraction"), losses.Jaccard("ignore")],
    "MCC": lambda p: [losses.MCC()],
    "PrecisionAtK": lambda p: [losses.PrecisionAtK(1), losses.PrecisionAtK((p + 1) // 2)],
    "RecallAtK": lambda p: [losses.RecallAtK(1), losses.RecallAtK((p + 1) // 2, zero_division=0.5)],
    "Saturating": lambda p: [
        losses.Saturating(),
        losses.Saturating(0.3, _weights(p)),
        losses.Saturating(2.0, np.full(p, 0.5)),
    ],
    "SetFunctionLoss": lambda p: [
        losses.SetFunctionLoss(_root_of_mistakes, (Trait.INCREASING, Trait.SUBMODULAR)),
        losses.SetFunctionLoss(_root_of_mistakes),
    ],
    "Tversky": lambda p: [
        losses.Tversky(),
        losses.Tversky(0.3, 1.5, zero_division=0.0),
        losses.Tversky(2.0, 1.0, zero_division=0.5),
    ],
    "ZeroOne": lambda p: [losses.ZeroOne()],
}

EXPORTED = sorted(
    name
    for name in losses.__all__
    if inspect.isclass(getattr(losses, name)) and issubclass(getattr(losses, name), Loss) and name != "Loss"
)


def test_every_loss_has_a_row():
    assert set(EXPORTED) <= set(ROWS), "add a row to ROWS in this file for each new loss"


def test_every_row_makes_its_class():
    for name in EXPORTED:
        assert all(type(loss).__name__ == name for loss in ROWS[name](3))


def _composites(p):
    """What is made of losses is a loss too."""
    count = losses.Jaccard() + 0.5 * losses.ZeroOne()
    timely = 3 * (losses.EarlyDetection() + losses.Hamming())
    return [count, 0.1 * count, timely, 2.0 * losses.Hamming(_weights(p))]


MAKERS = {name: ROWS[name] for name in EXPORTED if name in ROWS} | {"composites": _composites}


@pytest.fixture(params=sorted(MAKERS))
def make(request):
    """Instances for a size p."""
    return MAKERS[request.param]


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)


def _ragged(sizes, rng, ratio):
    """Sets of the given sizes with labels at the given ratio."""
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Sets(rng.random(offsets[-1]) < ratio, offsets)


def _batches(loss, p, rng):
    """Ragged batches where the loss takes sets of any size of at least p, else batches of sets of p."""
    sizes = [p] * 4 if _places(loss) is not None else [p, p + 3, p, p + 1]
    for ratio in (0.0, 0.4, 1.0):
        yield _ragged(sizes, rng, ratio)


def _places(loss):
    """The number of decisions that the parameters of a loss fix, None where they fix none."""
    if not dataclasses.is_dataclass(loss):
        return None
    for field in dataclasses.fields(loss):
        value = getattr(loss, field.name)
        if isinstance(value, Loss) and _places(value) is not None:
            return _places(value)
        if isinstance(value, np.ndarray):
            return len(value) - (type(loss) is losses.Cardinality)
    return None


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_promised_traits_hold_for_every_ground_truth(make, p):
    for loss in make(p):
        for y in subsets(p):
            missing = (loss.traits & SHAPES) - traits(loss, y)
            assert not missing, f"{loss!r} promises {missing}, which fails for {y.astype(int)}"


def test_promises_imply_one_another(make):
    for loss in make(4):
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
        for sets in _batches(loss, 5, rng):
            none = loss.values(sets, np.zeros(sets.total, dtype=bool))
            np.testing.assert_allclose(loss.at_none(sets), none, atol=1e-12)
            y = sets.labels[:5]
            assert loss(y, y) == pytest.approx(none[0], abs=1e-12)


def test_the_metric_is_the_set_function(make, rng):
    for loss in make(6):
        y, mistakes = rng.random(6) < 0.5, rng.random(6) < 0.5
        guess = y ^ mistakes
        assert loss(y, guess) == loss.of_mistakes(y)(mistakes)
        assert loss(y.astype(int), guess.astype(float)) == loss(y, guess)
        assert isinstance(loss(y, guess), float)


def test_a_batch_is_its_sets_one_by_one(make, rng):
    for loss in make(4):
        for sets in _batches(loss, 4, rng):
            mistakes = rng.random(sets.total) < 0.5
            together = loss.values(sets, mistakes)
            assert together.shape == (len(sets),)
            alone = [loss.of_mistakes(sets.labels[a:b])(mistakes[a:b]) for a, b in pairwise(sets.offsets)]
            np.testing.assert_allclose(together, alone, atol=1e-12)


def test_scores_are_judged_by_their_signs_or_by_the_largest_of_them(make, rng):
    for loss in make(4):
        for sets in _batches(loss, 4, rng):
            scores = rng.permutation(sets.total) - 0.5 * sets.total + 0.25
            chosen, predicted = scores > 0, None
            if isinstance(loss, CountBased):
                predicted = loss.predicted(sets.positives.astype(float), sets.negatives.astype(float))
            if predicted is not None:
                chosen = np.concatenate(
                    [
                        scores[a:b] > np.sort(scores[a:b])[::-1][int(k) - 1] - 0.5 if k else np.zeros(b - a, dtype=bool)
                        for (a, b), k in zip(pairwise(sets.offsets), predicted, strict=True)
                    ]
                )
            np.testing.assert_array_equal(loss.judge(sets, scores), loss.values(sets, chosen != sets.labels))


def _orders(sets, rng):
    """A random beginning of a random permutation of each set, sometimes none of it."""
    runs = []
    for i, (a, b) in enumerate(pairwise(sets.offsets)):
        runs.append(a + rng.permutation(b - a)[: 0 if i == 1 else rng.integers(1, b - a + 1)])
    items = np.concatenate(runs).astype(np.int32)
    return Orders(items, sets.labels[items], np.concatenate(([0], np.cumsum([len(r) for r in runs]))))


def test_gains_are_differences_of_values_along_an_order(make, rng):
    for loss in make(4):
        for sets in _batches(loss, 4, rng):
            orders = _orders(sets, rng)
            gains = loss.gains(sets, orders)
            assert gains.shape == (len(orders.items),)
            for i, (a, b) in enumerate(pairwise(orders.offsets)):
                mistakes = np.zeros(sets.total, dtype=bool)
                before = loss.values(sets, mistakes)[i]
                for j in range(a, b):
                    mistakes[orders.items[j]] = True
                    after = loss.values(sets, mistakes)[i]
                    assert gains[j] == pytest.approx(after - before, abs=1e-10)
                    before = after


def test_gains_of_the_set_function_sum_to_the_loss_of_all_mistakes(make, rng):
    for loss in make(6):
        f = loss.of_mistakes(rng.random(6) < 0.5)
        gains = f.gains(rng.permutation(6))
        assert f(np.zeros(6, dtype=bool)) + gains.sum() == pytest.approx(f(np.ones(6, dtype=bool)), abs=1e-10)


def test_marginals_are_gains_of_one_more_mistake(make, rng):
    for loss in make(4):
        for sets in _batches(loss, 4, rng):
            for rate in (0.0, 0.5, 1.0):
                mistakes = rng.random(sets.total) < rate
                marginals, now = loss.marginals(sets, mistakes), loss.values(sets, mistakes)
                assert marginals.shape == (sets.total,)
                assert (marginals[mistakes] == 0).all()
                for i in np.flatnonzero(~mistakes):
                    more = mistakes.copy()
                    more[i] = True
                    owner = sets.owners[i]
                    expected = loss.values(sets, more)[owner] - now[owner]
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


def test_count_losses_are_functions_of_the_counts(make):
    masks = subsets(5)
    for loss in make(5):
        for y in subsets(5):
            fn, fp = ((masks & side).sum(axis=1).astype(float) for side in (y, ~y))
            P, N = (np.full(len(masks), float(side.sum())) for side in (y, ~y))
            if Trait.COUNTS in loss.traits:
                np.testing.assert_allclose(loss.of_counts(fn, fp, P, N), table(loss, y), atol=1e-12)
            else:
                with pytest.raises(Refusal, match="not a function of"):
                    loss.of_counts(fn, fp, P, N)


def test_quotients_are_the_loss(make):
    for loss in make(6):
        if not isinstance(loss, CountBased):
            continue
        for P in range(7):
            N = 6 - P
            quotient = loss.quotient(np.array([float(P)]), np.array([float(N)]))
            if quotient is None:
                continue
            top, bottom = (part[0] for part in quotient)
            fn, fp = (v.ravel().astype(float) for v in np.mgrid[: P + 1, : N + 1])
            below = bottom[0] + bottom[1] * fn + bottom[2] * fp
            assert (below[fn + fp > 0] > 0).all()
            made = (fn + fp > 0) | (below > 0)
            values = loss.of_counts(fn, fp, np.full_like(fn, P), np.full_like(fn, N))
            above = top[0] + top[1] * fn + top[2] * fp
            np.testing.assert_allclose(values[made], (above / np.where(below > 0, below, 1.0))[made], atol=1e-12)


def test_monge_losses_have_mixed_differences_of_one_sign(make):
    for loss in make(8):
        if not isinstance(loss, CountBased):
            continue
        for P in range(1, 8):
            N = 8 - P
            if loss.monge(P, N):
                fn, fp = np.arange(P + 1.0)[:, None], np.arange(N + 1.0)
                cells = np.broadcast_to(loss.of_counts(fn, fp, np.float64(P), np.float64(N)), (P + 1, N + 1))
                assert (np.diff(np.diff(cells, axis=0), axis=1) <= 1e-12).all()


def test_costs_and_the_curved_rest_make_the_loss(make, rng):
    for loss in make(5):
        rest = loss.curved
        assert (rest is None) <= (Trait.MODULAR in loss.traits)
        for sets in _batches(loss, 5, rng):
            mistakes = rng.random(sets.total) < 0.5
            costs = loss.costs(sets)
            assert costs.shape == (sets.total,)
            linear = np.add.reduceat(np.where(mistakes, costs, 0.0), sets.offsets[:-1])
            bent = 0.0 if rest is None else rest.values(sets, mistakes)
            np.testing.assert_allclose(linear + bent, loss.values(sets, mistakes), atol=1e-12)


def test_a_multiple_is_a_multiple(make, rng):
    for loss in make(4):
        y, guess = rng.random(4) < 0.5, rng.random(4) < 0.5
        assert (2.5 * loss)(y, guess) == pytest.approx(2.5 * loss(y, guess))
        assert (2.5 * loss).traits == loss.traits
        assert (2.5 * loss).tied == loss.tied
        if loss.tied:
            with pytest.raises(Refusal, match="ties the number of predicted positives"):
                loss + losses.Hamming()
        else:
            assert (loss + loss)(y, guess) == pytest.approx(2 * loss(y, guess))
        with pytest.raises(ValueError, match="factor must be a finite number"):
            loss * -1.0


def test_sets_of_a_wrong_length_are_refused(make):
    for loss in make(4):
        y = np.array([1, 0, 1, 0, 1])
        if _places(loss) is None:
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


def test_losses_are_values_that_can_be_written_and_read(make):
    for loss in make(3):
        twin = pickle.loads(pickle.dumps(loss))
        assert twin([1, 0, 1], [0, 0, 1]) == loss([1, 0, 1], [0, 0, 1])
        assert twin.traits == loss.traits
        assert " at 0x" not in repr(loss)
        assert len(repr(loss)) < 160
