"""The values that the parameters of GraphClassifier may have."""

from typing import Any

from setwise.core.inference import Inference
from setwise.estimators.constraints import CONSTRAINTS
from setwise.estimators.names import Names

SHARED = (
    "loss", "surrogate", "learner", "C", "tol", "max_iter", "fit_intercept", "pos_label", "n_jobs", "random_state",
    "verbose", "warm_start", "start", "threshold",
)  # fmt: skip

GRAPH_CONSTRAINTS: dict[str, Any] = {name: CONSTRAINTS[name] for name in SHARED} | {
    "inference": [Names({"auto"}), Inference]
}
