"""Our objective on the scale of the set is SVM^perf's with C_perf = C / 100; its formulas are written out here anew."""

import itertools

import numpy as np
import pytest

from setwise.core.batch import Sets
from setwise.losses import BreakEven, ErrorRate, FBeta, RocArea
from setwise.surrogates import MarginRescaling


def risk(loss, y, s):
    """Max over labelings of 100 Delta - (50/n) <y - ybar, s> with labels -1 and 1, by a scan of all counts."""
    n, a, b = len(y), np.sort(s[y])[::-1], np.sort(s[~y])[::-1]
    P, N = len(a), len(b)
    if loss == "error":
        return 100 / n * np.maximum(0, 1 - np.where(y, s, -s)).sum()
    if loss == "roc":
        return 100 * np.maximum(0, 1 - (a[:, None] - b[None, :])).mean()
    best = -np.inf
    for fn in range(P + 1):
        for fp in range(N + 1):
            if loss == "prbep" and fn != fp:
                continue
            delta = fn / P if loss == "prbep" else 1 - 2 * (P - fn) / (2 * P - fn + fp)
            lost = 2 * a[P - fn :].sum() - 2 * b[:fp].sum()
            best = max(best, 100 * delta - 50 / n * lost)
    return best


@pytest.mark.parametrize(
    ("name", "loss"), [("error", ErrorRate()), ("roc", RocArea()), ("prbep", BreakEven()), ("f1", FBeta())]
)
def test_the_risks_are_equal(name, loss):
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.0, 10.0):
        y, s = rng.random(40) < 0.3, scale * rng.standard_normal(40)
        ours = MarginRescaling(loss, scale="size")(y, s).value
        assert 100 * ours == pytest.approx(risk(name, y, s), rel=1e-9)


@pytest.mark.parametrize(("name", "loss"), [("error", ErrorRate()), ("prbep", BreakEven()), ("f1", FBeta())])
def test_without_a_scale_scores_are_n_times_smaller(name, loss):
    """With g = 1 the weights are v = w / n."""
    rng = np.random.default_rng(1)
    y, s = rng.random(40) < 0.3, rng.standard_normal(40)
    assert 100 * MarginRescaling(loss)(y, s / 40).value == pytest.approx(risk(name, y, s), rel=1e-9)


def test_size_follows_each_set_and_leaves_rankings_alone():
    rng = np.random.default_rng(2)
    offsets = np.array([0, 5, 25, 60])
    y, s = rng.random(60) < 0.4, rng.standard_normal(60)
    batch = MarginRescaling(FBeta(), scale="size").batch(Sets(y, offsets), s)
    for i, (a, b) in enumerate(itertools.pairwise(offsets)):
        alone = MarginRescaling(FBeta(), scale=float(b - a))(y[a:b], s[a:b])
        assert alone.value == pytest.approx(batch.values[i])
        np.testing.assert_allclose(alone.gradient, batch.gradient[a:b])
    assert MarginRescaling(RocArea(), scale="size")(y, s).value == MarginRescaling(RocArea())(y, s).value
