"""Spaces of labels that are too many to list: scores by their formulas, lists of labels, training, and refusals."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest

from setwise.core.bound_loss import BoundLoss
from setwise.graphs import Graph
from setwise.inference import Auto
from setwise.learners import OneSlack
from setwise.losses import GivenCosts, MaxLoss, NearestHammingCosts
from setwise.risks import MeanRisk
from setwise.spaces import Candidates, LabelSequences, Matchings, NetworkLabelings
from setwise.surrogates import MultilabelHinge

LABELS = ("b", ("a", 1), 3)
CHAIN = np.array([[0, 1], [1, 2]])


def sequences(rng):
    """A space, inputs, all labels of each input, and their scores by the formula of the space."""
    X = [rng.standard_normal((T, 2)) for T in (3, 1, 2)]
    every = [list(map(list, product(LABELS, repeat=len(x)))) for x in X]

    def f(w, i, y):
        W, A, codes = w[:6].reshape(3, 2), w[6:15].reshape(3, 3), [LABELS.index(label) for label in y]
        return sum(W[c] @ x for c, x in zip(codes, X[i], strict=True)) + sum(map(A.__getitem__, pairwise(codes)))

    return LabelSequences(LABELS), X, every, f


def matchings(rng):
    X = [rng.standard_normal((*shape, 3)) for shape in ((2, 4), (1, 1), (3, 3))]
    every = [list(map(list, permutations(range(x.shape[1]), len(x)))) for x in X]
    return Matchings(), X, every, lambda w, i, y: X[i][np.arange(len(y)), y].sum(axis=0) @ w[:3]


def networks(k, tables):
    def made(rng):
        X = [
            Graph(rng.standard_normal((3, 2)), CHAIN, rng.random((2, 2))),
            Graph(rng.random((1, 2)), [], np.ones((0, 2))),
        ]
        every = [list(map(list, product(range(k), repeat=len(x)))) for x in X]
        rows = 1 if k == 2 and not tables else k

        def f(w, i, y):
            u, a = w[: 2 * rows].reshape(rows, 2), w[2 * rows : -1].reshape(-1, 2)
            total = sum(u[v - (rows == 1)] @ x for v, x in zip(y, X[i].X, strict=True) if rows > 1 or v)
            for (one, other), z in zip(X[i].edges, X[i].Z, strict=True):
                if tables:
                    total += a[k * y[one] + y[other]] @ z
                elif y[one] == y[other]:
                    total += a[0] @ z
            return total

        return NetworkLabelings(k, tables), X, every, f

    return made


def plain(label):
    """A label as a list of Python's own objects."""
    return label.tolist() if isinstance(label, np.ndarray) else label


SPACES = {
    "sequences": sequences,
    "matchings": matchings,
    "two labels": networks(2, False),
    "three labels": networks(3, False),
    "tables": networks(2, True),
}


@pytest.mark.parametrize("make", SPACES.values(), ids=SPACES)
def test_lists_of_labels_have_the_scores_of_the_formula(make):
    rng = np.random.default_rng(0)
    for constant in (0.0, 2.0):
        space, X, every, f = make(rng)
        batch, features = space.bind(X, constant=constant)
        w = np.abs(rng.standard_normal(features.size))
        threshold = constant * w[-1] if constant else 0.0
        whole = w if constant else np.append(w, 0.0)
        scores, maximizer = features.scores(w), Auto().prepare(BoundLoss(batch))
        for i, found in enumerate(maximizer.k_best(scores, 1000)):
            labels = [plain(space.decode(one.labels)) for one in found]
            assert sorted(map(repr, labels)) == sorted(map(repr, every[i]))
            wanted = [f(whole, i, y) + threshold for y in labels]
            np.testing.assert_allclose([one.value for one in found], wanted, atol=1e-12)
        predicted = maximizer.maximize(scores)
        for i, rows in enumerate(every):
            part = predicted.labels[batch.offsets[i] : batch.offsets[i + 1]]
            top = max(f(whole, i, y) + threshold for y in rows)
            assert predicted.values[i] == pytest.approx(max(top, 0.0))
            assert (space.decode(part) is None) == (top <= 0.0)


