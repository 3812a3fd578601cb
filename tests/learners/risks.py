"""Risks small enough to be known in full, for the tests of learners."""

import numpy as np
import piqp

from setwise.core.risk import CuttingPlane, PartPlanes, Risk


class ListedPlanes(Risk):
    """``sum_i max_t b_it + <a_it, w>`` with all planes given: ``slopes`` (n, T, d), ``offsets`` (n, T).

    With ``blind`` inference is inexact: it never sees every third plane of a part, but says so in ``upper``.
    """

    def __init__(self, slopes, offsets, blind=False, lower=None, floor=None):
        self.slopes, self.offsets, self.blind = slopes, offsets, blind
        self.n_parts, _, self.size = slopes.shape
        self.lower, self.floors = lower, None if floor is None else np.full(self.n_parts, floor)
        self.calls = []

    def cut(self, w, tol=0.0):
        self.calls.append(w.copy())
        cuts = self.cuts(w, np.arange(self.n_parts))
        slope, value = cuts.slopes.sum(axis=0), float(cuts.values.sum())
        return CuttingPlane(value - float(slope @ w), slope, value, float(cuts.uppers.sum()))

    def cuts(self, w, parts, tol=0.0):
        values = self.offsets[parts] + self.slopes[parts] @ w
        rows, uppers = np.arange(len(parts)), values.max(axis=1)
        if self.blind:
            values[:, ::3] = -np.inf
        best = values.argmax(axis=1)
        return PartPlanes(self.offsets[parts, best], self.slopes[parts, best], values[rows, best], uppers)

    def objective(self, w, C):
        return 0.5 * w @ w + C * (self.offsets + self.slopes @ w).max(axis=1).sum()


def hamming_risk(n=6, p=3, f=2, seed=0, blind=False, scale=1.0):
    """Margin rescaling of Hamming: the mean of ``max_yh |y - yh| + <s, yh - y>`` over n sets, all yh listed."""
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_normal((n, p, f))
    Y = rng.integers(0, 2, (n, p))
    guesses = (np.arange(2**p)[:, None] >> np.arange(p)) & 1
    change = guesses[None] - Y[:, None]
    return ListedPlanes(np.einsum("ntp,npf->ntf", change, X) / n, np.abs(change).sum(axis=2) / n, blind, floor=0.0)


def random_risk(n=5, planes=6, d=3, seed=0, lower=None, negative=False):
    """Random planes; one of them zero, so that the risk is not negative, unless ``negative`` asks for no floor."""
    rng = np.random.default_rng(seed)
    slopes, offsets = rng.standard_normal((n, planes, d)) / n, rng.standard_normal((n, planes)) / n
    if negative:
        return ListedPlanes(slopes, offsets - 2.0 / n, lower=lower)
    slopes[:, 0], offsets[:, 0] = 0.0, 0.0
    return ListedPlanes(slopes, offsets, lower=lower, floor=0.0)


def minimum(risk, C):
    """The least value of ``0.5 |w|^2 + C risk(w)`` from a quadratic program with every plane as a constraint."""
    n, T, d = risk.slopes.shape
    P = np.diag(np.r_[np.ones(d), np.zeros(n)])
    G = np.hstack([risk.slopes.reshape(n * T, d), -np.repeat(np.eye(n), T, axis=0)])
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    low = np.full(d + n, -np.inf)
    low[:d] = -np.inf if risk.lower is None else risk.lower
    solver.setup(P, np.r_[np.zeros(d), np.full(n, C)], None, None, G, None, -risk.offsets.ravel(), low, None)
    solver.solve()
    w = solver.result.x[:d]
    return risk.objective(w if risk.lower is None else np.maximum(w, risk.lower), C)
