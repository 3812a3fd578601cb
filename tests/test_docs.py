"""Every Python block in the README and in docs/ runs, file by file, each file in one namespace."""

import re
from pathlib import Path

import numpy as np
import pytest

from setwise import losses
from setwise.core.sets import Sets
from setwise.description import examine, verdicts

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
COMMAND = re.compile(r"<!-- newcomer: (run|test) -->\n```bash\n(.+?)\n```")


def page_id(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))], ids=page_id)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, namespace = page.read_text("utf-8"), {"__name__": "__page__"}
    for found in BLOCK.finditer(text):
        line = text[: found.start(1)].count("\n")
        # Blank lines in front make a failure name the line of the page.
        exec(compile("\n" * line + found.group(1), str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page):
    missing = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert not missing


def test_the_readme_has_one_command_to_run_and_one_to_test():
    commands = COMMAND.findall((ROOT / "README.md").read_text("utf-8"))
    assert [name for name, _ in commands] == ["run", "test"]


def test_every_loss_has_a_section_in_the_guide():
    text = (ROOT / "docs/guide/losses.md").read_text("utf-8")
    names = [kind.__name__ for kind in losses.LOSSES.values()]
    assert not [name for name in names if not re.search(rf"^## .*`{name}`", text, re.MULTILINE)]


def rows_of_the_readme():
    """Loss and nine answers of each row of the table of losses and surrogates."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    return [row for row in ([cell.strip() for cell in line.strip("|").split("|")] for line in lines) if len(row) == 10]


ROWS = rows_of_the_readme()[2:]


def test_the_table_of_the_readme_is_there():
    assert len(ROWS) >= 8


def said_of(text, p):
    """Verdicts on the loss that the cell ``text`` names, for one ground truth of p decisions."""
    k = np.arange(p + 1.0)
    names = {name: getattr(losses, name) for name in losses.__all__}
    loss = eval(text.strip("`"), names | {"g": np.sqrt(k), "h": k**2, "w": np.arange(p) % 3 / 2})
    truth = Sets.single(np.arange(p) % 3 == 0)
    return verdicts(loss, truth, examine(loss, truth))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_table_of_the_readme_is_true(row):
    # Traits are certain up to 16 decisions; what is tractable there by enumeration alone may not be above 20.
    pairs = zip(said_of(row[0], 30), said_of(row[0], 12), strict=True)
    answers = [answer for large, small in pairs for answer in (large.tractable, small.tight, small.convex)]
    assert row[1:] == ["yes" if answer else "no" for answer in answers]
