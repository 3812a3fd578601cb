"""Numbers of positives among independent decisions: Poisson-binomial distributions, and expectations over two of them.

Expected quotients of counts are also bounded by means and variances.

A set has p decisions with probabilities that fall: the first k are predicted positive. ``tp`` counts the positives
among these, ``fn`` those among the others; both are Poisson-binomial, and independent.
"""

from typing import Any

import numpy as np

from setwise.kernels.jit import Array, kernel, plain_first, source


@kernel
def add_decision(pmf: Array, length: int, q: float) -> None:
    """Turns the distribution of a number, ``pmf[:length]``, into that with one more decision of probability q."""
    pmf[length] = pmf[length - 1] * q
    # Downwards, so that each entry is read before it is written.
    for s in range(length - 1, 0, -1):
        pmf[s] = pmf[s] * (1.0 - q) + pmf[s - 1] * q
    pmf[0] *= 1.0 - q


@kernel
def _without_tails(pmf: Array, low: int, high: int, tiny: float, lost: float) -> tuple[int, int, float]:
    """Returns the range of ``low..high`` without what is below ``tiny`` at its ends, and ``lost`` plus what that was.

    One number at least is kept.
    """
    while low < high and pmf[low] < tiny:
        lost += pmf[low]
        low += 1
    while high > low and pmf[high] < tiny:
        lost += pmf[high]
        high -= 1
    return low, high, lost


@kernel
def suffixes(q: Array, pmfs: Array) -> None:
    """Writes the distribution of the number of positives among ``q[k:]`` into ``pmfs[k]``, for k = 0..p; O(p^2)."""
    p = len(q)
    pmfs[p, 0] = 1.0
    for k in range(p - 1, -1, -1):
        for s in range(p - k):
            pmfs[k, s] = pmfs[k + 1, s]
        add_decision(pmfs[k], p - k, q[k])


@kernel
def expected_cell_sum(table: Array, start: int, top: Array, k: int, rest: Array, m: int) -> float:
    """Returns ``sum_(t, f) top[t] rest[f] table[start + t (m + 1) + f]`` over t = 0..k, f = 0..m."""
    total = 0.0
    for t in range(k + 1):
        if top[t] != 0.0:
            inner, row = 0.0, start + t * (m + 1)
            for f in range(m + 1):
                inner += rest[f] * table[row + f]
            total += top[t] * inner
    return total


def _with_decision(pmf: Array, q: float) -> Array:
    """:func:`add_decision` to a whole distribution, as a new one."""
    longer = np.append(pmf * (1.0 - q), pmf[-1] * q)
    longer[1:-1] += pmf[:-1] * q
    return longer


def _plain_cell_sum(table: Array, start: int, top: Array, rest: Array) -> float:
    """:func:`expected_cell_sum` over whole distributions."""
    rows = np.flatnonzero(top)
    if not len(rows):
        return 0.0
    cells = table[start : start + len(top) * len(rest)].reshape(len(top), len(rest))[rows]
    # A running sum adds one number after another, as the kernel does, which begins with 0.
    return float(np.cumsum(top[rows] * np.cumsum(rest * cells, axis=1)[:, -1])[-1] + 0.0)


def _plain_least_by_table(
    probabilities: Array, table: Array, starts: Array, low: int, high: int, sizes: Array, values: Array
) -> None:
    n, p = probabilities.shape
    if len(starts) != p + 1 or len(sizes) != n or len(values) != n:
        raise ValueError("there must be one start for each number predicted, and one size and value for each row")
    for i in range(n):
        rest = [np.ones(1)]
        for q in probabilities[i, ::-1].tolist():
            rest.append(_with_decision(rest[-1], q))
        top, values[i] = np.ones(1), np.inf
        for k in range(high + 1):
            if k >= low:
                value = _plain_cell_sum(table, int(starts[k]), top, rest[p - k])
                if value < values[i]:
                    values[i], sizes[i] = value, k
            if k < p:
                top = _with_decision(top, float(probabilities[i, k]))


