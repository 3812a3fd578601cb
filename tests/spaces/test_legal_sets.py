"""Legal sets of labels against lists of all of them: the best ones, probabilities, and the least expected loss."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logit

from setwise.core import Sets
from setwise.losses import MaxLoss, NearestCosts, SumLoss
from setwise.spaces import ClosedSets, Hierarchy, ListedSets


def random_tree(rng, p):
    """A forest of p nodes, named so that columns are in no order of depth."""
    names = rng.permutation(p).tolist()
    return Hierarchy({names[j]: [names[int(rng.integers(j))]] if j and rng.random() < 0.7 else [] for j in range(p)})


def kinds(rng, p):
    """Legal sets of p labels, of both kinds, each with the list of them."""
    every = np.array(list(product([False, True], repeat=p)))
    closed = ClosedSets(random_tree(rng, p))
    listed = every[rng.permutation(len(every))[: rng.integers(1, len(every) + 1)]]
    return [(closed, every[closed.holds(every)]), (ListedSets(np.concatenate([listed, listed[:1]])), listed)]


def random_scores(rng, n, p, t):
    """Scores of which one in four has ties, one in four only zeros, and one in four is huge."""
    scores = rng.normal(size=(n, p))
    return [scores, rng.integers(-2, 3, (n, p)).astype(float), np.zeros((n, p)), 300.0 * scores][t % 4]


def probabilities(scores, listed):
    """The probability of each listed set, (n, m)."""
    sums = scores @ listed.T.astype(float)
    found = np.exp(sums - sums.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("t", range(24))
def test_best_sets_and_probabilities_are_those_of_all_legal_sets(t):
    rng = np.random.default_rng(t)
    p = int(rng.integers(1, 7))
    scores = random_scores(rng, 3, p, t)
    for legal, listed in kinds(rng, p):
        q = probabilities(scores, listed)
        np.testing.assert_allclose(legal.marginals(scores), q @ listed, atol=1e-12)
        falling, before = -np.sort(-q, axis=1), None
        for k in (len(listed) + 2, len(listed), 3, 1):
            sets, values = legal.best(scores, k)
            many = min(k, len(listed))
            np.testing.assert_allclose(values[:, :many], falling[:, :many], atol=1e-12)
            assert not values[:, many:].any()
            assert not sets[:, many:].any()
            for row in sets[:, :many]:
                assert legal.holds(row).all()
                assert len(np.unique(row, axis=0)) == many
            # Of equal sums the same set comes first for every k.
            if before is not None:
                np.testing.assert_array_equal(sets[:, :many], before[:, :many])
            before = sets
        each = listed[rng.integers(len(listed), size=3)]
        places = [int(np.flatnonzero((listed == row).all(axis=1))[0]) for row in each]
        with np.errstate(divide="ignore"):
            expected = np.log(q[np.arange(3), places])
        seen = np.isfinite(expected)
        np.testing.assert_allclose(legal.log_likelihood(scores, each)[seen], expected[seen], atol=1e-9)


def losses(rng, p):
    """Losses of labels, and whether their least expected loss is always found."""
    costs, apart = rng.integers(4, size=p) / 2.0, rng.integers(3, size=(p, p)).astype(float)
    return [
        (MaxLoss(), True),
        (MaxLoss(np.full(p, 2.0)), True),
        (SumLoss(), True),
        (SumLoss(costs, normalized=True), True),
        (MaxLoss(costs), False),
        (MaxLoss(1.0 + costs), False),
        (SumLoss(NearestCosts(apart)), False),
    ]


@pytest.mark.parametrize("t", range(16))
def test_decisions_have_the_least_expected_loss_of_all_legal_sets(t):
    rng = np.random.default_rng(100 + t)
    p = int(rng.integers(1, 6))
    scores = random_scores(rng, 4, p, t)
    for legal, listed in kinds(rng, p):
        q = probabilities(scores, listed)
        for loss, always in losses(rng, p):
            bound = loss.bind(Sets.rows(listed))
            table = np.array([bound.values(np.tile(h, len(listed))) for h in listed])
            expected = q @ table.T
            for k in (1, 3, len(listed)):
                found = legal.decide(scores, loss, k)
                assert legal.holds(found.sets).all()
                chosen = [int(np.flatnonzero((listed == row).all(axis=1))[0]) for row in found.sets]
                value, least = expected[np.arange(4), chosen], expected.min(axis=1)
                assert (value[found.exact] <= least[found.exact] + 1e-9).all()
                assert (found.lower <= value + 1e-9).all()
                known = np.isfinite(found.upper)
                assert (found.upper[known] >= value[known] - 1e-9).all()
                if always or k == len(listed):
                    assert found.exact.all()
                    np.testing.assert_allclose(found.lower, least, atol=1e-9)


def test_a_decision_can_be_exact_before_all_sets_are_listed():
    tree = Hierarchy({j: [] for j in range(12)})
    scores = np.full((2, 12), -9.0)
    scores[1] = 0.0
    found = ClosedSets(tree).decide(scores, MaxLoss(np.linspace(1.0, 2.0, 12)), k=5)
    assert found.exact.tolist() == [True, False]
    assert not found.sets[0].any()
    assert found.upper[1] == pytest.approx(found.lower[1] + 2.0 * (1.0 - 5.0 / 2**12))


def test_labels_that_are_certain_decide_and_contradictions_are_fewest():
    tree = Hierarchy({"cat": "animal", "dog": "animal"})
    legal = ClosedSets(tree)
    odds = logit(np.array([[1.0, 0.4, 0.3], [0.9, 0.0, 0.9], [1.0, 0.0, 1.0]]))
    sets, q = legal.best(odds)
    assert tree.decode(sets[:, 0]) == [["cat", "animal"], [], ["cat", "animal", "dog"]]
    np.testing.assert_allclose(q[:, 0], [0.7, 1.0, 1.0])
    np.testing.assert_allclose(legal.marginals(odds), [[1.0, 1.0, 0.3], [0.0] * 3, [1.0] * 3])


def test_the_empty_set_is_legal_where_it_is_listed():
    scores = np.array([[-1.0, -2.0]])
    assert ListedSets([[1, 0], [0, 1]]).best(scores)[0].astype(int).tolist() == [[[1, 0]]]
    assert not ListedSets([[1, 0], [0, 0]]).best(scores)[0].any()
    assert not ClosedSets(Hierarchy({0: [1]})).best(scores)[0].any()


def test_one_label_and_no_rows():
    for legal in (ClosedSets(Hierarchy({0: []})), ListedSets([[0], [1]])):
        sets, q = legal.best([[0.5], [-0.5]], k=3)
        assert sets[:, 0, 0].tolist() == [True, False]
        np.testing.assert_allclose(q.sum(axis=1), 1.0)
        assert legal.best(np.zeros((0, 1)))[0].shape == (0, 1, 1)
        for loss in (SumLoss(), MaxLoss(), SumLoss(lambda truth: 1.0 + truth)):
            assert legal.decide(np.zeros((0, 1)), loss).sets.shape == (0, 1)


def test_nodes_with_several_parents_are_refused():
    with pytest.raises(ValueError, match="ClosedSets refuses a hierarchy in which 'a' has 2 parents"):
        ClosedSets(Hierarchy({"a": ["b", "c"]}))
