"""Losses about labelings with a given number of predicted positives: precision and recall at k, break-even."""

from itertools import permutations

import numpy as np
import pytest

from setwise import SetClassifier
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.inference import GreedySearch
from setwise.losses import BreakEven, Hamming, PrecisionAtK, RecallAtK
from setwise.surrogates import MarginRescaling, SlackRescaling


@pytest.mark.parametrize("loss", [BreakEven(), PrecisionAtK(3), RecallAtK(3), 2 * BreakEven()], ids=repr)
def test_the_number_is_never_dropped_in_silence(loss):
    bound_loss = loss.bind(Sets.single([0, 1, 1, 0, 0]))
    allowed = [guess for guess in subsets(5) if bound_loss.values(guess)[0] > -np.inf]
    assert {int(guess.sum()) for guess in allowed} == {3 if "K" in repr(loss) else 2}
    assert "the number of predicted positives is given. Use CountSearch" in GreedySearch().refuses(bound_loss)
    for add in (lambda: loss + Hamming(), lambda: Hamming() + loss):
        with pytest.raises(Refusal, match="reads the order of scores, not labels. Train for it alone"):
            add()


def test_a_multiple_judges_by_the_same_labeling():
    y, s = np.array([1, 0, 1, 0]), np.array([-1.0, -2.0, -3.0, -4.0])
    assert (2 * BreakEven())(y, s) == pytest.approx(2 * BreakEven()(y, s)) == pytest.approx(1.0)


def of_chosen(loss, y, chosen):
    """The loss of a labeling with the right number of predicted positives."""
    return loss.bind(Sets.single(y)).values(chosen)[0]


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", [BreakEven(), PrecisionAtK(2), RecallAtK(3)], ids=repr)
def test_equal_scores_share_the_last_places_in_expectation(loss):
    rng = np.random.default_rng(3)
    for _ in range(20):
        y, s = rng.random(5) < 0.5, rng.integers(0, 3, 5) / 2
        k = int(y.sum()) if isinstance(loss, BreakEven) else loss.k
        chosen = []
        for order in permutations(range(5)):
            best = sorted(order, key=lambda i, order=order: (-s[i], order.index(i)))[:k]
            chosen.append(of_chosen(loss, y, np.isin(np.arange(5), best)))
        assert loss(y, s) == pytest.approx(np.mean(chosen))


def test_break_even_of_a_sorted_file_is_not_perfect_without_a_model():
    assert BreakEven()(np.arange(10) < 3, np.zeros(10)) == pytest.approx(0.7)


def test_break_even_bounds_its_loss():
    rng = np.random.default_rng(0)
    for _ in range(50):
        y, s = rng.random(12) < 0.4, rng.standard_normal(12)
        assert MarginRescaling(BreakEven())(y, s).value >= BreakEven()(y, s) - 1e-12


@pytest.mark.parametrize("make", [PrecisionAtK, RecallAtK])
def test_margin_rescaling_compares_with_the_mean_of_the_best_labelings(make):
    rng = np.random.default_rng(1)
    for _ in range(60):
        p = int(rng.integers(2, 8))
        k = int(rng.integers(1, p + 1))
        y, s = rng.random(p) < rng.choice([0.0, 0.3, 0.6, 1.0]), rng.standard_normal(p)
        loss, P = make(k), int(y.sum())
        allowed = [guess for guess in subsets(p) if guess.sum() == k]
        fewest = min((guess ^ y).sum() for guess in allowed)
        target = np.mean([guess for guess in allowed if (guess ^ y).sum() == fewest], axis=0)
        truth = max(of_chosen(loss, y, guess) + s @ (guess - target) for guess in allowed)
        found = MarginRescaling(loss)(y, s)
        assert found.value == pytest.approx(truth, abs=1e-9)
        assert found.value >= loss(y, s) - 1e-12
        other = rng.standard_normal(p)
        assert MarginRescaling(loss)(y, other).value >= found.value + found.gradient @ (other - s) - 1e-9
        if k != P:
            with pytest.raises(Refusal, match="the truth is not one of the labelings it takes"):
                SlackRescaling(loss)(y, s)


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", [PrecisionAtK(1), RecallAtK(2), BreakEven()], ids=repr)
def test_learners_agree(loss):
    rng = np.random.default_rng(2)
    X, groups = rng.standard_normal((60, 3)), np.repeat(np.arange(10), 6)
    y = X[:, 0] + rng.standard_normal(60) > 0.3
    fits = [
        SetClassifier(loss, "margin", learner, C=20, tol=1e-4, random_state=0).fit(X, y, groups=groups)
        for learner in ("one_slack", "n_slack", "block_frank_wolfe")
    ]
    assert all(fit.objective_ == pytest.approx(fits[0].objective_, rel=2e-4) for fit in fits)


def test_a_depth_beyond_the_set_is_refused_in_batches_too():
    sets = Sets.single([1, 0, 1])
    for run in (MarginRescaling(PrecisionAtK(7)).batch, PrecisionAtK(7).values):
        with pytest.raises(ValueError, match="fits sets of 7 decisions or more; got one of 3"):
            run(sets, np.zeros(3))
