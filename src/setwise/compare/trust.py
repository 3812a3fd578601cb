"""What a saved model may hold: which types are loaded, and trees whose nodes stay inside their arrays."""

import sys
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
from sklearn.gaussian_process.kernels import Kernel
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from setwise.compare.stored_booster import StoredBooster, fits_together
from setwise.estimators.selection.out_of_fold import ColumnScaling
from setwise.estimators.selection.strategies import Rule

PLAIN = frozenset(
    {
        "numpy.dtype",
        "scipy.sparse._csr.csr_matrix", "scipy.sparse._csr.csr_array",
        "scipy.sparse._csc.csc_matrix", "scipy.sparse._csc.csc_array",
        # Nodes of trees are checked by this module.
        "sklearn.tree._tree.Tree",
        # Boosted trees keep their check of the categories so.
        "functools.partial", "sklearn.utils.validation.check_array",
    }
)  # fmt: skip
"""The types and the one function beside the classes of setwise and scikit-learn that are written in Python."""

ASIDE = frozenset({"tests", "externals", "conftest", "_testing", "cli"})
"""Parts of the names of modules whose content no model needs."""

REPORTS = frozenset(
    {
        "_fit_X", "best_score_", "error_score", "loss_curve_", "oob_decision_function_", "oob_improvement_",
        "oob_prediction_", "oob_score_", "oob_scores_", "scores_", "train_score_", "validation_score_",
        "validation_scores_",
    }
)  # fmt: skip
"""What may be NaN in an estimator that predicts: how it did, and rows with gaps that neighbors are sought among."""

OWN = frozenset({"coef_", "intercept_"})
"""What an estimator of setwise predicts with, beside other objects; of its other figures some may not be known."""

FINITE = frozenset({"coef_", "coefs_", "dual_coef_", "theta_"})
"""Weights that are not infinite either; an intercept of inf calls all rows positive."""

BITSET = 8
"""The number of 32-bit words with which boosted trees write a set of categories."""


class UnsafeError(ValueError):
    """The content of a file could make scikit-learn read memory that is not its own."""


def is_known(name: str) -> bool:
    """Whether a type, named by its module and class, is one of ours, of scikit-learn's, or of :data:`PLAIN`.

    Only classes count that a loaded module itself defines in Python, so that no function can be smuggled in by the name
    of a module which imports it. The functions of ``sklearn.metrics`` are taken too, since scorers name them.
    """
    if name in PLAIN:
        return True
    module, _, attribute = name.rpartition(".")
    parts = module.split(".")
    # A name in a file imports nothing.
    home = sys.modules.get(module)
    if parts[0] not in ("setwise", "sklearn") or ASIDE & set(parts) or home is None:
        return False
    found = vars(home).get(attribute)
    if not (getattr(found, "__module__", None) == module and getattr(found, "__qualname__", None) == attribute):
        return False
    if isinstance(found, FunctionType):
        return parts[:2] == ["sklearn", "metrics"]
    return isinstance(found, type) and str(home.__file__).endswith(".py")


def check_content(root: object) -> None:
    """Raise UnsafeError if a tree or a sparse matrix inside an object points outside of its arrays.

    scikit-learn follows the nodes of trees without a check of their bounds.
    """
    for found in reachable(root):
        try:
            if issparse(found):
                found.check_format(full_check=True)
            for kind, (fitted, check) in _CHECKS.items():
                # An estimator that is not fitted is a pattern for others, and refuses to predict. Its properties are
                # not asked, since some of them walk along the trees.
                if isinstance(found, kind) and (not fitted or fitted in vars(found)) and not check(found):
                    raise UnsafeError("its nodes do not fit together")
        except Exception as error:
            raise UnsafeError(f"a {type(found).__name__} in it is damaged: {error}") from None


def not_numbers(root: object) -> str:
    """Words on the first NaN that an object predicts with, as ``"coef_ of its LogisticRegression"``, or ``""``.

    With such numbers most estimators label all rows alike, and say nothing. What only transforms may hold NaN, as the
    mean of a column of gaps.
    """
    for found in reachable(root):
        for name, value in _read_by_predict(found).items():
            for part in value if isinstance(value, list | tuple) else [value]:
                numbers = _as_numbers(part.data if issparse(part) else part)
                if np.isnan(numbers).any() or (name in FINITE and np.isinf(numbers).any()):
                    return f"{name} of its {type(found).__name__}"
    return ""


