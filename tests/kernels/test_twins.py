"""Kernels that have a plain twin give the same bits as it does, whatever they are called with."""

import importlib
import pkgutil
from collections import Counter

import numpy as np
import pytest

import setwise.kernels
from setwise.core.batch import Sets
from setwise.decisions import bagged_threshold, best_threshold, expected_loss, least_expected_loss
from setwise.kernels.jit import FunctionWithTwin
from setwise.kernels.lovasz import modular_hinge
from setwise.kernels.poisson_binomial import count, prefixes
from setwise.kernels.segments import class_costs, segment_argmax, segment_sums
from setwise.kernels.set_functions import best_prefix
from setwise.kernels.simplex import solve_simplex
from setwise.kernels.thresholds import best_cuts
from setwise.losses import MCC, FBeta, GMean, Jaccard, RowCosts, Tversky
from setwise.surrogates import MarginRescaling

UP_TO_STARTS = {("sorting", "_pack"): 5, ("lovasz", "_pack_errors"): 7}
"""Which argument is room for keys, of which those up to the last start count."""

ROOM = {("sorting", "sort_packed"): (0,)}
"""Arguments that hold nothing when a kernel is done."""


def twins():
    found = {}
    for module in pkgutil.iter_modules(setwise.kernels.__path__, "setwise.kernels."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, FunctionWithTwin):
                found[value.__module__.rsplit(".", 1)[1], value.__name__] = value
    return found


@pytest.fixture
def calls(monkeypatch):
    """How often each twin was called: each call is made by the kernel too, and what both return and write is compared.

    A twin calls no other twin, since those would not be called by the kernel.
    """
    seen, inside = Counter(), []

    def both(self, *arguments):
        if inside:
            return self.kernel(*arguments)
        name = self.__module__.rsplit(".", 1)[1], self.__name__
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        inside.append(name)
        with np.errstate(all="ignore"):
            found = self.twin(*arguments)
            again = self.kernel(*copies)
        inside.pop()
        seen[name] += 1
        assert same(found, again), name
        for k, (one, other) in enumerate(zip(arguments, copies, strict=True)):
            if k in ROOM.get(name, ()):
                continue
            end = arguments[-1][-1] if UP_TO_STARTS.get(name) == k else None
            assert same(one[:end], other[:end]) if isinstance(one, np.ndarray) else True, (name, k)
        return found

    monkeypatch.setattr(FunctionWithTwin, "__call__", both)
    return seen


def same(one, other):
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if not isinstance(one, np.ndarray):
        return one == other or (one != one and other != other)
    if one.dtype != other.dtype or one.shape != other.shape or not np.array_equal(one, other, equal_nan=True):
        return False
    # 0 and -0 have other bits, but NaN has many.
    return one.dtype.kind != "f" or np.array_equal(np.signbit(one[one == 0]), np.signbit(other[other == 0]))


def batches(rng, dtype):
    """Single sets with nasty scores, and ragged batches."""
    kinds = [
        lambda s, y: s,
        lambda s, y: np.round(s),
        lambda s, y: 0.0 * s,
        lambda s, y: (1e300 if dtype == np.float64 else 1e30) * s,
        lambda s, y: 1e-300 * s,
        lambda s, y: y - 0.5,
    ]
    for p, ratio in ((1, 0.0), (1, 1.0), (2, 0.5), (7, 0.0), (7, 0.4), (60, 0.3), (60, 1.0), (700, 0.2)):
        y = rng.random(p) < ratio
        for kind in kinds:
            yield Sets.single(y), kind(rng.standard_normal(p), y).astype(dtype)
    for digits in (0, 1, 9):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 30))])
        y = rng.random(offsets[-1]) < 0.4
        yield Sets(y, offsets), np.round(rng.standard_normal(len(y)), digits).astype(dtype)


