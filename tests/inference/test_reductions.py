"""Loss-augmented inference where a decision has one of k labels."""

import numpy as np
import pytest

from rounds import rounds
from setwise import loss_augmented_inference, max_marginals
from setwise.core import enumerate as brute
from setwise.core.batch import Classes, Sets
from setwise.core.exceptions import Refusal
from setwise.inference import Auto, ByClass, GreedySearch
from setwise.losses import BreakEven, FBeta, Hamming, Jaccard, MeanOverClasses, OneClass, RocArea, ZeroOne


def problems(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        p, k = int(rng.integers(1, 6)), int(rng.integers(2, 4))
        yield rng.integers(0, k, p), rng.standard_normal((p, k)) * rng.choice([0.0, 0.1, 0.5]), p, k


def of_class(loss, y, rows, c):
    """The loss of one class against the rest, for each labeling."""
    same = Sets.rows(np.broadcast_to(y == c, rows.shape))
    return loss.bind(same).values((rows == c).ravel())


@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), Hamming()], ids=repr)
def test_one_class_against_the_rest_equals_enumeration(loss):
    for y, s, p, k in problems(40):
        rows = brute.labelings(p, k)
        for positive in range(k):
            objectives = of_class(loss, y, rows, positive) + s[np.arange(p), rows].sum(axis=1)
            truth = objectives.max()
            found = loss_augmented_inference(OneClass(loss, positive), y, s)
            assert found.exact
            assert found.value == pytest.approx(truth, abs=1e-9)
            assert objectives[(rows == found.labels).all(axis=1)] == pytest.approx(truth, abs=1e-9)


@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), Hamming()], ids=repr)
def test_mean_over_classes_is_certified_and_nearly_always_right(loss):
    right = []
    for y, s, p, k in problems(60):
        rows = brute.labelings(p, k)
        lost = np.mean([of_class(loss, y, rows, c) for c in range(k)], axis=0)
        objectives = lost + s[np.arange(p), rows].sum(axis=1)
        truth = objectives.max()
        found = loss_augmented_inference(MeanOverClasses(loss), y, s)
        assert found.value - 1e-9 <= truth <= found.bound + 1e-9
        assert objectives[(rows == found.labels).all(axis=1)] == pytest.approx(found.value, abs=1e-9)
        right.append(truth - found.value < 1e-9)
        if found.exact:
            assert right[-1]
    assert np.mean(right) > 0.9


def test_a_method_that_is_not_exact_leaves_a_bound_that_holds():
    inexact = 0
    for y, s, p, k in problems(rounds(200, 60)):
        bound_loss = MeanOverClasses(FBeta()).bind(Classes.single(y, k))
        found = ByClass(GreedySearch()).prepare(bound_loss).maximize(s.ravel())
        truth = brute.objectives(bound_loss, s.ravel(), brute.labelings(p, k)).max()
        assert found.values[0] - 1e-9 <= truth <= found.bounds[0] + 1e-9
        inexact += not found.exact[0]
    assert inexact > 0


def test_multipliers_are_kept_between_calls():
    rng = np.random.default_rng(1)
    y, s = rng.integers(0, 4, 200), 0.02 * rng.standard_normal((200, 4))
    bound_loss = MeanOverClasses(Jaccard()).bind(Classes.single(y, 4))
    cold = ByClass(Auto(), max_iter=5)
    first = cold.prepare(bound_loss).maximize(s.ravel())
    warm = cold.prepare(bound_loss)
    for _ in range(8):
        again = warm.maximize(s.ravel())
        assert again.values[0] <= first.bounds[0]
    assert again.bounds[0] - again.values[0] < first.bounds[0] - first.values[0]


def test_parts_share_their_multipliers_with_the_whole():
    rng = np.random.default_rng(2)
    y, s = rng.integers(0, 3, 60), 0.05 * rng.standard_normal((60, 3))
    batch = Classes(y, np.array([0, 20, 40, 60]), 3)
    whole = ByClass(Auto(), max_iter=10).prepare(MeanOverClasses(FBeta()).bind(batch))
    before = whole.take(np.array([1])).maximize(s[20:40].ravel())
    for _ in range(5):
        whole.maximize(s.ravel())
    after = whole.take(np.array([1])).maximize(s[20:40].ravel())
    assert after.bounds[0] <= before.bounds[0] + 1e-12


def test_max_marginals_of_classes_equal_enumeration():
    rng = np.random.default_rng(3)
    for loss in (OneClass(Jaccard(), 1), Hamming(), ZeroOne()):
        y, s = rng.integers(0, 3, 4), 0.3 * rng.standard_normal((4, 3))
        rows = brute.labelings(4, 3)
        bound_loss = loss.bind(Classes.single(y, 3))
        values = brute.objectives(bound_loss, s.ravel(), rows) + bound_loss.batch.target @ s.ravel()
        expected = [[values[rows[:, i] == v].max() for v in range(3)] for i in range(4)]
        np.testing.assert_allclose(max_marginals(loss, y, s), expected, atol=1e-9)


def test_a_number_of_steps_is_a_count():
    with pytest.raises(ValueError, match="max_iter must be at least 1"):
        ByClass(Auto(), max_iter=0)


@pytest.mark.parametrize("loss", [RocArea(), BreakEven()], ids=repr)
@pytest.mark.parametrize("kind", [MeanOverClasses, lambda loss: OneClass(loss, 0)])
def test_losses_of_scores_are_refused(kind, loss):
    with pytest.raises(Refusal, match="it evaluates scores, not labels 0 and 1"):
        kind(loss)


@pytest.mark.parametrize(
    ("y", "scores", "words"),
    [
        ([0, 1], [[[0.0]]], r"scores must have shape \(2,\)"),
        ([0, 1], [[0.0, np.nan], [1.0, 2.0]], "scores must be finite"),
        ([0, 2], [[0.0, 1.0], [1.0, 2.0]], "y must hold labels 0..1; got 2"),
        ([0, 1, 1], [[0.0, 1.0], [1.0, 2.0]], "scores must have 3 rows"),
        ([0, 0.5], [[0.0, 1.0], [1.0, 2.0]], "y must hold whole numbers"),
        ([0, 1], [[0.0], [1.0]], "number of columns of scores must be at least 2"),
    ],
)
def test_bad_input_is_refused(y, scores, words):
    with pytest.raises(ValueError, match=words):
        loss_augmented_inference(MeanOverClasses(Jaccard()), y, scores)


def test_a_class_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"label must be one of 0..1; got 2"):
        loss_augmented_inference(OneClass(Jaccard(), 2), [0, 1], [[0.0, 1.0], [1.0, 2.0]])
