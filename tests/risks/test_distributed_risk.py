"""A risk whose rows lie in several places equals the one whose rows lie in one."""

import pickle
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.surrogate import Evaluator, PiecedEvaluation, PiecedEvaluator, Surrogate
from setwise.learners import NRBM, OneSlack
from setwise.models import RowBlock, RowModel
from setwise.risks import DistributedRisk, MeanRisk, ShiftedRisk, distributed_risk
from setwise.risks.places import LocalObjects, LocalPlaces
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ([[1, 2], [3]], np.int64),
        ([np.uint64([2**63 + 1, 2**63]), np.int64([0])], np.uint64),
        ([np.uint64([1]), np.int64([-(2**62) - 1, -(2**62)])], np.int64),
        ([np.int64([1]), [0.5]], np.float64),
        ([["a"], [], ["bc"]], "<U2"),
    ],
)
def test_ids_of_several_places_stay_different(parts, kind):
    joined = distributed_risk.joined_ids([np.asarray(part) for part in parts])
    assert joined.dtype == kind
    assert joined.tolist() == [one for part in parts for one in np.asarray(part).tolist()]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([np.uint64([2**63]), np.int64([-1])], "int64, uint64 hold no type in common"),
        ([np.int64([2**53 + 1]), [0.5]], "float64, int64 hold no type in common"),
        ([[1], ["1"]], "ids of one kind in all places; got number and text"),
        ([np.array(["2026-01-01"], "M8[D]"), [1]], "got date and number"),
    ],
)
def test_ids_that_cannot_be_told_apart_are_refused(parts, words):
    with pytest.raises(ValueError, match=words):
        distributed_risk.joined_ids([np.asarray(part) for part in parts])


def scores_and_truth(piece):
    return piece.scores, piece.truth


def number_of_rows(piece):
    return len(piece.scores)


@dataclass(frozen=True)
class GradientSlice:
    gradient: np.ndarray

    def __call__(self, piece):
        assert len(piece.scores) == len(self.gradient)
        return self.gradient


@dataclass(frozen=True, eq=False)
class WholeSetEvaluator(PiecedEvaluator):
    """Asks for all scores, and then for nothing, as a dialogue of two rounds."""

    inner: Surrogate
    size: int

    def search(self, tol):
        found = yield scores_and_truth
        sizes = yield number_of_rows
        assert sizes == [len(scores) for scores, _ in found]
        scores, truth = (np.concatenate(each) for each in zip(*found, strict=True))
        assert len(scores) == self.size
        one = self.inner.on(Sets.single(truth))(scores, tol)
        ends = np.cumsum([len(s) for s, _ in found])
        parts = np.split(one.gradient, ends[:-1])
        return PiecedEvaluation(float(one.values[0]), float(one.upper[0]), [GradientSlice(part) for part in parts])


@dataclass(frozen=True, eq=False)
class PiecewiseSurrogate(Surrogate):
    """A surrogate that can be evaluated in pieces."""

    inner: Surrogate
    name = "pieced"

    def on(self, batch) -> Evaluator:
        return self.inner.on(batch)

    def in_pieces(self, negatives, positives):
        return WholeSetEvaluator(self.inner, negatives + positives)


def drawn(seed: int, m: int, d: int, n_sets: int, places: int, contiguous: bool):
    """Rows, labels and ids, and where the places end; some places may be empty."""
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(m, d)), rng.random(m) < rng.choice([0.0, 0.3, 1.0], p=[0.1, 0.8, 0.1])
    ids = rng.integers(0, n_sets, m)
    ids = np.sort(ids) if contiguous else ids
    ends = np.sort(rng.integers(0, m + 1, places - 1))
    return X, truth, ids, [0, *ends.tolist(), m]


def apart(X, truth, ids, edges, dtype=np.float64, sparse=False, n_jobs=1):
    """The rows in several places."""
    parts = [slice(a, b) for a, b in pairwise(edges)]
    rows = [RowBlock(csr_array(X[part]) if sparse else X[part].astype(dtype), 0.5) for part in parts]
    kept = None if ids is None else LocalObjects([ids[part] for part in parts])
    return LocalPlaces(len(parts), n_jobs), LocalObjects(rows), LocalObjects([truth[part] for part in parts]), kept


def together(X, truth, ids, surrogate, weights=None):
    """The risk of the same rows in one place."""
    order = np.arange(len(X)) if ids is None else np.argsort(ids, kind="stable")
    sizes = [len(X)] if ids is None else np.unique(ids, return_counts=True)[1]
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return MeanRisk(RowModel(X[order], offsets, 0.5), surrogate.on(Sets(truth[order], offsets)), weights)


