"""Links of pages to files of the repository: each such file of code becomes a page with numbered lines.

``[text](../../src/package/file.py#Class.method)`` leads to the line where the file defines that name. On a code host,
which does not know the anchor, it opens the file. A link to a whole example leads to its page in the gallery. The pages
of public names and of losses link each class, function and method to its line.
"""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from api_pages import write
from definitions import definitions
from packages import PACKAGES, own_methods

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(((?:\.\./)+(?:src|papers|tests|benchmarks|examples)/[\w./-]+?\.py)(#[\w.]+)?\)")
EXAMPLE = re.compile(r"examples/(plot_\w+)\.py")


def page_of(relative: str, anchor: str = "") -> str:
    """The page of a file of code, below the folder of the site; of an example as a whole that in the gallery."""
    example = None if anchor else EXAMPLE.fullmatch(relative)
    return f"gallery/{example[1]}" if example else f"source/{relative.removesuffix('.py')}"


def make(app: Sphinx) -> None:
    """Write a page for each file of code that a page links to."""
    for relative in {*linked_files(Path(app.srcdir)), *files_of_names()}:
        up = "../" * (relative.count("/") + 2)
        body = f".. literalinclude:: {up}{relative}\n   :language: python\n   :linenos:\n   :lineno-match:\n"
        page = Path(app.srcdir) / f"{page_of(relative, '#')}.rst"
        write(page, f":orphan:\n:nosearch:\n\n{relative}\n{'=' * len(relative)}\n\n{body}")


def linked_files(docs: Path) -> Iterator[str]:
    """The files of code that pages link to, but for examples as a whole."""
    for text in docs.rglob("*.md"):
        for link, anchor in LINK.findall(text.read_text("utf-8")):
            relative = (text.parent / link).resolve().relative_to(docs.parent).as_posix()
            if not page_of(relative, anchor).startswith("gallery/"):
                yield relative


def files_of_names() -> Iterator[str]:
    """The files that define the public classes and functions, and the methods that estimators inherit."""
    for module in map(import_module, PACKAGES):
        for held in (getattr(module, name) for name in module.__all__):
            homes = {home_of(held, name) for name in own_methods(held)} if hasattr(held, "fit") else set()
            yield from filter(None, map(file_of, [held, *homes]))


def home_of(kind: type[Any], part: str) -> type[Any]:
    """The class that defines a part of a class: itself or a base."""
    return next((base for base in kind.__mro__ if part in vars(base)), kind)


def file_of(held: object) -> str | None:
    """The file of the repository that defines a class or function; None for all else."""
    code = inspect.unwrap(held) if callable(held) else held
    if not (inspect.isclass(code) or inspect.isfunction(code)):
        return None
    _, _, below = Path(inspect.getfile(code)).as_posix().rpartition("/setwise/")
    return f"src/setwise/{below}"


def line_of_code(_domain: str, info: dict[str, str]) -> str | None:
    """The address of the line that defines a name of a page in ``api`` or ``losses``; None where it has none."""
    first, _, part = info["fullname"].partition(".")
    held = getattr(import_module(info["module"]), first)
    held = home_of(held, part) if part and inspect.isclass(held) else held
    relative = file_of(held)
    if relative is None:
        return None
    name = getattr(held, "__name__", first) + (f".{part}" if part else "")
    line = definitions((ROOT / relative).read_text("utf-8")).get(name)
    return None if line is None else f"../{page_of(relative, '#')}.html#line-{line}"


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
