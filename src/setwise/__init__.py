"""setwise: predictors trained for the measure they are judged by, when it judges a set of decisions together.

``from setwise import SetClassifier`` is the way in for users of scikit-learn. ``setwise.losses``,
``setwise.surrogates``, ``setwise.inference``, ``setwise.models`` and ``setwise.learners`` hold the parts it is made of.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["SetClassifier"]

_ROOMS = ("losses", "surrogates", "inference", "models", "learners", "datasets", "plotting", "experiments")


def __getattr__(name: str) -> Any:
    """Rooms and the estimator are imported when first asked for: ``import setwise`` itself is instant."""
    if name == "SetClassifier":
        return import_module("setwise.estimators").SetClassifier
    if name in _ROOMS:
        return import_module(f"setwise.{name}")
    raise AttributeError(f"module 'setwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
