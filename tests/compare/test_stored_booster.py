import json
import re

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

from setwise.compare.stored_booster import StoredBooster, fits_together, with_stored_parts
from setwise.compare.trust import reachable

KINDS = ["c" if j == 2 else "q" for j in range(4)]

TREES = {
    "lightgbm": LGBMClassifier(n_estimators=12, verbose=-1, n_jobs=1, categorical_column=[2]),
    "xgboost": XGBClassifier(n_estimators=12, n_jobs=1, feature_types=KINDS, enable_categorical=True),
    "catboost": CatBoostClassifier(12, verbose=False, allow_writing_files=False, thread_count=1),
}


def rows(n=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[:, 2] = rng.integers(0, 30, n)
    X[rng.random(n) < 0.1, 1] = np.nan
    return X, (X[:, 0] + rng.normal(size=30)[X[:, 2].astype(int)] > 0).astype(np.int64)


@pytest.fixture(scope="module", params=TREES)
def fitted(request):
    return clone(TREES[request.param]).fit(*rows())


@pytest.fixture(scope="module")
def stored(fitted):
    return StoredBooster.of(fitted)


def test_the_text_answers_as_the_trees(fitted, stored):
    X, _ = rows(2000)
    assert_allclose(
        stored.predict_proba(X), fitted.predict_proba(X), rtol=0, atol=3e-16 * (stored.package == "catboost")
    )
    assert_array_equal(stored.predict(X), fitted.predict(X))
    assert fits_together(stored)


def test_trees_inside_of_an_object_are_replaced_and_the_object_stays(fitted):
    X, _ = rows()
    pipeline = make_pipeline("passthrough", fitted)
    found = with_stored_parts(pipeline, reachable(pipeline))
    assert isinstance(found[-1], StoredBooster)
    assert pipeline[-1] is fitted
    assert_allclose(found.predict_proba(X), pipeline.predict_proba(X), rtol=0, atol=3e-16)
    plain = make_pipeline("passthrough")
    assert with_stored_parts(plain, reachable(plain)) is plain


@pytest.mark.parametrize("package", TREES)
def test_trees_that_are_not_fitted_stay_so(package):
    found = StoredBooster.of(TREES[package])
    assert found.text == ""
    assert fits_together(found)
    with pytest.raises(NotFittedError):
        found.predict(rows()[0])
    with pytest.raises(TypeError, match="only predicts"):
        found.fit(*rows())


@pytest.mark.parametrize("package", TREES)
def test_the_text_of_three_classes_answers_as_the_trees(package):
    X, y = rows()
    trees = clone(TREES[package]).fit(X, y + (X[:, 3] > 1.0))
    stored = StoredBooster.of(trees)
    assert_allclose(stored.predict_proba(X), trees.predict_proba(X), rtol=0, atol=3e-16 * (package == "catboost"))
    assert_array_equal(stored.predict(X), np.ravel(trees.predict(X)))
    for classes in (np.arange(2), np.arange(4)):
        stored.classes_ = classes
        assert not fits_together(stored)


@pytest.mark.parametrize(
    "model",
    [
        LGBMClassifier(n_estimators=4, verbose=-1, linear_tree=True),
        XGBClassifier(n_estimators=4, booster="gblinear"),
    ],
    ids=["linear leaves", "linear"],
)
def test_other_boosters_are_refused(model):
    X, y = rows()
    with pytest.raises(ValueError, match="written only as boosted trees"):
        StoredBooster.of(model.fit(np.nan_to_num(X), y))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_trees_with_dropout_are_stored_as_they_are_or_refused():
    X, y = rows()
    trees = XGBClassifier(n_estimators=4, booster="dart", rate_drop=0.5, one_drop=True).fit(X, y)
    if json.loads(trees.get_booster().save_raw("json"))["learner"]["gradient_booster"]["name"] == "dart":
        with pytest.raises(ValueError, match="written only as boosted trees"):
            StoredBooster.of(trees)
        return
    stored = StoredBooster.of(trees)
    assert_array_equal(stored.predict_proba(X), trees.predict_proba(X))
    text = json.loads(stored.text)
    text["learner"]["gradient_booster"]["model"]["weight_drop"].pop()
    stored.text = json.dumps(text)
    assert not fits_together(stored)


def damaged(text, package):
    """Texts in which one place points elsewhere."""
    if package == "lightgbm":
        for name, value in [
            ("left_child", 99), ("left_child", 0), ("right_child", -99), ("right_child", -1), ("split_feature", 4),
            ("split_feature", -1), ("num_leaves", 3), ("decision_type", 1), ("num_cat", 9), ("cat_boundaries", 5),
            ("cat_threshold", "1 2"), ("leaf_value", "0 0"), ("is_linear", 1),
        ]:  # fmt: skip
            changed = re.sub(rf"^{name}=\S+", f"{name}={value}", text, count=1, flags=re.MULTILINE)
            assert changed != text
            yield name, resized(changed)
        yield "a name twice", resized(text.replace("split_gain", "left_child=0 0\nsplit_gain", 1))
        yield "a tree twice", text.replace("Tree=1\n", "Tree=1\n\nTree=1\n", 1)
        yield "fewer trees", re.sub(r"^tree_sizes=\d+ ", "tree_sizes=", text, flags=re.MULTILINE)
        yield "features", text.replace("max_feature_idx=3", "max_feature_idx=2")
        yield "objective", text.replace("objective=binary", "objective=regression")
        return
    whole = json.loads(text)

    def changes(*path, to):
        held = json.loads(text)
        at = held
        for step in path[:-1]:
            at = at[step]
        assert at[path[-1]] != to
        at[path[-1]] = to
        return str(path), json.dumps(held)

    if package == "xgboost":
        trees = ("learner", "gradient_booster", "model", "trees")
        tree = whole["learner"]["gradient_booster"]["model"]["trees"][0]
        by_word = next(i for i, kind in enumerate(tree["split_type"]) if kind)
        for name, value in [("left_children", 9999), ("left_children", 0), ("right_children", 1), ("split_indices", 4)]:
            yield changes(*trees, 0, name, 0, to=value)
        yield changes(*trees, 0, "split_type", by_word, to=0)
        yield changes(*trees, 0, "categories_segments", 0, to=7)
        yield changes(*trees, 0, "categories_sizes", 0, to=10**6)
        yield changes(*trees, 0, "categories_nodes", 0, to=10**6)
        yield changes(*trees, 0, "categories", 0, to=-5)
        yield changes(*trees, 0, "tree_param", "num_nodes", to="3")
        yield changes(*trees, 0, "base_weights", to=[0.0])
        yield changes("learner", "learner_model_param", "num_feature", to="3")
        yield changes("learner", "objective", "name", to="reg:squarederror")
        yield changes("learner", "gradient_booster", "model", "tree_info", 0, to=1)
        yield "a name twice", text.replace('"left_children":', '"left_children":[9999],"left_children":', 1)
        return
    yield changes("oblivious_trees", 0, "splits", 0, "float_feature_index", to=4)
    yield changes("oblivious_trees", 0, "splits", 0, "border", to=0.123)
    yield changes("oblivious_trees", 0, "leaf_values", to=[0.0])
    yield changes("oblivious_trees", 0, "splits", 0, "split_type", to="OneHotFeature")
    yield changes("features_info", "float_features", 0, "feature_index", to=9)
    yield "a name twice", text.replace('"leaf_values":', '"leaf_values":[1],"leaf_values":', 1)


def resized(text):
    """The text with the sizes of its trees."""
    blocks = re.split(r"^(?=Tree=\d+$)", text.partition("end of trees")[0], flags=re.MULTILINE)[1:]
    sizes = " ".join(str(len(block)) for block in blocks)
    return re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", text, flags=re.MULTILINE)


def test_a_text_that_points_outside_of_its_trees_does_not_fit(stored):
    for name, text in damaged(stored.text, stored.package):
        bad = StoredBooster(stored.package, text)
        bad.classes_, bad.n_features_in_ = stored.classes_, stored.n_features_in_
        assert text != stored.text
        try:
            fits = fits_together(bad)
        except (ValueError, KeyError):
            fits = False
        assert not fits, name
