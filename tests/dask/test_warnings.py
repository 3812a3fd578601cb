"""What fits on a Dask cluster say: of bounds that say nothing, and of Ctrl-C in their start."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'setwise[dask]'")

import dask.array as da
from sklearn.exceptions import ConvergenceWarning

from setwise.dask import SetClassifier
from setwise.distributed.classifier import PlacedLogistic
from setwise.estimators.linear_training import VacuousBoundWarning

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
RARE = (RNG.random(200) < 0.1).astype(int)
CLEAR = (X[:, 0] > 0.5).astype(int)


def spread(array):
    return da.from_array(array, chunks=(70, *array.shape[1:]))


def test_a_bound_that_says_nothing_is_said(client):
    with pytest.warns(VacuousBoundWarning, match="'lovasz' guarantees no smaller loss.*take surrogate='ramp'") as said:
        SetClassifier("jaccard", "convex").fit(spread(X), spread(RARE))
    assert said[0].filename == __file__
    SetClassifier("jaccard", "convex", C=1e4).fit(spread(X), spread(CLEAR))


@pytest.mark.filterwarnings("ignore::setwise.VacuousBoundWarning")
def test_the_scale_of_features_is_said(client):
    model = SetClassifier("f1", "margin", max_iter=30)
    with pytest.warns(ConvergenceWarning, match=r"; scale X, whose rows have norms of up to \de\+18\."):
        model.fit(spread(1e18 * X), spread(CLEAR))
    with pytest.warns(VacuousBoundWarning, match=r"scale X up, whose numbers are at most \de-150"):
        model.fit(spread(1e-150 * X), spread(CLEAR))
    with pytest.raises(OverflowError, match=r"X is too small: the weights .* scale X up"):
        SetClassifier("f1").fit(spread(1e-150 * X), spread(CLEAR))


def test_ctrl_c_in_the_start_keeps_the_best_weights(client, monkeypatch):
    objective, calls = PlacedLogistic._objective, []

    def stopped(self, scaled):
        calls.append(scaled)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return objective(self, scaled)

    monkeypatch.setattr(PlacedLogistic, "_objective", stopped)
    model = SetClassifier("f1")
    with (
        pytest.warns(RuntimeWarning, match="SetClassifier was interrupted in its start"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(spread(X), spread(CLEAR))
    assert model.status_ == "interrupted"
    assert np.mean(model.predict(X) == CLEAR) > 0.8
