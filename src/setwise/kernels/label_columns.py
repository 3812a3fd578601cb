"""Columns of a label matrix whose decisions lie in falling order of their scores, in segments.

A decision of row -1 stands for all rows of its column that are not stored; they are negative and have the score 0.
"""

import numpy as np

from setwise.kernels.jit import Array, kernel

SAME = 1e-12
"""Values that differ by less, relative to the least one, are taken for equal: it is rounding."""


@kernel
def merged_columns(
    label_rows: Array, label_offsets: Array, score_rows: Array, score_offsets: Array, values: Array, n: int
) -> tuple[Array, Array, Array, Array]:
    """Returns the rows, labels and scores (m,) and the offsets (p+1,) of the columns of two sorted CSC matrices; O(m).

    A column has the decisions that are stored in one of them, and last one of row -1 if it has fewer than ``n``.
    """
    p = len(label_offsets) - 1
    size = len(label_rows) + len(score_rows) + p
    rows, labels, scores = np.empty(size, np.int32), np.empty(size, np.bool_), np.empty(size, values.dtype)
    offsets, m = np.zeros(p + 1, np.int64), 0
    for c in range(p):
        i, j = label_offsets[c], score_offsets[c]
        while i < label_offsets[c + 1] or j < score_offsets[c + 1]:
            label = n if i == label_offsets[c + 1] else label_rows[i]
            score = n if j == score_offsets[c + 1] else score_rows[j]
            rows[m], labels[m] = min(label, score), label <= score
            scores[m] = values[j] if score <= label else 0.0
            i += label <= score
            j += score <= label
            m += 1
        if m - offsets[c] < n:
            rows[m], labels[m], scores[m] = -1, False, 0.0
            m += 1
        offsets[c + 1] = m
    return rows[:m].copy(), labels[:m].copy(), scores[:m].copy(), offsets


@kernel
def column_weights(rows: Array, offsets: Array, weights: Array) -> Array:
    """Returns the weight of each decision (m,) float64 for weights (n,) of rows; O(m)."""
    total = weights.sum()
    out = np.empty(len(rows), np.float64)
    for c in range(len(offsets) - 1):
        rest, block = total, -1
        for j in range(offsets[c], offsets[c + 1]):
            if rows[j] < 0:
                block = j
            else:
                out[j] = weights[rows[j]]
                rest -= out[j]
        if block >= 0:
            # A sum of weights is not negative; what is left of it may be, by rounding.
            out[block] = max(rest, 0.0)
    return out


@kernel
def penalized_thresholds(
    scores: Array, labels: Array, weights: Array, losses: Array, start: Array, offsets: Array, costs: Array
) -> Array:
    """Returns thresholds that minimize ``loss + costs[a, 0] fn + costs[a, 1] fp`` of each column, (a, p); O(a m).

    ``losses`` (m,) are those once each decision and those before it are predicted positive, ``start`` (p,) those of no
    prediction, and decisions count with ``weights`` (m,). Of cuts with the least value the first run is taken, and its
    middle. The threshold is inf where none is predicted, and -inf where all are.
    """
    p = len(offsets) - 1
    out = np.empty((len(costs), p), np.float64)
    for c in range(p):
        a, b = offsets[c], offsets[c + 1]
        positives = 0.0
        for j in range(a, b):
            positives += weights[j] * labels[j]
        for k in range(len(costs)):
            miss, alarm = costs[k, 0], costs[k, 1]
            fn, fp = positives, 0.0
            least, first, last, grows = start[c] + miss * fn, a, a, True
            for j in range(a, b):
                found = weights[j] * labels[j]
                fn -= found
                fp += weights[j] - found
                if j + 1 < b and scores[j + 1] == scores[j]:
                    continue
                value = losses[j] + miss * fn + alarm * fp
                if value < least - SAME * abs(least):
                    least, first, last, grows = value, j + 1, j + 1, True
                elif grows and value <= least + SAME * abs(least):
                    last = j + 1
                else:
                    grows = False
            if last == a:
                out[k, c] = np.inf
            elif first == b:
                out[k, c] = -np.inf
            else:
                upper, lower = np.float64(scores[max(first - 1, a)]), np.float64(scores[min(last, b - 1)])
                middle = 0.5 * upper + 0.5 * lower
                out[k, c] = middle if middle > lower else upper
    return out


@kernel
def counts_at(scores: Array, labels: Array, weights: Array, offsets: Array, thresholds: Array) -> tuple[Array, Array]:
    """Returns the weights of false negatives and false positives of each column at thresholds (a, p); O(a m)."""
    fn, fp = np.zeros(thresholds.shape, np.float64), np.zeros(thresholds.shape, np.float64)
    for c in range(len(offsets) - 1):
        for k in range(len(thresholds)):
            t, missed, alarms = thresholds[k, c], 0.0, 0.0
            for j in range(offsets[c], offsets[c + 1]):
                if scores[j] >= t:
                    alarms += weights[j] * (not labels[j])
                else:
                    missed += weights[j] * labels[j]
            fn[k, c], fp[k, c] = missed, alarms
    return fn, fp
