"""A Markdown version of each page beside it, and ``llms.txt``, which lists the pages for programs that read them.

Pages that are Markdown are copied, and examples are shown as their code. Pages that the build makes from docstrings are
written as plain text, whose headings and lists are those of Markdown. Listings of files of code have none.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.text import TextTranslator

from source_links import LINK, ROOT, page_of

TREE = re.compile(r"^```\{toctree\}\n.*?^```\n", re.MULTILINE | re.DOTALL)
MADE = re.compile(r"\]\(([\w./-]+)\.rst([)#])")
HEAD = """# setwise

> setwise makes a classifier good at the measure it is judged by: F1, a recall floor, costs of each row, AUC, the IoU of
> a mask. It works with scikit-learn and PyTorch.

Every page of the site has a Markdown version at its address with the ending .md.
"""


class Text(TextTranslator):
    """Writes a page as plain text, with code in the marks of Markdown."""

    def visit_literal(self, _node: nodes.literal) -> None:
        """Begin code."""
        self.add_text("`")

    depart_literal = visit_literal


def write_page(app: Sphinx, docname: str, _template: str, _context: Any, doctree: nodes.document | None) -> None:
    """Write the Markdown version of a page when its HTML is made."""
    if doctree is None or docname.startswith("source/"):
        return
    source, target = Path(app.env.doc2path(docname)), Path(app.outdir) / f"{docname}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".md":
        text = with_links_of_the_site(source, Path(app.srcdir))
    elif docname.startswith("gallery/plot_"):
        code = (ROOT / f"examples/{source.stem}.py").read_text("utf-8")
        text = f"# {app.env.titles[docname].astext()}\n\n```python\n{code}```\n"
    else:
        translator = Text(doctree, app.builder)
        doctree.walkabout(translator)
        text = translator.body
    target.write_text(text, "utf-8")


def with_links_of_the_site(source: Path, docs: Path) -> str:
    """The text of a page without its part of the navigation; links to what the build makes lead to the site's pages."""

    def listing(found: re.Match[str]) -> str:
        path = page_of((source.parent / found[1]).resolve().relative_to(docs.parent).as_posix(), found[2] or "")
        up = "../" * len(source.relative_to(docs).parts[1:])
        return f"]({up}{path}.{'md' if path.startswith('gallery/') else 'html'})"

    return MADE.sub(r"](\1.md\2", LINK.sub(listing, TREE.sub("", source.read_text("utf-8"))))


def write_list(app: Sphinx, error: Exception | None) -> None:
    """Write ``llms.txt``: the sections of the site, and the pages of each."""
    if error is not None or app.builder.format != "html":
        return
    env, text = app.env, HEAD
    for section in env.toctree_includes["index"]:
        text += f"\n## {env.titles[section].astext()}\n\n"
        for page in (section, *env.toctree_includes.get(section, ())):
            text += f"- [{env.titles[page].astext()}]({page}.md)\n"
    (Path(app.outdir) / "llms.txt").write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Makes the versions while a build writes its pages."""
    app.connect("html-page-context", write_page)
    app.connect("build-finished", write_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
