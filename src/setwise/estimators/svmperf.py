"""SVMperf: the interface of QuaPy's wrapper around SVM^perf, without the program."""

from numbers import Real
from os import PathLike
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from setwise.core.checks import as_factor
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import QUANTIFICATION
from setwise.estimators.base import CONSTRAINTS, Names, VersionedEstimator, as_matrix, take_features, with_parameters
from setwise.estimators.set_classifier import SetClassifier
from setwise.estimators.sets import as_target, classes_of
from setwise.losses import AE, KLD, NKLD, QF1, QGM, RAE, FBeta, Q, QAcc, ZeroOne
from setwise.surrogates import MarginRescaling

NAMED: dict[str, Loss] = {
    "01": 0.01 * ZeroOne(),
    "f1": FBeta(),
    "kld": 0.01 * KLD(),
    "nkld": NKLD(),
    "q": Q(),
    "qacc": QAcc(),
    "qf1": QF1(),
    "qgm": QGM(),
    "mae": AE(),
    "mrae": RAE(),
}
"""The losses by the names that QuaPy gives them, on the scale of the program."""


@final
@with_parameters
class SVMperf(ClassifierMixin, VersionedEstimator):
    """``0.5 |w|^2 + C max_z [100 loss(y, z) + (100 / n) sum_i (z_i - y_i) f(x_i)]``, with ``f(x) = w x + b``.

    This is the objective of SVM^perf (Joachims 2005) for a sample of n rows with labels y of 0 and 1, and this class
    has the interface of ``quapy.classification.svmperf.SVMperf``, but no program is needed: it is
    ``SetClassifier(loss, MarginRescaling(loss, scale="size"), C=100 * C)``. The intercept b is one more weight, and
    regularized. A row is predicted positive if f is above 0. The maximum goes over all labelings z, and is exact for
    the losses that have a name here. (The program leaves out labelings without a loss, as those with as many misses as
    false alarms, so its own value may be smaller; in sets without positives its Q is 0 whatever is predicted.)

    In QuaPy it stands where its class of the same name does: ``CC(SVMperf(loss="q"))``, and ``newELM`` and its likes
    after ``quapy.method.aggregative.SVMperf = SVMperf``. As there, :meth:`score` is the accuracy, whatever ``loss`` is.

    Parameters
    ----------
    svmperf_base : the folder of the program in QuaPy; accepted and not read, because no program runs
    C : the weight of the risk, above 0
    verbose : whether to draw a progress bar on standard error
    loss : ``"01"`` (zero-one), ``"f1"``, ``"kld"``, ``"nkld"``, ``"q"``, ``"qacc"``, ``"qf1"``, ``"qgm"``, ``"mae"``
        (absolute error), ``"mrae"`` (relative absolute error), or a loss object. The program does not multiply the loss
        of ``"01"`` and of ``"kld"`` by 100, so these are ``0.01 * ZeroOne()`` and ``0.01 * KLD()``
    host_folder : where QuaPy stores models; accepted and not read, because nothing is written
    tol : the certified relative gap of the objective at which training stops
    max_iter : the largest number of iterations; a warning says if they did not suffice

    Attributes
    ----------
    coef_, intercept_ : (1, d) and (1,)
    classes_ : the two labels in sorted order; the second one is positive
    objective_, lower_bound_, duality_gap_ : the objective at the weights, a certified lower bound of its minimum, and
        the relative gap between them
    n_iter_, status_, stop_reason_ : the number of iterations, and why they ended, in a word and in a sentence
    n_features_in_, feature_names_in_ : the number of features, and their names if X has any

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, rows and labels that do not fit, and a single label
    Refusal : a ValueError by ``fit``, for more than two labels
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from setwise import SVMperf
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> y = [0, 0, 0, 0, 1, 0, 1, 1]
    >>> model = SVMperf(loss="f1", C=10.0).fit(X, y)
    >>> model.predict(X).tolist(), model.duality_gap_ <= 1e-4
    ([0, 0, 0, 0, 1, 1, 1, 1], True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "svmperf_base": [str, PathLike, None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "loss": [Names(set(NAMED)), Loss],
        "host_folder": [str, PathLike, None],
        "tol": CONSTRAINTS["tol"],
        "max_iter": CONSTRAINTS["max_iter"],
    }

    svmperf_base: Any = None
    C: float = 0.01
    verbose: bool = False
    loss: str | Loss = "01"
    host_folder: Any = None
    tol: float = 1e-4
    max_iter: int = 1000

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train on all rows as one set.

        A fit that raises an error leaves the estimator as it was. After Ctrl-C the best weights so far are stored, a
        warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : (n, d), dense or CSR
        y : (n,) with two labels, the second one in sorted order positive

        Returns
        -------
        self : the fitted classifier

        Raises
        ------
        ValueError : for parameters out of range, rows and labels that do not fit together, and a single label
        Refusal : a ValueError, for more than two labels
        TypeError : for features that are neither numbers nor text
        """
        self._validate_params()
        loss = NAMED[self.loss] if isinstance(self.loss, str) else self.loss
        model = SetClassifier(
            loss,
            MarginRescaling(loss, scale="size"),
            C=100.0 * as_factor(self.C, "C"),
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=int(self.verbose),
        )
        # The new model alone learns the columns of X here, so that a refusal leaves this estimator as it was.
        target = None if y is None else as_target(y)
        _check_two_labels(as_matrix(model, X, target, multi_output=True, ensure_all_finite=False)[1])
        try:
            model.fit(X, y)
        finally:
            # After Ctrl-C the model is fitted, and the interrupt goes on.
            if "coef_" in model.__dict__:
                self._keep(model)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """``f(x) = w x + b`` of the rows.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        scores : (n,)

        Raises
        ------
        ValueError : for rows that are not finite numbers, or have other features than in ``fit``
        TypeError : for features that are neither numbers nor text
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        return self._model.decision_function(X)

    def predict(self, X: Any) -> Any:
        """The labels of the rows: the second one of ``classes_`` where ``f(x)`` is above 0.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        labels : (n,) of ``classes_``

        Raises
        ------
        ValueError, TypeError, OverflowError : for rows that :meth:`decision_function` refuses
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        return self._model.predict(X)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy, ``sum of v_i over right rows / sum of v_i``, whatever ``loss`` is; weights v are 1 by default.

        So it is in QuaPy. For a measure of the whole sample take a loss of :mod:`setwise.losses` of :meth:`predict`, or
        ``SetClassifier``, whose score is ``1 - loss``.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``
        y : (n,) labels
        sample_weight : (n,) the weight of each row

        Returns
        -------
        score : one number from 0 to 1

        Raises
        ------
        ValueError : for labels and weights that do not fit the rows
        ValueError, TypeError, OverflowError : for rows that :meth:`decision_function` refuses
        NotFittedError : before ``fit``
        """
        return float(super().score(X, y, sample_weight))

    def _keep(self, model: SetClassifier) -> None:
        """Store a fitted model and what it says of itself."""
        self._model = model
        self.coef_, self.intercept_, self.classes_ = model.coef_, model.intercept_, model.classes_
        self.objective_, self.lower_bound_, self.duality_gap_ = model.objective_, model.lower_bound_, model.duality_gap_
        self.n_iter_, self.status_, self.stop_reason_ = model.n_iter_, model.status_, model.stop_reason_
        take_features(self, model)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def _check_two_labels(target: NDArray[Any]) -> None:
    """Raise Refusal where y has more than two labels, or is a label matrix."""
    matrix = target.ndim == 2 and target.shape[1] > 1
    if matrix or len(classes_of(target, None)) > 2:
        kind = "multilabel" if matrix else "multiclass"
        raise Refusal(
            f"Only binary classification is supported. The type of the target is {kind}: SVMperf takes y of two "
            "labels, and quapy.method.base.newOneVsAll makes such y of more.",
            QUANTIFICATION,
        )
