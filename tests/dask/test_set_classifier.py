"""A classifier on a Dask cluster equals the one of this process."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

import setwise
from setwise.core.exceptions import Refusal
from setwise.risks import distributed_risk

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'setwise[dask]'")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
from dask import delayed  # noqa: E402

import setwise.dask.workers as workers_module  # noqa: E402
from setwise.dask import SetClassifier, Workers  # noqa: E402

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = (X[:, 0] - 0.5 * X[:, 1] + 0.5 * RNG.normal(size=400) > 0.6).astype(int)
SORTED = np.sort(RNG.integers(0, 30, 400))
CHUNKS = (199, 1, 200)
GROUPS = {"one set": None, "sorted": SORTED, "falling": SORTED[::-1].copy(), "mixed": RNG.permutation(SORTED)}


def spread(array, chunks=CHUNKS):
    return None if array is None else da.from_array(array, chunks=(chunks, *array.shape[1:]))


def assert_same(model, wanted):
    """Both objectives lie between the bounds of the other fit."""
    assert (model.status_, model.surrogate_, model.C_) == ("converged", wanted.surrogate_, wanted.C_)
    assert model.lower_bound_ <= wanted.objective_ * (1 + 1e-9)
    assert wanted.lower_bound_ <= model.objective_ * (1 + 1e-9)


@pytest.mark.draw(8)
@pytest.mark.parametrize("loss", ["jaccard", "f1"])
@pytest.mark.parametrize("groups", GROUPS)
def test_the_fit_equals_the_one_of_one_place(client, loss, groups):
    ids = GROUPS[groups]
    model = SetClassifier(loss, surrogate="convex", tol=1e-2).fit(spread(X), spread(Y), spread(ids))
    assert_same(model, setwise.SetClassifier(loss, "convex", tol=1e-2).fit(X, Y, groups=ids))
    assert model.score(spread(X), spread(Y), spread(ids)) == pytest.approx(model.to_local().score(X, Y, ids), abs=1e-12)


@pytest.mark.draw(10)
@pytest.mark.parametrize("loss", ["auc", "average_precision", "hamming", "zero_one", "max"])
@pytest.mark.parametrize("groups", ["one set", "mixed"])
def test_scores_of_any_loss_are_exact(client, loss, groups):
    ids, truth = GROUPS[groups], Y.copy()
    if ids is not None:
        # Losses of rankings want both labels in each set.
        truth[np.unique(ids, return_index=True)[1]] = 1
        truth[len(ids) - 1 - np.unique(ids[::-1], return_index=True)[1]] = 0
    model = SetClassifier("jaccard", "convex", tol=1e-2).fit(spread(X), spread(truth), spread(ids))
    model.loss_ = setwise.losses.as_loss(loss)
    here = model.to_local().score(X, truth, ids)
    assert model.score(spread(X), spread(truth), spread(ids)) == pytest.approx(here, abs=1e-12)


def collections():
    parts = np.cumsum(CHUNKS)[:-1]
    frame = pd.DataFrame(X, columns=list("abcde"))
    yield "other chunks of y", da.from_array(X, chunks=(150, 2)), da.from_array(Y, chunks=100)
    unknown = spread(X)[spread(X)[:, 0] > -np.inf], spread(Y)[spread(X)[:, 0] > -np.inf]
    yield "unknown chunks", *unknown
    yield "unknown and other chunks", unknown[0], da.from_array(Y, chunks=64)
    yield "unknown chunks of other lengths", unknown[0], da.from_array(Y, chunks=150)[da.from_array(X[:, 0]) > -np.inf]
    yield "dataframe", dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(Y), npartitions=3)
    rows, labels = np.split(X, parts), np.split(Y, parts)
    yield "delayed", [delayed(np.asarray)(part) for part in rows], [delayed(np.asarray)(part) for part in labels]
    yield "sparse", [delayed(csr_matrix)(part) for part in rows], [delayed(np.asarray)(part) for part in labels]
    yield "float32", spread(X.astype(np.float32)), spread(Y)
    columns = [delayed(np.reshape)(part, (-1, 1)) for part in labels]
    yield "columns of y", [delayed(np.asarray)(part) for part in rows], columns


@pytest.mark.draw(12)
@pytest.mark.parametrize(
    ("kind", "rows", "labels"), list(collections()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_collections_of_all_kinds(client, kind, rows, labels):
    model = SetClassifier("jaccard", "convex", tol=1e-2).fit(rows, labels)
    assert_same(model, setwise.SetClassifier("jaccard", "convex", tol=1e-2).fit(X, Y))
    scores, found = model.decision_function(rows), model.predict(rows)
    assert type(scores) is type(found)
    if isinstance(rows, list):
        scores, found = (np.concatenate([part.compute() for part in each]) for each in (scores, found))
    else:
        assert isinstance(found, da.Array if isinstance(rows, da.Array) else dd.Series)
        scores, found = scores.compute(), found.compute()
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(np.asarray(scores) > 0, np.asarray(found) == 1)


def test_collections_are_not_changed(client):
    rows, labels = (each[spread(X)[:, 0] > -1.0] for each in (spread(X), spread(Y)))
    for persist in (True, False):
        SetClassifier("jaccard", "convex", tol=1e-1, persist=persist).fit(rows, labels)
        assert np.isnan(rows.chunks[0]).all()
        assert np.isnan(labels.chunks[0]).all()


def test_labels_of_any_kind_and_the_positive_one(client):
    words = np.where(Y == 1, "no", "yes")
    model = SetClassifier("jaccard", "convex", pos_label="no", tol=1e-2).fit(spread(X), spread(words))
    assert model.classes_.tolist() == ["yes", "no"]
    same = SetClassifier("jaccard", "convex", tol=1e-2).fit(spread(X), spread(Y))
    np.testing.assert_array_equal(model.coef_, same.coef_)
    np.testing.assert_array_equal(model.predict(X), np.where(same.predict(X) == 1, "no", "yes"))


@pytest.mark.draw(3)
@pytest.mark.parametrize("packs", [None, [[2, 0], [1]], [[1, 2, 0]]], ids=["apart", "two packs", "one pack"])
def test_bits_do_not_depend_on_packs(client, packs, monkeypatch):
    fit = SetClassifier("jaccard", "convex", client=client, tol=1e-2).fit
    rows = spread(X), spread(Y), spread(GROUPS["mixed"])
    wanted = fit(*rows)
    monkeypatch.setattr("setwise.dask.workers.packs_of", lambda *_: packs)
    found = fit(*rows)
    assert (found.coef_.tobytes(), found.lower_bound_) == (wanted.coef_.tobytes(), wanted.lower_bound_)
    assert found.score(*rows) == wanted.score(*rows)


@pytest.mark.parametrize("persist", [True, False])
def test_tasks_have_names_on_the_dashboard(client, persist):
    SetClassifier("jaccard", "convex", tol=1e-1, persist=persist).fit(spread(X), spread(Y))
    names = client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.task_prefixes))
    assert names >= {"shard-of", "shard-scores", "shard-begin", "shard-brief", "shard-end"}
    assert not [name for name in names if "together" in name]


def test_small_partitions_of_a_worker_are_worked_on_together(client, monkeypatch):
    workers = list(client.nthreads())
    held = [client.submit(np.zeros, 1_000 + k, pure=False, workers=workers[k % 2]) for k in range(10)]
    assert sorted(workers_module.packs_of(client, held)) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    monkeypatch.setattr(workers_module, "PACK", 20_000)
    assert sorted(workers_module.packs_of(client, held)) == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]
    monkeypatch.setattr(client, "nthreads", lambda: dict.fromkeys(workers, 4))
    monkeypatch.setattr(workers_module, "PACK", 1 << 27)
    assert sorted(workers_module.packs_of(client, held)) == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]
    with pytest.raises(ValueError, match=r"packs must have each partition 0 to 2 once; got \[\[0, 1\], \[1\]\]"):
        Workers(client, 3, [[0, 1], [1]])


def test_bits_do_not_depend_on_the_number_of_workers():
    found = []
    for workers in (1, 2, 4):
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            model = SetClassifier("jaccard", "convex", client=client, tol=1e-2).fit(spread(X), spread(Y))
            found.append((model.coef_.tobytes(), model.objective_, model.lower_bound_))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("loss", ["jaccard", "f1"])
def test_rows_that_are_loaded_anew_give_the_same_bits(client, loss):
    kept = SetClassifier(loss, "convex", tol=1e-2).fit(spread(X), spread(Y), spread(SORTED))
    anew = SetClassifier(loss, "convex", tol=1e-2, persist=False).fit(spread(X), spread(Y), spread(SORTED))
    assert anew.coef_.tobytes() == kept.coef_.tobytes()
    assert (anew.objective_, anew.lower_bound_) == (kept.objective_, kept.lower_bound_)
    assert anew.score(spread(X), spread(Y)) == kept.score(spread(X), spread(Y))


def test_files_of_parquet_and_clones(client, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=Y, g=SORTED)
    for k in range(4):
        frame[100 * k : 100 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    rows = dd.read_parquet(tmp_path)
    model = clone(SetClassifier("jaccard", "convex", tol=1e-2, client=client))
    assert model.client is client
    model.fit(rows[list("abcde")], rows["y"], rows["g"])
    assert_same(model, setwise.SetClassifier("jaccard", "convex", tol=1e-2).fit(X, Y, groups=SORTED))
    assert model.feature_names_in_.tolist() == list("abcde")
    for call in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="X must have the columns that were fitted, in their order"):
            call(rows[list("bacde")])


@pytest.mark.draw(4)
@pytest.mark.parametrize("learner", ["one_slack", "subgradient", "block_frank_wolfe", "nrbm"])
def test_learners_by_name(client, learner):
    model = SetClassifier("jaccard", "convex", learner, tol=0.1, max_iter=20).fit(spread(X), spread(Y))
    best = setwise.SetClassifier("jaccard", "convex", tol=1e-3).fit(X, Y)
    assert model.lower_bound_ <= best.objective_ * (1 + 1e-9)
    assert best.lower_bound_ <= model.objective_ * (1 + 1e-9)


def test_one_constant_group_is_all_rows(client):
    there = SetClassifier("f1", tol=0.1).fit(spread(X), spread(Y), spread(np.full(400, 7)))
    assert there.surrogate_ == "ramp"


def test_models_are_stored_without_their_client(client):
    model = SetClassifier("jaccard", tol=1e-2, client=client).fit(spread(X), spread(Y))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(model.to_local().predict(X), model.predict(X))


@pytest.mark.draw(2)
@pytest.mark.parametrize(
    ("rows", "labels", "kind", "words"),
    [
        (X, Y, TypeError, "X must be a Dask array or dataframe, or a list of delayed objects; got ndarray"),
        (spread(X), Y, TypeError, "y must be a Dask array"),
        (spread(X), spread(Y[:-1], (399,)), ValueError, "X and y must have the same number of rows; got 400 and 399"),
        (spread(X), spread(0 * Y), ValueError, "y must have two labels; got 1"),
        (spread(X), spread(np.arange(400) % 3), ValueError, "y must have two labels; got 3"),
        (spread(X * np.nan), spread(Y), ValueError, "X must be finite; got NaN or inf"),
        (spread(X), [delayed(Y)], ValueError, "same number of partitions"),
        (delayed(X), delayed(Y), TypeError, r"a single one: put it into a list, \[X\]"),
        (
            spread(X)[spread(X)[:, 0] > 0],
            spread(Y)[spread(X)[:, 0] > 1],
            ValueError,
            f"X and y must have the same number of rows; got {(X[:, 0] > 0).sum()} and {(X[:, 0] > 1).sum()}",
        ),
        (spread(X[:, 0]), spread(Y), ValueError, "X must have shape"),
        (spread(X), spread(np.where(Y == 1, 1.0, np.nan)), ValueError, "y must be finite"),
        (spread(X), spread(np.where(Y == 1, "a", None)), ValueError, "must not have missing values"),
        (spread(X), da.ma.masked_where(spread(X[:, 0] > 2), spread(Y)), ValueError, "must not have masked entries"),
        (spread(X + 1j), spread(Y), ValueError, "X must be real"),
        (spread((1 << 60) + np.arange(2_000).reshape(400, 5)), spread(Y), ValueError, "X must"),
        (
            [delayed(X[:200]), delayed(X[200:])],
            [delayed(Y[:200]), delayed(np.where(Y[200:] == 1, "1", "0"))],
            ValueError,
            "y must hold numbers in all places, or text in all",
        ),
        (
            spread(X),
            spread(Y.astype(float) + np.where(np.arange(400) == 7, np.nan, 0)),
            ValueError,
            "y must be finite",
        ),
    ],
)
def test_what_does_not_fit_is_refused(client, rows, labels, kind, words):
    with pytest.raises(kind, match=words):
        SetClassifier().fit(rows, labels)


@pytest.mark.parametrize(("loss", "few"), [("f1", 0), ("jaccard", 1 << 16), ("mcc", 0)])
def test_the_ramp_of_one_set_is_as_good_as_in_one_place(client, loss, few, monkeypatch):
    monkeypatch.setattr(distributed_risk, "FEW", few)
    model = SetClassifier(loss, client=client).fit(spread(X), spread(Y))
    here = setwise.SetClassifier(loss).fit(X, Y)
    assert (model.surrogate_, model.C_) == (here.surrogate_, here.C_) == ("ramp", here.C_)
    assert np.isnan(model.to_local()._radius)
    score = model.score(spread(X), spread(Y))
    assert score == pytest.approx(model.to_local().score(X, Y), abs=1e-12)
    assert score >= here.score(X, Y) - 0.02


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([delayed(SORTED[:-1])], "groups must have one id for each row, 400 in a place; got 399"),
        ([delayed(np.full(400, "NaT", "M8[D]"))], "groups must not have missing values; got NaT"),
    ],
)
def test_groups_that_do_not_fit_are_refused(client, groups, words):
    with pytest.raises(ValueError, match=words):
        SetClassifier("f1", "convex").fit([delayed(X)], [delayed(Y)], groups)


def test_classes_of_several_labels_are_refused(client):
    with pytest.raises(Refusal, match="for more than two classes"):
        SetClassifier(loss=setwise.losses.MeanOverClasses(setwise.losses.Jaccard())).fit(spread(X), spread(Y))


def test_labels_that_were_not_fitted_are_refused_by_score(client):
    model = SetClassifier("jaccard", "convex", tol=1e-2).fit(spread(X), spread(Y))
    with pytest.raises(ValueError, match="y must hold the labels"):
        model.score(spread(X), spread(Y + 1))
    with pytest.raises(ValueError, match="X must have 5 features; got 4"):
        model.predict(X[:, :4])


def test_setwise_does_not_import_dask_and_says_how_to_install_it():
    code = (
        "import sys; sys.modules['dask'] = None; import setwise; assert 'distributed' not in sys.modules\n"
        "try:\n    import setwise.dask\nexcept ImportError as error:\n    print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "setwise.dask needs dask and distributed: pip install 'setwise[dask]'.\n"
