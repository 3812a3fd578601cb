"""Solutions by brute force for small sets, against which every faster algorithm is tested.

The traits that a sequence, a table, or a sample of values of a loss has are read off its differences.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Values
from setwise.core.loss import Loss
from setwise.core.terms import SHAPES, Trait

LIMIT = 16

MANY = 4096
"""So many labelings are evaluated at once."""


def subsets(p: int) -> Bools:
    """All ``2^p`` sets of mistakes as rows, (2^p, p) bool; bit i of the row index says whether decision i is wrong."""
    if p > 20:
        raise ValueError(f"enumeration is for p <= 20; got p = {p}.")
    return (np.arange(1 << p)[:, None] >> np.arange(p) & 1).astype(bool)


def table(loss: Loss, y: ArrayLike) -> Values:
    """``l_y(A)`` of every A, (2^p,), ordered as in :func:`subsets`; -inf where a labeling is not allowed."""
    truth = Sets.single(y)
    masks = subsets(truth.total)
    # Each row of the batch is the same set, so that one call evaluates all masks.
    rows = Sets.rows(np.broadcast_to(truth.truth, masks.shape))
    return loss.bind(rows).values(masks.ravel() ^ rows.truth)


def margins(y: ArrayLike, scores: ArrayLike) -> Values:
    """``m_i = s_i (2 y_i - 1)``, (p,): positive where the score has the sign of the label."""
    return np.where(np.asarray(y, dtype=bool), 1.0, -1.0) * np.asarray(scores, dtype=np.float64)


def margin_rescaling(loss: Loss, y: ArrayLike, scores: ArrayLike) -> float:
    """``max_A l(A) - m(A)``, with ``m(A)`` the sum of the margins of A (LH Eq. 21, as Eq. 25 writes it)."""
    m = margins(y, scores)
    return float(np.max(table(loss, y) - subsets(len(m)) @ m))


def ramp(loss: Loss, y: ArrayLike, scores: ArrayLike) -> float:
    """``max_A [l(A) - m(A)] - max_A [-m(A)]`` over allowed labelings, with ``m(A)`` the sum of the margins of A."""
    m, values = margins(y, scores), table(loss, y)
    won = -(subsets(len(m)) @ m)
    return float(np.max(values + won) - np.max(won[values > -np.inf]))


def slack_rescaling(loss: Loss, y: ArrayLike, scores: ArrayLike) -> float:
    """``max_A l(A) (1 - m(A))``, with ``m(A)`` the sum of the margins of A (LH Eq. 22, as Eq. 23 writes it)."""
    m, values = margins(y, scores), table(loss, y)
    # A labeling that is not allowed has the value -inf, whose product with a negative factor would be +inf.
    allowed = values > -np.inf
    return float(np.max(np.where(allowed, values, 0.0) * (1.0 - subsets(len(m)) @ m), where=allowed, initial=-np.inf))


def lovasz_hinge(loss: Loss, y: ArrayLike, scores: ArrayLike, increasing: bool) -> float:
    """``max over orders pi of sum_j u_(pi_j) (l({pi_1..pi_j}) - l({pi_1..pi_(j-1)}))``, over all p! orders.

    With ``increasing`` each u is cut off at 0 (LH Eq. 33), otherwise the whole sum is (LH Eq. 35). The sum includes
    the loss of no mistake.
    """
    u = 1.0 - margins(y, scores)
    values, orders = table(loss, y), np.array(list(permutations(range(len(u)))))
    # The row indices of the sets {pi_1}, {pi_1, pi_2}, ... in the table.
    chains = np.cumsum(1 << orders, axis=1)
    gains = np.diff(values[chains], axis=1, prepend=values[0])
    value = float(values[0] + ((np.maximum(u, 0.0) if increasing else u)[orders] * gains).sum(axis=1).max())
    return value if increasing else max(value, 0.0)


def max_marginals(loss: Loss, y: ArrayLike, scores: ArrayLike) -> Values:
    """``M[i, b] = max over yhat with yhat_i = b of l(y, yhat) + <s, yhat>``, (p, 2).

    The message of HOL Eq. 4 is ``M[i, b] - s_i b``.
    """
    truth, s = np.asarray(y, dtype=bool), np.asarray(scores, dtype=np.float64)
    masks = subsets(len(truth))
    guesses = masks ^ truth
    values = table(loss, y) + guesses @ s
    return np.array([[values[guesses[:, i] == b].max() for b in (False, True)] for i in range(len(truth))])


def labelings(p: int, k: int) -> NDArray[np.int64]:
    """All ``k^p`` labelings of p decisions with k labels as rows, (k^p, p)."""
    if k**p > 1 << 20:
        raise ValueError(f"enumeration is for k^p <= 2^20; got {k}^{p}.")
    return np.arange(k**p)[:, None] // k ** np.arange(p) % k


def objectives(bound_loss: BoundLoss, scores: ArrayLike, rows: NDArray[np.int64], slack: bool = False) -> Values:
    """``l(y) + <s, phi(y) - target>`` of every labeling in ``rows`` of a batch of one set.

    With ``slack`` it is ``l(y) (1 + <s, phi(y) - target>)``.
    """
    s, part = np.asarray(scores, dtype=np.float64), rows[:MANY]
    # Each row labels the same set, so that one call evaluates many of them.
    copies = bound_loss.take(np.zeros(len(part), dtype=np.int64))
    values, target = copies.values(part.ravel()), bound_loss.batch.target
    won = (copies.batch.encode(part.ravel()).reshape(len(part), -1) - target) @ s
    factors = np.where(values > -np.inf, 1.0 + won, 1.0)
    out = values * factors if slack else values + won
    return np.append(out, objectives(bound_loss, s, rows[MANY:], slack)) if len(rows) > MANY else out


def traits(loss: Loss, y: ArrayLike, tolerance: float = 1e-9) -> frozenset[Trait]:
    """Those of increasing, submodular, supermodular and modular that hold for this ground truth; O(2^p p^2)."""
    found = frozenset(SHAPES)
    # First differences of either sign decide monotonicity, mixed second differences decide the curvature.
    for gain, bend in _differences(table(loss, y), len(np.asarray(y))):
        found &= _shapes(gain, bend, tolerance)
    return found


def _differences(values: Values, p: int) -> Iterator[tuple[Values, Values]]:
    """For each decision i its gains at all A, and the changes of these gains when a later decision j joins A."""
    index = np.arange(len(values))
    for i in range(p):
        # The rows whose set does not hold decision i.
        without = index[(index >> i & 1) == 0]
        gain = values[without | 1 << i] - values[without]
        bends: list[NDArray[np.float64]] = [np.zeros(1)]
        for j in range(i + 1, p):
            # Second differences are symmetric in i and j, so that only pairs i < j are needed.
            low = without[(without >> j & 1) == 0]
            both = values[low | 1 << i | 1 << j] - values[low | 1 << j]
            bends.append(both - (values[low | 1 << i] - values[low]))
        yield gain, np.concatenate(bends)


def shapes_of_sequence(g: Values) -> frozenset[Trait]:
    """The traits of ``A -> g[|A|]``, from first and second differences; rounding up to 1e-12 of max |g| is ignored."""
    return _shapes(np.diff(g), np.diff(g, 2), 1e-12 * max(1.0, float(np.abs(g).max())))


def shapes_of_table(table: Values) -> frozenset[Trait]:
    """The traits of ``A -> table[fn, fp]`` for a table (P+1, N+1), from all first and second differences; O(P N).

    Two mistakes are two false negatives, two false positives, or one of each, so there are no other differences.
    """
    rise = np.concatenate([np.diff(table, axis=axis).ravel() for axis in (0, 1)])
    mixed = np.diff(np.diff(table, axis=0), axis=1)
    bend = np.concatenate([np.diff(table, 2, axis=0).ravel(), np.diff(table, 2, axis=1).ravel(), mixed.ravel()])
    return _shapes(rise, bend, 1e-9 * max(1.0, float(np.abs(table).max())))


@final
@dataclass(frozen=True)
class RandomSearch:
    """The result of a random search: the traits that no difference violates, and the largest gain of one mistake."""

    unviolated: frozenset[Trait]
    steepest: float


def search_shapes(bound_loss: BoundLoss, rng: np.random.Generator) -> RandomSearch:
    """Search for violations of traits at random pairs of sets A and A + j of mistakes.

    The batch holds one ground truth many times. The marginals at A and at A + j cover all decisions i at once, so each
    row of the batch gives about 2 p first differences and p second differences.
    """
    batch = bound_loss.batch
    less, more = _nested(batch.truth.reshape(len(batch), -1), rng)
    first, second = (bound_loss.marginals(mask.ravel() ^ batch.truth) for mask in (less, more))
    # Second differences exist for the decisions outside A + j.
    out = ~more.ravel()
    gains, bends = np.concatenate((first[~less.ravel()], second[out])), (second - first)[out]
    return RandomSearch(_shapes(gains, bends, 1e-9 * max(1.0, float(np.abs(gains).max()))), float(gains.max()))


def _nested(truth: Bools, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """Random sets A and the same with one decision more; positives and negatives have a random rate each.

    The first A is empty, so that the gains of first mistakes are seen; the second A lacks only two decisions.
    """
    rows, p = truth.shape
    rates = rng.random((rows, 2))
    # Every other set is small, of all orders of magnitude: losses with a cap bend at their first mistakes only.
    rates[::2] = float(p) ** -rates[::2]
    rates[0], rates[min(1, rows - 1)] = 0.0, 1.0
    less = rng.random((rows, p)) < np.where(truth, rates[:, :1], rates[:, 1:])
    # Two decisions stay out of A: one joins it in A + j, and the other one leaves a second difference.
    free = rng.permuted(np.tile(np.arange(p), (rows, 1)), axis=1)[:, :2]
    less[np.arange(rows)[:, None], free] = False
    more = less.copy()
    more[np.arange(rows), free[:, 0]] = True
    return less, more


def _shapes(rise: Values, bend: Values, slack: float) -> frozenset[Trait]:
    """The traits that first differences ``rise`` and second differences ``bend`` leave, up to rounding ``slack``."""
    found = set(SHAPES)
    if (rise < -slack).any():
        found.discard(Trait.INCREASING)
    if (bend > slack).any():
        found -= {Trait.SUBMODULAR, Trait.MODULAR}
    if (bend < -slack).any():
        found -= {Trait.SUPERMODULAR, Trait.MODULAR}
    return frozenset(found)
