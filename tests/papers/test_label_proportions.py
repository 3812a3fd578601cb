"""Learning from label proportions: the experiment's parts, its small version, and what it says."""

import numpy as np
import pytest

from papers import find
from papers.experiment import Settings
from papers.label_proportions import COLUMNS, METHODS, BagWays, generated, judged, table_of, words_on


def test_both_decisions_are_judged():
    y = np.array([True, False, True, False])
    sure = np.array([9.0, -9.0, 9.0, -9.0])
    assert judged([sure, sure], y) == [100.0, 100.0]
    # Nothing is probable, so that at 0.5 none is positive; for F1 the better half or more is.
    unsure = np.array([-0.5, -3.0, -0.6, -3.0])
    for_f1, at_half = judged([unsure, unsure], y)
    assert at_half == 0
    assert for_f1 == 100


def test_ways_are_in_the_order_of_their_kinds_and_means_are_over_them():
    bags = {name: np.zeros(4, int) for name in ("simple-b", "naive-a", "hard-b", "hard-a")}
    ways = BagWays(None, np.ones(4, bool), bags, {"hard-a": (50.0, 3.0), "hard-b": (40.0, 4.0)})
    assert ways.names == ["hard-a", "hard-b", "simple-b", "naive-a"]
    values = np.arange(4 * len(COLUMNS) * 2.0).reshape(4, len(COLUMNS), 2)
    table = table_of(ways, values, "title")
    assert table.rows[4:] == ("mean of hard", "mean of simple", "mean of naive")
    np.testing.assert_allclose(table.means[4, :-1], values[:2].mean(axis=(0, 2)))
    np.testing.assert_allclose([table.means[4, -1], table.errors[4, -1]], [45.0, 2.5])
    # Full labels are no rival.
    assert not table.marks[:, COLUMNS.index("full labels")].any()
    said = words_on(ways, np.array([[51.0, 51.0], [39.0, 39.0], [0, 0], [0, 0]]), "at 0.5")
    assert said == ["hard, at 0.5: auto is +0.0 ± 0.0 from the best published mean; it is below in hard-b."]


@pytest.mark.slow
def test_the_small_version_runs():
    experiment, said, quick = find("label_proportions"), [], Settings(quick=True)
    found = experiment.run(quick, said.append)
    assert len(said) == experiment.steps(quick)
    for table in found.tables:
        assert np.isfinite(table.means[0, :-1]).all()
    # Random bags teach less than bags with shares of their own, and auto says so of them alone.
    for_f1 = found.tables[0].means
    assert for_f1[0, 0] > for_f1[1, 0]
    assert "naive-generated" in found.words[-2]
    assert "simple-generated" not in found.words[-2]
    assert experiment.name in found.text(experiment)
    assert experiment.steps(Settings()) == 5 * 20 * len(METHODS)


def test_the_generated_rows_depend_on_the_seed_alone():
    a, b = generated(3), generated(3)
    np.testing.assert_array_equal(a.X, b.X)
    assert not np.array_equal(a.X, generated(4).X)


def test_real_bags_must_be_given():
    with pytest.raises(ValueError, match="label_proportions needs adult_proportions.npz"):
        find("label_proportions").run(Settings(), print)
