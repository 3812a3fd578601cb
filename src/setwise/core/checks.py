"""Checks of the arguments of public functions, and the names of the array types that pass them.

Each check raises an error with one sentence that names the argument, what came and what is wanted. What NumPy would
convert to other numbers without a word is refused: sparse matrices, masked entries, and wide numbers.
"""

import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bools = NDArray[np.bool_]

Ints = NDArray[np.int64]

Values = NDArray[np.float64]

Floats = NDArray[np.floating[Any]]
"""Scores and their gradients, which are float32 or float64."""

HELD = 1 << 53
"""All whole numbers up to this size are numbers of float64."""


def refuse_sparse(values: Any, name: str) -> None:
    """Raise ValueError for a sparse matrix where a dense array is wanted."""
    # Without this module there are no sparse matrices; to import it takes longer than most calls.
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(values):
        raise ValueError(f"{name} must be a dense array; got a sparse matrix: pass its .toarray().")


def refuse_masked(values: Any, name: str) -> None:
    """Raise ValueError for a masked array of which an entry is masked: plain arrays forget the mask."""
    if np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise ValueError(f"{name} must hold no masked entries; got {count} of them: fill them, or leave them out.")


def as_float64(values: Any, given: NDArray[Any], name: str) -> Values:
    """The real numbers ``given``, which NumPy made of ``values``, as a float64 copy that holds the same numbers.

    Raises ValueError for numbers that float64 does not hold exactly; NaN and inf stay. O(n), and nothing is looked at
    in arrays of float64 or of shorter types.
    """
    # Numbers of a longer type may overflow here.
    with np.errstate(over="ignore"):
        out: Values = given.astype(np.float64)
    if given.dtype.itemsize < 8:
        return out
    if given.dtype.kind in "iu":
        _refuse(name, given, _is_rounded(given))
    elif given.dtype.itemsize > 8:
        _refuse(name, given, np.isfinite(given) & (out != given))
    elif given.dtype.kind == "f" and isinstance(values, list | tuple) and (np.abs(out) > HELD).any():
        # NumPy has made floats of the whole numbers that stood beside floats in the list.
        whole = np.asarray(values, dtype=object)
        rounded = [
            isinstance(value, int | np.integer) and int(value) != int(float(value)) for value in whole.ravel().tolist()
        ]
        _refuse(name, whole, np.array(rounded).reshape(whole.shape))
    return out


def as_bools(labels: NDArray[Any], name: str) -> Bools:
    """``labels``, an array of any shape, as bools; its values must be 0/1 (or False/True)."""
    if labels.dtype == np.bool_:
        return labels
    if labels.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold labels 0 and 1; got dtype {labels.dtype}{_way_out(labels, name)}.")
    positive: Bools = labels == 1
    if not np.all(positive | (labels == 0)):
        # The sentence shows the first value that is no label.
        odd = labels[~(positive | (labels == 0))].flat[0]
        raise ValueError(f"{name} must hold labels 0 and 1 only; got {odd.item()!r}.")
    return positive


def _way_out(labels: NDArray[Any], name: str) -> str:
    """How to make labels 0 and 1 of two words; nothing for other labels."""
    words = {label for label in labels.ravel().tolist() if isinstance(label, str)}
    if not name.isidentifier() or len(words) != 2 or max(map(len, words)) > 40:
        return ""
    return f": pass np.asarray({name}) == {max(words)!r}, if that is the positive label"


def refuse_outside(values: Values, name: str) -> None:
    """Raise ValueError for numbers outside of [0, 1], with all digits of the first one."""
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise ValueError(f"{name} must be in [0, 1]; got {values[outside].flat[0].item()!r}.")


def _is_rounded(given: NDArray[Any]) -> Bools:
    """Which whole numbers have more binary digits than float64."""
    found = np.zeros(given.shape, dtype=np.bool_)
    if not given.size or (int(given.max()) <= HELD and int(given.min()) >= -HELD):
        return found
    # The smallest int64 is its own absolute value, and as uint64 it has the right size.
    size = np.asarray(np.abs(given)).astype(np.uint64)
    large = size > HELD
    # Float64 holds a number whose digits, up to the last one that is not 0, are at most 53.
    last = size[large] & (~size[large] + np.uint64(1))
    found[large] = size[large] // last > HELD
    return found


