"""What a saved model may hold: which types are loaded, and trees whose nodes stay inside their arrays."""

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.metrics._scorer import _BaseScorer
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree
from sklearn.utils.validation import check_array

from setwise.compare.stored_booster import StoredBooster, fits_together, inside

PLAIN = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_matrix", "scipy.sparse._csr.csr_array",
    "scipy.sparse._csc.csc_matrix", "scipy.sparse._csc.csc_array",
    # Nodes of trees are checked by this module.
    "sklearn.tree._tree.Tree",
    # Boosted trees keep their check of the categories so.
    "functools.partial",
)  # fmt: skip
"""The types beside the classes of setwise and scikit-learn that are written in Python."""

FUNCTIONS = (
    "sklearn.metrics", "sklearn.metrics.cluster", "sklearn.metrics.pairwise", "sklearn.feature_selection",
    "sklearn.preprocessing", "scipy.special",
)  # fmt: skip
"""The modules whose public functions are data by name: they compute from arrays, and touch no files."""

NAMED = frozenset({
    "sklearn.utils.validation.check_array",
    "sklearn.cluster._kmeans._kmeans_single_lloyd", "sklearn.cluster._kmeans._kmeans_single_elkan",
    *(f"numpy.{name}" for name in (
        "amax", "amin", "around", "average", "clip", "cumsum", "diff", "max", "mean", "median", "min", "nan_to_num",
        "nanmax", "nanmean", "nanmedian", "nanmin", "nanstd", "nansum", "nanvar", "prod", "ptp", "ravel", "round",
        "std", "sum", "var",
    )),
})  # fmt: skip
"""Further functions of this kind. The universal functions of NumPy and SciPy, as ``numpy.log1p``, are those of skops.
"""

SCORING = frozenset({"scoring", "scorer_", "_scorer", "_curve_scorer"})
"""The attributes that hold scorers, which no prediction calls. A scorer calls any method of what it is given."""

ASIDE = frozenset({"tests", "externals", "conftest", "_testing", "cli"})
"""Parts of the names of modules whose content no model needs."""

WEIGHTS = ("coef_", "intercept_", "coefs_", "intercepts_", "theta_", "var_")
"""What linear models, networks and naive Bayes predict with."""

BITSET = 8
"""The number of 32-bit words with which boosted trees write a set of categories."""


def is_known(name: str) -> bool:
    """Whether a type, named by its module and class, is one of ours, of scikit-learn's, or of :data:`PLAIN`.

    Only classes count that a loaded module itself defines in Python, so that no function can be smuggled in by the name
    of a module which imports it. Functions are those of :func:`is_function`.
    """
    if name in PLAIN or is_function(name):
        return True
    module, _, attribute = name.rpartition(".")
    found, parts = _defined(module, attribute), module.split(".")
    if parts[0] not in ("setwise", "sklearn") or ASIDE & set(parts) or not isinstance(found, type):
        return False
    return str(sys.modules[module].__file__).endswith(".py")


def is_function(name: str) -> bool:
    """Whether this names a function that is data: a model that holds it may call it with rows."""
    module, _, attribute = name.rpartition(".")
    found = _defined(module, attribute)
    return name in NAMED or (
        isinstance(found, FunctionType)
        and any(module.startswith(home) and _public(home, attribute) is found for home in FUNCTIONS)
    )


def _defined(module: str, attribute: str) -> Any:
    """What a loaded module itself defines under a name, or None. A name in a file imports nothing."""
    found = vars(sys.modules[module]).get(attribute) if module in sys.modules else None
    own = getattr(found, "__module__", None) == module and getattr(found, "__qualname__", None) == attribute
    return found if own else None


def _public(home: str, attribute: str) -> Any:
    known = home in sys.modules and not attribute.startswith("_")
    return vars(sys.modules[home]).get(attribute) if known else None


def check_content(root: object) -> None:
    """Raise ValueError if a tree or a sparse matrix inside an object points outside of its arrays.

    scikit-learn follows the nodes of trees without a check of their bounds. Nor may it call anything but the functions
    that are data.
    """
    if any(isinstance(found, _BaseScorer) for found in reachable(root, SCORING)):
        raise ValueError("a scorer stands where a function may be called")
    for found in reachable(root):
        try:
            if issparse(found):
                found.check_format(full_check=True)
            for kind, (fitted, check) in _CHECKS.items():
                # An estimator that is not fitted is a pattern for others, and refuses to predict. Its properties are
                # not asked, since some of them walk along the trees.
                if isinstance(found, kind) and (not fitted or fitted in vars(found)) and not check(found):
                    raise ValueError("its nodes do not fit together")
        except Exception as error:
            raise ValueError(f"a {type(found).__name__} in it is damaged: {error}") from None


def not_numbers(root: object) -> str:
    """Words on the first weights inside an object that are NaN, as ``"coef_ of its LogisticRegression"``, or ``""``.

    With such weights most estimators label all rows alike, and say nothing.
    """
    for found in reachable(root):
        for name in WEIGHTS:
            held: Any = getattr(found, "__dict__", {}).get(name)
            for part in held if isinstance(held, list) else [held]:
                weights = np.asarray(part.data if issparse(part) else part)
                if weights.dtype.kind in "fc" and np.isnan(weights).any():
                    return f"{name} of its {type(found).__name__}"
    return ""


