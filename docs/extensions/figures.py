"""Figures in both modes: each is saved as it was drawn, and once more with its grays exchanged for a dark page."""

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot
from matplotlib.collections import Collection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text

DARK, LIGHT = 0.08, 0.88
"""The brightness of the page in dark mode, and of what is black in light mode."""


def plain_style(_gallery: Any, _file: Any) -> None:
    """The style of all figures of the site."""
    pyplot.close("all")
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({
        "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none", "figure.dpi": 110,
        "legend.framealpha": 0.0, "font.size": 10.5, "axes.spines.top": False, "axes.spines.right": False,
    })  # fmt: skip


def exchanged(color: Any) -> Any:
    """A gray of a light page as the gray of a dark page; other colors, and None, stay."""
    red, green, blue, alpha = to_rgba(color)
    if max(red, green, blue) - min(red, green, blue) > 0.06:
        return color
    gray = LIGHT + (DARK - LIGHT) * red
    return gray, gray, gray, alpha


def darken(figure: Figure) -> None:
    """Exchange the grays of texts, lines, patches and collections of ``figure``, which is changed."""
    notes = figure.findobj(Annotation)
    for artist in [*figure.findobj(), *(note.arrow_patch for note in notes if note.arrow_patch)]:
        if isinstance(artist, Text | Line2D):
            artist.set_color(exchanged(artist.get_color()))
        if isinstance(artist, Line2D):
            artist.set_markerfacecolor(exchanged(artist.get_markerfacecolor()))
            artist.set_markeredgecolor(exchanged(artist.get_markeredgecolor()))
        elif isinstance(artist, Patch):
            face, edge = artist.get_facecolor(), artist.get_edgecolor()
            artist.set_facecolor(exchanged(face))
            artist.set_edgecolor(exchanged(edge))
        elif isinstance(artist, Collection) and artist.get_array() is None:
            artist.set_edgecolor([exchanged(color) for color in artist.get_edgecolor()])
            artist.set_facecolor([exchanged(color) for color in artist.get_facecolor()])
    for axes in figure.axes:
        if axes.name == "3d":
            for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
                axis.set_pane_color(exchanged(axis.pane.get_facecolor()))
                axis.line.set_color(exchanged(axis.line.get_color()))


def described(figure: Figure) -> str:
    """The alternative text of a figure: its label if it has one, else the titles of the figure and of its axes."""
    titles = [figure.get_suptitle(), *(axes.get_title() or axes.get_title("left") for axes in figure.axes)]
    words = figure.get_label() or ". ".join(" ".join(title.split()) for title in titles if title)
    if not words:
        raise ValueError("a figure needs a title, or fig.set_label(...) with what it shows")
    return words


def save_both(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Write ``figure`` to ``path`` and, for a dark page, to a file beside it. Its colors are changed by that."""
    dark = path.with_name(f"{path.stem}_dark{path.suffix}")
    figure.savefig(path, bbox_inches="tight")
    darken(figure)
    figure.savefig(dark, bbox_inches="tight")
    return path, dark


def as_rst(light: str, dark: str, words: str) -> str:
    """The two pictures of a figure, each shown in its mode, as reStructuredText."""
    return "".join(
        f".. image:: {path}\n   :alt: {words}\n   :class: {mode}\n\n"
        for path, mode in ((light, "only-light"), (dark, "only-dark"))
    )


def in_both_modes(_block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """A scraper of sphinx-gallery: the open figures, and those that a block has left in ``figure`` or ``figures``."""
    example, paths = variables["example_globals"], variables["image_path_iterator"]
    made = [pyplot.figure(number) for number in pyplot.get_fignums()]
    for name in ("figure", "fig"):
        found = example.pop(name, None)
        if isinstance(found, Figure) and found not in made:
            made.append(found)
    pyplot.close("all")
    parts = []
    for figure in made:
        words = described(figure)
        light, dark = save_both(figure, Path(next(paths)))
        source = Path(gallery["src_dir"])
        parts.append(as_rst(*(f"/{path.relative_to(source).as_posix()}" for path in (light, dark)), words))
    return "\n".join(parts)
