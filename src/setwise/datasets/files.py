"""Local files as X, y and groups; the formats are CSV, Parquet, svmlight and NPZ.

Targets become 0 and 1: a column of two labels, or a label matrix; of more than two classes they become the numbers of
these. The features of new rows, of which the labels are not known, are read as a model of earlier rows reads them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Ints, as_choice, as_count, as_flag, as_kind, as_mapping, as_names, as_text, shown
from setwise.core.exceptions import Refusal
from setwise.core.files import visible_errors
from setwise.core.pages import LARGE_FILES
from setwise.datasets.columns import (
    EXACT,
    FEW,
    KINDS,
    SAME_VALUE,
    WORDS,
    Category,
    Column,
    Columns,
    Cost,
    Texts,
    Word,
    as_texts,
    column_of,
    is_prose,
    left_out,
    refuse_missing,
    row_words,
    some,
    word,
)  # fmt: skip
from setwise.datasets.doubts import doubts, maybe_times
from setwise.datasets.formats import features_and_groups, read_arrays, read_svmlight, target_of
from setwise.datasets.tables import TEXTS, ParquetTable, ending, read_csv, read_parquet

Names = str | Sequence[str] | None
"""Names in a list, or in a text that joins them by commas."""


@final
@dataclass(frozen=True)
class FeatureNames(Sequence[str]):
    """The names ``"feature j"`` for each j in ``places``, made on demand, so that they take no memory."""

    places: range

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, place: Any) -> Any:
        found = self.places[place]
        return FeatureNames(found) if isinstance(found, range) else f"feature {found}"


MOST_CLASSES = 50
"""A column with more values is no target of classes."""


def rest_of(positive: str) -> str:
    """The name of all classes but one."""
    return f"not {positive}"


def numbered_classes(
    values: NDArray[Any], what: str, positive: str | None, place: Callable[[int], str] = row_words
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The labels ``values`` (n,) as numbers from 0 on, and their names, sorted; of two labels the positive one last.

    ``what`` names the target in sentences. ``positive`` names the positive label: of two labels None takes the later
    one in sorted order, and of more a name makes the others one label. ``place`` gives the words for a row. Raises
    ValueError if there are not 2 to 50 labels, if one is missing, if one of more than two is in one row alone, or if
    ``positive`` is none of them.
    """
    if values.dtype.kind not in "biufUOmM":
        raise ValueError(f"{what} must hold numbers or text; it holds {values.dtype}.")
    refuse_missing(values, what)
    kinds, first, counts = np.unique(values, return_index=True, return_counts=True)
    words = tuple(word(k) for k in kinds)
    k = int(np.argmin(counts))
    few = 2 <= len(kinds) <= MOST_CLASSES
    once = few and len(kinds) > 2 and positive is None and counts[k] == 1
    if once or not few:
        wanted = "each value in two rows or more" if once else f"2 to {MOST_CLASSES} values"
        alone = f"; {words[k]!r} is in {place(int(first[k]))} alone" if once else ""
        raise ValueError(f"{what} must have {wanted}; it has {len(kinds)}: {some(words)}{alone}.")
    if positive is not None and positive not in words:
        raise ValueError(f"{what} has the values {some(words)}, so {positive!r} cannot be the positive one.")
    if positive is None and len(kinds) > 2:
        return np.searchsorted(kinds, values).astype(np.int64), words
    last = 1 if positive is None else words.index(positive)
    other = words[1 - last] if len(kinds) == 2 else rest_of(words[last])
    return (values == kinds[last]).astype(np.int64), (other, words[last])


def label_matrix(values: NDArray[Any], names: Sequence[str], file: str) -> NDArray[np.int64]:
    """A label matrix (n, p) as int64; ValueError if it holds anything but the numbers 0 and 1.

    ``names`` (p,) and ``file`` name the labels and their file in sentences.
    """
    if values.dtype.kind not in "biuf":
        raise ValueError(f"the label matrix of {file} must hold the numbers 0 and 1; it holds {values.dtype}.")
    odd = (values != 0) & (values != 1)
    if odd.any():
        row, column = np.argwhere(odd)[0]
        held = f"row {row + 1} holds {word(values[row, column])}"
        raise ValueError(f"label {names[column]!r} of {file} must hold 0 and 1; {held}.")
    return values.astype(np.int64)