@plain_first(_plain_least_by_table, large=1 << 14)
@kernel
def least_by_table(
    probabilities: Array, table: Array, starts: Array, low: int, high: int, sizes: Array, values: Array
) -> None:
    """Writes for each row the k in low..high of least expected loss, and this loss; O(p^3 / 6) for a row.

    ``probabilities`` (n, p) fall along each row. ``table[starts[k] + t (p - k + 1) + f]`` is the loss where k decisions
    are predicted, t of them are positive, and f others are.
    """
    n, p = probabilities.shape
    if len(starts) != p + 1 or len(sizes) != n or len(values) != n:
        raise ValueError("there must be one start for each number predicted, and one size and value for each row")
    rest, top = np.zeros((p + 1, p + 1)), np.zeros(p + 2)
    for i in range(n):
        q = probabilities[i]
        suffixes(q, rest)
        top[0] = 1.0
        values[i] = np.inf
        for k in range(high + 1):
            if k >= low:
                value = expected_cell_sum(table, starts[k], top, k, rest[k], p - k)
                if value < values[i]:
                    values[i], sizes[i] = value, k
            if k < p:
                add_decision(top, k + 1, q[k])


def _plain_expected_by_table(probabilities: Array, labels: Array, table: Array, starts: Array, values: Array) -> None:
    n, p = probabilities.shape
    if labels.shape[0] != n or labels.shape[1] != p or len(starts) != p + 1 or len(values) != n:
        raise ValueError("there must be one label for each probability, and one value for each row")
    for i in range(n):
        top, rest = np.ones(1), np.ones(1)
        for q, predicted in zip(probabilities[i].tolist(), labels[i].tolist(), strict=True):
            top, rest = (_with_decision(top, q), rest) if predicted else (top, _with_decision(rest, q))
        values[i] = _plain_cell_sum(table, int(starts[len(top) - 1]), top, rest)


@plain_first(_plain_expected_by_table, large=1 << 15)
@kernel
def expected_by_table(probabilities: Array, labels: Array, table: Array, starts: Array, values: Array) -> None:
    """Writes the expected loss of each row of ``labels`` (n, p); O(p^2) for a row. See :func:`least_by_table`."""
    n, p = probabilities.shape
    if labels.shape[0] != n or labels.shape[1] != p or len(starts) != p + 1 or len(values) != n:
        raise ValueError("there must be one label for each probability, and one value for each row")
    top, rest = np.zeros(p + 2), np.zeros(p + 2)
    for i in range(n):
        k, m = np.int64(0), np.int64(0)
        top[0], rest[0] = 1.0, 1.0
        for j in range(p):
            if labels[i, j]:
                add_decision(top, k + 1, probabilities[i, j])
                k += 1
            else:
                add_decision(rest, m + 1, probabilities[i, j])
                m += 1
        values[i] = expected_cell_sum(table, starts[k], top, k, rest, m)


def _plain_prefixes(q: Array, tiny: float) -> tuple[Array, Array, Array, Array]:
    p, parts = len(q), [np.ones(1)]
    starts, lows, lost = np.zeros(p + 2, np.int64), np.zeros(p + 1, np.int64), np.zeros(p + 1)
    starts[1] = 1
    for k, x in enumerate(q.tolist()):
        pmf = _with_decision(parts[-1], x)
        low, high, dropped = source(_without_tails)(pmf, 0, len(pmf) - 1, tiny, lost[k])
        parts.append(pmf[low : high + 1])
        lows[k + 1], starts[k + 2], lost[k + 1] = lows[k] + low, starts[k + 1] + high - low + 1, dropped
    return np.concatenate(parts), starts, lows, lost


