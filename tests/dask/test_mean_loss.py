"""The loss of predictions on a Dask cluster is that of all rows in one place."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from setwise.core.batch import Sets
from setwise.losses import Jaccard, MeanOverClasses, as_loss

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'setwise[dask]'")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
from dask import delayed  # noqa: E402

from setwise.core.exceptions import Refusal  # noqa: E402
from setwise.dask import mean_loss  # noqa: E402

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
N = 2_000
# The share of positives and the scores differ much between partitions.
Y = (RNG.random(N) < np.linspace(0.02, 0.9, N)).astype(int)
S = np.round(Y + np.linspace(3.0, 0.0, N) + RNG.normal(size=N), 2)
GUESS = (S > 1.7).astype(int)
IDS = RNG.integers(0, 40, N)
CHUNKS = (900, 1, 99, 1_000)


def spread(array, chunks=CHUNKS):
    return da.from_array(array, chunks=(chunks,))


def test_it_is_that_of_all_rows_and_no_mean_of_partitions(client):
    auc = 1.0 - mean_loss(spread(Y), spread(S), "auc")
    assert auc == pytest.approx(roc_auc_score(Y, S), abs=1e-12)
    edges = np.cumsum(CHUNKS)[:-1]
    local = [
        roc_auc_score(y, s) for y, s in zip(np.split(Y, edges), np.split(S, edges), strict=True) if len(set(y)) > 1
    ]
    assert abs(np.mean(local) - auc) > 0.05
    assert 1.0 - mean_loss(spread(Y), spread(GUESS), "f1") == pytest.approx(f1_score(Y, GUESS), abs=1e-12)


@pytest.mark.draw(2)
@pytest.mark.parametrize("name", ["jaccard", "f1", "mcc", "auc", "average_precision"])
def test_groups_that_partitions_cut(client, name):
    loss = as_loss(name)
    order = np.argsort(IDS, kind="stable")
    sets = Sets(Y[order] == 1, np.concatenate(([0], np.cumsum(np.bincount(IDS)))))
    wanted = loss.values(sets, S[order] if loss.reads == "scores" else GUESS[order] == 1).mean()
    found = mean_loss(spread(Y), spread(S if loss.reads == "scores" else GUESS), name, spread(IDS))
    assert found == pytest.approx(wanted, abs=1e-12)


def test_collections_of_all_kinds(client):
    wanted, words = as_loss("f1")(Y, GUESS), np.array(["no", "yes"])
    frames = (dd.from_pandas(pd.Series(each), npartitions=3) for each in (Y, GUESS))
    parts = [[delayed(np.asarray)(part) for part in np.array_split(each, 5)] for each in (words[Y], words[GUESS])]
    unknown = [spread(each)[spread(S) > -np.inf] for each in (Y, GUESS)]
    for labels, guess, positive in ((*frames, 1), (*parts, "yes"), (*unknown, 1), (spread(Y, (N,)), spread(GUESS), 1)):
        assert mean_loss(labels, guess, "f1", pos_label=positive) == pytest.approx(wanted, abs=1e-12)
    assert mean_loss(spread(Y == 1), spread(GUESS == 1), "f1", pos_label=True) == pytest.approx(wanted, abs=1e-12)
    assert mean_loss(spread(Y), spread(GUESS), "f1", pos_label=0) == pytest.approx(as_loss("f1")(1 - Y, 1 - GUESS))


def test_whole_numbers_that_are_objects(client):
    wanted = mean_loss(spread(Y), spread(GUESS), "f1", spread(IDS))
    parts = [np.array_split(each, 2) for each in (Y, GUESS, IDS)]
    mixed = [[delayed(first.astype(object)), delayed(second)] for first, second in parts]
    assert mean_loss(*mixed[:2], "f1", mixed[2]) == pytest.approx(wanted, abs=1e-12)


def test_one_class_only(client):
    none = spread(np.zeros(N, int))
    assert mean_loss(none, none, "f1") == as_loss("f1")(np.zeros(N, int), np.zeros(N, int))
    assert mean_loss(none, spread(GUESS), "jaccard") == 1.0


@pytest.mark.draw(2)
@pytest.mark.parametrize(
    ("y", "predictions", "loss", "options", "kind", "words"),
    [
        (Y, spread(GUESS), "f1", {}, TypeError, "y must be a Dask array or dataframe"),
        (
            spread(Y),
            spread(GUESS[:-1], (N - 1,)),
            "f1",
            {},
            ValueError,
            "predictions and y must have the same number of rows",
        ),
        (spread(Y), spread(S), "f1", {}, ValueError, "y and predictions must hold two labels"),
        (spread(Y), spread(GUESS), "f1", {"pos_label": 2}, ValueError, "of which one is pos_label=2; got"),
        (spread(Y), spread(GUESS), "f1", {"pos_label": None}, ValueError, "pos_label must be one label"),
        (spread(Y), GUESS, "f1", {}, TypeError, "a loss of setwise.losses takes data in memory"),
        (spread(Y), spread(GUESS.astype(str)), "f1", {}, ValueError, "got '0', '1', 0, 1"),
        (spread(Y), spread((1 << 60) + np.arange(N)), "auc", {}, ValueError, "predictions must"),
        (spread(Y[:0], (0,)), spread(GUESS[:0], (0,)), "f1", {}, ValueError, "y must not be empty"),
        (
            [delayed(Y)],
            [delayed(GUESS[1:])],
            "f1",
            {},
            ValueError,
            "predictions and y must have the same number of rows in each",
        ),
        (spread(Y), spread(S * np.nan), "auc", {}, ValueError, "predictions must be finite"),
        (spread(Y), spread(S.astype(str)), "auc", {}, ValueError, "predictions must be scores"),
        (da.from_array(np.stack([Y, Y], axis=1)), spread(GUESS), "f1", {}, ValueError, "y must be flat"),
    ],
)
def test_what_does_not_fit_is_refused(client, y, predictions, loss, options, kind, words):
    with pytest.raises(kind, match=words):
        mean_loss(y, predictions, loss, **options)


@pytest.mark.parametrize("ids", [IDS[:-1], np.append(IDS, 3)])
@pytest.mark.parametrize("loss", ["f1", "auc"])
def test_groups_of_another_length_are_refused(client, ids, loss):
    guess = S if loss == "auc" else GUESS
    with pytest.raises(ValueError, match=f"must have one id for each row, {N} in a place; got {len(ids)}"):
        mean_loss([delayed(Y)], [delayed(guess)], loss, [delayed(ids)])
    with pytest.raises(ValueError, match="predictions and groups must have the same number of rows"):
        mean_loss(spread(Y), spread(guess), loss, da.from_array(ids))


def test_several_classes_are_refused(client):
    with pytest.raises(Refusal, match="more than two classes"):
        mean_loss(spread(Y), spread(GUESS), MeanOverClasses(Jaccard()))
