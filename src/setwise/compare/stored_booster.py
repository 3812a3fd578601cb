"""Boosted trees of LightGBM, XGBoost and CatBoost in a saved model: as the text in which their package writes them.

Compiled parts of scikit-learn's estimators are what they are built from, and are built again by it.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors._ball_tree import BallTree
from sklearn.neighbors._base import NeighborsBase
from sklearn.neighbors._kd_tree import KDTree
from sklearn.preprocessing import SplineTransformer
from sklearn.utils.validation import check_is_fitted


@final
class StoredBooster(ClassifierMixin, BaseEstimator):
    """Fitted boosted trees of another package for classes, as text, which that package reads to predict.

    Parameters
    ----------
    package : ``"lightgbm"``, ``"xgboost"`` or ``"catboost"``
    text : what the package wrote; "" for trees that are not fitted

    Attributes
    ----------
    classes_ : the classes, (k,)
    n_features_in_ : the number of features
    """

    def __init__(self, package: str, text: str) -> None:
        self.package, self.text = package, text

    @classmethod
    def of(cls, trees: Any) -> "StoredBooster":
        """The text of a classifier of one of the packages; ValueError where it is not one of trees for classes."""
        package = _package(trees)
        if getattr(trees, "n_features_in_", None) is None:
            return cls(package, "")
        found = cls(package, FORMATS[package].write(trees))
        found.classes_, found.n_features_in_ = np.asarray(trees.classes_), int(trees.n_features_in_)
        if not fits_together(found):
            raise ValueError(f"{type(trees).__name__} is written only as boosted trees for classes, without more")
        return found

    def fit(self, X: Any, y: Any = None) -> Self:
        """Raise TypeError; fit the classifier of the package, and save that."""
        raise TypeError(f"StoredBooster only predicts; fit the classifier of {self.package} itself.")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probabilities of the classes, (n, k)."""
        check_is_fitted(self)
        found = np.asarray(_reader(self.package, self.text)(X))
        if found.ndim == 2 and found.shape[1] > 2:
            return found.astype(np.float64)
        ones = found[:, 1] if found.ndim == 2 else found
        return np.column_stack([1.0 - ones, ones]).astype(np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class of each row, (n,)."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[best])


@lru_cache(maxsize=64)
def _reader(package: str, text: str) -> Callable[[Any], Any]:
    try:
        return FORMATS[package].read(text)
    except ImportError:
        raise ValueError(f"the model holds trees of {package}, which reads them; pip install {package}.") from None


def with_stored_parts(root: Any, inside: Iterable[Any]) -> Any:
    """A copy of an object in which trees of other packages are a :class:`StoredBooster`, and compiled parts are what
    they are built from; itself where it has none.

    ``inside`` are the objects that it holds.
    """
    packages = {known.classifier: package for package, known in FORMATS.items()}
    found = {
        id(one): StoredBooster.of(one) if packages.get(type(one).__name__, "") == _package(one) else stored(one)
        for one in inside
    }
    changed = {place: one for place, one in found.items() if one is not None}
    return deepcopy(root, dict[int, Any](changed)) if changed else root


TREES = {"KDTree": KDTree, "BallTree": BallTree}
"""The trees of nearest neighbors, whose nodes are followed without a check of their bounds."""


def stored(part: Any) -> Any:
    """What a file holds in the place of a compiled part; None for another object.

    A tree of neighbors is built again from the rows that its estimator holds.
    """
    if isinstance(part, BSpline):
        return part.t, part.c, part.k, part.extrapolate, part.axis
    return type(part).__name__ if type(part) in TREES.values() else None


def build(holder: Any) -> None:
    """Build the parts of an estimator that a file holds so; the constructors check what they are given."""
    held = getattr(holder, "__dict__", {})
    if isinstance(holder, NeighborsBase) and isinstance(kind := held.get("_tree"), str):
        params = holder.effective_metric_params_
        if not isinstance(holder.effective_metric_, str):
            raise ValueError("a metric of neighbors must be a name, since no function is called while a file is loaded")
        holder._tree = TREES[kind](holder._fit_X, holder.leaf_size, metric=holder.effective_metric_, **params)
    if isinstance(holder, SplineTransformer) and "bsplines_" in held:
        holder.bsplines_ = [BSpline(*one) if isinstance(one, tuple) else one for one in holder.bsplines_]


def _package(held: Any) -> str:
    return type(held).__module__.partition(".")[0]


def fits_together(held: StoredBooster) -> bool:
    """Whether the trees of a text are trees, and read no features, leaves and words that are not there.

    The packages follow nodes without a check of their bounds.
    """
    if held.package not in FORMATS or not isinstance(held.text, str):
        return False
    width = vars(held).get("n_features_in_")
    if not held.text:
        return width is None
    k = np.size(vars(held).get("classes_", ()))
    return k >= 2 and FORMATS[held.package].fits(held.text, int(width or 0), k)


def _children_fit(children: Any, inner: int, leaves: int = 0) -> bool:
    """Whether each node but the root is the child of one node; children are inner nodes, or leaves as ``-1 - leaf``."""
    nodes = np.sort(np.asarray(children, dtype=np.int64))
    return bool(np.array_equal(nodes, [*range(-leaves, 0), *range(1, inner)]))


def inside(places: Any, size: int) -> bool:
    """Whether all of these are among the places 0..size-1."""
    return bool(((places >= 0) & (places < size)).all())


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """These names and what they name; ValueError where a name stands twice, of which readers take another one each."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _write_lightgbm(trees: Any) -> str:
    return str(trees.booster_.model_to_string())


def _read_lightgbm(text: str) -> Callable[[Any], Any]:
    booster = import_module("lightgbm").Booster(model_str=text)
    return lambda X: booster.predict(X, num_threads=1)


def _lightgbm_fits(text: str, width: int, k: int) -> bool:
    head, *blocks = re.split(r"^(?=Tree=\d+$)", text.partition("end of trees")[0], flags=re.MULTILINE)
    about = _lines(head)
    # There is a tree for each of several classes, and one for two.
    kind, each = ("binary", "1") if k == 2 else ("multiclass", str(k))
    known = {"num_class": each, "num_tree_per_iteration": each, "max_feature_idx": str(width - 1)}
    if about.get("objective", "").split(" ")[0] != kind or not known.items() <= about.items():
        return False
    sizes = [len(block.encode()) for block in blocks]
    fits = len(blocks) % int(each) == 0 and [*map(int, about["tree_sizes"].split())] == sizes
    return fits and all(_lightgbm_tree_fits(_lines(block), width) for block in blocks)


def _lines(text: str) -> dict[str, str]:
    """The lines ``name=value`` of a text; ValueError where a name stands twice."""
    return _once([line.partition("=")[::2] for line in text.splitlines() if "=" in line])


def _lightgbm_tree_fits(tree: Mapping[str, str], width: int) -> bool:
    leaves, sets = int(tree["num_leaves"]), int(tree["num_cat"])
    if tree.get("is_linear", "0") != "0" or len(tree["leaf_value"].split()) != leaves:
        return False
    if leaves == 1:
        return True
    names = ("split_feature", "decision_type", "left_child", "right_child")
    feature, kind, left, right = columns = [np.array(tree[name].split(), dtype=np.int64) for name in names]
    threshold = np.array(tree["threshold"].split(), dtype=np.float64)
    if {len(one) for one in (*columns, threshold)} != {leaves - 1}:
        return False
    # The lowest bit of a kind says that the threshold is the number of a set of words.
    numbers = threshold[kind % 2 == 1]
    if len(numbers):
        edges = np.array(tree["cat_boundaries"].split(), dtype=np.int64)
        bits = len(tree["cat_threshold"].split())
        if len(edges) != sets + 1 or edges[0] != 0 or edges[-1] != bits or (np.diff(edges) < 0).any():
            return False
    named = bool(np.isin(numbers, range(sets)).all())
    return named and inside(feature, width) and _children_fit([*left, *right], leaves - 1, leaves)


def _write_xgboost(trees: Any) -> str:
    return bytes(trees.get_booster().save_raw("json")).decode()


def _read_xgboost(text: str) -> Callable[[Any], Any]:
    booster = import_module("xgboost").Booster({"nthread": 1})
    booster.load_model(bytearray(text.encode()))
    return lambda X: booster.inplace_predict(X, validate_features=False)


def _xgboost_fits(text: str, width: int, k: int) -> bool:
    learner = json.loads(text, object_pairs_hook=_once)["learner"]
    about, booster = learner["learner_model_param"], learner["gradient_booster"]
    kind, each, classes = ("binary:logistic", 1, "0") if k == 2 else ("multi:softprob", k, str(k))
    known = {"num_class": classes, "num_target": "1", "num_feature": str(width)}
    if learner["objective"]["name"] != kind or booster["name"] != "gbtree" or not known.items() <= about.items():
        return False
    model = booster["model"]
    owners, trees = model["tree_info"], model["trees"]
    # Of trees with dropout each one has a weight.
    fits = {len(owners), len(model.get("weight_drop") or trees)} == {len(trees)} and set(owners) <= {*range(each)}
    return fits and all(_xgboost_tree_fits(tree, width) for tree in trees)


def _xgboost_tree_fits(tree: Mapping[str, Any], width: int) -> bool:
    names = ("left_children", "right_children", "split_indices", "split_type", "default_left")
    left, right, feature, kind, _ = columns = [np.array(tree[name], dtype=np.int64) for name in names]
    about, n = tree["tree_param"], len(left)
    same = {len(one) for one in columns} | {len(tree["split_conditions"]), len(tree["base_weights"])}
    if same != {n} or int(about["num_nodes"]) != n or int(about["size_leaf_vector"]) > 1 or n == 0:
        return False
    inner = left != -1
    is_tree = _children_fit([*left[inner], *right[inner]], n)
    if not is_tree or (right[~inner] != -1).any() or not inside(feature, width):
        return False
    about_words = ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    nodes, begins, sizes, words = (np.array(tree[name], dtype=np.int64) for name in about_words)
    if not np.array_equal(np.sort(nodes), np.flatnonzero(inner & (kind != 0))) or not inside(words, 1 << 24):
        return False
    fits = np.array_equal(begins, np.cumsum(sizes) - sizes) and (sizes >= 0).all()
    return bool(fits and len(words) == sizes.sum())


def _write_catboost(trees: Any) -> str:
    # It writes this format into files alone.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trees.json")
        trees.save_model(str(path), format="json")
        return path.read_text(encoding="utf-8")


def _read_catboost(text: str) -> Callable[[Any], Any]:
    trees = import_module("catboost").CatBoostClassifier()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trees.json")
        path.write_text(text, encoding="utf-8")
        trees.load_model(str(path), format="json")
    return lambda X: trees.predict_proba(X, thread_count=1)


def _catboost_fits(text: str, width: int, k: int) -> bool:
    model = json.loads(text, object_pairs_hook=_once)
    features = model["features_info"]
    numbers = features["float_features"]
    if set(features) - {"float_features"} or "oblivious_trees" not in model or "trees" in model:
        return False
    if [one["feature_index"] for one in numbers] != [*range(width)]:
        return False
    known = {("FloatFeature", at, border) for at, one in enumerate(numbers) for border in one["borders"] or []}
    each = 1 if k == 2 else k
    if k > 2 and len(model["scale_and_bias"][1]) != k:
        return False
    for tree in model["oblivious_trees"]:
        splits = [(one["split_type"], one["float_feature_index"], one["border"]) for one in tree["splits"] or []]
        if len(tree["leaf_values"]) != each << len(splits) or len(splits) > 16 or not known.issuperset(splits):
            return False
    return True


class _Format(NamedTuple):
    """How a package writes and reads its classifier, and whether a text of so many features holds trees alone."""

    classifier: str
    write: Callable[[Any], str]
    read: Callable[[str], Callable[[Any], Any]]
    fits: Callable[[str, int, int], bool]


FORMATS = {
    "lightgbm": _Format("LGBMClassifier", _write_lightgbm, _read_lightgbm, _lightgbm_fits),
    "xgboost": _Format("XGBClassifier", _write_xgboost, _read_xgboost, _xgboost_fits),
    "catboost": _Format("CatBoostClassifier", _write_catboost, _read_catboost, _catboost_fits),
}
"""The formats by their packages."""
