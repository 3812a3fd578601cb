"""Counts of mistakes, and losses that are a quotient of two linear functions of them: gains, and maxima by rows.

Row maxima are of ``f(x, y) - sums[y]`` for quotients f of two linear functions of the counts: Jaccard, F_beta, Tversky.

Coefficients come as ``c = (t0, tx, ty, b0, bx, by, origin)``, meaning ``(t0 + tx x + ty y) / (b0 + bx x + by y)``, with
``origin`` the value at (0, 0), where the formula may be 0/0. Swap x and y to get column maxima. Margins are positive.

Two facts make it fast. In a row (x fixed) one mistake more, from y to y + 1, gains ``E / (D (D + by))``, where D is the
denominator and ``E = ty (b0 + bx x) - by (t0 + tx x)`` is the same for all y. The row is concave where ``E by >= 0``,
and then its best y is the number of mistakes that pay, that is, gain more than their margin. A mistake pays where
``E > margin D (D + by)``: a quadratic inequality in x, true in one interval of rows.

Where rows are not concave the mixed differences help. They have the sign of ``2 bx by T - (tx by + bx ty) D``, where T
is the numerator; that is a linear function of (x, y). On a rectangle where its sign does not change, the best y moves
one way with x (Monge), and divide and conquer finds it.
"""

from typing import Any

import numpy as np

from setwise.kernels.jit import Array, interpreted_first, kernel, plain_first, source


@kernel
def running_counts(labels: Array, offsets: Array) -> tuple[Array, Array]:
    """Returns the numbers (fn, fp) of mistakes up to each one of every order, (m,) float64 each; O(m).

    ``labels`` (m,) are the true labels in that order.
    """
    m = len(labels)
    fn, fp = np.empty(m, np.float64), np.empty(m, np.float64)
    for i in range(len(offsets) - 1):
        misses, alarms = 0, 0
        for j in range(offsets[i], offsets[i + 1]):
            if labels[j]:
                misses += 1
            else:
                alarms += 1
            fn[j], fp[j] = misses, alarms
    return fn, fp


@kernel
def quotient_gains(labels: Array, offsets: Array, top: Array, bottom: Array, origin: Array) -> Array:
    """Returns the gains of ``(t0 + t1 fn + t2 fp) / (b0 + b1 fn + b2 fp)`` along each order, (m,) float64; O(m).

    ``top`` and ``bottom`` have shape (n, 3), one row of coefficients for each set. Where N/D is the quotient, a mistake
    that adds t to N and b to D gains ``(t D - b N) / (D (D + b))``, which is no difference of nearly equal numbers. The
    denominator may vanish where no mistake is made; the value of the quotient there is ``origin`` (n,).
    """
    out = np.empty(len(labels), np.float64)
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        _quotient_set(labels[a:b], top[i], bottom[i], origin[i], out[a:b])
    return out


@kernel
def _quotient_set(labels: Array, top: Array, bottom: Array, origin: float, out: Array) -> None:
    misses = 0
    # The running count has a loop of its own, so that the gains need no state from mistake to mistake.
    for j in range(len(out)):
        out[j] = misses
        misses += labels[j]
    consecutive_gains(np.int64(0), top, bottom, origin, labels, out)


@kernel
def consecutive_gains(before: int, top: Array, bottom: Array, origin: float, labels: Array, out: Array) -> None:
    """Writes the gains of consecutive mistakes, the first of which comes after ``before`` others; O(len(out)).

    On entry ``out`` holds the number of false negatives before each mistake. There are no branches, so the loop
    compiles to vector instructions.
    """
    t0, t1, t2 = top[0], top[1], top[2]
    b0, b1, b2 = bottom[0], bottom[1], bottom[2]
    for j in range(len(out)):
        fn, miss = out[j], np.float64(labels[j])
        fp = np.float64(before + j) - fn
        # What the mistake adds to numerator and denominator; the label chooses by arithmetic, not by a branch.
        t, b = t2 + miss * (t1 - t2), b2 + miss * (b1 - b2)
        n, d = t0 + t1 * fn + t2 * fp, b0 + b1 * fn + b2 * fp
        out[j] = (t * d - b * n) / (d * (d + b))
    # At the origin the formula may be 0/0: the first gain is the first value less the one that the loss defines there.
    if before == 0 and len(out) and b0 == 0.0:
        out[0] = ((t0 + t1) / (b0 + b1) if labels[0] else (t0 + t2) / (b0 + b2)) - origin


