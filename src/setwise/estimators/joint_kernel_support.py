"""JointKernelSupport: where pairs of inputs and true labels lie, by a one-class SVM."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.metrics.pairwise import linear_kernel
from sklearn.svm import OneClassSVM
from sklearn.utils._param_validation import Interval

from setwise.core.batch import Batch
from setwise.core.checks import Values, as_number, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LABEL_SPACES
from setwise.estimators.constraints import CONSTRAINTS
from setwise.estimators.label_predictor import LabelPredictor
from setwise.estimators.large_labels import lowered, right_pairs
from setwise.estimators.names import Names
from setwise.estimators.rows import as_matrix, linear_scores
from setwise.models.kernel_features import CHECKED, SLIP, Kernel
from setwise.spaces import LargeSpace, Space
from setwise.spaces.spaces import members


@final
class JointKernelSupport(LabelPredictor):
    """``{y : f(x, y) > rho}``, where f minimizes ``0.5 |w|^2 - nu m (mean of the smallest nu m of f over m pairs)``.

    Every row with each of its true labels is one of m pairs, and ``f(x, y) = <w, psi(x, y)>``. This is a one-class SVM
    on the pairs (JKSE, Lampert and Blaschko 2009), solved by ``sklearn.svm.OneClassSVM`` with the kernel
    ``k(x, x') <kappa(y), kappa(y')>``; rho is its threshold, close to the score that a share nu of the pairs has at
    most. Labels that are not true are never seen. No constant is added to the features: a label is scored the higher,
    the more often it is true nearby.

    Memory is 8 m^2 bytes for the kernel of the pairs; prediction evaluates k for rows, never for pairs.

    Parameters
    ----------
    space : the labels and their features, as :class:`setwise.spaces.Finite`
    loss : the loss of labels that :meth:`score` measures; it does not enter the training
    nu : above 0 and below 1; at most this share of the pairs has scores below rho, up to the tolerance
    kernel : ``"linear"``, or a function of rows (n, d) and (m, d) that returns k (n, m), positive semidefinite
    tol : the absolute tolerance of the solver, above 0, in the unit of a kernel that is 1 on average between a pair and
        itself

    Attributes
    ----------
    support_ : (k, 2) the row and the column of the label of each pair with a weight, where labels are listed
    dual_coef_ : (k,) the weights of these pairs, in (0, 1], whose sum is nu m
    rho_ : the threshold; :meth:`decision_function` is f - rho
    coef_ : (q, d) for the linear kernel, f(x, y) = kappa(y)^T W x; all weights in large spaces
    space_, loss_ : the space, and the loss that :meth:`score` measures
    n_features_in_, feature_names_in_ : the number of features, and their names if X has any

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and inputs and sets of labels that do not fit together
    Refusal : a ValueError by ``fit``, where space, loss and kernel do not fit each other
    TypeError : by ``fit``, for labels that are no collections
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    Inputs in the direction of the red ones are red, and one between the two directions has no label:

    >>> from setwise import JointKernelSupport
    >>> from setwise.spaces import Finite
    >>> X = [[0.0, 1.0], [0.0, 1.2], [0.0, 1.4], [1.0, 0.0], [1.2, 0.0], [1.4, 0.0]]
    >>> Y = [["red"]] * 3 + [["blue"]] * 3
    >>> model = JointKernelSupport(Finite(["red", "blue"]), nu=0.4).fit(X, Y)
    >>> model.predict([[0.0, 2.0], [2.0, 0.0], [0.5, 0.5]])
    [['red'], ['blue'], []]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "space": [Space, LargeSpace],
        "loss": CONSTRAINTS["loss"],
        "nu": [Interval(Real, 0, 1, closed="neither")],
        "kernel": [Names({"linear"}), Kernel, callable],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        space: Space | LargeSpace,
        loss: str | Loss = "max",
        nu: float = 0.5,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        tol: float = 1e-3,
    ) -> None:
        self.space = space
        self.loss = loss
        self.nu = nu
        self.kernel = kernel
        self.tol = tol

    def fit(self, X: Any, Y: Any) -> Self:
        """Train on rows with sets of labels.

        Parameters
        ----------
        X : (n, d), dense or CSR; in large spaces what the space takes
        Y : a list of n collections of labels, one or more of them not empty, or an array (n, p) of 0 and 1

        Returns
        -------
        self : the fitted estimator

        Raises
        ------
        ValueError : for parameters out of range, inputs and sets of labels that do not fit together, sets of which all
            are empty, and a kernel that is not symmetric and positive semidefinite
        Refusal : a ValueError, for kernels but ``"linear"`` in large spaces, and losses that do not read labels
        TypeError : for features that are neither numbers nor text, and labels that are no collections
        OverflowError : where products of rows are too large for float64
        """
        self._validate_params()
        with self._unchanged_by_errors():
            return self._fit(X, Y)

    def _listed_scores(self, X: Any) -> NDArray[np.float64]:
        assert isinstance(self.space_, Space)
        X, kappa = as_matrix(self, X, reset=False), self.space_.kappa
        if not isinstance(self.kernel_, str):
            return np.asarray(_values(self.kernel_, X, self._rows) @ self._alpha - self.rho_)
        scores = linear_scores(X, self.coef_, np.zeros(len(self.coef_)))
        return np.asarray((scores if kappa is None else scores @ kappa.T) - self.rho_)

    def _bound_scores(self, X: Any) -> tuple[Batch, Values]:
        layout, features = self._bind(X, 0.0)
        return layout, lowered(layout, features.scores(self.coef_), self.rho_)

    def _fit(self, X: Any, Y: Any) -> Self:
        """The fit, for parameters that are checked."""
        loss, tol = self._loss_of_labels(self.loss), as_number(self.tol, "tol", low=0.0, open_low=True)
        if isinstance(self.space, LargeSpace):
            return self._fit_large(X, Y, loss, tol)
        truth = self.space.encode(Y)
        X, truth = as_matrix(self, X, truth, multi_output=True)
        if not truth.any():
            raise ValueError(f"Y must hold a true label in one row or more; got {len(truth)} empty sets.")
        pairs, kappa = np.argwhere(truth), self.space.kappa
        labels = np.eye(len(self.space)) if kappa is None else kappa @ kappa.T
        used, rows = np.unique(pairs[:, 0], return_inverse=True)
        own = _values(self.kernel, X[used], X[used])
        _check_kernel(own)
        gram = own[np.ix_(rows, rows)]
        gram *= labels[np.ix_(pairs[:, 1], pairs[:, 1])]
        found, self.rho_ = _one_class(gram, self.nu, tol)
        self.space_, self.loss_, self.kernel_ = self.space, loss, self.kernel
        self.support_, self.dual_coef_ = pairs[found.support_], found.dual_coef_[0].copy()
        # The pairs of one row share its kernel, so their weights become one row of alpha.
        kept, places = np.unique(self.support_[:, 0], return_inverse=True)
        alpha = np.zeros((len(kept), len(self.space)))
        alpha[places, self.support_[:, 1]] = self.dual_coef_
        if isinstance(self.kernel, str):
            self.coef_ = np.ascontiguousarray((X[kept].T @ (alpha if kappa is None else alpha @ kappa)).T)
        else:
            self._rows, self._alpha = X[kept], alpha @ labels
        return self

    def _fit_large(self, X: Any, Y: Any, loss: Loss, tol: float) -> Self:
        """The fit where labels are not listed, on the features of inputs with their right labels."""
        if not isinstance(self.kernel, str):
            raise Refusal(
                f"kernel={self.kernel!r} refuses {type(self.space).__name__}: the features of its labels make the "
                "scores that are searched. Use kernel='linear'.",
                LABEL_SPACES,
            )
        assert isinstance(self.space, LargeSpace)
        X, Y = members(X, "X", "a list of inputs"), members(Y, "Y", "a list of collections of labels")
        layout, features = self.space.bind(X, Y, 0.0)
        pairs = right_pairs(layout, features)
        if not len(pairs):
            raise ValueError(f"Y must hold a true label for one input or more; got {len(layout)} empty sets.")
        found, self.rho_ = _one_class(pairs @ pairs.T, self.nu, tol)
        self.space_, self.loss_, self.widths_ = self.space, loss, self.space.widths(X)
        self.dual_coef_ = found.dual_coef_[0].copy()
        self.coef_ = self.dual_coef_ @ pairs[found.support_]
        return self


