"""How many rows of a file are read at a time, so that memory stays below a budget."""

import re
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from setwise.core.checks import shown
from setwise.core.exceptions import Refusal
from setwise.core.pages import FILES

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}

KEPT, GATHERED = 40, 120
"""Bytes of memory for each row of a file beside its features: labels, scores, lengths and gradients; and for each row
of sets that are evaluated in one place. ``benchmarks/out_of_core.py`` measures both together."""

IN_SET, SET, NAME = 100, 640, 500
"""Bytes more for each row that belongs to one of several sets; for each set, in each block that has rows of it; and for
each of them whose id is no number."""


@final
@dataclass(frozen=True)
class Budget:
    """A number of bytes for what is read and kept of a file; Python and its libraries come on top.

    ``sets`` of these bytes are kept for sets.
    """

    bytes: int
    sets: int = 0

    @classmethod
    def of(cls, value: Any, name: str = "memory") -> "Budget":
        """The budget that is given as a number of bytes, or as text: ``"500MB"``, ``"1.5GB"``, ``"2GiB"``."""
        if isinstance(value, str):
            found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?|)B?\s*", value.upper())
            if found is None:
                raise ValueError(f"{name} must be bytes, as 500_000_000, or text, as '500MB'; got {shown(value)}.")
            return cls(int(float(found[1]) * UNITS[found[2]]))
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be bytes, as 500_000_000, or text, as '500MB'; got {shown(value)}.")
        return cls(int(value))

    def spare(self, n: int) -> int:
        """Bytes that n rows leave to the blocks; below 0 where there are none."""
        return self.bytes - self.sets - KEPT * n

    def beside(self, n: int, sets: int, named: bool) -> "Budget":
        """The same budget, in which n rows form so many sets, counted in each block; ``named`` ids are no numbers."""
        return replace(self, sets=IN_SET * n + (SET + NAME * named) * sets)

    def refuse_sets(self, n: int, read: int, sets: int, named: bool) -> None:
        """Raise Refusal where the sets of the first ``read`` of n rows, counted in each block, take all there is."""
        taken = self.beside(n, sets, named).sets
        if read == n or KEPT * n + taken < self.bytes:
            return
        # As many sets are expected of the other rows.
        about = KEPT * n + self.beside(n, sets * n // read, named).sets
        raise Refusal(
            f"memory={self.bytes} is too small for {n} rows, which take with the sets of the first {read} of them "
            f"{KEPT * n + taken} bytes beside two blocks: give some {about} bytes, and what two blocks take.",
            FILES,
        )

    def room(self, n: int) -> int:
        """How many of n rows may be evaluated in one place, when no block is read."""
        return max(self.spare(n), 0) // GATHERED

    def rows(self, n: int, row: int, least: int = 1, what: str = "one row") -> int:
        """How many of n rows of ``row`` bytes a block may have, ``least`` or more; Refusal where these do not fit.

        There are two blocks at a time, the one that is worked on and the next one, which is made of ``least`` rows at a
        time, and these may take twice as much while they are decoded.
        """
        read = 2 * least * row
        if self.spare(n) < 2 * read:
            kept = KEPT * n + self.sets
            whose = "which take" if not self.sets else "which take with their sets"
            raise Refusal(
                f"memory={self.bytes} is too small for {n} rows, {whose} {kept} bytes beside two blocks of at least "
                f"{what}: give {kept + 2 * read} bytes or more.",
                FILES,
            )
        return (self.spare(n) - read) // (2 * row)
