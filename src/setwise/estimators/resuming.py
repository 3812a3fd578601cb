"""What a checkpoint says of the fit of an estimator: its data, its loss and its parameters, each as a text."""

from collections.abc import Callable
from typing import Any

from setwise.core.checkpoint import OpenCheckpoint, opened
from setwise.core.loss import Loss
from setwise.estimators.said import described, of_rows
from setwise.estimators.training import Problem

NOT_SAID = frozenset(
    {"loss", "tol", "max_iter", "n_jobs", "random_state", "verbose", "warm_start", "client", "persist"}
)
"""Parameters that may change from a fit to the one that goes on; the loss is said with what it became for the data."""

Keep = Callable[[Problem], OpenCheckpoint | None]
"""A function that gives the checkpoint of a problem, or None."""


def about(model: Any, problem: Problem, groups: Any, sample_weight: Any) -> dict[str, str]:
    """The texts by which a checkpoint knows the fit of ``model`` again; O(n d)."""
    return about_rows(model, of_rows(problem.X, problem.target, groups, sample_weight), problem.score_loss)


def about_rows(model: Any, rows: dict[str, str], loss: Loss) -> dict[str, str]:
    """The same from the fingerprints of the rows, and the loss that is reported."""
    params = {name: value for name, value in model.get_params(deep=False).items() if name not in NOT_SAID}
    return {
        "estimator": type(model).__name__,
        **rows,
        "loss": described(loss),
        **{name: described(value) for name, value in params.items()},
    }


def keeper(model: Any, groups: Any, sample_weight: Any, checkpoint: Any, resume: bool) -> Keep:
    """The function that opens what ``fit(checkpoint=..., resume=...)`` of ``model`` asks for."""

    def keep(problem: Problem) -> OpenCheckpoint | None:
        return opened(checkpoint, resume, lambda: about(model, problem, groups, sample_weight))

    return keep


def no_file(problem: Problem) -> None:
    """The checkpoint of a fit that writes none."""
