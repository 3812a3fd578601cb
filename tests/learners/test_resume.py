"""A fit that goes on from a checkpoint has the same certificate as one that was never interrupted."""

import os
import pickle

import numpy as np
import pytest

from learners.risks import ListedPlanes, hamming_risk, minimum, random_risk
from setwise.core import checkpoint
from setwise.core.batch import Sets
from setwise.core.checkpoint import Checkpoint, read_sealed, write_sealed
from setwise.learners import LEARNERS, NRBM, BlockFrankWolfe, ConvexConcaveProcedure, NSlack, OneSlack, Subgradient
from setwise.learners.masters import PlaneMaster
from setwise.models import RowModel
from setwise.risks import MeanRisk
from setwise.surrogates import Ramp

EVERY = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
C = 5.0


def seeded(make, **given):
    """A learner whose order of the parts is the same in each run."""
    return make(**given, **({"random_state": 0} if "random_state" in make.__dataclass_fields__ else {}))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "fit.npz"


def ramp_risk(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] + 0.7 * rng.standard_normal(60) > 0.4
    sets = Sets(y, np.arange(0, 61, 12))
    return MeanRisk(RowModel(X, sets.offsets), Ramp("f1", scale="size").on(sets))


def interrupted(learner, risk, file, k, resume=False):
    """The learner, to which Ctrl-C comes after iteration k; as if it were never written before, but at the end."""

    def stop(record, w):
        if record.iteration == k:
            raise KeyboardInterrupt

    return learner.minimize(risk, callback=stop, checkpoint=Checkpoint(file, every=1e9).open(resume=resume))


def resumed(learner, risk, file, **more):
    return learner.minimize(risk, checkpoint=Checkpoint(file).open(resume=True), **more)


def first_of(learner, risk, file):
    """The record of the first iteration after resuming, without writing anything new."""
    found = []

    def stop(record, w):
        found.append(record)
        return True

    fit = learner.minimize(risk, callback=stop, checkpoint=Checkpoint(file).open(resume=True))
    return (found or fit.history)[-1]


@pytest.mark.draw(4)
@EVERY
def test_interrupted_at_every_iteration(make, file):
    risk, tol = hamming_risk(n=8, p=3, f=3), max(make.attainable, 1e-5)
    learner = seeded(make, C=C, tol=tol, max_iter=500)
    full, best = learner.minimize(risk), minimum(risk, C)
    assert full.status == "converged"
    for k in range(1, len(full.history) + 1):
        before = interrupted(learner, risk, file, k)
        assert before.status in ("interrupted", "converged")
        content = file.read_bytes()
        record = first_of(learner, risk, file)
        assert record.lower_bound >= before.lower_bound
        assert record.upper_bound <= before.upper_bound
        file.write_bytes(content)
        after = resumed(learner, risk, file)
        assert after.status == "converged"
        assert after.gap <= tol
        assert after.lower_bound <= best + 1e-9 <= risk.objective(after.w, C) + 2e-9
        assert risk.objective(after.w, C) <= after.upper_bound + 1e-9
        assert after.objective == pytest.approx(full.objective, rel=2 * tol)
        assert [one.iteration for one in after.history] == list(range(1, len(after.history) + 1))
        assert after.history[: len(before.history)] == before.history
        seconds = [one.seconds for one in after.history]
        assert seconds == sorted(seconds)
        file.unlink()


@pytest.mark.draw(3)
@EVERY
def test_interrupted_after_each_iteration_in_turn(make, file):
    """With two iterations between two interruptions the fit still comes to its end."""
    risk, tol = hamming_risk(n=8, p=3, f=3), max(make.attainable, 1e-4)
    learner = seeded(make, C=C, tol=tol, max_iter=4000)
    once = len(learner.minimize(risk).history)
    fit = interrupted(learner, risk, file, 1)
    lower, rounds = fit.lower_bound, 0
    while fit.status == "interrupted" and rounds < 20 * once + 100:
        fit, rounds = interrupted(learner, risk, file, len(fit.history) + 2, resume=True), rounds + 1
        assert fit.lower_bound >= lower
        lower = fit.lower_bound
    assert fit.status == "converged"
    assert fit.lower_bound <= minimum(risk, C) + 1e-9 <= fit.upper_bound + 2e-9


@pytest.mark.draw(6)
@pytest.mark.parametrize("make", [OneSlack, NRBM, ConvexConcaveProcedure, NSlack, BlockFrankWolfe])
def test_the_planes_go_on_and_not_the_bound_alone(make, file):
    """The gap of a resumed fit closes about as fast as if it had not been interrupted."""
    risk = random_risk(n=30, planes=12, d=8, seed=3)
    learner = seeded(make, C=20.0, tol=1e-6, max_iter=2000)
    full = len(learner.minimize(risk).history)
    k = 3 * full // 4
    interrupted(learner, risk, file, k)
    assert len(resumed(learner, risk, file).history) - k < 0.75 * full


