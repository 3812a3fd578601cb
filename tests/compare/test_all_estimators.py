"""Every classifier and every transformer of scikit-learn in a file, which labels rows as it did before."""

import inspect
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.special
from sklearn.base import is_classifier
from sklearn.cluster import FeatureAgglomeration
from sklearn.decomposition import SparsePCA
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier
from sklearn.feature_selection import SelectKBest, SelectPercentile, chi2, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer, StandardScaler, normalize
from sklearn.svm import SVC
from sklearn.utils import all_estimators

from setwise.compare import load_model, save_model
from setwise.core.exceptions import Refusal

pytest.importorskip("skops.io")

TABLE = pd.DataFrame(np.random.default_rng(0).random((90, 4)).round(2) + 0.1, columns=list("abcd"))
SUM = (TABLE["a"] + TABLE["b"]).to_numpy()
LABELS = {
    2: np.where(SUM > 1.2, "yes", "no"),
    3: np.array(["low", "middle", "high"])[np.digitize(SUM, [1.0, 1.4])],
}
STEPS = {
    "ColumnTransformer": [("scaled", StandardScaler(), ["a", "b"])],
    "FeatureUnion": [("scaled", StandardScaler())],
    "Pipeline": [("scaled", StandardScaler()), ("last", LogisticRegression())],
    "StackingClassifier": [("one", LogisticRegression()), ("two", LogisticRegression(C=0.1))],
    "VotingClassifier": [("one", LogisticRegression()), ("two", LogisticRegression(C=0.1))],
}
GIVEN = {
    "GaussianRandomProjection": {"n_components": 2}, "SparseRandomProjection": {"n_components": 2},
    "RandomizedSearchCV": {"n_iter": 1}, "HalvingRandomSearchCV": {"n_candidates": 2},
    "MissingIndicator": {"features": "all"}, "SparseCoder": {"dictionary": np.eye(4)},
}  # fmt: skip
REFUSED = {"Birch": "Objects of type Birch are not supported"}


def built(name, kind):
    """An estimator with its defaults, over logistic regression where it needs another one."""
    given, needed = dict(GIVEN.get(name, {})), inspect.signature(kind).parameters
    if name in STEPS:
        return kind(STEPS[name])
    if "estimator" in needed and needed["estimator"].default is inspect.Parameter.empty:
        given["estimator"] = LogisticRegression()
        given |= {one: {"C": [1.0, 2.0]} for one in ("param_grid", "param_distributions") if one in needed}
    if name == "FrozenEstimator":
        given["estimator"] = LogisticRegression().fit(TABLE, LABELS[2])
    return kind(**given, **({"random_state": 0} if "random_state" in needed else {}))


