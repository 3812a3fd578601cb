"""Results are written as a whole or not at all; links are followed, and devices and pipes stay what they are."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A new file to write to, which becomes ``path`` at the end; an error before leaves ``path`` as it was.

    Where ``path`` is a link, the file behind it is replaced. What is no regular file, as a device or a named pipe, gets
    the bytes.
    """
    real, through = behind(path), _is_stream(path)
    handle, name = tempfile.mkstemp(dir=None if through else real.parent, prefix=f".{real.name}-")
    os.close(handle)
    part = Path(name)
    try:
        yield part
        if through:
            with part.open("rb") as made, path.open("wb") as stream:
                shutil.copyfileobj(made, stream)
        else:
            # Temporary files can be read by their owner alone; others follow the umask.
            part.chmod(0o666 & ~_umask())
            os.replace(part, real)
    finally:
        part.unlink(missing_ok=True)


def behind(path: Path) -> Path:
    """The file behind a link, which need not exist; ``path`` itself where it is no link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _is_stream(path: Path) -> bool:
    """Whether bytes go into what is there, as into a device."""
    # What the system lists here may be a file that is open already, as standard output.
    listed = os.path.realpath(path.parent)
    return (path.exists() and not path.is_file()) or listed == "/dev" or f"{listed}/".startswith("/proc/")


def _umask() -> int:
    """The bits that the process takes from the permissions of its files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
