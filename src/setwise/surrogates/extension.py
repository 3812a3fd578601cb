"""The extension property of surrogates, and the scale at which margin rescaling has it (LH section 3)."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.checks import Values, as_number, shown
from setwise.core.enumerate import LIMIT, subsets, table
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import WHICH_SURROGATE
from setwise.losses import as_loss
from setwise.surrogates.lovasz_hinge import LovaszHinge
from setwise.surrogates.ramp import Ramp
from setwise.surrogates.rescaling import MarginRescaling, SlackRescaling


def is_extension(
    surrogate: LovaszHinge | MarginRescaling | SlackRescaling | Ramp, y: ArrayLike, tolerance: float = 1e-9
) -> bool:
    """Whether the surrogate equals its loss at all ``2^p`` vertices ``u = 1 - s (2y - 1) in {0, 1}^p`` (LH Def. 3).

    Parameters
    ----------
    surrogate : a surrogate of a loss of labels 0 and 1
    y : the true labels of one set, (p,) of 0 and 1 with p <= 16; or a number p of decisions, and then every labeling of
        p decisions is tried as the truth
    tolerance : by how much values may differ, at least 0

    Returns
    -------
    bool : whether values and upper bounds agree with the loss at all vertices

    Raises
    ------
    TypeError : for a surrogate that has no loss
    ValueError : for labels that are not 0 and 1, for more than 16 decisions, or a tolerance below 0
    Refusal : for losses of a ranking or of several classes

    Examples
    --------
    >>> from setwise.losses import ZeroOne
    >>> from setwise.surrogates import LovaszHinge, MarginRescaling, is_extension
    >>> is_extension(LovaszHinge(2.0 * ZeroOne()), 3)
    True
    >>> is_extension(MarginRescaling(2.0 * ZeroOne()), 3)  # one mistake costs more than 1
    False
    """
    if not isinstance(surrogate, LovaszHinge | MarginRescaling | SlackRescaling | Ramp):
        raise TypeError(
            f"surrogate must be a surrogate of a loss, such as LovaszHinge('jaccard'); got {shown(surrogate)}."
        )
    _check_labels(surrogate.loss, "is_extension")
    as_number(tolerance, "tolerance", low=0.0)
    if isinstance(y, int | np.integer) and not isinstance(y, bool):
        if not 1 <= y <= LIMIT:
            raise ValueError(f"y must be 1 to {LIMIT} decisions to be enumerated; got {y}.")
        return all(is_extension(surrogate, row, tolerance) for row in subsets(int(y)))
    truth = _small(y)
    # At a vertex a right decision is on its margin, with the error 0, and a wrong one has the score 0 and the error 1.
    masks = subsets(len(truth))
    scores = np.where(masks, 0.0, np.where(truth, 1.0, -1.0))
    found = surrogate.batch(Sets.rows(np.broadcast_to(truth, masks.shape)), scores.ravel())
    expected = table(surrogate.loss, truth)
    # Value and bound must both agree, so an inexact surrogate is not called tight by chance.
    return all(np.allclose(seen, expected, atol=tolerance) for seen in (found.values, found.upper))


def margin_scale(loss: Loss | str, y: ArrayLike) -> float:
    """The largest g for which margin rescaling of ``g * loss`` is an extension (LH Prop. 2); inf if it is for every g.

    It is the minimum of ``|I1 - I2| / (l(I1) - l(I2))`` over all sets of mistakes ``I1, I2`` with ``l(I1) > l(I2)``.
    The empty set is one of them, since no labeling may have a larger sum at its vertex either. For an increasing loss
    the minimum is 1 / (the largest gain of one mistake). Other losses have no such g, and the result is 0. O(2^p p).

    Parameters
    ----------
    loss : a loss of labels 0 and 1, or the name of one
    y : the true labels of one set, (p,) of 0 and 1 with p <= 16

    Returns
    -------
    float : g, from 0 to inf

    Raises
    ------
    TypeError : for anything but a loss or text
    ValueError : for a name that no loss has, for labels that are not 0 and 1, or more than 16 of them
    Refusal : for losses of a ranking or of several classes

    Examples
    --------
    >>> from setwise.losses import ZeroOne
    >>> from setwise.surrogates import MarginRescaling, is_extension, margin_scale
    >>> steep = 4.0 * ZeroOne()
    >>> margin_scale(steep, [1, 0, 0])
    0.25
    >>> is_extension(MarginRescaling(steep, scale=0.25), [1, 0, 0])
    True
    """
    loss, truth = as_loss(loss), _small(y)
    _check_labels(loss, "margin_scale")
    masks = subsets(len(truth))
    rows = Sets.rows(np.broadcast_to(truth, masks.shape))
    gains: Values = loss.bind(rows).marginals(masks.ravel() ^ rows.truth)
    # A gain below 0, but for rounding, shows that the loss does not increase.
    if gains.min() < -1e-12 * np.abs(gains).max():
        return 0.0
    return float(1.0 / gains.max()) if gains.max() > 0 else np.inf


def _check_labels(loss: Loss, name: str) -> None:
    """Raise Refusal for losses that do not read labels 0 and 1; ``name`` is the function that asks."""
    if loss.reads != "labels":
        raise Refusal(
            f"{name} refuses {loss!r}: it reads a ranking or several classes, not a set of mistakes.",
            WHICH_SURROGATE,
        )


def _small(y: ArrayLike) -> np.ndarray:
    """``y`` as a mask, if it has few enough decisions for an enumeration."""
    truth = Sets.single(y, "y").truth
    if len(truth) > LIMIT:
        raise ValueError(f"y must have at most {LIMIT} decisions to be enumerated; got {len(truth)}.")
    return truth
