"""Groups that reach a splitter and not the estimator: seen, and said."""

import sys
import warnings
from types import FrameType

from sklearn import get_config

HOW = (
    "Let them through: sklearn.set_config(enable_metadata_routing=True) and "
    "model.set_fit_request(groups=True).set_score_request(groups=True)."
)


def warn_of_dropped_groups(name: str) -> None:
    """Warn where scikit-learn's model selection was given groups and passes none on to ``name``.

    Without metadata routing, groups go to the splitter alone. That is seen from the frames that call the estimator; in
    another process or thread there are none.
    """
    if get_config().get("enable_metadata_routing"):
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith("sklearn.model_selection."):
            given = frame.f_locals.get("groups")
            params = frame.f_locals.get("params")
            if given is None and isinstance(params, dict):
                given = params.get("groups")
            if given is not None:
                warnings.warn(
                    f"groups split the rows here but do not reach SetClassifier.{name}, which takes all rows as one "
                    f"set. {HOW}",
                    UserWarning,
                    stacklevel=3,
                )
                return
        frame = frame.f_back


def warn_of_forgotten_groups() -> None:
    """Warn the caller of a score without groups, where fit was given groups."""
    warnings.warn(
        "score without groups takes all rows as one set, but fit was given groups: pass score(X, y, groups=...). "
        f"Inside model selection: {HOW}",
        UserWarning,
        stacklevel=3,
    )