def some_right(rng, every):
    return [[rows[j] for j in rng.permutation(len(rows))[: rng.integers(0, 3)]] for rows in every]


@pytest.mark.draw(10)
@pytest.mark.parametrize("rescaling", ["slack", "margin"])
@pytest.mark.parametrize("make", SPACES.values(), ids=SPACES)
def test_training_reaches_the_optimum_of_the_same_labels_listed(make, rescaling):
    rng = np.random.default_rng(1)
    for costs in (None, NearestHammingCosts(0.8), GivenCosts(lambda truths, label: (1 + label.sum() % 3) / 3)):
        space, X, every, _ = make(rng)
        Y = some_right(rng, every)
        batch, features = space.bind(X, Y)
        # Each label has the features that the weights multiply in its score.
        listed, right, prices = [], [], []
        for i, rows in enumerate(every):
            one, _ = space.bind([X[i]] * len(rows), [[y] for y in rows])
            codes = np.array([t[0] for t in one.truths])
            listed.append(np.array([features.pullback(psi_of(batch, i, code), np.array([i])) for code in codes]))
            right.append([j for j, y in enumerate(rows) if y in Y[i]])
            prices.append(np.ones(len(rows)) if costs is None else costs.of(batch, i, codes))
        candidates, rows_of = Candidates().bind(listed, right, constant=0.0)
        rows_of = rows_of.based(None, features.lower)
        found = []
        table = {len(cost): cost for cost in prices}
        assert len(table) == len(prices)
        for batch_, features_, loss in (
            (batch, features, MaxLoss(costs)),
            (candidates, rows_of, MaxLoss(lambda truth, table=table: table[len(truth)])),
        ):
            risk = MeanRisk(features_, MultilabelHinge(loss, rescaling).on(batch_))
            found.append(OneSlack(C=3.0, tol=1e-7).minimize(risk))
        gap = found[0].gap + found[1].gap
        assert abs(found[0].objective - found[1].objective) <= gap + 1e-9
        assert gap <= 1e-4


def psi_of(batch, i, code):
    """The indicator of one label of one input."""
    return batch.take(np.array([i])).indicators(code + 1)


def test_candidates_are_decisions_of_ragged_sets():
    rng = np.random.default_rng(2)
    X = [rng.standard_normal((m, 3)) for m in (4, 1, 2)]
    space = Candidates()
    batch, features = space.bind(X, [[0, 3], [], {1}])
    assert batch.labels.tolist() == [True, False, False, True, False, False, True]
    assert [space.decode(part) for part in np.split(batch.labels, [4, 5])] == [[0, 3], [], [1]]
    w = rng.standard_normal(4)
    np.testing.assert_allclose(features.scores(w), np.concatenate(X) @ w[:3] + w[3])
    empty, _ = space.bind(X)
    assert not empty.labels.any()
    best = Auto().prepare(BoundLoss(empty)).maximize(features.scores(w))
    assert (best.labels == (features.scores(w) > 0)).all()


