"""Pieces on which a loss of counts is linear, each with a linear program (Ranjbar, Mori and Wang 2010)."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values, as_count
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Takes
from setwise.core.networks import Graphs
from setwise.inference.descent import PerSetMaximizer
from setwise.inference.max_flow import GRAPHS, attracting

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SAMPLES = 9
"""Planes are fitted to so many counts of each kind, at most, inside a piece."""

ROWS = 1 << 20
"""The loss is evaluated at so many pairs of counts at a time."""


@final
@dataclass(frozen=True)
class PiecewiseLinearPrograms(Inference):
    """``max_y l(y) + <s, phi(y)>`` for losses of counts on networks, by one linear program for each piece of the loss.

    The baseline that DD compares with. The counts (fn, fp) are divided into ``n_pieces`` rectangles. On each of them a
    plane replaces the loss: ``a fn + b fp + c``, fitted by least squares and moved up until it is nowhere below the
    loss on the rectangle. The program is the linear relaxation of the network,
    ``max sum_i s_i y_i - sum_e s_e d_e + a fn + b fp + c`` with ``d_e >= |y_a - y_b|``, ``0 <= y, d <= 1`` and the
    counts inside the rectangle, solved by HiGHS. Its labeling is rounded at 1/2; the best one by the loss itself is the
    answer.

    *Bound.* Every labeling lies in one rectangle, where the plane is not below the loss, and the program not below the
    plane: the largest of their optima is an upper bound. It is computed from the multipliers of the program, of which
    any bound it from above, so the tolerance of the solver does no harm. It is not exact where the loss is bent inside
    a rectangle, however good the labeling is.

    Time is that of ``n_pieces`` linear programs of p + m variables, and of O(P N) values of the loss when it is bound.

    Parameters
    ----------
    n_pieces : the number of rectangles, as r rows of fn and c columns of fp where r is the largest divisor with
        ``r <= c``; fewer where there are fewer counts. DD uses 15 pieces, Ranjbar, Mori and Wang (2010) 40

    Raises
    ------
    TypeError : for a number of pieces that is not whole
    ValueError : for one outside of 1..10000; from its maximizers, for scores of edges below 0
    Refusal : from :meth:`prepare`, for losses other than functions of counts, unknown labels, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import PiecewiseLinearPrograms
    >>> from setwise.losses import Jaccard
    >>> image = Graphs.images([np.array([[True, True, False, False]])])
    >>> scores = [2.0, 0.5, 0.0, -2.0] + [0.25] * 3  # of four pixels, then of three edges
    >>> found = PiecewiseLinearPrograms().prepare(Jaccard().bind(image)).maximize(scores)
    >>> print(found.labels, found.values.round(4), bool(found.bounds[0] >= found.values[0]))
    [ True  True  True False] [0.3333] True
    """

    n_pieces: int = 15

    name: ClassVar[str] = "piecewise_linear"
    about: ClassVar[str] = "a linear program for each piece of a loss of counts"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = GRAPHS

    def __post_init__(self) -> None:
        as_count(self.n_pieces, "n_pieces", high=10_000)

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        if bound_loss.batch.known is not None:
            return "PiecewiseLinearPrograms refuses unknown labels. Use MaxFlow and Hamming(), or leave them out."
        rest = bound_loss.split()[1].terms
        whole = len(rest) == 1 and isinstance(rest[0], Counts) and rest[0].predicted is None
        if not rest:
            return f"PiecewiseLinearPrograms refuses {bound_loss!r}: it is a sum of one cost per mistake. Use MaxFlow."
        areas = whole and rest[0].areas is not None  # type: ignore[attr-defined]
        if not whole or areas:
            words = ", but one of areas" if areas else ""
            return (
                f"PiecewiseLinearPrograms refuses {bound_loss!r}: it is not a function of counts{words}. "
                "Use DualDecomposition."
            )
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        pieces = partial(PiecesOfSet, n_pieces=self.n_pieces)
        return PerSetMaximizer.of(self, bound_loss, pieces, PiecesOfSet.best)


@final
@dataclass(frozen=True)
class LinearPiece:
    """``low <= fn <= high``, ``left <= fp <= right``, where the loss is at most ``a fn + b fp + c``."""

    low: int
    high: int
    left: int
    right: int
    a: float
    b: float
    c: float


@final
class PiecesOfSet:
    """The pieces of the loss of one set, and the rows of its linear programs.

    Attributes
    ----------
    pieces : the rectangles with their planes
    """

    def __init__(self, bound_loss: BoundLoss, n_pieces: int) -> None:
        graphs = bound_loss.batch
        assert isinstance(graphs, Graphs)
        costs, rest = bound_loss.split()
        (counts,) = rest.terms
        assert isinstance(counts, Counts)
        self._graphs, self._bound_loss = graphs, bound_loss
        # A mistake on a positive takes its score away, so its cost is taken off the score.
        self._costs = np.zeros(graphs.total) if costs is None else costs
        self._sign = np.where(graphs.truth, -1.0, 1.0)
        positives = int(graphs.truth.sum())
        rows = max(r for r in range(1, n_pieces + 1) if n_pieces % r == 0 and r * r <= n_pieces)
        self.pieces = [
            _plane(counts, fn, fp)
            for fn in _intervals(positives, rows)
            for fp in _intervals(graphs.total - positives, n_pieces // rows)
        ]
        self._rows = _rows(graphs)

    def best(self, scores: Values, tol: float = 0.0) -> tuple[Bools, float]:
        """The best labeling of all pieces, and an upper bound of every labeling, relative to the target."""
        labels, best, bound = self._graphs.truth, self._value(scores, self._graphs.truth), -np.inf
        for piece in self.pieces:
            found, above = self.solve(piece, scores)
            bound = max(bound, above)
            value = self._value(scores, found)
            if value > best:
                labels, best = found, value
        return labels, bound

    def solve(self, piece: LinearPiece, scores: Values) -> tuple[Bools, float]:
        """The rounded labeling of one linear program, and the upper bound of the labelings in its rectangle."""
        graphs = self._graphs
        nodes, edges = scores[graphs.node_places], scores[graphs.edge_places]
        weights = attracting(scores, edges, "PiecewiseLinearPrograms", instead=None)
        # To import it takes longer than most calls of the library.
        from scipy.optimize import linprog

        # Both kinds of mistakes are worth their slope and their cost; a false negative takes its label away.
        worth = np.where(graphs.truth, piece.a, piece.b) + self._costs
        gain = np.concatenate([nodes + self._sign * worth, -weights])
        positives = graphs.truth.sum()
        limits = np.array([positives - piece.low, piece.high - positives, piece.right, -piece.left], dtype=np.float64)
        right = np.concatenate([np.zeros(2 * len(graphs.edges)), limits])
        # The solver's tolerances are absolute, so its objective is of size 1.
        scale = float(np.abs(gain).max(initial=0.0)) or 1.0
        found = linprog(-gain / scale, A_ub=self._rows, b_ub=right, bounds=(0.0, 1.0), method="highs")
        x = np.zeros(len(gain)) if found.x is None else found.x
        multipliers = np.zeros(len(right)) if found.x is None else scale * np.maximum(-found.ineqlin.marginals, 0.0)
        # Weak duality, true for any multipliers from 0 on.
        above = multipliers @ right + np.maximum(gain - self._rows.T @ multipliers, 0.0).sum()
        # Sums round by a share of all that occurs in them.
        size = (
            multipliers @ (np.abs(right) + abs(self._rows).sum(axis=1).A1) + np.abs(gain).sum() + np.abs(scores).sum()
        )
        above += 4.0 * np.finfo(np.float64).eps * size
        # With no positive predicted all positives are missed; scores count relative to the target.
        constant = piece.a * positives + piece.c + self._costs[graphs.truth].sum()
        # Edges whose scores were taken for 0 can win where their ends differ.
        above += constant + edges.sum() + np.maximum(-edges, 0.0).sum()
        return x[: graphs.total] > 0.5, float(above - scores @ graphs.target)

    def _value(self, scores: Values, labels: Bools) -> float:
        """The value of labels by the loss itself, relative to the target."""
        return float(self._bound_loss.values(labels)[0] + self._graphs.won(scores, labels)[0])


def _rows(graphs: Graphs) -> "csr_matrix":
    """The rows of ``A x <= b`` for x = (y, d): two for each edge, then the limits of the counts.

    They are ``y_a - y_b <= d_e`` and ``y_b - y_a <= d_e``; the positives predicted right at most and at least, and the
    negatives predicted wrong at most and at least.
    """
    from scipy.sparse import coo_matrix, vstack

    total, m = graphs.total, len(graphs.edges)
    e = np.arange(m)
    a, b = graphs.edges[:, 0], graphs.edges[:, 1]
    one = np.ones(m)
    row = np.concatenate([e, e, e, e + m, e + m, e + m])
    column = np.concatenate([a, b, total + e, b, a, total + e])
    ends = coo_matrix((np.concatenate([one, -one, -one, one, -one, -one]), (row, column)), shape=(2 * m, total + m))
    classes = np.zeros((4, total + m))
    classes[0, :total] = graphs.truth
    classes[2, :total] = ~graphs.truth
    classes[1], classes[3] = -classes[0], -classes[2]
    return vstack([ends, classes]).tocsr()


def _intervals(most: int, count: int) -> list[Ints]:
    """The numbers 0..most in ``count`` runs of nearly equal length, or in most + 1 where that is less."""
    return np.array_split(np.arange(most + 1), min(count, most + 1))


def _plane(counts: Counts, fn: Ints, fp: Ints) -> LinearPiece:
    """A rectangle with a plane that is nowhere below the loss on it, and near it by least squares."""
    some = [run[np.unique(np.linspace(0, len(run) - 1, SAMPLES).astype(int))].astype(np.float64) for run in (fn, fp)]
    x, y = (part.ravel() for part in np.meshgrid(*some, indexing="ij"))
    # A constant row or column has no slope: least squares of least length gives it none.
    middle = fn.mean(), fp.mean()
    terms = np.column_stack([x - middle[0], y - middle[1], np.ones(len(x))])
    a, b, _ = (float(v) for v in np.linalg.lstsq(terms, counts.of(x, y, 0), rcond=None)[0])
    above, columns = -np.inf, fp[None, :].astype(np.float64)
    for block in np.array_split(fn.astype(np.float64), max(1, len(fn) * len(fp) // ROWS)):
        rows = block[:, None]
        above = max(above, float((counts.of(rows, columns, 0) - a * rows - b * columns).max()))
    return LinearPiece(int(fn[0]), int(fn[-1]), int(fp[0]), int(fp[-1]), a, b, above)