@plain_first(_plain_prefixes)
@kernel
def prefixes(q: Array, tiny: float) -> Any:
    """Returns the distributions of the number of positives among ``q[:k]`` for k = 0..p, without their tails.

    Number s of prefix k has the probability ``data[starts[k] + s - lows[k]]`` for ``starts[k] <= . < starts[k + 1]``.
    Probabilities below ``tiny`` at the ends are dropped; ``lost[k]`` is the mass dropped so far. O(p sqrt(p)).
    """
    p = len(q)
    data = np.empty(max(64, 8 * p))
    starts, lows, lost = np.zeros(p + 2, np.int64), np.zeros(p + 1, np.int64), np.zeros(p + 1)
    data[0], starts[1] = 1.0, 1
    for k in range(p):
        a, b = starts[k], starts[k + 1]
        width = b - a
        if b + width + 1 > len(data):
            larger = np.empty(2 * len(data) + width + 1)
            larger[:b] = data[:b]
            data = larger
        x = q[k]
        data[b] = data[a] * (1.0 - x)
        for s in range(1, width):
            data[b + s] = data[a + s] * (1.0 - x) + data[a + s - 1] * x
        data[b + width] = data[b - 1] * x
        # Both ends are cut; what is left of the front is moved to the place where it begins.
        low, high, dropped = _without_tails(data[b:], np.int64(0), width, tiny, lost[k])
        if low > 0:
            for s in range(high - low + 1):
                data[b + s] = data[b + low + s]
        lows[k + 1], starts[k + 2], lost[k + 1] = lows[k] + low, b + high - low + 1, dropped
    return data[: starts[p + 1]], starts, lows, lost


def _plain_count(q: Array, tiny: float) -> tuple[int, Array, float]:
    pmf, low, high, lost = np.zeros(len(q) + 2), 0, 0, 0.0
    pmf[0] = 1.0
    for x in q.tolist():
        # The right side is read before the left side is written.
        pmf[low + 1 : high + 2] = np.append(pmf[low + 1 : high + 1] * (1.0 - x), -0.0) + pmf[low : high + 1] * x
        pmf[low] *= 1.0 - x
        end = high + 1
        low, high, lost = source(_without_tails)(pmf, low, end, tiny, lost)
        # What is beyond the end counts as 0.
        pmf[high + 1 : end + 1] = 0.0
    return low, pmf[low : high + 1].copy(), lost


@plain_first(_plain_count)
@kernel
def count(q: Array, tiny: float) -> Any:
    """Returns ``(low, pmf, lost)``: s positives have the probability ``pmf[s - low]``; see :func:`prefixes`."""
    p = len(q)
    pmf = np.zeros(p + 2)
    pmf[0] = 1.0
    low, high, lost = 0, 0, 0.0
    for k in range(p):
        x = q[k]
        pmf[high + 1] = pmf[high] * x
        for s in range(high, low, -1):
            pmf[s] = pmf[s] * (1.0 - x) + pmf[s - 1] * x
        pmf[low] *= 1.0 - x
        low, high, lost = _without_tails(pmf, low, high + 1, tiny, lost)
    return low, pmf[low : high + 1].copy(), lost


def _plain_count_by_pairs(q: Array, leaf: int, tiny: float) -> tuple[int, Array]:
    stack: list[tuple[int, Array, int]] = []
    start = 0
    while start < len(q) or len(stack) > 1:
        if len(stack) > 1 and (start >= len(q) or stack[-1][2] == stack[-2][2]):
            (low, left, rank), (more, right, _) = stack[-2], stack[-1]
            out = np.zeros(len(left) + len(right) - 1)
            for i, x in enumerate(left.tolist()):
                out[i : i + len(right)] += x * right
            kept = np.flatnonzero(~(out < tiny))
            first, last = (kept[0], kept[-1]) if len(kept) else (len(out) - 1, len(out) - 1)
            stack[-2:] = [(low + more + int(first), out[first : last + 1], rank + 1)]
        else:
            stack.append((*_plain_count(q[start : start + leaf], tiny)[:2], 0))
            start += leaf
    return stack[0][:2] if stack else (0, np.ones(1))


