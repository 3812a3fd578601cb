"""The options with which all kernels are compiled."""

from typing import Any

from numba import njit

# Division by zero gives inf or NaN as in NumPy: a test before every division would cost the vector instructions.
kernel = njit(cache=True, nogil=True, error_model="numpy")

# Without counts of the references to arrays, which take longer than a short step. Such kernels make no arrays.
UNCOUNTED: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
bare = njit(cache=True, nogil=True, **UNCOUNTED)
# Sums may be taken in another order, so that they use vector instructions; the order is fixed for a machine.
reordered = njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy")
inlined = njit(inline="always", **UNCOUNTED)


@kernel
def require_length(array: Any, offsets: Any) -> None:
    """Raises ValueError where the segments of ``offsets`` end beyond the array: kernels do not check their indices."""
    if len(offsets) == 0 or offsets[0] < 0 or offsets[-1] > len(array):
        raise ValueError("an array is shorter than the sets whose entries it should hold")