THRESHOLDS = {
    ("segments", "count_true"), ("sorting", "_pack"), ("sorting", "sort_packed"), ("sorting", "_exact_order"),
    ("sorting", "_unpack"), ("thresholds", "group_places"), ("thresholds", "falling_counts"),
    ("thresholds", "falling_quotient"), ("thresholds", "mean_along"), ("thresholds", "best_cuts"),
    ("thresholds", "drawn_only"), ("thresholds", "falling_sums"),
}  # fmt: skip
HINGES = {
    ("rankings", "rank_margins"), ("rankings", "prefix_sums"), ("rankings", "mark_mistakes"),
    ("counts", "gain_caps"), ("counts", "quotient_argmax"), ("segments", "segment_sums"),
}  # fmt: skip
NUMBERS = {
    ("poisson_binomial", "count_by_pairs"), ("poisson_binomial", "joint_sums"), ("poisson_binomial", "least_by_table"),
    ("poisson_binomial", "expected_by_table"), ("poisson_binomial", "prefixes"), ("poisson_binomial", "count"),
}  # fmt: skip
SEGMENTS = {
    ("segments", "segment_argmax"), ("segments", "class_costs"), ("set_functions", "best_prefix"),
    ("lovasz", "modular_hinge"),
}  # fmt: skip
MASTERS = {("simplex", "solve_simplex")}
IMAGES = {
    ("pixels", "label_codes"), ("lovasz", "survey"), ("lovasz", "limits_of"),
    ("lovasz", "_pack_errors"), ("lovasz", "quotient_values"), ("pixels", "shares"),
}  # fmt: skip
INSIDE = {("counts", "_largest_quotient")}
"""Only other kernels call it."""


def test_each_twin_is_compared():
    assert set(twins()) == THRESHOLDS | HINGES | NUMBERS | SEGMENTS | MASTERS | IMAGES | INSIDE


@pytest.mark.draw(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thresholds_and_hinges(calls, dtype):
    rng = np.random.default_rng(0)
    for sets, scores in batches(rng, dtype):
        for loss in (FBeta(), MCC()):
            best_threshold(sets, scores, loss)
            bagged_threshold(sets, scores, loss, n_resamples=2)
        if len(sets) == 1:
            bagged_threshold(sets, scores, RowCosts(fn=rng.random(sets.total)), n_resamples=2)
        for loss in (Jaccard(), Tversky(0.3, 0.9), FBeta(0.3)):
            MarginRescaling(loss, scale="size").batch(sets, scores)
        segment_sums(scores, sets.offsets)
    # Keys of float32 scores are in order already.
    lacks = {("sorting", "_exact_order")} if dtype == np.float32 else set()
    assert {name for name in THRESHOLDS | HINGES if calls[name] >= 5} == (THRESHOLDS | HINGES) - lacks


def test_best_cuts_among_several_runs(calls):
    rng = np.random.default_rng(0)
    for m in (0, 1, 2, 5, 9):
        for _ in range(30):
            scores = np.sort(np.round(3.0 * rng.standard_normal(m), int(rng.integers(0, 3))))[::-1].copy()
            # Few values, so that several runs of cuts have the least loss.
            best_cuts(scores, rng.integers(0, 2, m).astype(float), np.ones(1), np.array([0, m]), 1e-12)


def test_numbers_of_positives(calls):
    rng = np.random.default_rng(0)
    for p in (1, 3, 40, 900):
        for q in (rng.random(p), rng.random(p) ** 8, np.zeros(p), np.ones(p), np.round(rng.random(p)), np.full(p, 0.5)):
            for loss in ("f1", Jaccard(), MCC(), GMean()):
                found = least_expected_loss(q, loss)
                expected_loss(q, found.labels, loss)
    for q in (np.empty(0), np.array([-0.0]), np.array([0.4, -0.0]), np.array([np.nan, 0.5]), rng.random(50) ** 90):
        for tiny in (0.0, 1e-300, 1e-9, 2.0):
            prefixes(q, tiny)
            count(q, tiny)
    assert {name for name in NUMBERS if calls[name] >= 5} == NUMBERS


def test_many_sets_and_rows_do_not_wait_for_a_twin(monkeypatch):
    seen = []
    for name in (("poisson_binomial", "least_by_table"), ("counts", "quotient_argmax")):
        twin = twins()[name]
        monkeypatch.setattr(twin, "left", 1.0)
        monkeypatch.setattr(twin, "twin", lambda *given, name=name, plain=twin.twin: seen.append(name) or plain(*given))
    for n, calls in ((3, 2), (20_000, 0)):
        seen.clear()
        least_expected_loss(np.full((n, 4), 0.3), "f1")
        sets = Sets(np.tile([True, False], n), 2 * np.arange(n + 1))
        MarginRescaling(Jaccard(), scale="size").batch(sets, np.full(2 * n, 0.3))
        assert len(set(seen)) == calls


def segments(rng):
    """Entries and labels in segments that begin at 0 or later; ties, zeros, NaN, infinite and tiny ones too."""
    for n, widest in ((1, 1), (1, 9), (5, 1), (40, 6)):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(1, widest + 1, n))]) + rng.integers(0, 3)
        x = rng.standard_normal(offsets[-1] + 2)
        odd = np.where(rng.random(len(x)) < 0.2, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], len(x)), x)
        for each in (
            x,
            np.round(x),
            0.0 * x,
            1e300 * x,
            1e-300 * x,
            odd,
            np.full(len(x), np.nan),
            x.astype(np.float32),
        ):
            for ratio in (0.0, 0.5, 1.0):
                yield each, rng.random(len(x)) < ratio, offsets


