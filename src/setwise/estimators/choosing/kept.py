"""Responses of base models to held-out rows, kept in a checkpoint as plain arrays."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

import numpy as np

from setwise.core.checkpoint import OpenCheckpoint, fingerprint, opened
from setwise.estimators.choosing.folds import Folds
from setwise.estimators.choosing.responses import Response
from setwise.estimators.said import described, of_rows

NOT_SAID = frozenset({"cv", "levers", "n_jobs", "random_state", "store_cv_results", "outer_cv"})
"""Parameters of which the responses do not depend; ``cv`` and ``random_state`` are said as the folds that they made."""


@final
class KeptResponses:
    """The responses of one base model on some rows and folds, by names; without a checkpoint none are kept.

    Parameters
    ----------
    kept : the part of a checkpoint, or None
    shape : the shape of a response, (n,) or (n, p)
    """

    def __init__(self, kept: OpenCheckpoint | None, shape: tuple[int, ...]) -> None:
        self._kept, self._shape = kept, shape

    def get(self, name: str) -> Response | None:
        """The response of this name, or None; ValueError if what the checkpoint holds is none."""
        if self._kept is None:
            return None
        found = self._kept.part(name).arrays
        if not found:
            return None
        labels, scores = found.get("labels"), found.get("scores")
        fits = _is(labels, np.bool_, self._shape) and _is(scores, np.float64, self._shape)
        if not fits or not _is(found.get("probability"), np.bool_, ()):
            raise ValueError(f"{self._kept.name} is no checkpoint of this fit: its {name} has another shape.")
        return Response(np.array(labels), np.array(scores), bool(found["probability"]))

    def put(self, name: str, response: Response) -> None:
        """Keep a response, and write the file if it is time to."""
        if self._kept is not None:
            probability = np.array(response.probability)
            arrays = {"labels": response.labels, "scores": response.scores, "probability": probability}
            self._kept.part(name).put(arrays)
            if self._kept.due:
                self._kept.write()


@contextmanager
def open_for_choice(
    model: Any, problem: Any, folds: Folds, sample_weight: Any, checkpoint: Any, resume: bool
) -> Iterator[OpenCheckpoint | None]:
    """The checkpoint that ``fit(checkpoint=..., resume=...)`` of ``model`` asks for, or None; written at the end.

    Raises ValueError where nothing would be kept, and for the file of another fit.
    """
    if checkpoint is not None and isinstance(model.cv, str):
        raise ValueError("checkpoint must be None with cv='prefit', where no fit is made that could be kept.")

    def about() -> dict[str, str]:
        params = {name: value for name, value in model.get_params(deep=False).items() if name not in NOT_SAID}
        rows = of_rows(problem.X, problem.target, problem.ids, sample_weight)
        said = {name: described(value) for name, value in params.items()}
        return {
            "class": type(model).__name__,
            **rows,
            **said,
            "folds": fingerprint(*(r for fold in folds for r in fold)),
        }

    kept = opened(checkpoint, resume, about)
    try:
        yield kept
    finally:
        if kept is not None:
            kept.write()


def _is(array: Any, kind: Any, shape: tuple[int, ...]) -> bool:
    return array is not None and array.dtype == kind and array.shape == shape