def _refuse(name: str, given: NDArray[Any], rounded: Bools) -> None:
    if rounded.any():
        odd, kind = given[rounded].flat[0], "" if given.dtype.kind == "O" else f"{given.dtype} "
        raise ValueError(f"{name} must hold numbers that float64 holds exactly; got {kind}{odd!s}.")


LARGEST = 1e306
"""The largest sum of the scores of a set; numbers computed from larger scores could leave float64."""

LARGEST_FACTOR = 1e100
"""The largest factor of a loss or of a count; its products with counts, and the squares of these, fit float64."""

LARGEST_COUNT = 2**63 - 1
"""The largest whole number of int64."""

LARGEST_LABEL = (1 << 16) - 1
"""The largest label; all k labels take time and memory, even if few of them occur."""


def as_labels(y: ArrayLike, name: str = "y_true") -> Bools:
    """``y`` as a flat bool array; its values must be 0/1 (or False/True), shape (p,), p >= 1."""
    return as_bools(_flat(as_array(y, name), name), name)


def _flat(values: NDArray[Any], name: str) -> NDArray[Any]:
    """``values``, which must be one or more in a flat array."""
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{name} must have shape (p,) with p >= 1; got shape {values.shape}.")
    return values


def as_class_labels(y: ArrayLike, name: str = "y_true") -> Ints:
    """``y`` as a flat int64 array of labels 0, 1, 2, ..., shape (p,), p >= 1."""
    labels = _flat(as_array(y, name), name)
    # Floats are taken too if all of them are whole, because class labels are often read from files as floats.
    whole = labels.dtype.kind in "biuf" and np.isfinite(labels).all() and not (labels != np.floor(labels)).any()
    if not whole or labels.min() < 0 or labels.max() > LARGEST_LABEL:
        what = f"whole numbers 0, 1, 2, ..., at most {LARGEST_LABEL}"
        raise ValueError(f"{name} must hold {what}; got {labels.dtype} {shown(labels.tolist())}.")
    return labels.astype(np.int64)


def as_predictions(labels: ArrayLike, total: int, n_labels: int, name: str = "predictions") -> NDArray[Any]:
    """``labels`` as flat bools where there are two labels, else as int64 in 0..n_labels-1, (total,)."""
    out = as_labels(labels, name) if n_labels == 2 else as_class_labels(labels, name)
    if out.shape != (total,):
        raise ValueError(f"{name} must have shape ({total},), one for each decision; got shape {out.shape}.")
    if n_labels != 2 and out.max() >= n_labels:
        raise ValueError(f"{name} must hold labels 0..{n_labels - 1}; got {out.max()}.")
    return out


def as_scores(scores: ArrayLike, size: int, name: str = "scores") -> Floats:
    """``scores`` as a contiguous float32 or float64 array (size,); integers become float64.

    NaN, inf, scores whose sum may leave float64, and integers that float64 does not hold exactly are refused.
    """
    out = as_array(scores, name)
    if out.dtype.kind in "iub" or (out.dtype == np.float64 and isinstance(scores, list | tuple)):
        out = as_float64(scores, out, name)
    if out.dtype.newbyteorder("=") not in (np.float32, np.float64):
        raise ValueError(f"{name} must be float32 or float64; got dtype {out.dtype}.")
    if out.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},); got shape {out.shape}.")
    out = np.ascontiguousarray(out, dtype=out.dtype.newbyteorder("="))
    # If any score is NaN or inf, so is the largest or the smallest one: two fast passes find everything.
    largest = max(float(out.max()), -float(out.min())) if size else 0.0
    if not math.isfinite(largest):
        raise ValueError(f"{name} must be finite; got NaN or inf.")
    if largest > LARGEST / max(size, 1):
        raise OverflowError(f"{name} are too large, up to {largest:.3g}: their sums overflow float64. Scale them down.")
    return out


def as_areas(areas: ArrayLike, name: str = "areas") -> Values:
    """``areas`` as a float64 array of shape (p,), finite and above 0."""
    out = as_weights(areas, name)
    if (out == 0).any():
        raise ValueError(f"{name} must be above 0; got 0.")
    return out


