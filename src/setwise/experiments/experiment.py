"""What a table or figure of a paper is: a name, a function that measures it, and how its outcome is told."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise import __version__
from setwise.compare.words import grid, wrap

Advance = Callable[[str], None]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Settings:
    """``quick`` asks for the small version, ``data`` is the folder of real data or None."""

    quick: bool = False
    data: Path | None = None
    seed: int = 0


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Measured means (rows, columns), their standard errors, and published ones beside them; NaN where there is none.

    ``best`` marks cells; by default the least of each column.
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
        """Which cells are the best, (rows, columns)."""
        return self.means == np.nanmin(self.means, axis=0) if self.best is None else self.best

    def text(self, bold: bool) -> str:
        """Plain text, a column of the paper after each measured one."""
        columns: list[str] = []
        marks: list[NDArray[np.bool_]] = []
        cells: list[list[str]] = [[] for _ in self.rows]
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
        return f"{wrap(self.title)}\n\n{grid(self.rows, columns, cells, np.column_stack(marks), bold)}"

    def _cell(self, means: Floats, errors: Floats | None, i: int, j: int) -> str:
        if np.isnan(means[i, j]):
            return "-"
        text = f"{means[i, j]:.{self.digits}f}"
        return text if errors is None or np.isnan(errors[i, j]) else f"{text} ± {errors[i, j]:.{self.digits}f}"

    def data(self) -> dict[str, Any]:
        """For a JSON file."""
        arrays = {"mean": self.means, "standard_error": self.errors, "published": self.published}
        lists = {k: None if a is None else _without_nan(a) for k, a in arrays.items()}
        return {"title": self.title, "rows": list(self.rows), "columns": list(self.columns), **lists}


def _without_nan(a: NDArray[Any]) -> list[list[float | None]]:
    return [[None if np.isnan(x) else x for x in row] for row in a.tolist()]


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """Tables, what they show in words, and figures by name, each a function that draws it with matplotlib."""

    tables: tuple[Table, ...]
    words: tuple[str, ...]
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    def text(self, experiment: "Experiment", bold: bool) -> str:
        """Everything for a terminal."""
        head = f"{experiment.name}: {experiment.about}"
        parts = [wrap(head), *(table.text(bold) for table in self.tables), "\n".join(wrap(w) for w in self.words)]
        return "\n\n".join(parts)


@final
@dataclass(frozen=True)
class Experiment:
    """One table or figure: ``name`` for the command line, ``about`` in a line with its source.

    ``steps`` tells how often ``run`` will call ``advance``.
    """

    name: str
    about: str
    steps: Callable[[Settings], int]
    run: Callable[[Settings, Advance], Outcome]


def data_folder(given: Path | None) -> Path | None:
    """The folder of real data: ``given``, else the one named by the variable SETWISE_DATA, else None.

    Raises
    ------
    ValueError : where the folder does not exist
    """
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
    """Paths of files in the data folder, in it or in one of its ``folders``; ``source`` says where they come from.

    Raises
    ------
    ValueError : in a sentence, where the folder or a file is missing
    """
    if settings.data is None:
        raise ValueError(
            f"{name} needs {' and '.join(files)} of {source}: give their folder by --data DIR or the "
            "variable SETWISE_DATA, or run the small version on bundled data with --quick."
        )
    found = []
    for file in files:
        places = [settings.data / file, *(settings.data / folder / file for folder in folders)]
        path = next((p for p in places if p.is_file()), None)
        if path is None:
            inside = " or ".join(folders)
            raise ValueError(f"{name} needs {file}, which is neither in {settings.data} nor in its folder {inside}.")
        found.append(path)
    return found


def write_outcome(out: Path, experiment: Experiment, settings: Settings, outcome: Outcome) -> list[Path]:
    """Write ``NAME.json`` and the figures as ``NAME-*.png`` into ``out``; without matplotlib there are no figures."""
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
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    written = [path]
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return written
    for name, draw in outcome.figures.items():
        written.append(out / f"{experiment.name}{'-' if name else ''}{name}.png")
        draw().savefig(written[-1], dpi=150)
    return written
