"""Losses of counts, nasty problems, and slow twins: the maxima of a table looked up cell by cell."""

import numpy as np

from setwise.core import enumerate as brute
from setwise.core.sets import Sets
from setwise.inference.counts.structure import predicted_of
from setwise.losses import (
    MCC,
    BalancedError,
    BreakEven,
    ClassWeighted,
    ClassWeightedHamming,
    CountLoss,
    ErrorRate,
    FBeta,
    GMean,
    HMean,
    Jaccard,
    PrecisionAtK,
    RecallAtK,
    Saturating,
    Tversky,
    ZeroOne,
)


def waves(fn, fp, P, N):
    """No shape at all."""
    return np.abs(np.sin(3.1 * fn + fp**2)) + 0.0 * (P + N)


LOSSES = [
    Jaccard(),
    Jaccard("fraction"),
    Jaccard("ignore"),
    FBeta(),
    FBeta(0.5, zero_division=0.3),
    FBeta(0.1),
    FBeta(2.0, zero_division=0.0),
    Tversky(1.0, 1.0),
    Tversky(0.3, 0.2),
    Tversky(0.3, 0.7),
    Tversky(2.0, 3.0, zero_division=0.0),
    ErrorRate(),
    BalancedError(),
    ClassWeightedHamming(0.5, 2.0),
    ClassWeighted(Jaccard(), 0.7, 2.0),
    GMean(),
    HMean(),
    MCC(),
    PrecisionAtK(1),
    PrecisionAtK(3),
    RecallAtK(2),
    BreakEven(),
    CountLoss(waves),
    ZeroOne(),
    Saturating(0.5),
    7.0 * FBeta(0.5),
    0.01 * Jaccard(),
    Jaccard() + FBeta(),
    BreakEven() * 3.0,
]

KINDS = ("normal", "small", "zero", "ties", "one value", "in doubt", "vertices", "huge", "tiny", "some huge")


def problem(rng, p, kind, dtype):
    """Labels, from none to all positive, and scores of a kind."""
    y = rng.random(p) < rng.choice([0.0, 0.3, 0.5, 0.8, 1.0])
    sign, normal = np.where(y, 1.0, -1.0), rng.standard_normal(p)
    huge = 1e300 if dtype == np.float64 else 1e30
    scores = {
        "normal": normal,
        "small": 0.1 * normal,
        "zero": np.zeros(p),
        "ties": np.round(normal),
        "one value": sign / 4,
        "in doubt": sign * rng.random(p) / p,
        "vertices": sign * rng.integers(0, 2, p),
        "huge": huge * normal,
        "tiny": normal / huge,
        "some huge": np.where(rng.random(p) < 0.3, huge * normal, normal),
    }[kind]
    return y, scores.astype(dtype)


def fits(loss, p):
    """Whether sets of p decisions have the predicted positives that the loss asks for."""
    return p >= getattr(loss, "k", 0)


def allowed(loss, y):
    """The sets of mistakes on which the loss is defined, a mask over the rows of ``subsets``."""
    predicted = predicted_of(loss, Sets.single(y))
    masks = brute.subsets(len(y))
    return np.ones(len(masks), dtype=bool) if predicted is None else (masks ^ y).sum(axis=1) == predicted[0]


def table(loss, y, scores):
    """Loss (P+1, N+1), -inf where not defined, and the sums of the fn and fp smallest margins."""
    sets = Sets.single(y)
    P, N = int(sets.positives[0]), int(sets.negatives[0])
    fn, fp = np.arange(P + 1.0)[:, None], np.arange(N + 1.0)
    values = np.broadcast_to(loss.of_counts(fn, fp, np.float64(P), np.float64(N)), (P + 1, N + 1))
    predicted = predicted_of(loss, sets)
    if predicted is not None:
        values = np.where(P - fn + fp == predicted[0], values, -np.inf)
    m = brute.margins(y, scores)
    return values, *(np.concatenate(([0.0], np.cumsum(np.sort(m[side])))) for side in (y, ~y))


def slow_maximum(loss, y, scores, slack):
    """The maximum over all cells (Joachims 2005, DD Alg. 1)."""
    values, paid, charged = table(loss, y, scores)
    won = -(paid[:, None] + charged)
    with np.errstate(invalid="ignore"):
        return np.max(np.where(values > -np.inf, values * (1.0 + won) if slack else values + won, -np.inf))


def slow_marginals(loss, y, scores):
    """Max-marginals (p, 2) by a table for each decision and value."""
    out = np.empty((len(y), 2))
    m, s = brute.margins(y, scores), np.asarray(scores, dtype=np.float64)
    values = table(loss, y, scores)[0]
    for i in range(len(y)):
        for wrong in (False, True):
            rest = np.arange(len(y)) != i
            paid, charged = (np.concatenate(([0.0], np.cumsum(np.sort(m[rest & side])))) for side in (y, ~y))
            shift = (int(wrong and y[i]), int(wrong and not y[i]))
            part = values[shift[0] : shift[0] + len(paid), shift[1] : shift[1] + len(charged)]
            out[i, int(y[i] != wrong)] = np.max(part - paid[:, None] - charged) - wrong * m[i] + s @ y
    return out
