"""Certificates hold for scores of any size, next to scores of any other size: exact is exact, and bounds are bounds."""

from dataclasses import MISSING, fields
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from inference.networks import some, tree
from rounds import rounds
from setwise.core.batch import Classes, Sets
from setwise.core.bound_loss import BoundLoss, LabelCosts
from setwise.core.networks import ClassGraphs, Graphs, Network
from setwise.core.terms import Mistakes
from setwise.inference import (
    INFERENCES,
    QPBO,
    Auto,
    BeliefPropagation,
    DualDecomposition,
    MaxFlow,
    PiecewiseLinearPrograms,
    TreeReweightedMessages,
)
from setwise.inference.message_passing import label_costs
from setwise.losses import FBeta, GMean, Hamming, Jaccard, MeanOverClasses, ZeroOne
from setwise.spaces import SEARCHES


def made(kind):
    """An instance; methods that need another one inside get the default."""
    needs = [f for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    return kind(Auto()) if needs else kind()


METHODS = [
    *(made(kind) for kind in (INFERENCES | SEARCHES).values()),
    DualDecomposition(exact=True),
    DualDecomposition(network=QPBO()),
    DualDecomposition(exact=True, network=QPBO()),
]
EPS = Fraction(2) ** -52
UNIT = 2**1074


def whole(x):
    """Exact multiples of the smallest float64, as whole numbers."""
    ratios = [float(one).as_integer_ratio() for one in x]
    return [top * (UNIT // bottom) for top, bottom in ratios]


def edges_of(rng, sizes):
    """Connected or not, the nodes of all parts in any order."""
    at, parts = rng.permutation(sum(sizes)), []
    for begin, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        parts.append(at[begin + (tree if rng.random() < 0.3 else some)(rng, size)])
    return np.vstack(parts).astype(np.int64)


def scale(rng):
    """Any power of ten that float64 knows well, or one of those that occur."""
    return 10.0 ** (rng.uniform(-300, 300) if rng.random() < 0.5 else rng.choice([-13, 0, 0, 13]))


def drawn(rng, parts, size):
    """Scores (size,) of parts of different scales, some of them whole numbers, some with one huge score."""
    scales = np.array([scale(rng) for _ in range(parts.max() + 1)])
    one = rng.standard_normal(size)
    one = np.round(2 * one) if rng.random() < 0.3 else one
    scores = one * (scales[0] if rng.random() < 0.3 else scales[parts])
    if rng.random() < 0.3:
        at = rng.integers(size)
        scores[at] = np.clip(scores[at], -1e280, 1e280) * 10.0 ** rng.uniform(0, 20)
    return np.clip(scores, -1e300, 1e300)


def case(rng):
    """A batch of one set, its scores, and a loss."""
    k = int(rng.choice([2, 2, 3]))
    sizes = [int(rng.integers(1, 5 if k == 2 else 4)) for _ in range(rng.integers(1, 4))][: 3 if k == 2 else 2]
    kinds = ["graphs", "attracting", "potts", "tables", "plain"]
    p, kind = sum(sizes), str(rng.choice(kinds, p=[0.3, 0.3, 0.1, 0.1, 0.2]))
    y, ends, edges = rng.integers(0, k, p), np.array([0, p]), edges_of(rng, sizes)
    if k == 2 and kind == "plain":
        batch = Sets(y == 1, ends)
    elif kind == "plain":
        batch = Classes(y, ends, k)
    elif k == 2 and kind in ("graphs", "attracting"):
        batch = Graphs(y == 1, ends, edges)
    else:
        batch = ClassGraphs(y, ends, edges, k, kind == "tables")
    if isinstance(batch, Network):
        parts = np.empty(batch.n_scores, np.int64)
        parts[batch.node_columns] = batch.components[:, None]
        parts[batch.edge_columns] = batch.components[batch.edges[:, 0], None]
    else:
        parts = np.repeat(np.arange(p), batch.n_scores // p)
    scores = drawn(rng, parts, batch.n_scores)
    if kind == "attracting" and isinstance(batch, Network):
        scores[batch.edge_columns] = np.abs(scores[batch.edge_columns])
    if rng.random() < 0.4:
        bound_loss = (min(scale(rng), 1e100) * Hamming()).bind(batch)
        return batch, scores, BoundLoss(batch) if rng.random() < 0.3 else bound_loss
    if k == 3 or isinstance(batch, ClassGraphs):
        loss = MeanOverClasses(rng.choice([Jaccard(), FBeta()]))
    else:
        loss = rng.choice([Jaccard(), FBeta(), ZeroOne(), GMean()])
    loss = loss if rng.random() < 0.5 else min(scale(rng), 1e100) * loss
    return batch, scores, (loss + Hamming() if rng.random() < 0.2 else loss).bind(batch)


class Block:
    """Decisions whose values do not depend on others, and the value of each of their labelings, counted in UNIT."""

    def __init__(self, batch, scores, bound_loss, nodes, joint):
        self.nodes, self.values = nodes, {}
        s, lost = whole(scores), None if joint else [whole(row) for row in np.stack(label_costs(bound_loss), axis=1)]
        at = np.zeros(batch.total, np.int64)
        network = isinstance(batch, Network)
        edges = np.flatnonzero(np.isin(batch.edges[:, 0], nodes)) if network else []
        width = 1 if batch.binary and not isinstance(batch, ClassGraphs) else batch.n_labels
        columns = batch.node_columns if network else np.arange(batch.n_scores).reshape(batch.total, width)
        terms = [s[j] for j in columns[nodes].ravel()] + [s[j] for e in edges for j in batch.edge_columns[e]]
        rows = list(product(range(batch.n_labels), repeat=len(nodes)))
        if joint:
            every = np.array(rows).ravel()
            copies = bound_loss.take(np.zeros(len(rows), np.int64))
            most = whole(copies.values(every == 1 if batch.binary and width == 1 else every))
        for number, row in enumerate(rows):
            at[nodes] = row
            value = 0
            for i in nodes:
                value += s[columns[i, at[i]]] if width > 1 else s[columns[i, 0]] * int(at[i])
                value += 0 if joint else lost[i][at[i]]
            for e in edges:
                u, v = at[batch.edges[e]]
                places = batch.edge_columns[e]
                value += s[places[u * batch.n_labels + v]] if len(places) > 1 else s[places[0]] * int(u == v)
            if joint:
                value += most[number]
            self.values[row] = value
        terms += [max(most)] if joint else [max(lost[i]) for i in nodes]
        size = max(sum(t for t in terms if t > 0), -sum(t for t in terms if t < 0))
        self.best, self.unit = max(self.values.values()), EPS * (len(nodes) + len(edges)) * size
        # Values are counted from the target.
        self.target = self.values[tuple(np.asarray(batch.labels).astype(int)[nodes])]
        if joint:
            self.target -= whole(bound_loss.values(batch.truth if width == 1 else batch.labels))[0]
        else:
            self.target -= sum(lost[i][int(batch.labels[i])] for i in nodes)

    def gap(self, labels):
        return self.best - self.values[tuple(np.asarray(labels).astype(int)[self.nodes])]


def blocks_of(batch, scores, bound_loss):
    if not isinstance(batch, Network) or not all(isinstance(term, Mistakes | LabelCosts) for term in bound_loss.terms):
        return [Block(batch, scores, bound_loss, np.arange(batch.total), True)]
    numbers = batch.components
    return [Block(batch, scores, bound_loss, np.flatnonzero(numbers == c), False) for c in range(numbers.max() + 1)]


def worst(method, bound_loss, scores, blocks):
    """How far an exact labeling is below the best, and a bound, in p eps of the largest sums; None if refused."""
    if method.refuses(bound_loss) is not None:
        return None
    try:
        found = method.prepare(bound_loss).maximize(scores)
    except ValueError as error:
        # Edges that repel are refused when their scores are seen.
        assert "nonnegative scores of edges" in str(error)
        return None
    gaps = [ratio(block.gap(found.labels), block.unit) for block in blocks] if found.exact[0] else [0.0]
    best = sum(block.best - block.target for block in blocks)
    below = best - whole(found.bounds)[0] if found.bounds[0] < np.inf else 0
    return max(gaps), ratio(below, sum(block.unit for block in blocks))


def ratio(over, unit):
    return 0.0 if over <= 0 else float("inf") if unit == 0 else float(min(over / unit, 10**300))


@pytest.mark.parametrize("part", range(4))
def test_no_certificate_is_wrong(part):
    rng, taken = np.random.default_rng(part), dict.fromkeys((repr(m) for m in METHODS), 0)
    for number in range(rounds(5_000, 25)):
        batch, scores, bound_loss = case(rng)
        blocks = blocks_of(batch, scores, bound_loss)
        for method in METHODS:
            seen = worst(method, bound_loss, scores, blocks)
            if seen is not None:
                taken[repr(method)] += 1
                assert max(seen) <= 8.0, (number, method, bound_loss, scores, seen)
    assert sum(count > 0 for count in taken.values()) >= 15, taken


@pytest.mark.parametrize(
    "method", [QPBO(), TreeReweightedMessages(), BeliefPropagation()], ids=lambda method: method.name
)
@pytest.mark.parametrize(("tiny", "huge"), [(1e-13, 1.0), (1.0, 1e13), (1e-300, 1e300)])
def test_a_triangle_without_a_certificate_beside_a_huge_node(method, tiny, huge):
    # No messages and no cut tell which of three edges that repel one another is lost.
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    graphs = Graphs(np.zeros(4, bool), np.array([0, 4]), edges)
    found = method.prepare(BoundLoss(graphs)).maximize([0.0, 0.0, 0.0, huge, -tiny, -tiny, -tiny])
    assert not found.exact[0]
    assert found.labels[3]
    assert MaxFlow().prepare(BoundLoss(graphs)).maximize([0.0, 0.0, 0.0, huge, tiny, tiny, tiny]).exact[0]


@pytest.mark.parametrize(
    ("method", "loss", "truth", "edges", "scores"),
    [
        # Edges that repel a little, next to the largest score, are taken for 0.
        (
            PiecewiseLinearPrograms(),
            1e-13 * GMean(),
            [1, 1, 1, 0, 1],
            [[4, 1], [2, 3]],
            [-7448099086907.598, -0.054, -0.756, -0.417, 0.244, -1.985, -0.187],
        ),
        (DualDecomposition(exact=True), Jaccard(), [1, 1, 0], [[0, 1]], [-2.0, -1.0, 1e13, -3.0]),
        (
            DualDecomposition(exact=True, network=QPBO()),
            FBeta(),
            [1, 0, 0, 1, 1, 0, 0],
            [[0, 1], [0, 2], [1, 2], [4, 5], [4, 6], [5, 6]],
            [29.0, 11.0, -40.0, 1.1e13, 85.0, -85.0, -42.0, -47.0, 75.0, 17.0, -42.0, 85.0, -127.0],
        ),
    ],
)
def test_parts_that_are_only_bounded_rule_no_label_out(method, loss, truth, edges, scores):
    graphs = Graphs(np.array(truth, bool), np.array([0, len(truth)]), np.array(edges))
    bound_loss = loss.bind(graphs)
    seen = worst(method, bound_loss, np.array(scores), blocks_of(graphs, np.array(scores), bound_loss))
    assert max(seen) <= 8.0


@pytest.mark.draw(2)
@pytest.mark.parametrize("size", [1.0, 1e-15, 1e-17, 1e-200, 1e100])
@pytest.mark.parametrize(("loss", "labels"), [(Jaccard(), [1, 0, 1, 0]), (FBeta(), [0, 0, 1, 0])])
def test_forced_labels_are_not_stronger_than_they_must_be(loss, labels, size):
    bound_loss, scores = (size * loss).bind(Sets.single(labels)), size * np.array([0.3, 1.8, -0.2, -2.4])
    block = Block(bound_loss.batch, scores, bound_loss, np.arange(4), True)
    ranked = [(value - block.target, row) for row, value in block.values.items()]
    wanted = sorted((value for value, _ in ranked), reverse=True)
    most = [[max(value for value, row in ranked if row[i] == label) for label in (0, 1)] for i in range(4)]
    for method in METHODS:
        if method.refuses(bound_loss) is None:
            found = method.prepare(bound_loss).k_best(scores, 6)[0]
            off = [abs(a - b) for a, b in zip(whole([one.value for one in found]), wanted, strict=False)]
            assert not all(one.exact for one in found) or max(off) <= 8 * block.unit, method
            if method.approximate:
                continue
            marginals = np.array(whole(method.prepare(bound_loss).max_marginals(scores).ravel())) - np.ravel(most)
            assert max(abs(marginals)) <= 8 * block.unit, method


@pytest.mark.parametrize("method", [QPBO(), MaxFlow(), Auto(), INFERENCES["enumeration"]()], ids=lambda one: one.name)
def test_forced_labels_of_a_tiny_part_beside_a_huge_one(method):
    edges = np.array([[0, 1], [1, 2], [0, 2], [3, 4]])
    bound_loss = BoundLoss(Graphs(np.zeros(5, bool), np.array([0, 5]), edges))
    scores = np.array([1e-13, 2.5e-13, -4e-13, 2e3, -1e3, 1e-13, 5e-14, 2e-13, 3e3])
    blocks = blocks_of(bound_loss.batch, scores, bound_loss)
    for i in range(3):
        for label in (0, 1):
            forced = np.where(np.arange(5) == i, label, -1)
            found = method.prepare(bound_loss).best(scores, forced)
            at = found.labels.astype(int)
            assert at[i] == label
            best = max(value for row, value in blocks[0].values.items() if row[i] == label)
            assert best - blocks[0].values[tuple(at[blocks[0].nodes])] <= 8 * blocks[0].unit


def test_max_marginals_beside_a_part_that_is_only_bounded():
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    bound_loss = BoundLoss(Graphs(np.zeros(4, bool), np.array([0, 4]), edges))
    scores = np.array([0.0, 0.0, 0.0, 1 / 3, -1.0, -1.0, -1.0])
    found = QPBO().prepare(bound_loss).max_marginals(scores)
    np.testing.assert_allclose(found, INFERENCES["enumeration"]().prepare(bound_loss).max_marginals(scores), rtol=1e-14)
