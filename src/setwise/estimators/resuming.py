"""What a checkpoint says of the fit of an estimator: its data, its loss and its parameters, each as a text."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from scipy.sparse import issparse
from sklearn.utils.metadata_routing import UNUSED

from setwise.core.checkpoint import Kept, opened
from setwise.core.fingerprint import fingerprint
from setwise.estimators.training import Problem

NOT_SAID = frozenset({"loss", "tol", "max_iter", "n_jobs", "random_state", "verbose", "warm_start"})
"""Parameters that may change from a fit to the one that goes on; the loss is said with what it became for the data."""

UNROUTED = {"checkpoint": UNUSED, "resume": UNUSED}
"""Metadata routing does not send these to ``fit``: one file belongs to one fit, and routes lead to many."""

Keep = Callable[[Problem], Kept | None]
"""A function that gives the checkpoint of a problem, or None."""

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def about(model: Any, problem: Problem, groups: Any, sample_weight: Any) -> dict[str, str]:
    """The texts by which a checkpoint knows the fit of ``model`` again; O(n d)."""
    params = {name: value for name, value in model.get_params(deep=False).items() if name not in NOT_SAID}
    return {
        "estimator": type(model).__name__,
        **of_rows(problem.X, problem.target, groups, sample_weight),
        "loss": described(problem.score_loss),
        **{name: described(value) for name, value in params.items()},
    }


def keeper(model: Any, groups: Any, sample_weight: Any, checkpoint: Any, resume: bool) -> Keep:
    """The function that opens what ``fit(checkpoint=..., resume=...)`` of ``model`` asks for."""

    def keep(problem: Problem) -> Kept | None:
        return opened(checkpoint, resume, lambda: about(model, problem, groups, sample_weight))

    return keep


def no_file(problem: Problem) -> None:
    """The checkpoint of a fit that writes none."""


def of_rows(X: Any, y: Any, groups: Any, sample_weight: Any) -> dict[str, str]:
    """The fingerprints of the arguments of ``fit``."""
    rows = {"y": y, "groups": groups, "sample_weight": sample_weight}
    return {"X": fingerprint(*_arrays(X))} | {name: fingerprint(values) for name, values in rows.items()}


def described(value: Any) -> str:
    """``repr(value)``, which for an object without a repr of its own names its class."""
    return ADDRESS.sub("", repr(value))


def _arrays(X: Any) -> Iterable[Any]:
    return (X.shape, X.data, X.indices, X.indptr) if issparse(X) else (X,)