def reachable(root: object, without: frozenset[str] = frozenset()) -> Iterator[Any]:
    """The object and everything inside its attributes, but those ``without``, containers and arrays, each once."""
    stack: list[Any] = [root]
    seen: dict[int, Any] = {}
    while stack:
        found = stack.pop()
        # What was seen is kept, so that no other object gets its id.
        if isinstance(found, str | bytes | int | float | type) or found is None or id(found) in seen:
            continue
        seen[id(found)] = found
        yield found
        if isinstance(found, dict):
            stack += [*found.keys(), *found.values()]
        elif isinstance(found, list | tuple | set | frozenset):
            stack += found
        elif isinstance(found, np.ndarray):
            stack += found.ravel().tolist() if found.dtype == object else []
        elif isinstance(found, partial):
            stack += [found.func, found.args, found.keywords]
        else:
            stack += [held for name, held in getattr(found, "__dict__", {}).items() if name not in without]


def _goes_on(left: Any, right: Any, inner: Any, count: int) -> bool:
    """Whether the children of all inner nodes come after them and are among ``count`` nodes, so that walks end."""
    place = np.flatnonzero(inner)
    return all(bool((child[place] > place).all() and (child[place] < count).all()) for child in (left, right))


def _tree(tree: Any) -> bool:
    if not 0 < tree.node_count <= tree.capacity or np.isnan(tree.value).any() or np.isnan(tree.threshold).any():
        return False
    inner = tree.children_left != -1
    known = inside(tree.feature[inner], tree.n_features)
    return known and _goes_on(tree.children_left, tree.children_right, inner, tree.node_count)


def _predictor(predictor: Any) -> bool:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    sets = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
    bits = [predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets]
    fits = all(b.ndim == 2 and b.shape[1] == BITSET and (sets < len(b)).all() for b in bits)
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    fits = fits and not np.isnan(nodes["value"]).any()
    return nodes.ndim == 1 and len(nodes) > 0 and bool(fits) and _goes_on(left, right, inner, len(nodes))


def _decision_tree(model: Any) -> bool:
    return type(model.tree_) is Tree and model.tree_.n_features == model.n_features_in_


def _are_trees(model: Any, parts: Any) -> bool:
    return all(isinstance(part, BaseDecisionTree) and part.n_features_in_ == model.n_features_in_ for part in parts)


def _boosted(model: Any) -> bool:
    parts, k = model.estimators_, model.n_trees_per_iteration_
    begins = type(model.init_) is DummyClassifier or isinstance(model.init_, str)
    if not begins or parts.ndim != 2 or parts.shape[1] != k:
        return False
    # The scores begin with what the first estimator answers; trees add to as many columns as there are classes.
    first = np.asarray(model._raw_predict_init(np.zeros((1, model.n_features_in_))))
    trees = _are_trees(model, parts.ravel()) and all(part.tree_.n_outputs == 1 for part in parts.ravel())
    return trees and first.shape == (1, k) and first.dtype == np.float64


def _function(held: Any) -> bool:
    """Whether this is None, a function, or one with some of its arguments, which are no functions."""
    if isinstance(held, partial):
        given = (*held.args, *held.keywords.values())
        return not isinstance(held.func, partial) and _function(held.func) and not any(map(callable, given))
    return held is None or isinstance(held, FunctionType | np.ufunc | type(np.clip))


def _checks_numbers(held: Any) -> bool:
    """Whether this is None, or scikit-learn's check of an array, with arguments."""
    return held is None or (isinstance(held, partial) and held.func is check_array and _function(held))


def _hist_boosted(model: Any) -> bool:
    width, encoder = model.n_features_in_, model._preprocessor
    categorical = np.asarray(model._bin_mapper.is_categorical_) != 0
    row = np.zeros((1, width))
    if encoder is not None:
        # Categories are encoded before the trees see them, which must not take columns away.
        one = type(encoder) is not ColumnTransformer
        parts = [("", encoder, slice(None))] if one else encoder.transformers_
        if not all(type(part) in (OrdinalEncoder, FunctionTransformer, str) for _, part, _ in parts):
            return False
        for _, part, places in parts:
            # Nothing else is called while a file is loaded.
            if not _checks_numbers(getattr(part, "func", None)):
                return False
            known = getattr(part, "categories_", [])
            # What was fitted to words refuses numbers.
            if any(words.dtype.kind not in "biuf" for words in known):
                row = row.astype(object)
                row[0, places] = [words[0] for words in known]
        with warnings.catch_warnings():
            # Names of columns do not matter to the width.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            row = encoder.transform(row)
    if categorical.shape != (width,) or row.shape != (1, width):
        return False
    for predictor in (one for stage in model._predictors for one in stage):
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        used = nodes["feature_idx"].astype(np.int64)
        if type(predictor) is not TreePredictor or not inside(used, width):
            return False
        if not categorical[used[nodes["is_categorical"] != 0]].all():
            return False
    return True


_CHECKS: dict[type, tuple[str, Callable[[Any], bool]]] = {
    Tree: ("", _tree),
    TreePredictor: ("nodes", _predictor),
    BaseDecisionTree: ("tree_", _decision_tree),
    BaseForest: ("estimators_", lambda model: _are_trees(model, model.estimators_)),
    BaseGradientBoosting: ("estimators_", _boosted),
    BaseHistGradientBoosting: ("_predictors", _hist_boosted),
    FunctionTransformer: ("", lambda step: _function(step.func) and _function(step.inverse_func)),
    partial: ("", _function),
    StoredBooster: ("", fits_together),
}
"""For each kind of object an attribute that it has once it can predict, and whether its parts fit together."""
