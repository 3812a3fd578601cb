"""``setwise compare --checkpoint``: Ctrl-C and kill -9 leave a good file, from which --resume goes on."""

import contextlib
import json
import subprocess
import sys

import numpy as np
import pytest

from rounds import rounds
from setwise.cli import main
from setwise.core.checkpoint import read_sealed

WORDS = ("--target", "sick", "--quick", "--folds", "3", "--base", "linear", "--time-budget", "3600")
STRATEGIES = ("--strategies", "threshold,class_weight,stack")


def table(path, n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4 == 0
    X = rng.normal(size=(n, 3)) + np.outer(y, [1.5, 0.5, 0.0])
    lines = [",".join([*(f"{v:.4f}" for v in x), str(int(t))]) for x, t in zip(X, y, strict=True)]
    path.write_text("\n".join(["u,v,w,sick", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return table(tmp_path_factory.mktemp("data") / "t.csv")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "work.npz"


def compare(data, out, *words):
    try:
        return main(["compare", str(data), *WORDS, *STRATEGIES, "--out", str(out), *map(str, words)])
    except SystemExit as stop:
        return stop.code


def results(folder):
    """What a comparison has found, without the seconds that it took."""

    def timeless(found):
        if isinstance(found, dict):
            return {name: timeless(one) for name, one in found.items() if "seconds" not in name}
        return [timeless(one) for one in found] if isinstance(found, list) else found

    return timeless(json.loads((folder / "results.json").read_text(encoding="utf-8"))["answers"])


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert compare(data, folder / "r") == 0
    return results(folder / "r")


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.45, 0.95])
def test_ctrl_c_and_resume_find_the_same(share, data, whole, file, tmp_path, fits, capsys):
    assert compare(data, tmp_path / "r", "--checkpoint", file) == 0
    all_fits = fits["count"]
    assert results(tmp_path / "r") == whole
    file.unlink()
    fits.update(count=0, stop=int(share * all_fits))
    assert compare(data, tmp_path / "r", "--checkpoint", file) == 130
    assert "setwise: interrupted, work.npz holds what was done; --resume goes on from it." in capsys.readouterr().err
    read_sealed(file)
    fits.update(count=0, stop=0)
    assert compare(data, tmp_path / "r", "--checkpoint", file, "--resume") == 0
    assert fits["count"] < (1.3 - share) * all_fits
    assert results(tmp_path / "r") == whole


@pytest.mark.slow
def test_a_finished_comparison_makes_few_fits(data, whole, file, tmp_path, fits):
    assert compare(data, tmp_path / "r", "--checkpoint", file) == 0
    all_fits, fits["count"] = fits["count"], 0
    assert compare(data, tmp_path / "r", "--checkpoint", file, "--resume") == 0
    assert fits["count"] < 0.1 * all_fits
    assert results(tmp_path / "r") == whole
    # What was judged is dropped.
    assert not [name for name in read_sealed(file) if "responses" in name]


def test_ctrl_c_in_the_first_fits_writes_nothing(data, file, tmp_path, fits, capsys):
    fits["stop"] = 3
    assert compare(data, tmp_path / "r", "--checkpoint", file) == 130
    assert "interrupted, nothing was written" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.slow
def test_what_does_not_fit_is_refused(data, file, tmp_path, capsys):
    (tmp_path / "r").mkdir()

    def sentence(*words, rows=data):
        assert compare(rows, tmp_path / "r", *words) == 2
        return capsys.readouterr().err

    assert "--resume goes on from the file of --checkpoint; name it" in sentence("--resume")
    assert "checkpoint must be a file in a folder that exists" in sentence("--checkpoint", tmp_path / "none" / "f")
    file.write_text("mine")
    assert "there is a file work.npz already: pass --resume" in sentence("--checkpoint", file)
    assert "work.npz is not a checkpoint of setwise" in sentence("--checkpoint", file, "--resume")
    assert file.read_text() == "mine"
    file.unlink()
    assert compare(data, tmp_path / "r", "--checkpoint", file) == 0
    content = file.read_bytes()
    again = ("--checkpoint", file, "--resume")
    assert "another fit: loss is None there and 'jaccard' here" in sentence(*again, "--loss", "jaccard")
    assert "seed is 0 there and 1 here" in sentence(*again, "--seed", "1")
    assert "data differs" in sentence(*again, rows=table(tmp_path / "other.csv", seed=1))
    assert file.read_bytes() == content
    file.write_bytes(content[: len(content) // 2])
    assert "it is truncated" in sentence(*again)


@pytest.mark.slow
def test_kill_9_and_resume_find_the_same(data, whole, file, tmp_path):
    rng = np.random.default_rng(0)
    words = [
        "compare",
        str(data),
        *WORDS,
        *STRATEGIES,
        "--out",
        str(tmp_path / "r"),
        "--checkpoint",
        str(file),
        "--resume",
    ]
    code = "from setwise.core import checkpoint; checkpoint.SHARE = 0.0;"
    code = f"{code} checkpoint.Checkpoint.__init__.__defaults__ = (0.0,); from setwise.cli import main; main({words!r})"
    for _ in range(rounds(5, 2)):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(3.0, 8.0))
        process.kill()
        process.wait()
        if file.exists():
            read_sealed(file)
    assert compare(data, tmp_path / "r", "--checkpoint", file, "--resume") == 0
    assert results(tmp_path / "r") == whole
