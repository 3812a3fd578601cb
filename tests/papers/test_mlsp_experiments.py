import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from papers import find, mlsp_splits, mlsp_steps, mlsp_table1a
from papers.experiment import Settings
from papers.mlsp_data import GROUPS, generated_task, image_features, msrc_space
from papers.mlsp_hiclass import RIVALS, path_guess
from papers.mlsp_methods import (
    METHODS,
    NAMES,
    LabelRows,
    Limits,
    average_precision,
    choice,
    mean_and_error,
    measures,
    scaled,
    trained,
)
from setwise.spaces import (
    FiniteSpace,
    Hierarchy,
    label_f1,
    label_precision,
    label_recall,
    mean_average_precision,
)

pytestmark = pytest.mark.slow

QUICK = Settings(quick=True)
needs_data = pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")


def outcome(name):
    experiment, said = find(name), []
    found = experiment.run(QUICK, said.append)
    assert len(said) == experiment.steps(QUICK)
    assert all(word[-1] == "." for word in found.words)
    assert experiment.name in found.text(experiment)
    return found


def test_measures_are_those_of_the_spaces():
    rng = np.random.default_rng(0)
    space, truth, scores = FiniteSpace(list("abcde")), rng.random((80, 5)) < 0.3, rng.integers(-2, 3, (80, 5)) / 2.0
    truth[:4], scores[:8] = False, -1.0
    guess = scores > 0.0
    found = np.nanmean(measures(truth, guess, scores), axis=0)
    expected = [(truth != guess).any(axis=1).mean(), (truth != guess).sum() / 80]
    expected += [mean_average_precision(space, truth, scores)]
    expected += [score(space, truth, guess) for score in (label_f1, label_precision, label_recall)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    areas = average_precision(truth, scores)
    np.testing.assert_array_equal(np.isnan(areas), ~truth.any(axis=1))
    for i in np.flatnonzero(truth.any(axis=1)):
        assert areas[i] == pytest.approx(average_precision_score(truth[i], scores[i]))


def test_a_choice_takes_the_least_max_loss_and_breaks_ties_by_the_sum_loss():
    found = np.zeros((4, 6))
    found[:, 0], found[:, 1], found[:, 3] = [0.5, 0.4, 0.4, 0.4], [1.0, 3.0, 2.0, 2.0], [0.1, 0.7, 0.2, 0.7]
    assert choice(found, "max loss") == 2
    assert choice(found, "F1") == 1


def test_scaled_rows_have_a_mean_square_of_one_and_no_missing_values():
    rng = np.random.default_rng(1)
    X = rng.normal(3.0, 2.0, (200, 5))
    X[:, 2], X[::7, 4] = 1.5, np.nan
    train, other = scaled(LabelRows(X, X > 0), LabelRows(X[:3] + 1.0, X[:3] > 0))
    present = train.X[:, [0, 1, 3]]
    np.testing.assert_allclose(np.square(present).mean(axis=0), 0.25)
    np.testing.assert_allclose(train.X.mean(axis=0), 0.0, atol=1e-12)
    assert (train.X[:, 2] == 0).all()
    assert (train.X[::7, 4] == 0).all()
    assert np.isfinite(other.X).all()


def test_errors_leave_out_rows_without_a_value():
    rows = np.array([[1.0, np.nan], [3.0, 2.0], [2.0, 4.0]])
    means, errors = mean_and_error(rows)
    np.testing.assert_allclose(means, [2.0, 3.0])
    np.testing.assert_allclose(errors, [1.0 / np.sqrt(3.0), 1.0])


@pytest.mark.draw(2)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_learns_more_than_nothing(method):
    task = generated_task(0)
    train, test = scaled(task.all, task.test)
    fitted = trained(method, task.space, method.grid[3], train, test.X, Limits(1e-2, 100))
    assert fitted.scores.shape == test.Y.shape
    chance = measures(test.Y, np.zeros_like(test.Y), np.zeros(test.Y.shape))
    # JKSE ranks labels by how often they are true, and no better than that.
    assert np.nanmean(measures(test.Y, test.Y, fitted.scores)[:, 2]) > np.nanmean(chance[:, 2]) + 0.05
    certified = method.name not in ("ramp", "JKSE")
    assert np.isfinite(fitted.gap) == certified
    assert np.isfinite(fitted.bound) == (method.name != "JKSE")


def test_paths_of_hiclass_are_sets_of_nodes():
    pytest.importorskip("hiclass")
    tree = Hierarchy({"1/1": "1", "1/2": "1", "2/1": "2", "2/2": "2"})
    rng = np.random.default_rng(2)
    leaf, names = rng.integers(4, size=120), ("1/1", "1/2", "2/1", "2/2")
    X = np.eye(4)[leaf] + 0.1 * rng.standard_normal((120, 4))
    Y = tree.closed([[names[k]] for k in leaf])
    for name in RIVALS:
        guess = path_guess(name, tree, 1e4, LabelRows(X[:80], Y[:80]), X[80:])
        np.testing.assert_array_equal(guess, Y[80:])


def test_features_of_an_image_are_shares_means_and_energies():
    image = np.zeros((32, 48, 3))
    image[:, ::4] = 1.0
    found = image_features(image)
    assert found.shape == (736,)
    colors = np.square(found[:256].reshape(4, 64))
    np.testing.assert_allclose(colors.sum(axis=1), 1.0)
    np.testing.assert_allclose(colors[:, [0, 63]], [[0.75, 0.25]] * 4)
    # Columns of one color have gradients to the right alone, whose orientation is the first.
    energies = found[352:].reshape(3, 16, 8)
    assert (energies[0, :, 0] > 0.1).all()
    np.testing.assert_allclose(energies[:, :, 1:7], 0.0, atol=1e-9)


def test_the_tree_of_msrc_has_two_levels():
    space = msrc_space()
    assert len(space) == 21
    np.testing.assert_array_equal(space.kappa[:, :21], np.eye(21))
    np.testing.assert_array_equal(space.kappa[:, 21:].sum(axis=0), [len(group) for group in GROUPS.values()])
    np.testing.assert_array_equal(space.kappa[:, 21:].sum(axis=1), 1)


def test_table1a_holds_all_methods_beside_the_paper():
    found = outcome("mlsp_table1a")
    first, differences, chosen = found.tables[:3]
    assert first.rows == NAMES
    assert np.isfinite(first.means).all()
    np.testing.assert_array_equal(first.published[0, :6], mlsp_table1a.PAPER["MLSP"])
    np.testing.assert_allclose(differences.means, first.means[0, :6] - first.means[1:, :6], atol=1e-12)
    assert chosen.means[NAMES.index("JKSE"), 0] in mlsp_table1a.grid_of(METHODS[5].grid, QUICK)


def test_words_of_table1a_follow_the_numbers():
    rng = np.random.default_rng(0)
    rows = []
    for name in mlsp_table1a.PAPER:
        each = np.full((50, 6), 0.5)
        each[:, 0] = {"MLSP": 0.25, "SSVM": 0.75}.get(name, 0.5) + 0.01 * np.linspace(-1.0, 1.0, 50)[
            rng.permutation(50)
        ]
        rows.append(mlsp_table1a.MethodResult(name, each, 0.5, 4.0))
    first = mlsp_table1a.words_on("made up", rows, "F1")[0]
    assert "so, MLSP less P-SSVM, sum -0.250" in first
    assert "so, MLSP less SSVM -0.500" in first
    assert "so, independent less SSVM -0.250" in first
    assert "undecided, independent less P-SSVM, sum +0.000" in first
    table = mlsp_table1a.tables_of("enron_corr", rows, "F1")[0]
    assert table.published[-1, -1] == 0.756
    assert np.isnan(table.means[-1]).all()


def test_splits_are_paired_and_losers_are_said():
    found = outcome("mlsp_splits")
    table, hinge, ramp = found.tables
    assert table.rows == mlsp_splits.ROWS
    shown = table.means[:, mlsp_splits.SHOWN]
    np.testing.assert_allclose(hinge.means, shown[0] - shown[1:], atol=1e-12)
    np.testing.assert_allclose(ramp.means, shown[1] - np.delete(shown, 1, axis=0), atol=1e-12)


def test_words_of_splits_follow_the_numbers():
    samples = np.full((10, len(mlsp_splits.ROWS), 7), 0.5) + 1e-3 * np.arange(10)[:, None, None]
    samples[:, 0, 0] += 0.1 + 1e-3 * np.arange(10) ** 2
    words = mlsp_splits.words_on("made up", samples)
    assert "MLSP has more max loss against independent" in words[0]
    assert "ramp is undecided in max loss against independent" in words[1]


def test_steps_grow_slower_than_one_over_epsilon():
    found = outcome("mlsp_steps")
    for counts, exponents in zip(found.tables[::2], found.tables[1::2], strict=True):
        assert (np.diff(counts.means, axis=1) >= 0).all()
        assert (exponents.means < 1.0).all()
    assert all("slower than 1 / epsilon" in word for word in found.words)
    pytest.importorskip("matplotlib")
    for draw in found.figures.values():
        (axes,) = draw().axes
        assert axes.get_xscale() == axes.get_yscale() == "log"
        assert axes.get_legend().texts[-1].get_text() == "O(1/epsilon)"


def test_words_of_steps_follow_the_numbers():
    assert "slower" in mlsp_steps.words_on("x", ("a", "b"), np.array([0.2, 0.9]))
    assert "faster than 1 / epsilon for b 1.20" in mlsp_steps.words_on("x", ("a", "b"), np.array([0.2, 1.2]))
    assert "b did not reach" in mlsp_steps.words_on("x", ("a", "b"), np.array([0.2, np.nan]))


@pytest.mark.realdata
@needs_data
def test_parts_of_the_files_are_the_official_ones_and_sets_are_closed():
    settings = Settings(data=Path(os.environ["SETWISE_DATA"]))
    sizes = {"enron_corr": (658, 330, 988, 660), "cellcycle_fun": (1628, 848, 2476, 1281)}
    sizes["imclef07a"] = (2000, 1000, 10000, 1006)
    for name, expected in sizes.items():
        task = mlsp_table1a.task_of(name, settings)
        parts = (task.fit, task.choose, task.all, task.test)
        assert tuple(len(part.X) for part in parts) == expected
        for part in parts:
            np.testing.assert_array_equal(part.Y, task.space.closed(part.Y))
        assert task.paths == bool((task.test.Y.sum(axis=1) == 3).all())