PATCH = 8
"""Rectangles on which the mixed differences change sign are searched whole where a side is shorter than this."""


@kernel
def coefficients(top: Array, bottom: Array, origin: float, swap: bool) -> Any:
    """Returns the tuple ``c`` with x = fn and y = fp, or the other way round with ``swap``."""
    if swap:
        return top[0], top[2], top[1], bottom[0], bottom[2], bottom[1], origin
    return top[0], top[1], top[2], bottom[0], bottom[1], bottom[2], origin


@kernel
def row_maxima(c: Any, x0: int, rows: int, y0: int, margins: Array, sums: Array, best: Array, where: Array) -> None:
    """Writes ``best[r] = max_y f(x0 + r, y0 + y) - sums[y]`` over y = 0..len(margins), and its y, for r < rows.

    ``where[r]`` is the y at which the maximum is reached; the array has room for rows + 1. ``margins`` ascend, and
    ``sums`` are their prefix sums (one longer). O(rows + len(margins)) where rows are concave, times a logarithm or its
    square elsewhere.
    """
    # E by is linear in x, so all rows are concave where the first and the last are.
    if _concave(c, x0) and _concave(c, x0 + rows - 1):
        _count_paying(c, x0, rows, y0, margins, where)
        for r in range(rows):
            best[r] = _value(c, float(x0 + r), float(y0 + where[r])) - sums[where[r]]
        # Where the denominator vanishes at the origin, the first row is concave from y = 1 on.
        if x0 == 0 and y0 == 0 and c[3] == 0.0 and c[6] - sums[0] >= best[0]:
            best[0], where[0] = c[6] - sums[0], 0
    else:
        _divide(c, x0, rows, y0, sums, best, where)


@kernel
def _concave(c: Any, x: float) -> bool:
    """Whether row x is concave, up to the rounding of a gain that is 0."""
    t0, tx, ty, b0, bx, by, _ = c
    rise_top, rise_bottom = ty * (b0 + bx * x), by * (t0 + tx * x)
    return bool(by * (rise_top - rise_bottom) >= -1e-12 * abs(by) * (abs(rise_top) + abs(rise_bottom)))


@kernel
def _value(c: Any, x: float, y: float) -> Any:
    """Returns f(x, y), which is ``origin`` at (0, 0)."""
    t0, tx, ty, b0, bx, by, origin = c
    return (t0 + tx * x + ty * y) / (b0 + bx * x + by * y) if x + y > 0.0 else origin


@kernel
def _count_paying(c: Any, x0: int, rows: int, y0: int, margins: Array, where: Array) -> None:
    """Writes to ``where[r]`` how many mistakes pay in row ``x0 + r``, for concave rows; O(rows + len(margins))."""
    t0, tx, ty, b0, bx, by, _ = c
    e0, e1 = ty * b0 - by * t0, ty * bx - by * tx
    where[: rows + 1] = 0
    for y in range(len(margins)):
        margin, D = margins[y], b0 + by * (y0 + y)
        if by == 0.0:
            # D does not depend on y here, and E = ty D, so one D cancels: the inequality is linear.
            first, last = _positive(0.0, -margin * bx, ty - margin * D)
        else:
            first, last = _positive(-margin * bx * bx, e1 - margin * bx * (2.0 * D + by), e0 - margin * D * (D + by))
        # The whole numbers inside the open interval are rows where the mistake pays: mark where they begin and end.
        low = max(np.floor(first) + 1.0, float(x0))
        high = min(np.ceil(last) - 1.0, float(x0 + rows - 1))
        if low <= high:
            where[int(low) - x0] += 1
            where[int(high) - x0 + 1] -= 1
    # Running sums of the marks are the counts. Where the denominator vanishes at the origin, the gain of the first
    # mistake there is not finite: its marks leave out that row, in which it does pay.
    paying = 1 if x0 == 0 and y0 == 0 and b0 == 0.0 and len(margins) > 0 else 0
    skipped = paying
    for r in range(rows):
        paying += where[r]
        where[r] = paying
        paying -= skipped
        skipped = 0