TARGET_NAMES = ("target", "y", "label", "class")
"""The names by which the target column is found if the caller names none."""


@final
@dataclass(frozen=True, eq=False)
class Data:
    r"""The content of a file, ready for ``SetClassifier.fit(X, y, groups)``.

    Attributes
    ----------
    X : (n, d) float64, dense or CSR. From :func:`load` it is finite; from :func:`load_table` it may hold NaN for gaps
        and codes for words
    y : (n,) or (n, p) int64 of 0 and 1; of more than two classes (n,) of their numbers
    groups : (n,) the id of the set of each row, or None
    classes : the names of the two labels, the positive one last, of more than two classes, or of the p labels of a
        matrix
    features : the names of the d columns of X
    columns : the d kinds of the columns, from :func:`load_table`
    notes : sentences on what was left out, from :func:`load_table`
    target : the names of the target columns; () in svmlight, where it has none
    ids : the columns that were left out since no value occurs twice in them, as ids do, from :func:`load_table`
    weights : (n,) by how many rows of the file each one stands for, 1 for the rarer label, from
        :func:`load_sample` with ``keep_rare``; or None

    Examples
    --------
    >>> from pathlib import Path
    >>> from setwise.datasets import load
    >>> _ = Path("mails.csv").write_text("words,links,label\n120,0,ham\n30,7,spam\n")
    >>> data = load("mails.csv")
    >>> data.X.tolist(), data.y.tolist(), data.classes, data.features
    ([[120.0, 0.0], [30.0, 7.0]], [0, 1], ('ham', 'spam'), ('words', 'links'))
    """

    X: Any
    y: NDArray[np.int64]
    groups: NDArray[Any] | None
    classes: tuple[str, ...]
    features: Sequence[str]
    columns: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None


@final
@dataclass(frozen=True)
class Request:
    """What is asked of a file; ``raw`` allows text and gaps among the features, with ``kinds`` and words for gaps.

    ``sep`` and ``encoding`` say how a text table is written.
    """

    raw: bool
    target: tuple[str, ...] | None
    group: str | None
    positive: str | None
    drop: tuple[str, ...]
    kinds: Mapping[str, str]
    missing: tuple[str, ...]
    sep: str | None
    encoding: str | None


@visible_errors()
def load(
    path: str | Path, target: Names = None, group: str | None = None, positive: str | None = None, drop: Names = None
) -> Data:
    r"""Read a file of numbers in the format that its suffix names.

    The suffixes are ``.csv``, ``.tsv`` and ``.txt``, also compressed as ``.csv.gz``, ``.parquet``, ``.npz``, ``.svm``,
    ``.svmlight``, ``.libsvm`` and ``.dat`` for svmlight. Memory is proportional to the file. Features that are missing
    or no numbers are refused; see :func:`load_table` for these. Missing labels and ids are refused too: empty cells,
    NaN, NaT, and words such as ``NA`` or ``null``.

    Parameters
    ----------
    path : the path of a local file
    target : the name of the target column; several names, as a list or joined by commas, make a label matrix of 0 and
        1. None takes the column called target, y, label or class. In an NPZ with ``label_names`` the names select
        labels; for svmlight no target may be given
    group : the name of the column of set ids. In an NPZ None takes the array ``groups`` if there is one; in svmlight
        the name is ``qid``
    positive : the positive one of the two labels; None takes the later one in sorted order. Of 3 to 50 classes None
        keeps all of them, and a name makes the others one label
    drop : names of columns that are not features, as a list or joined by commas, for tables with named columns

    Returns
    -------
    Data
        Features, labels, and sets.

    Raises
    ------
    TypeError : if path is no path, or a name no text
    ValueError, OSError : with one sentence that says what is wrong and where

    Examples
    --------
    >>> from pathlib import Path
    >>> from setwise.datasets import load
    >>> _ = Path("visits.csv").write_text("day,age,ill\nmon,31,0\nmon,56,1\ntue,8,0\n")
    >>> data = load("visits.csv", target="ill", group="day")
    >>> data.X.shape, data.y.tolist(), data.groups.tolist()
    ((3, 1), [0, 1, 0], ['mon', 'mon', 'tue'])
    """
    return _load(path, request(False, target, group, positive, drop))


