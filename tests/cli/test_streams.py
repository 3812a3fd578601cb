"""What happens where standard streams are closed, broken, full, or lack characters."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SETWISE = f'"{sys.executable}" -m setwise.cli'
COMPARE = f"{SETWISE} compare t.csv --quick --folds 2 --base linear --strategies threshold --time-budget 3600"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")]


def shell(folder, line, **variables):
    environment = {**os.environ, "MPLBACKEND": "agg", **variables}
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, capture_output=True, check=False, timeout=300, env=environment
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{x:.3f},{i % 3 == 0}\n" for i, x in enumerate(rng.normal(size=36)))
    (tmp_path / "t.csv").write_text("x,y\n" + rows)
    return tmp_path


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_list_prints_a_question_mark_for_what_the_encoding_lacks(tmp_path, encoding):
    code, out, err = shell(tmp_path, f"{SETWISE} list", PYTHONIOENCODING=encoding)
    assert (code, err) == (0, b"")
    assert b"|A ? {1..i}|" in out
    assert b"learners:" in out


@pytest.mark.parametrize(
    "line",
    [
        "{} >&- 2>&-",
        "({}; echo $? >code) 2>&1 | head -1; exit $(cat code)",
        "({}; echo $? >code) | head -1; exit $(cat code)",
    ],
    ids=["both closed", "both broken", "output broken"],
)
def test_a_finished_comparison_is_written_whatever_becomes_of_the_streams(folder, line):
    code, _, err = shell(folder, line.format(COMPARE))
    assert code == 0
    assert b"Traceback" not in err
    assert b"Exception" not in err
    assert (folder / "setwise-report" / "report.html").stat().st_size > 1000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_a_sentence(tmp_path):
    code, _, err = shell(tmp_path, f"{SETWISE} list >/dev/full")
    assert (code, err) == (2, b"setwise: No space left on device.\n")


def test_the_name_of_a_file_need_not_be_utf_8(folder):
    try:
        os.rename(folder / "t.csv", os.fsencode(folder) + b"/t\xff.csv")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    code, out, err = shell(folder, COMPARE.replace("t.csv", r"""t"$(printf '\377')".csv"""), PYTHONIOENCODING="ascii")
    assert code == 0, err
    assert b"t?.csv: F1" in out
    assert b"Stay with logistic regression" in out
    assert (folder / "setwise-report" / "results.json").exists()
