"""Small random distributions of each kind of base functions, weak and strong, and their sums over all labelings."""

import numpy as np
from scipy.special import logsumexp

from setwise.core.enumerate import subsets
from setwise.probabilistic import (
    CallableSetFunction,
    ConcaveSizeFunction,
    Cut,
    LogSupermodularDistribution,
    ModularFunction,
)

KINDS = ("cut", "size", "set", "cut and size", "cut and set", "two cuts", "cut and modular")


def base(kind, p, rng, strength):
    """The base functions of a kind."""
    count = int(rng.integers(0, 2 * p)) if p > 1 else 0
    edges = np.array([rng.permutation(p)[:2] for _ in range(count)]).reshape(-1, 2)
    cut, k = Cut(p, edges, strength * rng.random(count)), np.arange(p + 1)
    size = ConcaveSizeFunction(
        strength * [np.sqrt(k), k * (p - k) / p, np.minimum(k, 2.0), -1.0 * k][int(rng.integers(4))]
    )
    cover, gains = rng.random((4, p)) < 0.5, strength * rng.random(4)
    covered = CallableSetFunction(p, lambda y: float(gains @ (cover & y).any(axis=1)))
    two, slopes = Cut(p, edges[::-1], strength * rng.integers(0, 2, count)), rng.standard_normal(p)
    return chosen(kind, cut, size, covered, two, ModularFunction(strength * slopes))


def chosen(kind, cut, size, covered, two, modular):
    """Those of the base functions that a kind has."""
    return {
        "cut": [cut], "size": [size], "set": [covered], "cut and size": [cut, size], "cut and set": [cut, covered],
        "two cuts": [cut, two], "cut and modular": [cut, modular],
    }[kind]  # fmt: skip


def dyadic_models(kind, count, seed=0, most=6):
    """So many distributions whose numbers are multiples of 1/8, so that no sum of them is rounded.

    Nor are values of f, which are multiples of 1/64 and small.
    """
    rng = np.random.default_rng([seed, 7, KINDS.index(kind)])
    for t in range(count):
        p, strength = 1 + t % most, (1, 4, 40)[t % 3]
        edges = np.array([rng.permutation(p)[:2] for _ in range(rng.integers(0, 2 * p))] if p > 1 else [])
        edges = edges.reshape(-1, 2).astype(int)
        # Increments that fall make a concave table.
        falling = -np.sort(-rng.integers(-strength, strength + 1, p))
        cover, gains = rng.random((4, p)) < 0.5, rng.integers(0, strength + 1, 4)
        terms = chosen(
            kind,
            Cut(p, edges, rng.integers(0, strength + 1, len(edges))),
            ConcaveSizeFunction(np.append(0, np.cumsum(falling))),
            CallableSetFunction(p, lambda y, c=cover, g=gains: float(g @ (c & y).any(axis=1))),
            Cut(p, edges[::-1], rng.integers(0, strength + 1, len(edges))),
            ModularFunction(rng.integers(-8 * strength, 8 * strength + 1, p) / 8.0),
        )
        unary = rng.integers(-8 * strength, 8 * strength + 1, p) / 8.0 * (t // 3 % 4 > 0)
        yield LogSupermodularDistribution(terms, unary, rng.integers(0, 17, len(terms)) / 8.0)


def models(kind, count, seed=0, most=8):
    """So many distributions of at most ``most`` labels; weights may be 0, and unary terms 0 or huge."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    for t in range(count):
        p = 1 + t % most
        terms = base(kind, p, rng, (0.1, 1.0, 6.0)[t % 3])
        weights = rng.random(len(terms)) * (rng.random(len(terms)) < 0.9)
        unary = (0.0, 1.0, 3.0, 1.0, 40.0)[t // 3 % 5] * rng.standard_normal(p)
        yield LogSupermodularDistribution(terms, unary, weights)


def summed(model):
    """All labelings, the values of f, the logarithm of the sum of ``exp(-f)``, and the probabilities of label 1."""
    rows = subsets(model.total)
    values = model.values(rows)
    total = float(logsumexp(-values))
    return rows, values, total, np.exp(-values - total) @ rows