def assert_same(found, wanted):
    assert found.value == pytest.approx(wanted.value, rel=1e-9, abs=1e-12)
    assert found.upper == pytest.approx(wanted.upper, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(found.slope, wanted.slope, rtol=1e-9, atol=1e-10)
    assert found.offset == pytest.approx(wanted.offset, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_sets=st.integers(1, 12),
    places=st.integers(1, 8),
    contiguous=st.booleans(),
    few=st.sampled_from([0, 3, 1000]),
    surrogate=st.sampled_from([MarginRescaling("f1", scale="size"), LovaszHinge("jaccard"), MarginRescaling("auc")]),
)
def test_planes_equal_those_of_one_place(seed, n_sets, places, contiguous, few, surrogate):
    X, truth, ids, edges = drawn(seed, 40, 3, n_sets, places, contiguous)
    if surrogate.loss.name == "auc":
        truth[:] = True
        truth[np.unique(ids, return_index=True)[1]] = False
    weights = np.random.default_rng(seed).random(len(np.unique(ids))) + 0.1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed_risk, "FEW", few)
        places, rows, labels, kept = apart(X, truth, ids, edges)
        risk = DistributedRisk(places, rows, labels, PiecewiseSurrogate(surrogate), kept, weights)
    w = np.random.default_rng(seed + 1).normal(size=4)
    assert_same(risk.cut(w), together(X, truth, ids, surrogate, weights).cut(w))
    assert_same(risk.cut(0 * w), together(X, truth, ids, surrogate, weights).cut(0 * w))


SURROGATES = [MarginRescaling("f1", scale="size"), LovaszHinge("jaccard")]


@pytest.mark.draw(2)
@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("how", [{}, {"dtype": np.float32}, {"sparse": True}, {"n_jobs": 2}], ids=str)
def test_one_set_over_uneven_empty_and_one_class_places(surrogate, few, how, monkeypatch):
    monkeypatch.setattr(distributed_risk, "FEW", few)
    X, truth, _, _ = drawn(3, 60, 4, 1, 1, True)
    X = X.astype(np.float32).astype(np.float64)
    truth = np.arange(60) % 3 == 0
    truth[:5] = True
    places, rows, labels, _ = apart(X, truth, None, [0, 0, 5, 6, 6, 40, 60, 60], **how)
    risk = DistributedRisk(places, rows, labels, PiecewiseSurrogate(surrogate))
    wanted = together(X, truth, None, surrogate)
    for w in (np.zeros(5), np.random.default_rng(0).normal(size=5), np.full(5, 1e6)):
        assert_same(risk.cut(w), wanted.cut(w))
    assert risk.floor == wanted.floor


@pytest.mark.parametrize("learner", [OneSlack(10.0), NRBM(10.0)], ids=["OneSlack", "NRBM"])
@pytest.mark.parametrize("few", [0, 1000])
def test_learners_reach_the_optimum_of_one_place(learner, few, monkeypatch):
    monkeypatch.setattr(distributed_risk, "FEW", few)
    X, _, ids, edges = drawn(5, 200, 4, 6, 5, True)
    truth = X[:, 0] + 0.3 * X[:, 1] > 0.4
    surrogate = LovaszHinge("jaccard")
    places, rows, labels, kept = apart(X, truth, ids, edges)
    found = learner.minimize(DistributedRisk(places, rows, labels, PiecewiseSurrogate(surrogate), kept))
    wanted = learner.minimize(together(X, truth, ids, surrogate))
    assert found.status == wanted.status == "converged"
    assert found.lower_bound <= wanted.objective * (1 + 1e-9)
    assert wanted.lower_bound <= found.objective * (1 + 1e-9)


def test_bits_depend_on_the_places_and_not_on_the_threads():
    X, truth, ids, edges = drawn(6, 3000, 5, 40, 7, True)
    found = []
    for n_jobs in (1, 2, 4):
        places, rows, labels, kept = apart(X, truth, ids, edges, n_jobs=n_jobs)
        cut = DistributedRisk(places, rows, labels, MarginRescaling("f1"), kept).cut(np.linspace(-1, 1, 6))
        found.append((cut.offset, cut.value, cut.upper, cut.slope.tobytes()))
    assert found[0] == found[1] == found[2]


def test_a_large_set_that_cannot_be_evaluated_in_pieces(monkeypatch):
    class WholeSetSurrogate(Surrogate):
        name = "whole"

        def on(self, batch):
            return LovaszHinge("jaccard").on(batch)

    X, truth, _, _ = drawn(7, 40, 2, 1, 1, True)
    places, rows, labels, _ = apart(X, truth, None, [0, 10, 40])
    monkeypatch.setattr(distributed_risk, "FEW", 0)
    risk = DistributedRisk(places, rows, labels, WholeSetSurrogate())
    assert_same(risk.cut(np.ones(3)), together(X, truth, None, LovaszHinge("jaccard")).cut(np.ones(3)))
    monkeypatch.setattr(distributed_risk, "MOST", 39)
    with pytest.raises(Refusal, match="a set of 40 rows in several places is refused, at most 39"):
        DistributedRisk(places, rows, labels, WholeSetSurrogate())


