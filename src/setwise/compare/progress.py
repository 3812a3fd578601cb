"""A progress bar for work that consists of many equal steps."""

import sys
import time
from contextlib import suppress
from typing import TextIO, final

from setwise.core.files import in_line


@final
class ProgressLine:
    """One line ``label 37/120 what  12 s`` on a terminal; on other streams, one such line at each tenth.

    If the stream is closed or breaks, only the bar is lost and the work goes on.
    """

    def __init__(self, total: int, label: str, stream: TextIO | None = None) -> None:
        self.total, self.label, self.stream = max(total, 1), label, stream or sys.stderr
        self.done, self._begin, self._drawn, self._length = 0, time.perf_counter(), -1.0, 0
        self._live = self.stream is not None and self.stream.isatty()

    def advance(self, what: str = "", steps: int = 1) -> None:
        """Report that ``steps`` more steps are done; ``what`` describes them."""
        before = self.done
        self.done += steps
        now = time.perf_counter() - self._begin
        last = self.done >= self.total
        text = f"{self.label} {self.done}/{self.total} {in_line(what)}  {now:.0f} s"
        if self._live and (now - self._drawn > 0.1 or last):
            self._drawn = now
            # Padding overwrites the rest of a longer line before.
            self._write("\r" + text.ljust(self._length))
            self._length = len(text)
        elif not self._live and (last or self.done * 10 // self.total > before * 10 // self.total):
            self._write(f"{text}\n")

    def say(self, sentence: str) -> None:
        """Write a sentence above the line."""
        self._write(("\r" if self._live else "") + in_line(sentence).ljust(self._length) + "\n")
        self._drawn = -1.0

    def close(self) -> None:
        """End the line with a line break."""
        if self._live and self.done:
            self._write("\n")

    def _write(self, text: str) -> None:
        if self.stream is not None:
            with suppress(OSError, ValueError):
                self.stream.write(text)
                self.stream.flush()
