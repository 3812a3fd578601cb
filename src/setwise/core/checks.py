"""Checks of what enters from outside; each refuses in one sentence."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]


def as_labels(y: ArrayLike, name: str = "y_true") -> NDArray[np.bool_]:
    """``y`` as a flat bool array; its values must be 0/1 (or False/True), shape (p,), p >= 1."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"{name} must have shape (p,) with p >= 1; got shape {labels.shape}.")
    if labels.dtype == np.bool_:
        return labels
    if labels.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold labels 0 and 1; got dtype {labels.dtype}.")
    positive: NDArray[np.bool_] = labels == 1
    if not np.all(positive | (labels == 0)):
        odd = labels[~(positive | (labels == 0))][0]
        raise ValueError(f"{name} must hold labels 0 and 1 only; got {odd.item()!r}.")
    return positive


def as_scores(scores: ArrayLike, size: int, name: str = "scores") -> Floats:
    """``scores`` as a contiguous float32 or float64 array (size,); integers become float64. NaN and inf are refused."""
    out = np.asarray(scores)
    if out.dtype.kind in "iub":
        out = out.astype(np.float64)
    if out.dtype.newbyteorder("=") not in (np.float32, np.float64):
        raise ValueError(f"{name} must be float32 or float64; got dtype {out.dtype}.")
    if out.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), one per decision; got shape {out.shape}.")
    if not np.isfinite(out).all():
        raise ValueError(f"{name} must be finite; got NaN or inf.")
    return np.ascontiguousarray(out, dtype=out.dtype.newbyteorder("="))


def as_weights(weights: ArrayLike, name: str = "weights") -> NDArray[np.float64]:
    """``weights`` as a float64 array of shape (p,), finite and non-negative."""
    out = np.array(weights, dtype=np.float64)
    if out.ndim != 1 or out.size == 0:
        raise ValueError(f"{name} must have shape (p,) with p >= 1; got shape {out.shape}.")
    if not np.isfinite(out).all() or (out < 0).any():
        raise ValueError(f"{name} must be finite and not negative; got {out.tolist()[:8]}.")
    out.setflags(write=False)
    return out


def as_number(value: Any, name: str, *, low: float = -np.inf, high: float = np.inf, open_low: bool = False) -> float:
    """``value`` as a finite float in [low, high], or (low, high] with ``open_low``."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number; got {value!r}.")
    out = float(value)
    if not np.isfinite(out) or out > high or out < low or (open_low and out == low):
        bracket, end = "(" if open_low or np.isinf(low) else "[", ")" if np.isinf(high) else "]"
        raise ValueError(f"{name} must be a finite number in {bracket}{low:g}, {high:g}{end}; got {value!r}.")
    return out


def as_count(value: Any, name: str, *, low: int = 1) -> int:
    """``value`` as an int, at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number; got {value!r}.")
    if value < low:
        raise ValueError(f"{name} must be at least {low}; got {value!r}.")
    return int(value)


def as_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """``value`` if it is one of ``choices``."""
    allowed = tuple(choices)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    return str(value)
