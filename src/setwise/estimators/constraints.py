"""The values that the parameters of SetClassifier may have."""

from numbers import Integral, Real
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval, StrOptions

from setwise.core.evaluator import Surrogate
from setwise.core.learner import Learner
from setwise.core.measure import Loss
from setwise.learners import LEARNERS
from setwise.losses import plain_losses
from setwise.surrogates import SURROGATES

CONSTRAINTS: dict[str, Any] = {
    "loss": [StrOptions(set(plain_losses())), Loss],
    "surrogate": [StrOptions({"auto", "convex", *SURROGATES}), Surrogate],
    "start": [StrOptions({"auto", "zero", "logistic"}), LogisticRegression],
    "threshold": [StrOptions({"zero", "exact"})],
    "learner": [StrOptions({"auto", *LEARNERS}), Learner],
    "C": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
    "pos_label": "no_validation",
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "average": [StrOptions({"samples", "macro", "micro"})],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
}
