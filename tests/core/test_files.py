"""Files that are replaced as a whole, links, devices and pipes, and what terminals are shown of their text."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from setwise.core.checkpoint import Checkpoint, write_sealed
from setwise.core.files import in_line, try_place, visible, written_whole


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


def test_a_place_is_tried_without_a_trace(tmp_path):
    (tmp_path / "link").symlink_to(Path("none", "a.csv"))
    (tmp_path / "old.csv").write_text("old")
    before = sorted(tmp_path.iterdir())
    for place in (tmp_path, tmp_path / "new.csv", tmp_path / "old.csv", Path(os.devnull)):
        try_place(place)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old.csv").read_text() == "old"
    for place in (tmp_path / "none" / "a.csv", tmp_path / "link"):
        with pytest.raises(OSError, match="none"):
            try_place(place)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_the_file_behind_it_is_written(there, tmp_path):
    (tmp_path / "deep").mkdir()
    file, link = tmp_path / "deep" / "a.csv", tmp_path / "b.csv"
    if there:
        file.write_text("old")
    link.symlink_to(Path("deep", "a.csv"))
    write(link)
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
@pytest.mark.parametrize("rights", [0o640, 0o600, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions(rights, tmp_path):
    path, link = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("old")
    path.chmod(rights)
    link.symlink_to("a.csv")
    for place in (path, link):
        write(place)
        assert stat.S_IMODE(path.stat().st_mode) == rights
    write_sealed(path, {"a": np.zeros(2)})
    assert stat.S_IMODE(path.stat().st_mode) == rights
    write(tmp_path / "c.csv")
    (tmp_path / "d.csv").touch()
    assert (tmp_path / "c.csv").stat().st_mode == (tmp_path / "d.csv").stat().st_mode


def test_links_that_lead_back_to_themselves_are_refused(tmp_path):
    one, two = tmp_path / "one.skops", tmp_path / "two.skops"
    one.symlink_to(two)
    two.symlink_to(one)
    for place in (lambda: write(one), Checkpoint(one).open):
        with pytest.raises(OSError, match="one.skops is a link to itself; name a file"):
            place()
    assert one.is_symlink()
    assert sorted(tmp_path.iterdir()) == [one, two]
    with pytest.raises(FileNotFoundError, match="a folder that exists"):
        Checkpoint(one / "fit.npz").open()


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


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="standard output has no name here")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_standard_output_goes_on_in_the_file_that_it_was_sent_to(name, tmp_path):
    code = (
        "import sys; from pathlib import Path; from setwise.core.files import is_standard_output, written_whole\n"
        "path = Path(sys.argv[1])\n"
        "print('first')\n"
        "with written_whole(path) as part: part.write_text('new\\n')\n"
        "print('last', is_standard_output(path), is_standard_output(Path('/dev/stderr')))\n"
    )
    (tmp_path / "out.txt").write_text("kept\n")
    for mode, before in (("a", "kept\n"), ("w", "")):
        with (tmp_path / "out.txt").open(mode) as out:
            subprocess.run([sys.executable, "-c", code, name], check=True, stdout=out, stderr=subprocess.PIPE)
        assert (tmp_path / "out.txt").read_text() == f"{before}first\nnew\nlast True False\n"


def test_what_controls_a_terminal_is_shown():
    assert visible("a\x1b[31mb\x07\x7f\x9b\u202ec\u2028") == r"a\x1b[31mb\x07\x7f\x9b\u202ec\u2028"
    assert visible("Lovász\tä\n日本") == "Lovász\tä\n日本"
    assert in_line("Lovász\tä\r\n日本\x1b[1m") == r"Lovász\tä\r\n日本\x1b[1m"
