"""Multiple instances: bags that are taken and predicted, mi-SVM and MI-SVM, the choice of C, and the small version."""

import numpy as np
import pytest

from papers import find
from papers.experiment import Settings
from papers.multiple_instances import (
    KERNEL_C,
    LIKELIHOOD_C,
    METHODS,
    ROWS,
    ROWS_C,
    LabeledBags,
    by_likelihood,
    by_rows,
    chosen,
    generated,
    likelihood,
    mi_svm,
    single_instance,
    whole_svm,
    words_on,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def bags():
    return generated(np.random.default_rng(3))


def test_bags_that_are_taken_keep_their_rows_and_labels(bags):
    parts = np.array([7, 2, 31])
    some = bags.take(parts)
    np.testing.assert_array_equal(some.labels, bags.labels[parts])
    for b, part in enumerate(parts):
        np.testing.assert_array_equal(some.X[some.owners == b], bags.X[bags.owners == part])


def test_the_highest_score_of_each_bag(bags):
    scores = np.random.default_rng(0).standard_normal(300)
    np.testing.assert_array_equal(bags.highest(scores), scores.reshape(60, 5).max(axis=1))


def test_a_bag_with_a_positive_row_is_positive_by_likelihood_too(bags):
    # Pr(one or more) is at least the greatest probability of a row.
    assert (by_likelihood(bags, 1.0)(bags) >= by_rows(bags, 1.0)(bags)).all()
    model = likelihood(bags, 1.0)
    rows = model.predict_proba(bags.X)[:, 1].reshape(60, 5)
    some = model.predict_bags(bags.X, bags.owners).at_least_one
    np.testing.assert_allclose(some, 1.0 - np.prod(1.0 - rows, axis=1), rtol=1e-9)


def test_with_bags_of_one_row_all_svms_are_the_same():
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2 == 0
    single = LabeledBags(rng.standard_normal((80, 3)) + 1.5 * y[:, None], np.arange(80), y)
    plain = single_instance(single, 0.1)(single)
    assert 0.5 < (plain == y).mean() < 1.0
    for other in (mi_svm, whole_svm):
        np.testing.assert_array_equal(other(single, 0.1)(single), plain)


@pytest.mark.parametrize("fit", [mi_svm, whole_svm])
def test_svms_in_turn_find_the_rows_that_make_bags_positive(bags, fit):
    # A row of a positive bag is positive for the single-instance SVM, though most are like those of negative bags.
    assert (fit(bags, 0.1)(bags) == bags.labels).mean() > (single_instance(bags, 0.1)(bags) == bags.labels).mean() + 0.2


@pytest.mark.draw(2)
@pytest.mark.parametrize("kernel", [False, True])
def test_what_is_chosen_is_in_the_grid(bags, kernel):
    for name, (place, C) in chosen(bags, kernel, 0).items():
        assert place in ((0, 1) if kernel else (0,))
        assert C in (LIKELIHOOD_C if METHODS[name][1] else KERNEL_C if kernel else ROWS_C)


def test_words_follow_the_numbers():
    samples = np.full((len(ROWS), 8), 50.0) + np.arange(8) % 2
    samples[ROWS.index("mi-SVM, our code")] += 20.0 + np.arange(8) % 3
    words = words_on("Fox", samples)
    assert "count likelihood loses against mi-SVM, our code" in words[1]
    assert "count likelihood is undecided against single-instance SVM" in words[0]


def test_the_small_version_runs_and_keeps_its_repetitions(tmp_path):
    experiment, said = find("multiple_instances"), []
    settings = Settings(quick=True, out=tmp_path)
    first = experiment.run(settings, said.append)
    assert len(said) == experiment.steps(settings) == 6
    (table,) = first.tables
    assert table.means[ROWS.index("count likelihood"), 0] > 80.0
    again = experiment.run(settings, said.append)
    assert len(said) == 12
    np.testing.assert_array_equal(again.tables[0].means, table.means)
    assert experiment.steps(Settings()) == 300


def test_real_bags_must_be_given():
    with pytest.raises(ValueError, match="multiple_instances needs elephant_bags.npz and fox_bags.npz and musk1"):
        find("multiple_instances").run(Settings(), print)