@plain_first(_plain_count_by_pairs, patience=1.0)
@kernel
def count_by_pairs(q: Array, leaf: int, tiny: float) -> Any:
    """Returns ``(low, pmf)``, as :func:`count` of ``leaf`` decisions at a time, whose counts are added up in pairs.

    About O(p log p) for counts that are near their means; probabilities below ``tiny`` are dropped at both ends.
    """
    p, depth = len(q), 2
    while leaf << depth < p:
        depth += 1
    # A stack of counts, each of at least twice as many decisions as the one above it, but for the last two.
    data, out = np.empty((depth + 2, p + 2)), np.empty(p + 2)
    lows, widths, ranks = np.zeros(depth + 2, np.int64), np.zeros(depth + 2, np.int64), np.zeros(depth + 2, np.int64)
    top, start = 0, 0
    while start < p or top > 1:
        if top > 1 and (start >= p or ranks[top - 1] == ranks[top - 2]):
            a, b = top - 2, top - 1
            out[: widths[a] + widths[b] - 1] = 0.0
            for i in range(widths[a]):
                x = data[a, i]
                for j in range(widths[b]):
                    out[i + j] += x * data[b, j]
            low, high, _ = _without_tails(out, np.int64(0), widths[a] + widths[b] - 2, tiny, 0.0)
            for s in range(high - low + 1):
                data[a, s] = out[low + s]
            lows[a] += lows[b] + low
            widths[a] = high - low + 1
            ranks[a] += 1
            top -= 1
        else:
            low, pmf, _ = count(q[start : start + leaf], tiny)
            for s in range(len(pmf)):
                data[top, s] = pmf[s]
            lows[top], widths[top], ranks[top] = low, len(pmf), 0
            top += 1
            start += leaf
    if top == 0:
        return 0, np.ones(1)
    return lows[0], data[0, : widths[0]].copy()


def _plain_joint_sums(q: Array, first: int, last: int, pmf: Array, sums: Array, out: Array) -> None:
    x = q[first:last]
    small = x <= 0.5
    low, high = x[small], x[~small]
    before, after = np.zeros(len(low)), np.zeros(len(high))
    terms = np.empty((len(pmf), last - first + 1))
    terms[:, 0] = sums
    rows, others = np.flatnonzero(small) + 1, np.flatnonzero(~small) + 1
    for s in range(len(pmf)):
        step = low * before
        terms[s, rows] = step
        before = np.maximum((pmf[s] - step) / (1.0 - low), 0.0)
    for s in range(len(pmf) - 1, -1, -1):
        after = np.maximum((pmf[s] - (1.0 - high) * after) / high, 0.0)
        terms[s, others] = high * after
    np.cumsum(terms, axis=1, out=terms)
    out[: last - first], sums[:] = terms[:, 1:].T, terms[:, -1]


@plain_first(_plain_joint_sums, patience=1.0)
@kernel
def joint_sums(q: Array, first: int, last: int, pmf: Array, sums: Array, out: Array) -> None:
    """Adds ``Pr(y_i = 1, P = s)`` of the decisions i = first..last-1 up, and writes each sum as a row of ``out``.

    ``pmf`` holds the probabilities of the number P of positives among all ``q``. ``sums`` has the sum
    over i < first when it comes in, that over i < last when it goes out. O(len(pmf)) for a decision.

    The distribution of the others' positives follows from that of all: ``pmf_s = (1 - q_i) r_s + q_i r_(s-1)``. It is
    solved from the end at which errors do not grow.
    """
    width = len(pmf)
    for i in range(first, last):
        x = q[i]
        if x <= 0.5:
            before = 0.0
            for s in range(width):
                sums[s] += x * before
                # Rounding may leave a probability below 0, which all that follow would inherit.
                before = max((pmf[s] - x * before) / (1.0 - x), 0.0)
        else:
            after = 0.0
            for s in range(width - 1, -1, -1):
                after = max((pmf[s] - (1.0 - x) * after) / x, 0.0)
                sums[s] += x * after
        for s in range(width):
            out[i - first, s] = sums[s]


