"""A fit on a Dask cluster that goes on from a checkpoint."""

import warnings

import numpy as np
import pytest

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'setwise[dask]'")

import dask.array as da  # noqa: E402

from setwise.core.checkpoint import read_sealed  # noqa: E402
from setwise.dask import SetClassifier  # noqa: E402
from setwise.distributed.classifier import PlacedLogistic  # noqa: E402
from setwise.risks import DistributedRisk  # noqa: E402

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X[:, 0] - 0.5 * X[:, 1] + 0.5 * RNG.normal(size=300) > 0.6).astype(int)
IDS = np.repeat(np.arange(30), 10)


def spread(array, chunks=(120, 1, 179)):
    return None if array is None else da.from_array(array, chunks=(chunks, *array.shape[1:]))


@pytest.mark.draw(4)
@pytest.mark.parametrize("loss", ["jaccard", "f1"])
@pytest.mark.parametrize("ids", [None, IDS], ids=["one set", "sets"])
def test_the_same_certificate_after_ctrl_c(client, loss, ids, tmp_path, monkeypatch):
    file, cut, calls = tmp_path / "fit.npz", DistributedRisk.cut, []
    rows = (spread(X), spread(Y), spread(ids))

    def stopped(self, w, tol=0.0):
        calls.append(w)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return cut(self, w, tol)

    full = SetClassifier(loss, "convex", tol=1e-3).fit(*rows)
    half = SetClassifier(loss, "convex", tol=1e-3)
    with monkeypatch.context() as patch:
        patch.setattr(DistributedRisk, "cut", stopped)
        with pytest.raises(KeyboardInterrupt), warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            half.fit(*rows, checkpoint=file)
    assert len(read_sealed(file)[f"work/{half.surrogate_}/fit/records"]) == half.n_iter_ == 5
    after = SetClassifier(loss, "convex", tol=1e-3).fit(*rows, checkpoint=file, resume=True)
    assert after.status_ == "converged"
    assert after.history_["lower_bound"][5] >= half.lower_bound_
    assert after.history_["upper_bound"][5] <= half.history_["upper_bound"][-1]
    assert after.lower_bound_ <= full.objective_ * (1 + 1e-9)
    assert full.lower_bound_ <= after.objective_ * (1 + 1e-9)


def test_other_rows_are_refused(client, tmp_path):
    file = tmp_path / "fit.npz"
    SetClassifier(surrogate="convex", tol=1e-2).fit(spread(X), spread(Y), checkpoint=file)
    other = X.copy()
    other[299, 3] += 1e-9
    for rows, sentence in (
        ((spread(other), spread(Y)), "another fit: X differs. Take another file"),
        ((spread(X), spread(1 - Y)), "another fit: y differs"),
        ((spread(X), spread(Y), spread(IDS)), "another fit: groups differs"),
        ((spread(X, (150, 150)), spread(Y, (150, 150))), "another fit: X differs; y differs"),
    ):
        with pytest.raises(ValueError, match=sentence):
            SetClassifier(surrogate="convex", tol=1e-2).fit(*rows, checkpoint=file, resume=True)
    with pytest.raises(ValueError, match="C is 'auto' there and 3.0 here"):
        SetClassifier(surrogate="convex", C=3.0).fit(spread(X), spread(Y), checkpoint=file, resume=True)


@pytest.mark.parametrize("stop", [2, 5])
def test_the_same_bits_after_ctrl_c_in_the_start_of_a_ramp(client, stop, tmp_path, monkeypatch):
    file, objective, calls = tmp_path / "fit.npz", PlacedLogistic._objective, []

    def stopped(self, scaled):
        calls.append(scaled)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return objective(self, scaled)

    full = SetClassifier("f1").fit(spread(X), spread(Y))
    with monkeypatch.context() as patch:
        patch.setattr(PlacedLogistic, "_objective", stopped)
        with pytest.raises(KeyboardInterrupt), warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            SetClassifier("f1").fit(spread(X), spread(Y), checkpoint=file)
    after = SetClassifier("f1").fit(spread(X), spread(Y), checkpoint=file, resume=True)
    assert after.surrogate_ == "ramp"
    assert after.coef_.tobytes() == full.coef_.tobytes()
    assert (after.objective_, after.n_iter_) == (full.objective_, full.n_iter_)
