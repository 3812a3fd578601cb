"""Names of the array types that the modules of setwise pass to each other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Values = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
"""Scores and their gradients, which are float32 or float64."""