def as_weights(weights: ArrayLike, name: str = "weights") -> Values:
    """``weights`` as a float64 array of shape (p,), finite and not negative, which is read-only."""
    out = _flat(as_reals(weights, name), name)
    if (out < 0).any():
        raise ValueError(f"{name} must be finite and not negative; got {out[out < 0][0]:g}.")
    # If no weight exceeds this, no sum of weights can overflow.
    if out.max() > LARGEST / out.size:
        raise OverflowError(
            f"{name} are too large, up to {out.max():.3g}: their sum overflows float64. Scale them down."
        )
    out.setflags(write=False)
    return out


def as_row_weights(sample_weight: Any, n: int) -> Values:
    """The weights of n rows, (n,), checked: finite, not negative, and not all zero."""
    weight = as_reals(sample_weight, "sample_weight", (n,))
    if (weight < 0).any() or not weight.any():
        raise ValueError("sample_weight must be finite, not negative and not all zero.")
    return weight


def as_reals(values: Any, name: str, shape: tuple[int, ...] | None = None, finite: bool = True) -> Values:
    """A float64 copy of finite real numbers, of ``shape`` if it is given; -inf passes too if ``finite`` is False.

    Truth values, and numbers that float64 does not hold exactly, are refused.
    """
    given = as_array(values, name)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold real numbers; got dtype {given.dtype}.")
    if shape is not None and given.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got shape {given.shape}.")
    out = as_float64(values, given, name)
    if np.isnan(out).any() or (out == np.inf).any() or (finite and (out == -np.inf).any()):
        raise ValueError(f"{name} must be {'finite' if finite else 'below inf'}; got NaN or inf.")
    return out


def as_number(
    value: Any,
    name: str,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """``value`` as a finite float in [low, high], without ``low`` or ``high`` itself where that end is open."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number; got {shown(value)}.")
    try:
        out = float(value)
    except OverflowError:
        # A Python int may be larger than any float.
        out = np.inf
    if not np.isfinite(out) or out > high or out < low or (open_low and out == low) or (open_high and out == high):
        bracket, end = "(" if open_low or np.isinf(low) else "[", ")" if open_high or np.isinf(high) else "]"
        raise ValueError(f"{name} must be a finite number in {bracket}{low:g}, {high:g}{end}; got {shown(value)}.")
    return out


def as_factor(value: Any, name: str = "factor") -> float:
    """``value`` as a float above 0, at most ``LARGEST_FACTOR``."""
    return as_number(value, name, low=0.0, high=LARGEST_FACTOR, open_low=True)


def as_limit(value: Any, name: str) -> float:
    """``value`` as a float that may be infinite, but not NaN."""
    endless = isinstance(value, float | np.floating) and bool(np.isinf(value))
    return float(value) if endless else as_number(value, name)


def as_count(value: Any, name: str, *, low: int = 1, high: int = LARGEST_COUNT) -> int:
    """``value`` as an int in low..high."""
    # A bool is an int in Python, but no number that a user means.
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number; got {shown(value)}.")
    if value < low:
        raise ValueError(f"{name} must be at least {low}; got {shown(value)}.")
    if value > high:
        raise ValueError(f"{name} must be at most {high}; got {shown(value)}.")
    return int(value)


def as_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """``value`` if it is one of ``choices``."""
    allowed = tuple(choices)
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {shown(value)}.")
    return value


def as_text(value: Any, name: str) -> str:
    """``value`` if it is text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text; got {shown(value)}.")
    return value


def as_names(values: Any, name: str, size: int | None = None, of: str = "texts") -> tuple[str, ...]:
    """``values`` as a tuple of texts, ``size`` of them if given, else one or more; a refusal asks for ``of``."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of {of}; got {shown(values)}.")
    found = tuple(values)
    if not all(isinstance(value, str) for value in found) or len(found) != (size or max(len(found), 1)):
        raise ValueError(f"{name} must hold {size or 'one or more'} texts; got {shown(values)}.")
    return found


def as_mapping(values: Any, name: str, of: str) -> Mapping[str, Any]:
    """``values`` if it maps one text or more to objects; ``of`` names their kind in the sentence."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must map names to {of}; got {shown(values)}.")
    if not values or not all(isinstance(key, str) for key in values):
        raise ValueError(f"{name} must map one name or more to {of}; got {shown(values)}.")
    return values


