"""The parameters that the linear baselines of MultilabelStructuredPredictor share."""

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from setwise.core.learner import Learner
from setwise.core.loss import Loss
from setwise.estimators.constraints import CONSTRAINTS
from setwise.estimators.linear_label_predictor import LinearLabelPredictor
from setwise.estimators.names import Names
from setwise.models.kernel_features import JointKernel, Kernel
from setwise.spaces import LargeSpace, Space

_SAME = ("loss", "learner", "tol", "max_iter", "fit_intercept", "intercept_scaling")


class LinearBaseline(LinearLabelPredictor):
    """A linear predictor of sets of labels with one convex objective, whose parameters have the usual meanings."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "space": [Space],
        "C": [Interval(Real, 0, None, closed="neither")],
        "label_bias": [Interval(Real, 0, None, closed="left")],
        "kernel": [Names({"linear"}), Kernel, JointKernel, callable],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    } | {name: CONSTRAINTS[name] for name in _SAME}

    def __init__(
        self,
        space: Space | LargeSpace,
        loss: str | Loss = "max",
        learner: str | Learner = "auto",
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        label_bias: float = 0.0,
        kernel: Any = "linear",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.space = space
        self.loss = loss
        self.learner = learner
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.label_bias = label_bias
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
