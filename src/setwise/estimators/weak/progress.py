"""A line that shows how far a descent has come."""

import sys
import time
from typing import final


@final
class Watch:
    """Draws one line on standard error: what is fitted, its objective, and the number of steps; or nothing."""

    def __init__(self, shown: bool = False, label: str = "") -> None:
        self.shown, self.label = shown, label
        self._begin, self._drawn, self._open = time.perf_counter(), -1.0, False

    def named(self, label: str) -> "Watch":
        """A watch for another part of a fit."""
        return Watch(self.shown, label)

    def step(self, objective: float, iteration: int) -> None:
        """Draw the line, at most ten times a second."""
        seconds = time.perf_counter() - self._begin
        if not self.shown or (seconds - self._drawn < 0.1 and self._open):
            return
        self._drawn, self._open = seconds, True
        sys.stderr.write(f"\r{self.label}: objective {objective:.6g}  step {iteration}  {seconds:.1f} s ")
        sys.stderr.flush()

    def note(self, words: str) -> None:
        """Draw what is done now, at most ten times a second."""
        seconds = time.perf_counter() - self._begin
        if self.shown and not (self._open and seconds - self._drawn < 0.1):
            self._drawn, self._open = seconds, True
            sys.stderr.write(f"\r{self.label} {words:60}")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line with a line break."""
        if self._open:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._open = False

    def say(self, words: str) -> None:
        """A sentence on standard output, where progress is shown."""
        if self.shown:
            print(words)
