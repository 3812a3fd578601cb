"""Labels of rows of which some are not known, and the classes."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from setwise.core.checks import Bools, Ints, refuse_masked, shown
from setwise.estimators.target import as_target, is_missing


@final
@dataclass(frozen=True, eq=False)
class PartLabels:
    """Labels of some of n rows. Unknown is the number -1, and None, NaN or another missing value.

    Attributes
    ----------
    known : (n,) whether the label of a row is known
    labels : the known ones
    classes : the labels in order, as they are named, or None
    """

    known: Bools
    labels: NDArray[Any]
    classes: NDArray[Any] | None

    @classmethod
    def of(cls, y: Any, n: int, classes: Any) -> "PartLabels":
        """The labels ``y`` (n,), or None if none is known, of the classes that a user names, or None."""
        return cls(*_split(y, n), None if classes is None else _named(classes))

    @property
    def count(self) -> int | None:
        """The number of classes that are named, or that the labels show; None where they show fewer than two."""
        shown_here = len(np.unique(self.labels) if self.classes is None else self.classes)
        return shown_here if shown_here > 1 else None

    def coded(self, width: int | None) -> tuple[Ints, NDArray[Any]]:
        """The number of the class of each row, (n,), -1 where it is not known, and the classes, (k,).

        Where none are named they are the sorted labels, or 0, 1, .. if these do not show all. ``width`` is the number
        of classes that other arguments are about, or None.
        """
        found = np.unique(self.labels)
        names = _classes_of(found, width) if self.classes is None else self.classes
        if width is not None and width != len(names):
            raise ValueError(
                f"counts and proportions must have a column for each of {len(names)} classes; they have {width}. Name "
                "all classes by classes=..."
            )
        place = {label: k for k, label in enumerate(names.tolist())}
        odd = [label for label in found.tolist() if label not in place]
        if odd:
            raise ValueError(f"y must hold the classes {shown(names.tolist())}, and -1 for unknown; got {odd[0]!r}.")
        codes = np.full(len(self.known), -1, dtype=np.int64)
        codes[self.known] = [place[label] for label in self.labels.tolist()]
        return codes, names


def _split(y: Any, n: int) -> tuple[Bools, NDArray[Any]]:
    """A mask of the known labels, (n,), and these."""
    if y is None:
        return np.zeros(n, dtype=bool), np.empty(0, dtype=np.int64)
    # A column of pandas with gaps is no masked array, though it looks like one.
    if isinstance(y, np.ma.MaskedArray):
        refuse_masked(y, "y")
    raw = None if isinstance(y, str) else _objects(y)
    if raw is not None:
        known = np.array([not _is_unknown(value) for value in raw], dtype=bool)
        values = as_target(raw[known].tolist()) if known.any() else np.empty(0, dtype=np.int64)
    else:
        values = as_target(y if isinstance(y, list | tuple) or issparse(y) else np.asarray(y))
        values = column_or_1d(values, warn=True) if values.ndim == 2 and values.shape[1] == 1 else values
        known = np.ones(len(values) if values.ndim else 0, dtype=bool)
    if values.ndim != 1 or len(known) != n:
        shape = values.shape if values.ndim != 1 else (len(known),)
        raise ValueError(f"y must have shape ({n},), one label for each row; got shape {shape}.")
    if values.dtype.kind in "if":
        unknown = (values == -1) | np.isnan(values)
        known[np.flatnonzero(known)[unknown]] = False
        values = values[~unknown]
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("y must hold labels, and -1 or NaN for unknown; got inf.")
    if len(values):
        check_classification_targets(values)
    return known, values


def _objects(y: Any) -> NDArray[Any] | None:
    """A flat array of objects, if NumPy makes one of y, as where values are missing, or if y is a list with text."""
    try:
        raw = np.asarray(y)
    except ValueError:
        return None
    if raw.dtype.kind in "US" and isinstance(y, list | tuple):
        # NumPy has turned -1 and NaN into text.
        raw = np.asarray(y, dtype=object)
    return raw if raw.dtype.kind == "O" and raw.ndim == 1 else None


def _is_unknown(value: Any) -> bool:
    """Whether a label is missing, or is the number -1."""
    return is_missing(value) or (isinstance(value, Real) and float(value) == -1.0)


def _classes_of(found: NDArray[Any], width: int | None) -> NDArray[Any]:
    """The classes where none are named: the labels in y, if they show all of them, or 0, 1, .."""
    if len(found) == (width or len(found)) and len(found) > 1:
        return found
    if found.dtype.kind == "b":
        return np.array([False, True])
    usual = np.arange(width or 2)
    if not len(found):
        return usual
    if found.dtype.kind in "iuf" and np.isin(found, usual).all():
        return usual.astype(found.dtype)
    raise ValueError(
        f"y must show every class, or classes=... name them: its known labels are {shown(found.tolist())}, where -1 "
        f"is unknown, and {width or 2} classes are wanted."
    )


def _named(classes: Any) -> NDArray[Any]:
    """The classes that a user names."""
    names = as_target(classes, "classes")
    if names.ndim != 1 or len(names) < 2 or len(np.unique(names)) < len(names):
        raise ValueError(f"classes must be two different labels or more; got {shown(classes)}.")
    if names.dtype.kind in "if" and ((names == -1) | ~np.isfinite(names)).any():
        raise ValueError("classes must be finite, and not -1, which marks unknown labels in y.")
    return names


def refuse_one_class(codes: Ints, classes: NDArray[Any]) -> None:
    """Refuse codes (n,) of labels, -1 where they are unknown, of which the known ones are of a single class."""
    if (codes < 0).any() and len(np.unique(codes)) == 2:
        only = classes.tolist()[codes.max()]
        raise ValueError(
            f"y must hold two classes where nothing is known of bags; it holds {only!r} alone, and -1, which is "
            "unknown. Write negative labels as 0, or give proportions=... for a known share."
        )
