"""The operators of PyTorch behind losses of grids: values with a gradient, and decisions."""

from typing import Any

import torch
from torch import Tensor

from setwise.kernels.threads import allowed
from setwise.torch.forms import form_of
from setwise.torch.grid_form import margins_of, most_probable_labels, perturbed_shares
from setwise.torch.grid_rows import GridRows
from setwise.torch.ops import pull_back


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
    values, first, second = (
        unary.new_zeros(len(unary)),
        unary.new_zeros(unary.shape),
        coupling.new_zeros(coupling.shape),
    )
    if not codes.numel():
        return values, first, second
    rows = GridRows(unary.cpu(), coupling.cpu(), codes.cpu())
    with allowed(torch.get_num_threads()):
        found = form_of(form).on_host(rows, int(seed))
    first, second = rows.spread(found.gradient)
    return torch.from_numpy(found.values).to(values), first.to(unary.device), second.to(unary.device)


@evaluate_grids.register_fake
def _(unary: Tensor, coupling: Tensor, codes: Tensor, seed: Tensor, form: int) -> tuple[Tensor, Tensor, Tensor]:
    return unary.new_empty(unary.shape[0]), unary.new_empty(unary.shape), coupling.new_empty(coupling.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*output[1:])


def _back(ctx: Any, weights: Tensor | None, *unused: Any) -> tuple[Any, ...]:
    if weights is None:
        return None, None, None, None, None
    unary, coupling = (
        pull_back(kept.flatten(1), weights.to(kept.dtype)).reshape(kept.shape) for kept in ctx.saved_tensors
    )
    return unary, coupling, None, None, None


evaluate_grids.register_autograd(_back, setup_context=_keep)


@torch.library.custom_op("setwise::cut_grids", mutates_args=(), schema="(Tensor unary, Tensor coupling) -> Tensor")
def cut_grids(unary: Tensor, coupling: Tensor) -> Tensor:
    """The most probable labels of grids, in the shape of unary (N, ...), bool."""
    if not unary.numel():
        return unary.new_zeros(unary.shape, dtype=torch.bool)
    with allowed(torch.get_num_threads()):
        found = most_probable_labels(_all_rows(unary, coupling))
    return torch.from_numpy(found).reshape(unary.shape).to(unary.device)


@cut_grids.register_fake
def _(unary: Tensor, coupling: Tensor) -> Tensor:
    return unary.new_empty(unary.shape, dtype=torch.bool)


@torch.library.custom_op(
    "setwise::max_marginals_of_grids", mutates_args=(), schema="(Tensor unary, Tensor coupling) -> Tensor"
)
def max_marginals_of_grids(unary: Tensor, coupling: Tensor) -> Tensor:
    """The differences of the max-marginals of pixels, in the shape of unary (N, ...)."""
    if not unary.numel():
        return unary.new_zeros(unary.shape)
    with allowed(torch.get_num_threads()):
        found = margins_of(_all_rows(unary, coupling))
    return torch.from_numpy(found).reshape(unary.shape).to(unary)


@max_marginals_of_grids.register_fake
def _(unary: Tensor, coupling: Tensor) -> Tensor:
    return unary.new_empty(unary.shape)


@torch.library.custom_op(
    "setwise::perturb_grids",
    mutates_args=(),
    schema="(Tensor unary, Tensor coupling, Tensor seed, int samples) -> Tensor",
)
def perturb_grids(unary: Tensor, coupling: Tensor, seed: Tensor, samples: int) -> Tensor:
    """The share of perturbed labelings in which each pixel of grids is positive, in the shape of unary (N, ...)."""
    if not unary.numel():
        return unary.new_zeros(unary.shape)
    with allowed(torch.get_num_threads()):
        found = perturbed_shares(_all_rows(unary, coupling), samples, int(seed))
    return torch.from_numpy(found).reshape(unary.shape).to(unary)


@perturb_grids.register_fake
def _(unary: Tensor, coupling: Tensor, seed: Tensor, samples: int) -> Tensor:
    return unary.new_empty(unary.shape)


def _all_rows(unary: Tensor, coupling: Tensor) -> GridRows:
    """The rows of grids all of whose pixels count."""
    codes = torch.zeros((unary.shape[0], unary[0].numel()), dtype=torch.int8)
    return GridRows(unary.cpu(), coupling.cpu(), codes)
