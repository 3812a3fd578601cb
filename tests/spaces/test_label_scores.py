"""Scores of sets of labels: those of scikit-learn where it defines them, and the conventions for empty sets."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score

from setwise.losses import FBeta
from setwise.spaces import (
    FiniteSpace,
    Hierarchy,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    label_f1,
    label_precision,
    label_recall,
    mean_average_precision,
)

PAIRS = [(label_precision, precision_score), (label_recall, recall_score), (label_f1, f1_score)]
SPACE = FiniteSpace(list("abcde"))


@pytest.fixture(params=range(3))
def sets(request):
    rng = np.random.default_rng(request.param)
    Y, guess = rng.random((2, 60, 5)) < 0.3
    Y[:3] = guess[2:5] = False
    return Y, guess


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_they_are_those_of_scikit_learn(ours, theirs, sets):
    Y, guess = sets
    assert ours(SPACE, Y, guess, "pooled") == pytest.approx(theirs(Y, guess, average="micro"))
    empty = ~(Y | guess).any(axis=1)
    assert 0 < empty.sum() < 60
    rest = theirs(Y[~empty], guess[~empty], average="samples", zero_division=0)
    assert ours(SPACE, Y, guess) == pytest.approx((rest * (~empty).sum() + empty.sum()) / 60)
    assert ours(SPACE, SPACE.decode(Y), SPACE.decode(guess)) == ours(SPACE, Y, guess)


def test_f1_of_rows_is_one_minus_its_loss(sets):
    Y, guess = sets
    assert label_f1(SPACE, Y, guess) == pytest.approx(
        1.0 - np.mean([FBeta()(y, g) for y, g in zip(*sets, strict=True)])
    )


def test_pooled_scores_are_hierarchical_ones_of_closed_sets(sets):
    tree = Hierarchy({"b": "a", "c": "a", "d": "b", "e": "b"})
    Y, guess = (tree.closed(one) for one in sets)
    for ours, theirs in (
        (label_precision, hierarchical_precision),
        (label_recall, hierarchical_recall),
        (label_f1, hierarchical_f1),
    ):
        assert ours(tree, Y, guess, "pooled") == pytest.approx(theirs(tree, *sets))


def test_f1_of_rows_is_no_harmonic_mean():
    Y, guess = [["a"], ["a", "b", "c", "d", "e"]], [["a", "b", "c", "d", "e"], ["a"]]
    precision, recall, f1 = (score(SPACE, Y, guess) for score in (label_precision, label_recall, label_f1))
    assert (precision, recall) == pytest.approx((0.6, 0.6))
    assert f1 == pytest.approx(1 / 3)


def test_empty_sets():
    for score, _ in PAIRS:
        assert score(SPACE, [[]], [[]]) == 1.0
        assert score(SPACE, [[]], [[]], "pooled") == 0.0
        assert score(SPACE, [["a"]], [[]]) == score(SPACE, [[]], [["a"]]) == 0.0
        assert score(SPACE, [["a"]], [[]], "pooled") == score(SPACE, [[]], [["a"]], "pooled") == 0.0


@pytest.mark.parametrize("ties", [False, True])
def test_average_precision_is_that_of_scikit_learn(sets, ties):
    Y, rng = sets[0], np.random.default_rng(9)
    scores = rng.integers(0, 3, Y.shape) if ties else rng.standard_normal(Y.shape)
    expected = [average_precision_score(y, s) for y, s in zip(Y, scores, strict=True) if y.any()]
    assert len(expected) < len(Y)
    assert mean_average_precision(SPACE, Y, scores) == pytest.approx(np.mean(expected))
    assert mean_average_precision(SPACE, Y, Y.astype(float)) == 1.0
    assert mean_average_precision(FiniteSpace(["a"]), [["a"], []], [[0.0], [1.0]]) == 1.0