@kernel
def _positive(a: float, b: float, c: float) -> tuple[float, float]:
    """Returns the open interval in which ``a x^2 + b x + c > 0``, for a <= 0; (0, 0) where it is empty."""
    if a == 0.0:
        if b == 0.0:
            return (-np.inf, np.inf) if c > 0.0 else (0.0, 0.0)
        return (-np.inf, -c / b) if b < 0.0 else (-c / b, np.inf)
    # Both roots from the one that is no difference of nearly equal numbers.
    square = b * b - 4.0 * a * c
    q = -0.5 * (b + np.copysign(np.sqrt(max(square, 0.0)), b))
    if not square > 0.0 or q == 0.0:
        return 0.0, 0.0
    return min(q / a, c / q), max(q / a, c / q)


@kernel
def _divide(c: Any, x0: int, rows: int, y0: int, sums: Array, best: Array, where: Array) -> None:
    """Finds the row maxima by cutting the table into rectangles on which the mixed differences have one sign.

    The sign changes along one line only, so few rectangles have to be cut again.
    """
    best[:rows] = -np.inf
    parts = [(0, rows - 1, 0, len(sums) - 1)]
    while len(parts) > 0:
        xa, xb, ya, yb = parts.pop()
        low, high = _sign_range(c, x0 + xa, x0 + xb, y0 + ya, y0 + yb)
        if high <= 0.0 or low >= 0.0:
            # One sign: the best y falls with x where the differences are <= 0, else it rises.
            _conquer(c, x0, xa, xb, y0, ya, yb, high <= 0.0, sums, best, where)
        elif xb - xa < PATCH or yb - ya < PATCH:
            for x in range(xa, xb + 1):
                _improve(c, x0, x, y0, ya, yb, sums, best, where)
        else:
            xm, ym = (xa + xb) // 2, (ya + yb) // 2
            parts.append((xa, xm, ya, ym))
            parts.append((xm + 1, xb, ya, ym))
            parts.append((xa, xm, ym + 1, yb))
            parts.append((xm + 1, xb, ym + 1, yb))


@kernel
def _sign_range(c: Any, xa: float, xb: float, ya: float, yb: float) -> tuple[float, float]:
    """Returns the range on a rectangle of the linear function that has the sign of the mixed differences."""
    t0, tx, ty, b0, bx, by, _ = c
    f, g = 2.0 * bx * by, tx * by + bx * ty
    k0, kx, ky = f * t0 - g * b0, f * tx - g * bx, f * ty - g * by
    # A linear function has its extremes at corners.
    low = k0 + min(kx * xa, kx * xb) + min(ky * ya, ky * yb)
    high = k0 + max(kx * xa, kx * xb) + max(ky * ya, ky * yb)
    return low, high


@kernel
def _conquer(
    c: Any, x0: int, xa: int, xb: int, y0: int, ya: int, yb: int, falls: bool, sums: Array, best: Array, where: Array
) -> None:
    """Finds the row maxima of a rectangle on which the best y moves one way with x; O((rows + columns) log rows).

    Rows are visited in the order of a binary tree: the best y of a row lies between those of its two neighbors that
    were visited before.
    """
    n = xb - xa + 1
    found = np.empty(n, np.int64)
    stride = 1
    while 2 * stride <= n:
        stride *= 2
    while stride > 0:
        for k in range(stride - 1, n, 2 * stride):
            left = found[k - stride] if k >= stride else (yb if falls else ya)
            right = found[k + stride] if k + stride < n else (ya if falls else yb)
            found[k] = _improve(c, x0, xa + k, y0, min(left, right), max(left, right), sums, best, where)
        stride //= 2


