"""A progress bar that shows how far a long fit has come."""

import math
import sys
from typing import TextIO, final

from numpy.typing import NDArray

from setwise.core.fit import Record


@final
class ProgressBar:
    """A callback for learners that draws one line: the progress of the gap from 1 to ``tol``, on a log scale."""

    WIDTH = 24

    def __init__(self, tol: float, label: str = "fit", stream: TextIO | None = None) -> None:
        self.tol, self.label, self.stream = max(tol, 1e-12), label, stream or sys.stderr
        self._drawn = -1.0

    def __call__(self, record: Record, w: NDArray) -> None:
        """Draw the line, at most ten times a second."""
        if record.seconds - self._drawn < 0.1 and record.gap > self.tol:
            return
        self._drawn = record.seconds
        # Gaps fall by factors, so the share of log(tol) that is reached grows about evenly.
        done = math.log(min(max(record.gap, self.tol), 1.0)) / math.log(self.tol) if self.tol < 1 else 1.0
        full = round(self.WIDTH * done)
        bar = "#" * full + "-" * (self.WIDTH - full)
        text = f"\r{self.label} [{bar}] gap {record.gap:.1e}  iteration {record.iteration}  {record.seconds:.1f} s "
        self.stream.write(text)
        self.stream.flush()

    def close(self) -> None:
        """End the line with a line break."""
        self.stream.write("\n")
        self.stream.flush()
