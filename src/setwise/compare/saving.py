"""The recommended model as one that is saved."""

from pathlib import Path

import numpy as np

from setwise.compare.answer import Answer
from setwise.compare.bases import BASES
from setwise.compare.saved import SavedModel, as_saved_path, require_skops, save_model
from setwise.core.files import require_folder
from setwise.estimators import MeasureClassifier


def check_place(path: Path) -> None:
    """Refuse before the work what could not be saved after it.

    Raises
    ------
    ValueError, OSError : for another ending than ``.skops``, a folder that does not exist, or without skops
    """
    require_skops(f"to save {as_saved_path(path).name}")
    require_folder(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")


def save(found: Answer, path: Path, group: str | None) -> Path:
    """Write the recommendation of an answer to a file, from which ``setwise predict`` labels new rows."""
    return save_model(saved_model(found, group), path)


def saved_model(found: Answer, group: str | None) -> SavedModel:
    """The recommendation with what it needs to label new rows.

    A threshold stands beside the fitted base model. What is more than a threshold is fitted once more, by the
    :class:`setwise.MeasureClassifier` that the code in Python makes.
    """
    problem, winner = found.problem, found.winner
    X, places = problem.X, problem.places
    width = X.shape[1] if places is None else problem.width
    at = winner.threshold
    simple = at is not None or winner.key[1] in ("as_it_is", "order")
    return SavedModel(
        winner.fitted if simple else _fitted_anew(found),
        problem.classes,
        found.measured.name,
        problem.columns,
        0 if problem.columns else width,
        problem.first,
        places,
        response="predict_proba" if simple else "predict",
        threshold=None if at is None else tuple(map(float, at)) if np.ndim(at) else float(at),
        many=problem.many,
        group=group,
        joint=winner.joint and problem.groups is not None,
    )


def _fitted_anew(found: Answer) -> MeasureClassifier:
    problem, winner, plan = found.problem, found.winner, found.plan
    base = BASES[winner.key[0]].build(problem, winner.constant, plan.seed)
    model = MeasureClassifier(
        base, found.measured.loss, [winner.key[1]], plan.inner, average=found.measured.average, n_jobs=plan.n_jobs
    )
    return model.fit(problem.X, problem.y if problem.many else problem.y.ravel(), groups=problem.groups)
