"""Dense tables of numbers, which levers may read beside the responses of a base model."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import issparse

from setwise.core.arrays import Values


def as_numbers(X: Any) -> Values | None:
    """``X`` as float64 (n, d) with NaN for gaps; None if it is sparse, or holds text, categories or inf."""
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
    return None if np.isinf(numbers).any() else numbers


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