def test_entries_of_segments(calls):
    rng = np.random.default_rng(0)
    for x, labels, offsets in segments(rng):
        segment_argmax(x, offsets)
        class_costs(x, labels, offsets)
        class_costs(np.where(labels, x[0], x[-1]), labels, offsets)
        modular_hinge(x, labels, offsets, np.abs(x), np.zeros(len(x)))
        marked = [np.zeros(len(x), bool), np.zeros(len(x), bool)]
        for slack, mistakes in zip((True, False), marked, strict=True):
            falling = np.sort(rng.standard_normal(len(x)))[::-1].copy()
            items = rng.permutation(len(x))
            best_prefix(x, x[: len(offsets) - 1], falling, items, offsets, slack, mistakes)
    assert {name for name in SEGMENTS if calls[name] >= 5} == SEGMENTS
    integers = rng.integers(-3, 3, 20)
    segment_argmax(integers, np.array([0, 7, 20]))
    for each in (segment_argmax, lambda x, o: class_costs(x, np.ones(20, bool), o)):
        with pytest.raises(ValueError, match="shorter than the sets"):
            each(np.zeros(20), np.array([0, 21]))


@pytest.mark.parametrize("t", [1, 2, 3, 12, 40])
def test_masters(calls, t):
    rng = np.random.default_rng(t)
    for scale in (1.0, 1e-6, 1e6):
        for rank in (1, 3, 50):
            slopes = rng.standard_normal((t, rank))
            # Copies of a plane, and planes without a slope.
            slopes[rng.integers(0, t, t // 3)] = slopes[0]
            slopes[rng.integers(0, t, t // 6)] = 0.0
            alpha = np.zeros(t)
            alpha[0] = 1.0
            gram, bounded = slopes @ slopes.T, np.zeros((t, 0))
            for _ in range(3):
                solve_simplex(gram, rng.standard_normal(t), scale, alpha, bounded, np.zeros(0), 1e-9, 100)
    assert calls["simplex", "solve_simplex"] == 27


def test_losses_of_images(calls):
    torch = pytest.importorskip("torch")
    from setwise.torch import LovaszHingeLoss, LovaszSoftmaxLoss

    rng = np.random.default_rng(0)
    for dtype in (torch.float32, torch.float64):
        for shape in ((1, 1), (2, 5), (3, 700), (1, 9000)):
            for scale in (0.0, 1.0, 1e3):
                s = torch.tensor(scale * rng.standard_normal((*shape, 3)).round(2), dtype=dtype).movedim(2, 1)
                y = torch.tensor(rng.integers(0, 3, shape))
                LovaszHingeLoss("jaccard", ignore_index=1)(s[:, 0], y.clamp(max=1))
                for classes in ("present", "all"):
                    LovaszSoftmaxLoss("jaccard", classes=classes, ignore_index=1)(s, y)
    assert {name for name in IMAGES if calls[name] >= 5} == IMAGES
