"""Paired differences over random splits: their mean, its interval, and tests of many of them at once."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from setwise.core.checks import Values, as_number, as_reals


@final
@dataclass(frozen=True)
class Paired:
    """The mean of J paired differences, with the variance ``(1/J + n_test / n_train) s^2`` of Nadeau and Bengio (2003).

    ``s^2`` is the variance of the differences. Splits share training rows, so that ``s^2 / J`` alone would be too
    small: random splits of two thirds for training need the correction, and so do the folds of a cross-validation.

    Attributes
    ----------
    mean : the mean difference
    error : its standard error; 0 if all differences are equal
    splits : the number J of differences
    """

    mean: float
    error: float
    splits: int

    @classmethod
    def of(cls, differences: ArrayLike, test_by_train: float) -> "Paired":
        """From the differences (J,) with J >= 2, and the ratio of the numbers of test and training rows."""
        d = as_reals(differences, "differences")
        if d.ndim != 1 or len(d) < 2:
            raise ValueError(f"differences must be at least two numbers, one for each split; got shape {d.shape}.")
        ratio = as_number(test_by_train, "test_by_train", low=0.0)
        # Equal differences may have a variance of some rounding, which would make a test of it absurdly sharp.
        spread = 0.0 if np.ptp(d) <= 1e-12 * np.abs(d).max() else float(d.var(ddof=1))
        return cls(float(d.mean()), float(np.sqrt((1.0 / len(d) + ratio) * spread)), len(d))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The two-sided interval of Student's t with J - 1 degrees of freedom."""
        as_number(level, "level", low=0.0, high=1.0, open_low=True)
        half = float(student.ppf(0.5 + level / 2.0, self.splits - 1)) * self.error if self.error > 0 else 0.0
        return self.mean - half, self.mean + half

    @property
    def p_below(self) -> float:
        """The one-sided p-value against a mean of at least 0; it is small where the differences are below 0."""
        if self.error == 0.0:
            return 0.0 if self.mean < 0.0 else 1.0
        return float(student.cdf(self.mean / self.error, self.splits - 1))


def holm(p_values: ArrayLike) -> Values:
    """The p-values (m,) adjusted by Holm's method: those of at most a level are refuted at this level together.

    The sorted ``p_(i)`` becomes ``max_{j <= i} min(1, (m - j + 1) p_(j))``, j counted from 1.
    """
    p: Any = as_reals(p_values, "p_values")
    if p.ndim != 1 or ((p < 0) | (p > 1)).any():
        raise ValueError(f"p_values must be numbers (m,) in [0, 1]; got shape {p.shape}.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(p), 0, -1) * p[order]))
    return adjusted
