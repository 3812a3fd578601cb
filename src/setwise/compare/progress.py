"""A line of progress for long work, most of which consists of many equal steps."""

import sys
import threading
import time
from contextlib import suppress
from typing import TextIO, final

from setwise.core.files import in_line

QUIET = 10.0
"""After so many seconds without a word a stream that is no terminal gets a line."""


@final
class ProgressLine:
    """One line ``label 37/120 what  12 s`` on a terminal, drawn anew each second.

    On other streams it is one such line after a second, at each tenth of the steps, and where ten seconds said nothing.
    If the stream is closed or breaks, only the line is lost and the work goes on.

    Attributes
    ----------
    total, done : the number of steps in all and so far; 0 in all as long as it is not known
    """

    def __init__(self, total: int, label: str, stream: TextIO | None = None) -> None:
        self.total, self.label, self.stream = total, label, stream or sys.stderr
        self.done = self._length = 0
        self._begin, self._drawn, self._what = time.perf_counter(), -QUIET, ""
        self._live = self.stream is not None and self.stream.isatty()
        self._lock, self._ended = threading.RLock(), threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def advance(self, what: str = "", steps: int = 1) -> None:
        """Report that ``steps`` more steps are done; ``what`` describes them, or, without steps, what begins."""
        before = self.done
        self.done, self._what = before + steps, in_line(what) or self._what
        last = self.done >= self.total
        if self._live:
            tells = (steps > 0 and last) or self._passed - self._drawn > 0.1
        else:
            tells = steps > 0 and (last or self.done * 10 // self.total > before * 10 // self.total)
        if tells:
            self._draw()

    def say(self, sentence: str) -> None:
        """Write a sentence above the line."""
        with self._lock:
            self._write(("\r" if self._live else "") + in_line(sentence).ljust(self._length) + "\n")
            # A terminal draws the line again below it.
            self._drawn = -QUIET if self._live else self._passed

    def close(self) -> None:
        """End the line with a line break."""
        self._ended.set()
        with self._lock:
            if self._length:
                self._write("\n")
            self._length = 0

    @property
    def _passed(self) -> float:
        return time.perf_counter() - self._begin

    def _beat(self) -> None:
        """Draw the line while long steps say nothing."""
        while not self._ended.wait(1.0):
            if self._live or self._passed - self._drawn >= QUIET:
                self._draw()

    def _draw(self) -> None:
        with self._lock:
            if self._ended.is_set():
                return
            self._drawn = self._passed
            steps = f" {self.done}/{self.total}" if self.total else ""
            text = f"{self.label}{steps} {self._what}  {self._drawn:.0f} s"
            # Padding overwrites the rest of a longer line before.
            self._write("\r" + text.ljust(self._length) if self._live else f"{text}\n")
            self._length = len(text) if self._live else 0

    def _write(self, text: str) -> None:
        if self.stream is not None:
            with suppress(OSError, ValueError):
                self.stream.write(text)
                self.stream.flush()
