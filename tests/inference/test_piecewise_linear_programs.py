"""Piecewise linear programs: planes nowhere below the loss; value, labels and bound in their order, by enumeration."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.inference import PiecewiseLinearPrograms
from setwise.inference.piecewise_linear_programs import PiecesOfSet
from setwise.losses import MCC, AreaWeightedLoss, FBeta, Hamming, Jaccard, ZeroOne


def grid(height, width):
    at = np.arange(height * width).reshape(height, width)
    across = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
    return np.vstack([across, np.column_stack([at[:-1].ravel(), at[1:].ravel()])])


def problem(rng, loss, kind):
    """A 3 x 4 grid with its scores, the labelings, and loss and score of each relative to the truth."""
    share = {"no positives": 0.0, "no negatives": 1.0}.get(kind, 0.4)
    graphs = Graphs(rng.random(12) < share, np.array([0, 12]), grid(3, 4))
    size, coupling = rng.choice([0.03, 0.2, 1.0]), rng.choice([0.1, 1.0, 3.0])
    scores = np.empty(graphs.n_scores)
    scores[graphs.node_places] = size * (rng.standard_normal(12) + np.where(graphs.truth, 0.5, -0.5))
    scores[graphs.edge_places] = size * coupling * rng.random(len(graphs.edges))
    scores = {"ties": np.round(4 * scores) / 4, "zeros": 0 * scores, "huge": 1e9 * scores}.get(kind, scores)
    rows = np.array(list(product([False, True], repeat=12)))
    agree = rows[:, graphs.edges[:, 0]] == rows[:, graphs.edges[:, 1]]
    won = rows @ scores[graphs.node_places] + agree @ scores[graphs.edge_places] - scores @ graphs.target
    copies = Sets.rows(np.tile(graphs.truth, (len(rows), 1)).astype(int))
    return graphs, scores, rows, won + loss.bind(copies).values(rows.ravel())


@pytest.mark.draw(4)
@pytest.mark.parametrize("loss", [Jaccard(), MCC(), ZeroOne(), FBeta() + 0.05 * Hamming()], ids=repr)
def test_value_best_and_bound_on_grids(loss):
    rng, found_best, kinds = np.random.default_rng(0), 0, ("reals", "ties", "zeros", "huge", "no positives", "reals")
    for k, kind in enumerate((*kinds, "no negatives", "reals", "reals")):
        graphs, scores, rows, values = problem(rng, loss, kind)
        found = PiecewiseLinearPrograms((15, 4, 1)[k % 3]).prepare(loss.bind(graphs)).maximize(scores)
        best, slip = values.max(), 1e-10 * (1.0 + np.abs(scores).max())
        assert found.values[0] == pytest.approx(values[(rows == found.labels).all(axis=1)][0], abs=slip)
        assert found.values[0] - slip <= best <= found.bounds[0] + slip
        found_best += found.values[0] >= best - slip
    assert found_best >= 6


@pytest.mark.parametrize("n_pieces", [1, 7, 15, 40])
def test_the_rectangles_hold_all_counts_once_under_planes_that_are_not_below_the_loss(n_pieces):
    for positives in (0, 1, 12, 30):
        graphs = Graphs(np.arange(30) < positives, np.array([0, 30]), np.zeros((0, 2), np.int64))
        bound_loss = Jaccard().bind(graphs)
        (counts,), times = bound_loss.terms, np.zeros((positives + 1, 31 - positives))
        pieces = PiecesOfSet(bound_loss, n_pieces).pieces
        assert len(pieces) <= n_pieces
        for piece in pieces:
            at = np.s_[piece.low : piece.high + 1, piece.left : piece.right + 1]
            times[at] += 1
            fn, fp = np.mgrid[at].astype(float)
            over = piece.a * fn + piece.b * fp + piece.c - counts.of(fn, fp, 0)
            assert (over >= -1e-12).all()
            assert over.min() <= 1e-12
        assert (times == 1).all()


def test_more_pieces_bound_more_closely():
    graphs, scores, _, values = problem(np.random.default_rng(1), Jaccard(), "reals")
    bound_loss = Jaccard().bind(graphs)
    bounds = [PiecewiseLinearPrograms(n).prepare(bound_loss).maximize(scores).bounds[0] for n in (1, 15, 100)]
    assert bounds[0] > bounds[1] > bounds[2] >= values.max() - 1e-12


def test_the_bound_needs_no_answer_of_the_solver(monkeypatch):
    loss = Jaccard()
    graphs, scores, _, values = problem(np.random.default_rng(2), loss, "reals")
    one = PiecewiseLinearPrograms().prepare(loss.bind(graphs))
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: SimpleNamespace(x=None))
    found = one.maximize(scores)
    assert found.values[0] <= values.max() <= found.bounds[0] < np.inf
    assert not found.exact[0]


def test_many_sets_are_each_set_alone():
    rng = np.random.default_rng(3)
    edges = np.vstack([grid(2, 3), grid(2, 3) + 6])
    graphs = Graphs(rng.random(13) < 0.5, np.array([0, 6, 12, 13]), edges)
    scores = 0.2 * np.abs(rng.standard_normal(graphs.n_scores))
    whole = PiecewiseLinearPrograms().prepare(Jaccard().bind(graphs))
    found = whole.maximize(scores)
    for i in range(3):
        alone = whole.take(np.array([i])).maximize(scores[slice(*graphs.score_offsets[i : i + 2])])
        assert alone.values[0] == pytest.approx(found.values[i])
        assert alone.bounds[0] == pytest.approx(found.bounds[i])


def test_what_does_not_fit_is_refused():
    edges = np.array([[0, 1]])
    graphs = Graphs(np.array([True, False]), np.array([0, 2]), edges)
    unknown = Graphs(np.array([1, -1], np.int8), np.array([0, 2]), edges)
    for bound_loss, words in (
        (Jaccard().bind(Sets.single([1, 0])), "PiecewiseLinearPrograms refuses Sets: it takes Graphs"),
        (Jaccard().bind(unknown), "PiecewiseLinearPrograms refuses unknown labels"),
        (
            Hamming().bind(graphs),
            r"PiecewiseLinearPrograms refuses Hamming\(\): it is a sum of one cost per mistake",
        ),
        (
            AreaWeightedLoss(Jaccard(), np.array([1.0, 2.0])).bind(graphs),
            "of counts, but one of areas",
        ),
    ):
        with pytest.raises(Refusal, match=words):
            PiecewiseLinearPrograms().prepare(bound_loss)
    with pytest.raises(Refusal, match="PiecewiseLinearPrograms refuses slack rescaling: the product is not a sum"):
        PiecewiseLinearPrograms().prepare(Jaccard().bind(graphs), slack=True)
    with pytest.raises(ValueError, match="PiecewiseLinearPrograms needs nonnegative scores of edges"):
        PiecewiseLinearPrograms().prepare(Jaccard().bind(graphs)).maximize(np.array([1.0, 1.0, -0.5]))
    with pytest.raises(ValueError, match="n_pieces must be"):
        PiecewiseLinearPrograms(0)
