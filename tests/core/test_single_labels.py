"""Single mistakes of large spaces: their phi, and what they cost."""

from itertools import product

import numpy as np
import pytest

from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.single_labels import Flips
from setwise.losses import EqualCosts, GivenCosts, MaxLoss, NearestCosts, NearestHammingCosts


class Corners(Flips):
    """The corners of cubes: a label is a row of 0 and 1, and each number has a score where it is 1."""

    def __init__(self, truths, widths):
        super().__init__(truths, np.array(widths), np.array(widths) + 1)

    @property
    def largest(self):
        return 2

    def check_labels(self, i, labels, name):
        if ((labels < 0) | (labels > 1)).any():
            raise ValueError(f"{name} must be 0 and 1.")

    def indicators(self, labels):
        out = np.zeros(self.n_scores)
        for i in np.flatnonzero(self.named(labels)):
            out[self.score_offsets[i] : self.score_offsets[i + 1]] = [*self.of_input(i, labels), 1.0]
        return out

    def label_scores(self, i, scores, labels):
        return labels @ scores[:-1] + scores[-1]


def test_phi_of_every_label_is_minus_v_psi():
    truths = [np.array([[0, 1], [1, 1]]), np.zeros((0, 3), int), np.array([[1]])]
    batch = Corners(truths, [2, 3, 1])
    scores = np.random.default_rng(0).standard_normal(batch.n_scores)
    spans = [list(product((0, 1), repeat=width)) for width in (2, 3, 1)]
    for chosen in product(*spans):
        labels = np.concatenate([np.array(y) + 1 for y in chosen])
        right = [any((t == y).all() for t in rows) for rows, y in zip(truths, chosen, strict=True)]
        assert batch.right(labels).tolist() == right
        for i, y in enumerate(chosen):
            own = scores[batch.score_offsets[i] : batch.score_offsets[i + 1]]
            f = batch.label_scores(i, own, np.array([y]))[0]
            assert batch.won(scores, labels)[i] == pytest.approx(-f if right[i] else f)
    assert not batch.encode(batch.labels).any()
    assert not batch.right(batch.labels).any()
    again = batch.take(np.array([2, 0]))
    assert again.right(np.array([2, 1, 2])).tolist() == [True, True]


def test_costs_of_single_labels_equal_their_formulas():
    truths = [np.array([[0, 1, 1], [1, 1, 1]]), np.zeros((0, 3), int)]
    batch = Corners(truths, [3, 3])
    everything = np.array(list(product((0, 1), repeat=3)))
    hamming = NearestHammingCosts(missed=0.7)
    wanted = [
        0.7 if tuple(y) in {(0, 1, 1), (1, 1, 1)} else min((y != t).mean() for t in truths[0]) for y in everything
    ]
    np.testing.assert_allclose(hamming.of(batch, 0, everything), wanted)
    np.testing.assert_allclose(hamming.of(batch, 1, everything), 0.7)
    given = GivenCosts(lambda truths, label: len(truths) * label.mean(), most=2.0)
    np.testing.assert_allclose(given.of(batch, 0, everything), 2 * everything.mean(axis=1))
    for costs in (EqualCosts(), hamming, given, None):
        bound_loss = 3.0 * MaxLoss(costs).bind(batch)
        assert not bound_loss.values(batch.labels).any()
        for y in everything:
            labels = np.concatenate([y + 1, np.zeros(3, int)])
            one = EqualCosts() if costs is None else costs
            np.testing.assert_allclose(bound_loss.values(labels), [3.0 * one.of(batch, 0, y[None])[0], 0.0])


def test_bad_truths_and_costs_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"truths\[1\] must be whole numbers of shape \(m, 2\); got float64"):
        Corners([np.array([[0, 1]]), np.array([[0.0, 1.0]])], [2, 2])
    with pytest.raises(ValueError, match=r"truths\[0\] must hold distinct labels"):
        Corners([np.array([[0, 1], [0, 1]])], [2])
    with pytest.raises(ValueError, match=r"truths\[0\] must be 0 and 1"):
        Corners([np.array([[0, 2]])], [2])
    batch = Corners([np.array([[0, 1]])], [2])
    with pytest.raises(Refusal, match="too many to list. Use costs of single labels"):
        MaxLoss(NearestCosts(np.eye(2))).bind(batch)
    with pytest.raises(Refusal, match="whose labels are listed. Use numbers for costs"):
        MaxLoss(NearestHammingCosts()).bind(Sets.single([0, 1]))
    with pytest.raises(ValueError, match=r"must be from 0 to 1; got 3"):
        MaxLoss(GivenCosts(lambda truths, label: 3.0)).bind(batch).values(np.array([1, 1]))
    with pytest.raises(ValueError, match="most must be"):
        GivenCosts(len, most=np.nan)
    with pytest.raises(TypeError, match="function must be callable"):
        GivenCosts(3)


def test_functions_of_costs_cannot_change_labels():
    def greedy(truths, label):
        label[0] = 0
        return 1.0

    batch = Corners([np.array([[0, 1]])], [2])
    with pytest.raises(ValueError, match="read-only"):
        MaxLoss(GivenCosts(greedy)).bind(batch).values(np.array([1, 1]))
