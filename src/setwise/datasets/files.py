"""Read local files as X, y and groups; the formats are CSV, Parquet, svmlight and NPZ."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_names, as_text, shown
from setwise.datasets.names import Numbered, some
from setwise.datasets.npz import read_npz
from setwise.datasets.svmlight import read_svmlight
from setwise.datasets.tables import Columns, read_csv, read_parquet
from setwise.datasets.targets import label_matrix, two_labels

TARGET_NAMES = ("target", "y", "label", "class")
"""The names by which the target column is found if the caller names none."""


@final
@dataclass(frozen=True, eq=False)
class Data:
    """The content of a file, ready for ``SetClassifier.fit(X, y, groups)``.

    ``X`` is (n, d) float64, dense or CSR, and finite; ``y`` is (n,) or (n, p) int64 of 0 and 1; ``groups`` is (n,) or
    None; ``classes`` names the two labels, the positive one last, or the p labels of a matrix; ``features`` names the
    columns of X.
    """

    X: Any
    y: NDArray[np.int64]
    groups: NDArray[Any] | None
    classes: tuple[str, ...]
    features: Sequence[str]


def load(
    path: str | Path, target: str | Sequence[str] | None = None, group: str | None = None, positive: str | None = None
) -> Data:
    """Read a file in the format that its suffix names.

    The suffixes are ``.csv`` and ``.tsv``, ``.parquet``, ``.npz``, and ``.svm``, ``.svmlight``, ``.libsvm`` and
    ``.dat`` for svmlight. Memory is proportional to the file. Missing labels and ids are refused: empty cells, NaN,
    NaT, and words such as ``NA`` or ``null``.

    Parameters
    ----------
    path : the path of a local file
    target : the name of the target column; several names, as a list or joined by commas, make a label matrix of 0 and
        1. None takes the column called target, y, label or class. In an NPZ with ``label_names`` the names select
        labels; for svmlight no target may be given
    group : the name of the column of set ids. In an NPZ None takes the array ``groups`` if there is one; in svmlight
        the name is ``qid``
    positive : the positive one of the two labels; None takes the later one in sorted order

    Raises
    ------
    ValueError, OSError : with one sentence that says what is wrong and where
    """
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise TypeError(f"path must be the path of a file; got {shown(path)}.")
    path, names = Path(path), _names(target)
    for name, value in (("group", group), ("positive", positive)):
        if value is not None:
            as_text(value, name)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(
            f"{path.name} must end in one of {', '.join(sorted(_READERS))}; got {path.suffix or 'no ending'!r}."
        )
    return reader(path, names, group, positive)


def _names(target: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """The names in ``target``, which must be distinct and not empty."""
    if target is None:
        return None
    names = tuple(n.strip() for n in target.split(",")) if isinstance(target, str) else as_names(target, "target")
    if "" in names or len(set(names)) != len(names):
        raise ValueError(f"target must name distinct columns, joined by commas; got {shown(target)}.")
    return names


def _from_columns(read: Callable[[Path], Columns]) -> Callable[..., Data]:
    """A reader of :class:`Data` from a reader of named columns."""

    def reader(path: Path, target: tuple[str, ...] | None, group: str | None, positive: str | None) -> Data:
        columns = read(path)
        names = tuple(columns.values)
        target = target or _default_target(names)
        for name in (*target, *([] if group is None else [group])):
            if name not in names:
                raise ValueError(f"{path.name} has no column {name!r}; it has {some(names)}.")
        if group in target:
            raise ValueError(f"column {group!r} cannot be the target and the group at once.")
        # Every column that is neither a target nor the ids is a feature.
        features = tuple(n for n in names if n not in target and n != group)
        if not features:
            raise ValueError(f"{path.name} has no column left for features.")
        X = columns.numbers(features)
        groups = None if group is None else columns.ids(group)
        # Several targets make a label matrix, whose rows are the sets.
        if len(target) > 1:
            if groups is not None:
                raise ValueError(
                    "several target columns make each row a set, so --group has no meaning; leave one of them out."
                )
            return Data(X, label_matrix(columns.numbers(target), target, path.name), None, target, features)
        y, classes = two_labels(columns.labels(target[0]), columns.what(target[0]), positive)
        return Data(X, y, groups, classes, features)

    return reader


def _npz(path: Path, target: tuple[str, ...] | None, group: str | None, positive: str | None) -> Data:
    """The content of a NumPy archive."""
    X, y, groups, labels = read_npz(path, target, group)
    features = Numbered(range(X.shape[1]))
    if y.ndim == 2:
        if groups is not None:
            raise ValueError(
                f"{path.name} holds a label matrix, whose rows are sets, and groups too; leave the groups out."
            )
        return Data(X, label_matrix(y, labels, path.name), None, labels, features)
    numbers, classes = two_labels(y, f"target {labels[0]!r} of {path.name}", positive)
    return Data(X, numbers, groups, classes, features)


def _svmlight(path: Path, target: tuple[str, ...] | None, group: str | None, positive: str | None) -> Data:
    """The content of an svmlight file."""
    if target is not None or group not in (None, "qid"):
        raise ValueError(
            f"{path.name} is svmlight: its target is the first word of a line and its group is qid; name neither."
        )
    # A qid is always the group: the format knows no other use of it.
    X, y, groups = read_svmlight(path)
    if group == "qid" and groups is None:
        raise ValueError(f"{path.name} has no qid, so --group qid has no meaning.")
    numbers, classes = two_labels(y, f"the first word of each line of {path.name}", positive)
    return Data(X, numbers, groups, classes, Numbered(range(X.shape[1])))


_READERS: dict[str, Callable[..., Data]] = {
    ".csv": _from_columns(read_csv),
    ".tsv": _from_columns(read_csv),
    ".parquet": _from_columns(read_parquet),
    ".npz": _npz,
    ".svm": _svmlight,
    ".svmlight": _svmlight,
    ".libsvm": _svmlight,
    ".dat": _svmlight,
}


def _default_target(names: Sequence[str]) -> tuple[str, ...]:
    """The only column with a usual name of a target; ValueError if there is none, or more than one."""
    found = [n for n in names if n.lower() in TARGET_NAMES]
    if len(found) != 1:
        raise ValueError(f"name the target column with --target; the columns are {some(names)}.")
    return (found[0],)
