"""The numbers by which scores are divided before they are compared with a loss."""

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import Values, as_number, shown
from setwise.core.rankings import Rankings


def check_scale(scale: object) -> None:
    """Refuse what is neither a number above 0 nor the word ``"size"``."""
    if not isinstance(scale, str):
        as_number(scale, "scale", low=0.0, open_low=True)
    elif scale != "size":
        raise ValueError(f"scale must be a number above 0 or 'size'; got {shown(scale)}.")


def scale_for(scale: float | str, batch: Batch) -> float | Values:
    """The number g, or one for each set, (n,): with ``"size"`` its number of decisions, and 1 for rankings."""
    if not isinstance(scale, str):
        return float(scale)
    return 1.0 if isinstance(batch, Rankings) else batch.sizes.astype(np.float64)
