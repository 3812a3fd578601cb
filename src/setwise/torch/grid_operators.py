"""The operators of PyTorch behind losses of grids: values with a gradient, and decisions, on the host."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, NamedTuple, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.loss import Loss
from setwise.core.networks import Graphs, Grids, boxes
from setwise.core.pages import GRIDS
from setwise.inference.auto import Auto
from setwise.kernels.threads import thread_limit
from setwise.probabilistic import PerturbedLikelihood
from setwise.surrogates.rescaling import Support
from setwise.torch.operators import HostValues, OperatorForm, form_of, register_gradients


class ScoreColumns(NamedTuple):
    """Where a row of flat scores is read: ``places`` among ``[unary | coupling]`` of a grid, and the ``ends`` of edges.

    The coupling has a number for each direction and pixel, of which those that lead beyond the border are not read.
    """

    places: Ints
    ends: Ints


@lru_cache(maxsize=64)
def columns_of(shape: tuple[int, ...], neighbors: int) -> ScoreColumns:
    """The columns of the grids of a shape."""
    pixels = np.arange(int(np.prod(shape)))
    starts = [pixels.reshape(shape)[box].ravel() for box in boxes(shape, neighbors)]
    places = [pixels, *((1 + way) * len(pixels) + own for way, own in enumerate(starts))]
    return ScoreColumns(np.concatenate(places), Grids(np.array([shape], dtype=np.int64), neighbors).edges())


@final
class GridRows:
    """N grids of one shape, as rows of flat scores: those of the pixels, then those of the edges.

    Pixels that do not count leave the grid together with their edges: they have scores of 0, and no gradient.

    Parameters
    ----------
    unary : (N, ...) floats
    coupling : (N, E, ...) floats, the weight of the edge in each of E directions, from 0 on
    codes : (N, pixels) int8: 1 for positives, 0 for negatives, and -1 for pixels that do not count

    Attributes
    ----------
    scores : (N, pixels + edges)
    counted : (N, pixels) bool
    """

    def __init__(self, unary: torch.Tensor, coupling: torch.Tensor, codes: torch.Tensor) -> None:
        self._unary, self._coupling = unary, coupling
        self.shape, self.neighbors = tuple(unary.shape[1:]), 2 * coupling.shape[1]
        self.labels = codes.numpy()
        count, self.pixels = self.labels.shape
        self._columns = columns_of(self.shape, self.neighbors)
        self.counted: Bools = self.labels >= 0
        alive = self.counted[:, self._columns.ends].all(axis=2)
        self._alive = np.concatenate([self.counted, alive], axis=1)
        given = np.concatenate([part.detach().numpy().reshape(count, -1) for part in (unary, coupling)], axis=1)
        self.scores: Floats = np.where(self._alive, given[:, self._columns.places], 0.0).astype(given.dtype, copy=False)
        if not np.isfinite(self.scores).all():
            raise ValueError("unary and coupling must be finite where pixels count; got an infinite number or NaN.")
        least = self.scores[:, self.pixels :].min(initial=0.0)
        if least < 0.0:
            raise ValueError(
                f"coupling must be 0 or above, as torch.nn.functional.softplus makes it; got {least:.4g}: neighbors "
                "that repel each other make no minimum cut."
            )

    def graphs(self, labels: Bools | Ints) -> Graphs:
        """Some of the grids as images, each a set, with labels (n, pixels)."""
        return Graphs.images(labels.reshape(-1, *self.shape), self.neighbors)

    def spread(self, gradient: Floats) -> tuple[torch.Tensor, torch.Tensor]:
        """Numbers (N, pixels + edges) for the scores, in the shapes of unary and coupling, with 0 elsewhere."""
        count, pixels = len(self.scores), self.pixels
        out = np.zeros((count, pixels * (1 + self._coupling.shape[1])), dtype=gradient.dtype)
        out[:, self._columns.places] = np.where(self._alive, gradient, 0.0)
        first, second = (torch.from_numpy(part) for part in (out[:, :pixels], out[:, pixels:]))
        unary = first.reshape(self._unary.shape).to(self._unary.dtype)
        return unary.contiguous(), second.reshape(self._coupling.shape).to(self._coupling.dtype).contiguous()


SURE = 1000.0
"""A score by which pixels that do not count have label 0: logistic noise in float64 stays below 40."""


class GridForm(OperatorForm):
    """A function of the potentials of grids, with its gradient; 0 for a grid in which no pixel counts."""

    @abstractmethod
    def on_host(self, rows: GridRows, seed: int) -> HostValues:
        """The values (N,), and their gradient (N, pixels + edges) with respect to the flat scores.

        Noise is a function of the seed, of the number of the grid and of the sample.
        """


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

    def on_host(self, rows: GridRows, seed: int) -> HostValues:
        values, gradient = np.zeros(len(rows.scores)), np.zeros_like(rows.scores)
        some = np.flatnonzero(rows.counted.any(axis=1))
        if not len(some):
            return HostValues(values, gradient)
        sizes = rows.counted[some].sum(axis=1).astype(np.float64)
        bound_loss = self.loss.bind(rows.graphs(rows.labels[some]))
        # Labels that do not count have no scores either, so that the truth need not be completed.
        evaluator = Support(Auto().prepare(bound_loss), sizes if self.scale == "size" else float(self.scale))
        found = evaluator(rows.scores[some].ravel(), self.tol)
        gap = float(np.where(found.exact, 0.0, found.upper - found.values).max())
        if gap > self.tol:
            # Few different sentences, for one that was shown is not shown again.
            warnings.warn(
                f"{self!r} is known only to within {10.0 ** math.ceil(math.log10(gap)):g} here, and the gradient is "
                f"that of its lower bound: dual decomposition stopped at a gap above tol={self.tol:g}.{GRIDS.see}",
                stacklevel=2,
            )
        values[some], gradient[some] = found.values, found.gradient.reshape(len(some), -1)
        return HostValues(values, gradient)

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

    def on_host(self, rows: GridRows, seed: int) -> HostValues:
        found = _perturbed(rows, rows.labels == 1, self.surrogate, seed)
        sizes = np.maximum(rows.counted.sum(axis=1), 1).astype(rows.scores.dtype) if self.per_pixel else 1.0
        return HostValues(found.values / sizes, (found.gradient.T / sizes).T)

    def __repr__(self) -> str:
        return f"the perturbed likelihood of grids, {self.samples} samples"


def most_probable_labels(rows: GridRows) -> Bools:
    """The labelings of largest score, (N, pixels), by minimum cuts."""
    graphs = rows.graphs(np.zeros_like(rows.counted))
    found = Auto().prepare(BoundLoss(graphs)).solve(rows.scores.ravel(), np.zeros(len(graphs)))
    return np.asarray(found.labels).reshape(rows.counted.shape)


def margins_of(rows: GridRows) -> Values:
    """How much better the best labeling with a pixel positive is than the best with it negative, (N, pixels)."""
    graphs = rows.graphs(np.zeros_like(rows.counted))
    found = Auto().prepare(BoundLoss(graphs)).max_marginals(rows.scores.ravel())
    return (found[:, 1] - found[:, 0]).reshape(rows.counted.shape)


def perturbed_shares(rows: GridRows, seed: Tensor, samples: int) -> Values:
    """The share of perturbed labelings in which each pixel is positive, (N, pixels)."""
    found = _perturbed(rows, np.zeros_like(rows.counted), PerturbedLikelihood(samples), int(seed))
    return found.gradient[:, : rows.pixels].astype(np.float64)


def _perturbed(rows: GridRows, labels: Bools, surrogate: PerturbedLikelihood, seed: int) -> HostValues:
    """The likelihood of labels (N, pixels), in nats of a grid."""
    scores = np.array(rows.scores)
    scores[:, : rows.pixels][~rows.counted] = -SURE
    # A seed of 64 bits travels as a signed number.
    found = surrogate.on(rows.graphs(labels)).redrawn(seed % 2**64)(scores.ravel())
    return HostValues(found.values, found.gradient.reshape(scores.shape))


@torch.library.custom_op(
    "setwise::evaluate_grids",
    mutates_args=(),
    schema="(Tensor unary, Tensor coupling, Tensor codes, Tensor seed, int form) -> (Tensor, Tensor, Tensor)",
)
def evaluate_grids(
    unary: Tensor, coupling: Tensor, codes: Tensor, seed: Tensor, form: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The values (N,) of a form for N grids, and the gradients of unary (N, ...) and coupling (N, E, ...).

    Codes are (N, pixels) int8, and the seed an int64 of any value. All is computed on the host.
    """
    if not codes.numel():
        return unary.new_zeros(len(unary)), unary.new_zeros(unary.shape), coupling.new_zeros(coupling.shape)
    rows = GridRows(unary.cpu(), coupling.cpu(), codes.cpu())
    with thread_limit(torch.get_num_threads()):
        found = form_of(form).on_host(rows, int(seed))
    first, second = rows.spread(found.gradient)
    return torch.from_numpy(found.values).to(unary), first.to(unary.device), second.to(unary.device)


