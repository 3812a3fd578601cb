"""A problem on which methods are compared: its rows, their labels, and the sets that they form.

It comes from files, or is bundled: the synthetic one of LH 6.1, and real data that come with scikit-learn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.datasets import load_breast_cancer, load_digits

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Ints, as_array, as_class_labels, as_labels, as_reals, as_row_weights, shown
from setwise.datasets import Data, early_detection, load_rows, load_table
from setwise.datasets.columns import Column, Cost, is_number, known_as, some, word
from setwise.datasets.files import as_names_of_columns, rest_of
from setwise.estimators.selection.problem import SelectionProblem
from setwise.estimators.sets import as_ids, group
from setwise.estimators.splits import Folds, later_folds


@final
@dataclass(frozen=True)
class Origin:
    """Where the rows of a problem come from.

    Attributes
    ----------
    file : its path, as it was given; empty for rows that come from no file
    target : the name of the target column; empty where it has none
    by_default : whether nobody said which of the two labels is the positive one
    rows : the number of all its rows
    drawn : why only some of them were drawn, as ``"--quick"``; empty where all rows are there
    ids : the columns that were left out as ids
    reader : the function of :mod:`setwise.datasets` that has read it; empty for rows that come from no file
    asked : the arguments that it was given beside the file
    """

    file: str = ""
    target: str = ""
    by_default: bool = False
    rows: int = 0
    drawn: str = ""
    ids: tuple[str, ...] = ()
    reader: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The line of Python that reads it."""
        options = "".join(f", {name}={value!r}" for name, value in self.asked.items() if value is not None)
        return f"data = {self.reader}({self.file!r}{options})"


