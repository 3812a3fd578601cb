"""DualDecomposition between the best labeling and its bound, and its bound is the least that multipliers can give."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.inference import Auto, CountSearch, DualDecomposition, Enumeration, GreedySearch, MaxFlow
from setwise.inference.descent import BundleMethod, Descent
from setwise.inference.dual_decomposition import Subproblem
from setwise.kernels.threads import thread_limit
from setwise.losses import MCC, AreaWeightedLoss, CappedLoss, FBeta, GMean, Hamming, HMean, Jaccard, Tversky, ZeroOne

LOSSES = [Jaccard(), FBeta(), FBeta(2.0), GMean(), HMean(), MCC(), ZeroOne(), Jaccard() + 0.02 * Hamming()]
COUNTS = [Jaccard(), FBeta(), GMean(), HMean(), MCC(), ZeroOne()]


def grid(height, width):
    at = np.arange(height * width).reshape(height, width)
    across = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
    return np.vstack([across, np.column_stack([at[:-1].ravel(), at[1:].ravel()])])


def random_problem(rng, height=3, width=4, kind="reals"):
    """A grid with its labels and scores, and the labelings with their scores less that of the truth."""
    y = rng.random(height * width) < rng.choice([0.0, 0.2, 0.5, 1.0], p=[0.05, 0.45, 0.45, 0.05])
    graphs = Graphs(y, np.array([0, len(y)]), grid(height, width))
    size, coupling = rng.choice([0.03, 0.2, 1.0]), rng.choice([0.1, 1.0, 3.0])
    scores = np.zeros(graphs.n_scores)
    scores[graphs.node_places] = size * (rng.standard_normal(len(y)) + 0.5 * (2 * y - 1))
    scores[graphs.edge_places] = size * coupling * rng.random(len(graphs.edges))
    scores = {"reals": scores, "ties": np.round(4 * scores) / 4, "zeros": 0 * scores, "huge": 1e9 * scores}[kind]
    rows, features = every(height, width)
    won = features @ np.concatenate([scores[graphs.node_places], scores[graphs.edge_places]]) - scores @ graphs.target
    return graphs, scores, rows, won


@cache
def every(height, width):
    """All labelings of a grid, and their features: the positive nodes and the edges that agree."""
    rows, edges = np.array(list(product([False, True], repeat=height * width))), grid(height, width)
    return rows, np.hstack([rows, rows[:, edges[:, 0]] == rows[:, edges[:, 1]]]).astype(float)


def losses_of(loss, y, rows):
    return loss.bind(Sets.rows(np.broadcast_to(y, rows.shape))).values(rows.ravel())


@pytest.mark.draw(8)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_value_best_and_bound_on_grids(loss):
    rng = np.random.default_rng(0)
    best_found, cases = 0, 60
    for k in range(cases):
        graphs, scores, rows, won = random_problem(
            rng, kind=("reals", "reals", "reals", "ties", "huge", "zeros")[k % 6]
        )
        found = DualDecomposition().prepare(loss.bind(graphs)).maximize(scores)
        values = won + losses_of(loss, graphs.truth, rows)
        best, slip = values.max(), 1e-10 * (1.0 + np.abs(scores).max())
        assert found.values[0] == pytest.approx(values[(rows == found.labels).all(axis=1)][0], abs=slip)
        assert found.values[0] <= best + slip
        assert best <= found.bounds[0] + slip
        assert not found.exact[0] or found.values[0] >= best - slip
        best_found += found.values[0] >= best - slip
    # The dual of MCC and of the zero-one loss leaves a gap now and then, and so may its labelings.
    assert best_found >= (0.9 if isinstance(loss, MCC | ZeroOne) else 0.95) * cases


def least_bound(won, lost, rows):
    """The optimum of the dual. Its dual in turn mixes labelings of both kinds so that each node is positive equally
    often in both mixtures."""
    n = len(rows)
    ones, zeros, y = np.ones(n), np.zeros(n), rows.astype(float)
    equal = np.vstack([np.hstack([ones, zeros]), np.hstack([zeros, ones]), np.hstack([y.T, -y.T])])
    right = np.concatenate([[1.0, 1.0], np.zeros(rows.shape[1])])
    return -linprog(-np.concatenate([won, lost]), A_eq=equal, b_eq=right, method="highs").fun


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", COUNTS, ids=repr)
def test_the_bound_is_the_optimum_of_the_dual(loss):
    rng = np.random.default_rng(1)
    for _ in range(25):
        graphs, scores, rows, won = random_problem(rng, 2, 3)
        found = DualDecomposition().prepare(loss.bind(graphs)).maximize(scores)
        least = least_bound(won, losses_of(loss, graphs.truth, rows), rows)
        assert found.bounds[0] == pytest.approx(least, abs=1e-6)


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", COUNTS, ids=repr)
def test_the_bound_is_the_optimum_of_the_dual_where_a_gap_is_left(loss):
    rng, left = np.random.default_rng(1), 0
    for k in range(100):
        graphs, scores, rows, won = random_problem(rng)
        found = DualDecomposition().prepare(loss.bind(graphs)).maximize(scores)
        # Where value and bound meet, no multipliers give less, so few programs are solved there.
        if k % 40 == 0 or not found.exact[0]:
            least = least_bound(won, losses_of(loss, graphs.truth, rows), rows)
            assert found.bounds[0] == pytest.approx(least, abs=1e-6)
            left += not found.exact[0]
    # The dual of the two means is tight in all of these grids.
    assert left > 0 or isinstance(loss, GMean | HMean)


def test_without_edges_it_is_the_search_over_counts():
    rng = np.random.default_rng(2)
    for loss in (Jaccard(), GMean()):
        y = rng.random(30) < 0.3
        graphs, scores = Graphs(y, np.array([0, 10, 30]), np.zeros((0, 2), np.int64)), 0.1 * rng.standard_normal(30)
        found = DualDecomposition().prepare(loss.bind(graphs)).maximize(scores)
        expected = CountSearch().prepare(loss.bind(Sets(y, graphs.offsets))).maximize(scores)
        np.testing.assert_allclose(found.values, expected.values, atol=1e-9)
        assert found.exact.all()


def test_sets_threads_and_tolerances():
    rng = np.random.default_rng(3)
    one = grid(8, 8)
    y = rng.random(3 * 64) < 0.3
    graphs = Graphs(y, np.array([0, 64, 192]), np.vstack([one, one + 64, one + 128]))
    scores = 0.02 * rng.standard_normal(graphs.n_scores)
    scores[graphs.edge_places] = 0.02 * rng.random(len(graphs.edges))
    bound_loss = Jaccard().bind(graphs)
    exact = DualDecomposition().prepare(bound_loss).maximize(scores)
    assert exact.exact.all()
    with thread_limit(2):
        both = DualDecomposition().prepare(bound_loss).maximize(scores)
    np.testing.assert_array_equal(both.labels, exact.labels)
    np.testing.assert_array_equal(both.bounds, exact.bounds)
    rough = DualDecomposition().prepare(bound_loss).maximize(scores, 0.05)
    assert (rough.values <= exact.values).all()
    assert (exact.values <= rough.bounds).all()
    assert (rough.bounds - rough.values <= 0.05).all()
    short = DualDecomposition(max_iter=1).prepare(bound_loss).maximize(scores)
    assert (short.values <= exact.values).all()
    assert (exact.values <= short.bounds).all()
    for i in range(2):
        alone = DualDecomposition().prepare(bound_loss).take(np.array([i]))
        span = slice(*graphs.score_offsets[i : i + 2])
        assert alone.maximize(scores[span]).values[0] == pytest.approx(exact.values[i])


def test_a_maximizer_that_was_used_before_gives_the_same():
    rng = np.random.default_rng(4)
    graphs = Graphs(rng.random(36) < 0.4, np.array([0, 36]), grid(6, 6))
    used = DualDecomposition().prepare(Jaccard().bind(graphs))
    for _ in range(5):
        scores = 0.05 * rng.standard_normal(graphs.n_scores)
        scores[graphs.edge_places] = np.abs(scores[graphs.edge_places])
        fresh = DualDecomposition().prepare(Jaccard().bind(graphs)).maximize(scores)
        again = used.maximize(scores)
        assert again.values[0] == pytest.approx(fresh.values[0])
        assert again.bounds[0] == pytest.approx(fresh.bounds[0])


def test_auto_takes_it_for_counts_on_graphs():
    labels = np.arange(30) % 3 == 0
    for given in (labels, np.where(np.arange(30) < 5, -1, labels).astype(np.int8)):
        graphs = Graphs(given, np.array([0, 30]), grid(5, 6))
        for loss in (Jaccard(), AreaWeightedLoss(Jaccard(), np.linspace(1.0, 2.0, 30))):
            assert Auto().choice(loss.bind(graphs)) == DualDecomposition()
        assert isinstance(Auto().choice(Hamming().bind(graphs)), MaxFlow)
    known = Graphs(labels, np.array([0, 30]), grid(5, 6))
    assert Auto().choice(CappedLoss(np.arange(1.0, 31.0), 20.0).bind(known)) == DualDecomposition(loss=GreedySearch())


def test_what_does_not_fit_is_refused():
    edges = np.array([[0, 1]])
    graphs = Graphs(np.array([True, False]), np.array([0, 2]), edges)
    method = DualDecomposition()
    for bound_loss, words in (
        (Jaccard().bind(Sets.single([1, 0])), "DualDecomposition refuses Sets: it takes Graphs"),
        (Hamming().bind(graphs), r"DualDecomposition refuses Hamming\(\): it is a sum of one cost per mistake"),
    ):
        with pytest.raises(Refusal, match=words):
            method.prepare(bound_loss)
    with pytest.raises(Refusal, match="DualDecomposition refuses slack rescaling: the product is not a sum"):
        method.prepare(Jaccard().bind(graphs), slack=True)
    with pytest.raises(ValueError, match="max_iter must be"):
        DualDecomposition(max_iter=0)


@pytest.mark.parametrize("size", [1, 2, 10])
def test_the_bundle_finds_the_minimum_of_a_maximum_of_planes(size):
    rng = np.random.default_rng(5)
    for _ in range(20):
        slopes, offsets = rng.standard_normal((4 * size + 2, size)), rng.standard_normal(4 * size + 2)
        slopes -= slopes.mean(axis=0)
        bundle = BundleMethod(np.zeros(size), float(offsets.max()), slopes[offsets.argmax()], offsets.max() - 5.0)
        for _ in range(300):
            levels = offsets + slopes @ bundle.point
            bundle.add(float(levels.max()), slopes[levels.argmax()])
            if bundle.decrease < 1e-10:
                break
        program = linprog(
            np.append(np.zeros(size), 1.0),
            A_ub=np.hstack([slopes, -np.ones((len(slopes), 1))]),
            b_ub=-offsets,
            bounds=[(None, None)] * (size + 1),
        )
        assert bundle.value == pytest.approx(program.fun, abs=1e-7)


@pytest.mark.draw(12)
@pytest.mark.parametrize("loss", [*LOSSES, Tversky(0.3, 0.7)], ids=repr)
def test_branching_finds_the_best_labeling(loss):
    rng = np.random.default_rng(6)
    for k in range(120 if isinstance(loss, MCC | ZeroOne) else 40):
        graphs, scores, rows, won = random_problem(
            rng, kind=("reals", "reals", "reals", "ties", "huge", "zeros")[k % 6]
        )
        found = DualDecomposition(exact=True).prepare(loss.bind(graphs)).maximize(scores)
        best, slip = (won + losses_of(loss, graphs.truth, rows)).max(), 1e-10 * (1.0 + np.abs(scores).max())
        assert found.exact[0]
        assert found.values[0] == pytest.approx(best, abs=slip)
        assert found.bounds[0] >= best - slip


def test_a_small_budget_leaves_a_bound():
    rng, left = np.random.default_rng(7), 0
    for _ in range(60):
        graphs, scores, rows, won = random_problem(rng)
        best = (won + losses_of(MCC(), graphs.truth, rows)).max()
        bound_loss = MCC().bind(graphs)
        plain = DualDecomposition().prepare(bound_loss).maximize(scores)
        few = DualDecomposition(exact=True, budget=1).prepare(bound_loss).maximize(scores)
        assert few.values[0] - 1e-9 <= best <= few.bounds[0] + 1e-9
        assert few.bounds[0] <= plain.bounds[0]
        left += not few.exact[0]
    assert left > 0


def test_the_printed_steps():
    # The sum over steps of DD section 3 by hand, each label with a multiplier of its own.
    rng = np.random.default_rng(8)
    for loss in (Jaccard(), MCC()):
        graphs, scores, rows, won = random_problem(rng)
        lost, scale = losses_of(loss, graphs.truth, rows), 0.1
        multipliers, votes, bounds = np.zeros((12, 2)), np.zeros((12, 2)), []
        for t in range(1, 31):
            m = multipliers[:, 1] - multipliers[:, 0]
            one, other = rows[(won + rows @ m).argmax()], rows[(lost - rows @ m).argmax()]
            bounds.append((won + rows @ m).max() + (lost - rows @ m).max())
            for v in (0, 1):
                votes[:, v] += (one == v).astype(int) + (other == v)
                multipliers[:, v] -= scale / np.sqrt(t) * ((one == v).astype(int) - (other == v))
            if (one == other).all():
                break
        found = DualDecomposition(30, "printed", scale).prepare(loss.bind(graphs)).maximize(scores)
        assert found.bounds[0] == pytest.approx(min(bounds))
        vote = np.where(one == other, one, votes[:, 1] > votes[:, 0])
        np.testing.assert_array_equal(found.labels, vote)


@pytest.mark.slow
@pytest.mark.draw(4)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unknown", [False, True])
def test_areas_and_labels_that_are_not_known(weighted, unknown):
    rng, met = np.random.default_rng(9), 0
    for _ in range(40):
        graphs, scores, rows, _ = random_problem(rng, 2, 4)
        labels = graphs.labels.astype(np.int8)
        if unknown:
            labels[rng.random(8) < 0.3] = -1
        graphs = Graphs(labels, graphs.offsets, graphs.edges)
        loss = AreaWeightedLoss(Jaccard(), rng.uniform(0.5, 3.0, 8)) if weighted else Jaccard()
        bound_loss = loss.bind(graphs)
        best = max(bound_loss.values(row)[0] + graphs.won(scores, row)[0] for row in rows)
        found = DualDecomposition().prepare(bound_loss).maximize(scores)
        slip = 1e-10 * (1.0 + np.abs(scores).max())
        assert found.values[0] <= best + slip
        assert best <= found.bounds[0] + slip
        assert np.isfinite(found.bounds[0])
        met += found.exact[0]
        closed = DualDecomposition(exact=True).prepare(bound_loss).maximize(scores)
        assert closed.values[0] - slip <= best <= closed.bounds[0] + slip
    assert met >= 20


def test_any_methods_may_serve_the_two_sides():
    rng = np.random.default_rng(10)
    graphs, scores, rows, won = random_problem(rng)
    bound_loss = CappedLoss(np.arange(1.0, 13.0), 20.0).bind(graphs)
    best = (won + losses_of(CappedLoss(np.arange(1.0, 13.0), 20.0), graphs.truth, rows)).max()
    for method in (DualDecomposition(loss=GreedySearch()), DualDecomposition(loss=Enumeration(12))):
        found = method.prepare(bound_loss).maximize(scores)
        assert found.values[0] - 1e-9 <= best <= found.bounds[0] + 1e-9
    with pytest.raises(Refusal, match="CountSearch refuses"):
        DualDecomposition(loss=CountSearch()).prepare(bound_loss)
    with pytest.raises(Refusal, match=r"it is not a function of counts. Use loss=GreedySearch\(\)"):
        DualDecomposition().prepare(bound_loss)


def test_the_kept_multipliers_save_evaluations(monkeypatch):
    rng = np.random.default_rng(11)
    graphs = Graphs(rng.random(400) < 0.3, np.array([0, 400]), grid(20, 20))
    scores = 0.01 * rng.standard_normal(graphs.n_scores)
    scores[graphs.edge_places] = 0.01 * rng.random(len(graphs.edges))
    asked, see = [], Descent.see
    monkeypatch.setattr(Descent, "see", lambda search, answer: asked.append(1) or see(search, answer))
    used = DualDecomposition().prepare(Jaccard().bind(graphs))
    used.maximize(scores, 1e-6)
    first = len(asked)
    used.take(np.array([0])).maximize(scores, 1e-6)
    assert len(asked) == first + 1
    used.maximize(1.01 * scores, 1e-6)
    assert len(asked) - first - 1 < first


@pytest.mark.parametrize("loss", [Jaccard(), MCC(), Jaccard() + 0.02 * Hamming()], ids=repr)
def test_settled_multipliers_use_the_whole_flow(loss):
    rng, lower = np.random.default_rng(12), 0
    for k in range(40):
        graphs, scores, rows, won = random_problem(rng, kind=("reals", "reals", "ties", "huge")[k % 4])
        best, slip = (won + losses_of(loss, graphs.truth, rows)).max(), 1e-10 * (1.0 + np.abs(scores).max())
        problem = Subproblem(DualDecomposition().one_set(loss.bind(graphs)), scores)
        multipliers = 0.1 * rng.standard_normal(12)
        found = problem.bound(multipliers)
        plain, labels = found.bound, found.labelings[0]
        there = problem.settle(multipliers)
        bound, settled = there.bound, there.multipliers
        np.testing.assert_array_equal(there.labelings[0], labels)
        assert np.abs(settled).max() <= problem.one.most
        assert best - slip <= bound <= plain + slip
        # The labels of the network are among the best ones there too, and the bound is that of the multipliers.
        assert problem.bound(settled).bound == pytest.approx(bound, abs=slip)
        costs = problem.one.bound_loss.split()[0]
        modular = rows @ settled if costs is None else rows @ settled + (rows != graphs.truth) @ costs
        at = (rows == labels).all(axis=1)
        assert (won + modular)[at][0] == pytest.approx((won + modular).max(), abs=slip)
        lower += bound < plain - slip
    assert lower >= 20


def test_the_slope_between_two_labelings():
    graphs = Graphs(np.arange(12) < 5, np.array([0, 12]), grid(3, 4))
    problem = Subproblem(DualDecomposition().one_set(Jaccard().bind(graphs)), np.zeros(graphs.n_scores))
    one, other = np.arange(12) < 4, np.arange(12) < 8
    # One false negative and none, and no false positive and three.
    at = lambda fn, fp: (fn + fp) / (5.0 + fp)  # noqa: E731
    fn = (at(1, 0) - at(0, 0) + at(1, 3) - at(0, 3)) / 2.0
    fp = (at(0, 3) - at(0, 0) + at(1, 3) - at(1, 0)) / 6.0
    np.testing.assert_allclose(problem.slope_of_loss(one, other), np.where(graphs.truth, -fn, fp))
    # The counts of one labeling alone are the middles of lines over one to each side, as far as the counts go.
    fn, fp = (at(2, 0) - at(0, 0)) / 2.0, at(1, 1) - at(1, 0)
    np.testing.assert_allclose(problem.slope_of_loss(one, one), np.where(graphs.truth, -fn, fp))
