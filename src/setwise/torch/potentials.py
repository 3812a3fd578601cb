"""Unary potentials and couplings of grids, checked and in one shape, and where noise comes from."""

from typing import final

import numpy as np
import torch
from torch import Tensor

from setwise.core.checks import shown
from setwise.kernels.networks import SHIFTS
from setwise.probabilistic.perturbations import seed_of
from setwise.torch.layout import as_scores
from setwise.torch.wording import refuse_tracing

RandomState = int | torch.Generator | None


def as_potentials(unary: Tensor, coupling: Tensor | float) -> tuple[Tensor, Tensor]:
    """The potentials as (N, ...) and (N, E, ...), in float32 or float64, for grids of one to three axes.

    ``unary`` is (N, 1, ...) or (N, ...). ``coupling`` is a number, or broadcasts to (N, E, ...) from as many axes. A
    second axis of unary of length 1 is the channel, unless the coupling has one axis more than unary. One channel of
    couplings weighs all directions alike.
    """
    refuse_tracing("a grid")
    unary = as_scores(unary, "unary")
    if isinstance(coupling, bool):
        raise TypeError(f"coupling must be a number or a tensor of floats; got {coupling}.")
    if isinstance(coupling, int | float):
        coupling = torch.full((), coupling, dtype=unary.dtype, device=unary.device)
    coupling = as_scores(coupling, "coupling")
    if coupling.device != unary.device:
        raise ValueError(f"coupling must be on the device of unary, {unary.device}; got {coupling.device}.")
    single = coupling.numel() == 1
    if unary.ndim > 2 and unary.shape[1] == 1 and (single or coupling.ndim <= unary.ndim):
        unary = unary.squeeze(1)
    axes, spatial = unary.ndim - 1, tuple(unary.shape[1:])
    known = [neighbors // 2 for dims, neighbors in SHIFTS if dims == axes]
    if not known:
        raise ValueError(
            f"unary must be (N, 1, ...) or (N, ...) with one to three axes of pixels; got {shown(tuple(unary.shape))}."
        )
    if single:
        coupling = coupling.reshape((1,) * (axes + 2))
    fits = coupling.ndim == axes + 2 and coupling.shape[1] in (1, *known)
    ways = coupling.shape[1] if fits and coupling.shape[1] in known else known[0]
    full = (unary.shape[0], ways, *spatial)
    if not fits or any(own not in (1, most) for own, most in zip(coupling.shape, full, strict=True)):
        words = " or ".join(str((full[0], each, *spatial)) for each in known)
        raise ValueError(
            f"coupling must be a number, or {words} here, where any axis may have length 1; "
            f"got {tuple(coupling.shape)}."
        )
    return unary, coupling.expand(full)


def _as_signed(random_state: int) -> int:
    """The seed of a whole number, in the way in which 64 bits travel as a signed number; NumPy would end a graph."""
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(f"random_state must be None, a whole number or a torch.Generator; got {shown(random_state)}.")
    seed = int(random_state)
    if not 0 <= seed < 2**63:
        return int(seed_of(seed).astype(np.int64))
    return seed


@final
class Seeds:
    """The seed of the noise of each call.

    Parameters
    ----------
    random_state : None draws a seed from the default generator of PyTorch, which ``torch.manual_seed`` sets, and a
        ``torch.Generator`` from itself; an int is the same seed at each call
    """

    def __init__(self, random_state: RandomState) -> None:
        self._generator, self._fixed = None, None
        if isinstance(random_state, torch.Generator):
            self._generator = random_state
        elif random_state is not None:
            self._fixed = _as_signed(random_state)

    def __call__(self) -> Tensor:
        """The next seed, an int64 without axes."""
        if self._fixed is not None:
            return torch.full((), self._fixed, dtype=torch.int64)
        device = None if self._generator is None else self._generator.device
        return torch.randint(2**63 - 1, (), generator=self._generator, device=device)
