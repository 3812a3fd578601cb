"""What a fit leaves behind: refused, interrupted, continued, or stopped early."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from setwise import SetClassifier
from setwise.estimators.set_training import SetProblem
from setwise.losses import Hamming
from setwise.risks import MeanRisk


def test_pickle_and_warm_start(bags):
    X, y, groups = bags
    model = SetClassifier(surrogate="convex", C=30, tol=1e-4, warm_start=True).fit(X, y, groups=groups)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    cold = model.n_iter_
    objective = model.objective_
    model.fit(X, y, groups=groups)
    assert model.history_["objective"][0] == pytest.approx(objective, rel=1e-9)
    assert model.n_iter_ <= cold


def interrupt_at_cut(number, monkeypatch):
    """Ctrl-C comes at this cut of a fit; returns a list with an entry for each cut."""
    cut, calls = MeanRisk.cut, []

    def interrupted(self, w, tol=0.0):
        calls.append(1)
        if len(calls) == number:
            raise KeyboardInterrupt
        return cut(self, w, tol)

    monkeypatch.setattr(MeanRisk, "cut", interrupted)
    return calls


def test_ctrl_c_keeps_the_best_weights(bags, monkeypatch):
    X, y, groups = bags
    interrupt_at_cut(4, monkeypatch)
    model = SetClassifier(C=1000, tol=1e-6)
    with (
        pytest.warns(RuntimeWarning, match="interrupted; these are the best weights so far"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, y, groups=groups)
    assert model.n_iter_ == 3
    assert np.isfinite(model.coef_).all()
    assert "interrupted" in model.stop_reason_
    assert model.score(X, y, groups=groups) > 0


@pytest.mark.parametrize("surrogate", ["auto", "ramp"])
def test_ctrl_c_while_a_fit_is_judged_keeps_it(bags, surrogate, monkeypatch):
    X, y, _ = bags
    full = SetClassifier("f1", surrogate).fit(X, y)
    loss_at, calls = SetProblem.loss_at, []

    def interrupted(self, w):
        calls.append(w)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return loss_at(self, w)

    stop = -1
    monkeypatch.setattr(SetProblem, "loss_at", interrupted)
    SetClassifier("f1", surrogate).fit(X, y)
    # The last two losses are those of the end and of the start.
    stop, last = len(calls) - 1, calls[-2]
    calls.clear()
    model = SetClassifier("f1", surrogate)
    with pytest.warns(RuntimeWarning, match="after the fit, during its evaluation"), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_array_equal(calls[-1], last)
    assert (model.status_, model.n_iter_) == ("interrupted", full.n_iter_)
    assert model.objective_ <= full.objective_ * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore:SetClassifier was interrupted")
def test_ctrl_c_stops_a_search_too(bags, monkeypatch):
    X, y, _ = bags
    calls = interrupt_at_cut(30, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(SetClassifier(tol=1e-6), {"C": [100.0, 1000.0]}, cv=3).fit(X, y)
    assert len(calls) == 30


def test_too_few_iterations_warn(bags):
    X, y, _ = bags
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations") as seen:
        SetClassifier(C=1e4, max_iter=1).fit(X, y)
    assert seen[0].filename == __file__


def test_a_refused_fit_leaves_the_model_as_it_was(bags):
    X, y, groups = bags
    model = SetClassifier("jaccard", C=100).fit(X, y, groups=groups)
    before, score = dict(vars(model)), model.score(X, y, groups=groups)
    for parameters in ({"loss": "f1", "surrogate": "lovasz"}, {"loss": Hamming([1.0])}, {"loss": "hamming"}):
        model.set_params(**parameters)
        with pytest.raises(ValueError, match=r"refuses|has 1 weights|sample_weight"):
            model.fit(X, y, groups=groups, sample_weight=np.arange(len(y)))
        model.set_params(loss="jaccard", surrogate="auto")
        assert vars(model).keys() == before.keys()
        assert model.loss_ is before["loss_"]
        assert model.score(X, y, groups=groups) == score
