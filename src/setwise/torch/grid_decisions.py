"""What potentials of grids say of pixels: the most probable labeling, how sure it is, and shares of labelings."""

import torch
from torch import Tensor

from setwise.core.checks import as_count
from setwise.torch.grid_operators import cut_grids, max_marginals_of_grids, perturb_grids
from setwise.torch.grids import RandomState, Seeds, as_potentials


@torch.no_grad()
def most_probable(unary: Tensor, coupling: Tensor | float) -> Tensor:
    """``argmax_h sum_i u_i h_i + sum_(i,j) c_ij [h_i = h_j]`` of each image: bools in the shape of ``unary``.

    It is exact, a minimum cut, found on the host; of several best labelings it is that of fewest positives, as far as
    sums in float64 tell them apart. The labelings are nested in a bias: ``most_probable(unary + b, coupling)`` has no
    fewer positives for a larger b, so that b may be tuned as a threshold is.

    Source: own; compared with the enumeration of all labelings in tests/pytorch/test_grids.py.

    Parameters
    ----------
    unary, coupling : (N, H, W) and (N, 2, H, W), see :meth:`setwise.torch.GridCriterion.forward`

    Returns
    -------
    labels : bool, in the shape of ``unary``

    Raises
    ------
    ValueError : for couplings below 0, shapes that do not fit, and potentials that are not finite
    TypeError : for what is no tensor of floats

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import most_probable
    >>> unary = torch.tensor([[2.0, -1.0, 1.0]])
    >>> most_probable(unary, 0.4).tolist()  # label 1 of the second: -1 + 2 * 0.4 < 0
    [[True, False, True]]
    >>> most_probable(unary, 0.6).tolist()
    [[True, True, True]]
    """
    return cut_grids(*as_potentials(unary, coupling)).reshape(unary.shape)


@torch.no_grad()
def max_marginals(unary: Tensor, coupling: Tensor | float) -> Tensor:
    """``max_(h_i = 1) <s, phi(h)> - max_(h_i = 0) <s, phi(h)>`` of each pixel i, in the shape of ``unary``.

    It is how sure the most probable labeling is of the pixel: above 0 where its label is 1, and ``unary`` itself where
    couplings are 0. So it may be ranked, or compared with a threshold. Exact, by minimum cuts on the
    host, one for each pixel in the worst case: where couplings are large beside the unary potentials it takes long.

    Source: own; compared with the enumeration of all labelings in tests/pytorch/test_grids.py.

    Parameters
    ----------
    unary, coupling : (N, H, W) and (N, 2, H, W), see :meth:`setwise.torch.GridCriterion.forward`

    Returns
    -------
    margins : floats in the shape of ``unary``, in the unit of the potentials; float32 where these are in half precision

    Raises
    ------
    ValueError : for couplings below 0, shapes that do not fit, and potentials that are not finite
    TypeError : for what is no tensor of floats

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import max_marginals
    >>> found = max_marginals(torch.tensor([[2.0, -1.0, 1.0]]), 0.6)
    >>> [round(margin, 3) for margin in found[0].tolist()]  # the second: -1 + 2 * 0.6
    [1.6, 0.2, 0.6]
    """
    return max_marginals_of_grids(*as_potentials(unary, coupling)).reshape(unary.shape)


@torch.no_grad()
def marginals(
    unary: Tensor, coupling: Tensor | float, samples: int = 100, *, random_state: RandomState = None
) -> Tensor:
    """``mean over z of argmax_h [<z, h> + <s, phi(h)>]``: how often each pixel is positive, in the shape of ``unary``.

    These are the probabilities by which :class:`setwise.torch.LogSupermodularLoss` trains, for logistic noise z; where
    couplings are above 0, they are no marginals of p itself. Samples come in pairs of opposite noise, each is a minimum
    cut, found on the host (LSM 3.4).

    Parameters
    ----------
    unary, coupling : (N, H, W) and (N, 2, H, W), see :meth:`setwise.torch.GridCriterion.forward`
    samples : the number of minimum cuts of each image, 2 or more
    random_state : as that of :class:`setwise.torch.LogSupermodularLoss`: None, an int, or a ``torch.Generator``

    Returns
    -------
    shares : from 0 to 1, in the shape of ``unary``; float32 where the potentials are in half precision

    Raises
    ------
    ValueError : for couplings below 0, shapes that do not fit, potentials that are not finite, and samples below 2
    TypeError : for what is no tensor of floats, no number of samples, or no such ``random_state``

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import marginals
    >>> unary = torch.tensor([[2.0, -1.0, 1.0]])
    >>> alone, held = (marginals(unary, c, samples=2000, random_state=0) for c in (0.0, 1.0))
    >>> bool((alone - torch.sigmoid(unary)).abs().max() < 0.05)  # without couplings it is the sigmoid
    True
    >>> bool(held[0, 1] > alone[0, 1])  # the neighbors of the second pixel are likely to be positive
    True
    """
    count = as_count(samples, "samples", low=2)
    fields, couplings = as_potentials(unary, coupling)
    return perturb_grids(fields, couplings, Seeds(random_state)(), count).reshape(unary.shape)
