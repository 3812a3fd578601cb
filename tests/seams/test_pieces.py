"""One set in three pieces whose owners exchange histograms only: the risk of the whole, not a mean of three."""

import numpy as np
import pytest

from setwise.core.batch import Sets
from setwise.core.risk import CuttingPlane, PartPlanes, Risk
from setwise.learners import OneSlack
from setwise.losses import Jaccard
from setwise.models import RowBlock, RowModel
from setwise.risks import DistributedRisk, MeanRisk, distributed_risk
from setwise.risks.places import LocalObjects, LocalPlaces
from setwise.surrogates import LovaszHinge, MarginRescaling


class HistogramRisk(Risk):
    """The Lovász hinge of a count loss on one set; each piece tells how many of each class have which margin error."""

    n_parts, floors = 1, np.zeros(1)

    def __init__(self, loss, pieces):
        P, N = (sum(float((y == c).sum()) for _, y in pieces) for c in (True, False))
        whole = np.array([[N, P]])
        self.pieces = [(RowModel(X, np.array([0, len(y)])), y) for X, y in pieces]
        # Each piece is bound to the totals of the whole set, so any of them knows the formula.
        self.bound_losses = [loss.bind(Sets(y, np.array([0, len(y)]), totals=whole)) for _, y in pieces]
        self.size = self.pieces[0][0].size

    def cut(self, w, tol=0.0):
        errors = [1 - np.where(y, s, -s) for (_, y), s in ((piece, piece[0].scores(w)) for piece in self.pieces)]
        histogram = {}
        for (_, y), u in zip(self.pieces, errors, strict=True):
            for value, label in zip(u, y, strict=True):
                histogram.setdefault(value, [0, 0])[int(not label)] += 1
        # Along falling errors, misses before false alarms where they are equal; each takes its share of their gain.
        (term,), fn, fp, shares, total = self.bound_losses[0].terms, 0.0, 0.0, {}, 0.0
        for u in sorted((v for v in histogram if v > 0), reverse=True):
            misses, alarms = histogram[u]
            ends = [
                term.of(np.array([a]), np.array([b]))[0]
                for a, b in ((fn, fp), (fn + misses, fp), (fn + misses, fp + alarms))
            ]
            shares[u] = ((ends[1] - ends[0]) / max(misses, 1), (ends[2] - ends[1]) / max(alarms, 1))
            total += u * (ends[2] - ends[0])
            fn, fp = fn + misses, fp + alarms
        slope = np.zeros(self.size)
        for (features, y), u in zip(self.pieces, errors, strict=True):
            gain = np.array([shares.get(v, (0.0, 0.0))[int(not label)] for v, label in zip(u, y, strict=True)])
            slope += features.pullback(np.where(y, -gain, gain))
        return CuttingPlane(total - float(slope @ w), slope, total, total)

    def cuts(self, w, parts, tol=0.0):
        cut = self.cut(w)
        return PartPlanes(np.array([cut.offset]), cut.slope[None], np.array([cut.value]), np.array([cut.upper]))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (90, 4)).astype(float)  # few distinct rows, so histograms are short
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * rng.standard_normal(90) > 0.6
    cuts = [slice(0, 20), slice(20, 70), slice(70, 90)]
    return X, y, HistogramRisk(Jaccard(), [(X[c], y[c]) for c in cuts]), cuts


def test_three_pieces_are_the_whole_set(data):
    X, y, pieces, cuts = data
    whole = MeanRisk(RowModel(X, np.array([0, 90])), LovaszHinge("jaccard").on(Sets.single(y)))
    rng = np.random.default_rng(1)
    for w in rng.standard_normal((10, 5)):
        a, b = pieces.cut(w), whole.cut(w)
        assert a.value == pytest.approx(b.value)
        for v in w + rng.standard_normal((5, 5)):
            assert a.offset + a.slope @ v <= whole.cut(v).value + 1e-9
    ours, theirs = (OneSlack(C=50.0, tol=1e-6).minimize(risk) for risk in (pieces, whole))
    assert ours.objective == pytest.approx(theirs.objective, rel=2e-6)
    # Bound to their own truths, the pieces would answer another question.
    local = [LovaszHinge("jaccard")(y[c], (X[c] @ np.ones(4))).value for c in cuts]
    assert abs(np.mean(local) - LovaszHinge("jaccard")(y, X @ np.ones(4)).value) > 1e-3


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", ["f1", "jaccard", "mcc"])
def test_margin_rescaling_learns_over_places_what_it_learns_in_one(loss, monkeypatch):
    # No set is so small that its scores are gathered: the places send histograms.
    monkeypatch.setattr(distributed_risk, "FEW", 0)
    rng = np.random.default_rng(2)
    X = rng.standard_normal((4000, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.standard_normal(4000) > 1.5
    cuts, surrogate = [slice(0, 500), slice(500, 500), slice(500, 4000)], MarginRescaling(loss, scale="size")
    rows = LocalObjects([RowBlock(X[c], 1.0) for c in cuts])
    apart = DistributedRisk(LocalPlaces(3), rows, LocalObjects([y[c] for c in cuts]), surrogate)
    whole = MeanRisk(RowModel(X, np.array([0, 4000]), 1.0), surrogate.on(Sets.single(y)))
    for w in rng.standard_normal((10, 4)) * 10.0 ** rng.integers(-3, 2, (10, 1)):
        for tol in (0.0, 1e-3):
            found, wanted = apart.cut(w, tol), whole.cut(w)
            assert found.value <= wanted.value + 1e-9
            assert wanted.value <= found.upper + 1e-9
            assert found.upper - found.value <= tol + 1e-12
            # The plane is nowhere above the risk.
            for v in w + rng.standard_normal((5, 4)):
                assert found.offset + found.slope @ v <= whole.cut(v).value + 1e-9
    ours, theirs = (OneSlack(C=100.0, tol=1e-4).minimize(risk) for risk in (apart, whole))
    assert ours.objective == pytest.approx(theirs.objective, rel=2e-4)
