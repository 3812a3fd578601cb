"""What BinaryDenoiser decides by a loss, from independent pixels, perturbed images and exact samples."""

import numpy as np
import pytest

from setwise import BinaryDenoiser
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.estimators import binary_denoiser
from setwise.estimators.binary_denoiser import numbered
from setwise.kernels.sampling import LOGISTIC
from setwise.losses import FBeta, Hamming, Jaccard
from setwise.probabilistic import Cut
from setwise.probabilistic.perturbations import noise_of

ROWS = subsets(6)
FUNCTIONS = np.stack([Cut.grid(2, 3, way).values(ROWS) for way in ((0, 1), (1, 0))], axis=1)
SEEN = subsets(6).reshape(-1, 2, 3)[::3].astype(int)


def fitted(coupling=1.2, **parameters):
    """A denoiser of given weights, under which pixels depend on each other and 0 is more probable."""
    model = BinaryDenoiser(steps=5, random_state=3, **parameters).fit(SEEN, SEEN)
    model.bias_, model.observation_ = np.full((2, 3), -0.2), 0.6
    model.coupling_ = np.array([coupling, 0.8 * coupling])
    return model


def scores_of(model):
    """``-f`` of all labelings, for each image, (images, labelings)."""
    own = ROWS @ model.bias_.ravel() - FUNCTIONS @ model.coupling_
    return own + model.observation_ * (2.0 * SEEN.reshape(-1, 6) - 1.0) @ ROWS.T


def perturbed(model):
    """The perturbed labelings of each image by enumeration, (images, samples, 6)."""
    out = []
    for image, scores in zip(numbered(SEEN, [None] * len(SEEN), np.ones(1, bool)), scores_of(model), strict=True):
        z = noise_of(LOGISTIC, np.uint64(model._seed + 1), image.number, 0, model.samples, 6, True)
        out.append(ROWS[(scores + z @ ROWS.T).argmax(axis=1)])
    return np.array(out)


def expected(chances, loss):
    """The expected loss of each labeling, (images, labelings), from the chances of all true ones."""
    true = loss.bind(Sets.rows(ROWS))
    return chances @ np.column_stack([true.values(np.tile(h, len(ROWS))) for h in ROWS])


def decided(model):
    return np.asarray(model.transform(SEEN)).reshape(-1, 6) @ (1 << np.arange(6))


@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), Hamming()], ids=repr)
def test_independent_pixels_and_perturbed_images_have_the_least_expected_loss(loss):
    model = fitted(decode=loss, samples=50)
    drawn = perturbed(model)
    q = drawn.mean(axis=1)
    np.testing.assert_allclose(q, np.reshape(model.predict_marginals(SEEN), (-1, 6)), atol=1e-12)
    alone = np.where(ROWS, q[:, None], 1.0 - q[:, None]).prod(axis=2)
    at = drawn @ (1 << np.arange(6))
    joint = np.array([np.bincount(one, minlength=64) / len(one) for one in at])
    for draws, chances in (("independent", alone), ("perturbed", joint)):
        values, chosen = expected(chances, loss), decided(model.set_params(draws=draws))
        np.testing.assert_allclose(values[np.arange(len(SEEN)), chosen], values.min(axis=1), atol=1e-12)
    np.testing.assert_allclose(q, np.reshape(model.predict_marginals(SEEN), (-1, 6)), atol=1e-12)


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), Hamming()], ids=repr)
def test_exact_samples_have_nearly_the_least_expected_loss(loss):
    model = fitted(decode=loss, samples=3000, draws="exact", coupling=0.7)
    chances = np.exp(scores_of(model))
    chances /= chances.sum(axis=1, keepdims=True)
    values, images = expected(chances, loss), np.arange(len(SEEN))
    assert (values[images, decided(model)] <= values.min(axis=1) + 0.02 * values.max()).all()
    q = np.reshape(model.predict_marginals(SEEN), (-1, 6))
    np.testing.assert_allclose(q, chances @ ROWS, atol=0.04)
    mean = decided(model.set_params(decode="mean"))
    np.testing.assert_array_equal(mean, (q > 0.5) @ (1 << np.arange(6)))


@pytest.mark.slow
def test_what_depends_on_each_other_is_decided_together():
    model = fitted(decode="jaccard", samples=3000, draws="exact", coupling=0.7)
    chances = np.exp(scores_of(model))
    values, images = expected(chances / chances.sum(axis=1, keepdims=True), Jaccard()), np.arange(len(SEEN))
    q = np.reshape(model.predict_marginals(SEEN), (-1, 6))
    alone = np.where(ROWS, q[:, None], 1.0 - q[:, None]).prod(axis=2)
    rival = expected(alone, Jaccard()).argmin(axis=1)
    exact = decided(model)
    assert (rival != exact).any()
    assert values[images, exact].mean() < values[images, rival].mean()


def test_threads_draw_the_same():
    for draws in ("perturbed", "exact"):
        one, two = (fitted(decode="f1", samples=20, draws=draws, n_jobs=jobs) for jobs in (1, 2))
        np.testing.assert_array_equal(one.transform(SEEN), two.transform(SEEN))


def test_exact_samples_that_take_too_long_are_refused(monkeypatch):
    draw = binary_denoiser.sample
    monkeypatch.setattr(binary_denoiser, "sample", lambda *args, **more: draw(*args, budget=1, **more))
    with pytest.raises(Refusal, match=r"draws='exact' refuses this image: .* Use draws='perturbed'"):
        fitted(coupling=5.0, decode="jaccard", draws="exact").transform(SEEN)
