"""Tensors that NumPy's functions take for arrays, so that a formula of counts runs on a device as it is written."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch import Tensor

FEW = 16
"""Arrays of up to this number of entries, or of equal rows of so many, are made on the device."""


def _namesakes(*ufuncs: np.ufunc) -> dict[Any, Callable[..., Tensor]]:
    """The functions of PyTorch that have the names of those of NumPy."""
    return {ufunc: getattr(torch, ufunc.__name__) for ufunc in ufuncs}


# Functions of real numbers, whose arguments and results are float64.
_REAL = _namesakes(
    np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.float_power, np.negative,
    np.positive, np.absolute, np.sign, np.reciprocal, np.sqrt, np.square, np.hypot, np.floor, np.ceil, np.trunc, np.exp,
    np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.logaddexp, np.sin, np.cos, np.tan, np.arctan, np.sinh,
    np.cosh, np.tanh, np.maximum, np.minimum, np.fmax, np.fmin,
) | {np.power: torch.pow, np.fabs: torch.abs, np.rint: torch.round}  # fmt: skip

# Functions of real numbers whose results are bools.
_ASKS = {np.equal: torch.eq} | _namesakes(
    np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.isfinite, np.isnan, np.isinf
)

# Functions of truth values; numbers other than 0 are true, but ``&``, ``|``, ``^`` and ``~`` take bools alone.
_TRUTH = _namesakes(np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
_BITS = _namesakes(np.bitwise_and, np.bitwise_or, np.bitwise_xor) | {np.invert: torch.bitwise_not}


@final
class DeviceArray(NDArrayOperatorsMixin):
    """A tensor of float64 or bool that NumPy's operators and functions take for an array, and return.

    Numbers stay on the device of the tensor, and nothing waits for them. What would need them on the host, as ``if``,
    ``float()``, ``np.asarray`` or an index of numbers, is refused, and so is all that is not listed here.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor if tensor.dtype == torch.bool else tensor.double()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, as of an array."""
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.tensor.ndim

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.tensor.numel()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an array with these entries."""
        return np.dtype(np.bool_ if self.tensor.dtype == torch.bool else np.float64)

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, key: Any) -> "DeviceArray":
        """Slices, new axes and whole numbers; no other index."""
        keys = key if isinstance(key, tuple) else (key,)
        if not all(k is None or k is Ellipsis or isinstance(k, slice) or type(k) is int for k in keys):
            raise TypeError("a tensor of a device is indexed by slices and whole numbers only.")
        return DeviceArray(self.tensor[key])

    def astype(self, dtype: Any) -> "DeviceArray":
        """The same as float64 or bool."""
        if np.dtype(dtype) == np.float64:
            return DeviceArray(self.tensor.double())
        if np.dtype(dtype) == np.bool_:
            return DeviceArray(self.tensor != 0)
        raise TypeError(f"a tensor of a device is float64 or bool; got {dtype}.")

    def clip(self, low: Any = None, high: Any = None) -> "DeviceArray":
        """``min(max(x, low), high)``, where None is no bound."""
        found = self if low is None else np.maximum(self, low)
        return found if high is None else np.minimum(found, high)

    def copy(self) -> "DeviceArray":
        """A copy."""
        return DeviceArray(self.tensor.clone())

    def __bool__(self) -> bool:
        raise TypeError("the truth value of a tensor on a device is unknown on the host.")

    def _on_host(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("the numbers of a tensor on a device are unknown on the host.")

    __float__ = __array__ = __iter__ = _on_host

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method != "__call__" or options:
            raise TypeError(f"{ufunc.__name__} of a tensor of a device is known without options only.")
        given = [self.as_tensor(x) for x in inputs]
        bools = all(x.dtype == torch.bool for x in given)
        if ufunc in _TRUTH or (ufunc in _BITS and bools):
            found = (_TRUTH.get(ufunc) or _BITS[ufunc])(*given)
        elif ufunc in _ASKS:
            found = _ASKS[ufunc](*map(Tensor.double, given))
        elif ufunc in _REAL and not bools:
            found = _REAL[ufunc](*map(Tensor.double, given))
        else:
            raise TypeError(f"{ufunc.__name__} is not available for tensors on a device.")
        return DeviceArray(found) if out is None else _written(found, out)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in _FUNCTIONS:
            raise TypeError(f"{function.__name__} is not available for tensors on a device.")
        return _FUNCTIONS[function](self, *args, **kwargs)

    def as_tensor(self, value: Any) -> Tensor:
        """A number, an array or a tensor behind an array, as a tensor of this device; no copy is waited for."""
        if isinstance(value, DeviceArray):
            return value.tensor
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"a tensor of a device takes numbers; got {type(value).__name__}.")
        kind = torch.bool if array.dtype.kind == "b" else torch.float64
        if array.ndim == 0:
            return torch.full((), array.item(), dtype=kind, device=self.tensor.device)
        rows = array[:1] if len(array) and (array == array[:1]).all() else array
        if 0 < rows.size <= FEW:
            # A few numbers are written by the device itself, so that there is nothing to copy.
            each = [torch.full((), x, dtype=kind, device=self.tensor.device) for x in rows.ravel().tolist()]
            return torch.stack(each).reshape(rows.shape).expand(array.shape)
        copy = torch.from_numpy(array.astype(np.bool_ if kind == torch.bool else np.float64))
        return copy.to(self.tensor.device, non_blocking=True)


def _written(found: Tensor, out: tuple[Any, ...]) -> DeviceArray:
    """The result as the new content of the array ``out``."""
    (into,) = out
    if not isinstance(into, DeviceArray) or into.tensor.shape != found.shape or into.tensor.dtype != found.dtype:
        raise TypeError("a result on a device is written to such arrays of its shape only.")
    into.tensor = found
    return into


def _where(one: DeviceArray, condition: Any, x: Any, y: Any) -> DeviceArray:
    pair = one.as_tensor(x), one.as_tensor(y)
    if pair[0].dtype != pair[1].dtype:
        pair = pair[0].double(), pair[1].double()
    return DeviceArray(torch.where(one.as_tensor(condition) != 0, *pair))


def _clip(one: DeviceArray, x: Any, low: Any = None, high: Any = None) -> DeviceArray:
    return DeviceArray(one.as_tensor(x)).clip(low, high)


def _full_like(one: DeviceArray, x: Any, value: float) -> DeviceArray:
    return DeviceArray(torch.full_like(one.as_tensor(x).double(), value))


def _stack(one: DeviceArray, arrays: Any, axis: int = 0) -> DeviceArray:
    return DeviceArray(torch.stack([one.as_tensor(x).double() for x in arrays], dim=axis))


def _broadcast_to(one: DeviceArray, x: Any, shape: Any) -> DeviceArray:
    return DeviceArray(one.as_tensor(x).broadcast_to(shape))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.full_like: _full_like,
    np.zeros_like: lambda one, x: _full_like(one, x, 0.0),
    np.ones_like: lambda one, x: _full_like(one, x, 1.0),
    np.stack: _stack,
    np.broadcast_to: _broadcast_to,
    np.shape: lambda one, x: x.shape,
    np.ndim: lambda one, x: x.ndim,
    np.size: lambda one, x: x.size,
}
