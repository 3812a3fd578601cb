"""Probabilities, random and nasty, and the expected losses of all labelings by enumeration."""

from functools import lru_cache

import numpy as np

from setwise.core.batch import Sets
from setwise.core.enumerate import subsets
from setwise.decisions.formula import formula_of
from setwise.losses import (
    LOSSES,
    MCC,
    BalancedError,
    ClassWeightedLoss,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    HMean,
    Jaccard,
    MeanOverClasses,
    OneClass,
    SaturatingLoss,
    Tversky,
    ZeroOne,
)

TRIED = 500


def probabilities(p, seed=0, n=TRIED):
    """Sets of p decisions as rows: random, sparse, certain, equal, tied, and mixtures of these."""
    rng = np.random.default_rng(seed)
    q = rng.random((n, p)) ** rng.choice([0.2, 1.0, 4.0, 20.0], (n, 1))
    kind = np.arange(n) % 8
    q[kind == 1] = np.round(q[kind == 1])
    q[kind == 2] = np.round(2.0 * q[kind == 2]) / 2.0
    q[kind == 3] = q[kind == 3, :1]
    certain = rng.random((n, p)) < 0.4
    q[kind == 4] = np.where(certain, rng.integers(0, 2, (n, p)), q)[kind == 4]
    q[kind == 5] *= 1e-12
    q[kind == 6] = 1.0 - 1e-12 * q[kind == 6]
    q[:3] = np.array([0.0, 1.0, 0.5])[:, None]
    return q


def truths(q):
    """The probability of each of the 2^p truths of each row, (n, 2^p), in the order of ``subsets``."""
    return _truths(q.tobytes(), q.shape)


@lru_cache(maxsize=8)
def _truths(q, shape):
    q = np.frombuffer(q).reshape(shape)
    return np.prod(np.where(subsets(shape[1]), q[:, None, :], 1.0 - q[:, None, :]), axis=2)


def losses_of_all(loss, p):
    """The loss of each labeling (column) for each truth (row), (2^p, 2^p)."""
    every = subsets(p)
    bound_loss = loss.bind(Sets.rows(every))
    return np.column_stack([bound_loss.values(np.tile(h, len(every))) for h in every])


def of_labels(p):
    """Every example of every loss that reads labels or classes, and sums of losses."""
    found = [loss for kind in LOSSES.values() if kind.reads != "scores" for loss in kind.examples(p)]
    return [*found, FBeta() + 0.5 * Jaccard(), 2.0 * Jaccard() + ErrorRate(), Hamming() + SaturatingLoss(0.3)]


NAMES = sorted({type(loss).__name__ for loss in of_labels(3)})

COUNTS = [
    FBeta(), FBeta(2.0, zero_division=0.0), Jaccard(), Jaccard("fraction"), Jaccard("ignore"), MCC(), GMean(), HMean(),
    BalancedError(), ErrorRate(), Tversky(0.3, 0.8), ClassWeightedLoss(Jaccard(), 0.5, 2.0), FBeta() + 0.5 * Jaccard(),
    Hamming(), SaturatingLoss(0.1), ZeroOne(), MeanOverClasses("jaccard"), OneClass("f1", 0),
]  # fmt: skip


def slow(loss, q):
    """The expected losses of predicting the first k = 0..p, (p+1,), by full distributions of both counts."""
    p, formula, out = len(q), formula_of(loss, len(q)), []
    for k, (top, rest) in enumerate(zip(_counts(q.tobytes()), _counts(q[::-1].tobytes())[::-1], strict=True)):
        tp, fn = np.arange(k + 1.0)[:, None], np.arange(p - k + 1.0)[None, :]
        out.append(top @ np.broadcast_to(formula.at(float(k), tp, fn), (k + 1, p - k + 1)) @ rest)
    return np.array(out)


@lru_cache(maxsize=200)
def _counts(q):
    """The distributions of the numbers of positives among the first 0, 1, .., p."""
    found = [np.ones(1)]
    for x in np.frombuffer(q):
        found.append(np.convolve(found[-1], [1.0 - x, x]))
    return found