def test_steps_of_a_subgradient_stay_short(file):
    risk = hamming_risk(n=40, p=3, f=3)
    learner = Subgradient(C=C, tol=1e-12, max_iter=60, random_state=0)
    interrupted(learner, risk, file, 50)
    fit = resumed(learner, risk, file)
    assert len(fit.history) == 60
    fresh = Subgradient(C=C, tol=1e-12, max_iter=11, random_state=0).minimize(risk)
    assert fit.gap < 0.5 * fresh.gap


@pytest.mark.parametrize("make", [NRBM, ConvexConcaveProcedure])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_descent_on_a_risk_that_is_not_convex(make, k, file):
    risk = ramp_risk()
    learner = seeded(make, C=300.0, max_iter=500)
    full, before = learner.minimize(risk), interrupted(learner, risk, file, k)
    assert before.status == "interrupted"
    assert first_of(learner, risk, file).objective <= before.objective
    after = resumed(learner, risk, file)
    assert after.status == full.status == "local"
    assert after.objective <= before.objective
    assert after.lower_bound == full.lower_bound == 300.0 * risk.floor
    assert after.objective == pytest.approx(0.5 * after.w @ after.w + 300.0 * risk.cut(after.w).value)


@EVERY
def test_bounds_of_weights_and_risks_without_a_floor(make, file):
    risk = random_risk(n=6, d=3, seed=2, lower=np.array([0.1, -np.inf, -0.2]), negative=True)
    learner = seeded(make, C=2.0, tol=max(make.attainable, 1e-5), max_iter=1000)
    before = interrupted(learner, risk, file, 2)
    after = resumed(learner, risk, file)
    assert (after.w >= risk.lower).all()
    best = minimum(risk, 2.0)
    assert before.lower_bound <= after.lower_bound <= best + 1e-9 <= after.upper_bound + 2e-9
    assert after.gap <= learner.tol


@pytest.mark.parametrize("make", [OneSlack, NSlack, BlockFrankWolfe])
def test_inexact_inference(make, file):
    risk = hamming_risk(n=6, p=3, blind=True)
    learner = seeded(make, C=C, max_iter=40)
    before = interrupted(learner, risk, file, 2)
    after = resumed(learner, risk, file)
    best = minimum(risk, C)
    assert before.lower_bound <= after.lower_bound <= best + 1e-9 <= risk.objective(after.w, C) + 2e-9
    # Where inference is not exact, weights of a smaller objective may have a larger bound.
    assert risk.objective(after.w, C) <= after.upper_bound + 1e-9
    assert after.objective <= before.objective + 1e-9


@EVERY
def test_a_fit_that_has_ended_is_returned_as_it_is(make, file):
    risk = hamming_risk()
    learner = seeded(make, C=C, tol=max(make.attainable, 1e-4), max_iter=500)
    fit = learner.minimize(risk, checkpoint=Checkpoint(file).open())
    content = file.read_bytes()
    again = resumed(learner, risk, file)
    np.testing.assert_array_equal(again.w, fit.w)
    assert (again.history, again.status, again.gap) == (fit.history, fit.status, fit.gap)
    assert file.read_bytes() == content


def test_more_iterations_and_a_smaller_gap(file):
    risk = hamming_risk(n=8, p=3, f=3)
    first = OneSlack(C=C, tol=1e-6, max_iter=3).minimize(risk, checkpoint=Checkpoint(file).open())
    assert first.status == "max_iter"
    assert len(resumed(OneSlack(C=C, tol=1e-6, max_iter=3), risk, file).history) == 3
    assert len(resumed(OneSlack(C=C, tol=1e-6, max_iter=5), risk, file).history) == 5
    rough = resumed(OneSlack(C=C, tol=1e-3), risk, file)
    fine = resumed(OneSlack(C=C, tol=1e-8), risk, file)
    assert rough.status == fine.status == "converged"
    assert fine.gap <= 1e-8 < rough.gap
    assert fine.history[: len(rough.history)] == rough.history


def test_ctrl_c_before_the_first_new_iteration_loses_nothing(file, monkeypatch):
    def stop(planes, tol):
        raise KeyboardInterrupt

    risk = hamming_risk(n=8, p=3, f=3)
    before = interrupted(OneSlack(C=C, tol=1e-9), risk, file, 4)
    held = read_sealed(file)
    monkeypatch.setattr(PlaneMaster, "solve", stop)
    fit = resumed(OneSlack(C=C, tol=1e-9), risk, file)
    assert fit.status == "interrupted"
    np.testing.assert_array_equal(fit.w, before.w)
    assert fit.history == before.history
    for name, array in read_sealed(file).items():
        np.testing.assert_array_equal(array, held[name])


@pytest.mark.parametrize("make", [OneSlack, NSlack, BlockFrankWolfe])
def test_the_best_point_is_evaluated_once(make, file):
    risk = hamming_risk(n=8, p=3, f=3)
    before = interrupted(seeded(make, C=C, tol=1e-9), risk, file, 3)
    risk.calls.clear()
    first_of(seeded(make, C=C, tol=1e-9), risk, file)
    assert sum(np.array_equal(w, before.w) for w in risk.calls) == 1


