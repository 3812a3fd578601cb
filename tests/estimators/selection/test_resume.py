"""MeasureClassifier that makes no fit on folds twice."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from setwise import MeasureClassifier
from setwise.core.checkpoint import read_sealed, write_sealed
from setwise.estimators.checkpoints import described, of_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 3))
Y = (X[:, 0] + RNG.standard_normal(120) > 0.7).astype(int)
GROUPS = np.repeat(np.arange(24), 5)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": np.where(X[:, 2] > 0, "x", "y")})
MODEL = MeasureClassifier(LogisticRegression(), strategies=["threshold", "class_weight"])


class ColumnRegression(LogisticRegression):
    """Reads the numbers of a table with words."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X[["a", "b"]], y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(X[["a", "b"]])

    def predict(self, X):
        return super().predict(X[["a", "b"]])


@pytest.fixture
def file(tmp_path):
    return tmp_path / "choice.npz"


def same(one, other, rows):
    assert one.best_strategy_ == other.best_strategy_
    np.testing.assert_array_equal(one.best_threshold_, other.best_threshold_)
    assert one.best_score_ == other.best_score_
    assert [c.loss for c in one.candidates_] == [c.loss for c in other.candidates_]
    np.testing.assert_array_equal(one.predict(rows), other.predict(rows))


