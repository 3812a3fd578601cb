"""The options with which all kernels are compiled."""

from numba import njit

# Division by zero gives inf or NaN as in NumPy: a test before every division would cost the vector instructions.
kernel = njit(cache=True, nogil=True, error_model="numpy")