@visible_errors()
def load_table(
    path: str | Path,
    target: Names = None,
    group: str | None = None,
    positive: str | None = None,
    drop: Names = None,
    kinds: Mapping[str, str] | None = None,
    missing: str | Sequence[str] | None = None,
    sep: str | None = None,
    encoding: str | None = None,
) -> Data:
    r"""Read a file as :func:`load` does, but with words, dates, truth values and gaps among the features of a table.

    Each column is turned into numbers by its kind, see :mod:`setwise.datasets.columns`: a date is its days since 1970,
    a truth value is 0 or 1, a word is its place among the sorted words of the column, and a gap is NaN. A column of
    long texts becomes a column for each of its frequent words, which says how often the word is there. So ``X`` is fit
    for splits into folds, and :class:`setwise.estimators.TableEncoder` prepares it for a model. Columns that hold
    nothing, one value only, or text of which no value occurs twice are left out. Files without named columns are read
    as by :func:`load`.

    Parameters
    ----------
    path : the path of a local file
    target, group, positive, drop : as in :func:`load`
    kinds : the kinds of some columns by name: ``"number"``, ``"category"``, ``"date"``, ``"text"``, ``"id"`` for one
        that is left out, or ``"cost"`` for numbers that are costs of the rows and no feature: ``TableEncoder`` leaves
        them out. The others are looked for
    missing : further words for gaps among features, a text or a list
    sep : what parts the cells of a text table, as ``";"``; None looks for it
    encoding : the encoding of a text table, as ``"cp1252"``; None looks for it

    Returns
    -------
    Data
        Features with NaN for gaps, labels, sets, and the kinds of the columns.

    Raises
    ------
    TypeError : if path is no path, a name no text, or kinds no mapping
    ValueError, OSError : with one sentence that says what is wrong and where

    Examples
    --------
    >>> from pathlib import Path
    >>> from setwise.datasets import load_table
    >>> _ = Path("t.csv").write_text("color,size,y\nred,1.5,0\nblue,,1\nred,2.5,1\n")
    >>> data = load_table("t.csv")
    >>> data.X.tolist()  # blue is 0 and red is 1; a size is missing
    [[1.0, 1.5], [0.0, nan], [1.0, 2.5]]
    >>> [column.kind for column in data.columns]
    ['category', 'number']
    """
    return _load(path, request(True, target, group, positive, drop, kinds, missing, sep, encoding))


def _load(path: Any, asked: Request) -> Data:
    """The content of a file, whose path is not checked yet."""
    path = as_existing(path)
    suffix, known = ending(path), sorted([*TABLES, ".npz", *SVMLIGHT])
    if suffix not in known:
        raise ValueError(f"{path.name} must end in one of {', '.join(known)}; got {path.suffix or 'no ending'!r}.")
    if suffix in TABLES:
        return of_columns(TABLES[suffix](path, asked.sep, asked.encoding), asked)
    for name in ("drop", "kinds", "missing", "sep", "encoding"):
        if getattr(asked, name):
            raise ValueError(f"{name} is for tables with named columns; {path.name} has none.")
    return _npz(path, asked) if suffix == ".npz" else _svmlight(path, asked)


def request(
    raw: bool, target: Any = None, group: Any = None, positive: Any = None, drop: Any = None,
    kinds: Any = None, missing: Any = None, sep: Any = None, encoding: Any = None,
) -> Request:  # fmt: skip
    """What is asked of a file, from arguments that are not checked yet."""
    for name, value in (("group", group), ("positive", positive), ("sep", sep), ("encoding", encoding)):
        if value is not None:
            as_text(value, name)
    # A shell hands the two letters of a tab over as they are written.
    sep = "\t" if sep == "\\t" else sep
    if sep is not None and len(sep) != 1:
        raise ValueError(f"sep must be one character, as ';'; got {shown(sep)}.")
    kinds = {} if kinds is None else as_mapping(kinds, "kinds", f"one of {', '.join(KINDS)}")
    for name, kind in kinds.items():
        as_choice(kind, f"kinds[{name!r}]", KINDS)
    words = () if missing is None else (missing,) if isinstance(missing, str) else as_names(missing, "missing")
    names, left_out = as_names_of_columns(target, "target"), as_names_of_columns(drop, "drop") or ()
    return Request(raw, names, group, positive, left_out, kinds, words, sep, encoding)


