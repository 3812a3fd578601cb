"""The pages of the papers lead from an equation to a file that defines what they name, and hold every experiment."""

import ast
import re
from pathlib import Path

import pytest

from setwise.experiments import experiments

PAPERS = Path(__file__).resolve().parents[1] / "docs/papers"
ROW = re.compile(r"^\| (.+) \| \[[\w/.]+\]\((\.\./\.\./src/[\w/.]+)\) \| (.+) \|$", re.MULTILINE)
ROWS = [(page, *row) for page in sorted(PAPERS.glob("*.md")) for row in ROW.findall(page.read_text("utf-8"))]


def defined(path):
    """The names of classes, functions and methods of a file, methods also as ``Class.method``."""
    names = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
            names |= {f"{node.name}.{part.name}" for part in ast.iter_child_nodes(node) if hasattr(part, "name")}
    return names


@pytest.mark.parametrize(("page", "equation", "link", "named"), ROWS, ids=lambda value: getattr(value, "stem", value))
def test_an_equation_leads_to_a_file_that_defines_what_is_named(page, equation, link, named):
    names = re.findall(r"`([\w.]+)`", named)
    assert names
    assert set(names) <= defined(page.parent / link)


def test_every_page_has_a_table_of_equations():
    pages = {page.name for page in PAPERS.glob("*.md")} - {"index.md"}
    assert pages == {page.name for page, *_ in ROWS}
    assert len(ROWS) > 70


def test_every_experiment_of_a_paper_is_on_its_page():
    text = "".join(page.read_text("utf-8") for page in PAPERS.glob("*.md"))
    names = [one.name for one in experiments() if one.name.split("_")[0] in ("lh", "lsm", "hol", "mlsp", "dd")]
    # The ten splits are no table of the paper, and stand among the other results.
    assert [name for name in names if f"setwise reproduce {name}" not in text] == ["mlsp_splits"]
