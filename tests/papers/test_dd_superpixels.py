from dataclasses import replace

import numpy as np
import pytest

from papers import find
from papers.dd_superpixels import (
    COLUMNS,
    DRAWN,
    ROWS,
    logistic,
    measured,
    picture,
    trained,
    words_on,
)
from papers.experiment import Settings
from papers.patch_words import PatchWords, patches
from papers.superpixels import SuperpixelImages, generated_part
from setwise.graphs import Graph, from_image
from setwise.losses import Jaccard

pytestmark = pytest.mark.slow


def part(seed=0, n=4):
    return generated_part(n, np.random.default_rng(seed))


def test_superpixels_count_by_their_areas():
    one = part()
    assert one.areas.sum() == 4 * 16 * 16
    assert len(np.unique(one.areas)) > 3
    # Every second image has no object.
    assert [bool(c.any()) for c in one.inside] == [True, False, True, False]
    for graph, inside, labels in zip(one.graphs, one.inside, one.labels, strict=True):
        assert (inside <= graph.areas).all()
        np.testing.assert_array_equal(labels, 2 * inside > graph.areas)
        assert graph.X.shape[1] == 9 + 16
    assert all(len(graph.edges) == 0 for graph in one.bare)


def test_overlap_is_that_of_pixels():
    one = part(1)
    rng = np.random.default_rng(2)
    for _ in range(5):
        chosen = rng.random(len(one.areas)) < 0.3
        masks, painted, first = [], [], 0
        for graph, inside in zip(one.graphs, one.inside, strict=True):
            own = chosen[first : first + len(graph)]
            first += len(graph)
            for area, count, taken in zip(graph.areas, inside, own, strict=True):
                masks += [True] * int(count) + [False] * int(area - count)
                painted += [bool(taken)] * int(area)
        assert one.overlap(chosen) == pytest.approx(1.0 - Jaccard()(np.array(masks), np.array(painted)))
    assert one.overlap(np.ones(len(one.areas), dtype=bool)) == pytest.approx(one.positive.sum() / one.areas.sum())
    nothing = SuperpixelImages(one.graphs, tuple(np.zeros(len(g)) for g in one.graphs))
    assert nothing.overlap(np.zeros(len(one.areas), dtype=bool)) == 1.0


def test_the_best_bias_is_the_best_of_all():
    one = part(3)
    rng = np.random.default_rng(4)
    for turned in (rng.standard_normal(len(one.areas)), rng.integers(0, 3, len(one.areas)).astype(float)):
        best = max(one.overlap(turned < bias) for bias in [*(np.unique(turned)), turned.max() + 1.0])
        assert one.overlap(turned < one.best_bias(turned)) == pytest.approx(best)


def test_nodes_turn_where_the_best_labels_change():
    one = part(5, 2)
    w = np.random.default_rng(6).standard_normal(one.graphs[0].X.shape[1] + 3)
    w[-2:] = 0.3
    np.testing.assert_allclose(one.turned(np.append(w[:-2], [0.0, 0.0]), True), one.turned(w, False))
    # Edges draw nodes together, so fewer of them turn by themselves.
    assert len(np.unique(one.turned(w, True))) < len(np.unique(one.turned(w, False)))


def test_all_training_images_are_one_set_with_balanced_costs():
    one = part(7)
    for name in ("Hamming", "unary only"):
        found = trained(name, one, 1e3)
        assert 0.0 < found.share <= 1.0 + 1e-9
        assert found.edges == (name == "Hamming")
        assert found.w[-2:].min() >= 0.0
        if not found.edges:
            np.testing.assert_array_equal(found.w[-2:], 0.0)
    found = measured(one, one, logistic(one))
    assert found[1] >= found[0] - 1e-9
    assert np.isnan(found[3])


def test_a_map_gives_superpixels_without_scikit_image():
    graph = from_image(np.zeros((4, 4)), np.repeat([[0, 1, 1, 2]], 4, axis=0))
    assert isinstance(graph, Graph)
    np.testing.assert_array_equal(graph.areas, [4, 8, 4])


