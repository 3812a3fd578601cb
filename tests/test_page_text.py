"""No line of a page begins as a list item or a comment by accident, and no docstring has markup shown as plain text."""

import inspect
import re
import tomllib
from importlib import import_module
from itertools import takewhile
from pathlib import Path

import pytest

from packages import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ITEM = re.compile(r"\s*(?:[-+*%]|\d+[.)])\s")
FENCE = re.compile(r"\s*(`{3,}|:{3,}|~{3,})")


def accidental_items(text):
    """The numbers of the lines that begin as list items within a paragraph which is none."""
    found, fence, before, listed = [], "", "", False
    for number, line in enumerate(text.splitlines(), start=1):
        mark = FENCE.match(line)
        # Colons enclose text, the other marks enclose code.
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence or mark[1].startswith(":") else mark[1]
            before = ""
        elif not fence:
            if ITEM.match(line):
                found += [number] if before and not listed else []
                listed = True
            elif line.strip() and not before:
                listed = listed and line.startswith(" ")
            before = line.strip()
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_line_of_a_paragraph_begins_as_a_list_item(page):
    found = accidental_items(page.read_text("utf-8"))
    assert not found, f"lines {found} of {page.name} begin as list items or comments: break them elsewhere"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the gap is `(upper\n- lower) / upper`", [2]),
        ("a bag of\n92. The next", [2]),
        ("93.9\n% of them are found", [2]),
        ("Two:\n\n- one\n- two\n  on\n- three\n\n  more\n- four", []),
        ("- one\n\nthen `a\n+ b`", [4]),
        ("```text\na\n- b\n```\n\n:::{tip}\na\n* b\n:::", [8]),
    ],
)
def test_accidental_items_are_found(text, found):
    assert accidental_items(text) == found


@pytest.mark.parametrize("package", PACKAGES)
def test_names_of_entries_have_no_markup(package):
    """Numpydoc takes what is not indented below Parameters or Attributes for names, and shows their markup as it is."""
    room, wrong = import_module(package), []
    for name in room.__all__:
        lines = (inspect.getdoc(getattr(room, name)) or "").splitlines()
        for section in {"Parameters", "Attributes"}.intersection(lines):
            entries = takewhile(str.strip, lines[lines.index(section) + 2 :])
            names = [line.split(" : ")[0] for line in entries if not line.startswith(" ")]
            wrong += [f"{name}: {line}" for line in names if "`" in line]
    assert not wrong, wrong


def test_start_lists_the_extras_of_users():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/start/index.md").read_text("utf-8"), re.MULTILINE)
    assert set(table) == set(extras) - {"benchmark", "docs", "dev"}
