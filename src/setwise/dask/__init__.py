"""Classifiers and decisions for measures of whole sets whose rows lie on the workers of a Dask cluster."""

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
except ModuleNotFoundError as error:
    # Of a Dask that is there, but broken, the error itself says more.
    if error.name not in ("dask", "distributed"):
        raise
    raise ImportError("setwise.dask needs dask and distributed: pip install 'setwise[dask]'.") from None

from setwise.dask.estimators import MeasureClassifier, SetClassifier
from setwise.dask.losses import least_expected_loss, mean_loss
from setwise.dask.workers import Workers

__all__ = ["MeasureClassifier", "SetClassifier", "Workers", "least_expected_loss", "mean_loss"]
