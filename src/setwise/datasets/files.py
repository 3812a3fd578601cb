"""Local files as X, y and groups; the formats are CSV, Parquet, svmlight and NPZ.

Targets become 0 and 1: a column of two labels, or a label matrix.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_choice, as_mapping, as_names, as_text, shown
from setwise.core.files import visible_errors
from setwise.datasets.columns import KINDS, Column, FeatureNames, refuse_missing, some, word
from setwise.datasets.formats import read_npz, read_svmlight
from setwise.datasets.tables import LIKE_AN_ID, Columns, left_out, raw_features, read_csv, read_parquet


def two_labels(values: NDArray[Any], what: str, positive: str | None) -> tuple[NDArray[np.int64], tuple[str, str]]:
    """The labels ``values`` (n,) as 0 and 1, and the names of the two labels, the positive one last.

    ``what`` names the target in sentences. ``positive`` names the positive label; None takes the later one in sorted
    order. Raises ValueError if there are not exactly two labels, if one is missing, or if ``positive`` is neither.
    """
    if values.dtype.kind not in "biufUOmM":
        raise ValueError(f"{what} must hold numbers or text; it holds {values.dtype}.")
    refuse_missing(values, what)
    kinds = np.unique(values)
    words = tuple(word(k) for k in kinds)
    if len(kinds) != 2:
        raise ValueError(f"{what} must have two values; it has {len(kinds)}: {some(words)}.")
    place = int(positive is None or positive == words[1])
    if not place and positive != words[0]:
        raise ValueError(
            f"{what} has the values {words[0]!r} and {words[1]!r}, so {positive!r} cannot be the positive one."
        )
    return (values == kinds[place]).astype(np.int64), (words[1 - place], words[place])


def label_matrix(values: NDArray[Any], names: Sequence[str], file: str) -> NDArray[np.int64]:
    """A label matrix (n, p) as int64; ValueError if it holds anything but the numbers 0 and 1.

    ``names`` (p,) and ``file`` name the labels and their file in sentences.
    """
    if values.dtype.kind not in "biuf":
        raise ValueError(f"the label matrix of {file} must hold the numbers 0 and 1; it holds {values.dtype}.")
    odd = (values != 0) & (values != 1)
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise ValueError(
            f"label {names[column]!r} of {file} must hold 0 and 1; row {row + 1} holds {word(values[row, column])}."
        )
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
    y : (n,) or (n, p) int64 of 0 and 1
    groups : (n,) the id of the set of each row, or None
    classes : the names of the two labels, the positive one last, or of the p labels of a matrix
    features : the names of the d columns of X
    columns : the d kinds of the columns, from :func:`load_table`
    notes : sentences on what was left out, from :func:`load_table`
    target : the names of the target columns; () in svmlight, where it has none
    ids : the columns that were left out since no value occurs twice in them, as ids do, from :func:`load_table`

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


@final
@dataclass(frozen=True)
class Request:
    """What is asked of a file; ``raw`` allows text and gaps among the features, with ``kinds`` and words for gaps.

    ``sep`` and ``encoding`` say how a text table is written.
    """

    target: tuple[str, ...] | None
    group: str | None
    positive: str | None
    drop: tuple[str, ...]
    raw: bool
    kinds: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    sep: str | None = None
    encoding: str | None = None


@visible_errors()
def load(
    path: str | Path,
    target: str | Sequence[str] | None = None,
    group: str | None = None,
    positive: str | None = None,
    drop: str | Sequence[str] | None = None,
) -> Data:
    r"""Read a file of numbers in the format that its suffix names.

    The suffixes are ``.csv`` and ``.tsv``, ``.parquet``, ``.npz``, and ``.svm``, ``.svmlight``, ``.libsvm`` and
    ``.dat`` for svmlight. Memory is proportional to the file. Features that are missing or no numbers are refused; see
    :func:`load_table` for these. Missing labels and ids are refused too: empty cells, NaN, NaT, and words such as
    ``NA`` or ``null``.

    Parameters
    ----------
    path : the path of a local file
    target : the name of the target column; several names, as a list or joined by commas, make a label matrix of 0 and
        1. None takes the column called target, y, label or class. In an NPZ with ``label_names`` the names select
        labels; for svmlight no target may be given
    group : the name of the column of set ids. In an NPZ None takes the array ``groups`` if there is one; in svmlight
        the name is ``qid``
    positive : the positive one of the two labels; None takes the later one in sorted order
    drop : names of columns that are no features, as a list or joined by commas, for tables with named columns

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
    return _load(path, request(target, group, positive, drop, False))


