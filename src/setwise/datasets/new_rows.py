"""Read the features of new rows, of which the labels are not known, as a model of earlier rows reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_count, as_kind, as_text, shown
from setwise.core.files import visible_errors
from setwise.datasets.blocks import room_for
from setwise.datasets.columns import Column, as_texts
from setwise.datasets.files import SVMLIGHT, TABLES, as_existing, as_names_of_columns, request
from setwise.datasets.formats import read_npz_rows, read_svmlight
from setwise.datasets.tables import Columns


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
    keep: str | Sequence[str] | None = None,
    sep: str | None = None,
    encoding: str | None = None,
) -> NewRows:
    r"""Read the columns of a table with which a model was trained; others are ignored, in whatever order they are.

    A word that the training did not see gets a number of its own, as :class:`setwise.datasets.columns.Category` says.

    Parameters
    ----------
    path : the path of a ``.csv``, ``.tsv`` or ``.parquet`` file
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
    path = as_existing(path)
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
        raise TypeError(f"columns must be a list of columns, as load_table gives them; got {shown(columns)}.")
    for column in columns:
        as_kind(column, "columns", Column, "those of load_table(path)")
    wanted, asked = (
        as_names_of_columns(keep, "keep") or (),
        request(None, group, None, None, True, None, None, sep, encoding),
    )
    if path.suffix.lower() not in TABLES:
        raise ValueError(f"path must end in one of {', '.join(TABLES)}, since the columns have names; got {path.name}.")
    return rows_of(TABLES[path.suffix.lower()](path, asked.sep, asked.encoding), columns, group, wanted)


def rows_of(table: Columns, columns: Sequence[Column], group: str | None, wanted: Sequence[str]) -> NewRows:
    """The rows of a table as :func:`load_rows` reads them, with the columns ``wanted`` as text."""
    table.require([column.source for column in columns], ", which the model reads")
    table.require([name for name in (*wanted, group) if name is not None])
    X = room_for(table.rows, len(columns), np.dtype(np.float64))
    # The words of a text are columns that stand together.
    for source, read in groupby(enumerate(columns), lambda pair: pair[1].source):
        cells = table.cells(source)
        for j, column in read:
            X[:, j] = column.codes(cells, table.path.name, table.place)
    # A missing number is the empty text.
    kept = {name: as_texts(table.cells(name)).cells.tolist() for name in wanted}
    return NewRows(X, None if group is None else table.ids(group), kept)


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
        X, groups = read_npz_rows(path, group)
        if X.shape[1] != n_features:
            raise ValueError(f"X of {path.name} must have {n_features} features, as the model has; got {X.shape[1]}.")
        return NewRows(X, groups, {})
    if suffix not in SVMLIGHT:
        raise ValueError(f"path must end in .npz or .svm, since the features have no names; got {path.name}.")
    X, _, groups, _ = read_svmlight(path, as_count(first, "first", low=0, high=1))
    if group not in (None, "qid") or (group == "qid" and groups is None):
        raise ValueError(f"{path.name} has no group {group!r}: that of svmlight is qid.")
    # Other columns are cut off, and missing ones are 0.
    X.resize(X.shape[0], n_features)
    return NewRows(X, groups, {})
