"""Files that are written as a whole or not at all, and text of files that commands no terminal or page.

Links are followed, and devices and pipes stay what they are.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that control a terminal, tabs and ends of lines left out, or turn the direction of what follows."""


def visible(text: str) -> str:
    r"""The text with hidden characters as escapes, as ``\x1b``."""
    return HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)


def in_line(text: str) -> str:
    r"""The text with hidden characters, tabs and ends of lines as escapes, as ``\x1b`` and ``\n``."""
    return visible(text).replace("\t", r"\t").replace("\n", r"\n")


@contextmanager
def visible_errors() -> Iterator[None]:
    """Show hidden characters of the messages of errors as escapes, as those of paths."""
    try:
        yield
    except (ValueError, OSError) as error:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (visible(error.args[0]),)
        raise


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A new file to write to, which becomes ``path`` at the end; an error before leaves ``path`` as it was.

    Where ``path`` is a link, the file behind it is replaced. What is no regular file, as a device or a named pipe, gets
    the bytes. A file that is replaced keeps its permissions.

    Raises
    ------
    FileNotFoundError : where the folder of the file, or of the file behind a link, does not exist
    """
    real, through = behind(path), _is_stream(path)
    if not through:
        require_folder(path)
    handle, name = tempfile.mkstemp(dir=None if through else real.parent, prefix=f".{real.name}-")
    os.close(handle)
    part = Path(name)
    try:
        yield part
        if through:
            with part.open("rb") as made, _stream(path) as stream:
                shutil.copyfileobj(made, stream)
        else:
            part.chmod(rights_at(real))
            os.replace(part, real)
    finally:
        part.unlink(missing_ok=True)


def behind(path: Path) -> Path:
    """The file behind a link, which need not exist; ``path`` itself where it is no link.

    Raises
    ------
    OSError : for links that lead back to themselves
    """
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    if real.is_symlink():
        raise OSError(f"{in_line(str(path))} is a link to itself; name a file.")
    return real


def require_folder(path: Path) -> None:
    """Raise FileNotFoundError unless the folder of a file, or of the file behind a link, is there."""
    folder = behind(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {in_line(str(folder))} for {in_line(path.name)}.")


def try_place(path: Path) -> None:
    """Write a file beside ``path``, or inside it if it is a folder, and remove it; nothing for devices and pipes.

    Raises
    ------
    OSError : where it cannot be written, with the name of the folder
    """
    folder = path if path.is_dir() else behind(path).parent
    if path.is_dir() or not _is_stream(path):
        try:
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".setwise-") as file:
                file.write(b"tried")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(folder)) from None


def try_file(path: Path) -> None:
    """Try the place of a file that is written after the work.

    Raises
    ------
    OSError : for a folder, where its folder does not exist, and where it takes no files
    """
    require_folder(path)
    if path.is_dir():
        raise IsADirectoryError(f"{in_line(str(path))} is a folder; name a file.")
    try_place(path)


def rights_at(path: Path) -> int:
    """The permissions of the file that is there, or those of a new one."""
    return path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()


def _is_stream(path: Path) -> bool:
    """Whether bytes go into what is there, as into a device."""
    # What the system lists here may be a file that is open already, as standard output.
    listed = os.path.realpath(path.parent)
    return (path.exists() and not path.is_file()) or listed == "/dev" or f"{listed}/".startswith("/proc/")


def _stream(path: Path) -> BinaryIO:
    """What is there, opened to write; standard output goes on where it is, in a file that it was sent to."""
    if not is_standard_output(path):
        return path.open("wb")
    sys.stdout.flush()
    return os.fdopen(os.dup(1), "wb")


def is_standard_output(path: Path) -> bool:
    """Whether a path is another name of standard output, as ``/dev/stdout``."""
    try:
        return _is_stream(path) and os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False


def _umask() -> int:
    """The bits that the process takes from the permissions of its files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
