"""What all estimators share: how they are stored and cloned, parameters, costs, warnings, threads, and rows."""

import os
import sys
import threading
import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, is_dataclass
from functools import lru_cache
from numbers import Integral, Real
from types import FrameType
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform, final

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, validate_data
from threadpoolctl import ThreadpoolController

import setwise
from setwise.core.checks import as_number
from setwise.core.exceptions import Refusal
from setwise.core.files import in_line
from setwise.core.learner import Fit, Learner
from setwise.core.loss import Loss
from setwise.core.pages import AFTER_A_FIT, CERTIFIED_GAP, GROUPS, NOT_CONVEX, ROW_COSTS
from setwise.core.surrogate import Surrogate
from setwise.estimators.checkpoints import UNROUTED
from setwise.kernels.jit import outside
from setwise.learners import LEARNERS
from setwise.losses.row_costs import RowCosts
from setwise.surrogates import SURROGATES

Made = TypeVar("Made")

LONG = 1e7
"""Rows of this length beside a constant feature of 1 are too long for the steps of the learners."""

SMALL = 1e-4
"""Features up to this size need weights so large that the regularizer leaves the constant one alone."""

SHORT = ("max_iter", "stalled")
"""How a fit ends short of its tolerance."""


def warn_of_end(name: str, fit: Fit, certified: bool, longest: float = 0.0) -> None:
    """Warn if a fit of the estimator ``name`` ended short of its tolerance, in its gap or in its descent.

    ``longest`` is the length of the longest row of features: where rows are too long, more iterations do not help.
    """
    scale = f"scale X, whose rows have norms of up to {longest:.0e}" if longest >= LONG else ""
    page = CERTIFIED_GAP if certified else NOT_CONVEX
    endings = {
        "max_iter": (f"{name} {fit.message}; {scale or 'raise max_iter or tol'}.", ConvergenceWarning, page),
        "stalled": (f"{name} stalled: {fit.message}{scale and f'; {scale}'}.", ConvergenceWarning, page),
        "interrupted": (f"{name} was {fit.message}.", RuntimeWarning, AFTER_A_FIT),
    }
    if fit.status in endings:
        words, kind, page = endings[fit.status]
        warnings.warn(words + page.see, kind, stacklevel=outside())


def largest_number(X: Any) -> float:
    """The largest size of a feature in X, dense or CSR; of its first rows, where one there is not small."""
    numbers = X.data if issparse(X) else X
    # Callers ask only whether all are small, and mostly the first ones say no.
    first = float(np.abs(numbers[:100]).max(initial=0.0))
    return first if first >= SMALL else float(max(numbers.max(initial=0.0), -numbers.min(initial=0.0)))


def way_from_constant(largest: float, usual: str) -> str:
    """What to do where a model is constant: ``usual``, or to scale features that are at most of size ``largest``."""
    return f"scale X up, whose numbers are at most {largest:.0e}" if 0.0 < largest < SMALL else usual


def warn_of_version(name: str, made: str) -> None:
    """Warn if the estimator ``name`` was stored by a version of setwise other than the one that reads it."""
    if made != setwise.__version__:
        warning = InconsistentVersionWarning(
            estimator_name=name,
            # scikit-learn writes these two into its sentence, where its own version would stand.
            current_sklearn_version=f"setwise {setwise.__version__}",
            original_sklearn_version=f"setwise {in_line(made)}",
        )
        warnings.warn(warning, stacklevel=3)


HOW_TO_ROUTE = (
    "Let them through: sklearn.set_config(enable_metadata_routing=True) and "
    "model.set_fit_request(groups=True).set_score_request(groups=True)."
)


def warn_of_dropped_groups(name: str, owner: str = "SetClassifier") -> None:
    """Warn if model selection of scikit-learn was given groups but calls the method ``name`` of ``owner`` without them.

    Without metadata routing, groups are given to the splitter alone. This can only be seen in the frames that call the
    estimator. In another process or thread these frames are missing, and there is no warning.
    """
    # With routing the user has said where groups go.
    if get_config().get("enable_metadata_routing"):
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith("sklearn.model_selection."):
            # cross_validate holds its groups in a variable, and search objects hold them among their parameters.
            given = frame.f_locals.get("groups")
            params = frame.f_locals.get("params")
            if given is None and isinstance(params, dict):
                given = params.get("groups")
            if given is not None:
                warnings.warn(
                    f"groups split the rows here but do not reach {owner}.{name}, which takes all rows as one "
                    f"set. {HOW_TO_ROUTE}{GROUPS.see}",
                    UserWarning,
                    stacklevel=3,
                )
                return
        frame = frame.f_back


