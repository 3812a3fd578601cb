"""Ctrl-C in the start of a fit of rows on disk, resuming from there, and bounds that say nothing."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from setwise import FileClassifier, SetClassifier, VacuousBoundWarning
from setwise.core.checkpoint import read_sealed
from setwise.datasets.blocks import Budget
from setwise.decisions import best_threshold
from setwise.distributed import classifier
from setwise.distributed.classifier import PlacedTraining
from setwise.distributed.file_classifier import placed_rows
from setwise.losses import EarlyDetection, FBeta, Jaccard, RocArea
from setwise.risks import DistributedRisk

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 16))
Y = (X[:, 0] - 0.5 * X[:, 1] + 0.7 * RNG.normal(size=N) > 1.0).astype(int)
IDS = np.arange(N) // 10
MODEL = FileClassifier("f1", memory="50KB")


def counted(monkeypatch, owner, name, stop=0):
    """Counts the calls of a function; Ctrl-C comes in the one whose number is ``stop``."""
    calls, function = [], getattr(owner, name)

    def wrapped(*args, **kwargs):
        calls.append(args)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    monkeypatch.setattr(owner, name, wrapped)
    return calls


def interrupted(model, monkeypatch, owner, name, stop, **more):
    """Fit; Ctrl-C comes in the call with this number of a function. Returns what the warnings said."""
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        counted(patch, owner, name, stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y, **more)
    return [str(one.message) for one in said]


def test_ctrl_c_in_logistic_regression_keeps_its_best_steps(monkeypatch):
    model = clone(MODEL)
    said = interrupted(model, monkeypatch, classifier.PlacedLogistic, "_objective", 6)
    words = "interrupted in its start; these are the best weights so far, without a certificate"
    assert said == [f'FileClassifier was {words}. See "What is known after a fit" in guide/estimator.']
    assert (model.status_, model.stop_reason_, model.n_iter_) == ("interrupted", words, 0)
    assert model.surrogate_ == "ramp"
    assert model.lower_bound_ == -np.inf
    # Some steps of logistic regression order the rows nearly as it does in the end.
    scores = model.decision_function(X)
    assert RocArea()(Y, scores) < 0.15
    assert model.to_local().predict(X).tolist() == model.predict(X).tolist()


def test_ctrl_c_before_the_first_step_leaves_the_model_as_it_was(monkeypatch):
    model = clone(MODEL)
    assert interrupted(model, monkeypatch, classifier.PlacedLogistic, "_objective", 1) == []
    assert "coef_" not in vars(model)


def test_ctrl_c_behind_logistic_regression_keeps_it_with_its_threshold(monkeypatch):
    model = clone(MODEL)
    # The risk of scaled starts is evaluated behind the threshold.
    assert "in its start" in interrupted(model, monkeypatch, DistributedRisk, "cut", 2)[0]
    scores = model.decision_function(X)
    best = FBeta()(Y, (scores >= best_threshold(Y, scores, "f1").threshold).astype(int))
    assert FBeta()(Y, (scores > 0).astype(int)) == pytest.approx(best)


def test_ctrl_c_before_the_first_step_of_descent_keeps_the_start(monkeypatch, tmp_path):
    cuts = counted(monkeypatch, DistributedRisk, "cut")
    clone(MODEL).set_params(max_iter=1, tol=0.99).fit(X, Y, checkpoint=tmp_path / "fit.npz")
    monkeypatch.undo()
    origin = read_sealed(tmp_path / "fit.npz")["work/ramp/start/w"]
    model = clone(MODEL)
    for k in range(len(cuts), 0, -1):
        said = interrupted(model, monkeypatch, DistributedRisk, "cut", k)
        if "in its start" in said[0] and np.allclose(np.append(model.coef_, model.intercept_), origin):
            break
    else:
        pytest.fail("no interruption has kept the start")


@pytest.mark.slow
def test_ctrl_c_while_a_fit_is_judged_keeps_it(monkeypatch):
    full = clone(MODEL).fit(X, Y)
    model = clone(MODEL)
    (said,) = interrupted(model, monkeypatch, PlacedTraining, "loss_at", 1)
    assert "was interrupted after the fit, during its evaluation" in said
    assert model.objective_ <= full.objective_
    assert len(model.history_["objective"]) == full.n_iter_


@pytest.mark.slow
@pytest.mark.draw(8)
@pytest.mark.parametrize(
    ("owner", "name", "stop"),
    [(classifier.PlacedLogistic, "_objective", k) for k in (1, 2, 3, 6, 9, -1)]
    + [(DistributedRisk, "cut", k) for k in (1, 2)],
)
def test_a_fit_that_is_resumed_in_its_start_ends_with_the_same_bits(owner, name, stop, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        calls = counted(patch, owner, name)
        full = clone(MODEL).fit(X, Y)
        passes = len(calls)
    file = tmp_path / "fit.npz"
    interrupted(clone(MODEL), monkeypatch, owner, name, stop if stop > 0 else passes, checkpoint=file)
    after = clone(MODEL).fit(X, Y, checkpoint=file, resume=True)
    assert after.coef_.tobytes() == full.coef_.tobytes()
    assert after.intercept_.tobytes() == full.intercept_.tobytes()
    assert (after.objective_, after.n_iter_, after.status_) == (full.objective_, full.n_iter_, full.status_)


@pytest.mark.slow
def test_a_finished_start_is_not_found_again(monkeypatch, tmp_path):
    file, half = tmp_path / "fit.npz", clone(MODEL).set_params(max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        half.fit(X, Y, checkpoint=file)
    full = clone(MODEL).fit(X, Y)
    for name in ("_objective", "_moments", "at_threshold"):
        monkeypatch.setattr(classifier.PlacedLogistic, name, lambda *given: pytest.fail("it was found again"))
    after = clone(MODEL).fit(X, Y, checkpoint=file, resume=True)
    np.testing.assert_array_equal(after.history_["objective"][:3], half.history_["objective"])
    assert after.score(X, Y) == pytest.approx(full.score(X, Y), abs=0.02)
    with pytest.raises(ValueError, match="another fit: y differs"):
        clone(MODEL).fit(X, 1 - Y, checkpoint=file, resume=True)


def test_a_start_of_other_shapes_is_refused(tmp_path):
    from setwise.core.checkpoint import write_sealed

    file = tmp_path / "fit.npz"
    clone(MODEL).fit(X, Y, checkpoint=file)
    arrays = {key: one for key, one in read_sealed(file).items() if not key.startswith("work/")}
    for odd in (np.zeros(3), np.full(17, np.nan), np.zeros(17, dtype=np.int64)):
        write_sealed(file, arrays | {"work/ramp/start/w": odd})
        with pytest.raises(ValueError, match="not a checkpoint of this fit: it has no w of shape"):
            clone(MODEL).fit(X, Y, checkpoint=file, resume=True)


NOISE = RNG.normal(size=(N, 4))
RARE = (RNG.random(N) < 0.1).astype(int)


@pytest.mark.draw(2)
@pytest.mark.parametrize("ids", [None, IDS], ids=["one set", "sets"])
@pytest.mark.parametrize("loss", ["jaccard", "f1"])
def test_a_bound_that_says_nothing_is_said_where_it_is_in_memory(loss, ids):
    for data, labels in ((NOISE, RARE), (X, Y), (NOISE, Y), (np.hstack([X, Y[:, None] * 9.0]), Y)):
        said = []
        for kind in (SetClassifier(loss, "convex", tol=1e-3), FileClassifier(loss, "convex", tol=1e-3)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                kind.fit(data, labels, ids)
            said.append([one for one in caught if one.category is VacuousBoundWarning])
        assert len(said[0]) == len(said[1]) <= 1
        if said[1]:
            assert "guarantees no smaller loss here than a constant prediction" in str(said[1][0].message)
            assert "take surrogate='ramp', which starts from logistic regression" in str(said[1][0].message)
            assert said[1][0].filename == __file__
    assert ids is not None or said == [[], []]


def test_the_warning_comes_for_noise_and_not_for_what_can_be_told():
    with pytest.warns(VacuousBoundWarning, match="'lovasz' guarantees no smaller"):
        FileClassifier("jaccard", "convex").fit(NOISE, RARE)
    FileClassifier("jaccard", "convex").fit(np.hstack([X, Y[:, None] * 9.0]), Y)
    FileClassifier("auc", "convex").fit(X, Y)


def constant(found, loss):
    return PlacedTraining(found, found.positives(1), loss, "auto", 1.0).constant


@pytest.mark.parametrize("ids", [None, IDS, RNG.permutation(IDS)], ids=["one set", "sets", "mixed"])
@pytest.mark.parametrize("loss", [FBeta(), Jaccard(), EarlyDetection(), FBeta(2.0)])
def test_the_loss_of_constants_is_that_of_both_by_hand(loss, ids):
    found = placed_rows(X, Y, ids, None, Budget(200_000), 1)
    parts = [Y] if ids is None else [Y[ids == k] for k in np.unique(ids)]
    by_hand = min(np.mean([loss(y, np.full(len(y), label)) for y in parts]) for label in (0, 1))
    assert constant(found, loss) == pytest.approx(by_hand, abs=1e-12)
    ranked = np.mean([RocArea()(y, np.zeros(len(y))) for y in parts])
    assert constant(found, RocArea()) == pytest.approx(ranked)


def test_what_would_have_to_be_gathered_and_is_too_much_is_not_judged():
    found = placed_rows(X, Y, None, None, Budget(40 * N + 100 * 120), 1)
    assert found.places.room < N
    assert constant(found, EarlyDetection()) == np.inf
    assert np.isfinite(constant(found, FBeta()))


@pytest.mark.parametrize(("noise", "surrogate"), [(0.7, "margin"), (2.1, "margin"), (2.8, "ramp"), (4.2, "ramp")])
def test_the_bound_of_a_ranking_is_judged_as_it_is_in_memory(noise, surrogate):
    rng = np.random.default_rng(round(noise / 0.7) - 1)
    data = rng.standard_t(1.5, size=(400, 4))
    labels = (data[:, 0] + noise * rng.normal(size=400) > 0.8).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VacuousBoundWarning)
        models = [kind("auc").fit(data, labels) for kind in (SetClassifier, FileClassifier)]
        convex = FileClassifier("auc", "convex").fit(data, labels)
    assert [model.surrogate_ for model in models] == [surrogate] * 2
    assert models[0].score(data, labels) == pytest.approx(models[1].score(data, labels), abs=2e-3)
    assert models[1].score(data, labels) >= convex.score(data, labels)
