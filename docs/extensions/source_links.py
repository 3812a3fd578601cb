"""Links of pages to files of the repository: each such file of code becomes a page with numbered lines."""

import re
from pathlib import Path

from sphinx.application import Sphinx

from api_pages import write

LINK = re.compile(r"\]\(((?:\.\./)+(?:src|tests|benchmarks|examples)/[\w./-]+?\.py)(#L\d+)?\)")


def page_of(relative: str) -> str:
    """The page of a file of code, below the folder of the site."""
    return f"source/{relative.removesuffix('.py')}"


def make(app: Sphinx) -> None:
    """Write a page for each file of code that a page links to."""
    root, docs = Path(app.srcdir).parent, Path(app.srcdir)
    for text in docs.rglob("*.md"):
        for link, _ in LINK.findall(text.read_text("utf-8")):
            relative = (text.parent / link).resolve().relative_to(root).as_posix()
            up = "../" * (relative.count("/") + 2)
            body = f".. literalinclude:: {up}{relative}\n   :language: python\n   :linenos:\n   :lineno-match:\n"
            write(docs / f"{page_of(relative)}.rst", f":orphan:\n\n{relative}\n{'=' * len(relative)}\n\n{body}")


def lead_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let the links of a page lead to the pages of the files that they name."""
    folder, root = (Path(app.srcdir) / docname).parent, Path(app.srcdir).parent

    def target(found: re.Match[str]) -> str:
        relative = (folder / found[1]).resolve().relative_to(root).as_posix()
        return f"](/{page_of(relative)}.rst)"

    source[0] = LINK.sub(target, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Makes the pages when a build begins."""
    app.connect("builder-inited", make)
    app.connect("source-read", lead_to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