def warn_of_forgotten_groups(name: str = "score") -> None:
    """Warn the caller of the method ``name`` without groups, where fit was given groups."""
    what = "takes all rows as one set" if name == "score" else "decides each row by itself, with a threshold"
    call = "score(X, y, groups=...)" if name == "score" else "predict(X, groups=...)"
    warnings.warn(
        f"{name} without groups {what}, but fit was given groups: pass {call}. Inside model selection: "
        f"{HOW_TO_ROUTE}{GROUPS.see}",
        UserWarning,
        stacklevel=3,
    )


class VersionedEstimator(BaseEstimator):
    """A base of estimators that warn of another version when they are read, and of dropped groups when cloned."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse a class that was made a dataclass: its constructor would take none of the parameters of its bases."""
        if is_dataclass(cls):
            raise TypeError(f"{cls.__name__} must not be a dataclass; write its __init__, as scikit-learn asks.")
        made: Self = super().__new__(cls)
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_setwise_version": setwise.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        warn_of_version(type(self).__name__, state.pop("_setwise_version", "unknown"))
        super().__setstate__(state)

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """Where the fit inside fails, the estimator is as it was."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def __sklearn_clone__(self) -> Self:
        # With n_jobs the fits run in processes from which the groups of the splitter cannot be seen.
        warn_of_dropped_groups("fit", type(self).__name__)
        clone: Self = super().__sklearn_clone__()
        return clone


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def with_parameters(kind: type[Made]) -> type[Made]:
    """A decorator of estimators: annotated attributes, those of bases first, are the parameters of the constructor.

    ``dataclass`` writes the constructor. But an estimator is none when it is done: whoever hashes dataclasses by their
    fields, as Dask does, would take two fits with equal parameters for one.
    """
    lineage: list[Any] = [kind, *(base for base in kind.__mro__ if "_parameters" in vars(base))]
    for base in lineage[1:]:
        base.__dataclass_fields__ = base._parameters
    try:
        dataclass(eq=False, repr=False, match_args=False)(kind)
        lineage[0]._parameters = lineage[0].__dataclass_fields__
    finally:
        for each in lineage:
            # A dataclass of Python 3.13 can be replaced, but by the fields that it has here no more.
            for name in {"__dataclass_fields__", "__replace__"} & set(vars(each)):
                delattr(each, name)
    return kind


@with_parameters
class LinearSetClassifier(ClassifierMixin, VersionedEstimator):
    """The first parameters of linear classifiers of rows in sets, in one place or in several."""

    __metadata_request__fit: ClassVar[dict[str, Any]] = UNROUTED

    loss: str | Loss = "jaccard"
    surrogate: str | Surrogate = "auto"
    learner: str | Learner = "auto"
    C: float | str = "auto"
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    pos_label: Any = None

    @property
    def _intercept(self) -> float:
        """The value of the constant feature, 0 for none."""
        return as_number(self.intercept_scaling, "intercept_scaling") if self.fit_intercept else 0.0


NO_COSTS: Mapping[str, Any] = {}
"""The costs of a method that was given none."""


def given_costs(costs: Mapping[str, Any]) -> tuple[str, ...]:
    """The cells whose costs a method was given, which are None for the others."""
    return tuple(cell for cell, cost in costs.items() if cost is not None)


def with_costs(loss: Loss, X: Any, costs: Mapping[str, Any], method: str, told: Collection[str] = ()) -> Loss:
    """The loss with the costs of the rows X: those that were given to ``method`` by their cells, or columns of X.

    ``told`` are the cells whose costs ``fit`` was given, which ``method`` must be given too.
    """
    given = {cell: costs[cell] for cell in given_costs(costs)}
    if isinstance(loss, RowCosts):
        known = [] if method == "fit" else [cell for cell in (*loss.arrays, *told) if cell not in given]
        try:
            if known:
                how = f"was given to fit as {known[0]}_cost" if known[0] in told else "has the costs of the rows of fit"
                raise ValueError(f"{known[0]} {how}, but {method} gets other rows.")
            return loss.read(X, **given)
        except ValueError as error:
            hint = ", or ask for single_threshold=True" if method == "predict" else ""
            raise ValueError(
                f"{error} Give {method} the costs of its rows, such as fn_cost=..., or name a column, such as "
                f"RowCosts(fn='amount'){hint}."
            ) from error
    if given:
        names = " and ".join(f"{cell}_cost" for cell in given)
        raise Refusal(f"{method} takes {names} with loss=RowCosts(...); the loss is {loss!r}.", ROW_COSTS)
    return loss


@final
class Names(StrOptions):
    """The names, which a refusal lists in the order of the alphabet."""

    options: set[str]

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


CONSTRAINTS: dict[str, Any] = {
    # What no loss is gets its sentence from as_loss.
    "loss": [str, Loss, callable],
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


def constraints_without(*names: str) -> dict[str, Any]:
    """The values of all parameters but those of these names."""
    return {name: values for name, values in CONSTRAINTS.items() if name not in names}


def take_features(model: Any, fitted: Any, *more: str) -> None:
    """Store the number and names of the features of another fitted estimator, and ``more``, as far as it has them."""
    for name in ("n_features_in_", "feature_names_in_", *more):
        model.__dict__.pop(name, None)
        if getattr(fitted, name, None) is not None:
            setattr(model, name, getattr(fitted, name))


SMALL_PRODUCT, SMALL_TABLE = 1 << 24, 1 << 19
"""Below so many multiplications, or numbers of a table, one thread is faster than several that must meet: beside two
busy processes boosted trees of 500 rows took .6 s with one thread, and more than a minute with two; twenty logistic
regressions of 800 rows of 6 numbers took .04 s of processor time, and .6 s.
"""


def blas_threads(multiplications: int, n_jobs: int | None) -> AbstractContextManager[None]:
    """Limit BLAS to one thread for small products and to ``n_jobs`` for large ones; None leaves large ones alone."""
    limit = 1 if multiplications < SMALL_PRODUCT else n_jobs
    return nullcontext() if limit is None else _limited(limits=limit, user_api="blas")


def base_threads(X: Any) -> AbstractContextManager[None]:
    """Limit OpenMP, as of boosted trees, and BLAS to one thread for rows ``X`` that hold few numbers."""
    # Rows may be anything that the base model reads, as a list of texts, or a table whose shape is not known.
    shape: Any = getattr(X, "shape", None)
    known = isinstance(shape, tuple) and all(isinstance(size, Integral) for size in shape)
    large = np.prod(shape if known else _num_samples(X)) >= SMALL_TABLE
    return nullcontext() if large else _limited(limits=1)


def threads(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` stands for: 1 for None, and the number of processors for -1."""
    if n_jobs == 0:
        raise ValueError("n_jobs must be a number of threads, -1 for all, or None; got 0.")
    return int(effective_n_jobs(n_jobs))