@final
@dataclass(frozen=True)
class Finding:
    """What an audit has found in a table.

    Attributes
    ----------
    kind : ``"twins"``, ``"running number"``, ``"label"``, ``"empty"``, ``"sentinel"``, ``"costs"`` or ``"time"``
    columns : the names of the columns that it is about; () for all of them
    rows : the number of rows that it is about
    action : ``"left out"``, ``"kept together"``, ``"ordered"``, or ``"none"``, where it is only said
    sentence : what was found in words, and what was done about it
    """

    kind: str
    columns: tuple[str, ...]
    rows: int
    action: str
    sentence: str


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """``X`` (n, d), ``y`` (n,) or (n, p) of 0 and 1, ``groups`` (n,) or None, as ``SetClassifier.fit`` takes them.

    Of more than two classes ``y`` (n,) holds their numbers.

    Parameters
    ----------
    name, about : a short name, and one sentence
    X : (n, d) numbers, dense or CSR
    y : (n,) or (n, p) of 0 and 1, or (n,) the numbers of more than two classes
    groups : (n,) the id of the set of each row, for y (n,); None makes all rows one set
    classes : the names of the two labels, of more than two classes, or of the p labels of a matrix
    features : the names of the columns of X
    columns : the kinds of the columns of X where they come from a raw table; then X may hold NaN for gaps
    notes : sentences on what was left out
    code : lines of Python that make X, y and groups
    places : (d,) the features of a file without named columns of which X consists; None where these are all
    width, first : the number of features of that file, and the number of its first one, 0 or 1
    origin : the file that the rows come from; None for rows that come from none
    blocks : (n,) the number of the rows that folds keep together, such as equal ones, beside groups; None for none
    times : (n,) the time of each row, where outer folds are judged on later rows; None where folds are random
    findings : what an audit has found
    weights : (n,) the weights of rows that were not drawn evenly, for y (n,) without groups; None for equal ones

    Raises
    ------
    ValueError : for X, y and groups that do not fit together, and labels that are not 0 and 1, or numbers of classes
    TypeError : for columns that are no tuple of columns, and an origin of another kind

    Examples
    --------
    >>> from setwise.compare import Problem
    >>> X, y, bags = np.arange(6.0).reshape(6, 1), [0, 1, 1, 0, 0, 1], ["a", "a", "a", "b", "b", "b"]
    >>> problem = Problem("bags", "Six rows in two bags.", X, y, bags)
    >>> problem.kind()
    'each of the 2 groups is a set; 6 rows in all'
    """

    name: str
    about: str
    X: Any
    y: NDArray[np.int64]
    groups: NDArray[Any] | None = None
    classes: tuple[str, ...] = ("negative", "positive")
    features: Sequence[str] = ()
    columns: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    places: NDArray[np.int64] | None = None
    width: int = 0
    first: int = 1
    origin: Origin | None = None
    blocks: NDArray[np.int64] | None = None
    times: NDArray[np.float64] | None = None
    findings: tuple[Finding, ...] = ()
    weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if getattr(self.X, "ndim", 0) != 2 or min(self.X.shape) == 0 or self.X.dtype.kind not in "biuf":
            raise ValueError(f"X must be a matrix of numbers (n, d), dense or CSR; got {shown(self.X)}.")
        if not isinstance(self.columns, tuple) or not all(isinstance(one, Column) for one in self.columns):
            raise TypeError(f"columns must be a tuple, as load_table gives them; got {shown(self.columns)}.")
        if self.columns and len(self.columns) != self.X.shape[1]:
            raise ValueError(f"columns must name the {self.X.shape[1]} features of X; got {len(self.columns)}.")
        y = as_array(self.y, "y")
        if y.ndim not in (1, 2) or len(y) != self.X.shape[0]:
            raise ValueError(f"y must have shape (n,) or (n, p) for the {self.X.shape[0]} rows of X; got {y.shape}.")
        # Lists, truth values and columns of pandas become arrays, of which parts are taken.
        labels = as_class_labels(y.ravel(), "y") if self.several else as_labels(y.ravel(), "y")
        if self.several and labels.max() >= self.several:
            raise ValueError(f"y must hold the numbers of {self.several} classes; got {labels.max()}.")
        object.__setattr__(self, "y", labels.reshape(y.shape).astype(np.int64))
        if self.groups is not None:
            as_ids(self.groups, len(y))
            object.__setattr__(self, "groups", np.asarray(self.groups))
        if self.blocks is not None:
            blocks = as_array(self.blocks, "blocks")
            if blocks.shape != (len(y),) or blocks.dtype.kind not in "iu":
                raise ValueError(f"blocks must be whole numbers of shape ({len(y)},); got {shown(self.blocks)}.")
            object.__setattr__(self, "blocks", blocks.astype(np.int64))
        if self.weights is not None:
            if self.many or self.groups is not None:
                raise ValueError(f"weights must be None for groups and label matrices; got {shown(self.weights)}.")
            object.__setattr__(self, "weights", as_row_weights(self.weights, len(y)))
        if self.times is not None:
            object.__setattr__(self, "times", as_reals(self.times, "times", (len(y),)))

    @property
    def many(self) -> bool:
        """Whether each row is a set of labels; a single column is a vector of labels, as for the estimator."""
        return self.y.ndim == 2 and self.y.shape[1] > 1

    @property
    def several(self) -> int:
        """The number of classes where there are more than two, else 0."""
        return len(self.classes) if len(self.classes) > 2 and not self.many else 0

    @property
    def labels(self) -> tuple[Any, Any]:
        """The two labels that functions of a user get: those of the file as pandas reads them, or else 0 and 1."""
        if self.origin is None or not self.origin.file or len(self.classes) != 2 or self.many:
            return 0, 1
        negative, positive = labels_of(self.classes)
        return negative, positive

    @property
    def odd(self) -> str:
        """What the target lacks for what asks for two labels, and what it is; empty where it has them."""
        if self.several:
            return f"two classes; the target has {self.several}"
        return "one label a row; the target is a label matrix" if self.many else ""

    def each(self, labels: Any) -> Any:
        """Labels of several classes as 0 and 1, a column for each class (n, k); others as they are."""
        return labels[:, None] == np.arange(self.several) if self.several and labels is not None else labels

    def truth(self, y: Any) -> Any:
        """Labels of these classes as they are judged: whether they are positive, or the numbers of several classes."""
        return y if self.several else y == 1

    @cached_property
    def has_gaps(self) -> bool:
        """Whether X holds NaN."""
        return not issparse(self.X) and self.X.dtype.kind == "f" and bool(np.isnan(self.X).any())

    def kind(self, average: str = "samples") -> str:
        """A phrase that says what a set is in this problem; of a label matrix, by what ``average`` says."""
        if self.many and average == "macro":
            return f"each of the {self.y.shape[1]} labels is a set of {len(self.y):,} rows"
        if self.many and average == "micro":
            return f"all {self.y.shape[1]} labels of the {len(self.y):,} rows are judged together, as one set"
        if self.many:
            return f"each of the {len(self.y):,} rows is a set of {self.y.shape[1]} labels"
        if self.groups is None:
            return f"the {len(self.y):,} rows are judged together, as one set"
        return f"each of the {len(np.unique(self.groups)):,} groups is a set; {len(self.y):,} rows in all"

    @property
    def sets(self) -> Sets:
        """The true labels as sets, in the order of :class:`setwise.estimators.sets.Grouping`."""
        batch = group(self.y, self.groups, "samples", np.arange(self.y.shape[1] if self.many else 2)).batch
        assert isinstance(batch, Sets)
        return batch

    def take(self, rows: Ints) -> "Problem":
        """The problem that consists of the given rows."""
        named = {name: getattr(self, name) for name in ("groups", "blocks", "times", "weights")}
        kept = {name: one[rows] for name, one in named.items() if one is not None}
        return replace(self, X=self.X[rows], y=self.y[rows], **kept)

    def without(self, names: Sequence[str], ids: Sequence[str] = ()) -> "Problem":
        """The problem without some of its named features, of which some are ids; its code leaves them out too."""
        keep = np.array([j for j, name in enumerate(self.features) if name not in names])
        features = tuple(self.features[j] for j in keep.tolist())
        columns = tuple(self.columns[j] for j in keep.tolist() if self.columns)
        part = replace(self, X=self.X[:, keep], features=features, columns=columns)
        if self.columns and self.origin is not None:
            dropped = as_names_of_columns(self.origin.asked.get("drop"), "drop") or ()
            # A reader drops a text, and none of its words alone.
            read = dict.fromkeys(column.source for column in self.columns if column.name in names)
            return part._read_with(ids, drop=[*dropped, *read])
        out = np.setdiff1d(np.arange(self.X.shape[1]), keep).tolist()
        lines = ("import numpy as np", f"X = np.delete(X, {out}, axis=1)") if self.code else ()
        return replace(part, code=(*self.code, *lines), places=keep if self.places is None else self.places[keep])

    def with_costs(self, names: Sequence[str]) -> "Problem":
        """The problem whose numbers of these names are costs, and no features; its code reads them so too."""
        if self.origin is None or not names:
            return self
        columns = tuple(Cost(**vars(one)) if one.name in names else one for one in self.columns)
        kinds = {**(self.origin.asked.get("kinds") or {}), **dict.fromkeys(names, "cost")}
        return replace(self._read_with(kinds=kinds), columns=columns)

    def _read_with(self, ids: Sequence[str] = (), **asked: Any) -> "Problem":
        """The problem whose origin and code have other arguments of the reader, and further ids."""
        assert self.origin is not None
        origin = replace(self.origin, ids=(*self.origin.ids, *ids), asked={**self.origin.asked, **asked})
        code = tuple(origin.line if line == self.origin.line else line for line in self.code)
        return replace(self, code=code, origin=origin)

    def outer_folds(self, rows: SelectionProblem, k: int, seed: int) -> Folds:
        """The training and test rows of k outer folds: random ones, or later and later ones where rows have times."""
        if self.times is None:
            return rows.folds(k, seed)
        units = np.arange(len(self.y)) if rows.groups is None else rows.groups
        return later_folds(k, self.y, self.times, units, units if self.blocks is None else self.blocks)

    def test_by_train(self, k: int) -> float:
        """The ratio of the numbers of test and training rows in k outer folds, in the mean."""
        return 1.0 / (k - 1) if self.times is None else float(np.mean(1.0 / np.arange(1, k + 1)))


