"""Max-marginals of a count loss: the best objective with one decision forced right or wrong, for all decisions at once.

Let ``S(x)`` be the sum of the x smallest margins of one class, ``m_r`` the margin of rank r (counted from 0), and
``H(x)`` the best loss less margins of the other class where x decisions of this class are wrong. Without the decision
of rank r, the sum of the x smallest margins is ``S(x)`` for x <= r and ``S(x + 1) - m_r`` for x >= r, so

    forced wrong:  max( max_(x > r) H(x) - S(x),  max_(1 <= x <= r) H(x) - S(x - 1) - m_r )
    forced right:  max( max_(x <= r) H(x) - S(x),  max_(x >= r) H(x) - S(x + 1) + m_r )

and prefix and suffix maxima give all of them in O(p). Less the score of the decision itself, they are the messages of
HOL Eq. 4. The decisions that are always mistakes are not ranked and share one such maximum, and so do those that never
are.
"""

from typing import Any

import numpy as np

from setwise.kernels.counts import coefficients, row_maxima
from setwise.kernels.jit import Array, kernel


@kernel
def quotient_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array, quotient: tuple[Array, Array, Array]
) -> Array:
    """Returns the max-marginals (total, 2) of a quotient loss, for the labels 0 and 1 of each decision.

    ``ranks`` is (keys, margins, sums, starts, low, floor), see :mod:`setwise.kernels.rankings`. ``base`` (n,) is added
    to every entry of a set. ``quotient`` is (top, bottom, origin), see :mod:`setwise.kernels.counts`. O(p) where the
    rows and columns of the table of the loss are concave.
    """
    keys, margins, sums, starts, low, floor = ranks
    top, bottom, origin = quotient
    # Forcing one decision may ask for one wrong decision less, or one more, than are ranked.
    longest = np.diff(starts).max() + 3
    work, where, out = np.empty((3, longest)), np.empty(longest + 1, np.int32), np.empty((len(labels), 2))
    maxima, rows = np.zeros((2, 4)), np.zeros(2, np.int64)
    for i in range(len(base)):
        first, last = offsets[i], offsets[i + 1]
        positives = 0
        for j in range(first, last):
            positives += labels[j]
        for side in range(2):
            own, other = 2 * i + side, 2 * i + 1 - side
            size = last - first - positives if side else positives
            a, b, u, v = starts[own], starts[own + 1], starts[other], starts[other + 1]
            shift = min(low[own], 1)
            # H is needed from one wrong decision less to one more than are ranked, where there are such decisions.
            rows[side] = shift + min(b - a + 1, size - low[own]) + 1 if size > 0 else 0
            if size > 0:
                c = coefficients(top[i], bottom[i], origin[i], side == 1)
                other_sums = sums[u + other : v + other + 1]
                row_maxima(c, low[own] - shift, rows[side], low[other], margins[u:v], other_sums, work[side], where)
                _find_maxima(work[side, : rows[side]], shift, sums[a + own : b + own + 1], maxima[side])
        # Where some decisions are not ranked, all are filled as if they were not; the ranked ones follow.
        if starts[2 * i + 2] - starts[2 * i] < last - first:
            _fill(scores[first:last], labels[first:last], floor, base[i], maxima, out[first:last])
        for side in range(2):
            k = 2 * i + side
            a, b, own_sums = starts[k], starts[k + 1], sums[starts[k] + k : starts[k + 1] + k + 1]
            H, shift = work[side, : rows[side]], min(low[k], 1)
            if b > a:
                _spread(
                    H, shift, keys[a:b], margins[a:b], own_sums, base[i], side, maxima[side], work[2], out[first:last]
                )
    return out


@kernel
def table_marginals(
    ranks: Any, scores: Array, labels: Array, offsets: Array, base: Array, H_flat: Array, edges: Array
) -> Array:
    """Returns the max-marginals (total, 2) where H is known: segment k has ``H_flat[edges[k]:edges[k+1]]``; O(p).

    Each H begins at max(low - 1, 0) wrong decisions and ends at min(low + ranked + 1, size); a segment without
    decisions has one entry. The other arguments are as in :func:`quotient_marginals`.
    """
    keys, margins, sums, starts, low, floor = ranks
    work, out = np.empty(np.diff(starts).max() + 1), np.empty((len(labels), 2))
    maxima = np.zeros((2, 4))
    for i in range(len(base)):
        first, last = offsets[i], offsets[i + 1]
        for side in range(2):
            k = 2 * i + side
            if edges[k + 1] - edges[k] > 1:
                H, own_sums = H_flat[edges[k] : edges[k + 1]], sums[starts[k] + k : starts[k + 1] + k + 1]
                _find_maxima(H, min(low[k], 1), own_sums, maxima[side])
        if starts[2 * i + 2] - starts[2 * i] < last - first:
            _fill(scores[first:last], labels[first:last], floor, base[i], maxima, out[first:last])
        for side in range(2):
            k = 2 * i + side
            a, b, own_sums = starts[k], starts[k + 1], sums[starts[k] + k : starts[k + 1] + k + 1]
            H, shift = H_flat[edges[k] : edges[k + 1]], min(low[k], 1)
            if b > a:
                _spread(H, shift, keys[a:b], margins[a:b], own_sums, base[i], side, maxima[side], work, out[first:last])
    return out


