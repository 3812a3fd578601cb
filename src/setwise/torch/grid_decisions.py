"""What potentials of grids say of pixels: the most probable labeling, how sure it is, and shares of labelings."""

import torch
from torch import Tensor

from setwise.core.checks import as_count
from setwise.torch.grid_ops import cut_grids, max_marginals_of_grids, perturb_grids
from setwise.torch.potentials import RandomState, Seeds, as_potentials


@torch.no_grad()
def most_probable(unary: Tensor, coupling: Tensor | float) -> Tensor:
    """``argmax_h sum_i u_i h_i + sum_(i,j) c_ij [h_i = h_j]`` of each image: bools in the shape of ``unary``.

    It is exact, a minimum cut, found on the host; of several best labelings it is that of fewest positives, as far as
    sums in float64 tell them apart. The labelings are nested in a bias: ``most_probable(unary + b, coupling)`` has no
    fewer positives for a larger b, so that b may be tuned as a threshold is. The arguments are those of
    :class:`setwise.torch.GridCriterion`.
    """
    fields, couplings = as_potentials(unary, coupling)
    labels: Tensor = cut_grids(fields, couplings).reshape(unary.shape)
    return labels


@torch.no_grad()
def max_marginals(unary: Tensor, coupling: Tensor | float) -> Tensor:
    """``max_(h_i = 1) <s, phi(h)> - max_(h_i = 0) <s, phi(h)>`` of each pixel i, in the shape of ``unary``.

    It is how sure the most probable labeling is of the pixel: above 0 where its label is 1, and ``unary`` itself where
    couplings are 0. So it may be ranked, or compared with a threshold. Exact, by minimum cuts on the
    host, one for each pixel in the worst case: where couplings are large beside the unary potentials it takes long. For
    potentials in half precision it is a float32.
    """
    fields, couplings = as_potentials(unary, coupling)
    found: Tensor = max_marginals_of_grids(fields, couplings).reshape(unary.shape)
    return found


@torch.no_grad()
def marginals(
    unary: Tensor, coupling: Tensor | float, samples: int = 100, *, random_state: RandomState = None
) -> Tensor:
    """``mean over z of argmax_h [<z, h> + <s, phi(h)>]``: how often each pixel is positive, in the shape of ``unary``.

    These are the probabilities by which :class:`setwise.torch.LogSupermodularLoss` trains, for logistic noise z; where
    couplings are above 0, they are no marginals of p itself. Samples come in pairs of opposite noise, each is a minimum
    cut, found on the host. ``random_state`` is that of the loss. For potentials in half precision it
    is a float32.
    """
    count = as_count(samples, "samples", low=2)
    fields, couplings = as_potentials(unary, coupling)
    shares: Tensor = perturb_grids(fields, couplings, Seeds(random_state)(), count).reshape(unary.shape)
    return shares
