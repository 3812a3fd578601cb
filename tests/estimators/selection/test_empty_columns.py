"""A column that is nearly empty has no value in some folds, which boosted trees of scikit-learn refuse."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from setwise import MeasureClassifier


def rows(n, held, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + rng.normal(size=n) > 1).astype(int)
    X[:, 1] = np.nan
    X[rng.permutation(n)[:held], 1] = rng.normal(size=held)
    return X, y


def choice(**more):
    trees = HistGradientBoostingClassifier(max_iter=5, random_state=0, **more)
    return MeasureClassifier(trees, "f1", strategies=["threshold"], random_state=0)


@pytest.mark.parametrize(("n", "held"), [(600, 1), (600, 3), (3000, 1)])
def test_few_values_that_miss_a_fold_are_fitted_and_read_by_the_model_of_all_rows(n, held):
    X, y = rows(n, held)
    found = choice().fit(X, y)
    own = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(found.estimator_.predict_proba(X), own.predict_proba(X))


@pytest.mark.parametrize("kind", ["float64", "Float64", "boolean", "object"])
def test_so_are_those_of_a_frame(kind):
    pandas = pytest.importorskip("pandas")
    X, y = rows(300, 1)
    X[~np.isnan(X[:, 1]), 1] = 1.0
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame["b"] = frame["b"].astype(object).where(frame["b"].notna(), None).astype(kind)
    np.testing.assert_array_equal(choice().fit(frame, y).predict(frame), choice().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="300 rows, where column 'b' is NaN in all of them: leave"):
        choice().fit(frame.assign(b=np.nan), y)


def test_the_refusal_names_the_column():
    X, y = rows(300, 0)
    with pytest.raises(ValueError, match="column 1 is NaN in all of them: leave out that column, or fill"):
        choice().fit(X, y)
    X, y = rows(300, 1)
    # nearly all rows are set aside
    with pytest.raises(ValueError, match="column 1 is NaN in all (of them|but 1):"):
        choice(early_stopping=True, validation_fraction=0.95).fit(X, y)
    with pytest.raises(ValueError, match="learning_rate"):
        choice(learning_rate=-1.0).fit(X, y)


def test_models_that_read_empty_columns_get_them_as_they_are():
    X, y = rows(300, 1)
    forest = RandomForestClassifier(5, random_state=0)
    found = MeasureClassifier(forest, "f1", strategies=["threshold"], random_state=0).fit(X, y)
    assert found.estimator_.predict_proba(X).shape == (300, 2)