def end_with(parent: int) -> None:
    """End this process soon after the process ``parent`` ends, whose worker it is; its work is for nobody then.

    Workers of joblib run on otherwise where their parent is killed. Windows does not tell that a parent has ended, so
    there they run on.
    """
    if sys.platform == "win32":
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="end_with", daemon=True).start()


_LIMITING = threading.RLock()
"""Held while numbers of threads are set: OpenBLAS has a lock then that a child forked meanwhile would never get."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LIMITING.acquire, after_in_parent=_LIMITING.release, after_in_child=_LIMITING.release)


@contextmanager
def _limited(**limits: Any) -> Iterator[None]:
    with _LIMITING:
        limited = _controller(len(sys.modules)).limit(**limits)
        limited.__enter__()
    try:
        yield
    finally:
        with _LIMITING:
            limited.__exit__(None, None, None)


@lru_cache(1)
def _controller(modules: int) -> Any:
    """The object that sets the number of threads of the libraries of BLAS and OpenMP that so many modules have loaded.

    Finding the libraries takes milliseconds, so it is done again only after further modules were imported.
    """
    return ThreadpoolController()


def as_matrix(estimator: Any, X: Any, y: Any = "no_validation", **checks: Any) -> Any:
    """X (n, d), or X and y, as scikit-learn checks them: finite float64, dense or CSR."""
    try:
        # scikit-learn sums X to see whether all of it is finite, and huge numbers overflow harmlessly there.
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64, **checks)
    except (TypeError, ValueError, OverflowError) as error:
        # If X holds numbers, the sentence of scikit-learn is about something else, and fits.
        if _is_numeric(X):
            raise
        if isinstance(error, TypeError):
            raise TypeError("X must hold numbers: each argument must be a string of digits or a number.") from None
        raise ValueError("X must hold numbers that fit into float64, in rows of one length.") from None


def _is_numeric(X: Any) -> bool:
    """Whether NumPy can read X as an array of numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return issparse(X) or np.asarray(X, dtype=np.float64) is not None
    except (TypeError, ValueError, OverflowError):
        return False


def linear_scores(X: Any, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> NDArray[np.float64]:
    """``X coef^T + intercept``, (n, outputs); raises OverflowError if this is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(X @ coef.T + intercept)
    if not np.isfinite(scores).all():
        raise OverflowError("the scores of X are too large for float64; scale X down.")
    return scores
