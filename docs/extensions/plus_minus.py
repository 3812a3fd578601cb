"""A figure and its error stay on one line: the spaces around ± do not break."""

from docutils import nodes
from sphinx.application import Sphinx

BREAKS, HOLDS = " ± ", "\u00a0±\u00a0"


def hold(_app: Sphinx, doctree: nodes.document) -> None:
    """Exchange the spaces in all texts but those of code, which readers copy."""
    for text in list(doctree.findall(nodes.Text)):
        if BREAKS in text and not isinstance(text.parent, nodes.literal | nodes.literal_block):
            text.parent.replace(text, nodes.Text(text.replace(BREAKS, HOLDS)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Looks at each page after it is read."""
    app.connect("doctree-read", hold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
