import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit

from papers import find, measure_labels, measure_tables
from papers.experiment import Settings
from papers.measure_protocol import BASES, LABEL_BASES, LABEL_MEASURES, MEASURES, TABLES
from papers.measure_reference import DataTable, ThresholdClassifier, holm, inner_folds, p_below, read_table, references
from setwise import MeasureClassifier
from setwise.compare.answer import PairedDifference
from setwise.losses import as_loss

needs_data = pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")


def table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[::17, 1] = np.nan
    return DataTable.of("made up", X, X[:, 0] + 0.7 * rng.normal(size=n) > 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["measure_tables", "measure_labels"])
def test_the_quick_version_runs_and_says_what_the_protocol_asks(name):
    experiment, said = find(name), []
    found = experiment.run(Settings(quick=True), said.append)
    assert len(said) == experiment.steps(Settings(quick=True))
    text = found.text(experiment)
    assert "Holm" in text
    assert "not below 0 by more" in text or "below 0 by more" in text
    for shown in found.tables:
        assert np.isfinite(shown.means).all()


def test_the_reference_is_the_best_of_all_cut_points_over_the_grid():
    made, loss = table(), as_loss("f1")
    folds = inner_folds(made, 0)
    (tuned,) = references("linear", made, folds, [loss], 0)
    fitted, held = tuned.model, np.empty(len(made.y))
    for train, test in folds:
        held[test] = fitted.fit(made.X[train], made.y[train]).predict_proba(made.X[test])[:, 1]
    best = min(loss(made.y, held >= t) for t in [*held, np.inf])
    assert loss(made.y, held >= tuned.threshold) == pytest.approx(best, abs=1e-12)


def test_the_choice_of_the_experiment_is_that_of_the_estimator():
    made, fresh, loss = table(), table(seed=1), as_loss("jaccard")
    folds = inner_folds(made, 3)
    made = DataTable.of(made.name, np.nan_to_num(made.X), made.y)
    fresh = DataTable.of(fresh.name, np.nan_to_num(fresh.X), fresh.y)
    base = LogisticRegression().fit(made.X, made.y)
    (cell,) = measure_tables._by_choice(
        [ThresholdClassifier(LogisticRegression(), base, 0.3)], made, fresh, folds, [loss], 3
    )
    model = MeasureClassifier(LogisticRegression(), "jaccard", cv=folds).fit(made.X, made.y)
    assert cell[3] == model.best_strategy_
    assert cell[1] == pytest.approx(loss(fresh.y, model.predict(fresh.X) == 1))
    assert cell[0] == pytest.approx(loss(fresh.y, base.predict_proba(fresh.X)[:, 1] >= 0.3))


def test_a_constant_prediction_counts_where_the_reference_has_none():
    y, X = np.array([True, False, False]), np.array([[2.0], [0.0], [-1.0]])
    base = LogisticRegression().fit(X, y)
    usual = ThresholdClassifier(None, base, float(base.predict_proba(X)[0, 1]))
    assert measure_tables._judged(y, usual, np.zeros(3, bool), as_loss("f1"), X) == (0.0, 1.0, 1)
    assert measure_tables._judged(y, usual, y, as_loss("f1"), X) == (0.0, 0.0, 0)
    assert measure_tables._judged(y, ThresholdClassifier(None, base, 2.0), np.zeros(3, bool), as_loss("f1"), X)[2] == 0


def test_losses_are_named():
    shape = (3, 10, len(measure_tables.METHODS), len(MEASURES))
    gains = np.random.default_rng(0).normal(0.01, 0.002, shape)
    gains[1, :, 0, 2] = np.linspace(-0.021, -0.019, 10)
    constant = np.zeros(shape, dtype=int)
    constant[2, 4, 1, 3] = 1
    found = measure_tables._outcome(("a", "b", "c"), gains, np.full(shape, 0.5), constant, [[["threshold"]]])
    text = "\n".join(found.words)
    assert "Cells below 0 after Holm's correction of 48: b/MeasureClassifier over linear/g_mean -0.020" in text
    assert "Cells whose mean is below -0.015: b/MeasureClassifier over linear/g_mean -0.020." in text
    assert "Constant predictions where the reference has none: c/MeasureClassifier over boosted/mcc." in text


def test_losses_of_label_matrices_are_named():
    shape = (2, 5, len(LABEL_BASES), len(LABEL_MEASURES))
    references = np.full((*shape, 2), 0.5)
    ours = np.random.default_rng(0).normal(0.45, 0.001, shape)
    ours[1, :, 1, 0] = np.linspace(0.6, 0.601, 5)
    text = "\n".join(measure_labels._outcome(("a", "b"), ours, references, ["stack", "decision"]).words)
    assert "Cells below 0 after Holm's correction of 16: b/forest/f1 against one threshold" in text
    assert "The worst cell is b/forest/f1 against" in text
    assert "decision 1, stack 1" in text


@pytest.mark.realdata
@needs_data
def test_the_tables_are_read_as_they_are_described():
    folder = Path(os.environ["SETWISE_DATA"]) / "imbalanced"
    shares = {}
    for name in TABLES:
        held = read_table(folder / f"{name}.csv")
        assert len(held.X) == len(held.y)
        shares[name] = round(100 * float(held.y.mean()), 1)
        assert np.isnan(held.X).any() == (name == "jm1")
    assert shares["churn"] == 14.1
    assert shares["mammography"] == 2.3
    assert shares["phoneme"] == 29.3
    assert BASES == ("linear", "boosted")


def test_p_values_without_correction_are_those_of_the_paired_t_test():
    d = np.random.default_rng(0).normal(0.1, 1.0, 12)
    expected = stats.ttest_1samp(d, 0.0, alternative="less").pvalue
    assert np.isclose(p_below(PairedDifference.of(d, 0.0)), expected)


@pytest.mark.parametrize(("value", "p"), [(0.0, 1.0), (0.25, 1.0), (-0.25, 0.0)])
def test_p_values_of_equal_differences_leave_no_doubt(value, p):
    assert p_below(PairedDifference.of([value] * 5, 0.5)) == p


def test_holm_by_hand():
    assert np.allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert np.allclose(holm([0.9, 0.8]), [1.0, 1.0])
    assert holm([]).shape == (0,)
    with pytest.raises(ValueError, match="p_values must be numbers"):
        holm([0.5, 1.5])


def test_splits_keep_equal_rows_together_and_leave_other_tables_as_they_are():
    made = table()
    splitter = StratifiedShuffleSplit(3, test_size=1 / 3, random_state=0)
    for (train, test), (usual, unseen) in zip(made.splits(splitter), splitter.split(made.y, made.y), strict=True):
        assert_array_equal(train, usual)
        assert_array_equal(test, unseen)
    rows = np.arange(60).repeat(3)
    often = DataTable.of("three times", made.X[rows], made.y[rows])
    for train, test in often.splits(splitter):
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(180))
        assert not set(rows[train]) & set(rows[test])