@pytest.mark.slow
@pytest.mark.draw(4)
@pytest.mark.parametrize("change", [{}, {"strategies": ["threshold", "ramp"]}, {"outer_cv": 3}, {"cv": KFold(3)}])
def test_no_fit_on_folds_is_made_twice(change, file, fits):
    model = clone(MODEL).set_params(**change)
    whole = clone(model).fit(X, Y)
    once = fits["count"]
    for stop in (once // 2, once - 2):
        file.unlink(missing_ok=True)
        fits.update(count=0, stop=stop)
        with pytest.raises(KeyboardInterrupt), warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            clone(model).fit(X, Y, checkpoint=file, resume=True)
        kept = sum(name.endswith("labels") for name in read_sealed(file))
        assert kept > 0
        fits.update(count=0, stop=0)
        after = clone(model).fit(X, Y, checkpoint=file, resume=True)
        # What is kept of one weight are the fits of three folds at least.
        assert fits["count"] <= once - 3
        same(after, whole, X)
        assert getattr(after, "gain_", None) == getattr(whole, "gain_", None)


@pytest.mark.slow
def test_a_finished_choice_needs_the_fit_on_all_rows_alone(file, fits):
    whole = clone(MODEL).fit(X, Y, checkpoint=file)
    fits["count"] = 0
    again = clone(MODEL).fit(X, Y, checkpoint=file, resume=True)
    assert fits["count"] == 1
    same(again, whole, X)
    # Other strategies ask for the same responses, and for more.
    clone(MODEL).set_params(strategies=["threshold", "ramp"]).fit(X, Y, checkpoint=file, resume=True)


@pytest.mark.slow
@pytest.mark.draw(4)
@pytest.mark.parametrize(
    ("rows", "target", "more"),
    [
        (csr_matrix(X), Y, {}),
        (X.tolist(), np.where(Y == 1, "yes", "no"), {"pos_label": "no"}),
        (X, np.column_stack([Y, 1 - Y]), {"average": "macro", "strategies": ["threshold"]}),
        (TABLE, Y, {"estimator": ColumnRegression()}),
    ],
    ids=["sparse", "lists", "matrix", "table"],
)
def test_all_kinds_of_data(rows, target, more, file, fits):
    model = clone(MODEL).set_params(**more)
    whole = clone(model).fit(rows, target, checkpoint=file)
    once, fits["count"] = fits["count"], 0
    same(clone(model).fit(rows, target, checkpoint=file, resume=True), whole, rows)
    assert 1 <= fits["count"] < once


OTHER = TABLE.copy()
OTHER.loc[3, "word"] = "z"


@pytest.mark.slow
@pytest.mark.draw(12)
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"X": OTHER}, "another fit: X differs. Take another file"),
        ({"X": TABLE.rename(columns={"word": "words"})}, "another fit: X differs. Take"),
        ({"X": TABLE.astype({"a": "float32"})}, "X differs"),
        ({"y": 1 - Y}, "another fit: y differs"),
        ({"groups": GROUPS}, "groups differs; folds differs"),
        ({"sample_weight": np.ones(120)}, "sample_weight differs"),
        ({"loss": "jaccard"}, "another fit: loss is 'f1' there and 'jaccard' here. Take"),
        ({"cv": 4}, "another fit: folds differs. Take"),
        ({"random_state": 1}, "another fit: folds differs. Take"),
        ({"estimator": ColumnRegression(C=2.0)}, "another fit: estimator differs. Take"),
        ({"average": "micro"}, "average is 'samples' there and 'micro' here"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(change, sentence, file):
    model = clone(MODEL).set_params(estimator=ColumnRegression())
    rows = {"X": TABLE, "y": Y, "groups": None, "sample_weight": None}
    model.fit(**rows, checkpoint=file)
    before = file.read_bytes()
    other = clone(model).set_params(**{name: value for name, value in change.items() if name not in rows})
    with pytest.raises(ValueError, match=sentence):
        other.fit(**{name: change.get(name, value) for name, value in rows.items()}, checkpoint=file, resume=True)
    assert file.read_bytes() == before


def test_arrays_of_another_shape_are_refused(file):
    clone(MODEL).fit(X, Y, checkpoint=file)
    arrays = read_sealed(file)
    name = next(name for name in arrays if name.endswith("scores"))
    for odd in (np.zeros(119), np.zeros(120, np.float32), np.zeros((120, 1))):
        write_sealed(file, arrays | {name: odd})
        with pytest.raises(ValueError, match="is not a checkpoint of this fit: its weight .* has a different shape"):
            clone(MODEL).fit(X, Y, checkpoint=file, resume=True)


def test_a_fitted_model_has_nothing_to_keep(file):
    model = MeasureClassifier(LogisticRegression().fit(X, Y), cv="prefit", refit=False)
    with pytest.raises(ValueError, match="checkpoint must be None with cv='prefit', where no fit is made"):
        model.fit(X, Y, checkpoint=file)
    with pytest.raises(ValueError, match="resume=True needs checkpoint"):
        model.fit(X, Y, resume=True)


@pytest.mark.slow
def test_processes_that_share_the_folds(file):
    model = clone(MODEL).set_params(n_jobs=2)
    whole = clone(model).fit(X, Y, checkpoint=file)
    same(clone(model).fit(X, Y, checkpoint=file, resume=True), whole, X)


def test_routes_do_not_lead_to_files():
    assert set(MODEL.get_metadata_routing()._self_request.fit.requests) == {
        "groups", "sample_weight", "tp_cost", "fp_cost", "fn_cost", "tn_cost",
    }  # fmt: skip


def test_texts_say_all_parameters():
    forests = [RandomForestClassifier(), RandomForestClassifier(max_depth=3), RandomForestClassifier(random_state=1)]
    models = [*forests, *(MeasureClassifier(one) for one in forests), LogisticRegression(class_weight={0: 1.0})]
    models += [LogisticRegression(), MeasureClassifier(cv=[(np.arange(5000), np.arange(5000, 9000))])]
    models += [MeasureClassifier(cv=[(np.arange(5000)[::-1], np.arange(5000, 9000))])]
    said = [described(one) for one in models]
    assert len(set(said)) == len(said)
    assert described(clone(models[4])) == said[4]
    assert "0x" not in described(MeasureClassifier(KFold))
    assert of_rows(X, Y, None, None) == of_rows(X.copy(), Y.copy(), None, None)
    assert of_rows(csr_matrix(X), Y, None, None) == of_rows(csr_matrix(X), Y, None, None)
