"""Dense tables of numbers, which levers may read beside the responses of a base model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import issparse
from sklearn.base import MetaEstimatorMixin
from sklearn.pipeline import Pipeline

from setwise.core.checks import Values
from setwise.estimators.table_encoder import TableEncoder, word_places


def as_numbers(X: Any, codes: Sequence[int] = ()) -> Values | None:
    """``X`` as float64 (n, d) with NaN for gaps, without the columns that hold ``codes`` of words.

    None if it is sparse, or holds text, categories or inf, or if no column is left.
    """
    if issparse(X):
        return None
    kinds = getattr(X, "dtypes", None)
    # Categories of pandas may look like numbers, but their differences mean nothing.
    if kinds is not None and any(getattr(kind, "kind", "O") not in "biuf" for kind in np.ravel(kinds)):
        return None
    try:
        # Columns of several kinds, and those that know NA, are cast one by one.
        table = np.asarray(X) if kinds is None else X.to_numpy(dtype=np.float64, na_value=np.nan)
    except (AttributeError, TypeError, ValueError):
        return None
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore"):
        numbers = table.astype(np.float64)
    numbers = numbers[:, [place for place in range(numbers.shape[1]) if place not in codes]]
    return None if np.isinf(numbers).any() or not numbers.shape[1] else numbers


def codes_of(estimator: Any) -> list[int]:
    """The columns of X that a :class:`~setwise.estimators.TableEncoder` in front of an estimator reads as words.

    It is found as the first step of pipelines, and inside searches and other estimators that hold one ``estimator``.
    The differences of such codes mean nothing, and other names of the words would change them.
    """
    while not isinstance(estimator, TableEncoder):
        if isinstance(estimator, Pipeline):
            estimator = next((step for _, step in estimator.steps if step not in (None, "passthrough")), None)
        elif isinstance(estimator, MetaEstimatorMixin):
            estimator = estimator.get_params(deep=False).get("estimator")
        else:
            return []
    return word_places(estimator.columns)


@final
@dataclass(frozen=True, eq=False)
class Scaling:
    """``(x - mean) / deviation`` for each column, with 0 where x is missing or the column was constant.

    Parameters
    ----------
    mean : (d,)
    deviation : (d,), 0 for a column that was constant or empty
    """

    mean: Values
    deviation: Values

    @classmethod
    def of(cls, table: Values) -> "Scaling":
        """The means and deviations of the columns of a table (n, d), gaps left out."""
        there = ~np.isnan(table)
        count = np.maximum(there.sum(axis=0), 1)
        mean = np.where(there, table, 0.0).sum(axis=0) / count
        deviation = np.sqrt((np.where(there, table - mean, 0.0) ** 2).sum(axis=0) / count)
        # Rounding leaves a tiny deviation in a constant column.
        return cls(mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 0.0))

    def __call__(self, table: Values) -> Values:
        """The scaled table, (n, d)."""
        usable = (self.deviation > 0) & ~np.isnan(table)
        scale = np.where(self.deviation > 0, self.deviation, 1.0)
        return np.where(usable, (table - self.mean) / scale, 0.0)