@kernel
def _find_maxima(H: Array, shift: int, sums: Array, maxima: Array) -> None:
    """Writes the maxima over x of ``H(x) - S(x)``, ``H(x) - S(x + 1)``, ``H(x) - S(x - 1)``, and the x of the first.

    ``H[x + shift]`` is H(x) for x from ``-shift`` on, where x counts the wrong decisions among the n ranked ones: x =
    -1 means that one of those that are always wrong is right, x = n + 1 that one of those that are never wrong is
    wrong.
    """
    n = len(sums) - 1
    best, at, fewer, more = -np.inf, 0, -np.inf, -np.inf
    for x in range(n + 1):
        value = H[x + shift] - sums[x]
        if value > best:
            best, at = value, x
    # With a decision that is always wrong forced right, one more of the ranked ones is wrong for the same H.
    for x in range(-shift, n):
        fewer = _larger(fewer, H[x + shift] - sums[x + 1])
    # With a decision that is never wrong forced wrong, one fewer of them is.
    for x in range(1, len(H) - shift):
        more = _larger(more, H[x + shift] - sums[x - 1])
    maxima[0], maxima[1], maxima[2], maxima[3] = best, fewer, more, at


@kernel
def _fill(scores: Array, labels: Array, floor: float, base: float, maxima: Array, out: Array) -> None:
    """Writes the max-marginals of all decisions of a set as if none were ranked; O(p).

    The entry of each label is linear in the score, ``level + slope s``, of four kinds: by the true label, and by
    whether the decision is always or never wrong. There are no branches, for no processor could predict them; the
    entries of ranked decisions are overwritten later.
    """
    level, slope = np.empty((4, 2)), np.zeros((4, 2))
    for y in range(2):
        side, sign = 1 - y, 2.0 * y - 1.0
        best, fewer, more = base + maxima[side, 0], base + maxima[side, 1], base + maxima[side, 2]
        never, always = 2 * y, 2 * y + 1
        # The label that the decision has in a best labeling gets the best value itself.
        level[never, side], slope[never, side], level[never, y] = more, -sign, best
        level[always, side], level[always, y], slope[always, y] = best, fewer, sign
    for j in range(len(labels)):
        s = np.float64(scores[j])
        wrong = s * (2.0 * np.float64(labels[j]) - 1.0) <= floor
        kind = np.uint64(2) * np.uint64(labels[j]) + np.uint64(wrong)
        out[j, 0] = level[kind, 0] + slope[kind, 0] * s
        out[j, 1] = level[kind, 1] + slope[kind, 1] * s


@kernel
def _spread(
    H: Array, shift: int, keys: Array, margins: Array, sums: Array,
    base: float, side: int, maxima: Array, suffix: Array, out: Array,
) -> None:  # fmt: skip
    """Writes the max-marginals of the ranked decisions of one class of one set, positives (``side`` 0) or negatives.

    In the best labeling the first x* ranks are wrong and the others right, so one of the two entries is the best value
    for each decision, and the other takes one prefix and one suffix maximum. O(p)
    """
    n, best, n_wrong = len(margins), maxima[0], np.int64(maxima[3])
    same_suffix, fewer_suffix = -np.inf, -np.inf
    # Suffix maxima: of H(x) - S(x) over x > r for ranks that are right, of H(x) - S(x + 1) over x >= r for the others.
    for r in range(n - 1, n_wrong - 1, -1):
        same_suffix = _larger(same_suffix, H[r + 1 + shift] - sums[r + 1])
        fewer_suffix = _larger(fewer_suffix, H[r + shift] - sums[r + 1])
        suffix[r] = same_suffix
    for r in range(n_wrong - 1, -1, -1):
        fewer_suffix = _larger(fewer_suffix, H[r + shift] - sums[r + 1])
        suffix[r] = fewer_suffix

    # Prefix maxima: of H(x) - S(x) over x <= r, and of H(x) - S(x - 1) over 1 <= x <= r.
    same_prefix, more_prefix = -np.inf, -np.inf
    # The wrong label of a positive (side 0) is 0 and that of a negative (side 1) is 1, so it equals the side.
    for r in range(n_wrong):
        same_prefix = _larger(same_prefix, H[r + shift] - sums[r])
        if r > 0:
            more_prefix = _larger(more_prefix, H[r + shift] - sums[r - 1])
        j = np.int64((keys[r] & np.uint64(0xFFFFFFFF)) >> np.uint64(1))
        out[j, side] = base + best
        out[j, 1 - side] = base + _larger(same_prefix, suffix[r] + margins[r])
    for r in range(n_wrong, n):
        if r > 0:
            more_prefix = _larger(more_prefix, H[r + shift] - sums[r - 1])
        j = np.int64((keys[r] & np.uint64(0xFFFFFFFF)) >> np.uint64(1))
        out[j, side] = base + _larger(suffix[r], more_prefix - margins[r])
        out[j, 1 - side] = base + best


@kernel
def _larger(a: float, b: float) -> float:
    """Returns the maximum of two numbers that are never NaN, which is one instruction."""
    return a if a > b else b
