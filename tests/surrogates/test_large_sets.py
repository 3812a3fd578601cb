"""One large set is evaluated from summaries of its pieces where a gap is allowed, and exactly elsewhere."""

import numpy as np
import pytest

from setwise import SetClassifier
from setwise.core.batch import Sets
from setwise.kernels.threads import thread_limit
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp
from setwise.surrogates.pieces import lovasz

SURROGATES = {
    "hinge of Jaccard": LovaszHinge("jaccard"),
    "margin of Jaccard": MarginRescaling("jaccard", scale="size"),
    "margin of F1": MarginRescaling("f1"),
    "margin of MCC": MarginRescaling("mcc", scale="size"),
    "margin of ROC area": MarginRescaling("auc", scale="size"),
    "ramp of F1": Ramp("f1", scale="size"),
}


@pytest.fixture
def small(monkeypatch):
    """Sets of a hundred decisions are large, and pieces have 37 of them."""
    monkeypatch.setattr(lovasz, "LARGE", 100)
    monkeypatch.setattr(lovasz, "PIECE", 37)


def scored(rng, size, kind):
    scores = {
        "normal": rng.normal(size=size),
        "tied": rng.integers(-2, 3, size).astype(float),
        "zero": np.zeros(size),
        "huge": rng.normal(size=size) * 1e6,
    }[kind]
    return scores, rng.random(size) < rng.choice([0.0, 0.1, 0.5, 1.0])


@pytest.mark.draw(2)
@pytest.mark.parametrize("name", SURROGATES)
@pytest.mark.parametrize("kind", ["normal", "tied", "zero", "huge"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_plane_below_within_the_gap(name, kind, dtype, small):
    surrogate, rng = SURROGATES[name], np.random.default_rng(0)
    for size in (100, 111, 350):
        scores, y = scored(rng, size, kind)
        scores = scores.astype(dtype)
        found = surrogate.on(Sets.single(y))
        exact, rough = found(scores), found(scores, 1e-3)
        # Numbers that float32 holds have sums of their size.
        room = 1e-5 * (1.0 + np.abs(scores).max()) if dtype == np.float32 else 1e-9 * (1.0 + np.abs(exact.values[0]))
        assert exact.values[0] - 1e-3 - room <= rough.values[0] <= exact.values[0] + room
        assert exact.values[0] <= rough.upper[0] + room
        assert rough.upper[0] - rough.values[0] <= 1e-3 + room
        assert rough.gradient.dtype == dtype
        if found.convex and kind != "huge":
            other = scores + rng.normal(size=size).astype(dtype)
            plane = rough.values[0] + rough.gradient.astype(float) @ (other - scores).astype(float)
            assert found(other).values[0] >= plane - max(room, 1e-6)


@pytest.mark.parametrize("name", SURROGATES)
def test_threads_change_no_bit_and_small_gaps_are_exact(name, small):
    rng = np.random.default_rng(1)
    scores, y = rng.normal(size=500), rng.random(500) < 0.3
    found, whole = (surrogate.on(Sets.single(y)) for surrogate in [SURROGATES[name]] * 2)
    with thread_limit(3):
        many = found(scores, 1e-2)
    one = found(scores, 1e-2)
    assert many.gradient.tobytes() == one.gradient.tobytes()
    assert many.values == one.values
    lovasz.LARGE = 1_000  # the fixture puts it back
    whole = SURROGATES[name].on(Sets.single(y))
    assert found(scores, 1e-9).values == whole(scores).values == found.take(np.array([0]))(scores).values


def test_which_sets_are_large(small):
    y = np.arange(120) % 3 == 0
    evaluator = MarginRescaling("f1").on(Sets.single(y))
    assert isinstance(evaluator, lovasz.LargeSet)
    assert repr(evaluator) == repr(evaluator.whole)
    for batch in (
        Sets.single(y[:99]),
        Sets(y, np.array([0, 100, 120])),
        Sets(y, np.array([0, 120]), compared=np.full(120, 0.5)),
        Sets(np.where(y, 1, -1).astype(np.int8), np.array([0, 120])),
    ):
        assert not isinstance(MarginRescaling("f1").on(batch), lovasz.LargeSet)
    # Average precision has no pieces.
    assert not isinstance(MarginRescaling("average_precision").on(Sets.single(y)), lovasz.LargeSet)


@pytest.mark.draw(4)
@pytest.mark.parametrize("surrogate", ["lovasz", "margin", "ramp"])
def test_fits_agree(surrogate, monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + 0.4 * rng.normal(size=400) > 0.5
    wanted = SetClassifier("jaccard", surrogate, C=50.0, tol=1e-3).fit(X, y)
    monkeypatch.setattr(lovasz, "LARGE", 100)
    found = SetClassifier("jaccard", surrogate, C=50.0, tol=1e-3).fit(X, y)
    assert found.status_ == wanted.status_
    assert found.objective_ == pytest.approx(wanted.objective_, rel=2e-3 if surrogate != "ramp" else 0.05)
    if surrogate != "ramp":
        assert found.lower_bound_ <= wanted.objective_
        assert wanted.lower_bound_ <= found.objective_
