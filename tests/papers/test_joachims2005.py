import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from papers import find, joachims2005
from papers.experiment import Settings
from papers.joachims2005 import OURS, ROWS, ProblemResult
from papers.methods import SVM, standardized
from papers.problems import digits
from setwise.losses import ErrorRate

needs_data = pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")


def outcome(settings):
    experiment, said = find("joachims2005"), []
    found = experiment.run(settings, said.append)
    assert len(said) == experiment.steps(settings)
    assert all(w[-1] == "." for w in found.words)
    assert "Percent at test" in found.text(experiment)
    return found


def check(table, problems):
    assert table.columns == ("F1", "PRBEP", "ROCArea", "AP")
    assert table.means.shape == (4 * problems, 4)
    absent = np.zeros((4, 4), dtype=bool)
    absent[3, 1:] = True
    np.testing.assert_array_equal(np.isnan(table.means), np.tile(absent, (problems, 1)))
    given = table.means[~np.isnan(table.means)]
    assert ((given >= 0) & (given <= 100)).all()
    assert (table.errors[~np.isnan(table.errors)] >= 0).all()
    assert table.published is None
    for block, marks in zip(table.means.reshape(problems, 4, 4), table.marks.reshape(problems, 4, 4), strict=True):
        np.testing.assert_array_equal(marks, block == np.nanmax(block, axis=0))


@pytest.mark.slow
def test_quick_measures_every_way_on_digits():
    found = outcome(Settings(quick=True))
    (table,) = found.tables
    check(table, 1)
    assert table.rows == tuple(f"digit 8 against the rest: {row}" for row in ROWS)
    means = table.means
    assert (means[:3, 2] > 90).all()
    assert (means[:3, [0, 1, 3]] > 60).all()
    text = " ".join(found.words)
    assert "beside the error-rate SVM: training for the measure" in text
    assert "for F1 with its threshold tuned" in text
    assert "Nadeau and Bengio 2003" in text


def test_trained_for_the_error_rate_it_is_the_ordinary_svm():
    train, _ = standardized(digits(), digits())
    ours, svm = (method.train(train, ErrorRate(), 0.01, 1e-5) for method in (OURS, SVM))
    np.testing.assert_allclose(ours.coef, svm.coef, atol=2e-3)
    np.testing.assert_allclose(ours.intercept, svm.intercept, atol=2e-3)


def test_the_verdict_says_wins_losses_and_neither():
    rng = np.random.default_rng(0)
    percent = 50.0 + 0.05 * rng.standard_normal((4, 4, 10))
    percent[0] += np.array([10.0, -10.0, 0.0, 0.05])[:, None]
    percent[1:, 2] = percent[0, 2]
    first, second = joachims2005._verdicts(ProblemResult(digits(), percent, Counter(), Counter(), 0, 130))
    for sentence in (first, second):
        assert "training for the measure wins in F1 (+10.0 ± 0." in sentence
        assert "it makes no clear difference in ROCArea (+0.0 ± 0.0)" in sentence
        assert "it loses in PRBEP (-10.0" in sentence
        assert sentence.count("firmly") == 2


def test_cautions_tell_of_edges_and_open_gaps():
    edges = (Counter({"a (F1)": 3}), Counter({"a (F1)": 2, "b (AP)": 1}))
    measured = [
        ProblemResult(digits(), np.zeros((4, 4, 10)), e, Counter({f"{OURS.name} (F1)": n}), n, 130)
        for e, n in zip(edges, (0, 2), strict=True)
    ]
    text = " ".join(joachims2005._cautions(measured))
    assert "at an end of the grid in 6 of 260 cases, most often by a (F1): 5 of 20" in text
    assert "2 of 260 models did not reach" in text
    assert "2.4 times as wide" in text
    assert text.count("trained for the measure (F1) kept all weights at zero in 2 of 10 splits") == 1
    assert (
        len(joachims2005._cautions([ProblemResult(digits(), np.zeros((4, 4, 10)), Counter(), Counter(), 0, 130)])) == 2
    )


def test_parts_of_a_text_file_are_put_together(tmp_path):
    parts = {}
    for name, y in (("train", [1, -1, 1]), ("test", [-1, 1])):
        n = len(y)
        parts |= {
            f"{name}_data": np.ones(n, dtype=np.float32),
            f"{name}_indices": np.arange(n, dtype=np.int32),
            f"{name}_indptr": np.arange(n + 1, dtype=np.int32),
            f"{name}_y": np.array(y, dtype=np.int8),
        }
    np.savez(tmp_path / "reuters_acq.npz", n_features=4, **parts)
    problem = joachims2005._reuters(tmp_path / "reuters_acq.npz")
    assert problem.X.shape == (5, 4)
    assert problem.X.format == "csr"
    assert problem.y.tolist() == [1, 0, 1, 0, 1]
    scaled = joachims2005._scaled(problem, problem)[0].X
    assert scaled.format == "csr"
    np.testing.assert_array_equal(scaled.toarray(), np.hstack([problem.X.toarray(), np.full((5, 1), 10.0)]))


def test_the_rarest_label_with_enough_positives_is_taken(tmp_path):
    Y = np.arange(60)[:, None] < np.array([30, 4, 12])
    np.savez(tmp_path / "m.npz", X=np.ones((60, 2)), Y=Y.astype(int), label_names=np.array(["a", "b", "c"]))
    problem = joachims2005._rarest(tmp_path / "m.npz", least=10)
    assert problem.name == "m c"
    assert problem.y.sum() == 12
    assert not problem.many


def test_without_data_it_says_what_is_missing(tmp_path):
    experiment = find("joachims2005")
    with pytest.raises(ValueError, match=r"needs reuters_acq\.npz and scene\.npz and yeast\.npz of the examples of"):
        experiment.run(Settings(), print)
    with pytest.raises(ValueError, match="nor in its folder svmlight_reuters_acq or multilabel"):
        experiment.run(Settings(data=tmp_path), print)


@pytest.mark.slow
@pytest.mark.realdata
@needs_data
def test_on_real_data(monkeypatch):
    monkeypatch.setattr(joachims2005, "SPLITS", 2)
    monkeypatch.setattr(joachims2005, "GRID", (1e-2, 1.0))
    found = outcome(Settings(data=Path(os.environ["SETWISE_DATA"])))
    (table,) = found.tables
    check(table, 4)
    assert (table.means[:3] > 90).all()
    assert any("yeast Class9: trained for the measure (F1) kept all weights at zero" in w for w in found.words)
    assert "acq: texts of Reuters-21578" in " ".join(found.words)
    assert len([w for w in found.words if "training for the measure" in w and " beside " in w]) >= 8
