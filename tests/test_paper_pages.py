"""The pages of the papers lead from an equation to the line that defines what they name, and hold every experiment."""

import re
from pathlib import Path

import pytest

from definitions import definitions
from papers import experiments

PAPERS = Path(__file__).resolve().parents[1] / "docs/papers"
PAGES = sorted(set(PAPERS.glob("*.md")) - {PAPERS / "index.md"})
TABLE = re.compile(r"^\| paper \| name \| file \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(
    r"\| (.+) \| \[`([\w.]+)`\]\(\.\./\.\./((?:src/setwise|papers)/[\w/]+\.py)#([\w.]+)\) \| ([\w/]+\.py) \|"
)


def rows(page):
    """The rows of the table of equations: equation, name, the file and the name that are linked, and file."""
    (table,) = TABLE.findall(page.read_text("utf-8"))
    return [ROW.fullmatch(line) or pytest.fail(line) for line in table.splitlines()]


@pytest.mark.draw(8)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_equation_leads_to_the_definition_of_what_is_named(page):
    for row in rows(page):
        _, name, linked, anchor, file = row.groups()
        assert (file, name) == (linked.removeprefix("src/setwise/"), anchor)
        assert name in definitions((PAPERS / "../.." / linked).read_text("utf-8")), f"{file}#{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_number_of_an_equation_is_written_out(page):
    # Neither "Eq. 53 to 55" nor "Eq. 53, 54, 55" is found by a search for "Eq. 54".
    several = re.compile(r"\w\. \d+(?:, \d|(?:, \d+)* (?:to|and|-) )|Algorithms|Lemmas")
    assert not [row[1] for row in rows(page) if several.search(row[1])]
    assert len(rows(page)) > 15


def test_names_are_found_at_their_lines():
    code = "LIMIT: int = 3\n\n\n@final\nclass A:\n    size = 1\n\n    @property\n    def b(self): ...\n"
    assert definitions(code) == {"LIMIT": 1, "A": 5, "A.size": 6, "A.b": 9}


def test_every_experiment_of_a_paper_is_on_its_page():
    text = "".join(page.read_text("utf-8") for page in PAPERS.glob("*.md"))
    names = [one.name for one in experiments() if one.name.split("_")[0] in ("lh", "lsm", "hol", "mlsp", "dd")]
    # The ten splits are no table of the paper, and stand among the other results.
    assert [name for name in names if f"python -m papers {name}" not in text] == ["mlsp_splits"]
