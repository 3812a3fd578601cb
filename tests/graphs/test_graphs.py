"""Graphs of pixels and superpixels, against plain loops over pixels."""

import re

import numpy as np
import pytest

from setwise.core.networks import Graphs
from setwise.graphs import NODE_FEATURES, Graph, from_image

RNG = np.random.default_rng(0)
IMAGE = RNG.random((5, 7, 3))


def pairs_by_loops(regions, neighbors):
    steps = [(0, 1), (1, 0)] + ([(1, 1), (1, -1)] if neighbors == 8 else [])
    H, W = regions.shape
    found = set()
    for r in range(H):
        for c in range(W):
            for down, right in steps:
                if r + down < H and 0 <= c + right < W:
                    a, b = regions[r, c], regions[r + down, c + right]
                    if a != b:
                        found.add((min(a, b), max(a, b)))
    return found


@pytest.mark.parametrize("neighbors", [4, 8])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (5, 7)])
def test_pixels_are_joined_to_their_neighbors(neighbors, shape):
    graph = from_image(IMAGE[: shape[0], : shape[1]], neighbors=neighbors)
    assert len(graph) == shape[0] * shape[1]
    assert graph.areas is None
    np.testing.assert_array_equal(graph.regions, np.arange(len(graph)).reshape(shape))
    assert {tuple(edge) for edge in graph.edges.tolist()} == pairs_by_loops(graph.regions, neighbors)
    assert graph.Z.shape == (len(graph.edges), 2)


@pytest.mark.parametrize("neighbors", [4, 8])
def test_a_map_of_numbers_gives_superpixels(neighbors):
    segments = RNG.integers(0, 4, (5, 7)) * 10 + 3
    graph = from_image(IMAGE, segments[:, :, None], neighbors=neighbors)
    numbers, regions = np.unique(segments, return_inverse=True)
    np.testing.assert_array_equal(graph.regions, regions.reshape(5, 7))
    assert {tuple(edge) for edge in graph.edges.tolist()} == pairs_by_loops(graph.regions, neighbors)
    np.testing.assert_array_equal(graph.areas, [(segments == number).sum() for number in numbers])
    pixels = from_image(IMAGE)
    for i, number in enumerate(numbers):
        np.testing.assert_allclose(graph.X[i], pixels.X[(segments == number).ravel()].mean(axis=0))


@pytest.mark.parametrize("method", ["felzenszwalb", "slic"])
def test_superpixels_of_scikit_image(method):
    pytest.importorskip("skimage")
    image = np.zeros((30, 40, 3))
    image[:, 20:] = 0.9
    graph = from_image(image, method, size=50)
    # No superpixel holds pixels of both halves.
    assert 2 <= len(graph) < 40
    assert set(np.unique(graph.regions[:, :20])).isdisjoint(np.unique(graph.regions[:, 20:]))
    assert graph.areas.sum() == 1200
    mask = image[:, :, 0] > 0.5
    np.testing.assert_array_equal(graph.paint(graph.labels_of(mask)) == 1, mask)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_with_channels_first_are_refused(channels):
    image = RNG.random((channels, 5, 7))
    for segments in (None, "slic", np.zeros((5, 7), dtype=int)):
        with pytest.raises(ValueError, match="with the channels first. Use np.moveaxis") as refused:
            from_image(image, segments)
        assert str(image.shape) in str(refused.value)
    assert len(from_image(np.moveaxis(image, 0, -1))) == 35


@pytest.mark.parametrize("shape", [(3, 5, 4), (3, 4, 7), (2, 5, 7), (5, 5, 7), (1, 7, 3)])
def test_images_of_few_rows_are_taken(shape):
    assert len(from_image(RNG.random(shape))) == shape[0] * shape[1]


def test_three_rows_of_many_channels_need_a_map():
    rows = np.arange(15).reshape(3, 5)
    assert len(from_image(RNG.random((3, 5, 7)), rows)) == 15


def test_whole_numbers_are_shares_of_white():
    image = RNG.integers(0, 256, (4, 5, 3)).astype(np.uint8)
    wide = image.astype(np.uint16) * 257
    grey = image[:, :, 0]
    for a, b in ((image, image / 255.0), (wide, image / 255.0), (grey, grey[:, :, None]), (image, image / 255.0)):
        np.testing.assert_allclose(from_image(a).X, from_image(b).X, atol=1e-12)


@pytest.mark.parametrize("neighbors", [4, 8])
def test_pixels_are_known_to_be_a_grid(neighbors):
    graph = from_image(IMAGE, neighbors=neighbors)
    assert graph.grid == neighbors
    np.testing.assert_array_equal(graph.edges, Graphs.images(np.zeros((1, 5, 7), dtype=bool), neighbors).edges)
    assert Graph(graph.X, graph.edges[::-1], regions=graph.regions).grid is None
    assert Graph(graph.X, graph.edges).grid is None
    assert from_image(IMAGE, RNG.integers(0, 4, (5, 7))).grid is None


