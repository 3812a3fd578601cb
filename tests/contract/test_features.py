"""Every model: its pullback is the adjoint of its scores, for all sets, for some of them, and one by one."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from setwise.core.networks import ClassGraphs, Graphs
from setwise.models import (
    GraphModel,
    GridModel,
    JointLabels,
    LandmarkModel,
    ModelWithConstant,
    MultilabelModel,
    RowModel,
)
from setwise.spaces import SequenceModel

OFFSETS = np.array([0, 3, 4, 9, 12])


def models(rng, sparse, intercept):
    """(features, score offsets of its sets)."""
    X = rng.standard_normal((12, 5)) * (rng.random((12, 5)) < 0.7)
    X = csr_matrix(X) if sparse else X
    yield RowModel(X, OFFSETS, intercept), OFFSETS
    yield RowModel(X, OFFSETS, intercept, base=rng.standard_normal(12)), OFFSETS
    yield MultilabelModel(X, 3, np.arange(13), intercept=intercept), 3 * np.arange(13)
    yield MultilabelModel(X, 3, OFFSETS, intercept=intercept, base=rng.standard_normal(36)), 3 * OFFSETS
    yield MultilabelModel(X, 3, intercept=intercept), np.array([0, 36])
    yield MultilabelModel(X, 3, columns=True, intercept=intercept), 12 * np.arange(4)
    yield MultilabelModel(X, 3, columns=True, intercept=intercept, base=rng.standard_normal(36)), 12 * np.arange(4)
    kappa = rng.standard_normal((3, 2))
    yield JointLabels(X, kappa, OFFSETS, intercept, bias=0.5), 3 * OFFSETS
    yield JointLabels(X, kappa, np.arange(13), intercept, rng.standard_normal(36), bias=2.0), 3 * np.arange(13)
    yield JointLabels(X, kappa, None, intercept), np.array([0, 36])
    # The second set has one node and no edge.
    edges = np.array([[0, 1], [2, 1], [4, 5], [8, 4], [5, 6], [11, 9]])
    graphs = Graphs(rng.random(12) < 0.5, OFFSETS, edges)
    Z = rng.random((6, 2)) * (rng.random((6, 2)) < 0.7)
    Z = csr_matrix(Z) if sparse else Z
    yield GraphModel(X, Z, graphs, intercept), graphs.score_offsets
    yield GraphModel(X, Z, graphs, intercept, base=rng.standard_normal(18)), graphs.score_offsets
    alone = Graphs(graphs.labels, OFFSETS, edges[:0])
    yield GraphModel(X, np.zeros((0, 2)), alone, intercept), OFFSETS
    for tables, sign in ((False, 1.0), (True, -1.0)):
        several = ClassGraphs(rng.integers(-1, 3, 12), OFFSETS, edges, 3, tables)
        yield GraphModel(X, sign * Z, several, intercept), several.score_offsets
    maps = [rng.standard_normal((*shape, 5)) for shape in ((3, 2), (1, 1), (2, 4))]
    images = Graphs.images([rng.random(one.shape[:2]) < 0.5 for one in maps], 8)
    yield GridModel(maps, images, maps, None, intercept), images.score_offsets
    for k, fixed in ((1, None), (3, rng.standard_normal(12 * 3 + 4 * 9))):
        yield SequenceModel(X, OFFSETS, k, fixed), k * OFFSETS + k * k * np.arange(5)
    yield (
        ModelWithConstant(SequenceModel(X, OFFSETS, 2), 2 * OFFSETS + 4 * np.arange(5), intercept),
        2 * OFFSETS + 5 * np.arange(5),
    )
    yield (
        ModelWithConstant(GraphModel(X, Z, graphs), graphs.score_offsets, intercept),
        graphs.score_offsets + np.arange(5),
    )
    fixed = rng.standard_normal(16)
    yield ModelWithConstant(RowModel(X, OFFSETS, 0.0), OFFSETS, intercept, fixed), OFFSETS + np.arange(5)
    # Two points with four states, whose features they share or have of their own.
    yield LandmarkModel(rng.standard_normal((5, 4, 3)), 2), 8 * np.arange(6)
    yield LandmarkModel(rng.standard_normal((5, 2, 4, 3)), 2, base=rng.standard_normal(40)), 8 * np.arange(6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [0.0, 2.0])
def test_pullback_is_the_adjoint_of_scores(sparse, intercept):
    rng = np.random.default_rng(0)
    for features, offsets in models(rng, sparse, intercept):
        n = len(offsets) - 1
        w, zero = rng.standard_normal(features.size), np.zeros(features.size)
        for parts in (None, np.arange(n), np.array([n - 1]), rng.permutation(n)[:2]):
            chosen = np.arange(n) if parts is None else parts
            places = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in chosen])
            s, base = features.scores(w, parts), features.scores(zero, parts)
            np.testing.assert_allclose(s, features.scores(w)[places])
            g = rng.standard_normal(len(s))
            assert g @ (s - base) == pytest.approx(features.pullback(g, parts) @ w, rel=1e-10)
            each = features.pullbacks(g, parts)
            assert each.shape == (len(chosen), features.size)
            np.testing.assert_allclose(each.sum(axis=0), features.pullback(g, parts), atol=1e-12)
            ends = np.cumsum([0, *(offsets[i + 1] - offsets[i] for i in chosen)])
            for k, i in enumerate(chosen):
                alone = features.pullback(g[ends[k] : ends[k + 1]], np.array([i]))
                np.testing.assert_allclose(each[k], alone, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_no_score_moves_further_than_the_length_of_its_row_allows(sparse):
    rng = np.random.default_rng(1)
    for features, _ in models(rng, sparse, 3.0):
        for _ in range(20):
            w = rng.standard_normal(features.size)
            moved = np.abs(features.scores(w) - features.scores(np.zeros(features.size)))
            assert features.row_lengths.shape == moved.shape
            assert (moved <= features.row_lengths * np.sqrt(w @ w) * (1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"X": np.zeros((3, 2)), "offsets": np.array([0, 4])}, "offsets must rise strictly from 0 to 3; got"),
        ({"X": np.zeros((3, 2)), "offsets": np.array([0, 2, 2, 3])}, "offsets must rise strictly from 0"),
        ({"X": np.zeros(3), "offsets": np.array([0, 3])}, r"X must have shape \(rows, features\)"),
        ({"X": np.full((3, 2), np.nan), "offsets": np.array([0, 3])}, "X must be finite"),
        ({"X": [["a"]], "offsets": np.array([0, 1])}, "X must hold numbers"),
        ({"X": np.zeros((3, 2)), "offsets": np.array([0, 3]), "intercept": -1.0}, "intercept must be a finite number"),
        ({"X": np.zeros((3, 2)), "offsets": np.array([0, 3]), "lower": [0.0]}, r"lower must have shape \(3,\)"),
        ({"X": np.zeros((3, 2)), "offsets": np.array([0, 3]), "base": [0.0]}, r"base must have shape \(3,\)"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        RowModel(**arguments)
