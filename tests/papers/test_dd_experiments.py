from itertools import product

import numpy as np
import pytest

from papers import find
from papers.dd_figure1 import COLUMNS, ROWS, words_on
from papers.dd_figure3 import STEPS, Instance
from papers.dd_images import ImageSet, generated
from papers.experiment import Settings

pytestmark = pytest.mark.slow

QUICK = Settings(quick=True)


def outcome(name):
    experiment, said = find(name), []
    found = experiment.run(QUICK, said.append)
    assert len(said) == experiment.steps(QUICK)
    assert all(word[-1] == "." for word in found.words)
    assert experiment.name in found.text(experiment)
    return found


def test_primal_best_and_dual_of_the_printed_descent():
    rng = np.random.default_rng(0)
    part = ImageSet(generated(1, 3, rng))
    rows = np.array(list(product([False, True], repeat=9)))
    for _ in range(3):
        w = 0.02 * rng.standard_normal(part.features.size)
        w[-2:] = np.abs(w[-2:])
        one = Instance(part, w)
        best = max(one.value(row) for row in rows)
        for multiple in (1.0, 0.01):
            trace = one.printed(multiple)
            assert (trace.primal <= best + 1e-9).all()
            assert (trace.dual >= best - 1e-9).all()
            assert len(trace.dual) == STEPS or trace.gap == pytest.approx(0.0, abs=1e-9)
        gap, seconds = one.ours()
        # The dual need not be tight.
        assert gap >= -1e-9
        assert seconds > 0


def test_figure3_shows_what_the_step_does():
    found = outcome("dd_figure3")
    (table,) = found.tables
    gaps = table.means[:, 1]
    # The printed step is far too long for one loss of all nodes; ours ends with the least gap.
    assert gaps[0] > 0.1 > gaps[1] >= gaps[3] - 1e-9
    assert gaps[2] <= gaps[1] + 1e-9
    np.testing.assert_array_equal(table.published[0, [0, 2, 3]], [104.4, 0.63, 95.0])
    assert set(found.figures) == {"3", "4"}
    pytest.importorskip("matplotlib")
    assert all(draw().axes for draw in found.figures.values())


def test_figure1_measures_every_row_on_generated_images():
    found = outcome("dd_figure1")
    (table,) = found.tables
    pytest.importorskip("matplotlib")
    assert len(found.figures["images"]().axes) == 20
    assert np.isfinite(table.means[:, :3]).all()
    assert (table.means[:5, 0] > table.means[5, 0]).all()
    np.testing.assert_array_equal(table.means[6, :3], 0.0)


def test_words_follow_the_numbers():
    rng = np.random.default_rng(0)
    samples = np.full((len(ROWS), len(COLUMNS), 5), 40.0) + 0.1 * rng.standard_normal((len(ROWS), len(COLUMNS), 5))
    samples[0], samples[4], samples[2], samples[3, 3] = samples[0] - 9, samples[4] + 9, np.nan, 99.5
    words = words_on("Images", samples)
    assert "Images: ours wins against Hamming" in words[0]
    assert "Images: ours is undecided against unary only" in words[1]
    assert "Images: ours loses against ours, ramp" in words[2]
    assert "says (nearly) nothing" in words[3]


def test_images_of_a_part_are_one_set_with_features_that_fit_them():
    images = generated(3, 8, np.random.default_rng(1))
    part = ImageSet(images)
    assert len(part.graphs) == 1
    assert part.graphs.total == 3 * 64
    np.testing.assert_array_equal(part.graphs.truth, images.masks.ravel())
    np.testing.assert_allclose(part.X.mean(axis=0), 0.0, atol=1e-9)
    assert (part.Z >= 0).all()
    # No edge joins two images.
    assert np.ptp(part.graphs.edges // 64, axis=1).max() == 0
    other = ImageSet(images.take(np.array([1])), part)
    np.testing.assert_allclose(other.raw, part.raw[64:128])
    np.testing.assert_allclose(other.X, part.X[64:128])
