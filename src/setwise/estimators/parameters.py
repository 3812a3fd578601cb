"""The values that parameters of linear estimators may take, as scikit-learn checks them."""

from numbers import Integral, Real
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval

from setwise.core.inference import Inference
from setwise.core.learner import Learner
from setwise.core.loss import Loss
from setwise.core.surrogate import Surrogate
from setwise.estimators.base import Names
from setwise.learners import LEARNERS
from setwise.losses import plain_losses
from setwise.surrogates import SURROGATES

CONSTRAINTS: dict[str, Any] = {
    "loss": [Names(set(plain_losses())), Loss],
    "surrogate": [Names({"auto", "convex", *SURROGATES}), Surrogate],
    "start": [Names({"auto", "zero", "logistic"}), LogisticRegression],
    "threshold": [Names({"zero", "exact"})],
    "learner": [Names({"auto", *LEARNERS}), Learner],
    "C": [Interval(Real, 0, None, closed="left"), Names({"auto"})],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
    "pos_label": "no_validation",
    "class_weight": [dict, Names({"balanced"}), None],
    "average": [Names({"samples", "macro", "micro"})],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
}

SHARED = (
    "loss", "surrogate", "learner", "C", "tol", "max_iter", "fit_intercept", "pos_label", "n_jobs", "random_state",
    "verbose", "warm_start", "start", "threshold",
)  # fmt: skip

GRAPH_CONSTRAINTS: dict[str, Any] = {name: CONSTRAINTS[name] for name in SHARED} | {
    "inference": [Names({"auto"}), Inference]
}
