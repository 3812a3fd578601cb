"""Exactly k labels in each row of a matrix of probabilities in CSR, for the F1 of its columns."""

import numpy as np

from setwise.kernels.jit import Array, kernel


@kernel
def largest_of_rows(values: Array, offsets: Array, k: int) -> Array:
    """Returns the places of the ``k`` largest values of each row, (n, k) int64, the first of equal ones; O(m k)."""
    n = len(offsets) - 1
    out, best = np.empty((n, k), np.int64), np.empty(k, np.float64)
    for i in range(n):
        _largest(values, offsets[i], offsets[i + 1], k, best, out[i])
    return out


@kernel
def _largest(values: Array, a: int, b: int, k: int, best: Array, out: Array) -> None:
    """Writes the places of the ``k`` largest of ``values[a:b]`` to ``out``, in falling order."""
    many = 0
    for j in range(a, b):
        value = values[j]
        if many == k and not value > best[k - 1]:
            continue
        at = min(many, k - 1)
        while at > 0 and value > best[at - 1]:
            best[at], out[at] = best[at - 1], out[at - 1]
            at -= 1
        best[at], out[at] = value, j
        many = min(many + 1, k)


@kernel
def climb_macro_f1(
    values: Array, columns: Array, offsets: Array, positives: Array, chosen: Array, tp: Array, sizes: Array, rounds: int
) -> int:
    """Gives each row in turn the ``k`` labels of greatest macro F1 while the others stay; returns the number of rounds.

    ``values`` (m,) in CSR are probabilities, ``positives`` (p,) their sums. ``chosen`` (n, k) are the places that are
    predicted, ``tp`` and ``sizes`` (p,) the sums of their probabilities and their numbers; all three are changed. It
    ends after a round that changes nothing, or after ``rounds``. A round is O(m k).
    """
    n, k = chosen.shape
    widest = 0
    for i in range(n):
        widest = max(widest, offsets[i + 1] - offsets[i])
    gains, best, found = np.empty(widest, np.float64), np.empty(k, np.float64), np.empty(k, np.int64)
    for count in range(rounds):
        changed = False
        for i in range(n):
            a, b = offsets[i], offsets[i + 1]
            for j in chosen[i]:
                tp[columns[j]] -= values[j]
                sizes[columns[j]] -= 1.0
            for j in range(a, b):
                gains[j - a] = _gain(values[j], tp[columns[j]], sizes[columns[j]] + positives[columns[j]])
            _largest(gains, 0, b - a, k, best, found)
            before, after = 0.0, 0.0
            for q in range(k):
                before += gains[chosen[i, q] - a]
                after += gains[found[q]]
            # Rounding alone must not turn rows round for ever.
            if after > before + 1e-12 * max(abs(after), abs(before)):
                changed = True
                for q in range(k):
                    chosen[i, q] = a + found[q]
            for j in chosen[i]:
                tp[columns[j]] += values[j]
                sizes[columns[j]] += 1.0
        if not changed:
            return count + 1
    return rounds


@kernel
def _gain(value: float, tp: float, total: float) -> float:
    """Returns what one more prediction of probability ``value`` adds to the F1 ``2 tp / total`` of a column."""
    before = 2.0 * tp / total if total > 0.0 else 0.0
    return 2.0 * (tp + value) / (total + 1.0) - before
