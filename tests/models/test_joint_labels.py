"""Bilinear scores of rows and labels against their definition."""

import numpy as np
import pytest

from setwise.models import JointLabels, MultilabelModel


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    X, kappa, offsets = rng.standard_normal((7, 3)), rng.standard_normal((4, 2)), np.array([0, 2, 3, 7])
    return rng, X, kappa, offsets, JointLabels(X, kappa, offsets, intercept=2.0)


def test_scores_are_bilinear_and_slopes_their_adjoint(parts):
    rng, X, kappa, _, model = parts
    w = rng.standard_normal(model.size)
    W = w.reshape(2, 4)
    expected = np.array([[k @ W @ np.append(x, 2.0) for k in kappa] for x in X])
    np.testing.assert_allclose(model.scores(w), expected.ravel())
    g = rng.standard_normal(28)
    assert model.pullback(g) @ w == pytest.approx(g @ model.scores(w))
    chosen = np.array([2, 0])
    some = np.concatenate([expected[3:7].ravel(), expected[0:2].ravel()])
    np.testing.assert_allclose(model.scores(w, chosen), some)
    h = rng.standard_normal(24)
    each = model.pullbacks(h, chosen)
    assert each.shape == (2, model.size)
    np.testing.assert_allclose(each.sum(axis=0), model.pullback(h, chosen))
    assert each[0] @ w == pytest.approx(h[:16] @ some[:16])
    lengths = np.array([np.linalg.norm(k) * np.linalg.norm(np.append(x, 2.0)) for x in X for k in kappa])
    np.testing.assert_allclose(model.row_lengths, lengths)


def test_each_label_may_have_a_bias(parts):
    rng, X, kappa, offsets, plain = parts
    model = JointLabels(X, kappa, offsets, intercept=2.0, bias=3.0)
    w = rng.standard_normal(model.size)
    assert model.size == plain.size + 4
    expected = plain.scores(w[:-4]).reshape(7, 4) + 3.0 * w[-4:]
    np.testing.assert_allclose(model.scores(w), expected.ravel())
    np.testing.assert_allclose(model.centred(w).scores(w), 2 * expected.ravel())
    np.testing.assert_allclose(model.row_lengths**2, plain.row_lengths**2 + 9.0)


def test_with_the_identity_labels_are_their_own(parts):
    rng, X, _, offsets, _ = parts
    plain, joint = MultilabelModel(X, 4, offsets), JointLabels(X, np.eye(4), offsets)
    w, g = rng.standard_normal(plain.size), rng.standard_normal(28)
    np.testing.assert_allclose(joint.scores(w), plain.scores(w))
    np.testing.assert_allclose(joint.pullbacks(g), plain.pullbacks(g))
    moved = joint.centred(w)
    np.testing.assert_allclose(moved.scores(np.zeros(joint.size), np.array([1])), plain.scores(w, np.array([1])))


def test_what_is_refused(parts):
    _, X, *_ = parts
    for kappa in (np.ones(3), np.ones((0, 2)), [[np.nan]], "a"):
        with pytest.raises((ValueError, TypeError), match="kappa must"):
            JointLabels(X, kappa)
    with pytest.raises(ValueError, match="gradient must hold real numbers of shape"):
        JointLabels(X, np.eye(2)).pullback(np.zeros(3))
