"""The command ``setwise predict``: it labels the rows of a file by a saved model."""

import bz2
import csv
import gzip
import io
import lzma
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from setwise.compare.frames import frame_of, table_of
from setwise.compare.saved_model import SavedModel, load_model
from setwise.compare.sentences import MOST_LABELS
from setwise.compare.text import listed, percent, threshold_text
from setwise.core.checks import Ints, Values
from setwise.core.exceptions import reason_of
from setwise.core.files import try_file, written_whole
from setwise.datasets.columns import Columns, Cost, word
from setwise.datasets.files import FeatureNames, Names, NewRows, as_names_of_columns, columns_in, load_numbered, rows_of
from setwise.datasets.tables import PACKED
from setwise.decisions.floors import SLACK

PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
"""What compresses labels, by the endings of their files."""


def predict_command(options: Namespace) -> tuple[str, list[str], str]:
    """Label the rows of a file; returns the text of the table of labels, sentences on rows that differ from those of
    the training, and one that counts the labels.

    The table has a row for each row of the file, in the same order: the columns to ``keep``, the group, the label, and
    the score of the positive label, or of each of several classes. For a label matrix it has a column for each label,
    and then for each score. With ``--out`` it is written there as CSV, after everything else went well.

    Raises
    ------
    ValueError, OSError : in one sentence, for anything that is wrong with the model, the data or the place to write
    """
    model, data, out, form = options.model, options.data, options.out, (options.keep, options.sep, options.encoding)
    if out is not None:
        if out.exists() and any(out.samefile(file) for file in (model, data) if Path(file).exists()):
            raise ValueError(f"--out must not be the model or the data; got {out}.")
        if out.suffix.lower() in {*PACKED} - {*PACKERS}:
            raise ValueError(f"--out may be compressed as {', '.join(PACKERS)}; got {out}.")
        try_file(out)
    held, notes = load_model(model), list[str]()
    # The group is read where it matters, and where it is asked for.
    group = options.group or (held.group if held.joint else None)
    if not held.columns and form != (None, None, None):
        raise ValueError(f"--keep, --sep and --encoding are for tables; {model.name} reads features without names.")
    if options.single_threshold:
        if not held.paid:
            what = "a model that decides each row by its own costs"
            raise ValueError(f"--single-threshold is for {what}; {model.name} does not.")
        held = held.with_single_threshold()
    rows, given = rows_for(held, data, group, *form)
    _refuse_gaps(held, rows, Path(data), *form[1:])
    labels, scores = decided(held, model.name, Path(data).name, given, rows.groups)
    text = _table(held, rows, group, labels, scores)
    if held.training is not None:
        places = range(held.first, held.first + rows.X.shape[1])
        names = [column.name for column in held.columns] or FeatureNames(places)
        notes = held.training.differences(rows.X, held.columns, names, held.each(labels), held.classes)
    share = float(labels.mean()) if len(labels) else 0.0
    if held.alarms is not None and share > held.alarms + SLACK:
        called = f"{labels.sum():,} of {len(labels):,} rows are labelled {held.classes[1]}"
        most = f"{int(round(held.alarms * len(labels), 6)):,} of them"
        notes.append(f"{called}; the limit of alarms, {held.alarms:g}, is {most}.")
    if out is not None:
        with written_whole(out) as part:
            part.write_bytes(PACKERS.get(out.suffix.lower(), bytes)(text.encode()))
    return text, notes, _counted(held, labels) + ("" if out is None else f", in {out}")


def _refuse_gaps(held: SavedModel, rows: NewRows, path: Path, sep: str | None, code: str | None) -> None:
    """Raise ValueError for a row that lacks a cost by which it is decided, with its line in the file."""
    for j in held.paid:
        gaps = np.isnan(rows.X[:, j])
        if gaps.any():
            place = table_in(path, sep, code).place(int(gaps.argmax()))
            raise ValueError(
                f"column {held.columns[j].name!r} of {path.name} holds nothing in {place}, and the model decides each "
                "row by its own costs; --single-threshold decides by the tuned threshold, which needs none."
            )


def table_in(data: Any, sep: str | None = None, code: str | None = None) -> Columns:
    """The columns of a file, or of a data frame."""
    return columns_in(data, sep, code) if isinstance(data, str | Path) else table_of(data)


def rows_for(
    model: SavedModel, data: Any, group: str | None, keep: Names = None, sep: str | None = None, code: str | None = None
) -> tuple[NewRows, Any]:
    """The rows of a file, or of a data frame, and what ``model.decide`` reads of them."""
    if not model.columns:
        rows = load_numbered(data, model.n_features, group, model.first)
        return rows, rows.X
    table = data if isinstance(data, Columns) else table_in(data, sep, code)
    # What is a cost and no feature is not needed without the costs of each row.
    costs = [column.source for column in model.columns if isinstance(column, Cost)] if model.paid else []
    table.require(costs, ", by which the model decides each row unless --single-threshold is given")
    read = [column for column, unread in zip(model.columns, model.unread, strict=True) if not unread]
    rows = rows_of(table, read, group, as_names_of_columns(keep, "keep") or ())
    if len(read) < len(model.columns):
        X = np.full((table.rows, len(model.columns)), np.nan)
        X[:, np.logical_not(model.unread)] = rows.X
        rows = replace(rows, X=X)
    return rows, frame_of(table, model.columns) if model.fitted_to == "frame" else rows.X


def decided(model: SavedModel, name: str, where: str, given: Any, groups: Any) -> tuple[Ints, Values | None]:
    """What ``model.decide`` gives for the rows of a file; ValueError in one sentence where it cannot label them."""
    try:
        return model.decide(given, groups)
    # What a file holds may not fit together in any way.
    except Exception as error:
        raise ValueError(f"{name} cannot label {where}: {reason_of(error)}.") from None


def _counted(held: SavedModel, labels: Ints) -> str:
    """How many rows are labelled, and how many of them get each label."""
    n, at = len(labels), held.threshold
    # The positive label is counted, or the first ones of a matrix.
    names = held.classes[:MOST_LABELS] if held.many or held.several else held.classes[1:]
    counts = np.atleast_1d(held.each(labels).sum(axis=0)).tolist()
    called = [] if held.training is None else [f"; {percent(old)} in training" for old in held.training.called.tolist()]
    shares = [
        f"{count:,} as {name} ({percent(count / max(n, 1))}{old})"
        for count, name, old in zip(counts, names, called or [""] * len(names), strict=False)
    ]
    text = f"{n:,} row{'' if n == 1 else 's'} labelled: {listed(shares)}"
    return f"{text}, at threshold {threshold_text(at)}" if isinstance(at, float) else text


def _table(held: SavedModel, rows: NewRows, group: str | None, labels: Ints, scores: Values | None) -> str:
    """The labels as CSV with a header."""
    what = "probability" if held.response == "predict_proba" else "score"
    columns: list[tuple[str, Iterable[Any]]] = list(rows.kept.items())
    if rows.groups is not None and (group or "group") not in rows.kept:
        columns.append((group or "group", map(word, rows.groups.tolist())))
    if held.many:
        columns += zip(held.classes, labels.T.tolist(), strict=True)
    else:
        columns.append(("label", [held.classes[label] for label in labels.tolist()]))
    if scores is not None:
        named = [f"{name} {what}" for name in held.classes] if held.many or held.several else [what]
        columns += zip(named, np.atleast_2d(scores.T).tolist(), strict=True)
    names = [name for name, _ in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"there would be two columns {twice!r}: --keep and --group must not name what is written.")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(values for _, values in columns), strict=True))
    return buffer.getvalue()
