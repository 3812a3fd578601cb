"""The threshold of scores on a Dask cluster is the best of all rows."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from setwise.core.exceptions import Refusal
from setwise.decisions import best_threshold

pytest.importorskip("distributed", reason="needs Dask: pip install 'setwise[dask]'")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask import delayed

from setwise.dask import MeasureClassifier

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 4))
Y = np.where(X[:, 0] + RNG.normal(size=2000) > 1.5, "a", "b")
TRAIN, TEST = slice(0, 500), slice(500, None)
CHUNKS = (1, 499, 600, 400)


def spread(array):
    return da.from_array(array, chunks=(CHUNKS, *array.shape[1:]))


@pytest.mark.draw(10)
@pytest.mark.parametrize("loss", ["f1", "jaccard", "error_rate", "g_mean", "kld"])
@pytest.mark.parametrize("base", [LogisticRegression(), LinearSVC()], ids=repr)
def test_it_is_the_classifier_of_one_place(client, loss, base):
    base.fit(X[TRAIN], Y[TRAIN])
    model = MeasureClassifier(base, loss, pos_label="a").fit(spread(X[TEST]), spread(Y[TEST]))
    scores = base.predict_proba(X)[:, 0] if hasattr(base, "predict_proba") else -base.decision_function(X)
    wanted = best_threshold(Y[TEST] == "a", scores[TEST], loss)
    assert (model.best_threshold_, *model.threshold_interval_) == (wanted.threshold, wanted.low, wanted.high)
    assert model.classes_.tolist() == ["b", "a"]
    np.testing.assert_array_equal(model.predict(X), np.where(scores >= wanted.threshold, "a", "b"))
    np.testing.assert_array_equal(model.predict(spread(X[TEST])).compute(), model.predict(X[TEST]))
    found = model.decision_function(spread(X[TEST])).compute()
    np.testing.assert_allclose(found, scores[TEST], rtol=1e-12)
    assert model.best_score_ == pytest.approx(1.0 - wanted.loss, abs=1e-12)
    assert model.best_score_ == pytest.approx(model.score(spread(X[TEST]), spread(Y[TEST])), abs=1e-12)


def test_dataframes_go_to_the_estimator_as_they_are(client):
    frame = pd.DataFrame(X, columns=list("abcd"))
    base = LogisticRegression().fit(frame[TRAIN], Y[TRAIN])
    rows, labels = (
        dd.from_pandas(each, npartitions=3) for each in (frame[TEST], pd.Series(Y[TEST], frame.index[TEST]))
    )
    model = MeasureClassifier(base).fit(rows, labels)
    found = model.predict(rows)
    assert isinstance(found, dd.Series)
    np.testing.assert_array_equal(found.compute(), model.predict(frame[TEST]))


def test_sparse_partitions(client):
    base = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    rows = [delayed(csr_matrix)(X[500:900]), delayed(csr_matrix)(X[900:])]
    model = MeasureClassifier(base).fit(rows, [delayed(Y[500:900]), delayed(Y[900:])])
    dense = MeasureClassifier(base).fit(spread(X[TEST]), spread(Y[TEST]))
    assert model.best_threshold_ == pytest.approx(dense.best_threshold_, rel=1e-12)


def test_what_does_not_fit_is_refused(client):
    base = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(NotFittedError):
        MeasureClassifier(LogisticRegression()).fit(spread(X[TEST]), spread(Y[TEST]))
    with pytest.raises(NotFittedError):
        MeasureClassifier(base).predict(X)
    with pytest.raises(ValueError, match="y must hold the labels"):
        MeasureClassifier(base).fit(spread(X[TEST]), spread(Y[TEST] == "a"))
    with pytest.raises(Refusal, match="not a function of"):
        MeasureClassifier(base, "auc").fit(spread(X[TEST]), spread(Y[TEST]))
    with pytest.raises(ValueError, match="same number of partitions"):
        MeasureClassifier(base).fit(dd.from_pandas(pd.DataFrame(X), npartitions=2), spread(Y[TEST]))
    model = MeasureClassifier(base, client=client).fit(spread(X[TEST]), spread(Y[TEST]))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
