"""Surrogates of setwise on grids of pixels whose neighbors attract each other, and decisions there."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Hashable
from typing import NamedTuple, final

import numpy as np

from setwise.core.checks import Bools, Floats, Values
from setwise.core.loss import Loss
from setwise.core.pages import GRIDS
from setwise.core.structure import Structure
from setwise.inference.auto import Auto
from setwise.probabilistic import PerturbedLikelihood
from setwise.surrogates.rescaling import Support
from setwise.torch.forms import Keyed
from setwise.torch.grid_rows import GridRows

SURE = 1000.0
"""A score by which pixels that do not count have label 0: logistic noise in float64 stays below 40."""


class GridValues(NamedTuple):
    """The values (N,) of N grids, and their gradient (N, pixels + edges) with respect to the flat scores."""

    values: Values
    gradient: Floats


class GridForm(Keyed):
    """A function of the potentials of grids, with its gradient; 0 for a grid in which no pixel counts."""

    @abstractmethod
    def on_host(self, rows: GridRows, seed: int) -> GridValues:
        """Values and gradient; noise is a function of the seed, of the number of the grid and of the sample."""


@final
class MarginForm(GridForm):
    """``max_h loss(h) + <s, phi(h) - phi(y)> / g``, whose loss-augmented maximum is found to within ``tol``.

    Where a search ends with a larger gap, a warning says how large it is.
    """

    def __init__(self, loss: Loss, scale: float | str, tol: float) -> None:
        self.loss, self.scale, self.tol = loss, scale, tol

    @property
    def key(self) -> Hashable:
        return MarginForm, self.loss, self.scale, self.tol

    def on_host(self, rows: GridRows, seed: int) -> GridValues:
        values, gradient = np.zeros(len(rows.scores)), np.zeros_like(rows.scores)
        some = np.flatnonzero(rows.counted.any(axis=1))
        if not len(some):
            return GridValues(values, gradient)
        sizes = rows.counted[some].sum(axis=1).astype(np.float64)
        structure = self.loss.structure(rows.graphs(rows.labels[some]))
        # Labels that do not count have no scores either, so that the truth need not be completed.
        evaluator = Support(Auto().prepare(structure), sizes if self.scale == "size" else float(self.scale))
        found = evaluator(rows.scores[some].ravel(), self.tol)
        gap = float(np.where(found.exact, 0.0, found.upper - found.values).max())
        if gap > self.tol:
            # Few different sentences, for one that was shown is not shown again.
            warnings.warn(
                f"{self!r} is known to within {10.0 ** math.ceil(math.log10(gap)):g} here, and the gradient is that of "
                f"its lower bound: dual decomposition has ended with a gap above tol={self.tol:g}.{GRIDS.see}",
                stacklevel=2,
            )
        values[some], gradient[some] = found.values, found.gradient.reshape(len(some), -1)
        return GridValues(values, gradient)

    def __repr__(self) -> str:
        return f"margin rescaling of {self.loss!r} on grids"


@final
class LikelihoodForm(GridForm):
    """``A(s) - <s, phi(y)>`` with the bound A of perturb-and-MAP, in nats of a grid or of a pixel."""

    def __init__(self, samples: int, per_pixel: bool) -> None:
        self.surrogate, self.samples, self.per_pixel = PerturbedLikelihood(samples), samples, per_pixel

    @property
    def key(self) -> Hashable:
        return LikelihoodForm, self.samples, self.per_pixel

    def on_host(self, rows: GridRows, seed: int) -> GridValues:
        found = _perturbed(rows, rows.labels == 1, self.surrogate, seed)
        sizes = np.maximum(rows.counted.sum(axis=1), 1).astype(rows.scores.dtype) if self.per_pixel else 1.0
        return GridValues(found.values / sizes, (found.gradient.T / sizes).T)

    def __repr__(self) -> str:
        return f"the perturbed likelihood of grids, {self.samples} samples"


def most_probable_labels(rows: GridRows) -> Bools:
    """The labelings of largest score, (N, pixels), by minimum cuts."""
    graphs = rows.graphs(np.zeros_like(rows.counted))
    found = Auto().prepare(Structure(graphs)).solve(rows.scores.ravel(), np.zeros(len(graphs)))
    return np.asarray(found.labels).reshape(rows.counted.shape)


def margins_of(rows: GridRows) -> Values:
    """How much better the best labeling with a pixel positive is than the best with it negative, (N, pixels)."""
    graphs = rows.graphs(np.zeros_like(rows.counted))
    found = Auto().prepare(Structure(graphs)).max_marginals(rows.scores.ravel())
    return (found[:, 1] - found[:, 0]).reshape(rows.counted.shape)


def perturbed_shares(rows: GridRows, samples: int, seed: int) -> Values:
    """The share of perturbed labelings in which each pixel is positive, (N, pixels)."""
    found = _perturbed(rows, np.zeros_like(rows.counted), PerturbedLikelihood(samples), seed)
    return found.gradient[:, : rows.pixels].astype(np.float64)


def _perturbed(rows: GridRows, labels: Bools, surrogate: PerturbedLikelihood, seed: int) -> GridValues:
    """The likelihood of labels (N, pixels), in nats of a grid."""
    scores = np.array(rows.scores)
    scores[:, : rows.pixels][~rows.counted] = -SURE
    # A seed of 64 bits travels as a signed number.
    found = surrogate.on(rows.graphs(labels)).redrawn(seed % 2**64)(scores.ravel())
    return GridValues(found.values, found.gradient.reshape(scores.shape))
