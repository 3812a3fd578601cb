"""Files that are replaced as a whole, links that are followed, and devices and pipes that get the bytes."""

import os
import stat
import threading
from pathlib import Path

import pytest

from setwise.core.whole import written_whole


def write(path, text="new"):
    with written_whole(path) as part:
        part.write_text(text)


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write(path, "half \udc80")
    assert path.read_text() == "old"
    write(path)
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_the_file_behind_it_is_written(there, tmp_path):
    (tmp_path / "deep").mkdir()
    file, link = tmp_path / "deep" / "a.csv", tmp_path / "b.csv"
    if there:
        file.write_text("old")
    link.symlink_to("deep/a.csv")
    write(link)
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_the_reader_of_a_named_pipe_gets_the_bytes(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write(pipe)
    reader.join(30)
    assert got == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_devices_stay_devices():
    write(Path(os.devnull))
    with pytest.raises(OSError, match="space"):
        write(Path("/dev/full"))
    assert all(stat.S_ISCHR(os.stat(path).st_mode) for path in (os.devnull, "/dev/full"))
