"""Pages, docstrings and messages are in plain English: they have none of the words that CONTRIBUTING.md lists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Words not to use")[2].partition("\n## ")[0]
WORDS = [word for row in re.findall(r"^\| (.+?) \|", TABLE, re.M)[1:] for word in row.split(", ")]
# What "stands in for" another takes its place; a word that ends in a dash is one before a number.
FOUND = re.compile(
    "|".join(
        r"\b" + re.escape(word) + (r"\b(?! for\b| its place)" if word[-1].isalpha() else r"[.\d]") for word in WORDS
    ),
    re.I,
)


def texts():
    """The text of each page, and each string of the library, with where it is."""
    for folder, endings in ((ROOT / "docs", ("*.md", "*.rst")), (ROOT, ("README.md",))):
        for page in (page for ending in endings for page in folder.rglob(ending)):
            if not {"source", "gallery"} & set(page.relative_to(ROOT).parts):
                yield page.relative_to(ROOT), page.read_text("utf-8")
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node.value


def test_no_page_or_message_has_a_word_that_is_not_to_be_used():
    found = [f"{place}: {match[0]}" for place, text in texts() for match in FOUND.finditer(" ".join(text.split()))]
    assert not found, "\n".join(found)


def test_the_words_are_found():
    assert len(WORDS) > 20
    for text in ("What stands\nin brackets", "Its affair", "gains -.001", "It shall be"):
        assert FOUND.search(" ".join(text.split())), text
    for text in ("It stands in for the loss", "marshall", "gains 0.1"):
        assert not FOUND.search(text), text