def as_flag(value: Any, name: str) -> bool:
    """``value`` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {shown(value)}.")
    return bool(value)


def as_kind(value: Any, name: str, kind: type[Any], example: str) -> Any:
    """``value`` if it is an instance of ``kind``; ``example`` shows in the sentence how to make one."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be of the kind {kind.__name__}, as {example}; got {shown(value)}.")
    return value


def as_random_state(value: Any, name: str = "random_state") -> int | np.random.Generator | None:
    """``value`` if it is None, a whole number from 0 on, or a NumPy Generator."""
    if value is None or isinstance(value, np.random.Generator):
        return value
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be None, a whole number or a numpy Generator; got {shown(value)}.")
    if value < 0:
        raise ValueError(f"{name} must not be negative; got {shown(value)}.")
    return int(value)


def as_tolerances(tol: Any, n: int) -> Values:
    """``tol``, one number or one for each of n sets, as float64 (n,), not negative."""
    # Nearly every call passes one float, which needs no arrays to be checked.
    if isinstance(tol, float) and 0.0 <= tol < np.inf:
        # A short call takes a twentieth longer with np.full.
        return np.zeros(n) if tol == 0.0 else np.full(n, tol)
    given = as_reals(tol, "tol")
    if given.shape not in ((), (n,)) or (given < 0).any():
        raise ValueError(f"tol must be one number >= 0 or {n} of them, one for each set; got {shown(tol)}.")
    return np.broadcast_to(given, n)


def as_parts(parts: Any, n: int) -> Ints:
    """``parts`` if they are the int64 numbers of some of n sets, in any order, (b,)."""
    if not isinstance(parts, np.ndarray) or parts.dtype != np.int64 or parts.ndim != 1:
        raise ValueError(f"parts must be an int64 array of shape (b,); got {shown(parts)}.")
    if not parts.size or parts.min() < 0 or parts.max() >= n:
        raise ValueError(f"parts must hold one number or more in 0..{n - 1}; got {shown(parts.tolist())}.")
    return parts


def as_offsets(offsets: Any, total: int) -> Ints:
    """``offsets`` as int64 (n+1,), which rise strictly from 0 to ``total``, so that no set is empty."""
    out = as_array(offsets, "offsets")
    if out.dtype != np.int64 or out.ndim != 1:
        raise ValueError(f"offsets must be int64 of shape (n+1,); got {out.dtype} of shape {out.shape}.")
    if len(out) < 2 or out[0] != 0 or out[-1] != total or (np.diff(out) < 1).any():
        raise ValueError(f"offsets must rise strictly from 0 to {total}; got {shown(out.tolist())}.")
    return out


def as_vector(values: Any, size: int, name: str) -> NDArray[Any]:
    """``values`` as an array (size,) of finite real numbers, which is not copied."""
    out = as_shaped(values, size, name)
    if not np.isfinite(out).all():
        raise ValueError(f"{name} must be finite; got NaN or inf.")
    return out


def as_point(w: Any, size: int, name: str = "w") -> Values:
    """``w`` as float64 (size,) with a finite square: then its products with vectors of finite squares are finite."""
    given = as_shaped(w, size, name)
    out: Values = given if given.dtype == np.float64 else given.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.dot(out, out)
    if not math.isfinite(square):
        raise ValueError(f"{name} must be finite and of a length below 1e154; got NaN, inf or more.")
    return out


def as_shaped(values: Any, size: int, name: str) -> NDArray[Any]:
    """``values`` as an array (size,) of real numbers, finite or not, which is not copied."""
    out = values if isinstance(values, np.ndarray) else as_array(values, name)
    if out.shape != (size,) or out.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers of shape ({size},); got {out.dtype} of shape {out.shape}.")
    return out


def as_array(values: Any, name: str) -> NDArray[Any]:
    """``values`` as an array of NumPy; ragged sequences, sparse matrices and masked entries raise ValueError."""
    refuse_sparse(values, name)
    refuse_masked(values, name)
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of numbers; got a ragged sequence.") from None


def shown(value: Any) -> str:
    """A value as text for a sentence: one line of at most 80 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        # Some values have no text, as whole numbers with more digits than Python prints.
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
