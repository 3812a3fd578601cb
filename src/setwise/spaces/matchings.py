"""Assignments of rows to columns: the space, the batch, and Murty's list of the best ones."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Ints, Values, as_array, as_count, shown
from setwise.core.inference import Inference, Maximizer, Takes
from setwise.core.risk import Features
from setwise.core.single_labels import Flips
from setwise.inference.single_labels import Falling, RankedMaximizer, farther, single_labels
from setwise.kernels.sequences import best_assignments
from setwise.models.joint_labels import ModelWithConstant
from setwise.models.rows import RowModel
from setwise.spaces.large_space import LargeSpace, as_arrays, as_labels_of, offsets_of
from setwise.spaces.sequences import as_truths


@final
class Assignments(Flips):
    """Assignments ``y`` of rows to different columns, of which some are right: ``f(y) = sum_r S[r, y_r] + c``.

    The scores of an input are those of its pairs, ``S`` (rows, columns), then that of the constant, c.

    Parameters
    ----------
    shapes : (n, 2) the numbers of rows and of columns of each input; 1 <= rows <= columns
    truths : for each input its right assignments, (m_i, rows) columns in 0..columns-1, distinct; m_i may be 0. None for
        no right assignments at all, as in batches to predict
    """

    def methods(self, auto: Any) -> tuple[Inference, ...]:
        return (ByMatchings(),)

    def __init__(self, shapes: Any, truths: Any = None) -> None:
        found = as_array(shapes, "shapes")
        if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu" or not found.size:
            raise ValueError(f"shapes must be whole numbers of shape (n, 2); got {found.dtype} of shape {found.shape}.")
        self.shapes = found.astype(np.int64)
        check_shapes(self.shapes)
        rows, columns = self.shapes.T
        super().__init__(as_truths(truths, len(rows)), rows, rows * columns + 1)

    @property
    def largest(self) -> Ints:
        return np.repeat(self.shapes[:, 1], self.sizes)

    def check_labels(self, i: int, labels: Ints, name: str) -> None:
        columns = int(self.shapes[i, 1])
        if labels.min() < 0 or labels.max() >= columns:
            raise ValueError(f"{name} must hold columns 0..{columns - 1}; got {shown(labels.tolist())}.")
        if (np.diff(np.sort(labels, axis=1), axis=1) == 0).any():
            raise ValueError(f"{name} must give each row its own column; got {shown(labels.tolist())}.")

    def indicators(self, labels: Ints) -> Values:
        out, ends = np.zeros(self.n_scores), self.score_offsets[1:] - 1
        named = self.named(labels)
        at = np.flatnonzero(np.repeat(named, self.sizes))
        owners = self.owners[at]
        out[self.score_offsets[owners] + self.places[at] * self.shapes[owners, 1] + labels[at] - 1] = 1.0
        out[ends[named]] = 1.0
        return out

    def label_scores(self, i: int, scores: Values, labels: Ints) -> Values:
        pairs, constant = self.parts(i, scores)
        return np.asarray(pairs[np.arange(len(pairs)), labels].sum(axis=1) + constant)

    def parts(self, i: int, scores: Values) -> tuple[Values, float]:
        """The scores of the pairs (rows, columns) of input i, and that of the constant."""
        return scores[:-1].reshape(self.shapes[i]), float(scores[-1])

    def own(self, parts: Ints) -> dict[str, Any]:
        return {"shapes": self.shapes[parts]}


def check_shapes(shapes: Ints) -> None:
    """Raise ValueError for inputs without rows, or with more rows than columns."""
    for i, (rows, columns) in enumerate(shapes.tolist()):
        if not 1 <= rows <= columns:
            raise ValueError(
                f"shapes[{i}] must have one row or more, and a column for each of them; got {rows} x {columns}. "
                "Swap rows and columns, or add columns that mean no partner."
            )


@final
@dataclass(frozen=True, eq=False)
class Matchings(LargeSpace):
    """Assignments of n rows to different ones of m columns, n <= m: ``f(x, y) = sum_r <w, x_(r, y_r)> + c``.

    X is a list of arrays (n_i, m_i, d), the features of all pairs of a row and a column, and Y a list of collections of
    assignments (n_i,), the column of each row. The weights are w (d,) and that of the constant, c.

    Source: MLSP 3, over the assignments; the best ones are listed after Murty (1968).

    Examples
    --------
    >>> from setwise.spaces import Matchings
    >>> # Row 0 fits column 0, row 1 fits both alike.
    >>> pairs = [[[3.0], [1.0]], [[2.0], [2.0]]]
    >>> batch, model = Matchings().bind([pairs])
    >>> scores = model.scores(np.array([1.0, 0.0]))
    >>> found = Matchings().best(batch, scores, limit=2)[0]
    >>> [(columns.tolist(), score) for columns, score in found]  # 3 + 2, and 1 + 2
    [([0, 1], 5.0), ([1, 0], 3.0)]
    """

    name: ClassVar[str] = "matchings"

    @classmethod
    def examples(cls) -> list[tuple[Any, Any]]:
        return [(Matchings(), [np.cos(np.arange(12.0)).reshape(2, 3, 2), np.ones((1, 1, 2))])]

    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Assignments, Features]:
        arrays = as_arrays(X, 3, "(n, m, d)")
        for i, x in enumerate(arrays):
            if x.shape[0] > x.shape[1]:
                raise ValueError(
                    f"X[{i}] must have a column for each row, so n <= m; got {x.shape[0]} x {x.shape[1]}. Swap rows "
                    "and columns, or add columns that mean no partner."
                )
        truths = as_labels_of(Y, [len(x) for x in arrays], "columns")
        offsets = offsets_of([x.shape[0] * x.shape[1] for x in arrays])
        rows = np.concatenate([x.reshape(-1, x.shape[2]) for x in arrays])
        features = ModelWithConstant(RowModel(rows, offsets, intercept=0.0), offsets, constant)
        return Assignments(np.array([x.shape[:2] for x in arrays]), truths), features


@final
@dataclass(frozen=True)
class ByMatchings(Inference):
    """The worst assignment of each input, or none: ``max lambda (1 - v f)``, or ``lambda - v f``; the K best of them.

    Exact for equal costs, by the ``|Y| + 1`` best assignments (Murty 1968), and under margin rescaling for Hamming
    costs to one right assignment. Otherwise it goes down the best assignments until no other can be worse. After
    ``limit`` of them it answers with a bound. Each assignment costs O(n^3 m) for n rows and m columns.

    Parameters
    ----------
    limit : so many assignments are looked at for an input and a call, at most

    Raises
    ------
    TypeError : for a ``limit`` that is no whole number
    ValueError : for a ``limit`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``Assignments`` and losses that are not one cost of single
        labels

    Examples
    --------
    >>> from setwise.spaces.matchings import Assignments
    >>> from setwise.spaces import ByMatchings
    >>> from setwise.losses import MaxLoss
    >>> batch = Assignments(shapes=[[2, 2]], truths=[[[0, 1]]])  # rows to columns; the identity is right
    >>> maximizer = ByMatchings().prepare(MaxLoss().bind(batch), slack=True)
    >>> found = maximizer.maximize([1.0, 0.5, 0.5, 1.0, -1.75])  # f(identity) = 0.25 is below its margin of 1
    >>> print(found.labels - 1, found.values)
    [0 1] [0.75]
    """

    limit: int = 1000

    name: ClassVar[str] = "by_matchings"
    about: ClassVar[str] = "the best assignments, one after another"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = single_labels(Assignments)

    def __post_init__(self) -> None:
        as_count(self.limit, "limit")

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _ByMatchings(self, bound_loss, slack, self.limit)


@final
class _ByMatchings(RankedMaximizer):
    def falling(self, i: int, scores: Values, weights: Values | None = None, many: int = 1) -> Falling:
        pairs, constant = self.flips.parts(i, scores)
        if weights is not None:
            pairs, constant = farther(pairs, self.flips.truths[i], weights), constant + float(weights.sum())
        for value, columns in best_assignments(pairs):
            yield value + constant, columns