@kernel
def _improve(c: Any, x0: int, x: int, y0: int, ya: int, yb: int, sums: Array, best: Array, where: Array) -> int:
    """Returns the best y in ya..yb of row x, and notes it if it is better than what is known of the row."""
    top, at = -np.inf, ya
    for y in range(ya, yb + 1):
        value = _value(c, float(x0 + x), float(y0 + y)) - sums[y]
        # Of equal values the one with fewest mistakes is kept.
        if value > top:
            top, at = value, y
    if top > best[x]:
        best[x], where[x] = top, at
    return at


def _plain_quotient_argmax(
    margins: Array, sums: Array, starts: Array, low: Array, top: Array, bottom: Array, origin: Array
) -> tuple[Array, Array]:
    longest = int(np.diff(starts)[::2].max()) + 1
    best, where = np.empty(longest), np.empty(longest + 1, np.int32)
    fn, fp = np.zeros(len(origin), np.int64), np.zeros(len(origin), np.int64)
    for i in range(len(origin)):
        first, middle, last = starts[2 * i : 2 * i + 3].tolist()
        c = tuple(float(x) for x in source(coefficients)(top[i], bottom[i], origin[i], False))
        rows, x0, y0 = middle - first + 1, int(low[2 * i]), int(low[2 * i + 1])
        sums_fp = sums[middle + 2 * i + 1 : last + 2 * i + 2]
        if not (source(_concave)(c, x0) and source(_concave)(c, x0 + rows - 1)):
            row_maxima(c, x0, rows, y0, margins[middle:last], sums_fp, best, where)
        else:
            paying = _plain_count_paying(c, x0, rows, y0, margins[middle:last])
            x, y = np.arange(x0, x0 + rows, dtype=np.float64), (y0 + paying).astype(np.float64)
            t0, tx, ty, b0, bx, by, origin_i = c
            value = np.where(x + y > 0.0, (t0 + tx * x + ty * y) / (b0 + bx * x + by * y), origin_i)
            best[:rows], where[:rows] = value - sums_fp[paying], paying
            if x0 == 0 and y0 == 0 and b0 == 0.0 and origin_i - sums_fp[0] >= best[0]:
                best[0], where[0] = origin_i - sums_fp[0], 0
        values = best[:rows] - sums[first + 2 * i : first + 2 * i + rows]
        fn[i] = np.where(values > -np.inf, values, -np.inf).argmax()
        fp[i] = where[fn[i]]
    return fn, fp


def _plain_count_paying(c: Any, x0: int, rows: int, y0: int, margins: Array) -> Array:
    """The counts (rows,) that :func:`_count_paying` writes."""
    t0, tx, ty, b0, bx, by, _ = c
    e0, e1, margins = ty * b0 - by * t0, ty * bx - by * tx, margins.astype(np.float64)
    D = b0 + by * (y0 + np.arange(len(margins)))
    if by == 0.0:
        first, last = _plain_positive(np.zeros(len(D)), -margins * bx, ty - margins * D)
    else:
        line = e1 - margins * bx * (2.0 * D + by)
        first, last = _plain_positive(-margins * bx * bx, line, e0 - margins * D * (D + by))
    low, high = np.maximum(np.floor(first) + 1.0, x0), np.minimum(np.ceil(last) - 1.0, x0 + rows - 1)
    some = low <= high
    marks = np.bincount(low[some].astype(np.int64) - x0, minlength=rows + 1)
    marks -= np.bincount(high[some].astype(np.int64) - x0 + 1, minlength=rows + 1)
    paying: Array = np.cumsum(marks[:rows])
    if x0 == 0 and y0 == 0 and b0 == 0.0 and len(margins) > 0:
        paying[0] += 1
    return paying


