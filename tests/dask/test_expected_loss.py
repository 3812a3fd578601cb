"""Decisions for probabilities on a Dask cluster are those for all of them."""

import numpy as np
import pytest

from setwise.core.exceptions import Refusal
from setwise.decisions import expected_loss, least_expected_loss

pytest.importorskip("distributed", reason="needs Dask: pip install 'setwise[dask]'")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask import delayed

from setwise import dask as on_dask
from setwise.distributed.decisions import least_of, predicted, ties_of
from setwise.losses import FBeta, PrecisionAtK
from setwise.risks.places import LocalObjects, LocalPlaces, PlaceArguments

pytestmark = pytest.mark.slow

Q = np.random.default_rng(0).random(30_000) ** 4


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", ["f1", "jaccard", "error_rate", "balanced_error"])
def test_it_is_the_decision_for_all(client, loss):
    found = on_dask.least_expected_loss(da.from_array(Q, chunks=((1, 9_999, 0, 20_000),)), loss, tol=1e-6)
    wanted = least_expected_loss(Q, loss, tol=0.0)
    assert isinstance(found.labels, da.Array)
    labels = found.labels.compute()
    assert found.certified
    assert labels.dtype == bool
    assert found.size == labels.sum()
    assert found.bound <= wanted.values[0] + 1e-12 <= found.value + 2e-12 <= wanted.values[0] + 1.1e-6
    assert expected_loss(Q, labels, loss)[0] == pytest.approx(found.value, abs=1e-12)


def test_labels_are_of_the_kind_of_the_probabilities(client):
    labels = on_dask.least_expected_loss(da.from_array(Q, chunks=7_000), client=client).labels.compute()
    series = pd.Series(Q, name="q", index=np.arange(len(Q)) + 5)
    found = on_dask.least_expected_loss(dd.from_pandas(series, npartitions=3)).labels
    assert isinstance(found, dd.Series)
    pd.testing.assert_series_equal(found.compute(), pd.Series(labels, series.index, name="q"))
    parts = on_dask.least_expected_loss([delayed(Q[:9]), delayed(Q[9:9]), delayed(Q[9:])]).labels
    np.testing.assert_array_equal(np.concatenate([part.compute() for part in parts]), labels)
    unknown = da.from_array(Q, chunks=7_000)
    unknown = unknown[unknown >= 0.0]
    np.testing.assert_array_equal(on_dask.least_expected_loss(unknown).labels.compute(), labels)
    short = on_dask.least_expected_loss(da.from_array(Q.astype(np.float32), chunks=7_000))
    assert short.value == pytest.approx(least_expected_loss(Q.astype(np.float32), FBeta()).values[0], abs=1e-3)


def test_equal_probabilities_are_taken_in_the_order_of_partitions(client):
    q = np.where(np.arange(600) % 3 == 0, 0.7, 0.4)
    found = on_dask.least_expected_loss(da.from_array(q, chunks=250), PrecisionAtK(250))
    assert (found.threshold, found.ties) == (0.4, 50)
    wanted = (q == 0.7) | (np.cumsum(q == 0.4) <= 50)
    np.testing.assert_array_equal(found.labels.compute(), wanted)
    places, pieces = LocalPlaces(3), LocalObjects(np.split(q, [250, 500]))
    here = least_of(places, pieces, PrecisionAtK(250), 1e-3)
    labels = places.tell(predicted, pieces, here.threshold, PlaceArguments(ties_of(places, pieces, here)))
    np.testing.assert_array_equal(np.concatenate(labels), wanted)


def test_what_does_not_fit_is_refused(client):
    def refused(q):
        return on_dask.least_expected_loss(da.from_array(np.asarray(q), chunks=2))

    with pytest.raises(ValueError, match=r"probabilities must be finite; got NaN"):
        refused([0.1, 0.2, np.nan])
    with pytest.raises(ValueError, match=r"probabilities must be finite; got NaN"):
        refused(np.array([0.1, np.nan], dtype=np.float32))
    for odd in (1.5, -1e-9):
        with pytest.raises(ValueError, match=rf"probabilities must be in \[0, 1\]; got {odd}"):
            refused([0.1, 0.2, odd])
    with pytest.raises(ValueError, match=r"probabilities must be flat, shape \(m,\) in each place; got shape \(2, 2\)"):
        refused(np.full((4, 4), 0.5))
    with pytest.raises(ValueError, match="must hold real numbers; got dtype bool"):
        refused([True, False])
    with pytest.raises(ValueError, match="must not be empty in all places"):
        on_dask.least_expected_loss([delayed(np.empty(0))])
    with pytest.raises(TypeError, match="least_expected_loss takes data in memory"):
        on_dask.least_expected_loss(Q)
    with pytest.raises(ValueError, match="tol must be"):
        on_dask.least_expected_loss(da.from_array(Q, chunks=7_000), tol=-1.0)
    with pytest.raises(Refusal, match="refuses probabilities in several places"):
        on_dask.least_expected_loss(da.from_array(Q, chunks=7_000), "kld")
