"""Checkpoints: what a long fit has found is written to a file every so often, from which another process goes on."""

import os
import re
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.checks import as_flag, as_mapping, as_number, as_text, shown
from setwise.core.pages import STOP_AND_GO_ON
from setwise.core.sealed import Arrays, part_of, read_sealed, write_sealed
from setwise.core.visible import in_line
from setwise.core.whole import behind

EVERY = 30.0
"""The seconds between two writings, if the user says nothing."""

SHARE = 20.0
"""A file is not written again before so many times the seconds that its last writing took."""

LONG = 60
"""Texts of more letters are not shown."""

FINGERPRINT = re.compile("[0-9a-f]{32}")

ABOUT, WORK = "about/", "work/"
"""The parts of a file that say what is fitted, and hold what was found."""


@final
@dataclass(frozen=True)
class Checkpoint:
    """The file of a fit that may be interrupted, and how often it is written.

    Source: this library.

    Parameters
    ----------
    path : the file, in a folder that exists
    every : the least number of seconds between two writings, >= 0; a writing that takes long is repeated less often

    Raises
    ------
    TypeError : for a path that is neither text nor a path, and an ``every`` that is no number
    ValueError : for an ``every`` below 0

    Examples
    --------
    >>> from setwise.core.sets import Sets
    >>> from setwise.learners import Checkpoint, OneSlack
    >>> from setwise.models import Independent
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(Independent([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> first = OneSlack(C=0.5, tol=1e-6, max_iter=1).minimize(risk, checkpoint=Checkpoint("fit.npz").open())
    >>> fit = OneSlack(C=0.5, tol=1e-6).minimize(risk, checkpoint=Checkpoint("fit.npz").open(resume=True))
    >>> first.status, fit.status, fit.history[0] == first.history[0]
    ('max_iter', 'converged', True)
    """

    path: str | Path
    every: float = EVERY

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike) or not str(self.path):
            raise TypeError(f"checkpoint must be the path of a file; got {shown(self.path)}.")
        as_number(self.every, "every", low=0.0)

    def open(self, about: Mapping[str, str] | None = None, *, resume: bool = False) -> "OpenCheckpoint":
        """The file, made ready for a fit that the texts ``about`` describe by their names.

        With ``resume`` what an earlier fit wrote is read, if there is such a file; otherwise there must be none.

        Raises
        ------
        FileExistsError : if there is a file, and it is not resumed
        ValueError : for a file that is damaged, is no checkpoint, or belongs to a fit that ``about`` does not describe,
            and for a folder, a device or a pipe
        OSError : if nothing can be written there
        """
        path, resume = Path(self.path), as_flag(resume, "resume")
        about = (
            {}
            if about is None
            else {name: as_text(text, name) for name, text in as_mapping(about, "about", "texts").items()}
        )
        if not behind(path).parent.is_dir():
            raise FileNotFoundError(f"checkpoint must be a file in a folder that exists; got {in_line(str(path))}.")
        if path.exists() and not path.is_file():
            raise ValueError(
                f"checkpoint must be a regular file; got {in_line(str(path))}, which is a folder, a device or a pipe."
            )
        arrays: Arrays = {}
        if path.exists():
            if not resume:
                raise FileExistsError(
                    f"there is a file {in_line(path.name)} already: pass resume=True to go on from it, or take another "
                    "name."
                )
            arrays = read_sealed(path)
            refuse_others(in_line(path.name), {n: str(arrays[f"{ABOUT}{n}"]) for n in _below(arrays, ABOUT)}, about)
        # A place where nothing can be written shows before the work, not after it.
        part_of(path).touch()
        part_of(path).unlink()
        arrays |= {f"{ABOUT}{name}": np.array(text) for name, text in about.items()}
        return OpenCheckpoint(_File(path, float(self.every), arrays), WORK)


def opened(checkpoint: Any, resume: bool, about: Callable[[], Mapping[str, str]]) -> "OpenCheckpoint | None":
    """What ``fit(checkpoint=..., resume=...)`` asks for: a path, a :class:`Checkpoint`, or None for no file."""
    if checkpoint is None:
        if as_flag(resume, "resume"):
            raise ValueError("resume=True needs checkpoint, the file to go on from.")
        return None
    asked = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
    return asked.open(about(), resume=resume)


def refuse_others(file: str, held: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Raise ValueError that names what a file was written for, where it differs from what is ``wanted``."""
    others = [name for name in dict.fromkeys((*wanted, *held)) if held.get(name, "") != wanted.get(name, "")]
    if others:
        what = "; ".join(_difference(name, held.get(name, ""), wanted.get(name, "")) for name in others)
        raise ValueError(f"{file} is the checkpoint of another fit: {what}. Take another file for this fit.")


def _below(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with ``prefix``, by the rest of their names."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


def _difference(name: str, held: str, wanted: str) -> str:
    """How a text differs; nobody wants to read fingerprints and texts that are long."""
    if FINGERPRINT.fullmatch(held) or max(len(held), len(wanted)) > LONG:
        return f"{name} differs"
    return f"{name} is {held or 'not said'} there and {wanted or 'not said'} here"


@final
@dataclass(eq=False)
class _File:
    """The content of a checkpoint; this object changes."""

    path: Path
    every: float
    arrays: Arrays
    written: float = -np.inf
    took: float = 0.0
    warned: bool = False
    changed: bool = False

    def write(self) -> None:
        begin = time.perf_counter()
        try:
            write_sealed(self.path, self.arrays)
        except OSError as error:
            # A full disk must not end a fit of many hours.
            if not self.warned:
                why = error.strerror or str(error)
                words = f"the checkpoint {in_line(self.path.name)} cannot be written ({why}); the fit goes on, and the "
                words += "file is what was written before."
                warnings.warn(words + STOP_AND_GO_ON.see, RuntimeWarning, stacklevel=2)
            self.warned = True
        else:
            self.changed = False
        self.written = time.perf_counter()
        self.took = self.written - begin


@final
@dataclass(frozen=True, eq=False)
class OpenCheckpoint:
    """One part of an open checkpoint: arrays by their names. All parts share one file, and are written together."""

    file: _File = field(repr=False)
    prefix: str

    @property
    def name(self) -> str:
        """The name of the file, with hidden characters as escapes."""
        return in_line(self.file.path.name)

    def part(self, name: str) -> "OpenCheckpoint":
        """A part of this part."""
        return OpenCheckpoint(self.file, f"{self.prefix}{name}/")

    @property
    def arrays(self) -> Arrays:
        """The arrays of this part, and of its own parts; none if the file is new."""
        return _below(self.file.arrays, self.prefix)

    def numbers(self, name: str, shape: tuple[int, ...]) -> Values:
        """A copy of an array of finite float64 of this part; ValueError if it has another shape or kind."""
        array = self.arrays.get(name)
        if array is None or array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
            raise ValueError(f"{self.name} is no checkpoint of this fit: it has no {name} of shape {shape}.")
        return np.array(array, order="C")

    @property
    def due(self) -> bool:
        """Whether it is time to write the file."""
        return time.perf_counter() - self.file.written >= max(self.file.every, SHARE * self.file.took)

    def put(self, arrays: Arrays) -> None:
        """Replace the arrays of this part; they are written with the next :meth:`write`."""
        rest = {name: array for name, array in self.file.arrays.items() if not name.startswith(self.prefix)}
        self.file.arrays = rest | {f"{self.prefix}{name}": array for name, array in arrays.items()}
        self.file.changed = True

    def write(self) -> None:
        """Write the file, if something in it has changed; warns if that fails."""
        if self.file.changed:
            self.file.write()
