import ast
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from compare.saved_models import raw_rows, write_csv
from setwise import MeasureClassifier
from setwise.compare import Plan, SavedModel, load_model, save_model
from setwise.compare.plan import BASES, BaseModel, base_model
from setwise.compare.problem import Problem, read
from setwise.compare.saved_model import refuse_unsaved
from setwise.compare.source import source

OTHERS = ("lightgbm", "xgboost", "catboost")

OWN = """
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.naive_bayes import GaussianNB

trees = ExtraTreesClassifier(5)
forest = lambda: ExtraTreesClassifier(7, random_state=3)
number = 3


class Mine(GaussianNB):
    pass
"""


@pytest.fixture
def table(tmp_path):
    return read(str(write_csv(tmp_path / "t.csv", raw_rows(300))), {"target": "sick", "drop": "bag"})


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_models", None)
    base_model.cache_clear()


@pytest.mark.parametrize("name", BASES)
def test_each_base_model_is_fitted_to_words_gaps_and_numbers_and_its_code_makes_the_same(name, table):
    base = base_model(name)
    plain = Problem("plain", "Rows.", np.nan_to_num(table.X), table.y)
    for problem in (table, plain, Problem("gaps", "Rows.", table.X, table.y)):
        model = base.build(problem, 1.0, 7).fit(problem.X, problem.y.ravel())
        found = model.predict_proba(problem.X)
        assert found.shape == (300, 2)
        assert found[problem.y.ravel() == 1, 1].mean() > found[problem.y.ravel() == 0, 1].mean() + 0.05
    text, imports = source(base.build(plain, 1.0, 7), {"C": "1"}, base.code)
    known = {}
    exec("\n".join([*imports, f"made = {text}"]), known)
    again = known["made"].fit(plain.X, plain.y.ravel()).predict_proba(plain.X)
    assert_array_equal(again, base.build(plain, 1.0, 7).fit(plain.X, plain.y.ravel()).predict_proba(plain.X))


@pytest.mark.parametrize("name", BASES)
def test_a_base_model_reads_a_sparse_table_or_says_why_not(name):
    rng = np.random.default_rng(0)
    X = csr_matrix((rng.random((200, 6)) < 0.3).astype(np.float64))
    y = (X[:, 0].toarray().ravel() + 0.5 * rng.random(200) > 0.6).astype(np.int64)
    problem = Problem("sparse", "Rows.", X, y)
    if base_model(name).sparse:
        probabilities = base_model(name).build(problem, 1.0, 0).fit(X, y).predict_proba(X)
        assert probabilities[y == 1, 1].mean() > probabilities[y == 0, 1].mean() + 0.2
    else:
        assert name == "boosted"


@pytest.mark.parametrize("name", OTHERS)
def test_a_fitted_base_model_of_another_package_is_saved_and_labels_as_before(name, table, tmp_path):
    for model in (
        base_model(name).build(table, None, 0).fit(table.X, table.y.ravel()),
        MeasureClassifier(base_model(name).build(table, None, 0), "f1", ["threshold"], 3).fit(table.X, table.y.ravel()),
    ):
        saved = SavedModel(model, ("no", "yes"), "f1", table.columns, response="predict_proba", threshold=0.3)
        again = load_model(save_model(saved, tmp_path / "m.skops"))
        labels, scores = again.decide(table.X)
        np.testing.assert_allclose(scores, model.predict_proba(table.X)[:, 1], rtol=0, atol=1e-15)
        assert_array_equal(labels, scores >= 0.3)
        assert_array_equal(again.estimator.predict(table.X), model.predict(table.X))
        # What was fitted is not changed by being saved.
        assert type(model).__name__ in ("Pipeline", "MeasureClassifier")
        assert model.predict(table.X).shape == (300,)


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(BaseModel, "is_installed", property(lambda self: not self.package))
    base_model.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"'lightgbm' is not installed; pip install lightgbm\.$"):
            Plan(bases=("linear", "lightgbm"))
    finally:
        base_model.cache_clear()


@pytest.mark.parametrize("error", ["ImportError", "OSError", "ValueError"])
def test_a_package_that_cannot_be_loaded_is_not_installed(error, tmp_path, monkeypatch):
    """LightGBM and XGBoost raise the last two where a Mac has no OpenMP."""
    (tmp_path / "own_trees.py").write_text(f"raise {error}('there is no libomp.dylib')", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    base = base_model("linear")
    assert base.is_installed
    assert not replace(base, package="own_trees").is_installed


@pytest.mark.parametrize(("name", "called"), [("trees", "trees"), ("forest", "forest()"), ("Mine", "Mine()")])
def test_a_classifier_of_the_user_is_an_object_a_class_or_a_function(name, called, own, table):
    base = base_model(f"own_models:{name}")
    model = base.build(table, None, 5).fit(table.X, table.y.ravel())
    assert model.predict_proba(table.X).shape == (300, 2)
    assert base.code == (called, [f"from own_models import {name}"])
    # A seed that the user has set stays.
    assert model[-1].get_params().get("random_state") == {"trees": 5, "forest": 3}.get(name)
    assert ast.parse(source(model, {"columns": "c"}, base.code)[0])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("own_models:nothing", r"must be module:object; module 'own_models' has no attribute 'nothing'\.$"),
        ("no_such_module:model", r"must be module:object; No module named 'no_such_module'\.$"),
        ("own_models:", r"must be module:object"),
        (":trees", r"must be module:object"),
        ("own_models:number", r"must be a classifier of scikit-learn with scores; got 3\.$"),
        ("own_models:BaseEstimator", r"must be a classifier of scikit-learn with scores"),
        ("sklearn.linear_model:LinearRegression", r"must be a classifier of scikit-learn with scores"),
        ("sklearn.ensemble:VotingClassifier", r"must be module:object; .*missing 1 required positional argument"),
    ],
)
def test_what_is_no_classifier_of_the_user_is_refused(name, said, own):
    with pytest.raises(ValueError, match=said):
        Plan(bases=("linear", name))


def test_what_cannot_be_saved_as_data_is_refused_before_the_work(own, table):
    refuse_unsaved(base_model("own_models:trees"), table, "m.skops")
    with pytest.raises(ValueError, match=r"^--save and --base own_models:Mine do not go together: .*'own_models.Mine'"):
        refuse_unsaved(base_model("own_models:Mine"), table, "m.skops")