@evaluate_grids.register_fake
def _(unary: Tensor, coupling: Tensor, codes: Tensor, seed: Tensor, form: int) -> tuple[Tensor, Tensor, Tensor]:
    return unary.new_empty(unary.shape[0]), unary.new_empty(unary.shape), coupling.new_empty(coupling.shape)


register_gradients(evaluate_grids, 2, others=3)


def _of_pixels(
    name: str, find: Callable[..., NDArray[Any]], more: str = "", dtype: torch.dtype | None = None
) -> Callable[..., Tensor]:
    """The operator of this name: what ``find`` says of grids all of whose pixels count, in the shape of unary (N, ...).

    ``more`` are the arguments beyond unary and coupling, which ``find`` gets as well. Without a ``dtype`` the result
    has that of unary.
    """

    def found(unary: Tensor, coupling: Tensor, *given: Any) -> Tensor:
        if not unary.numel():
            return unary.new_zeros(unary.shape, dtype=dtype)
        codes = torch.zeros((unary.shape[0], unary[0].numel()), dtype=torch.int8)
        with thread_limit(torch.get_num_threads()):
            numbers = find(GridRows(unary.cpu(), coupling.cpu(), codes), *given)
        return torch.from_numpy(numbers).reshape(unary.shape).to(unary.device, dtype or unary.dtype)

    schema = f"(Tensor unary, Tensor coupling{more}) -> Tensor"
    operator = torch.library.custom_op(f"setwise::{name}", found, mutates_args=(), schema=schema)
    operator.register_fake(lambda unary, coupling, *given: unary.new_empty(unary.shape, dtype=dtype))
    return operator


cut_grids = _of_pixels("cut_grids", most_probable_labels, dtype=torch.bool)
"""The most probable labels of grids."""

max_marginals_of_grids = _of_pixels("max_marginals_of_grids", margins_of)
"""The differences of the max-marginals of pixels."""

perturb_grids = _of_pixels("perturb_grids", perturbed_shares, ", Tensor seed, int samples")
"""The share of perturbed labelings in which each pixel of grids is positive."""
