"""Files of plain arrays under a seal: written as a whole or not at all, and read only if no bit has changed."""

import contextlib
import hashlib
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray

from setwise.core.visible import in_line
from setwise.core.whole import behind, rights_at

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
            raise ValueError(f"{name} is no checkpoint of setwise, or it was cut off: its seal is missing.")
        file.seek(0)
        if _digest(file, size + len(SEAL)) != seal[len(SEAL) :]:
            raise ValueError(f"{name} is a damaged checkpoint: its bytes are not those that were written.")
        # A seal proves no good will, so what it covers is still checked.
        try:
            return _arrays(file, size)
        # Damaged bytes make the readers raise almost any exception.
        except Exception as error:
            why = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise ValueError(f"{name} is no checkpoint of setwise: {why[:200]}.") from None


def _arrays(file: Any, size: int) -> Arrays:
    with ZipFile(file) as archive:
        members = archive.infolist()
        if any(one.compress_type != ZIP_STORED or not one.filename.endswith(".npy") for one in members):
            raise ValueError("it holds members that are compressed or no arrays")
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
        raise ValueError(f"{member.filename!r} has another size than its shape says")
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
