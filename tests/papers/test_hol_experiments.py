import numpy as np
import pytest

from papers import find
from papers.experiment import Settings
from papers.hol_figure2 import LEVELS, PUBLISHED, ROWS, words_on


@pytest.mark.slow
def test_figure2_has_the_pattern_of_the_paper():
    experiment, said = find("hol_figure2"), []
    found = experiment.run(Settings(quick=True), said.append)
    assert len(said) == experiment.steps(Settings(quick=True))
    (table,) = found.tables
    means = dict(zip(table.rows, table.means, strict=True))
    for level in ("low", "med"):
        pixel, order = means[f"{level}: pixel loss"], means[f"{level}: order loss"]
        assert order[1] < 0.6 * pixel[1]
        assert pixel[0] < order[0]
        # What learns nothing is precise or reliable, never both.
        assert means[f"{level}: broad feature alone"][0] > 60.0
        assert means[f"{level}: precise feature alone"][1] > 2 * order[1]
    assert np.isnan(table.published).sum() == 45 - len(PUBLISHED) * 2
    np.testing.assert_array_equal(table.published[[0, 11], :2], [[7.1, 3.2], [67.5, 15.8]])
    printed = [pixel for (_, row), (pixel, _) in PUBLISHED.items() if row == "pixel loss"]
    np.testing.assert_allclose(100 * np.array(list(LEVELS.values())), printed)
    assert list(found.figures) == list(LEVELS)
    pytest.importorskip("matplotlib")
    assert all(draw().axes for draw in found.figures.values())


def test_words_follow_the_numbers():
    rng = np.random.default_rng(0)
    means = np.array([[7, 16, 40], [10, 2, 60], [10, 3, 99], [7, 20, np.nan], [70, 1, np.nan]], dtype=float)
    samples = means[:, :, None] + 0.1 * rng.standard_normal((*means.shape, 5))
    words = words_on("low", samples)
    assert "order error: training for order loss wins against pixel loss (2.0 and 16" in words[0]
    assert "pixel error: training for pixel loss wins against order loss" in words[1]
    assert "order loss does not win in order error against the broad feature alone" in words[2]
    assert any("the bound of training for pair loss says (nearly) nothing" in sentence for sentence in words)
    samples[[0, 1]] = samples[[1, 0]]
    words = words_on("low", samples)
    assert "order loss loses against pixel loss" in words[0]
    assert "pixel loss loses against order loss" in words[1]
    level = np.stack([samples[0], samples[0] + 0.1 * rng.standard_normal(samples[0].shape), *samples[2:]])
    assert "is undecided against" in words_on("low", level)[0]
    assert len(ROWS) == 5