def test_shares_can_be_pickled():
    X, truth, ids, _ = drawn(8, 90, 3, 30, 3, True)
    edges = [0, 30, 60, 90]
    places, rows, labels, kept = apart(X, truth, ids, edges)
    shares = DistributedRisk(places, rows, labels, LovaszHinge("jaccard"), kept)._shares.values
    for block, share in zip(rows.values, shares, strict=True):
        again = pickle.loads(pickle.dumps(share))
        found, wanted = (one.begin(one.scores(block, np.ones(4)), 0.0) for one in (again, share))
        np.testing.assert_array_equal(found.values, wanted.values)


@pytest.mark.parametrize(
    ("rows", "truth", "words"),
    [
        ([np.zeros((0, 2)), np.zeros((0, 2))], [[], []], "rows must not be empty in all places"),
        ([np.zeros((2, 2)), np.zeros((1, 3))], [[0, 1], [1]], "rows must have the same features in all places"),
        ([np.zeros((2, 2)), np.full((1, 2), np.nan)], [[0, 1], [1]], "X must be finite"),
        ([np.zeros((2, 2)), np.full((1, 2), 1e200)], [[0, 1], [1]], "X is too large"),
        ([np.zeros((2, 2)), np.zeros((1, 2))], [[0, 1], [1, 1]], "truth must have one label for each row"),
    ],
)
def test_what_does_not_fit(rows, truth, words):
    labels = LocalObjects([np.array(y, dtype=bool) for y in truth])
    with pytest.raises((ValueError, OverflowError), match=words):
        DistributedRisk(LocalPlaces(2), LocalObjects([RowBlock(X) for X in rows]), labels, LovaszHinge("jaccard"))


@pytest.mark.draw(12)
@pytest.mark.parametrize("scale", ["size", 0.7])
@pytest.mark.parametrize("loss", ["f1", "jaccard", "error_rate", "mcc"])
@pytest.mark.parametrize("groups", [False, True])
def test_the_ramp_in_pieces_is_that_of_one_place(loss, groups, scale, monkeypatch):
    monkeypatch.setattr(distributed_risk, "FEW", 0)
    X, truth, ids, edges = drawn(10, 300, 4, 4, 5, True)
    ids = ids if groups else None
    surrogate, origin = Ramp(loss, scale=scale), np.array([0.3, -0.2, 0.5, 0.0, -1.0])
    places, rows, labels, kept = apart(X, truth, ids, edges)
    risk, wanted = DistributedRisk(places, rows, labels, surrogate, kept), together(X, truth, ids, surrogate)
    assert not risk.convex
    assert risk.floor == wanted.floor
    for w in np.random.default_rng(0).normal(size=(5, 5)):
        assert_same(risk.cut(w), wanted.cut(w))
        steps, whole = ShiftedRisk(risk, origin).cut(w - origin), risk.cut(w)
        assert (steps.value, steps.upper) == pytest.approx((whole.value, whole.upper))
        assert steps.offset + steps.slope @ (w - origin) == pytest.approx(steps.value)
        np.testing.assert_allclose(steps.slope, whole.slope, rtol=1e-9, atol=1e-12)


@pytest.mark.draw(8)
@pytest.mark.parametrize("loss", ["f1", "jaccard", "error_rate", "mcc"])
@pytest.mark.parametrize("groups", [False, True])
def test_large_sets_in_pieces_have_the_value_and_the_optimum_of_one_place(loss, groups, monkeypatch):
    monkeypatch.setattr(distributed_risk, "FEW", 0)
    X, _, ids, edges = drawn(9, 300, 4, 4, 5, True)
    truth = X[:, 0] + 0.3 * X[:, 1] + np.random.default_rng(1).normal(size=300) > 0.8
    surrogate = MarginRescaling(loss, scale="size")
    places, rows, labels, kept = apart(X, truth, ids, edges)
    risk, wanted = DistributedRisk(places, rows, labels, surrogate, kept), together(X, truth, ids, surrogate)
    assert not groups or (risk.catalog.kinds == distributed_risk.SPREAD).any()
    rng, tried = np.random.default_rng(0), rounds(20, 6)
    for w in (np.zeros(5), rng.normal(size=5), 100.0 * rng.normal(size=5)):
        cut = risk.cut(w)
        assert cut.value == pytest.approx(wanted.cut(w).value, rel=1e-9, abs=1e-12)
        assert cut.offset + cut.slope @ w == pytest.approx(cut.value, rel=1e-9, abs=1e-9)
        for other in rng.normal(size=(tried, 5)) * 10.0 ** rng.uniform(-2, 2, (tried, 1)):
            assert cut.offset + cut.slope @ other <= wanted.cut(other).value * (1 + 1e-9) + 1e-9
    found, right = (OneSlack(100.0, tol=1e-4).minimize(each) for each in (risk, wanted))
    assert found.status == right.status == "converged"
    assert found.lower_bound <= right.objective * (1 + 1e-9)
    assert right.lower_bound <= found.objective * (1 + 1e-9)
