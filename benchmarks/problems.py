"""The problems on which peers were measured, so that setwise is measured on the same."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def imbalanced_linear(n: int, d: int = 100, seed: int = 0) -> tuple[Floats, NDArray[np.bool_]]:
    """X (n, d) of 5 digits and y (n,): the 10 % with the largest noisy linear score are positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    s = X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)
    return np.round(X, 5).astype(np.float32).astype(np.float64), s > np.quantile(s, 0.9)


def yeast_like(n: int = 1500, p: int = 14, d: int = 103, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """X (n, d + 1) with a constant last column and Y (n, p): correlated labels, 10 to 60 % positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20)) @ rng.standard_normal((20, d)) / 5 + 0.5 * rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    scores = X @ rng.standard_normal((d, p)) + 0.4 * rng.standard_normal((n, 3)) @ rng.standard_normal((3, p))
    scores += 0.3 * rng.standard_normal((n, p))
    bars = [np.quantile(scores[:, j], 1 - share) for j, share in enumerate(np.linspace(0.1, 0.6, p))]
    return np.column_stack([X, np.ones(n)]), (scores > bars).astype(np.int64)