def _check_kernel(K: Values) -> None:
    """Raise ValueError for what is no kernel of rows with themselves; of many rows a part is looked at."""
    some = K if len(K) <= CHECKED else K[:: -(-len(K) // CHECKED), :: -(-len(K) // CHECKED)]
    scale = float(np.abs(K).max())
    if (np.abs(K - K.T) > SLIP * scale).any() or np.linalg.eigvalsh(some / max(scale, 1e-300))[0] < -SLIP * len(some):
        raise ValueError("kernel must be symmetric and positive semidefinite; got values that no features have.")


def _one_class(gram: Values, nu: float, tol: float) -> tuple[OneClassSVM, float]:
    """The one-class SVM of pairs by their kernel, and its threshold.

    Its weights do not depend on the scale of the kernel, but the tolerance of the solver does: the kernel of a pair
    with itself is 1 on average there.
    """
    scale = float(np.diag(gram).mean())
    scale = scale if scale > 0.0 else 1.0
    found = OneClassSVM(kernel="precomputed", nu=nu, tol=tol).fit(gram / scale)
    return found, scale * float(found.offset_[0])


def _values(kernel: Any, A: Any, B: Any) -> Values:
    """The kernel of the rows of A and B."""
    if not isinstance(kernel, str):
        found = (kernel.function if isinstance(kernel, Kernel) else kernel)(A, B)
        return as_reals(found.toarray() if issparse(found) else found, "kernel(A, B)", (A.shape[0], B.shape[0]))
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(linear_kernel(A, B, dense_output=True))
    if not np.isfinite(found).all():
        raise OverflowError("products of rows of X are too large for float64; scale X down.")
    return found
