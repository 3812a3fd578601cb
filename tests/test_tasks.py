"""Tasks: the start pages of the site, the first page of the reference, and ``setwise list --for``."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from setwise.cli import main
from setwise.core.tasks import TASKS
from setwise.losses import as_loss

DOCS = Path(__file__).resolve().parents[1] / "docs"
TREE = re.compile(r"^```\{toctree\}\n.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```(?:python|bash)$", re.MULTILINE)


def listed(page):
    """The pages that the navigation has below a page."""
    lines = [line for tree in TREE.findall(page.read_text("utf-8")) for line in tree.splitlines()[1:-1]]
    return [(page.parent / f"{line.split('<')[-1].rstrip('>')}.md").resolve() for line in lines if line[:1] not in "`:"]


def test_the_reference_begins_with_at_most_60_names():
    assert len({name for task in TASKS.values() for name in task.names}) <= 60


@pytest.mark.parametrize("task", TASKS)
def test_every_name_of_a_task_exists(task):
    for name, words in TASKS[task].names.items():
        package, _, short = f"setwise.{name}".rpartition(".")
        held = getattr(import_module(package), short)
        assert short in import_module(package).__all__
        for text in re.findall(r": '([\w:]+)'", words):
            assert type(as_loss(text)) is held


@pytest.mark.parametrize("task", TASKS)
def test_list_prints_the_names_of_a_task_in_a_screen(task, capsys):
    assert main(["list", "--for", task]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 30
    assert [line.split()[0] for line in lines[1:]] == list(TASKS[task].names)
    assert TASKS[task].title in lines[0]


def test_an_unknown_task_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["list", "--for", "images"])
    assert "'images' (choose from" in capsys.readouterr().err


@pytest.mark.parametrize("task", TASKS)
def test_a_start_page_is_short_and_leads_to_three_to_five_places(task):
    page = DOCS / f"{TASKS[task].page}.md"
    text = page.read_text("utf-8")
    assert text.startswith(f"# {TASKS[task].title}\n")
    assert f"`setwise list --for {task}`" in " ".join(text.split())
    assert "(../api/index.rst)" in text
    assert len(CODE.split(text)[0].split()) <= 100
    assert len(text.split()) <= 450
    assert 3 <= len(re.findall(r"^\| (?!you |---).* \| \[.*\) \|$", text, re.MULTILINE)) <= 5


@pytest.mark.parametrize("task", TASKS)
def test_a_page_of_a_task_has_code_within_300_words(task):
    pages = listed(DOCS / f"{TASKS[task].page}.md")
    assert 3 <= len(pages) <= 5
    for page in pages:
        assert len(CODE.split(page.read_text("utf-8"))[0].split()) <= 300, page.name


def test_every_page_has_one_place_in_the_navigation():
    pages = [page.resolve() for page in DOCS.rglob("*.md")]
    below = [child for page in pages for child in listed(page) if child in pages]
    # The pages of the reference are made, and list these two.
    below += [DOCS / "notation.md", DOCS / "glossary.md"]
    assert sorted(below) == sorted({*pages} - {DOCS / "index.md"})
