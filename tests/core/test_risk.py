import numpy as np
import pytest
from scipy.sparse import csr_matrix

from setwise.core.risk import SurrogateRisk
from setwise.core.sets import Sets
from setwise.losses import Jaccard, Saturating
from setwise.models import Independent, MultiLabel
from setwise.surrogates import LovaszHinge


def problem(kind, intercept, sparse, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4)) * (rng.random((30, 4)) < 0.6)
    if kind == "rows":
        sets, model, loss = Sets.rows(rng.random((30, 3)) < 0.4), MultiLabel(3, intercept), Saturating()
    else:
        sets = Sets(rng.random(30) < 0.4, np.array([0, 5, 6, 20, 30]))
        model, loss = Independent(intercept), Jaccard("fraction")
    return model, csr_matrix(X) if sparse else X, sets, LovaszHinge(loss), rng


@pytest.mark.parametrize("kind", ["rows", "groups"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_a_cut_is_tight_at_its_point_and_below_everywhere(kind, intercept, sparse):
    model, X, sets, surrogate, rng = problem(kind, intercept, sparse)
    risk = SurrogateRisk(model, X, sets, surrogate, rng.random(len(sets)))
    w = rng.standard_normal(risk.size)
    cut = risk.cut(w)
    assert cut.offset + cut.slope @ w == pytest.approx(cut.value, rel=1e-12)
    assert cut.upper == cut.value
    for _ in range(20):
        v = w + rng.standard_normal(risk.size)
        assert risk.cut(v).value >= cut.offset + cut.slope @ v - 1e-9


@pytest.mark.parametrize("kind", ["rows", "groups"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_the_cuts_of_all_parts_sum_to_the_cut(kind, intercept, sparse):
    model, X, sets, surrogate, rng = problem(kind, intercept, sparse)
    risk = SurrogateRisk(model, X, sets, surrogate, rng.random(len(sets)))
    w = rng.standard_normal(risk.size)
    cut, parts = risk.cut(w), risk.cuts(w, rng.permutation(len(sets)))
    assert parts.offsets.sum() == pytest.approx(cut.offset, rel=1e-10)
    np.testing.assert_allclose(parts.slopes.sum(axis=0), cut.slope, atol=1e-12)
    assert parts.values.sum() == pytest.approx(cut.value, rel=1e-12)
    assert parts.uppers.sum() == pytest.approx(cut.upper, rel=1e-12)


@pytest.mark.parametrize("kind", ["rows", "groups"])
def test_pullback_is_the_adjoint_of_scores(kind):
    model, X, sets, _, rng = problem(kind, True, False)
    w, g = rng.standard_normal(model.size(X)), rng.standard_normal(sets.total)
    assert g @ model.scores(X, w) == pytest.approx(model.pullback(X, g) @ w, rel=1e-12)


def test_threads_and_chunks_do_not_change_the_result(monkeypatch):
    model, X, sets, surrogate, rng = problem("rows", True, False)
    whole = SurrogateRisk(model, X, sets, surrogate)
    monkeypatch.setattr(SurrogateRisk, "CHUNK", 12)
    one, two = (SurrogateRisk(model, X, sets, surrogate, n_jobs=jobs) for jobs in (1, 2))
    w = rng.standard_normal(whole.size)
    a, b, c = one.cut(w), two.cut(w), whole.cut(w)
    assert (a.offset, a.value) == (b.offset, b.value)
    assert np.array_equal(a.slope, b.slope)
    np.testing.assert_allclose(a.slope, c.slope, rtol=1e-12)