def test_words_are_shares_of_patches_by_region():
    one = part(8)
    words = PatchWords.learn(one.images, 6, 0)
    described = one.with_words(words)
    for graph, wider, image in zip(one.graphs, described.graphs, one.images, strict=True):
        np.testing.assert_array_equal(wider.X[:, :-6], graph.X)
        whole = patches(image)
        assert whole.shape == (8, 8, 5, 5, 1)
        np.testing.assert_allclose(whole[3, 2], image[4:9, 2:7].astype(np.float32))
        np.testing.assert_allclose(whole[0, 0, :3, :3], np.float32(image[0, 0, 0]))
        counts = np.zeros((len(graph), 6))
        for row, column in np.ndindex(8, 8):
            word = words.model.predict(whole[row, column].reshape(1, -1))[0]
            counts[graph.regions[2 * row, 2 * column], word] += 1
        np.testing.assert_allclose(wider.X[:, -6:], counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def test_words_follow_the_numbers():
    rng = np.random.default_rng(0)
    samples = np.full((len(ROWS), len(COLUMNS), 3), 40.0) + 0.1 * rng.standard_normal((len(ROWS), len(COLUMNS), 3))
    samples[0, 0] -= 9
    samples[3, 0] += 9
    samples[2, 3] = 99.5
    words = words_on("cow", samples)
    assert "ours wins against Hamming" in words[0]
    assert "ours loses against ours, ramp" in words[2]
    assert "says (nearly) nothing" in words[-1]


def test_pictures_show_images_with_the_class_and_the_labels_of_each_row():
    pytest.importorskip("matplotlib")
    one = part(9, 6).take(np.array([1, 2, 3, 4]))
    models = {name: logistic(one) for name in DRAWN}
    models["ours"] = replace(models["ours"], w=0.0 * models["ours"].w + 1e3)
    axes = np.reshape(picture(one, models)("generated").axes, (2, 2 + len(DRAWN)))
    assert [cell.get_title() for cell in axes[0]] == ["image", "truth", *DRAWN]
    labels = np.split(one.turned(models["Hamming"].w, False) < 0.0, np.cumsum([len(g) for g in one.graphs])[:-1])
    # The images 0 and 2 of these have no object.
    for row, i in zip(axes, (1, 3), strict=True):
        drawn = [cell.images[0].get_array() for cell in row]
        np.testing.assert_allclose(drawn[0][..., 0], np.clip(one.images[i][..., 0], 0.0, 1.0))
        # White stays white, whether it is faded or not.
        seen = drawn[0][..., 0] < 1.0
        shown = [(cell == drawn[0]).all(axis=-1)[seen] for cell in drawn]
        np.testing.assert_array_equal(shown[1], one.masks[i][seen] == 1)
        np.testing.assert_array_equal(shown[2], one.graphs[i].paint(labels[i])[seen])
        assert shown[3].all()


def test_every_row_is_measured_on_generated_images():
    experiment, said = find("dd_superpixels"), []
    found = experiment.run(Settings(quick=True), said.append)
    assert len(said) == experiment.steps(Settings(quick=True))
    assert ["with words" in table.title for table in found.tables] == [False, True]
    for table in found.tables:
        assert np.isfinite(table.means[:, 0]).all()
        assert (table.means[:5, 1] > table.means[5, 1]).all()
        assert (table.means[:7, 0] < table.means[7, 0]).all()
        np.testing.assert_array_equal(table.means[6, :3], 0.0)
    assert experiment.name in found.text(experiment)
    assert list(found.figures) == ["generated", "generated-words"]
    pytest.importorskip("matplotlib")
    for draw in found.figures.values():
        assert len(draw().axes) % (2 + len(DRAWN)) == 0


def test_real_images_must_be_given():
    with pytest.raises(ValueError, match="dd_superpixels needs the folder msrc_v2 of images and labels"):
        find("dd_superpixels").run(Settings(), print)
