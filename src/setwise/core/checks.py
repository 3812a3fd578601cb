"""Checks of what enters from outside; each refuses in one sentence."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.arrays import Bools, Floats, Ints, Values

LARGEST = 1e306
"""Scores may add up to this in one set; what is computed from larger ones could leave float64."""


def as_labels(y: ArrayLike, name: str = "y_true") -> Bools:
    """``y`` as a flat bool array; its values must be 0/1 (or False/True), shape (p,), p >= 1."""
    labels = _as_array(y, name)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"{name} must have shape (p,) with p >= 1; got shape {labels.shape}.")
    if labels.dtype == np.bool_:
        return labels
    if labels.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold labels 0 and 1; got dtype {labels.dtype}.")
    positive: Bools = labels == 1
    if not np.all(positive | (labels == 0)):
        odd = labels[~(positive | (labels == 0))][0]
        raise ValueError(f"{name} must hold labels 0 and 1 only; got {odd.item()!r}.")
    return positive


def as_class_labels(y: ArrayLike, name: str = "y_true") -> Ints:
    """``y`` as a flat int64 array of labels 0, 1, 2, ..., shape (p,), p >= 1."""
    labels = _as_array(y, name)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"{name} must have shape (p,) with p >= 1; got shape {labels.shape}.")
    whole = labels.dtype.kind in "biuf" and np.isfinite(labels).all() and not (labels != np.floor(labels)).any()
    if not whole or labels.min() < 0 or labels.max() > np.iinfo(np.int32).max:
        raise ValueError(f"{name} must hold whole numbers 0, 1, 2, ...; got {labels.dtype} {labels[:3].tolist()}.")
    return labels.astype(np.int64)


def as_scores(scores: ArrayLike, size: int, name: str = "scores") -> Floats:
    """``scores`` as a contiguous float32 or float64 array (size,); integers become float64.

    NaN, inf and scores whose sum may leave float64 are refused.
    """
    out = _as_array(scores, name)
    if out.dtype.kind in "iub":
        out = out.astype(np.float64)
    if out.dtype.newbyteorder("=") not in (np.float32, np.float64):
        raise ValueError(f"{name} must be float32 or float64; got dtype {out.dtype}.")
    if out.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), one per decision; got shape {out.shape}.")
    out = np.ascontiguousarray(out, dtype=out.dtype.newbyteorder("="))
    # Greatest and least are NaN or inf where any score is: two fast passes tell all.
    largest = max(float(out.max()), -float(out.min())) if size else 0.0
    if not np.isfinite(largest):
        raise ValueError(f"{name} must be finite; got NaN or inf.")
    if largest > LARGEST / max(size, 1):
        raise OverflowError(f"{name} are too large, up to {largest:.3g}: their sums leave float64. Scale them down.")
    return out


def as_weights(weights: ArrayLike, name: str = "weights") -> Values:
    """``weights`` as a float64 array of shape (p,), finite and non-negative."""
    given = _as_array(weights, name)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, one for each place; got dtype {given.dtype}.")
    out = given.astype(np.float64)
    if out.ndim != 1 or out.size == 0:
        raise ValueError(f"{name} must have shape (p,) with p >= 1; got shape {out.shape}.")
    if not np.isfinite(out).all() or (out < 0).any():
        raise ValueError(f"{name} must be finite and not negative; got {out.tolist()[:8]}.")
    if out.max() > LARGEST / out.size:
        raise OverflowError(f"{name} are too large, up to {out.max():.3g}: their sum leaves float64. Scale them down.")
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
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    return value


def _as_array(values: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers; got a ragged sequence.") from None
