"""A warning where scikit-learn gives groups to the splitter of a model selection, but not to the estimator."""

import sys
import warnings
from types import FrameType

from sklearn import get_config

from setwise.core.pages import GROUPS

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
        f"{name} without groups {what}, but fit was given groups: pass {call}. Inside model selection: {HOW_TO_ROUTE}"
        f"{GROUPS.see}",
        UserWarning,
        stacklevel=3,
    )
