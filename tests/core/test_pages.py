import ast
import re
import tomllib
from email.message import Message
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from setwise.core import pages
from setwise.core.pages import LABEL, PACKAGE, Page, documentation

ROOT = Path(__file__).resolve().parents[2]
NAMED = {name: page for name, page in vars(pages).items() if isinstance(page, Page)}
SILENT = {"base.py", "jit.py"}
"""Files with a warning whose words are those of scikit-learn, or that says itself what to do: kernels know no pages."""


@pytest.fixture(autouse=True)
def forget():
    documentation.cache_clear()
    yield
    documentation.cache_clear()


def tell(monkeypatch, *urls):
    """Let the metadata hold these project URLs."""
    told = Message()
    for url in urls:
        told["Project-URL"] = url
    monkeypatch.setattr(pages, "metadata", lambda name: told)


def calls_of(function):
    """Each call of a function in src with the name of its file."""
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if function in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
                yield file.name, node


@pytest.mark.parametrize("page", NAMED.values(), ids=NAMED)
def test_every_page_and_heading_exists(page):
    path, mark, anchor = page.path.partition("#")
    heads = re.findall(r"^#+ (.*)$", (ROOT / f"docs/{path}.md").read_text("utf-8"), re.MULTILINE)
    assert page.title in heads if mark else page.title == heads[0]
    assert not mark or anchor == re.sub(r"[^\w\- ]", "", page.title.lower()).replace(" ", "-")
    assert path.startswith("guide/")


def test_every_warning_names_its_page():
    assert {file for file, call in calls_of("warnings.warn") if ".see" not in ast.unparse(call)} == SILENT


@pytest.mark.slow
def test_every_refusal_names_its_page():
    found = [call for _, call in calls_of("Refusal")]
    assert len(found) > 100
    assert [call.args[0].value for call in found if len(call.args) + len(call.keywords) < 2] == []


def test_no_page_is_left_over():
    named = {word for file in (ROOT / "src").rglob("*.py") for word in re.findall(r"\w+", file.read_text("utf-8"))
             if file.name != "pages.py"}  # fmt: skip
    assert not NAMED.keys() - named


def test_the_sentence_that_closes_a_message():
    assert pages.EMPTY_MODELS.see == ' See "Empty models" in guide/learners.'


def test_the_address_is_that_of_the_metadata(monkeypatch):
    tell(monkeypatch, "Source, https://example.org/code", "Documentation, https://docs.example.org/en")
    assert pages.EMPTY_MODELS.address == "https://docs.example.org/en/guide/learners.html#empty-models"
    assert pages.LABEL_SPACES.address == "https://docs.example.org/en/guide/label_spaces.html"


def test_there_is_no_address_without_metadata(monkeypatch):
    tell(monkeypatch, "Source, https://example.org/code")
    assert pages.EMPTY_MODELS.address is None

    def missing(name):
        raise PackageNotFoundError(name)

    documentation.cache_clear()
    monkeypatch.setattr(pages, "metadata", missing)
    assert pages.EMPTY_MODELS.address is None


def test_the_package_tells_where_its_documentation_is():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == PACKAGE
    assert project["urls"][LABEL].startswith("https://")
