"""Checkpoints: what a long fit has found is written to a file every so often, from which another process goes on.

Such a file holds plain arrays under a seal: it is written as a whole or not at all, and read only if no bit has
changed. It goes on only with the same data, which fingerprints tell.
"""

import contextlib
import hashlib
import math
import os
import re
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, final
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Values, as_flag, as_mapping, as_number, as_text, shown
from setwise.core.exceptions import reason_of
from setwise.core.files import behind, in_line, rights_at
from setwise.core.pages import STOP_AND_GO_ON
from setwise.core.risk import Bundle, CuttingPlane, Risk

SEAL = b"setwise checkpoint 1 sha256 "
"""The seal stands at the end of a file, as the comment of a zip archive; the digest of all before it follows."""

DIGITS = 64
"""The hexadecimal digits of the digest."""

CHUNK = 1 << 22
"""Files are hashed in pieces of so many bytes."""

KINDS = "biufU"
"""The kinds of arrays: numbers and text. Objects, which NumPy would write as pickles, are none of them."""

Arrays = dict[str, NDArray[Any]]


def write_sealed(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an NPZ archive without pickles and seal it; ``path`` holds the old file until the new one is complete.

    The archive is written to :func:`part_of` beside it, forced to the disk, and renamed. ``np.load`` reads it too.
    Where ``path`` is a link, the file behind it is replaced. It keeps its permissions.
    """
    part, real = part_of(path), behind(path)
    try:
        part.touch(0o600)
        with ZipFile(part, "w", ZIP_STORED) as archive:
            archive.comment = SEAL + b"0" * DIGITS
            for name, array in arrays.items():
                if array.dtype.kind not in KINDS:
                    raise TypeError(f"arrays must hold numbers or text; {name!r} holds {array.dtype}.")
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
        with part.open("r+b") as file:
            size = part.stat().st_size - DIGITS
            digest = _digest(file, size)
            file.seek(size)
            file.write(digest)
            file.flush()
            os.fsync(file.fileno())
        # Some systems have no permissions.
        with contextlib.suppress(OSError):
            part.chmod(rights_at(real))
        os.replace(part, real)
        _sync_folder(part.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def part_of(path: Path) -> Path:
    """The file that holds what is not complete yet; the next writing replaces one that a killed process has left."""
    real = behind(path)
    return real.with_name(f"{real.name}.part")


def read_sealed(path: Path) -> Arrays:
    """The arrays that :func:`write_sealed` wrote. No object is made but arrays of numbers and text.

    Raises
    ------
    ValueError, OSError : with one sentence, for a file that is no such file, was cut off, or has changed
    """
    name = in_line(path.name)
    with path.open("rb") as file:
        size = path.stat().st_size - len(SEAL) - DIGITS
        if size >= 0:
            file.seek(size)
        seal = file.read(len(SEAL) + DIGITS)
        if size < 0 or not seal.startswith(SEAL):
            raise ValueError(f"{name} is not a checkpoint of setwise, or it is truncated: its checksum is missing.")
        file.seek(0)
        if _digest(file, size + len(SEAL)) != seal[len(SEAL) :]:
            raise ValueError(f"{name} is a damaged checkpoint: its bytes have changed since it was written.")
        # A seal proves no good will, so what it covers is still checked.
        try:
            return _arrays(file, size)
        # Damaged bytes make the readers raise almost any exception.
        except Exception as error:
            why = reason_of(error)
            raise ValueError(f"{name} is not a checkpoint of setwise: {why[:200]}.") from None


def _arrays(file: Any, size: int) -> Arrays:
    with ZipFile(file) as archive:
        members = archive.infolist()
        if any(one.compress_type != ZIP_STORED or not one.filename.endswith(".npy") for one in members):
            raise ValueError("it holds members that are compressed or are not arrays")
        if sum(one.file_size for one in members) > size or len({one.filename for one in members}) < len(members):
            raise ValueError("its members overlap")
        return {one.filename[: -len(".npy")]: _array(archive, one) for one in members}


def _array(archive: ZipFile, member: Any) -> NDArray[Any]:
    """One array, whose memory is that of its bytes in the file."""
    with archive.open(member) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{member.filename!r} is of another version")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.kind not in KINDS:
            raise ValueError(f"{member.filename!r} holds {dtype}")
        content = file.read()
    if len(content) != math.prod(shape) * dtype.itemsize or min(shape, default=0) < 0:
        raise ValueError(f"{member.filename!r} does not have the size that its shape says")
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")


def _digest(file: Any, size: int) -> bytes:
    """The digest of the next ``size`` bytes of a file, as hexadecimal digits."""
    found = hashlib.sha256()
    while size > 0:
        piece = file.read(min(size, CHUNK))
        if not piece:
            break
        found.update(piece)
        size -= len(piece)
    return found.hexdigest().encode()


def _sync_folder(folder: Path) -> None:
    """Force a renaming to the disk, where the system can; the file itself is there already."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import Checkpoint, OneSlack
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
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
        wanted = {} if about is None else {n: as_text(t, n) for n, t in as_mapping(about, "about", "texts").items()}
        held = held_at(path, resume)
        if held is not None:
            refuse_others(in_line(path.name), {n: str(held[f"{ABOUT}{n}"]) for n in _below(held, ABOUT)}, wanted)
        arrays = (held or {}) | {f"{ABOUT}{name}": np.array(text) for name, text in wanted.items()}
        return OpenCheckpoint(_CheckpointFile(path, float(self.every), arrays), WORK)


def held_at(path: Path, resume: bool) -> Arrays | None:
    """The arrays that an earlier fit wrote, or None without a file; it raises what :meth:`Checkpoint.open` does."""
    name = in_line(str(path))
    if not behind(path).parent.is_dir():
        raise FileNotFoundError(f"checkpoint must be a file in a folder that exists; got {name}.")
    if path.exists() and not path.is_file():
        raise ValueError(f"checkpoint must be a regular file; got {name}, which is a folder, a device or a pipe.")
    if path.exists() and not resume:
        raise FileExistsError(
            f"there is a file {in_line(path.name)} already: pass resume=True to continue from it, or use another name."
        )
    arrays = read_sealed(path) if path.exists() else None
    # A place where nothing can be written shows before the work, not after it.
    part_of(path).touch()
    part_of(path).unlink()
    return arrays


def opened(checkpoint: Any, resume: bool, about: Callable[[], Mapping[str, str]]) -> "OpenCheckpoint | None":
    """What ``fit(checkpoint=..., resume=...)`` asks for: a path, a :class:`Checkpoint`, or None for no file."""
    if checkpoint is None:
        if as_flag(resume, "resume"):
            raise ValueError("resume=True needs checkpoint, the file to continue from.")
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
    return f"{name} is {held or 'not given'} there and {wanted or 'not given'} here"


@final
@dataclass(eq=False)
class _CheckpointFile:
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
                words = (
                    f"the checkpoint {in_line(self.path.name)} cannot be written ({why}); the fit continues, and the "
                )
                words += "file keeps what was written before."
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

    file: _CheckpointFile = field(repr=False)
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
        """A copy of an array of finite float64 of this part; ValueError if it has a different shape or kind."""
        array = self.arrays.get(name)
        if array is None or array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
            raise ValueError(f"{self.name} is not a checkpoint of this fit: it has no {name} of shape {shape}.")
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


def fingerprint(*values: Any) -> str:
    """32 hexadecimal digits of the kinds, shapes and contents of arrays; None, text and numbers count too."""
    found = hashlib.blake2b(digest_size=16)
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind in "OUS":
            # Text is padded to the longest word in its array, and objects have no bytes of their own.
            content = "\0".join(f"{type(one).__name__} {one!r}" for one in array.ravel().tolist())
            found.update(f"text {array.shape} {len(content)} ".encode())
            found.update(content.encode("utf-8", "surrogatepass"))
        else:
            found.update(f"{array.dtype.str} {array.shape} ".encode())
            found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


FIELDS = 6
"""The numbers of a record of the history."""


@final
@dataclass(frozen=True, eq=False)
class FitState:
    """A fit as far as it has come.

    Attributes
    ----------
    w : the best weights, (d,)
    bounds : the objective at w, the lower bound of the minimum, the upper bound of the objective, and the largest
        rounding of a plane, (4,)
    records : the history, (t, 6)
    bundle : the planes; None where none prove anything, as for a risk that is not convex
    status : the status with which the fit has ended, ``""`` if it has not
    tol : the gap that was asked for
    cut : the cut at w, where the fit goes on
    """

    w: Values
    bounds: Values
    records: Values
    bundle: Bundle | None
    status: str
    tol: float
    cut: CuttingPlane | None = None

    def ended(self, gap: float, tol: float, max_iter: int) -> str:
        """The status of a fit that has nothing left to do at the certified ``gap``; ``""`` for one that goes on."""
        if gap <= tol:
            return "converged"
        if self.status in ("local", "stalled") and self.tol <= tol:
            return self.status
        return "max_iter" if len(self.records) >= max_iter else ""

    def arrays(self, learner: str, C: float) -> Arrays:
        """The same as plain arrays, with the learner and the weight of the risk that it belongs to."""
        found = {"w": self.w, "bounds": self.bounds, "records": self.records}
        found |= {"learner": np.array(learner), "C": np.array(repr(float(C)))}
        found |= {"status": np.array(self.status), "tol": np.array(float(self.tol))}
        if self.bundle is not None:
            found |= {name: np.asarray(value) for name, value in vars(self.bundle).items()}
        return found

    @classmethod
    def of(cls, kept: OpenCheckpoint, learner: str, C: float, risk: Risk) -> Self | None:
        """What a checkpoint holds of a fit of ``risk``, or None if it holds nothing; O(t d) and one cut.

        The risk is evaluated at the best weights, where it must be what was written, and no plane may be above it.

        Raises
        ------
        ValueError : with one sentence, if it belongs to another learner, C or risk
        """
        arrays = kept.arrays
        if "w" not in arrays:
            return None
        held = {name: str(arrays.get(name, "")) for name in ("learner", "C")}
        refuse_others(kept.name, held, {"learner": learner, "C": repr(float(C))})
        try:
            found = cls._read(arrays, risk)
        except (KeyError, ValueError, TypeError):
            raise ValueError(
                f"{kept.name} is not a checkpoint of this fit: its arrays are not those of {risk.size} weights and "
                f"{risk.n_parts} parts."
            ) from None
        return replace(found, cut=found._cut(kept.name, risk, C))

    @classmethod
    def _read(cls, arrays: Arrays, risk: Risk) -> Self:
        d, bundle = risk.size, None
        if "slopes" in arrays:
            slopes, whole = arrays["slopes"], bool(arrays["whole"])
            t = len(slopes) if whole else risk.n_parts
            offsets, roundings = (_numbers(arrays[name], (t,)) for name in ("offsets", "roundings"))
            bundle = Bundle(offsets, _numbers(slopes, (t, d)), roundings, whole)
        bounds = np.asarray(arrays["bounds"], dtype=np.float64)
        if bounds.shape != (4,) or np.isnan(bounds).any() or not np.isfinite(bounds[[0, 3]]).all():
            raise ValueError
        records = arrays["records"]
        w, history = _numbers(arrays["w"], (d,)), _numbers(records, (len(records), FIELDS), finite=False)
        return cls(w, bounds, history, bundle, str(arrays["status"]), float(arrays["tol"]))

    def _cut(self, name: str, risk: Risk, C: float) -> CuttingPlane:
        """The cut of the risk at w; ValueError if it is not the risk that was written."""
        half = 0.5 * float(self.w @ self.w)
        cut = risk.cut(self.w)
        low, high = (self.bounds[0] - half) / C, (self.bounds[2] - half) / C
        # The objective of a majorant is above that of the risk, and planes of a risk that is not convex prove nothing.
        known = max(low, -np.inf if self.bundle is None else self.bundle.at(self.w)) if risk.convex else -np.inf
        slack = 1e-9 * (abs(low) + abs(half) / C + 1e-3) + cut.rounding + self.bounds[3]
        inside = risk.lower is None or bool((self.w >= risk.lower).all())
        # Inexact inference gives intervals, which hold the same value if they meet.
        if not inside or cut.value > high + slack or known > cut.upper + slack:
            raise ValueError(
                f"{name} is the checkpoint of another fit: at its weights the risk is {cut.value:.6g} here, and "
                f"{low:.6g} was written. Take the same data and loss, or another file for this fit."
            )
        return cut


def _numbers(array: Any, shape: tuple[int, ...], finite: bool = True) -> Values:
    """A copy of an array of float64, if it has this shape, and no NaN or inf where it must be ``finite``."""
    if array.dtype != np.float64 or array.shape != shape or (finite and not np.isfinite(array).all()):
        raise ValueError
    return np.array(array, order="C")
