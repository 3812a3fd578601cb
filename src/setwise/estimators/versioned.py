"""What all estimators of setwise do when they are stored, read and cloned."""

from typing import Any, Self

from sklearn.base import BaseEstimator

import setwise
from setwise.estimators.notices import warn_of_version
from setwise.estimators.routing import warn_of_dropped_groups


class Versioned(BaseEstimator):
    """A base of estimators that warn of another version when they are read, and of dropped groups when cloned."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_setwise_version": setwise.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        warn_of_version(type(self).__name__, state.pop("_setwise_version", "unknown"))
        super().__setstate__(state)

    def __sklearn_clone__(self) -> Self:
        # With n_jobs the fits run in processes from which the groups of the splitter cannot be seen.
        warn_of_dropped_groups("fit", type(self).__name__)
        clone: Self = super().__sklearn_clone__()
        return clone