def labels_of(texts: Sequence[str]) -> tuple[Any, ...]:
    """The labels that :func:`word` has written so: numbers, True and False, or the texts themselves."""
    if set(texts) == {"True", "False"}:
        return tuple(text == "True" for text in texts)
    if any(not is_number(text) or word(float(text)) != text for text in texts):
        return tuple(texts)
    return tuple(int(text) if float(text).is_integer() else float(text) for text in texts)


def bags(n: int, seed: int) -> Problem:
    """The problem of early detection in ``n`` bags of 15 samples (LH 6.1)."""
    X, y, groups = early_detection(n, random_state=seed)
    about = "Synthetic bags of 15 samples in time order: early positives lie elsewhere than late ones."
    made = f"X, y, groups = early_detection({n}, random_state={seed})"
    code = ("from setwise.datasets import early_detection", made)
    return Problem("early detection", about, X, y, groups, code=code)


def breast_cancer() -> Problem:
    """The problem of malignant against benign cells: 569 samples of 30 measurements, as one set."""
    held = load_breast_cancer()
    about = "Real measurements of cell nuclei (scikit-learn's breast cancer data): is it malignant?"
    read = "X, y = load_breast_cancer(return_X_y=True)"
    code = ("from sklearn.datasets import load_breast_cancer", read, "y = 1 - y")
    # scikit-learn codes malignant as 0; what is to be detected is the positive class here.
    return Problem(
        "breast cancer", about, held.data, 1 - held.target, None, ("benign", "malignant"),
        features=tuple(map(str, held.feature_names)), code=code,
    )  # fmt: skip


