"""Two small networks are one set with one loss; the one pairwise weight may not be negative."""

from itertools import product

import numpy as np
import pytest

from learners.risks import ListedPlanes, minimum
from setwise.core.batch import Batch
from setwise.core.inference import Inference, Maximizer
from setwise.core.risk import Features
from setwise.learners import LEARNERS, Subgradient
from setwise.losses import FBeta, Jaccard
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling

NODES, GRAPHS = 6, (slice(0, 3), slice(3, 6))
EDGES = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [3, 5]])
ROWS = np.array(list(product([0, 1], repeat=NODES)))


class GraphPair(Batch):
    """One set of six nodes in two components: a score for each node and one for each edge whose ends agree."""

    n_labels, score_offsets = 2, np.array([0, NODES + len(EDGES)])

    def __init__(self, labels):
        self.labels, self.offsets = labels, np.array([0, NODES])
        self.target = self.encode(labels)

    def encode(self, labels):
        return np.concatenate([labels, labels[EDGES[:, 0]] == labels[EDGES[:, 1]]]).astype(float)

    def take(self, parts):
        return self


class ByTwoTables(Inference):
    """The best score of each graph for each pair of counts; the loss joins the two tables."""

    name = about = "by_two_tables"

    def refuses(self, bound_loss, slack=False):
        return None if isinstance(bound_loss.batch, GraphPair) and not slack else "only two graphs are joined here."

    def bind(self, bound_loss, slack):
        class TableMaximizer(Maximizer):
            method = self

            def __init__(self):
                self.bound_loss, self.slack = bound_loss, slack

            def solve(self, scores, tol):
                truth, (term,) = self.bound_loss.batch.labels, self.bound_loss.terms
                tables = [self._table(scores, truth, graph) for graph in GRAPHS]
                best, labels = -np.inf, None
                for (a, (won, left)), (b, (more, right)) in product(*(t.items() for t in tables)):
                    value = term.of(np.array([a[0] + b[0]]), np.array([a[1] + b[1]]))[0] + won + more
                    if value > best:
                        best, labels = value, np.concatenate([left, right])
                return self.solved(scores, labels)

            def _table(self, scores, truth, graph):
                found, inside = {}, [e for e, (i, _) in enumerate(EDGES) if graph.start <= i < graph.stop]
                for row in product([0, 1], repeat=graph.stop - graph.start):
                    y = np.array(row)
                    agree = [y[i - graph.start] == y[j - graph.start] for i, j in EDGES[inside]]
                    won = scores[:NODES][graph] @ y + scores[NODES:][inside] @ np.array(agree, float)
                    key = (float((truth[graph] > y).sum()), float((truth[graph] < y).sum()))
                    if key not in found or won > found[key][0]:
                        found[key] = (won, y)
                return found

        return TableMaximizer()


class GraphPairFeatures(Features):
    """Two unary weights and one weight for all edges, at least 0."""

    size, lower = 3, np.array([-np.inf, -np.inf, 0.0])

    def __init__(self, X):
        self.X, self.row_lengths = X, np.append(np.sqrt((X**2).sum(axis=1)), np.ones(len(EDGES)))

    def scores(self, w, parts=None):
        return np.concatenate([self.X @ w[:2], np.full(len(EDGES), w[2])])

    def pullback(self, gradient, parts=None):
        return np.append(self.X.T @ gradient[:NODES], gradient[NODES:].sum())

    def pullbacks(self, gradient, parts=None):
        return self.pullback(gradient)[None]

    def based(self, base, lower):
        raise NotImplementedError


def listed(batch, features, loss):
    planes = [features.pullback(batch.encode(row) - batch.target) for row in ROWS]
    values = [loss(batch.labels, row) for row in ROWS]
    return ListedPlanes(np.array(planes)[None], np.array(values)[None], lower=features.lower, floor=0.0)


@pytest.mark.draw(20)
@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
@pytest.mark.parametrize("loss", [Jaccard(), FBeta()], ids=repr)
def test_all_learners_reach_the_optimum_under_the_bound(make, loss):
    held = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 2, NODES)
        batch, features = GraphPair(labels), GraphPairFeatures(rng.standard_normal((NODES, 2)) + labels[:, None])
        risk = MeanRisk(features, MarginRescaling(loss, ByTwoTables()).on(batch))
        every = listed(batch, features, loss)
        for w in rng.standard_normal((3, 3)):
            assert risk.cut(w).value == pytest.approx(every.cut(w).value)
        best, tol = minimum(every, 5.0), 2e-2 if make is Subgradient else 1e-4
        fit = make(C=5.0, tol=tol, max_iter=5000).minimize(risk)
        assert fit.w[2] >= 0.0
        assert fit.lower_bound <= best + 1e-6
        assert fit.objective == fit.upper_bound >= best - 1e-6
        assert fit.objective == pytest.approx(best, rel=1.1 * tol, abs=1e-6)
        held += fit.w[2] == 0.0
    assert 0 < held < 6, "the bound should matter in some problems and not in all"
