"""The chooser keeps its promise: each answer ends in a few lines of code. Their run is in ``test_docs.py``."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs/start/chooser.md"
TAB = re.compile(r"^(:{3,})\{tab-item\} (.*)\n((?:.*\n)*?)\1\n", re.MULTILINE)
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def answers(text):
    """The title and the text of each tab that has no tabs inside."""
    for _, title, inside in TAB.findall(text):
        yield from answers(inside) if TAB.search(inside) else [(title, inside)]


ANSWERS = dict(answers(PAGE.read_text("utf-8")))


def test_every_answer_is_found_once():
    titles = re.findall(r"\{tab-item\} (.*)", PAGE.read_text("utf-8"))
    outer = [title for title in titles if title not in ANSWERS]
    assert len(titles) == len(outer) + len(ANSWERS)
    assert outer == ["A table", "Rows with many labels", "Rows in groups", "Images", "Outputs of a neural network"]


@pytest.mark.parametrize("title", ANSWERS)
def test_an_answer_has_a_few_lines_of_code(title):
    blocks = CODE.findall(ANSWERS[title])
    assert blocks
    for block in blocks:
        lines = [line for line in block.splitlines() if line and not re.match("import |from ", line)]
        assert 1 <= len(lines) <= 7
