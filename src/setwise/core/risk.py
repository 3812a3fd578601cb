"""A risk: a convex function of the weights that answers with cuts."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.cut import Cut, Cuts
from setwise.core.model import Model
from setwise.core.sets import Ints, Sets
from setwise.core.surrogate import Bounds, Surrogate

Floats = NDArray[np.float64]


class Risk(ABC):
    """A sum of ``n_parts`` convex non-negative functions of ``size`` weights."""

    convex: bool = True
    size: int
    n_parts: int

    @abstractmethod
    def cut(self, w: Floats) -> Cut:
        """A plane below the whole risk, made at ``w``."""

    @abstractmethod
    def cuts(self, w: Floats, parts: Ints) -> Cuts:
        """Planes below the chosen parts, made at ``w``."""


@final
class SurrogateRisk(Risk):
    """``R(w) = sum_i omega_i B(y_i, Phi(x_i) w)``, weights ``omega`` that sum to 1: the mean surrogate over the sets.

    Parameters
    ----------
    model, X : scores are ``model.scores(X, w)``
    sets : ground truth of the n sets
    surrogate : B
    weights : (n,) non-negative, not all 0; None weighs all sets alike
    n_jobs : threads that share the sets. The sets are cut into the same chunks whatever their number, so results do
        not depend on it.
    """

    CHUNK = 1 << 16

    def __init__(
        self, model: Model, X: Any, sets: Sets, surrogate: Surrogate, weights: Floats | None = None, n_jobs: int = 1
    ) -> None:
        surrogate.loss.check(sets)
        self.model, self.X, self.sets, self.surrogate = model, X, sets, surrogate
        self.convex = surrogate.convex
        self.size, self.n_parts, self.n_jobs = model.size(X), len(sets), n_jobs
        omega = np.ones(len(sets)) if weights is None else np.asarray(weights, dtype=np.float64)
        if omega.shape != (len(sets),) or not np.isfinite(omega).all() or (omega < 0).any() or omega.sum() == 0:
            raise ValueError(f"weights must be {len(sets)} finite numbers >= 0, one for each set and not all zero.")
        self.weights = omega / omega.sum()
        self._chunks = _chunks(sets, self.CHUNK)

    def cut(self, w: Floats) -> Cut:
        """The plane ``sum_i omega_i (B_i(s_i) + <g_i, Phi_i v - s_i>)``."""
        # Every fit begins at 0, where the product with X can be spared.
        scores = self.model.scores(self.X, w) if w.any() else np.zeros(self.sets.total)
        bounds = self._bounds(scores)
        gradient = bounds.gradient * (self.weights[0] if len(self.sets) == 1 else self.weights[self.sets.owners])
        value = float(self.weights @ bounds.values)
        return Cut(
            offset=value - float(gradient @ scores),
            slope=self.model.pullback(self.X, gradient),
            value=value,
            upper=float(self.weights @ bounds.upper),
        )

    def cuts(self, w: Floats, parts: Ints) -> Cuts:
        """The planes of the chosen sets, each times its ``omega_i``."""
        everyone = len(parts) == self.n_parts and np.array_equal(parts, np.arange(self.n_parts))
        sets = self.sets if everyone else self.sets.take(parts)[0]
        X = self.X if everyone else self.model.take(self.X, self.sets, parts)
        scores = self.model.scores(X, w)
        bounds, omega = self.surrogate.batch(sets, scores), self.weights[parts]
        gradient = bounds.gradient * omega[sets.owners]
        values = omega * bounds.values
        inner = np.add.reduceat(gradient * scores, sets.offsets[:-1])
        return Cuts(values - inner, self.model.pullbacks(X, gradient, sets), values, omega * bounds.upper)

    def _bounds(self, scores: Floats) -> Bounds:
        if len(self._chunks) == 1:
            return self.surrogate.batch(self.sets, scores)

        def solve(chunk: tuple[int, int]) -> Bounds:
            low, high = self.sets.offsets[chunk[0]], self.sets.offsets[chunk[1]]
            return self.surrogate.batch(self.sets.part(*chunk), scores[low:high])

        found = _map(solve, self._chunks, self.n_jobs)
        return Bounds(
            np.concatenate([b.values for b in found]),
            np.concatenate([b.gradient for b in found]),
            np.concatenate([b.upper for b in found]),
            np.concatenate([b.exact for b in found]),
        )


def _chunks(sets: Sets, size: int) -> list[tuple[int, int]]:
    """Runs of whole sets with at least ``size`` decisions each (the last may have fewer)."""
    edges = np.unique(np.searchsorted(sets.offsets, np.arange(0, sets.total, size)))
    edges = np.append(edges[edges < len(sets)], len(sets))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def _map(function: Callable[[Any], Bounds], items: list[Any], n_jobs: int) -> list[Bounds]:
    if n_jobs == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(function, items))