def test_ctrl_c_while_planes_are_moved_leaves_the_file_as_it_was(file, monkeypatch):
    monkeypatch.setattr(checkpoint, "SHARE", 0.0)
    risk, seen = hamming_risk(n=8, p=3, f=3), []
    drop = PlaneMaster._drop

    def half(planes, tol):
        planes._idle[:] = planes.PATIENCE + 1
        planes._idle[-1] = 0
        drop(planes)
        planes._moving = True
        raise KeyboardInterrupt

    def callback(record, w):
        seen.append(file.read_bytes() if file.exists() else b"")
        if record.iteration == 5:
            monkeypatch.setattr(PlaneMaster, "solve", half)

    fit = OneSlack(C=C, tol=1e-12).minimize(risk, callback=callback, checkpoint=Checkpoint(file, every=0.0).open())
    monkeypatch.undo()
    assert fit.status == "interrupted"
    after = resumed(OneSlack(C=C, tol=1e-6), risk, file)
    assert after.status == "converged"
    assert after.lower_bound <= minimum(risk, C) + 1e-9


def test_an_error_of_the_callback_leaves_the_last_file(file, monkeypatch):
    monkeypatch.setattr(checkpoint, "SHARE", 0.0)

    def fail(record, w):
        if record.iteration == 4:
            raise RuntimeError("mine")

    risk = hamming_risk(n=8, p=3, f=3)
    with pytest.raises(RuntimeError, match="mine"):
        OneSlack(C=C, tol=1e-9).minimize(risk, callback=fail, checkpoint=Checkpoint(file, every=0.0).open())
    assert len(read_sealed(file)["work/records"]) == 3


def test_other_learners_constants_and_risks_are_refused(file):
    risk = hamming_risk(n=8, p=3, f=3)
    interrupted(OneSlack(C=C, tol=1e-9), risk, file, 4)
    before = file.read_bytes()
    with pytest.raises(ValueError, match="fit: learner is one_slack there and n_slack here"):
        resumed(NSlack(C=C), risk, file)
    with pytest.raises(ValueError, match=r"fit: C is 5.0 there and 6.0 here"):
        resumed(OneSlack(C=6.0), risk, file)
    with pytest.raises(ValueError, match="its arrays are not those of 2 weights"):
        resumed(OneSlack(C=C), hamming_risk(n=8, p=3, f=2), file)
    for other in (hamming_risk(n=8, p=3, f=3, seed=1), ListedPlanes(risk.slopes, 0.9 * risk.offsets, floor=0.0)):
        with pytest.raises(ValueError, match="another fit: at its weights the risk is .* Take the same data and loss"):
            resumed(OneSlack(C=C), other, file)
    assert file.read_bytes() == before


def test_planes_above_the_risk_are_refused(file):
    """Such a file would give a false certificate."""
    risk = hamming_risk(n=8, p=3, f=3)
    for make in (OneSlack, NSlack):
        interrupted(seeded(make, C=C, tol=1e-9), risk, file, 3)
        arrays = read_sealed(file)
        write_sealed(file, arrays | {"work/offsets": arrays["work/offsets"] + 0.5})
        with pytest.raises(ValueError, match="is the checkpoint of another fit"):
            resumed(seeded(make, C=C), risk, file)
        file.unlink()


@pytest.mark.parametrize(
    "changes",
    [
        {"w": np.zeros(4)}, {"w": np.array([np.nan, 0, 0])}, {"w": np.zeros(3, np.float32)}, {"w": np.array("w")},
        {"bounds": np.zeros(3)}, {"bounds": np.full(4, np.nan)}, {"bounds": np.array([0.0, 0.0, 0.0, np.inf])},
        {"records": np.zeros((2, 5))}, {"records": np.array(1.0)}, {"offsets": np.zeros(1)},
        {"slopes": np.zeros((2, 2))}, {"slopes": np.array(0.0)}, {"roundings": np.zeros((1, 1))},
        {"whole": np.array(False)}, {"whole": np.zeros(9)},
        {"tol": np.array("x")}, {"status": None}, {"records": None}, {"offsets": None},
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(changes, file):
    risk = hamming_risk(n=8, p=3, f=3)
    interrupted(OneSlack(C=C, tol=1e-9), risk, file, 4)
    arrays = read_sealed(file) | {f"work/{name}": array for name, array in changes.items()}
    write_sealed(file, {name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(
        ValueError, match="is not a checkpoint of this fit: its arrays are not those of 3 weights and 8"
    ):
        resumed(OneSlack(C=C), risk, file)


def test_the_checkpoint_must_be_open(file):
    for odd in (file, str(file), Checkpoint(file)):
        with pytest.raises(TypeError, match=r"checkpoint must be .*Checkpoint\('fit.npz'\).open\(\)"):
            OneSlack().minimize(hamming_risk(), checkpoint=odd)


def test_a_checkpoint_holds_no_pickle(file):
    interrupted(OneSlack(C=C, tol=1e-9), hamming_risk(), file, 2)
    assert b"pickle" not in file.read_bytes()
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(file.read_bytes())
    assert os.listdir(file.parent) == [file.name]