SEQUENCES, MATCHINGS, NETWORKS = LabelSequences(["a", "b"]), Matchings(), NetworkLabelings()
ONE, PAIRS, GRAPH = [np.ones((2, 3))], [np.ones((2, 3, 1))], [Graph(np.ones((2, 1)), [[0, 1]])]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LabelSequences(["a", "a"]), "labels must be distinct"),
        (lambda: SEQUENCES.bind([]), r"X must hold one array \(T, d\) or more; got none"),
        (lambda: SEQUENCES.bind(3), r"X must be a list of arrays \(T, d\); got 3"),
        (lambda: SEQUENCES.bind([np.ones(3)]), r"X\[0\] must have shape \(T, d\), no axis of it empty"),
        (
            lambda: SEQUENCES.bind([np.ones((2, 3)), np.ones((2, 2))]),
            r"X\[1\] must have 3 features, like X\[0\]; got 2",
        ),
        (lambda: SEQUENCES.bind([np.full((2, 3), np.nan)]), r"X\[0\] must be finite"),
        (lambda: SEQUENCES.bind([np.full((2, 3), np.inf)]), r"X\[0\] must be finite"),
        (lambda: SEQUENCES.bind([[["a"]]]), r"X\[0\] must hold real numbers"),
        (lambda: SEQUENCES.bind(ONE, [[["a", "c"]]]), r"Y\[0\] must hold labels of the space, \['a', 'b'\]; got 'c'"),
        (lambda: SEQUENCES.bind(ONE, [[["a"]]]), r"Y\[0\] must hold sequences of 2 labels, one for each row of X"),
        (lambda: SEQUENCES.bind(ONE, [[["a", "b"], ("a", "b")]]), r"Y\[0\] must hold each label once"),
        (lambda: SEQUENCES.bind(ONE, [["ab"]]), r"Y\[0\] must be sequences of labels; got 'ab'"),
        (lambda: SEQUENCES.bind(ONE, []), "Y must hold a collection of labels for each of 1 inputs; got 0"),
        (lambda: SEQUENCES.bind(ONE, [3]), r"Y\[0\] must be a collection of labels; got 3"),
        (lambda: SEQUENCES.bind(ONE, constant=-1.0), "constant must be a finite number"),
        (lambda: SEQUENCES.decode(np.array([0.5])), r"labels must be whole numbers of shape \(width,\)"),
        (lambda: MATCHINGS.bind([np.ones((3, 2, 1))]), r"X\[0\] must have a column for each row, so n <= m; got 3 x 2"),
        (lambda: MATCHINGS.bind(PAIRS, [[[0, 0]]]), "must give each row its own column"),
        (lambda: MATCHINGS.bind(PAIRS, [[[0, 3]]]), "must hold columns 0..2"),
        (lambda: MATCHINGS.bind(PAIRS, [[[0.0, 1.0]]]), r"Y\[0\] must hold columns of shape \(2,\)"),
        (lambda: MATCHINGS.bind(PAIRS, [[[0, 1], [0, 1]]]), r"Y\[0\] must hold each label once"),
        (lambda: NETWORKS.bind([np.ones((2, 2))]), r"X\[0\] must be of the kind Graph"),
        (lambda: NETWORKS.bind([]), "X must hold one graph or more"),
        (lambda: NETWORKS.bind(GRAPH, [[[0, 2]]]), "must hold labels 0..1"),
        (lambda: NETWORKS.bind(GRAPH, [[[0]]]), r"Y\[0\] must hold labels of shape \(2,\); got \[0\]"),
        (lambda: NETWORKS.bind([*GRAPH, Graph(np.ones((1, 2)), [])]), r"X\[1\].X must have 1 features"),
        (lambda: NETWORKS.bind([Graph([[1.0]], [], areas=[2.0])]), r"X\[0\].areas must be None"),
        (lambda: NetworkLabelings(1), "k must be at least 2"),
        (lambda: NetworkLabelings(2, 1), "tables must be True or False"),
        (lambda: Candidates().bind([np.zeros((0, 2))]), r"X\[0\] must have shape \(m, d\), no axis of it empty"),
        (lambda: Candidates().bind(ONE, [[2]]), r"Y\[0\] must hold candidates 0..1; got 2"),
        (lambda: Candidates().bind(ONE, [[1, 1]]), r"Y\[0\] must hold each label once"),
        (lambda: Candidates().bind(ONE, [[1.0]]), r"Y\[0\] must hold whole numbers, those of candidates; got 1.0"),
        (lambda: Candidates().bind(ONE, [[True]]), r"Y\[0\] must hold whole numbers"),
        (lambda: Candidates().decode([0.5]), "labels must be booleans"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()