@kernel
def expected_quotient(
    size: float, hit: float, spread: float, miss: float, rest: float, top: Array, bottom: Array
) -> Any:
    """Returns nearly ``E[A / D]`` for ``size`` predicted decisions; see :func:`bounds_by_moments`.

    tp has the mean ``hit`` and the variance ``spread``, fn has ``miss`` and ``rest``. With A and D linear in tp and fn,
    and D = d0 where both are 0,

        A / D = a0 / d0 + (a1 - d1 a0 / d0) tp / D + (a2 - d2 a0 / d0) fn / D.

    ``E[tp / D]`` is the sum of the ``q_i E[1 / D | y_i = 1]``, and of the last factor the mean over i is taken, by the
    mean m and the variance of D, as ``1 / m + Var / m^3``. So it is good for few expected positives too.
    """
    # With P = tp + fn and fp = size - tp.
    a0, d0 = top[0] + top[3] * size, bottom[0] + bottom[3] * size
    a1, a2 = top[1] - top[3], top[1] + top[2]
    d1, d2 = bottom[1] - bottom[3], bottom[1] + bottom[2]
    mean, var = d0 + d1 * hit + d2 * miss, d1 * d1 * spread + d2 * d2 * rest
    if d0 <= 0.0:
        # Without a constant both means are relative to that of D.
        if mean <= 0.0:
            return 0.0
        a = a0 + a1 * hit + a2 * miss
        return (a + (a * var / mean - (a1 * d1 * spread + a2 * d2 * rest)) / mean) / mean
    # The mean over the positives of the chance that a decision is one.
    q1 = 1.0 - spread / hit if hit > 0.0 else 0.0
    q2 = 1.0 - rest / miss if miss > 0.0 else 0.0
    m1, m2 = mean + d1 * (1.0 - q1), mean + d2 * (1.0 - q2)
    # A difference of nearly equal variances may come out below 0.
    v1, v2 = max(var - d1 * d1 * q1 * (1.0 - q1), 0.0), max(var - d2 * d2 * q2 * (1.0 - q2), 0.0)
    found = a0 / d0
    # It is divided twice by a mean, because the square of a tiny one would be 0.
    if m1 > 0.0:
        found += (a1 - d1 * a0 / d0) * hit * (1.0 + v1 / m1 / m1) / m1
    if m2 > 0.0:
        found += (a2 - d2 * a0 / d0) * miss * (1.0 + v2 / m2 / m2) / m2
    return found


@kernel
def bounds_by_moments(
    q: Array,
    top: Array,
    bottom: Array,
    none: float,
    without: Array,
    largest: float,
    rounding: float,
    lower: Array,
    upper: Array,
    guess: Array,
) -> None:
    """Writes bounds of the expected losses of predicting the first k = 0..p, and guesses between them, (p + 1,); O(p).

    The loss is ``A / D``, linear functions of 1, P, fn and fp with the coefficients ``top`` and ``bottom`` (4,). With m
    the mean of D,

        0 <= E[A / D] - (E[A] / m - Cov(A, D) / m^2) <= largest Var(D) / m^2.

    With the probability ``none`` nothing is positive, and then the loss is ``without`` (p + 1,).
    """
    p = len(q)
    if len(without) != p + 1 or len(lower) != p + 1 or len(upper) != p + 1 or len(guess) != p + 1:
        raise ValueError("there must be one number for each k")
    total, variance = 0.0, 0.0
    for i in range(p):
        total += q[i]
        variance += q[i] * (1.0 - q[i])
    tp, spread = 0.0, 0.0
    # With P = tp + fn and fp = k - tp.
    a1, a2 = top[1] - top[3], top[1] + top[2]
    d1, d2 = bottom[1] - bottom[3], bottom[1] + bottom[2]
    for k in range(p + 1):
        if k > 0:
            tp += q[k - 1]
            spread += q[k - 1] * (1.0 - q[k - 1])
        a0, d0 = top[0] + top[3] * k, bottom[0] + bottom[3] * k
        # The two sums are rounded on different ways, so their difference may lie below 0.
        fn, rest = max(total - tp, 0.0), max(variance - spread, 0.0)
        a, m = a0 + a1 * tp + a2 * fn, d0 + d1 * tp + d2 * fn
        m = m if m > 0.0 else 1.0
        at_zero = a0 / (d0 if d0 > 0.0 else 1.0)
        # Where nothing is predicted and nothing is positive, the quotient may be 0/0, and the loss is 0 or more.
        shift = none * (without[k] - max(at_zero, 0.0)) if k > 0 else -none * max(0.0, at_zero)
        low = a / m - (a1 * d1 * spread / m + a2 * d2 * rest / m) / m + shift
        share = (d1 * d1 * spread / m + d2 * d2 * rest / m) / m
        high = low + largest * share + max(-shift, 0.0)
        near = expected_quotient(k, tp, spread, fn, rest, top, bottom) + shift
        # Tiny means have variances relative to their squares that leave float64: then the bounds say nothing.
        lower[k] = max(low - rounding, 0.0) if np.isfinite(low) else 0.0
        upper[k] = min(high + rounding, largest) if np.isfinite(high) else largest
        guess[k] = max(min(near, upper[k]), lower[k]) if np.isfinite(near) else lower[k]
