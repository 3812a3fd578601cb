"""Features in units of their standard deviations, and weights in those of X."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler

from setwise.core.checks import Values


@final
@dataclass(frozen=True, eq=False)
class Scaling:
    """``(x - mean) / scale``; sparse features are not centred."""

    mean: Values
    scale: Values

    @classmethod
    def of(cls, X: Any) -> "Scaling":
        """The scaling of the rows X (n, d), dense or CSR."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaler = StandardScaler(with_mean=not issparse(X)).fit(X)
        mean = np.zeros(X.shape[1]) if issparse(X) else np.asarray(scaler.mean_)
        scale = np.asarray(scaler.scale_)
        if not (np.isfinite(mean).all() and np.isfinite(scale).all()):
            raise OverflowError("X is too large: the variance of a feature leaves float64; scale X down.")
        return cls(mean, scale)

    def inside(self, X: Any) -> Any:
        """The scaled rows; a dense X is overwritten, for a copy may be large."""
        if issparse(X):
            return X.multiply(1.0 / self.scale).tocsr()
        X -= self.mean
        X /= self.scale
        return X

    def given(self, w: Values) -> tuple[Values, float]:
        """Weights (d,) and the intercept for rows that are not scaled, of weights (d + 1,) for those that are."""
        coef = w[:-1] / self.scale
        return coef, float(w[-1] - coef @ self.mean)
