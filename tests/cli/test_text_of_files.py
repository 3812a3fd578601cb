"""Names, labels, ids and paths that hold commands for terminals or markup are shown as text, wherever they come out."""

import contextlib
import io
import json
import sys
import time
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from setwise.cli import main
from setwise.compare.progress import ProgressLine
from setwise.core.files import HIDDEN

ODD = "\x1b[31m\r\n\x9b<script>\u202e"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "br", "a", "figure", "figcaption", "img",
    "pre", "b", "div", "h4", "details", "summary", "svg", "rect", "circle", "path", "g", "text",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="such names of files need POSIX")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    table = {f"a{ODD}": X[:, 0], f"b'\"&{ODD}": X[:, 1], f"c{ODD}": [f"{'uvw'[i % 3]}{ODD}" for i in range(120)]}
    table |= {f"day{ODD}": [f"2020-01-{i % 28 + 1:02d}" for i in range(120)], f"one{ODD}": [f"same{ODD}"] * 120}
    table |= {f"bag{ODD}": [f"{i // 6}{ODD}" for i in range(120)]}
    table[f"y{ODD}"] = [f"{word}{ODD}" for word in np.where(X[:, 0] + rng.normal(size=120) > 0, "yes", "no")]
    found = tmp_path_factory.mktemp("odd") / f"t{ODD}.csv"
    pd.DataFrame(table).to_csv(found, index=False)
    return found


def run(*words):
    try:
        return main([str(word) for word in words])
    except SystemExit as stop:
        return stop.code


def assert_plain(text):
    assert HIDDEN.findall(text) == []
    assert not [line for line in text.splitlines() if line.startswith(r"\x9b")], "a name has broken a line"


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = Counter(), set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


@pytest.mark.slow
def test_a_comparison_and_its_report(path, tmp_path, capsys):
    pytest.importorskip("skops.io")
    out, model = tmp_path / f"r{ODD[:4]}", tmp_path / f"m{ODD}.skops"
    words = (
        "-v",
        "--target",
        f"y{ODD}",
        "--group",
        f"bag{ODD}",
        "--base",
        "linear",
        "--strategies",
        "as_it_is",
        "--quick",
    )
    assert run("compare", path, *words, "--folds", "2", "--test", path, "--out", out, "--save", model) == 0
    shown = capsys.readouterr()
    for text in shown:
        assert_plain(text)
        assert r"t\x1b[31m\r\n\x9b<script>\u202e.csv" in text
    for name in ("a", "y", "one", "day"):
        assert rf"{name}\x1b[31m\r\n" in shown.out
    page = (out / "report.html").read_bytes().decode("utf-8")
    assert HIDDEN.findall(page) == []
    held = Reader()
    held.feed(page)
    assert set(held.tags) <= TAGS
    assert not {name for name in held.attributes if name.startswith("on")}
    assert held.text.count("<script>") > 9
    results = (out / "results.json").read_bytes().decode("utf-8")
    assert HIDDEN.findall(results) == []
    assert json.loads(results)["answers"][0]["problem"] == path.name

    assert run("predict", model, path, "--keep", f"c{ODD}", "--out", tmp_path / f"l{ODD}.csv") == 0
    assert_plain(capsys.readouterr().out)
    held = pd.read_csv(tmp_path / f"l{ODD}.csv", lineterminator="\n")
    assert set(held["label"]) == {f"yes{ODD}", f"no{ODD}"}
    assert set(held[f"c{ODD}"]) == {f"{letter}{ODD}" for letter in "uvw"}


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "PATH"),
        ("compare", "PATH", "--target", f"none{ODD}"),
        ("compare", "PATH", "--target", f"c{ODD}", "--positive", f"none{ODD}"),
        ("compare", "PATH", "--target", f"y{ODD}", "--group", f"none{ODD}"),
        ("compare", "PATH", "--target", f"y{ODD}", "--positive", f"none{ODD}"),
        ("compare", "PATH", "--target", f"y{ODD}", "--out", "PATH"),
        ("compare", "PATH", "--target", f"y{ODD}", "--save", f"none{ODD}/m.skops"),
        ("compare", "PATH", "--target", f"y{ODD}", "--checkpoint", f"none{ODD}/c.npz"),
        ("compare", f"none{ODD}.csv"),
        ("compare", "PATH", f"more{ODD}"),
        ("compare", f"--{ODD}"),
        ("compare", "PATH", "--loss", ODD),
        ("predict", f"none{ODD}.skops", "PATH"),
        ("predict", f"none{ODD}", "PATH"),
        ("list", ODD),
        (ODD,),
    ],
    ids=lambda words: ascii(" ".join(words).replace(ODD, "?")),
)
def test_a_refusal_is_one_line(path, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(*(path if word == "PATH" else word for word in words)) == 2
    # A slow machine says that it reads.
    lines = [line for line in capsys.readouterr().err.splitlines(keepends=True) if "reading the rows" not in line]
    assert_plain("".join(lines))
    assert len(lines) == 1


def test_a_line_of_progress_stays_one_line():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream in (Terminal(), io.StringIO()):
        line = ProgressLine(2, "compare", stream)
        line.advance(f"{ODD}: fold 1", 2)
        line.close()
        (text,) = stream.getvalue().replace("\r", "", 1).splitlines()
        assert_plain(text)
        assert r"\x1b[31m\r\n" in text


def test_long_steps_show_that_they_go_on(monkeypatch):
    monkeypatch.setattr("setwise.compare.progress.QUIET", 1.5)
    stream = io.StringIO()

    def comes(text):
        end = time.perf_counter() + 30.0
        while text not in stream.getvalue() and time.perf_counter() < end:
            time.sleep(0.05)
        return text in stream.getvalue()

    with contextlib.closing(ProgressLine(0, "compare", stream)) as line:
        line.advance("reading the rows", 0)
        assert comes("compare reading the rows  ")
        line.total = 40
        line.advance("all rows: boosted trees", 0)
        assert comes("compare 0/40 all rows: boosted trees  ")
    drawn = stream.getvalue()
    time.sleep(1.2)
    assert stream.getvalue() == drawn
