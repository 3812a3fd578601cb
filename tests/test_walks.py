"""Each command of the page of walks is run, and prints what stands below it on the page.

Words are the same, and numbers differ by at most one unit in their last digit. What the page leaves out is marked.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from setwise.cli import main

PAGE = Path(__file__).resolve().parents[1] / "docs/start/walks.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[+-]?\d*\.?\d+(?:e[+-]?\d+)?")
BAR = re.compile(r"\|? *\[[-o|]+\] *\|?")
LEFT_OUT = "[...]"
needs_data = pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")


def walks():
    """The words of each command of ``setwise compare`` by its file, and the text that it prints."""
    found, command = {}, None
    for kind, text in BLOCK.findall(PAGE.read_text("utf-8")):
        if kind == "bash" and text.startswith("setwise compare"):
            command = text.replace("\\\n", " ").split()[1:]
        elif kind == "text":
            found[command[1]] = (command, text)
    return found


def definitions():
    """What the Python blocks of the page define; the first of them writes cancer.csv."""
    namespace = {}
    for kind, text in BLOCK.findall(PAGE.read_text("utf-8")):
        if kind == "python":
            exec(compile(text, str(PAGE), "exec"), namespace)
    return namespace


def made(name):
    """Write the file of a walk into the working directory, with the bytes that the lines of the page write."""
    pd, blocks = pytest.importorskip("pandas"), definitions()["blocks"]
    if name == "cancer.csv":
        return
    data = Path(os.environ["SETWISE_DATA"])
    if name == "wilt.csv":
        Path(name).write_bytes((data / "imbalanced" / name).read_bytes())
    elif name == "horses.csv":
        folder = data / "weizmann_horses"
        masks, images = np.load(folder / "masks.npz")["masks32"], np.load(folder / "rgb_32_50.npz")["rgb32"]
        # The first photograph has the number 1.
        tables = [blocks(f"horse{k:03d}.jpg", images[k - 1], masks[k - 1] == 1) for k in range(20, 120)]
        pd.concat(tables).to_csv(name, index=False)
    else:
        held = np.load(data / "multilabel" / "emotions.npz")
        table = pd.DataFrame(held["X"], columns=held["feature_names"])
        for label, column in zip(held["label_names"], held["Y"].T, strict=True):
            table[label.partition("-")[0]] = column
        table.to_csv(name, index=False)


def assert_printed(printed, shown):
    """All parts of the page's text occur in what was printed, one after the other; lines may be broken elsewhere."""
    # Where the interval stands in the line is said in numbers below.
    seen = BAR.sub("", printed).split()
    for part in shown.split(LEFT_OUT):
        said = BAR.sub("", part).split()
        same = [NUMBER.sub("#", word) for word in said]
        words = [NUMBER.sub("#", word) for word in seen]
        starts = [i for i in range(len(words) - len(said) + 1) if words[i : i + len(said)] == same]
        assert starts, printed
        seen = seen[starts[0] :]
        for i, word in enumerate(said):
            for a, b in zip(NUMBER.findall(seen[i]), NUMBER.findall(word), strict=True):
                assert abs(float(a) - float(b)) < 1.5 * 10.0 ** -len(b.partition(".")[2]), printed
        seen = seen[len(said) :]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "cancer.csv",
        *(
            pytest.param(name, marks=[pytest.mark.realdata, needs_data])
            for name in ("wilt.csv", "horses.csv", "emotions.csv")
        ),
    ],
)
def test_a_walk_prints_what_the_page_shows(name, tmp_path, monkeypatch, capsys):
    command, shown = walks()[name]
    pytest.importorskip("matplotlib").use("agg")
    if "--save" in command:
        pytest.importorskip("skops")
    monkeypatch.chdir(tmp_path)
    made(name)
    # With time enough nothing is left out on slow machines.
    assert main([*command, "--time-budget", "7200"]) == 0
    assert_printed(capsys.readouterr().out, shown)


def test_every_walk_has_a_command_a_text_and_a_row_of_the_table_of_answers():
    found = walks()
    assert list(found) == ["cancer.csv", "wilt.csv", "horses.csv", "emotions.csv"]
    for command, shown in found.values():
        assert command[0] == "compare"
        # A report is written to the working directory, and its time is not the same in any two runs.
        assert LEFT_OUT in shown
        assert "Written to" not in shown
    text = PAGE.read_text("utf-8")
    assert len(re.findall(r"^\| \[", text, re.MULTILINE)) == len(found)


@pytest.mark.parametrize("name", walks())
def test_the_text_below_a_walk_quotes_its_figures(name):
    text, (_, shown) = PAGE.read_text("utf-8"), walks()[name]
    below = text.partition(shown)[2].partition("\n## ")[0]
    reading = BLOCK.sub("", below)
    known = {float(n) for n in NUMBER.findall(shown)}
    quoted = set(re.findall(r"[+-]?(?<!\d)\.\d{3}", reading))
    assert quoted
    assert not {q for q in quoted if float(q) not in known and -float(q) not in known}
