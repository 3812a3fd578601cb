"""Small random distributions of each kind of base functions, weak and strong, and their sums over all labelings."""

import numpy as np
from scipy.special import logsumexp

from setwise.core.enumerate import subsets
from setwise.probabilistic import ConcaveOfSize, Cut, LogSupermodular, Modular, SetFunctionOf

KINDS = ("cut", "size", "set", "cut and size", "cut and set", "two cuts", "cut and modular")


def base(kind, p, rng, strength):
    """The base functions of a kind."""
    count = int(rng.integers(0, 2 * p)) if p > 1 else 0
    edges = np.array([rng.permutation(p)[:2] for _ in range(count)]).reshape(-1, 2)
    cut, k = Cut(p, edges, strength * rng.random(count)), np.arange(p + 1)
    size = ConcaveOfSize(strength * [np.sqrt(k), k * (p - k) / p, np.minimum(k, 2.0), -1.0 * k][int(rng.integers(4))])
    cover, gains = rng.random((4, p)) < 0.5, strength * rng.random(4)
    covered = SetFunctionOf(p, lambda y: float(gains @ (cover & y).any(axis=1)))
    two, slopes = Cut(p, edges[::-1], strength * rng.integers(0, 2, count)), rng.standard_normal(p)
    return {
        "cut": [cut], "size": [size], "set": [covered], "cut and size": [cut, size], "cut and set": [cut, covered],
        "two cuts": [cut, two], "cut and modular": [cut, Modular(strength * slopes)],
    }[kind]  # fmt: skip


def models(kind, count, seed=0, most=8):
    """So many distributions of at most ``most`` labels; weights may be 0, and unary terms 0 or huge."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    for t in range(count):
        p = 1 + t % most
        terms = base(kind, p, rng, (0.1, 1.0, 6.0)[t % 3])
        weights = rng.random(len(terms)) * (rng.random(len(terms)) < 0.9)
        unary = (0.0, 1.0, 3.0, 1.0, 40.0)[t // 3 % 5] * rng.standard_normal(p)
        yield LogSupermodular(terms, unary, weights)


def summed(model):
    """All labelings, the values of f, the logarithm of the sum of ``exp(-f)``, and the probabilities of label 1."""
    rows = subsets(model.total)
    values = model.values(rows)
    total = float(logsumexp(-values))
    return rows, values, total, np.exp(-values - total) @ rows
