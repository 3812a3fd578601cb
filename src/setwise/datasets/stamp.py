"""A file that should stay as it is while it is read many times."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from setwise.core.exceptions import BrokenPromise


@final
@dataclass(frozen=True)
class Stamp:
    """The size, the time of the last change, and the number of a file."""

    path: Path
    size: int
    changed: int
    number: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """The stamp of a file as it is now."""
        found = os.stat(path)
        return cls(path, found.st_size, found.st_mtime_ns, found.st_ino)

    def check(self) -> None:
        """Raise BrokenPromise where the file is another one by now."""
        try:
            same = Stamp.of(self.path) == self
        except OSError:
            same = False
        if not same:
            raise BrokenPromise(f"X changed while it was read: {self.path.name} is not the file that it was.")
