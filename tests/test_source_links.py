"""Links of pages to files of code, their Markdown versions, and the words by which the search finds them."""

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx")

from markdown_pages import with_links_of_the_site
from search_words import WORDS, add_words
from source_links import files_of_names, lead_to_pages, line_of_code

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize(
    ("page", "link", "leads"),
    [
        ("start/chooser", "../../examples/plot_hierarchy.py", "/gallery/plot_hierarchy.rst"),
        ("index", "../examples/plot_windows.py", "/gallery/plot_windows.rst"),
        ("guide/losses", "../../examples/plot_windows.py#main", "/source/examples/plot_windows.rst#main"),
        ("guide/losses", "../../src/setwise/one_set.py#loss", "/source/src/setwise/one_set.rst#loss"),
        ("guide/losses", "compare.md", "compare.md"),
    ],
)
def test_links_to_code_lead_to_pages(page, link, leads):
    source = [f"A [link]({link}) of a page."]
    lead_to_pages(SimpleNamespace(srcdir=DOCS), page, source)
    assert source == [f"A [link]({leads}) of a page."]


@pytest.mark.draw(3)
@pytest.mark.parametrize(
    ("module", "name", "file", "defines"),
    [
        ("setwise.losses", "Jaccard", "src/setwise/losses/", "class Jaccard"),
        ("setwise", "SetClassifier.fit", "src/setwise/estimators/set_classifier.py", "def fit("),
        ("setwise", "IndependentSVMs.fit", "src/setwise/estimators/label_predictor.py", "def fit("),
        ("setwise.datasets", "textured_objects", "src/setwise/datasets/", "def textured_objects("),
        ("setwise.surrogates", "SURROGATES", None, None),
    ],
)
def test_names_lead_to_the_line_of_their_code(module, name, file, defines):
    found = line_of_code("py", {"module": module, "fullname": name})
    if file is None:
        assert found is None
    else:
        page, line = found.removeprefix("../source/").split(".html#line-")
        assert page.startswith(file.removesuffix(".py"))
        assert defines in (DOCS.parent / f"{page}.py").read_text("utf-8").splitlines()[int(line) - 1]
        assert f"{page}.py" in set(files_of_names())


def test_links_of_markdown_versions_lead_to_pages_of_the_site():
    text = with_links_of_the_site(DOCS / "tables/index.md", DOCS)
    assert "](../api/index.md)" in text
    assert "](../guide/compare.md)" in text
    assert "{toctree}" not in text
    chooser = with_links_of_the_site(DOCS / "start/chooser.md", DOCS)
    assert "](../gallery/plot_hierarchy.md)" in chooser
    assert ".rst" not in text + chooser
    equations = with_links_of_the_site(DOCS / "papers/lovasz_hinge.md", DOCS)
    assert "](../source/src/setwise/" in equations
    assert ".py" not in "".join(part.split(")")[0] for part in equations.split("](")[1:])


def test_words_of_the_search_stand_below_the_title_of_a_page():
    for page in WORDS:
        source = [(DOCS / f"{page}.md").read_text("utf-8")]
        title, rest = source[0].split("\n", 1)
        assert title.startswith("# ")
        add_words(None, page, source)
        assert source[0].startswith(f"{title}\n\n```{{index}} ! {WORDS[page][0]}")
        assert source[0].endswith(f"\n```\n{rest}")
    untouched = ["# Title\n"]
    add_words(None, "faq", untouched)
    assert untouched == ["# Title\n"]
