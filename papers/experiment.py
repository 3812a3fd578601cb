"""An experiment reproduces a table or figure of a paper; its outcome is tables, sentences and figures."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise import __version__
from setwise.compare.text import grid, wrap

Advance = Callable[[str], None]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Settings:
    """The settings of an experiment: ``quick`` asks for the small version, ``data`` is the folder of real data.

    A long experiment may keep what it has done in the folder ``out``, and go on from there.
    """

    quick: bool = False
    data: Path | None = None
    seed: int = 0
    out: Path | None = None


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Measured means (rows, columns), their standard errors, and the published figures; NaN stands for an empty cell.

    ``best`` marks cells; by default it marks the least mean of each column.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    means: Floats
    errors: Floats | None = None
    published: Floats | None = None
    published_errors: Floats | None = None
    best: NDArray[np.bool_] | None = None
    digits: int = 4

    @property
    def marks(self) -> NDArray[np.bool_]:
        """A mask of the cells that are shown as the best, (rows, columns)."""
        return self.means == np.nanmin(self.means, axis=0) if self.best is None else self.best

    def text(self) -> str:
        """The table as plain text, with a column of published figures after each measured one."""
        columns: list[str] = []
        marks: list[NDArray[np.bool_]] = []
        cells: list[list[str]] = [[] for _ in self.rows]
        # Published figures stand beside the measured ones, and are never marked as the best.
        for j, name in enumerate(self.columns):
            columns.append(name)
            marks.append(self.marks[:, j])
            for i, row in enumerate(cells):
                row.append(self._cell(self.means, self.errors, i, j))
            if self.published is not None:
                columns.append("paper")
                marks.append(np.zeros(len(self.rows), dtype=bool))
                for i, row in enumerate(cells):
                    row.append(self._cell(self.published, self.published_errors, i, j))
        return f"{wrap(self.title)}\n\n{grid(self.rows, columns, cells, np.column_stack(marks))}"

    def _cell(self, means: Floats, errors: Floats | None, i: int, j: int) -> str:
        """A mean ± its standard error, or a dash for an empty cell."""
        if np.isnan(means[i, j]):
            return "-"
        text = f"{means[i, j]:.{self.digits}f}"
        return text if errors is None or np.isnan(errors[i, j]) else f"{text} ± {errors[i, j]:.{self.digits}f}"

    def data(self) -> dict[str, Any]:
        """The table as data for a JSON file."""
        arrays = {"mean": self.means, "standard_error": self.errors, "published": self.published}
        # Rows and columns stay separate, so that a reader need not parse names.
        lists = {k: None if a is None else _without_nan(a) for k, a in arrays.items()}
        return {"title": self.title, "rows": list(self.rows), "columns": list(self.columns), **lists}


def _without_nan(a: NDArray[Any]) -> list[list[float | None]]:
    """The array as lists with None for NaN, which JSON does not know."""
    return [[None if np.isnan(x) else x for x in row] for row in a.tolist()]


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of an experiment: tables, sentences on what they show, and figures by name.

    A figure is a function that draws it, so that matplotlib is needed only where figures are written.
    """

    tables: tuple[Table, ...]
    words: tuple[str, ...]
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    def text(self, experiment: "Experiment") -> str:
        """All tables and sentences as text for a terminal."""
        head = f"{experiment.name}: {experiment.about}"
        parts = [wrap(head), *(table.text() for table in self.tables), "\n".join(wrap(w) for w in self.words)]
        return "\n\n".join(parts)


@final
@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    ``name`` is its name on the command line, and ``about`` describes it in one line with its source. ``steps`` returns
    the number of calls of ``advance`` that ``run`` will make.
    """

    name: str
    about: str
    steps: Callable[[Settings], int]
    run: Callable[[Settings, Advance], Outcome]


def data_folder(given: Path | None) -> Path | None:
    """The folder of real data: ``given``, or else the one in the environment variable SETWISE_DATA, or else None.

    Raises
    ------
    ValueError : if the folder does not exist
    """
    # The option of the command line prevails over the environment.
    named = given or (Path(os.environ["SETWISE_DATA"]) if os.environ.get("SETWISE_DATA") else None)
    if named is not None and not named.is_dir():
        raise ValueError(f"there is no folder {named} of real data.")
    return named


def need_data(
    settings: Settings,
    name: str,
    files: Sequence[str],
    source: str = "the Mulan collection",
    folders: Sequence[str] = ("multilabel",),
) -> list[Path]:
    """The paths of ``files`` in the data folder or in one of its ``folders``; ``source`` names their origin.

    Raises
    ------
    ValueError : with a sentence, if the folder or a file is missing
    """
    if settings.data is None:
        raise ValueError(
            f"{name} needs {' and '.join(files)} of {source}: give their folder by --data DIR or the "
            "variable SETWISE_DATA, or run the small version on bundled data with --quick."
        )
    found = []
    for file in files:
        # A file may lie in the folder itself, or in the subfolder of its collection.
        places = [settings.data / file, *(settings.data / folder / file for folder in folders)]
        path = next((p for p in places if p.is_file()), None)
        if path is None:
            inside = " or ".join(folders)
            raise ValueError(f"{name} needs {file}, which is neither in {settings.data} nor in its folder {inside}.")
        found.append(path)
    return found


def write_outcome(out: Path, experiment: Experiment, settings: Settings, outcome: Outcome) -> list[Path]:
    """Write ``NAME.json`` and the figures ``NAME-*.png`` into ``out``, and return their paths.

    Without matplotlib there are no figures.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{experiment.name}.json"
    content = {
        "experiment": experiment.name,
        "about": experiment.about,
        "setwise": __version__,
        "quick": settings.quick,
        "seed": settings.seed,
        "tables": [table.data() for table in outcome.tables],
        "words": list(outcome.words),
    }
    # The table is written before the figures, so that it is kept if a figure fails.
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    written = [path]
    try:
        # Only a missing matplotlib is passed over; an error while drawing is not.
        import matplotlib  # noqa: F401
    except ImportError:
        return written
    for name, draw in outcome.figures.items():
        written.append(out / f"{experiment.name}{'-' if name else ''}{name}.png")
        draw().savefig(written[-1], dpi=150)
    return written
