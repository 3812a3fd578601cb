"""How many rows of a large Parquet file a budget of memory has room for, and files that are too large without one."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

from setwise.compare.text import bytes_text
from setwise.core.exceptions import Refusal
from setwise.core.pages import LARGE_FILES
from setwise.datasets.blocks import Budget
from setwise.datasets.tables import ParquetTable

LEAST_ROWS = 300
"""A comparison on fewer rows says little."""

CELL, ROW, FOREST = 120, 600, 6000
"""Bytes that fits take for each number and each row of a sample, and for each row of a random forest."""

WORDS = 3
"""A column of words takes as much as so many numbers."""

READ = 40
"""Bytes that a number of a row group takes while it is read, coded and scaled."""

OTHER, OF_SET, SET = 8, 20, 200
"""Bytes that are kept of each other row for each of its labels, of one that belongs to a group, and of each group."""

OF_ONE, OF_MANY = 16, 48
"""Bytes that each label of the other rows takes while they are judged, as one set and as several; no block is there."""

SAMPLE_SHARE = 0.5
"""The share of what is left that a sample may take; the rest is for what was fitted, beside two parts of the file."""

SAID = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much memory the processes of a container may have."""


@final
@dataclass(frozen=True)
class MemoryAllowance:
    """What a budget of bytes has room for, in a comparison of random rows of a table.

    Attributes
    ----------
    budget : the bytes, beyond those of Python and its libraries
    table : the file
    cells : the numbers that a row of it takes
    labels : the number of its labels
    grouped : whether its rows form groups
    forest : whether a random forest is fitted
    jobs : the number of processes, each of which may hold a copy
    """

    budget: Budget
    table: ParquetTable
    cells: int
    labels: int
    grouped: bool
    forest: bool
    jobs: int

    def rows(self, sets: int) -> int:
        """How many rows of a table of so many sets may be in the sample; Refusal where these are too few."""
        left = self._left(sets)
        row = int((CELL * self.cells + ROW * self.labels + FOREST * self.forest) * self.jobs)
        judged = (OF_MANY if self.grouped or self.labels > 1 else OF_ONE) * self.labels * self.table.rows
        found = max(int(min(SAMPLE_SHARE * left, left - judged)), 0) // row
        least, largest = min(LEAST_ROWS, self.table.rows), max(self.table.sizes)
        if found < least or self.most(sets) < largest:
            wanted = int(least * row / SAMPLE_SHARE) + row, (least + 1) * row + judged, 2 * READ * self.cells * largest
            needed = self.budget.bytes - left + max(wanted)
            what = f"--memory {bytes_text(self.budget.bytes)} is too small for {self.table.path.name}"
            why = f"whose largest row group has {largest:,} of its {self.table.rows:,} rows"
            raise Refusal(f"{what}, {why}: give {bytes_text(needed)} or more.", LARGE_FILES)
        return min(found, self.table.rows)

    def most(self, sets: int) -> int:
        """How many rows a block may have that is read while another one is worked on."""
        return max(self._left(sets) // 2, 0) // (READ * self.cells)

    def _left(self, sets: int) -> int:
        """The bytes that are left beside what is kept of each other row and of each set."""
        kept = OTHER * self.labels + OF_SET * self.grouped
        return self.budget.bytes - kept * self.table.rows - SET * sets * self.grouped


def refuse_too_large(path: Path) -> None:
    """Raise Refusal for a Parquet table that takes more than the memory of this machine; reads its footer alone."""
    has = machine_memory()
    if has is None or path.suffix.lower() != ".parquet" or not path.is_file():
        return
    table = ParquetTable(path)
    # Each column is there as the file holds it, and as float64 once by itself and once in the matrix of all.
    needed = table.bytes + 16 * table.rows * len(table.names)
    if needed > has:
        what = f"{path.name} has {table.rows:,} rows, which take at least {bytes_text(needed)} of memory"
        give = f"give --memory {bytes_text(has // 2)}, which compares on random rows of it"
        raise Refusal(f"{what}, and this machine has {bytes_text(has)}: {give}.", LARGE_FILES)


def machine_memory() -> int | None:
    """The bytes of memory that the processes of this machine, or of this container, may have; None if it is unknown."""
    found = []
    with suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for name in SAID:
        with suppress(OSError, ValueError):
            # Without a limit there is the word "max".
            found.append(int(Path(name).read_text("ascii")))
    return min((each for each in found if each > 0), default=None)
