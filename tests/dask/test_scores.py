"""Scores of rankings on a Dask cluster, where rows do not come together."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'setwise[dask]'")

import dask.array as da

from setwise.dask import SetClassifier
from setwise.decisions import threshold_pieces
from setwise.distributed import rows

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3))
Y = X[:, 0] + RNG.normal(size=900) > 0.8
GROUPS = RNG.integers(0, 5, 900)


def spread(array):
    return da.from_array(array, chunks=((1, 399, 200, 300), *array.shape[1:]))


@pytest.mark.draw(3)
@pytest.mark.parametrize("groups", [None, GROUPS, np.sort(GROUPS)], ids=["one", "mixed", "sorted"])
def test_the_area_of_rows_that_stay_where_they_are(client, groups, monkeypatch):
    ids = None if groups is None else spread(groups)
    model = SetClassifier("auc", tol=0.1, client=client).fit(spread(X), spread(Y), ids)
    here = model.to_local().score(X, Y, groups)
    monkeypatch.setattr(rows, "FEW", 100)
    monkeypatch.setattr(rows, "MOST", 150)
    monkeypatch.setattr(threshold_pieces, "SENT", 50)
    assert model.score(spread(X), spread(Y), ids) == pytest.approx(here, abs=1e-12)
