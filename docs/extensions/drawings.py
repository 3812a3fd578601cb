"""The directive ``drawing``: an SVG file inside the page, so that it takes the colors of the light or the dark mode."""

import re
from html import escape
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Drawing(SphinxDirective):
    """``drawing:: FILE.svg`` with ``:alt:``, which is required: what the drawing shows, in words."""

    required_arguments = 1
    option_spec: ClassVar = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """The SVG as a figure of the page."""
        if "alt" not in self.options:
            raise self.error("a drawing needs :alt:, what it shows in words")
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        svg = re.sub(r"<\?xml.*?\?>|<!--.*?-->", "", Path(path).read_text("utf-8"), flags=re.DOTALL).strip()
        label = escape(" ".join(self.options["alt"].split()), quote=True)
        labeled = svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
        return [nodes.raw("", f'<figure class="drawing">{labeled}</figure>', format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the directive."""
    app.add_directive("drawing", Drawing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