TRAITS: dict[str, tuple[int, ...]] = {
    "odd": (1, 3, 5, 7, 9),
    "5 or more": (5, 6, 7, 8, 9),
    "has a loop": (0, 6, 8, 9),
    "straight": (1, 4, 7),
    "square": (0, 1, 4, 9),
    "prime": (2, 3, 5, 7),
}
"""Labels of digits, each with the digits that have it."""


def digit_traits(count: int = 6, most: int = 1797) -> Problem:
    """The multi-label problem of the first ``count`` labels in :data:`TRAITS`, on random ``most`` of 1,797 digits."""
    X, y = load_digits(return_X_y=True)
    digits = {name: TRAITS[name] for name in tuple(TRAITS)[:count]}
    Y = np.column_stack([np.isin(y, held) for held in digits.values()]).astype(np.int64)
    origin, code = None, [
        "import numpy as np",
        "from sklearn.datasets import load_digits",
        "X, digit = load_digits(return_X_y=True)",
        f"traits = {digits}",
        "y = np.column_stack([np.isin(digit, held) for held in traits.values()]).astype(int)",
    ]  # fmt: skip
    if most < len(y):
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
        X, Y, origin = X[rows], Y[rows], Origin(rows=len(y), drawn="--quick")
        code += [f"rows = np.sort(np.random.default_rng(0).permutation(len(y))[:{most}])", "X, y = X[rows], y[rows]"]
    about = "Real images of 8 x 8 pixels (scikit-learn's digits): what is true of the digit?"
    return Problem("traits of digits", about, X, Y, None, tuple(digits), code=tuple(code), origin=origin)


def read(data: str, asked: Mapping[str, Any]) -> Problem:
    """The problem of a file that ``load_table`` reads; ValueError or OSError in one sentence where it cannot."""
    return problem_of(load_table(data, **asked), data, "load_table", asked)


