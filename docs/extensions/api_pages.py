"""One page for each public name, and one for each package, made from ``__all__`` before the site is built."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from packages import PACKAGES, literal, own_methods
from setwise.core.tasks import TASKS, TaskNames
from setwise.losses import LOSSES

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ENTRY = re.compile(r"(\S.*?) : (.*)")
SECTIONS = {"Parameters", "Attributes", "Returns", "Yields", "Raises"}


INDEX = """Reference
=========

The names to start with, by task. ``setwise list --for tables`` prints the same in a terminal. All are below
``setwise``: for ``decisions.best_threshold`` write ``from setwise.decisions import best_threshold``.

"""

TREE = """For those who extend setwise
----------------------------

- :doc:`packages` lists all public names, of which users need few.
- :doc:`/losses/index` has a page for each loss.
- :doc:`/notation` and :doc:`/glossary` say what symbols and words mean.

.. toctree::
   :hidden:

   packages
   /losses/index
   /notation
   /glossary
"""

ALL = """All packages
============

Every public name has a page with what it computes, its arguments with their shapes, what it refuses, where it comes
from, and an example that runs in the tests. Most of them are for those who write a loss, a surrogate, an inference or
a learner of their own. The names to start with are on :doc:`one page <index>`.

.. toctree::
   :maxdepth: 1

"""


TABLE = ".. list-table::\n   :widths: 30 70\n\n"
"""The head of a table of names and words."""


def heading(text: str, line: str = "=") -> str:
    """A heading of reStructuredText."""
    return f"{text}\n{line * len(text)}\n\n"


def summary(text: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((text or "").split("\n\n")[0].split())


def page(package: str, name: str, held: object) -> str:
    """The page of one name. It shows methods with a docstring of their own, and those that an estimator inherits."""
    full = f"{package}.{name}"
    if inspect.isclass(held):
        methods = ", ".join(own_methods(held)) if hasattr(held, "fit") else ""
        body = f".. autoclass:: {full}\n   :members: {methods}".rstrip() + "\n"
    else:
        told = indent(literal(package, name), "   ")
        body = (
            f".. autofunction:: {full}\n"
            if inspect.isroutine(held)
            else f".. py:data:: {name}\n   :module: {package}\n\n{told}\n"
        )
    return heading(name) + f"``from {package} import {name}``\n\n" + body


def write(path: Path, text: str) -> None:
    """Write a file if it says something new, so that pages which stay are not built again."""
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def make(app: "Sphinx") -> None:
    """Write the pages. What two packages export has its page at the first of them, and a line in the tables of both.

    A loss has a page among the losses.
    """
    folder, pages = Path(app.srcdir) / "api", {id(kind): f"/losses/{kind.name}" for kind in LOSSES.values()}
    write(folder / "packages.rst", ALL + "".join(f"   {package}\n" for package in PACKAGES))
    for package in PACKAGES:
        module = import_module(package)
        rows, entries = [], []
        for name in module.__all__:
            held = getattr(module, name)
            text = inspect.getdoc(held) if callable(held) else literal(package, name)
            if id(held) not in pages:
                pages[id(held)] = target = f"{package}.{name}"
                entries.append(f"   {name} <{target}>\n")
                write(folder / f"{target}.rst", page(package, name, held))
            rows.append(f"   * - :doc:`{name} <{pages[id(held)]}>`\n     - {summary(text)}\n")
        table = TABLE + "".join(rows)
        tree = "\n.. toctree::\n   :hidden:\n\n" + "".join(entries) if entries else ""
        write(folder / f"{package}.rst", heading(package) + f"{inspect.getdoc(module)}\n\n{table}{tree}")
    write(folder / "index.rst", INDEX + "".join(of_task(task, pages) for task in TASKS.values()) + TREE)


def of_task(task: TaskNames, pages: dict[int, str]) -> str:
    """The names of one task in a table, with their pages."""
    rows = ""
    for name, words in task.names.items():
        package, _, short = f"setwise.{name}".rpartition(".")
        words = re.sub(r"'([\w:]+)'", r'``"\1"``', words)
        rows += f"   * - :doc:`{name} <{pages[id(getattr(import_module(package), short))]}>`\n     - {words}\n"
    return heading(task.title, "-") + f"Start page: :doc:`/{task.page}`.\n\n{TABLE}{rows}\n"


def skip(_app: "Sphinx", _what: str, name: str, held: object, skipped: bool, _options: object) -> bool:
    """Leave out what scikit-learn adds to estimators, whose docstrings refer to its own site, and fields of tuples."""
    field = (inspect.getdoc(held) or "").startswith("Alias for field number")
    return skipped or field or (name.startswith("set_") and name.endswith("_request"))


def whole_entries(_app: "Sphinx", _what: str, _name: str, _held: object, _options: object, lines: list[str]) -> None:
    """Put what follows ``name :`` below the name, where numpydoc looks for a type, and link what a source names."""
    out, section = [], ""
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        section = line if re.fullmatch("-{3,}", below) else section
        found = ENTRY.fullmatch(line) if section in SECTIONS else None
        line = re.sub("^Source: ", ":doc:`Source </papers/index>`: ", line)
        line = re.sub(r"\bdocs/((?:guide|how|papers|moving)/\w+|\w+)\.md", r":doc:`/\1`", line)
        out += [found[1], f"    {found[2]}"] if found else [line]
    lines[:] = out


def setup(app: "Sphinx") -> dict[str, bool]:
    """Makes the pages when a build begins."""
    app.connect("builder-inited", make)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", whole_entries, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