def loaded_labels(model, path, table=TABLE):
    held = load_model(save_model(model, path, table))
    return np.array(held.classes)[held.decide(TABLE if table is None else table)[0]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("classes", [2, 3])
def test_all_classifiers_and_transformers_of_scikit_learn(tmp_path, classes):
    done, refused, y = [], {}, LABELS[classes]
    for name, kind in all_estimators():
        # Some are for targets, images or dicts, and cannot be fitted to a table and labels.
        try:
            one = built(name, kind)
            model = one if is_classifier(one) else make_pipeline(one, LogisticRegression())
            expected = model.fit(TABLE, y).predict(TABLE)
        except Exception:
            continue
        try:
            found = loaded_labels(model, tmp_path / "m.skops")
        except ValueError as error:
            refused[name] = str(error)
            continue
        np.testing.assert_array_equal(found, expected, name)
        done.append(name)
    assert len(done) > 100
    assert refused.keys() == REFUSED.keys()
    assert all(says in refused[name] for name, says in REFUSED.items())


FUNCTIONS = (np.log1p, np.nan_to_num, scipy.special.expit, scipy.special.softmax, normalize)


@pytest.mark.parametrize(
    "step",
    [
        SelectKBest(k=2), SelectPercentile(), SelectKBest(chi2, k=2),
        SelectKBest(partial(mutual_info_classif, random_state=0), k=2), SplineTransformer(),
        SplineTransformer(sparse_output=True, extrapolation="periodic"), FeatureAgglomeration(pooling_func=np.median),
        *map(FunctionTransformer, FUNCTIONS), FunctionTransformer(np.clip, kw_args={"a_min": 0.2, "a_max": 0.9}),
    ],
    ids=lambda step: re.sub(" at 0x[0-9a-f]+", "", str(step)),
)  # fmt: skip
@pytest.mark.parametrize("classes", [2, 3])
def test_steps_with_functions_and_splines(tmp_path, step, classes):
    model = make_pipeline(step, LogisticRegression()).fit(TABLE, LABELS[classes])
    np.testing.assert_array_equal(loaded_labels(model, tmp_path / "m.skops"), model.predict(TABLE))
    held = load_model(tmp_path / "m.skops")
    scores = model.predict_proba(TABLE)
    np.testing.assert_array_equal(held.decide(TABLE)[1], scores if classes == 3 else scores[:, 1])


@pytest.mark.parametrize(
    "model",
    [
        *(KNeighborsClassifier(algorithm=one, p=3, weights="distance") for one in ("kd_tree", "ball_tree", "brute")),
        BaggingClassifier(KNeighborsClassifier(), 3, random_state=0), SVC(),
        GradientBoostingClassifier(n_estimators=3),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("classes", [2, 3])
def test_neighbors_kernels_and_boosted_trees(tmp_path, model, classes):
    model.fit(TABLE, LABELS[classes])
    trees = [vars(model).get("_tree")]
    np.testing.assert_array_equal(loaded_labels(model, tmp_path / "m.skops"), model.predict(TABLE))
    # The model itself keeps its tree, and a loaded one is saved again.
    assert [vars(model).get("_tree")] == trees
    again = load_model(save_model(load_model(tmp_path / "m.skops"), tmp_path / "again.skops"))
    np.testing.assert_array_equal(np.array(again.classes)[again.decide(TABLE)[0]], model.predict(TABLE))


def test_a_table_tells_the_numbers_that_a_step_knows(tmp_path):
    table = TABLE.round(0) + 5.0
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(table, LABELS[2])
    np.testing.assert_array_equal(loaded_labels(model, tmp_path / "m.skops", table), model.predict(table))


def test_a_step_that_fails_at_one_row_needs_no_table(tmp_path):
    model = make_pipeline(SparsePCA(2, random_state=0), LogisticRegression()).fit(TABLE, LABELS[2])
    np.testing.assert_array_equal(loaded_labels(model, tmp_path / "m.skops", None), model.predict(TABLE))


def test_what_is_still_refused_says_what_to_do(tmp_path):
    def own(X):
        return X

    y = LABELS[3]
    cases = (
        (make_pipeline(FunctionTransformer(own), LogisticRegression()), "own'; use what scikit-learn or NumPy has"),
        (KNeighborsClassifier(weights=own), "own'; use what scikit-learn or NumPy has"),
        (SVC(decision_function_shape="ovo"), "set decision_function_shape='ovr', for which it need not be fitted"),
    )
    for model, says in cases:
        with pytest.raises(ValueError, match=says):
            save_model(model.fit(TABLE, y), tmp_path / "m.skops", TABLE)
    with pytest.raises(ValueError, match="pos_label must be None for more than two classes; got 'low'"):
        save_model(LogisticRegression().fit(TABLE, y), tmp_path / "m.skops", TABLE, pos_label="low")
    one = KNeighborsClassifier().fit(TABLE, np.full(90, "low"))
    with pytest.raises(Refusal, match="it must have two classes or more; it has 'low'"):
        save_model(one, tmp_path / "m.skops", TABLE)
    assert not list(tmp_path.iterdir())
