"""Images are cut on lattices; the solutions are those of the same nodes and edges without knowledge of the images."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from setwise.core.bound_loss import BoundLoss
from setwise.core.networks import Graphs
from setwise.inference import DualDecomposition, MaxFlow, max_flow
from setwise.kernels.threads import thread_limit
from setwise.losses import Hamming, Jaccard

CASES = [
    ([(3, 4), (3, 4), (3, 4)], 4),
    ([(3, 4), (5, 2), (5, 2), (1, 6), (6, 1), (1, 1)], 4),
    ([(7,), (7,), (1,), (4,)], 2),
    # Eight neighbors and volumes have kernels of their own.
    pytest.param([(3, 4), (3, 4), (4, 3), (1, 5), (5, 1), (5, 2), (2, 2), (1, 1)], 8, marks=pytest.mark.slow),
    pytest.param([(2, 3, 4), (2, 3, 4), (1, 1, 5), (3, 1, 1), (1, 1, 1)], 6, marks=pytest.mark.slow),
]


def images(rng, shapes, neighbors, offsets=None):
    labels = [rng.random(shape) < 0.5 for shape in shapes]
    known = Graphs.images(labels, neighbors, offsets)
    return known, Graphs(known.labels, known.offsets, known.edges)


def random_scores(rng, graphs):
    scores = rng.standard_normal(graphs.n_scores)
    scores[graphs.edge_places] = rng.choice([0.1, 1.0, 3.0]) * rng.random(len(graphs.edges))
    return scores


@pytest.mark.parametrize(("shapes", "neighbors"), CASES)
def test_the_edges_join_all_neighbors_once(shapes, neighbors):
    graphs, _ = images(np.random.default_rng(0), shapes, neighbors)
    expected = set()
    for shape, first in zip(shapes, graphs.offsets, strict=False):
        at = list(np.ndindex(*shape))
        for i, a in enumerate(at):
            for j, b in enumerate(at[:i]):
                away = np.abs(np.subtract(a, b))
                if away.max() == 1 and (neighbors == 8 or away.sum() == 1):
                    expected.add((int(first) + j, int(first) + i))
    found = [tuple(edge) for edge in graphs.edges.tolist()]
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert (np.diff(graphs.owners[graphs.edges[:, 0]]) >= 0).all()
    np.testing.assert_array_equal(graphs.edge_offsets, Graphs(graphs.labels, graphs.offsets, graphs.edges).edge_offsets)


@pytest.mark.parametrize(("shapes", "neighbors"), CASES)
@pytest.mark.parametrize("size", [25, 20_000])
def test_cuts_of_images_are_those_of_their_edges(shapes, neighbors, size, monkeypatch):
    monkeypatch.setattr(max_flow, "BLOCK", size)
    rng = np.random.default_rng(1)
    for offsets in (None, np.array([0, 1, len(shapes)])):
        graphs, same = images(rng, shapes, neighbors, offsets)
        first, second = (MaxFlow().prepare(Hamming().bind(one)) for one in (graphs, same))
        for change in ("new", "all nodes", "one node", "nothing"):
            if change == "new":
                scores = random_scores(rng, graphs)
            elif change != "nothing":
                at = graphs.node_places if change == "all nodes" else graphs.node_places[:1]
                scores[at] = rng.standard_normal(len(at))
            with thread_limit(2):
                found, expected = first.maximize(scores), second.maximize(scores)
            np.testing.assert_array_equal(found.labels, expected.labels)
            np.testing.assert_array_equal(found.values, expected.values)
            assert found.exact.all()
            np.testing.assert_allclose(first.max_marginals(scores), second.max_marginals(scores), atol=1e-12)


def test_chosen_images_remain_images():
    rng = np.random.default_rng(2)
    graphs, same = images(rng, [(3, 4), (2, 2), (5, 3), (5, 3)], 8, np.array([0, 2, 3, 4]))
    scores = random_scores(rng, graphs)
    for parts in ([2, 0], [1, 2], [1]):
        parts = np.array(parts)
        chosen, expected = graphs.take(parts), same.take(parts)
        assert chosen.grids.offsets[-1] == chosen.total
        np.testing.assert_array_equal(chosen.grids.edges(), expected.edges)
        np.testing.assert_array_equal(chosen.edges, expected.edges)
        spans = [scores[slice(*graphs.score_offsets[i : i + 2])] for i in parts]
        found = MaxFlow().prepare(BoundLoss(graphs)).take(parts).maximize(np.concatenate(spans))
        np.testing.assert_array_equal(
            found.labels,
            MaxFlow()
            .prepare(BoundLoss(graphs))
            .maximize(scores)
            .labels[np.concatenate([np.arange(*graphs.offsets[i : i + 2]) for i in parts])],
        )
    assert same.grids is None
    assert same.take(np.array([0])).grids is None
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(graphs)).grids.shapes, graphs.grids.shapes)


def test_the_dual_of_an_image_is_that_of_its_edges():
    rng = np.random.default_rng(3)
    graphs, same = images(rng, [(6, 6), (6, 6)], 4)
    scores = 0.03 * random_scores(rng, graphs)
    found, expected = (DualDecomposition().prepare(Jaccard().bind(one)).maximize(scores) for one in (graphs, same))
    np.testing.assert_allclose(found.values, expected.values)


def test_one_array_of_images_and_unknown_labels():
    labels = np.array([[[1, 0], [-1, 0]], [[0, 0], [1, 1]]], np.int8)
    graphs = Graphs.images(labels)
    np.testing.assert_array_equal(graphs.labels, labels.ravel())
    np.testing.assert_array_equal(graphs.offsets, [0, 4, 8])
    assert graphs.edges[:4].tolist() == [[0, 1], [2, 3], [0, 2], [1, 3]]
    assert Graphs.images([labels[0], labels[1] > 0]).labels.dtype == np.int8


def test_what_is_no_image_is_refused():
    mask = np.zeros((2, 3), bool)
    for labels, neighbors, words in (
        (mask, 4, "neighbors must be 2 for arrays of 1 axes; got 4"),
        ([mask], 6, "neighbors must be 4 or 8 for arrays of 2 axes; got 6"),
        ([mask], True, "neighbors must be 4 or 8 for arrays of 2 axes; got True"),
        ([mask, mask[0]], 4, r"labels must be arrays of the same number of axes, none empty; got shape \(3,\)"),
        ([mask, mask[:0]], 4, r"none empty; got shape \(0, 3\)"),
        ([], 4, "labels must be a list of arrays, one for each image"),
        ([True], 4, "labels must be arrays of one, two or three axes"),
        ([mask.astype(float)], 4, "labels must be bool, or whole numbers"),
        ([mask.astype(np.int8) + 2], 4, "labels must be -1, 0 or 1"),
    ):
        with pytest.raises(ValueError, match=words):
            Graphs.images(labels, neighbors)
    with pytest.raises(ValueError, match=r"offsets must rise strictly from 0 to 2"):
        Graphs.images([mask, mask], 4, np.array([0, 2, 2]))


CODE = """
import resource, sys, numpy as np
from setwise.core.networks import Graphs
from setwise.core.bound_loss import BoundLoss
from setwise.inference import MaxFlow
rng = np.random.default_rng(0)
graphs = Graphs.images([rng.random((512, 512)) < 0.5], int(sys.argv[1]))
scores = rng.random(graphs.n_scores)
scores[:graphs.total] = rng.standard_normal(graphs.total)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert MaxFlow().prepare(BoundLoss(graphs)).maximize(scores).exact.all()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / graphs.total)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the peak memory differs")
def test_a_cut_of_an_image_needs_little_memory():
    found = subprocess.run(
        [sys.executable, "-c", CODE, "4"], capture_output=True, text=True, check=True, env=os.environ
    )
    # 1.5 GB would be 358 bytes for each of 2048 x 2048 pixels.
    assert float(found.stdout) * 1024 < 400