def as_existing(path: Any, name: str = "path", kind: str = "file") -> Path:
    """The argument ``name`` if it is the path of a file that exists, or of a folder if that is the ``kind``."""
    found = as_path(path, name, kind)
    if not (found.is_file() if kind == "file" else found.is_dir()):
        raise FileNotFoundError(f"there is no {kind} {found}.")
    return found


def as_path(path: Any, name: str = "path", kind: str = "file") -> Path:
    """The argument ``name`` if it is the path of a file, or of another ``kind``."""
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise TypeError(f"{name} must be the path of a {kind}; got {shown(path)}.")
    return Path(path)


def as_names_of_columns(names: Names, what: str) -> tuple[str, ...] | None:
    """The names in the argument ``what``, which must be distinct and not empty."""
    if names is None:
        return None
    found = tuple(n.strip() for n in names.split(",")) if isinstance(names, str) else as_names(names, what)
    if "" in found or len(set(found)) != len(found):
        raise ValueError(f"{what} must name distinct columns, joined by commas; got {shown(names)}.")
    return found


def of_columns(table: Columns, asked: Request) -> Data:
    """What is asked of a table with named columns."""
    path, (target, others) = table.path, parts_of(table, asked)
    # Every column that is not named otherwise is a feature.
    names = tuple(n for n in table.names if n not in target and n not in others)
    X, columns, notes, ids = raw_features(table, names, asked.kinds, asked.missing) if asked.raw else (None, (), (), ())
    notes = (*table.notes, *notes)
    features = tuple(column.name for column in columns) if asked.raw else names
    if not features or (asked.raw and all(isinstance(column, Cost) for column in columns)):
        raise ValueError(" ".join([f"{path.name} has no column left for features.", *notes]))
    X = table.numbers(names) if X is None else X
    groups = None if asked.group is None else table.ids(asked.group)
    if len(target) > 1:
        y, classes = label_matrix(table.numbers(target), target, path.name), target
    else:
        y, classes = numbered_classes(table.labels(target[0]), table.what(target[0]), asked.positive, table.place)
    return Data(X, y, groups, classes, features, columns, notes, target, ids)


LIKE_AN_ID = "it is text of which no value occurs twice, as an id is; its words count as kind text"
"""Why a column is left out whose words say nothing about other rows."""

Raw = tuple[NDArray[np.float64], tuple[Column, ...], tuple[str, ...], tuple[str, ...]]


def raw_features(table: Columns, names: Sequence[str], kinds: Mapping[str, str], missing: Sequence[str]) -> Raw:
    """The named columns as numbers (n, d) with NaN for gaps, their d kinds, sentences on what was left out, and ids.

    Left out are columns that hold nothing, the same value in every row, or text of which no value occurs twice, as ids
    do. ``kinds`` names the kinds of some columns, and ``missing`` further words for gaps.
    """
    kept, codes, notes = list[Column](), list[NDArray[np.float64]](), list[str]()
    for name in names:
        cells, kind = table.cells(name), kinds.get(name)
        if kind == "id":
            notes.append(left_out(name, "it is an id"))
            continue
        column = column_of(name, cells, table.decimal_comma, missing, kind)
        found = column.codes(cells, table.path.name, table.place, options=True)
        if np.isnan(found).all():
            notes.append(left_out(name, "it holds nothing"))
            continue
        prose = kind == "text" or (kind is None and isinstance(column, Category) and is_prose(as_texts(cells)))
        words = Word.all_of(name, as_texts(cells)) if prose else ()
        if words or kind == "text":
            kept += words
            codes += [one.codes(cells, table.path.name) for one in words]
            lists = "" if kind else _of_lists(as_texts(cells))
            notes.append(f"Column {name!r} is read as text: {len(words)} words of it are features.{lists}")
            continue
        why = _useless(column, found) if kind is None else ""
        notes += [left_out(name, why)] if why else []
        # What looks like an id may be numbers that were not read as such.
        if kind in (None, "cost") and (not why or isinstance(column, Category)):
            notes += doubts(column, cells, missing) + maybe_times(column, found)
        if not why:
            kept.append(column)
            codes.append(found)
    ids = tuple(name for name in names if kinds.get(name) == "id" or left_out(name, LIKE_AN_ID) in notes)
    return np.column_stack(codes) if codes else np.empty((table.rows, 0)), tuple(kept), tuple(notes), ids