def test_groups_of_features_are_chosen_and_of_full_length():
    sizes = {"color": 9, "texture": 9, "position": 7, "filters": 18}
    parts = [from_image(IMAGE, node_features=[name]).X for name in NODE_FEATURES]
    assert {name: part.shape[1] for name, part in zip(NODE_FEATURES, parts, strict=True)} == sizes
    np.testing.assert_array_equal(from_image(IMAGE).X, np.hstack(parts))


@pytest.mark.parametrize("given", ["colour", "color", None])
def test_a_list_of_features_is_asked_for_by_their_names(given):
    words = f"node_features must be a list of names of 'color', 'texture', 'position', 'filters'; got {given!r}."
    with pytest.raises(TypeError, match=re.escape(words)):
        from_image(IMAGE, node_features=given)


def test_features_of_a_constant_image_are_constant_but_for_the_position():
    X = from_image(np.full((6, 6, 3), 0.4), node_features=["color", "texture", "filters"]).X
    # The root makes rounding visible.
    np.testing.assert_allclose(X, np.tile(X[0], (36, 1)), atol=1e-7)


def test_texture_and_position_by_their_formulas():
    X = from_image(IMAGE[:, :, :1], node_features=["texture", "position"]).X.reshape(5, 7, -1)
    window = IMAGE[0:5, 1:6, 0]
    np.testing.assert_allclose(X[2, 3, :3], [window.mean(), window.mean() ** 2, window.std()])
    x, y = 3.5 / 7 - 0.5, 2.5 / 5 - 0.5
    np.testing.assert_allclose(X[2, 3, 3:], [x, y, x**2, y**2, x * y, x**4, y**4], atol=1e-15)
    x, y = 6.5 / 7 - 0.5, 0.5 / 5 - 0.5
    np.testing.assert_allclose(X[0, 6, 3:], [x, y, x**2, y**2, x * y, x**4, y**4])


def test_edges_are_weak_across_contrasts():
    image = np.zeros((4, 6))
    image[:, 3:] = 1.0
    graph = from_image(image)
    across = (graph.edges % 6 == 2).any(axis=1) & (graph.edges % 6 == 3).any(axis=1)
    squares = across.astype(float)
    np.testing.assert_allclose(graph.Z, np.column_stack([np.ones(38), np.exp(-squares / (2 * squares.mean()))]))
    far = from_image(image, edge_features="distances")
    np.testing.assert_array_equal(far.Z[:, 0], squares)
    np.testing.assert_array_equal(from_image(np.zeros((2, 2))).Z, np.ones((4, 2)))


def test_labels_of_a_mask_are_those_of_most_known_pixels():
    regions = np.array([[0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 3]])
    graph = Graph(np.zeros((5, 1)), [], regions=regions)
    mask = np.array([[1, 1, 0, 2, 0, -1], [-1, 1, 0, 2, 0, 7]])
    # Of two labels that are equally frequent the least is taken; node 4 has no pixel.
    np.testing.assert_array_equal(graph.labels_of(mask), [1, 0, -1, 7, -1])
    np.testing.assert_array_equal(graph.labels_of(mask[:, :, None]), [1, 0, -1, 7, -1])
    np.testing.assert_array_equal(graph.labels_of(mask == 0), [0, 0, 0, 0, -1])
    np.testing.assert_array_equal(graph.labels_of(np.full((2, 6), -1)), [-1] * 5)
    np.testing.assert_array_equal(graph.labels_of(np.full((2, 6), 3, np.uint8))[:4], [3] * 4)


def test_paint_and_labels_of_are_inverse():
    graph = from_image(IMAGE, RNG.integers(0, 6, (5, 7)))
    labels = RNG.integers(0, 3, len(graph))
    np.testing.assert_array_equal(graph.labels_of(graph.paint(labels)), labels)
    np.testing.assert_array_equal(
        graph.paint(["a", "b", "c", "d", "e", "f"][: len(graph)])[0, 0], "abcdef"[graph.regions[0, 0]]
    )


def test_a_graph_without_edges_or_image():
    graph = Graph([[1.0]], np.zeros((0, 2), dtype=np.int64))
    assert (len(graph), graph.Z.shape, repr(graph)) == (1, (0, 1), "Graph(1 nodes with 1 features, 0 edges with 1)")
    for call in (lambda: graph.paint([1]), lambda: graph.labels_of([[1]])):
        with pytest.raises(ValueError, match="regions must be given"):
            call()


def test_superpixels_without_scikit_image_say_what_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skimage.segmentation", None)
    with pytest.raises(ImportError, match=r"pip install 'setwise\[image\]'"):
        from_image(IMAGE, "slic")
