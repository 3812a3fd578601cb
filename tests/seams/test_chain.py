"""A chain with three labels and free pairwise weights, in thirty lines on the seams: batch, inference, features."""

from itertools import product

import numpy as np
import pytest

from learners.risks import ListedPlanes, minimum
from setwise.core.batch import Batch
from setwise.core.bound_loss import LabelCosts
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer
from setwise.core.risk import Features
from setwise.kernels.segments import chosen_offsets
from setwise.learners import LEARNERS, Subgradient
from setwise.losses import Hamming
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling

P, K = 3, 3
ROWS = np.array(list(product(range(K), repeat=P)))


class Chains(Batch):
    """n chains of P nodes: scores are (P, K) of the nodes, then (K, K) of all transitions together."""

    n_labels, size = K, P * K + K * K

    def __init__(self, labels):
        self.labels, self.offsets = labels.ravel(), np.arange(len(labels) + 1) * P
        self.score_offsets = np.arange(len(labels) + 1) * self.size
        self.target = self.encode(self.labels)

    def encode(self, labels):
        rows, out = labels.reshape(-1, P), np.zeros((len(labels) // P, self.size))
        for i, row in enumerate(rows):
            out[i, np.arange(P) * K + row] = 1
            np.add.at(out[i], P * K + row[:-1] * K + row[1:], 1)
        return out.ravel()

    def take(self, parts):
        assert chosen_offsets(parts, self.offsets)[-1] == P * len(parts)
        return Chains(self.labels.reshape(-1, P)[parts])


class Viterbi(Inference):
    """The best path, by dynamic programming over the nodes; costs of labels are added to their scores."""

    name = about = "viterbi"

    def refuses(self, bound_loss, slack=False):
        fits = isinstance(bound_loss.batch, Chains) and all(isinstance(t, LabelCosts) for t in bound_loss.terms)
        return None if fits and not slack else "Viterbi takes costs of labels on chains."

    def bind(self, bound_loss, slack):
        class Paths(Maximizer):
            method, costs = self, sum(t.costs for t in bound_loss.terms)

            def __init__(self):
                self.bound_loss, self.slack = bound_loss, slack

            def solve(self, scores, tol):
                labels = []
                for s, costs in zip(scores.reshape(-1, Chains.size), self.costs.reshape(-1, P, K), strict=True):
                    node, step = s[: P * K].reshape(P, K) + costs, s[P * K :].reshape(K, K)
                    best, back = node[0], []
                    for t in range(1, P):
                        back.append((best[:, None] + step).argmax(axis=0))
                        best = (best[:, None] + step).max(axis=0) + node[t]
                    path = [int(best.argmax())]
                    for arrows in reversed(back):
                        path.insert(0, int(arrows[path[0]]))
                    labels += path
                return self.solved(scores, np.array(labels))

        return Paths()


class ChainFeatures(Features):
    """Unary weights (K, d) for the node features X (n, P, d), and (K, K) weights of transitions."""

    def __init__(self, X):
        self.X, self.size = X, K * X.shape[2] + K * K
        unary = np.repeat(np.sqrt((X**2).sum(axis=2)), K, axis=1)
        self.row_lengths = np.hstack([unary, np.ones((len(X), K * K))]).ravel()

    def scores(self, w, parts=None):
        X = self.X if parts is None else self.X[parts]
        unary = X @ w[: -K * K].reshape(K, -1).T
        return np.hstack([unary.reshape(len(X), -1), np.tile(w[-K * K :], (len(X), 1))]).ravel()

    def pullbacks(self, gradient, parts=None):
        X = self.X if parts is None else self.X[parts]
        G = gradient.reshape(len(X), -1)
        unary = np.einsum("npk,npd->nkd", G[:, : P * K].reshape(len(X), P, K), X)
        return np.hstack([unary.reshape(len(X), -1), G[:, P * K :]])

    def pullback(self, gradient, parts=None):
        return self.pullbacks(gradient, parts).sum(axis=0)

    def based(self, base, lower):
        raise NotImplementedError


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((6, P, 2)), rng.integers(0, K, (6, P))
    X[..., 0] += Y
    batch, features = Chains(Y), ChainFeatures(X)
    return batch, features, MeanRisk(features, MarginRescaling(Hamming(), Viterbi()).on(batch))


def listed(batch, features):
    """The same risk with every labeling of every chain as a plane."""
    n = len(batch)
    slopes, offsets = np.zeros((n, len(ROWS), features.size)), np.zeros((n, len(ROWS)))
    for i, (chain, row) in product(range(n), enumerate(ROWS)):
        one = batch.take(np.array([i]))
        slopes[i, chain] = features.pullback(one.encode(row) - one.target, np.array([i])) / n
        offsets[i, chain] = (row != one.labels).sum() / n
    return ListedPlanes(slopes, offsets, floor=0.0)


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
def test_all_learners_reach_the_certified_optimum(problem, make):
    batch, features, risk = problem
    best = minimum(listed(batch, features), 10.0)
    tol = 2e-2 if make is Subgradient else 1e-4
    fit = make(C=10.0, tol=tol, max_iter=3000).minimize(risk)
    assert fit.status == "converged"
    assert fit.lower_bound <= best * (1 + 1e-9) <= fit.upper_bound * (1 + 2e-9)
    assert fit.objective == pytest.approx(best, rel=1.1 * tol)


def test_labelings_cross_the_seam(problem):
    batch, features, risk = problem
    every = listed(batch, features)
    for w in np.random.default_rng(1).standard_normal((5, features.size)):
        assert risk.cut(w).value == pytest.approx(every.cut(w).value)
        ours, theirs = risk.cuts(w, np.array([3, 1])), every.cuts(w, np.array([3, 1]))
        np.testing.assert_allclose(ours.values, theirs.values)


def test_no_method_for_other_labelings_takes_a_chain_in_silence(problem):
    batch, _, _ = problem
    with pytest.raises(Refusal, match=r"Auto knows no method for margin rescaling of Hamming\(\) on Chains. Give"):
        MarginRescaling(Hamming()).on(batch)


def test_a_method_that_does_not_say_what_it_takes_is_refused(problem):
    class Silent(Inference):
        def bind(self, bound_loss, slack):
            raise AssertionError

    with pytest.raises(TypeError, match=r"Silent must declare what it takes, as takes = Takes\(Sets, ...\)."):
        Silent().prepare(Hamming().bind(problem[0]))
