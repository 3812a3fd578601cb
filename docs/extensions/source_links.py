"""Links of pages to files of the repository: each such file of code becomes a page with numbered lines.

``[text](../../src/package/file.py#Class.method)`` leads to the line where the file defines that name. On a code host,
which does not know the anchor, it opens the file. A link to a whole example leads to its page in the gallery.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from api_pages import write
from definitions import definitions

LINK = re.compile(r"\]\(((?:\.\./)+(?:src|tests|benchmarks|examples)/[\w./-]+?\.py)(#[\w.]+)?\)")
EXAMPLE = re.compile(r"examples/(plot_\w+)\.py")


def page_of(relative: str, anchor: str = "") -> str:
    """The page of a file of code, below the folder of the site; of an example as a whole that in the gallery."""
    example = None if anchor else EXAMPLE.fullmatch(relative)
    return f"gallery/{example[1]}" if example else f"source/{relative.removesuffix('.py')}"


def make(app: Sphinx) -> None:
    """Write a page for each file of code that a page links to."""
    root, docs = Path(app.srcdir).parent, Path(app.srcdir)
    for text in docs.rglob("*.md"):
        for link, anchor in LINK.findall(text.read_text("utf-8")):
            relative = (text.parent / link).resolve().relative_to(root).as_posix()
            page = page_of(relative, anchor)
            if page.startswith("gallery/"):
                continue
            up = "../" * (relative.count("/") + 2)
            body = f".. literalinclude:: {up}{relative}\n   :language: python\n   :linenos:\n   :lineno-match:\n"
            write(docs / f"{page}.rst", f":orphan:\n\n{relative}\n{'=' * len(relative)}\n\n{body}")


def lead_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let the links of a page lead to the pages of the files that they name."""
    folder, root = (Path(app.srcdir) / docname).parent, Path(app.srcdir).parent

    def target(found: re.Match[str]) -> str:
        relative = (folder / found[1]).resolve().relative_to(root).as_posix()
        return f"](/{page_of(relative, found[2] or '')}.rst{found[2] or ''})"

    source[0] = LINK.sub(target, source[0])


def anchor_lines(app: Sphinx, document: nodes.document) -> None:
    """Give each line of a page of code an anchor, and tell MyST at which line a name is defined.

    MyST looks there for what stands behind the ``#`` of a link, and warns where there is no such name.
    """
    if not app.env.docname.startswith("source/"):
        return
    for block in document.findall(nodes.literal_block):
        block["highlight_args"]["linespans"] = "line"
        found = definitions(block.rawsource)
        app.env.metadata[app.env.docname]["myst_slugs"] = {n: (at, f"line-{at}", n) for n, at in found.items()}


def setup(app: Sphinx) -> dict[str, bool]:
    """Makes the pages when a build begins."""
    app.connect("builder-inited", make)
    app.connect("source-read", lead_to_pages)
    app.connect("doctree-read", anchor_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
