"""setwise makes predictors good at measures that evaluate a whole set of decisions together, as F1 and Jaccard do.

Users of scikit-learn begin with ``MeasureClassifier`` and ``SetClassifier``. Their parts are in ``setwise.losses``,
``setwise.surrogates``, ``setwise.inference``, ``setwise.models``, ``setwise.risks``, ``setwise.learners`` and
``setwise.decisions``. The functions ``describe``, ``loss_augmented_inference`` and ``max_marginals`` answer questions
about one set.
"""

from importlib import import_module
from typing import Any

# The only place of the version: the build reads it from here.
__version__ = "0.1.0"

_HOMES = {
    "BinaryDenoiser": "setwise.estimators",
    "FileClassifier": "setwise.distributed",
    "GraphClassifier": "setwise.estimators",
    "IndependentSVMs": "setwise.estimators",
    "JointKernelSupport": "setwise.estimators",
    "LogSupermodularModel": "setwise.estimators",
    "MapRule": "setwise.estimators",
    "MeasureClassifier": "setwise.estimators",
    "MultilabelStructuredPredictor": "setwise.estimators",
    "PowersetSSVM": "setwise.estimators",
    "SSVM": "setwise.estimators",
    "SVMperf": "setwise.estimators",
    "SetClassifier": "setwise.estimators",
    "SetClassifierCV": "setwise.estimators",
    "ShiftWarning": "setwise.estimators",
    "VacuousBoundWarning": "setwise.estimators",
    "WeakSetClassifier": "setwise.estimators",
    "describe": "setwise.description",
    "gibbs_bound": "setwise.estimators",
    "loss_augmented_inference": "setwise.one_set",
    "max_marginals": "setwise.one_set",
}
_PACKAGES = (
    "losses",
    "surrogates",
    "inference",
    "models",
    "risks",
    "learners",
    "decisions",
    "probabilistic",
    "spaces",
    "distributed",
    "datasets",
    "graphs",
    "plotting",
    "torch",
    "boosting",
    "compare",
)

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """The attribute ``name``, which is imported when it is first asked for."""
    # So ``import setwise`` does not wait for the kernels and for scikit-learn.
    if name in _HOMES:
        # Python does not ask again for what the module holds.
        globals()[name] = getattr(import_module(_HOMES[name]), name)
        return globals()[name]
    if name in _PACKAGES:
        return import_module(f"setwise.{name}")
    raise AttributeError(f"module 'setwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES, "__version__"]
