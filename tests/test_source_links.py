"""Links of pages to files of code: to the site's page of a file, and of whole examples to the gallery."""

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx")

from source_links import lead_to_pages

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