def problem_of(held: Data, data: str, reader: str, asked: Mapping[str, Any]) -> Problem:
    """The problem of what the function ``reader`` of :mod:`setwise.datasets` has read with the arguments ``asked``."""
    path, target = Path(data), held.target if held.y.ndim == 1 else ()
    by_default = asked.get("positive") is None
    origin = Origin(data, ", ".join(target), by_default, len(held.y), ids=held.ids, reader=reader, asked=dict(asked))
    lines = [f"from setwise.datasets import {reader}", origin.line]
    lines.append("X, y = data.X, data.y" if held.groups is None else "X, y, groups = data.X, data.y, data.groups")
    X, features, places = held.X, held.features, None
    # Numbered features count from 0 or from 1.
    first = 0 if len(features) and str(features[0]) == "feature 0" else 1
    if issparse(X):
        # Weights are dense, so columns that never occur would take memory and time in every model.
        places, at = np.unique(X.indices.astype(np.int64), return_inverse=True)
        features = tuple(features[place] for place in places.tolist())
        X = csr_matrix((X.data, at, X.indptr), shape=(X.shape[0], max(len(places), 1)))
        if not len(places):
            raise ValueError(f"{path.name} has no feature that is not 0.")
    return Problem(
        path.name, f"Read from {path.name}.", X, held.y, held.groups, held.classes, features=features,
        columns=held.columns, notes=held.notes, code=tuple(lines), places=places, width=held.X.shape[1],
        first=first, origin=origin, weights=held.weights,
    )  # fmt: skip


def read_test(path: str, problem: Problem, asked: Mapping[str, Any]) -> Problem:
    """Further rows of known labels, read as those of the problem are, of which was ``asked`` what :func:`read` takes.

    Raises
    ------
    ValueError, OSError : in one sentence, for a file that lacks columns, or holds labels that the problem does not
    """
    name, target, group = Path(path).name, asked.get("target"), asked.get("group")
    if problem.columns:
        names = tuple(problem.classes) if problem.many else (target or (problem.origin or Origin()).target,)
        found = load_rows(path, problem.columns, group, list(names), asked.get("sep"), asked.get("encoding"))
        y = targets_of(found.kept, problem.classes, names, f"--test {name}", problem.many)
        return Problem(name, f"Read from {name}.", found.X, y, found.groups, problem.classes, columns=problem.columns)
    held = load_table(path, target, group, None if problem.many or problem.several else problem.classes[1])
    X = held.X
    if problem.places is not None and (issparse(X) or X.shape[1] == problem.width):
        if issparse(X):
            X = csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], max(X.shape[1], problem.width)))
        X = X[:, problem.places]
    if X.shape[1] != problem.X.shape[1] or tuple(held.classes) != tuple(problem.classes):
        raise ValueError(f"--test {name} must have the features and labels of {problem.name}; it has others.")
    return Problem(name, f"Read from {name}.", X, held.y, held.groups, held.classes)


def targets_of(
    kept: Mapping[str, list[str]], classes: Sequence[str], names: Sequence[str], where: str, many: bool = False
) -> NDArray[np.int64]:
    """The labels of further rows as numbers, (n,) or (n, p) for ``many``, from their texts by column.

    Raises ValueError for a label that is none of the ``classes``; ``where`` begins the sentence.
    """
    known = ("0", "1") if many else tuple(classes)
    places = {label: place for place, label in enumerate(known)}
    # What is not the positive class of one against the rest is the rest.
    rest = len(known) == 2 and known[0] == rest_of(known[1])
    columns = []
    for name in names:
        numbers = {text: places.get(known_as(text, known), 0 if rest else -1) for text in dict.fromkeys(kept[name])}
        odd = [text for text, place in numbers.items() if place < 0]
        if odd:
            raise ValueError(f"{where}: column {name!r} must hold {some(known)}; it holds {shown(odd[0])}.")
        columns.append([numbers[text] for text in kept[name]])
    y = np.array(columns, dtype=np.int64).T
    return y if many else y.ravel()