@visible_errors()
def load_table(
    path: str | Path,
    target: str | Sequence[str] | None = None,
    group: str | None = None,
    positive: str | None = None,
    drop: str | Sequence[str] | None = None,
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
    kinds : the kinds of some columns by name: ``"number"``, ``"category"``, ``"date"``, ``"text"``, or ``"id"`` for one
        that is left out; the others are looked for
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
    return _load(path, request(target, group, positive, drop, True, kinds, missing, sep, encoding))


def _load(path: Any, asked: Request) -> Data:
    """The content of a file, whose path is not checked yet."""
    path = as_existing(path)
    suffix, known = path.suffix.lower(), sorted([*TABLES, ".npz", *SVMLIGHT])
    if suffix not in known:
        raise ValueError(f"{path.name} must end in one of {', '.join(known)}; got {path.suffix or 'no ending'!r}.")
    if suffix in TABLES:
        return of_columns(TABLES[suffix](path, asked.sep, asked.encoding), asked)
    for name in ("drop", "kinds", "missing", "sep", "encoding"):
        if getattr(asked, name):
            raise ValueError(f"{name} is for tables with named columns; {path.name} has none.")
    return _npz(path, asked) if suffix == ".npz" else _svmlight(path, asked)


def request(
    target: Any, group: Any, positive: Any, drop: Any, raw: bool,
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
    return Request(names, group, positive, left_out, raw, kinds, words, sep, encoding)


def as_existing(path: Any) -> Path:
    """``path`` if it is the path of a file that exists."""
    found = as_path(path)
    if not found.is_file():
        raise FileNotFoundError(f"there is no file {found}.")
    return found


def as_path(path: Any, name: str = "path", kind: str = "file") -> Path:
    """The argument ``name`` if it is the path of a file, or of another ``kind``."""
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise TypeError(f"{name} must be the path of a {kind}; got {shown(path)}.")
    return Path(path)


def as_names_of_columns(names: str | Sequence[str] | None, what: str) -> tuple[str, ...] | None:
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
    X, columns, notes = (
        raw_features(table, names, asked.kinds, asked.missing) if asked.raw and names else (None, (), ())
    )
    notes = (*table.notes, *notes)
    features = tuple(column.name for column in columns) if asked.raw else names
    if not features:
        raise ValueError(" ".join([f"{path.name} has no column left for features.", *notes]))
    X = table.numbers(names) if X is None else X
    ids = tuple(name for name in names if asked.kinds.get(name) == "id" or left_out(name, LIKE_AN_ID) in notes)
    groups = None if asked.group is None else table.ids(asked.group)
    # Several targets make a label matrix, whose rows are the sets.
    if len(target) > 1:
        refuse_group(asked)
        Y = label_matrix(table.numbers(target), target, path.name)
        return Data(X, Y, None, target, features, columns, notes, target, ids)
    y, classes = two_labels(table.labels(target[0]), table.what(target[0]), asked.positive)
    return Data(X, y, groups, classes, features, columns, notes, target, ids)


def parts_of(table: Columns, asked: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the target columns, and of the others that are no features: those to drop, and that of the group."""
    target, group = asked.target or _default_target(table.names), asked.group
    others = (*asked.drop, *(() if group is None else (group,)))
    table.require((*target, *others, *asked.kinds))
    for what, names in (("drop", asked.drop), ("kinds", asked.kinds)):
        for name in names:
            if name in target or name == group:
                raise ValueError(f"{what} names column {name!r}, which is the target or the group.")
    if group in target:
        raise ValueError(f"column {group!r} cannot be the target and the group at once.")
    return target, others


def refuse_group(asked: Request) -> None:
    """Raise ValueError if a group is asked for where each row is a set."""
    if asked.group is not None:
        raise ValueError(
            "several target columns make each row a set, so --group has no meaning; leave one of them out."
        )


def _npz(path: Path, asked: Request) -> Data:
    """The content of a NumPy archive."""
    X, y, groups, labels = read_npz(path, asked.target, asked.group)
    features = FeatureNames(range(X.shape[1]))
    if y.ndim == 2:
        if groups is not None:
            raise ValueError(
                f"{path.name} holds a label matrix, whose rows are sets, and groups too; leave the groups out."
            )
        return Data(X, label_matrix(y, labels, path.name), None, labels, features, target=tuple(labels))
    numbers, classes = two_labels(y, f"target {labels[0]!r} of {path.name}", asked.positive)
    return Data(X, numbers, groups, classes, features, target=tuple(labels))


def _svmlight(path: Path, asked: Request) -> Data:
    """The content of an svmlight file."""
    if asked.target is not None or asked.group not in (None, "qid"):
        raise ValueError(
            f"{path.name} is svmlight: its target is the first word of a line and its group is qid; name neither."
        )
    # A qid is always the group: the format knows no other use of it.
    X, y, groups, first = read_svmlight(path)
    if asked.group == "qid" and groups is None:
        raise ValueError(f"{path.name} has no qid, so --group qid has no meaning.")
    numbers, classes = two_labels(y, f"the first word of each line of {path.name}", asked.positive)
    return Data(X, numbers, groups, classes, FeatureNames(range(first, first + X.shape[1])))


TABLES: dict[str, Callable[[Path, str | None, str | None], Columns]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
}
"""The readers of tables with named columns, by the suffixes of files."""

SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".dat")
"""The suffixes of svmlight."""


def _default_target(names: Sequence[str]) -> tuple[str, ...]:
    """The only column with a usual name of a target; ValueError if there is none, or more than one."""
    found = [n for n in names if n.lower() in TARGET_NAMES]
    if len(found) != 1:
        raise ValueError(f"name the target column with --target; the columns are {some(names)}.")
    return (found[0],)