LONG_DATE = re.compile(r"(?:[^\W\d_]{2,10}[.,]? +){0,2}\d.*(?:\d:\d\d|\b\d{4}\b)")
"""What begins as a date of several words, and holds a time of day or a year."""


def _of_lists(cells: Texts) -> str:
    """A sentence on text that is mostly dates, JSON or lists, whose words tell little; the empty text for any other."""
    known = cells.without(WORDS)
    lists = [text for text in known if text[0] in "[{" and text[-1] in "]}"]
    dates = list(filter(LONG_DATE.match, known))
    if len(dates) > (1.0 - FEW) * len(known):
        return f" If these are dates, write them as 2024-12-31 17:05, not as {shown(dates[0])}."
    parts = 2 * len(lists) > len(known)
    return f" If their parts matter, write each in a column, not as {shown(lists[0])}." if parts else ""


def _useless(column: Column, codes: NDArray[np.float64]) -> str:
    """Why a column says nothing about other rows; the empty text if it may say something."""
    # NaN is neither the largest nor the smallest, so a gap beside one value is a difference.
    if codes.min() == codes.max():
        # Larger whole numbers may differ where float64 does not.
        large = abs(codes.max()) >= EXACT
        return "its numbers differ in no more than the last digits" if large else SAME_VALUE
    known = codes[~np.isnan(codes)]
    if isinstance(column, Category) and 1 < len(known) == len(column.words):
        return LIKE_AN_ID
    return ""