def _plain_positive(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The intervals of :func:`_positive`, (m,) each."""
    square = b * b - 4.0 * a * c
    q = -0.5 * (b + np.copysign(np.sqrt(np.maximum(square, 0.0)), b))
    none = ~(square > 0.0) | (q == 0.0)
    one, other = q / a, c / q
    first, last = np.where(none, 0.0, np.minimum(one, other)), np.where(none, 0.0, np.maximum(one, other))
    line, flat = a == 0.0, (a == 0.0) & (b == 0.0)
    root = -c / b
    first = np.where(line, np.where(b < 0.0, -np.inf, root), first)
    last = np.where(line, np.where(b < 0.0, root, np.inf), last)
    first = np.where(flat, np.where(c > 0.0, -np.inf, 0.0), first)
    return first, np.where(flat, np.where(c > 0.0, np.inf, 0.0), last)


@plain_first(_plain_quotient_argmax, patience=1.0, large=1 << 13, counted=6)
@kernel
def quotient_argmax(
    margins: Array, sums: Array, starts: Array, low: Array, top: Array, bottom: Array, origin: Array
) -> tuple[Array, Array]:
    """Returns the best numbers of wrong decisions among the ranked positives and the ranked negatives of every set.

    The result is two (n,) int64 arrays. The arguments are those of :mod:`setwise.kernels.rankings`; O(p) where rows are
    concave.
    """
    longest = np.int64(1)
    for i in range(len(origin)):
        longest = max(longest, starts[2 * i + 1] - starts[2 * i] + 1)
    best, where = np.empty(longest), np.empty(longest + 1, np.int32)
    fn, fp = np.zeros(len(origin), np.int64), np.zeros(len(origin), np.int64)
    for i in range(len(origin)):
        first, middle, last = starts[2 * i], starts[2 * i + 1], starts[2 * i + 2]
        c = coefficients(top[i], bottom[i], origin[i], False)
        sums_fp = sums[middle + 2 * i + 1 : last + 2 * i + 2]
        row_maxima(c, low[2 * i], middle - first + 1, low[2 * i + 1], margins[middle:last], sums_fp, best, where)
        # The row maxima leave out what the false negatives of the row cost in score.
        top_value, at = -np.inf, 0
        for r in range(middle - first + 1):
            value = best[r] - sums[first + 2 * i + r]
            if value > top_value:
                top_value, at = value, r
        fn[i], fp[i] = at, where[at]
    return fn, fp


@interpreted_first
@kernel
def gain_caps(top: Array, bottom: Array, P: Array, N: Array) -> Array:
    """Returns upper bounds (2n,) on the gain of one more false negative (even places) or false positive (odd places).

    A decision whose margin is not below its cap need not be a mistake in a best labeling. A cap is infinite where
    nothing is known.
    """
    caps = np.empty(2 * len(P))
    for i in range(len(P)):
        for x in range(1, 3):
            t, b, y = top[i], bottom[i], 3 - x
            own, other = (N[i], P[i]) if x == 2 else (P[i], N[i])
            # The gain is (a + rise y) / (D (D + b_x)); D is least where the own count is 0 or full.
            u0 = b[0] + min(0.0, b[x] * own)
            a, rise = t[x] * b[0] - b[x] * t[0], t[x] * b[y] - b[x] * t[y]
            caps[2 * i + x - 1] = _largest_quotient(a, rise, other, u0, b[y], abs(b[x]))
    return caps


@interpreted_first
@kernel
def _largest_quotient(a: float, b: float, length: float, u0: float, slope: float, width: float) -> float:
    """Returns an upper bound of ``(a + b y) / (u (u + step))`` with ``u = u0 + slope y``, over y in [0, length].

    With u as the variable the numerator is ``A + B u``. For A >= 0 both ``A / (u (u + step))`` and ``B / (u + step)``
    peak at the least u; for A < 0 the peak of ``(A + B u) / u^2`` is at ``u = -2 A / B``, or at the end nearest to it.
    """
    least, most = min(u0, u0 + slope * length), max(u0, u0 + slope * length)
    # A denominator that may reach 0 bounds nothing; the test holds for NaN too.
    if not least > 0.0:
        return float(np.inf)
    B = b / slope if slope != 0.0 else 0.0
    A = a - B * u0 if slope != 0.0 else max(a, a + b * length)
    if A >= 0.0:
        return max(A, 0.0) / (least * (least + width)) + max(B, 0.0) / (least + width)
    if B <= 0.0:
        return 0.0
    peak = min(max(-2.0 * A / B, least), most)
    return max(A + B * peak, 0.0) / peak**2
