"""BinaryDenoiser and LogSupermodularModel: restoring images of disks, and the likelihood of such images."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from setwise import BinaryDenoiser, LogSupermodularModel
from setwise.core.exceptions import Refusal
from setwise.estimators import binary_denoiser, log_supermodular_model
from setwise.probabilistic import ConcaveSizeFunction, Cut, exact, training


def disks(n, shape=(14, 12), seed=0, pi=0.1):
    """Images of disks, and the same with flipped pixels."""
    rng = np.random.default_rng(seed)
    row, column = np.indices(shape)
    clean = np.array([
        np.hypot(row - rng.uniform(4, 9), column - rng.uniform(4, 8)) < rng.uniform(2.5, 4.5) for _ in range(n)
    ]).astype(np.int8)  # fmt: skip
    return clean ^ (rng.random(clean.shape) < pi), clean


TRAIN, TEST = disks(40), disks(40, seed=1)


def wrong(model, noisy=TEST[0], clean=TEST[1]):
    return 1.0 - model.score(noisy, clean)


@pytest.mark.slow
@pytest.mark.draw(9)
@pytest.mark.parametrize(
    "parameters",
    [{}, {"observation": "learned"}, {"noise": 0.1}, {"noise": "learned"}, {"bias": "shared"}, {"decode": "max"},
     {"decode": "jaccard"}],
)  # fmt: skip
def test_clean_images_beside_noisy_ones(parameters):
    model = BinaryDenoiser(random_state=0, **parameters).fit(*TRAIN)
    assert wrong(model) < 0.045
    assert (model.coupling_ > 0.3).all()
    assert model.n_iter_ == 3000
    found = model.transform(TEST[0])
    assert found.dtype == np.int8
    assert found.shape == TEST[0].shape
    assert wrong(model) == pytest.approx((found != TEST[1]).mean())


@pytest.mark.draw(2)
@pytest.mark.parametrize("parameters", [{"noise": 0.1}, {"noise": "learned"}, {"noise": 0.1, "bias": "shared"}])
def test_noisy_images_alone(parameters):
    model = BinaryDenoiser(random_state=0, **parameters).fit(TRAIN[0])
    assert wrong(model) < 0.05
    assert model.noise_ == pytest.approx(0.1, abs=0.03)
    assert model.observation_ == pytest.approx(np.log((1 - model.noise_) / model.noise_))


def test_pixels_that_were_not_seen_are_filled_in():
    rng = np.random.default_rng(3)
    hidden = rng.random(TRAIN[0].shape) < 0.3
    seen = np.where(hidden, -1, TRAIN[0])
    for model in (
        BinaryDenoiser(random_state=0).fit(seen, TRAIN[1]),
        BinaryDenoiser(noise=0.1, random_state=0).fit(seen),
    ):
        test = np.where(rng.random(TEST[0].shape) < 0.3, -1, TEST[0])
        assert (model.transform(test) != TEST[1]).mean() < 0.06
    # An image of which nothing was seen has the probabilities of the model itself.
    nothing = model.predict_marginals([np.full(TEST[0][0].shape, -1)])[0]
    assert np.abs(nothing - TRAIN[1].mean(axis=0)).mean() < 0.12


@pytest.mark.slow
def test_clean_images_of_which_a_part_is_known():
    noisy, clean = TRAIN
    half = np.where(np.arange(len(clean))[:, None, None] % 2, clean, -1)
    some = np.where(np.random.default_rng(4).random(clean.shape) < 0.5, clean, -1)
    for y in (half, some):
        model = BinaryDenoiser(random_state=0).fit(noisy, y)
        known = y >= 0
        assert model.noise_ == pytest.approx(((noisy != y)[known].sum() + 1) / (known.sum() + 2))
        assert wrong(model) < 0.05
        assert wrong(BinaryDenoiser(noise="learned", random_state=0).fit(noisy, y)) < 0.05
        right = (model.transform(noisy) == clean)[known].mean()
        assert model.score(noisy, y) == pytest.approx(right)
    # The known half says more than the noisy images alone.
    noisy, test = disks(40, pi=0.3)[0], disks(40, seed=1, pi=0.3)[0]
    alone = BinaryDenoiser(noise=0.3, random_state=0).fit(noisy)
    assert wrong(BinaryDenoiser(noise=0.3, random_state=0).fit(noisy, half), test) < wrong(alone, test)


def test_clean_images_of_which_nothing_is_known_say_nothing():
    alone = BinaryDenoiser(noise=0.1, steps=200, random_state=0).fit(TRAIN[0])
    same = BinaryDenoiser(noise=0.1, steps=200, random_state=0).fit(TRAIN[0], np.full(TRAIN[0].shape, -1))
    np.testing.assert_array_equal(alone.bias_, same.bias_)
    np.testing.assert_array_equal(alone.coupling_, same.coupling_)


@pytest.mark.draw(4)
@pytest.mark.parametrize("observation", ["known", "learned"])
@pytest.mark.parametrize("bias", ["pixel", "shared"])
@pytest.mark.parametrize("alone", [False, True])
def test_equal_shares_of_all_pixels_are_one_share(observation, bias, alone):
    data, parameters = TRAIN[:1] if alone else TRAIN, {"bias": bias, "observation": observation, "steps": 300}
    one = BinaryDenoiser(noise=0.2, random_state=0, **parameters).fit(*data)
    each = BinaryDenoiser(noise=np.full((14, 12), 0.2), random_state=0, **parameters).fit(*data)
    np.testing.assert_allclose(each.bias_, one.bias_, atol=1e-9)
    np.testing.assert_allclose(each.coupling_, one.coupling_, atol=1e-9)
    assert each.observation_ * np.log(4.0) == pytest.approx(one.observation_)
    assert (each.observation_ == 1.0) == (observation == "known" or alone)
    np.testing.assert_array_equal(each.noise_, np.full((14, 12), 0.2))
    np.testing.assert_array_equal(each.transform(TEST[0]), one.transform(TEST[0]))
    with pytest.raises(ValueError, match=r"X must be images of shape \(14, 12\), as in fit"):
        each.transform(TEST[0][:, 1:])


@pytest.mark.slow
def test_a_share_of_one_half_is_a_pixel_not_seen():
    mask = np.indices((14, 12)).sum(axis=0) % 3 == 0
    shares, seen = np.where(mask, 0.5, 0.1), np.where(mask, -1, TRAIN[0])
    some = np.where(np.arange(40)[:, None, None] % 2, TRAIN[1], -1)
    for y in (TRAIN[1], some, None):
        each = BinaryDenoiser(noise=shares, steps=300, random_state=0).fit(TRAIN[0], y)
        hidden = BinaryDenoiser(noise=0.1, steps=300, random_state=0).fit(seen, y)
        np.testing.assert_allclose(each.bias_, hidden.bias_, atol=1e-9)
        np.testing.assert_allclose(each.coupling_, hidden.coupling_, atol=1e-9)
        test = np.where(mask, -1, TEST[0])
        np.testing.assert_array_equal(each.transform(TEST[0]), hidden.transform(test))


@pytest.mark.slow
def test_what_is_known_of_the_noise_of_each_pixel_helps():
    rng = np.random.default_rng(6)
    shares = np.where(np.indices((14, 12))[1] < 6, 0.02, 0.35)
    more = disks(200, seed=7)[1]
    noisy, test = (clean ^ (rng.random(clean.shape) < shares) for clean in (TRAIN[1], more))
    for y in (TRAIN[1], None):
        each = BinaryDenoiser(noise=shares, random_state=0).fit(noisy, y)
        one = BinaryDenoiser(noise=float(shares.mean()), random_state=0).fit(noisy, y)
        assert wrong(each, test, more) < wrong(one, test, more) - 0.003


def test_images_of_several_sizes_share_one_bias():
    a, b = disks(20), disks(20, (12, 16), seed=5)
    noisy, clean = [*a[0], *b[0]], [*a[1], *b[1]]
    model = BinaryDenoiser(bias="shared", random_state=0).fit(noisy, clean)
    found = model.transform(noisy)
    assert isinstance(found, list)
    assert [one.shape for one in found] == [one.shape for one in noisy]
    assert wrong(model, noisy, clean) < 0.045
    with pytest.raises(Refusal, match="bias='pixel' refuses images of 2 shapes: use bias='shared'"):
        BinaryDenoiser().fit(noisy, clean)


def test_threads_clones_and_copies_agree():
    model = BinaryDenoiser(random_state=3, steps=300).fit(*TRAIN)
    again = clone(model).set_params(n_jobs=2).fit(*TRAIN)
    np.testing.assert_array_equal(model.bias_, again.bias_)
    np.testing.assert_array_equal(model.predict_marginals(TEST[0]), again.predict_marginals(TEST[0]))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(TEST[0]), model.transform(TEST[0]))


def test_without_flips_the_images_stay_as_they_are():
    model = BinaryDenoiser(random_state=0, steps=500).fit(TRAIN[1], TRAIN[1])
    assert model.noise_ < 1e-3
    assert wrong(model, TEST[1], TEST[1]) < 0.005


def test_ctrl_c_keeps_the_weights(monkeypatch):
    for module, model, data in (
        (binary_denoiser, BinaryDenoiser(), TRAIN),
        (log_supermodular_model, LogSupermodularModel(), TRAIN[1:]),
    ):
        learn = module.learn

        def stopped(*args, learn=learn, **more):
            def stop(done):
                if done >= 100:
                    raise KeyboardInterrupt

            return learn(*args, advance=stop, **more)

        monkeypatch.setattr(module, "learn", stopped)
        with pytest.warns(RuntimeWarning, match="was interrupted after 100 steps"), pytest.raises(KeyboardInterrupt):
            model.fit(*data)
        assert model.n_iter_ == 100
        assert np.isfinite(model.bias_).all()


def test_the_likelihood_of_images():
    model = LogSupermodularModel(random_state=0, samples=400).fit(TRAIN[1])
    found = model.log_likelihood(TEST[1])
    assert found.interval[0] <= found.value <= found.interval[1]
    q = (TRAIN[1].sum(axis=0) + 1) / (len(TRAIN[1]) + 2)
    alone = (TEST[1] * np.log(q) + (1 - TEST[1]) * np.log(1 - q)).mean()
    assert found.interval[0] > alone + 0.1
    assert model.score(TEST[1]) == found.value
    assert np.abs(model.predict_marginals() - TRAIN[1].mean(axis=0)).mean() < 0.05


def test_the_likelihood_is_below_the_exact_one():
    rng = np.random.default_rng(0)
    rows = (rng.random((50, 1)) < 0.5) ^ (rng.random((50, 6)) < 0.2)
    cuts = [Cut(6, [[i, i + 1] for i in range(5)])]
    model = LogSupermodularModel(cuts, random_state=0).fit(rows)
    true = -(model.model_.values(rows).mean() + exact(model.model_).value) / 6
    assert model.log_likelihood(rows).interval[0] <= true
    drawn = model.sample(3000, random_state=0)
    assert drawn.shape == (3000, 6)
    np.testing.assert_allclose(drawn.mean(axis=0), exact(model.model_).marginals, atol=0.04)


@pytest.mark.slow
def test_numbers_of_ones_are_learned_without_edges():
    # Rows whose numbers of ones are far from each other: of mixtures of few and of many.
    rng = np.random.default_rng(0)
    rows = rng.random((80, 10)) < rng.choice([0.1, 0.9], (80, 1))
    table = np.sqrt(np.minimum(np.arange(11), 10 - np.arange(11)))
    model = LogSupermodularModel([ConcaveSizeFunction(table)], steps=2000, random_state=0).fit(rows)
    plain = LogSupermodularModel([Cut(10, [])], steps=2000, random_state=0).fit(rows)
    assert model.coupling_[0] > 0.3
    assert model.log_likelihood(rows).interval[0] > plain.log_likelihood(rows).interval[1] + 0.05


def test_what_is_refused():
    noisy, clean = TRAIN
    for parameters, data, words in (
        ({}, (noisy,), "noise='known' refuses noisy images alone"),
        ({"ridge": (1.0,)}, TRAIN, "ridge must be a number, or two"),
        ({"noise": 0.5}, TRAIN, "noise"),
        ({"decode": "median"}, TRAIN, "decode"),
        ({}, (noisy, clean[:3]), "y must be images of the same shapes"),
        ({}, (noisy + 2, clean), "X must hold 0 and 1, or -1"),
        ({}, (noisy, clean + 1), "y must hold 0 and 1, or -1 for unknown pixels; got "),
        ({}, (noisy, np.full(clean.shape, -1)), "noise='known' refuses images without a pixel that is both seen"),
        ({"noise": 0.1, "observation": "learned"}, (noisy, np.where(clean == 1, 1, -1)), "use noise='learned'"),
        ({"noise": np.full((3, 3), 0.1)}, TRAIN, r"noise must be a number, or an array .* got shape \(3, 3\)"),
        ({"noise": np.full((14, 12), 0.6)}, TRAIN, "noise must hold numbers above 0 and at most .5"),
        ({"noise": np.zeros((14, 12))}, TRAIN, "noise must hold numbers above 0 and at most .5"),
        (
            {"noise": np.full((14, 12), 0.1), "bias": "shared"},
            ([noisy[0], noisy[1][1:]],),
            "of the one shape of all images",
        ),
        ({}, (noisy[0], clean[0]), "X must be images of shape"),
        ({}, ([], []), "X must hold an image or more"),
    ):
        with pytest.raises(ValueError, match=words):
            BinaryDenoiser(**parameters).fit(*data)
    with pytest.raises(TypeError, match="X must be an array"):
        BinaryDenoiser().fit("images", clean)
    model = BinaryDenoiser(steps=10, random_state=0).fit(*TRAIN)
    with pytest.raises(ValueError, match=r"X must be images of shape \(14, 12\), as in fit"):
        model.transform(noisy[:, 1:])
    with pytest.raises(ValueError, match="y must hold a pixel or more that is known"):
        model.score(noisy, np.full(clean.shape, -1))
    rows = noisy.reshape(len(noisy), -1)
    for parameters, Y, kind, words in (
        ({}, rows, ValueError, "terms must be given for rows"),
        ({"terms": [1]}, rows, TypeError, "terms must be of the kind BaseFunction"),
        ({"terms": [Cut(3, [])]}, rows, ValueError, "terms must be one base function or more, of 168 labels"),
        ({"terms": Cut(168, [])}, rows, TypeError, "terms must be a list of base functions"),
        ({}, 3, TypeError, "Y must be rows"),
    ):
        with pytest.raises(kind, match=words):
            LogSupermodularModel(**parameters).fit(Y)


def test_the_place_of_an_image_does_not_matter():
    model = BinaryDenoiser(random_state=0, steps=200, samples=10).fit(*TRAIN)
    whole = np.stack(model.predict_marginals(TEST[0]))
    np.testing.assert_array_equal(np.stack(model.predict_marginals(TEST[0][::-1])), whole[::-1])
    np.testing.assert_array_equal(model.predict_marginals(TEST[0][5:6])[0], whole[5])


def test_a_real_interrupt_keeps_all_steps_that_were_made(monkeypatch):
    # The signal is heard when the kernel returns, before any of our code is.
    descend, calls = training.descend, []

    def interrupted(*args):
        descend(*args)
        calls.append(len(args[4]))
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "descend", interrupted)
    model = BinaryDenoiser(random_state=0)
    with pytest.warns(RuntimeWarning, match="was interrupted after 200 steps"), pytest.raises(KeyboardInterrupt):
        model.fit(*TRAIN)
    monkeypatch.undo()
    plain = BinaryDenoiser(random_state=0, steps=200).fit(*TRAIN)
    np.testing.assert_array_equal(model.bias_, plain.bias_)


def test_parameters_of_predictions_are_checked_when_they_are_used():
    model = BinaryDenoiser(random_state=0, steps=20).fit(*TRAIN)
    for bad in ({"samples": 0}, {"samples": 2.5}, {"draws": "nope"}, {"decode": "median"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            clone(model).set_params(**bad).fit(*TRAIN)
        again = pickle.loads(pickle.dumps(model)).set_params(**bad)
        with pytest.raises(ValueError, match=next(iter(bad))):
            again.transform(TEST[0])
    with pytest.raises(Refusal, match="decode refuses .*: it reads a ranking"):
        BinaryDenoiser(decode="auc").fit(*TRAIN)


def test_a_refused_fit_leaves_the_model_as_it_was():
    model = BinaryDenoiser(noise=0.1, random_state=0, steps=100).fit(TRAIN[0])
    before = model.transform(TEST[0])
    with pytest.raises(ValueError, match="noise must"):
        model.set_params(noise=np.full((3, 3), 0.2)).fit(TRAIN[0])
    np.testing.assert_array_equal(model.transform(TEST[0]), before)


@pytest.mark.slow
def test_the_least_noise_and_longer_steps():
    still = BinaryDenoiser(noise=1e-120, random_state=0, steps=50).fit(*TRAIN)
    assert np.isfinite(still.log_likelihood(TEST[1], TEST[1]).value)
    BinaryDenoiser(noise=5e-324, random_state=0, steps=5).fit(*TRAIN)
    short, long = (BinaryDenoiser(random_state=0, steps=100, step=s).fit(*TRAIN) for s in (0.1, (1.0, 0.5)))
    assert np.abs(long.bias_).mean() > 2.0 * np.abs(short.bias_).mean()
    assert BinaryDenoiser(noise=0.1, random_state=0, steps=100).fit(TRAIN[0]).score(TEST[0]) < 0.0
    found = LogSupermodularModel(random_state=0, steps=50, step=0.5).fit(TRAIN[1]).log_likelihood(TEST[1])
    assert found.error > 0.0
    drawn = LogSupermodularModel([Cut(168, [])], random_state=0, steps=20).fit(TRAIN[1].reshape(len(TRAIN[1]), -1))
    assert drawn.sample(2, random_state=np.random.RandomState(0)).shape == (2, 168)