def parts_of(table: Columns, asked: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the target columns, and of those that are not features: to drop, and that of the group."""
    usual = tuple(name for name in table.names if name.lower() in TARGET_NAMES)
    if asked.target is None and len(usual) != 1:
        raise ValueError(f"name the target column with --target; the columns are {some(table.names)}.")
    target, group = asked.target or usual, asked.group
    others = (*asked.drop, *(() if group is None else (group,)))
    table.require((*target, *others, *asked.kinds))
    if group in target:
        raise ValueError(f"column {group!r} cannot be the target and the group at once.")
    if len(target) > 1 and group is not None:
        raise ValueError("several target columns make each row a set, so --group has no meaning; leave one out.")
    return target, others


def _npz(path: Path, asked: Request) -> Data:
    """The content of a NumPy archive."""
    arrays = read_arrays(path)
    X, groups = features_and_groups(arrays, asked.group, path.name)
    y, labels = target_of(arrays, asked.target, path.name)
    if len(y) != X.shape[0]:
        raise ValueError(f"the target of {path.name} has {len(y)} rows and X has {X.shape[0]}.")
    if y.ndim == 2 and groups is not None:
        raise ValueError(f"{path.name} holds groups and a label matrix, whose rows are sets; leave the groups out.")
    what = f"target {labels[0]!r} of {path.name}"
    if y.ndim == 2:
        y, classes = label_matrix(y, labels, path.name), labels
    else:
        y, classes = numbered_classes(y, what, asked.positive)
    return Data(X, y, groups, classes, FeatureNames(range(X.shape[1])), target=labels)


def _svmlight(path: Path, asked: Request) -> Data:
    """The content of an svmlight file."""
    if asked.target is not None:
        raise ValueError(f"{path.name} is svmlight: its target is the first word of a line; name none.")
    # A qid is always the group: the format knows no other use of it.
    X, y, groups, first = read_svmlight(path, asked.group)
    numbers, classes = numbered_classes(y, f"the first word of each line of {path.name}", asked.positive)
    return Data(X, numbers, groups, classes, FeatureNames(range(first, first + X.shape[1])))


TABLES = {**dict.fromkeys(TEXTS, read_csv), ".parquet": read_parquet}
"""What reads a table with named columns from its path, its separator and its encoding, by the suffixes of files."""

SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".dat")
"""The suffixes of svmlight."""


@final
@dataclass(frozen=True, eq=False)
class NewRows:
    r"""New rows of a file, whose labels are not known.

    Attributes
    ----------
    X : (n, d) float64, with NaN for gaps
    groups : (n,) the id of the set of each row, or None
    kept : columns by name, as texts (n,), which the caller wanted beside the features

    Examples
    --------
    >>> from pathlib import Path
    >>> from setwise.datasets import load_rows, load_table
    >>> _ = Path("old.csv").write_text("size,y\n1.5,0\n2.5,1\n")
    >>> _ = Path("new.csv").write_text("name,size\nanna,2.0\nbert,\n")
    >>> new = load_rows("new.csv", load_table("old.csv").columns, keep="name")
    >>> new.X.tolist(), new.kept
    ([[2.0], [nan]], {'name': ['anna', 'bert']})
    """

    X: Any
    groups: NDArray[Any] | None
    kept: dict[str, list[str]]


@visible_errors()
def load_rows(
    path: str | Path,
    columns: Sequence[Column],
    group: str | None = None,
    keep: Names = None,
    sep: str | None = None,
    encoding: str | None = None,
) -> NewRows:
    r"""Read the columns of a table with which a model was trained; others are ignored, in whatever order they are.

    A word that the training did not see gets a number of its own, as :class:`setwise.datasets.columns.Category` says.

    Parameters
    ----------
    path : the path of a ``.csv``, ``.tsv``, ``.txt`` or ``.parquet`` file
    columns : the columns from :func:`setwise.datasets.load_table`
    group : the name of the column of set ids, or None
    keep : names of columns to return as text, as a list or joined by commas
    sep, encoding : as in :func:`setwise.datasets.load_table`

    Returns
    -------
    NewRows
        Features, sets, and the columns that are kept.

    Raises
    ------
    TypeError : if path is no path, columns are not those of a table, or a name is no text
    ValueError, OSError : with one sentence, for example for a missing column, or for text where numbers were, with the
        row

    Examples
    --------
    >>> from pathlib import Path
    >>> from setwise.datasets import load_rows, load_table
    >>> _ = Path("old.csv").write_text("color,size,y\nred,1,0\nblue,2,1\nred,3,1\n")
    >>> _ = Path("new.csv").write_text("size,weight,color\n3.0,80,blue\n")
    >>> # Blue is 0, in the order of the training.
    >>> load_rows("new.csv", load_table("old.csv").columns).X.tolist()
    [[0.0, 3.0]]
    """
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
        raise TypeError(f"columns must be a list of columns, as load_table gives them; got {shown(columns)}.")
    for column in columns:
        as_kind(column, "columns", Column, "those of load_table(path)")
    wanted = as_names_of_columns(keep, "keep") or ()
    if group is not None:
        as_text(group, "group")
    return rows_of(columns_in(path, sep, encoding), columns, group, wanted)


@visible_errors()
def columns_in(path: str | Path, sep: str | None = None, encoding: str | None = None) -> Columns:
    """The columns of a table, with arguments as in :func:`load_rows`."""
    path, asked = as_existing(path), request(True, sep=sep, encoding=encoding)
    read = TABLES.get(ending(path))
    if read is None:
        raise ValueError(f"path must end in one of {', '.join(TABLES)}, since the columns have names; got {path.name}.")
    return read(path, asked.sep, asked.encoding)


def rows_of(table: Columns, columns: Sequence[Column], group: str | None, wanted: Sequence[str]) -> NewRows:
    """The rows of a table as :func:`load_rows` reads them, with the columns ``wanted`` as text."""
    table.require([column.source for column in columns], ", which the model reads")
    table.require([name for name in (*wanted, group) if name is not None])
    kept = {name: table.texts(name) for name in wanted}
    return NewRows(table.codes(columns), None if group is None else table.ids(group), kept)


@visible_errors()
def load_numbered(path: str | Path, n_features: int, group: str | None = None, first: int = 1) -> NewRows:
    r"""Read rows of numbered features from ``.npz`` or svmlight; ids come from ``groups`` or ``qid`` where there are.

    An NPZ must hold exactly ``n_features``. Rows of svmlight lack the features that are 0; in them features beyond
    ``n_features`` are ignored.

    Parameters
    ----------
    path : the path of a ``.npz`` file, or of one of svmlight
    n_features : the number of features that the model has, at least 1
    group : the name of the array of set ids, ``qid`` in svmlight; None takes ``groups`` or ``qid`` where there is one
    first : the index of the first feature in svmlight, 0 or 1

    Returns
    -------
    NewRows
        Features, dense or CSR, and sets.

    Raises
    ------
    TypeError : if path is no path, group no text, or a number no whole one
    ValueError, OSError : with one sentence that says what is wrong

    Examples
    --------
    >>> from pathlib import Path
    >>> from setwise.datasets import load_numbered
    >>> _ = Path("new.svm").write_text("0 qid:7 1:0.5 3:2.0\n0 qid:7 2:1.0 9:4.0\n")
    >>> rows = load_numbered("new.svm", n_features=3)
    >>> # The model does not know feature 9.
    >>> rows.X.toarray().tolist(), rows.groups.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [7, 7])
    """
    path, n_features = as_existing(path), as_count(n_features, "n_features")
    if group is not None:
        as_text(group, "group")
    suffix = path.suffix.lower()
    if suffix == ".npz":
        X, groups = features_and_groups(read_arrays(path), group, path.name)
        if X.shape[1] != n_features:
            raise ValueError(f"X of {path.name} must have {n_features} features, as the model has; got {X.shape[1]}.")
        return NewRows(X, groups, {})
    if suffix not in SVMLIGHT:
        raise ValueError(f"path must end in .npz or .svm, since the features have no names; got {path.name}.")
    X, _, groups, _ = read_svmlight(path, group, as_count(first, "first", low=0, high=1))
    # Other columns are cut off, and missing ones are 0.
    X.resize(X.shape[0], n_features)
    return NewRows(X, groups, {})


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """A random part of a Parquet table.

    Attributes
    ----------
    table : the file
    asked : what is read of it
    target : the names of the target columns
    rows : (m,) the numbers of the rows of the part in the file, rising
    sets : the number of sets in the file, 1 without groups; of a label matrix each row is one
    """

    table: ParquetTable
    asked: Request
    target: tuple[str, ...]
    rows: Ints
    sets: int


@visible_errors()
def load_sample(
    path: str | Path,
    rows: int,
    target: Names = None,
    group: str | None = None,
    positive: str | None = None,
    drop: Names = None,
    seed: int = 0,
    kinds: Mapping[str, str] | None = None,
    missing: str | Sequence[str] | None = None,
    keep_rare: bool = False,
) -> Data:
    """Read random rows of a Parquet table as :func:`load_table` reads all of them; memory is proportional to the rows.

    All parts of so many rows have the same chance. With ``keep_rare`` a label that less than a third of the rows have
    keeps all of them, or as many as half of the part, and the ``weights`` of the other one make up for it. With
    ``group`` whole sets are drawn, one after another until the next one would be too much. What is drawn depends on the
    seed, and not on the row groups of the file.

    Parameters
    ----------
    path : the path of a ``.parquet`` file
    rows : at most so many rows
    target, group, positive, drop : as in :func:`load`
    seed : the seed of the draw, an int from 0 on
    kinds, missing : as in :func:`load_table`
    keep_rare : whether the rarer label of one target keeps its rows; not for groups

    Returns
    -------
    Data
        The rows that are drawn, in the order of the file.

    Raises
    ------
    Refusal : if rows are too few for the first set that is drawn
    TypeError : if path is no path, a name no text, kinds no mapping, or rows or seed no whole number
    ValueError, OSError : with one sentence that says what is wrong and where; also without PyArrow

    Examples
    --------
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from setwise.datasets import load_sample
    >>> table = pa.table({"size": range(1000), "y": [0, 1] * 500})
    >>> pq.write_table(table, "t.parquet")
    >>> data = load_sample("t.parquet", rows=10, seed=0)
    >>> data.X.shape, bool((data.X[:, 0] % 2 == data.y).all())
    ((10, 1), True)
    """
    asked, seed = request(True, target, group, positive, drop, kinds, missing), as_count(seed, "seed", low=0)
    rare = as_flag(keep_rare, "keep_rare")
    if rare and group is not None:
        raise ValueError(f"keep_rare must be False with a group, of which whole ones are drawn; got {group!r}.")
    return drawn(ParquetTable(as_existing(path)), asked, lambda sets: as_count(rows, "rows"), seed, rare)[0]


def drawn(
    table: ParquetTable, asked: Request, room: Callable[[int], int], seed: int, rare: bool = False
) -> tuple[Data, Sample]:
    """The content of a random part of a table, and the part.

    ``room`` tells for a number of sets how many rows the part may have. With ``rare`` the rarer label keeps its rows.
    """
    import pyarrow as pa

    target, _ = parts_of(table.head, asked)
    weights = None
    if rare and len(target) == 1:
        sets = 1
        chosen, weights = rare_rows(table.ids(range(len(table.sizes)), target[0], {}), room(1), seed)
    elif asked.group is None:
        sets = table.rows if len(target) > 1 else 1
        chosen = uniform_rows(table.rows, room(sets), seed)
    else:
        codes: dict[Any, int] = {}
        ids, sizes = table.sets(asked.group, codes)
        sets, rows = len(ids), room(len(ids))
        wanted = ids[whole_sets(sizes, rows, seed)]
        if not len(wanted):
            what = f"a set of {table.path.name}, which may have {sizes.max()}"
            raise Refusal(f"{rows} rows are too few for {what}.", LARGE_FILES)
        held = (np.isin(table.ids([g], asked.group, codes), wanted) for g in range(len(table.sizes)))
        chosen = np.concatenate([first + np.flatnonzero(one) for first, one in zip(table.edges, held, strict=False)])
    names = [name for name in table.names if name not in asked.drop]
    places = np.split(chosen, np.searchsorted(chosen, table.edges[1:-1]))
    parts = [table.arrow([g], names).take(rows - table.edges[g]) for g, rows in enumerate(places) if len(rows)]
    data = replace(of_columns(table.columns(pa.concat_tables(parts)), asked), weights=weights)
    return data, Sample(table, asked, target, chosen, sets)


def _draws(seed: int) -> np.random.Generator:
    """Random numbers of the seed, other ones than those that a user of ``default_rng(seed)`` has made a table of."""
    return np.random.default_rng([seed, 1])


def uniform_rows(n: int, rows: int, seed: int) -> Ints:
    """The numbers of ``rows`` random ones of n rows, rising; all of them where there are fewer. Memory is O(rows)."""
    return np.sort(_draws(seed).choice(n, min(rows, n), replace=False, shuffle=False))


def rare_rows(labels: NDArray[Any], rows: int, seed: int) -> tuple[Ints, NDArray[np.float64] | None]:
    """The numbers of ``rows`` random rows, rising, and weights by how many rows each one stands for.

    Of the rarer of two labels all rows are among them, or half of ``rows`` where it has more. The draw is uniform, and
    there are no weights, where all rows are there, a third of them have the rarer label, or there are not two labels.
    """
    kinds = np.unique(labels)
    place = (labels == kinds[-1]).view(np.int8)
    counts = np.bincount(place, minlength=2)
    if not 1 < rows < len(labels) or len(kinds) != 2 or 3 * counts.min() >= len(labels):
        return uniform_rows(len(labels), rows, seed), None
    rng, rarer = _draws(seed), int(np.argmin(counts))
    share = np.full(2, min(int(counts[rarer]), rows // 2))
    share[1 - rarer] = rows - share[rarer]
    parts = [rng.choice(np.flatnonzero(place == k), share[k], replace=False, shuffle=False) for k in (0, 1)]
    chosen = np.sort(np.concatenate(parts))
    weights = counts / share
    # Regularizers are meant for weights of about 1, and the rarer label says how much there is to learn.
    return chosen, (weights / weights[rarer])[place[chosen]]


def whole_sets(sizes: Ints, rows: int, seed: int) -> Ints:
    """The places of random sets that have at most so many rows together, up to the first one that would be too much."""
    order = _draws(seed).permutation(len(sizes))
    return np.sort(order[: int(np.searchsorted(np.cumsum(sizes[order]), rows, side="right"))])
