"""What a checkpoint says of the fit of an estimator: its data, its loss and its parameters, each as a text."""

from collections.abc import Callable
from typing import Any

from setwise.core.checkpoint import Kept, opened
from setwise.estimators.said import described, of_rows
from setwise.estimators.training import Problem

NOT_SAID = frozenset({"loss", "tol", "max_iter", "n_jobs", "random_state", "verbose", "warm_start"})
"""Parameters that may change from a fit to the one that goes on; the loss is said with what it became for the data."""

Keep = Callable[[Problem], Kept | None]
"""A function that gives the checkpoint of a problem, or None."""


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
