"""The chooser keeps its promise: each answer ends in a few lines of code. Their run is in ``test_docs.py``."""

import ast
import builtins
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


def unknown(blocks):
    """The names that blocks of code read and that neither they nor Python define."""
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block))]
    defined = {alias.asname or alias.name for node in nodes for alias in getattr(node, "names", [])}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    defined |= {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(dir(builtins))
    return sorted({node.id for node in names} - defined)


@pytest.mark.parametrize("title", ANSWERS)
def test_an_answer_needs_no_other_one(title):
    first = CODE.search(PAGE.read_text("utf-8"))[1]
    assert not unknown([first, *CODE.findall(ANSWERS[title])])


def test_a_name_of_another_answer_is_seen():
    assert unknown(["import numpy as np", "labels = decide(np.exp(logits))"]) == ["decide", "logits"]
