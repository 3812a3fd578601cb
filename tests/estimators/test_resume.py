"""SetClassifier that goes on from a checkpoint, after Ctrl-C and after kill -9."""

import contextlib
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from rounds import rounds
from setwise import SetClassifier
from setwise.core.checkpoint import part_of, read_sealed
from setwise.learners import Checkpoint, OneSlack
from setwise.losses import FBeta, Jaccard
from setwise.risks import MeanRisk

C, TOL = 100.0, 1e-6


def data(seed=0, n=300, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X[:, 0] - X[:, 1] + rng.standard_normal(n) > 0.8).astype(int)
    return X, y, np.repeat(np.arange(n // 10), 10)


X, Y, BAGS = data()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "fit.npz"


def convex(**more):
    return SetClassifier(**({"loss": "jaccard", "surrogate": "convex", "C": C, "tol": TOL} | more))


def interrupt(model, file, k, monkeypatch, *rest, resume=False, **groups):
    """Fit with a Ctrl-C at the k-th evaluation of a risk; whether it came."""
    calls = []

    def counted(method):
        def cut(*arguments):
            calls.append(method)
            if len(calls) == k:
                raise KeyboardInterrupt
            return method(*arguments)

        return cut

    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        patch.setattr(MeanRisk, "cut", counted(MeanRisk.cut))
        patch.setattr(MeanRisk, "cuts", counted(MeanRisk.cuts))
        try:
            model.fit(*(rest or (X, Y)), checkpoint=file, resume=resume, **groups)
        except KeyboardInterrupt:
            return True
    return False


@pytest.mark.draw(10)
@pytest.mark.parametrize("groups", [None, BAGS])
@pytest.mark.parametrize("learner", ["one_slack", "n_slack", "block_frank_wolfe"])
def test_the_same_certificate_after_ctrl_c_anywhere(learner, groups, file, monkeypatch):
    model = convex(learner=learner, tol=1e-4, random_state=0)
    full = clone(model).fit(X, Y, groups=groups)
    for k in (2, 3, 5, 8, 13, 21):
        file.unlink(missing_ok=True)
        half = clone(model)
        if not interrupt(half, file, k, monkeypatch, groups=groups):
            break
        if not file.exists():
            # It came before the end of the first iteration.
            assert "coef_" not in vars(half)
            continue
        after = clone(model).fit(X, Y, groups=groups, checkpoint=file, resume=True)
        assert after.status_ == "converged"
        assert after.duality_gap_ <= 1e-4
        assert after.objective_ == pytest.approx(full.objective_, rel=2e-4)
        assert after.lower_bound_ <= full.objective_ * (1 + 1e-9)
        assert full.lower_bound_ <= after.objective_ * (1 + 1e-9)
        kept = half.n_iter_
        assert after.history_["lower_bound"][kept] >= half.lower_bound_
        assert after.history_["upper_bound"][kept] <= half.history_["upper_bound"][-1]
        assert after.n_iter_ > kept
    assert k > 2


def test_a_finished_fit_is_there_at_once(file, monkeypatch):
    model = convex().fit(X, Y, checkpoint=file)
    cuts = []
    monkeypatch.setattr(MeanRisk, "cut", lambda self, w, tol=0.0, cut=MeanRisk.cut: cuts.append(w) or cut(self, w, tol))
    again = convex().fit(X, Y, checkpoint=file, resume=True)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.n_iter_ == model.n_iter_
    # One checks the file.
    assert len(cuts) == 1


def test_a_smaller_gap_goes_on(file):
    rough = convex(tol=1e-2).fit(X, Y, checkpoint=file)
    fine = convex(tol=1e-6, n_jobs=2, max_iter=500, verbose=0).fit(X, Y, checkpoint=file, resume=True)
    assert fine.duality_gap_ <= 1e-6 < rough.duality_gap_
    np.testing.assert_array_equal(fine.history_["seconds"][: rough.n_iter_], rough.history_["seconds"])


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize(
    "more", [{}, {"surrogate": "auto"}, {"loss": "f1", "surrogate": "ramp", "learner": "convex_concave"}]
)
def test_the_ramp_goes_on_from_the_same_start(more, file, monkeypatch):
    model = SetClassifier(**({"loss": "f1", "C": 1e4} | more))
    full = clone(model).fit(X, Y, groups=BAGS)
    # Some cuts belong to the choice of the start.
    for k in (3, 40, 60, 80):
        file.unlink(missing_ok=True)
        interrupt(clone(model), file, k, monkeypatch, groups=BAGS)
        after = clone(model).fit(X, Y, groups=BAGS, checkpoint=file, resume=True)
        if after.surrogate_ != full.surrogate_:
            # Of two surrogates that are as good, a fit from other weights may choose the other one.
            assert model.surrogate == "auto"
            assert after.score(X, Y, BAGS) == pytest.approx(full.score(X, Y, BAGS), abs=0.01)
            continue
        if file.exists() and "work/rows/ramp/start/w" in read_sealed(file):
            again = clone(model).fit(X, Y, groups=BAGS, checkpoint=file, resume=True)
            np.testing.assert_array_equal(again.coef_, after.coef_)
        assert after.objective_ <= full.objective_ * 1.2
        assert after.status_ == full.status_


@pytest.mark.slow
def test_folds_of_the_threshold_are_parts(file, monkeypatch):
    model = SetClassifier("f1", C=1e3, threshold="exact")
    full = clone(model).fit(X, Y)
    assert not interrupt(clone(model), file, 10**9, monkeypatch)
    folds = {name.split("/")[1] for name in read_sealed(file) if name.startswith("work/")}
    assert folds == {"rows", *(f"fold {k}" for k in range(5))}
    again = clone(model).fit(X, Y, checkpoint=file, resume=True)
    assert again.threshold_ == full.threshold_
    np.testing.assert_array_equal(again.coef_, full.coef_)


@pytest.mark.slow
@pytest.mark.draw(6)
@pytest.mark.parametrize(
    ("args", "more"),
    [
        ((csr_matrix(X), Y), {}),
        ((X, np.where(Y == 1, "yes", "no")), {"pos_label": "yes"}),
        ((X, np.column_stack([Y, 1 - Y, Y])), {"average": "macro"}),
        ((X, Y + (X[:, 2] > 1)), {}),
        ((X, Y), {"class_weight": {0: 1.0, 1: 2.0}, "fit_intercept": False}),
    ],
    ids=["sparse", "text", "matrix", "classes", "weights"],
)
def test_all_kinds_of_data(args, more, file, monkeypatch):
    model = convex(**more, tol=1e-4)
    full = clone(model).fit(*args)
    assert interrupt(clone(model), file, 4, monkeypatch, *args)
    after = clone(model).fit(*args, checkpoint=file, resume=True)
    assert after.objective_ == pytest.approx(full.objective_, rel=2e-4)
    assert after.duality_gap_ <= 1e-4


OTHER_X, OTHER_Y = X.copy(), Y.copy()
OTHER_X[17, 2] = np.nextafter(X[17, 2], 9.0)
OTHER_Y[5] = 1 - Y[5]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"X": OTHER_X}, "fit: X differs. Take another file"),
        ({"X": X[:, ::-1]}, "fit: X differs. Take"),
        ({"X": csr_matrix(X)}, "fit: X differs. Take"),
        ({"y": OTHER_Y}, "fit: y differs. Take"),
        ({"groups": BAGS}, "fit: groups differs. Take"),
        ({"sample_weight": np.ones(len(Y))}, "fit: sample_weight differs. Take"),
        ({"C": 10.0}, "fit: C is 100.0 there and 10.0 here. Take"),
        ({"loss": "f1"}, r"fit: loss is Jaccard\(.*\) there and FBeta\(beta=1.* here. Take"),
        ({"loss": FBeta(2.0)}, r"loss is Jaccard\(.*\) there and FBeta\(beta=2.* here"),
        ({"surrogate": "margin"}, "fit: surrogate is 'convex' there and 'margin' here. Take"),
        ({"learner": "n_slack"}, "fit: learner is 'auto' there and 'n_slack' here. Take"),
        ({"start": "logistic"}, "start is 'auto' there and 'logistic' here"),
        ({"fit_intercept": False}, "fit_intercept is True there and False here"),
        ({"intercept_scaling": 2.0}, "intercept_scaling is 1.0 there and 2.0 here"),
        ({"pos_label": 0}, "pos_label is None there and 0 here"),
        ({"class_weight": "balanced"}, "class_weight is None there and 'balanced' here"),
        ({"X": OTHER_X, "C": 1.0}, "fit: X differs; C is 100.0 there and 1.0 here. Take"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(change, sentence, file, monkeypatch):
    interrupt(convex(), file, 5, monkeypatch)
    before = file.read_bytes()
    rows = {"X": X, "y": Y, "groups": None, "sample_weight": None}
    model = convex(**{name: value for name, value in change.items() if name not in rows})
    with pytest.raises(ValueError, match=sentence):
        model.fit(**{name: change.get(name, value) for name, value in rows.items()}, checkpoint=file, resume=True)
    assert file.read_bytes() == before
    assert "coef_" not in vars(model)


def test_learner_objects_and_losses_without_a_repr(file, monkeypatch):
    class ReprlessJaccard(Jaccard):
        __repr__ = object.__repr__

    model = SetClassifier(ReprlessJaccard(), "convex", OneSlack(C=C, tol=TOL))
    interrupt(model, file, 5, monkeypatch)
    SetClassifier(ReprlessJaccard(), "convex", OneSlack(C=C, tol=TOL)).fit(X, Y, checkpoint=file, resume=True)
    with pytest.raises(ValueError, match="learner differs|learner is OneSlack"):
        SetClassifier(ReprlessJaccard(), "convex", OneSlack(C=1.0, tol=TOL)).fit(X, Y, checkpoint=file, resume=True)


def test_truncated_and_foreign_files_are_refused_100_of_100(file, monkeypatch):
    interrupt(convex(), file, 6, monkeypatch)
    content, rng = file.read_bytes(), np.random.default_rng(0)
    for size in rng.choice(len(content), 100, replace=False):
        file.write_bytes(content[:size])
        with pytest.raises(ValueError, match="is not a checkpoint of setwise, or it is truncated"):
            convex().fit(X, Y, checkpoint=file, resume=True)
    np.savez(file, w=np.zeros(3))
    with pytest.raises(ValueError, match="is not a checkpoint of setwise"):
        convex().fit(X, Y, checkpoint=file, resume=True)


def test_a_file_that_is_there_is_not_overwritten(file):
    convex().fit(X, Y, checkpoint=file)
    with pytest.raises(FileExistsError, match=r"there is a file fit.npz already: pass resume=True"):
        convex(C=3.0).fit(X, Y, checkpoint=file)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"checkpoint": 3}, TypeError, "checkpoint must be the path of a file; got 3"),
        ({"resume": True}, ValueError, "resume=True needs checkpoint"),
        ({"checkpoint": "fit.npz", "resume": "yes"}, TypeError, "resume must be"),
        ({"checkpoint": "none/fit.npz"}, FileNotFoundError, "checkpoint must be a file in a folder that exists"),
    ],
)
def test_malformed_arguments_leave_the_model_as_it_was(arguments, error, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = convex(tol=1e-2).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(error, match=sentence):
        model.fit(X, Y, **arguments)
    assert vars(model).keys() == before.keys()
    assert model.coef_ is before["coef_"]


def test_nothing_is_written_where_nothing_is_learned(file):
    model = SetClassifier("f1", C=0).fit(X, Y, checkpoint=file)
    assert model.n_iter_ == 0
    assert not file.exists()


@pytest.mark.slow
def test_routes_do_not_lead_to_files(file):
    requests = SetClassifier().get_metadata_routing().fit.requests
    assert set(requests) == {"groups", "sample_weight", *(f"{cell}_cost" for cell in ("tp", "fp", "fn", "tn"))}
    with config_context(enable_metadata_routing=True):
        model = clone(SetClassifier(tol=1e-2).set_fit_request(groups=True).set_score_request(groups=True))
        search = GridSearchCV(model, {"C": [1.0, 10.0]}, cv=2).fit(X, Y, groups=BAGS)
        assert search.best_params_["C"] in (1.0, 10.0)
        with pytest.raises(TypeError, match="checkpoint"):
            SetClassifier().set_fit_request(checkpoint=True)


FIT = """
import signal
import sys
import numpy as np
from setwise import SetClassifier
from setwise.core import checkpoint
from setwise.learners import Checkpoint

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it
checkpoint.SHARE = 0.0
rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 30))
y = (X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(20_000) > 0.3).astype(int)
model = SetClassifier("jaccard", "convex", C=1e3, tol=1e-5)
model.fit(X[:500], y[:500])
print("ready", flush=True)
model.fit(X, y, checkpoint=Checkpoint(sys.argv[1], every=0.0), resume=True)
print(repr(model.lower_bound_), repr(model.objective_), model.status_, flush=True)
"""


def begun(file):
    return subprocess.Popen([sys.executable, "-c", FIT, str(file)], stdout=subprocess.PIPE, text=True)


def ended(process):
    lower, objective, status = process.communicate(timeout=120)[0].split()[-3:]
    assert process.returncode == 0
    return float(lower), float(objective), status


@pytest.mark.slow
def test_killed_at_random_moments(file, tmp_path):
    """kill -9 leaves a good file each time, the bounds never get worse, and the end is the same."""
    once = begun(tmp_path / "once.npz")
    assert once.stdout.readline() == "ready\n"
    start = time.perf_counter()
    lower, objective, status = ended(once)
    seconds = time.perf_counter() - start
    assert status == "converged"
    rng, lengths, bounds = np.random.default_rng(0), [0], [(-np.inf, np.inf)]
    for _ in range(rounds(20, 3)):
        process = begun(file)
        assert process.stdout.readline() == "ready\n"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.1, 0.6) * seconds)
        process.kill()
        process.wait()
        process.stdout.close()
        if file.exists():
            arrays = read_sealed(file)
            bounds.append(tuple(arrays["work/rows/lovasz/fit/bounds"][1:3]))
            lengths.append(len(arrays["work/rows/lovasz/fit/records"]))
    # On a busy machine many are killed before their first iteration; the others began where the last one was killed.
    assert len(set(lengths)) > 1
    assert lengths == sorted(lengths)
    assert bounds == sorted(bounds, key=lambda one: (one[0], -one[1]))
    assert [one[1] for one in bounds] == sorted((one[1] for one in bounds), reverse=True)
    found_lower, found, status = ended(begun(file))
    assert status == "converged"
    assert found_lower <= objective * (1 + 1e-12)
    assert lower <= found * (1 + 1e-12)
    assert found == pytest.approx(objective, rel=2e-5)
    assert not part_of(file).exists()


@pytest.mark.slow
def test_ctrl_c_of_a_process(file):
    process = begun(file)
    assert process.stdout.readline() == "ready\n"
    while not file.exists():
        time.sleep(0.01)
    process.send_signal(2)
    process.wait(60)
    process.stdout.close()
    assert process.returncode != 0
    assert len(read_sealed(file)["work/rows/lovasz/fit/records"]) >= 1
    assert ended(begun(file))[2] == "converged"


def test_how_often_is_what_the_user_says(file, monkeypatch):
    written = []
    monkeypatch.setattr("setwise.core.checkpoint.write_sealed", lambda path, arrays: written.append(path))
    convex().fit(X, Y, checkpoint=file)
    # After the first iteration, and at the end.
    assert written == [file, file]
    monkeypatch.setattr("setwise.core.checkpoint.SHARE", 0.0)
    model = convex().fit(X, Y, checkpoint=Checkpoint(file, every=0.0))
    assert len(written) - 2 == model.n_iter_ + 1