def _as_numbers(value: Any) -> Any:
    """The real or complex numbers that a value holds; none where it is something else, as text or whole numbers."""
    array = np.asarray(value if isinstance(value, float | complex | np.inexact | np.ndarray) else [])
    if array.dtype.kind == "O":
        array = np.array([one for one in array.ravel() if isinstance(one, float | complex | np.inexact)])
    return array if array.dtype.kind in "fc" else np.zeros(0)


def _read_by_predict(found: object) -> dict[str, Any]:
    """The attributes of an object that its predictions may depend on, by name; none if it does not predict."""
    if isinstance(found, Tree):
        return {"value": found.value, "threshold": found.threshold}
    if isinstance(found, TreePredictor):
        return {name: found.nodes[name] for name in ("value", "num_threshold")}
    if isinstance(found, Rule | ColumnScaling | Kernel):
        return vars(found)
    if not hasattr(type(found), "predict"):
        return {}
    own = type(found).__module__.startswith("setwise.")
    return {name: value for name, value in vars(found).items() if (name in OWN if own else name not in REPORTS)}


def reachable(root: object) -> Iterator[Any]:
    """The object and everything inside its attributes, containers and arrays, each once."""
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
            stack += getattr(found, "__dict__", {}).values()


def _inside(left: Any, right: Any, inner: Any, count: int) -> bool:
    """Whether the children of all inner nodes come after them and are among ``count`` nodes, so that walks end."""
    place = np.flatnonzero(inner)
    return all(bool((child[place] > place).all() and (child[place] < count).all()) for child in (left, right))


def _tree(tree: Any) -> bool:
    if not 0 < tree.node_count <= tree.capacity:
        return False
    inner = tree.children_left != -1
    used = tree.feature[inner]
    known = bool(((used >= 0) & (used < tree.n_features)).all())
    return known and _inside(tree.children_left, tree.children_right, inner, tree.node_count)


def _predictor(predictor: Any) -> bool:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    sets = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
    bits = [predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets]
    fits = all(b.ndim == 2 and b.shape[1] == BITSET and (sets < len(b)).all() for b in bits)
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    return nodes.ndim == 1 and len(nodes) > 0 and bool(fits) and _inside(left, right, inner, len(nodes))


def _decision_tree(model: Any) -> bool:
    return type(model.tree_) is Tree and model.tree_.n_features == model.n_features_in_


def _are_trees(model: Any, parts: Any) -> bool:
    return all(isinstance(part, BaseDecisionTree) and part.n_features_in_ == model.n_features_in_ for part in parts)


def _boosted(model: Any) -> bool:
    parts = model.estimators_
    # The scores of more than two classes begin with what the first estimator answers, whose shape is not known.
    begins = type(model.init_) is DummyClassifier or isinstance(model.init_, str)
    if not begins or parts.ndim != 2 or parts.shape[1] != 1 or model.n_trees_per_iteration_ != 1:
        return False
    return _are_trees(model, parts.ravel()) and all(part.tree_.n_outputs == 1 for part in parts.ravel())


def _hist_boosted(model: Any) -> bool:
    width, encoder = model.n_features_in_, model._preprocessor
    categorical = np.asarray(model._bin_mapper.is_categorical_) != 0
    row = np.zeros((1, width))
    if encoder is not None:
        # Categories are encoded before the trees see them, which must not take columns away.
        parts = encoder.named_transformers_.values() if type(encoder) is ColumnTransformer else [encoder]
        if not all(type(part) in (OrdinalEncoder, FunctionTransformer, str) for part in parts):
            return False
        row = encoder.transform(row)
    if categorical.shape != (width,) or row.shape != (1, width):
        return False
    for predictor in (one for stage in model._predictors for one in stage):
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        used = nodes["feature_idx"].astype(np.int64)
        if type(predictor) is not TreePredictor or ((used < 0) | (used >= width)).any():
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
    StoredBooster: ("", fits_together),
}
"""For each kind of object an attribute that it has once it can predict, and whether its parts fit together."""
