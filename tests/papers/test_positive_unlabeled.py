"""Positive and unlabeled rows: splits with a given prior, ways that know it, and the small version."""

from importlib.util import find_spec

import numpy as np
import pytest

from papers import find
from papers.experiment import Settings
from papers.positive_unlabeled import (
    LABELED,
    ROWS,
    PositiveUnlabeledTask,
    count_likelihood,
    logistic,
    matched,
    measures,
    tables_of,
    thinned,
    words_on,
)


@pytest.fixture
def task():
    X, y = tables_of(Settings(quick=True))["breast cancer"]
    return PositiveUnlabeledTask.of(X, y, 0.3, 5)


@pytest.mark.parametrize("prior", [0.1, 0.5, 0.9])
def test_thinned_rows_are_the_largest_part_with_the_prior(prior):
    y = np.arange(200) < 60
    rows = np.arange(0, 200, 2)
    part = thinned(rows, y, prior, np.random.default_rng(0))
    assert np.isin(part, rows).all()
    assert len(np.unique(part)) == len(part)
    assert abs(y[part].mean() - prior) < 0.01
    # One of the two classes is used up.
    assert y[part].sum() == 30 or (~y[part]).sum() == 70


def test_a_task_labels_positives_only_and_thins_the_rest(task):
    assert task.labeled.sum() == LABELED
    assert task.truth[task.labeled].all()
    assert abs(task.truth[~task.labeled].mean() - 0.3) < 0.01
    assert abs(task.y_test.mean() - 0.3) < 0.01
    np.testing.assert_allclose(task.X.mean(axis=0), 0.0, atol=1e-9)


def test_the_matched_threshold_takes_the_share_of_the_prior(task):
    same = PositiveUnlabeledTask(task.X, task.labeled, task.truth, task.X[~task.labeled], task.truth[~task.labeled], 0)
    assert abs(matched(same, 0.3).mean() - 0.3) < 0.01


def test_the_count_likelihood_follows_the_prior_that_it_is_told(task):
    shares = [count_likelihood(task, prior).mean() for prior in (0.15, 0.3, 0.6)]
    assert shares[0] < shares[1] < shares[2]
    assert (count_likelihood(task, 0.3) == task.y_test).mean() > 0.85


def test_rows_of_rivals_are_empty_without_them(task):
    found = measures(task, 0.3)
    need = [any(name in row for name in ("nnPU", "Elkan", "bagging")) for row in ROWS]
    np.testing.assert_array_equal(np.isnan(found[:, 0]), np.array(need) & (find_spec("pulearn") is None))
    full = logistic(task.X, task.truth).predict(task.X_test)
    assert found[-1, 1] == 100.0 * (full != task.y_test).mean()


def test_words_count_wins_in_the_direction_of_the_measure():
    one = np.full((len(ROWS), 2, 4), 50.0) + np.arange(4)
    one[ROWS.index("count likelihood, right")] += 10.0 + np.arange(4) % 2
    word = next(word for word in words_on([one]) if "unlabeled as negative" in word)
    assert "F1 wins 1, loses 0" in word
    assert "error wins 0, loses 1" in word
    # A rival with a wrong prior meets a count likelihood with the same one.
    word = next(word for word in words_on([one]) if "matched threshold, a fifth more" in word)
    assert word.startswith("count likelihood, a fifth more, against")
    assert "F1 wins 0, loses 0, undecided 1" in word


@pytest.mark.slow
def test_the_small_version_runs():
    experiment, said = find("positive_unlabeled"), []
    settings = Settings(quick=True)
    found = experiment.run(settings, said.append)
    assert len(said) == experiment.steps(settings) == 3
    f1, error = found.tables
    ours, none = ROWS.index("count likelihood, right"), ROWS.index("unlabeled as negative")
    assert f1.means[ours, 0] > f1.means[none, 0]
    assert error.means[ours, 0] < error.means[none, 0]
    assert ("pulearn is not installed" in found.words[-1]) == (find_spec("pulearn") is None)
    assert experiment.steps(Settings()) == 90


def test_the_real_table_must_be_given():
    with pytest.raises(ValueError, match=r"positive_unlabeled needs mammography.csv of mammography"):
        find("positive_unlabeled").run(Settings(), print)
