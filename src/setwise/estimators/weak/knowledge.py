"""What is known of rows in bags: the labels of some rows, and a range of the number of positives of each bag.

Given its log-odds and what is known of its bag, it says how likely each row is positive, and the best labeling.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import logit
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from setwise.core.attributes import cached_property
from setwise.core.batch import Places, Sets
from setwise.core.checks import Bools, Ints, Values, refuse_masked, shown
from setwise.core.surrogate import Evaluator
from setwise.estimators.sets import as_target, is_missing
from setwise.estimators.weak.bags import Bagging, span
from setwise.losses import CountRange
from setwise.probabilistic import AllowedPartition, CountLikelihood


@final
@dataclass(frozen=True, eq=False)
class Knowledge:
    """Bags of rows with labels 1, 0, and -1 where they are unknown, and the numbers of positives that they may have.

    Rows of which nothing is known, neither by themselves nor by their bag, are left out. Labels are known too where a
    bag allows one labeling only, as in bags without positives.

    Attributes
    ----------
    order : (total,) the rows, bag by bag, in their own order inside of a bag
    sets : their labels, int8, and the offsets of the bags
    low, high : (bags,) the least and the largest number of positives
    labeled : whether the label of a row was given, beside those that follow from numbers
    """

    order: Ints
    sets: Sets
    low: Ints
    high: Ints
    labeled: bool = False

    @classmethod
    def of(cls, bags: Bagging, labels: NDArray[np.int8], low: Ints, high: Ints, what: str = "any bag") -> "Knowledge":
        """The knowledge of n rows with labels (n,), and ranges (bags,) of all bags; ``what`` it is of, in words.

        Raises ValueError where a range holds no number that the labels allow, and where nothing is known at all.
        """
        given = np.bincount(bags.owners[labels == 1], minlength=len(bags))
        unknown = np.bincount(bags.owners[labels == -1], minlength=len(bags))
        odd = (low > given + unknown) | (high < given)
        if odd.any():
            b = int(np.flatnonzero(odd)[0])
            raise ValueError(
                f"what is known of bag {bags.name(b)} must agree with y: its number of positives is "
                f"{span(low[b], high[b])}, and y allows {span(given[b], given[b] + unknown[b])} in its "
                f"{bags.sizes[b]} rows."
            )
        labeled = bool((labels >= 0).any())
        # Where a bag allows one labeling only, all of its labels are known.
        forced = np.where(high == given, 0, np.where(low == given + unknown, 1, -1))
        labels = np.where(labels == -1, forced[bags.owners], labels).astype(np.int8)
        free = (low <= given) & (high >= given + unknown)
        used = np.flatnonzero((labels >= 0) | ~free[bags.owners])
        if not len(used):
            raise ValueError(
                "fit requires y to be passed, but the target y is None or unknown for all rows, and nothing is known "
                f"of {what}: give counts, proportions, at_least or between."
            )
        order = used[np.argsort(bags.owners[used], kind="stable")]
        sizes = np.bincount(bags.owners[order], minlength=len(bags))
        kept = np.flatnonzero(sizes)
        offsets = np.concatenate(([0], np.cumsum(sizes[kept]))).astype(np.int64)
        return cls(order, Sets(labels[order], offsets), low[kept], np.minimum(high, sizes)[kept], labeled)

    def __len__(self) -> int:
        return len(self.low)

    @property
    def loss(self) -> CountRange:
        """The loss that is least for all labelings that agree with the knowledge."""
        return CountRange(self.low, self.high)

    @cached_property
    def shares(self) -> Values:
        """The share of positives of each row, (total,): its label, or the middle of the range for the unknown rows."""
        least, most, unknown = self.left
        middle = (least + most) / 2.0 / np.maximum(unknown, 1)
        return np.where(self.sets.labels >= 0, self.sets.labels == 1, middle[self.sets.owners])

    @cached_property
    def left(self) -> tuple[Ints, Ints, Ints]:
        """The least and the largest number of positives among the unknown rows of each bag, and of these rows."""
        labels, owners = self.sets.labels, self.sets.owners
        given, unknown = (np.bincount(owners[labels == label], minlength=len(self)) for label in (1, -1))
        return np.maximum(self.low - given, 0), np.minimum(self.high - given, unknown), unknown

    @cached_property
    def likelihood(self) -> Evaluator:
        """``-log Pr(what is known)`` of each bag, as a function of the log-odds (total,)."""
        return CountLikelihood(self.loss).on(self.sets)

    @property
    def log_odds(self) -> float:
        """The log-odds of the mean share of positives of all rows."""
        return float(logit(np.clip(self.shares.mean(), 1e-3, 1.0 - 1e-3)))

    def take(self, parts: Ints) -> "tuple[Places, Knowledge]":
        """The places of the rows of some bags, and what is known of them."""
        places = self.sets.decisions(parts)
        sets = self.sets.take(parts)
        return places, Knowledge(self.order[places], sets, self.low[parts], self.high[parts], self.labeled)


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


class Posterior:
    """``E[y | known]`` of independent decisions, at ``sharpness`` times the scores.

    Where the sharpness is inf it is the labeling of greatest score among those that agree with what is known
    (``BoundLoss.zero()``): in each bag the top ones.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self.sets = knowledge.sets
        self.allowed = AllowedPartition(knowledge.loss.bind(knowledge.sets).zero())
        self.low, self.high, _ = knowledge.left

    def __call__(self, scores: Values, sharpness: float = 1.0) -> Values:
        """The means (total,) at the scores (total,)."""
        if sharpness < np.inf:
            return np.asarray(self.allowed(sharpness * scores).gradient)
        # Of equal scores the first rows are positive.
        sets = self.sets
        unknown = np.flatnonzero(sets.labels == -1)
        owners = sets.owners[unknown]
        order = unknown[np.lexsort((-scores[unknown], owners))]
        sizes = np.bincount(owners, minlength=len(sets))
        positive = np.bincount(owners[scores[unknown] > 0], minlength=len(sets))
        count = np.clip(positive, self.low, self.high)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        labels: Values = (sets.labels == 1).astype(np.float64)
        labels[order] = rank < np.repeat(count, sizes)
        return labels
