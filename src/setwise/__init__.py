"""setwise: predictors trained for the measure they are judged by, when it judges a set of decisions together.

``from setwise import SetClassifier`` is the way in for users of scikit-learn. ``setwise.losses``,
``setwise.surrogates``, ``setwise.inference``, ``setwise.models``, ``setwise.risks`` and ``setwise.learners`` hold the
parts it is made of; ``describe``, ``loss_augmented_inference`` and ``max_marginals`` answer questions about one set.
"""

from importlib import import_module
from typing import Any

# The only place of the version: the build reads it from here.
__version__ = "0.1.0"

_HOMES = {
    "SetClassifier": "setwise.estimators",
    "describe": "setwise.description",
    "loss_augmented_inference": "setwise.one_set",
    "max_marginals": "setwise.one_set",
}
_ROOMS = (
    "losses",
    "surrogates",
    "inference",
    "models",
    "risks",
    "learners",
    "datasets",
    "plotting",
    "compare",
    "experiments",
)

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Rooms and names are imported when first asked for: ``import setwise`` itself is instant."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"setwise.{name}")
    raise AttributeError(f"module 'setwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
