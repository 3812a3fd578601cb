"""Alternative texts for the small pictures of the gallery's list, which sphinx-gallery leaves empty."""

import re
from html import unescape

from sphinx.application import Sphinx

THUMBNAIL = re.compile(
    r'(_thumb\.png\n\s+:alt:)[ ]*\n(.*?<div class="sphx-glr-thumbnail-title">(.*?)</div>)', re.DOTALL
)


def describe(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Let each small picture be described by the title of its example."""
    if docname.startswith("gallery/"):
        source[0] = THUMBNAIL.sub(lambda found: f"{found[1]} {plain(found[3])}\n{found[2]}", source[0])


def plain(title: str) -> str:
    """A title without markup, on one line."""
    return " ".join(unescape(re.sub("<.*?>", "", title)).split())


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the descriptions."""
    app.connect("source-read", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
