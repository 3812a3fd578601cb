"""Decisions for labels that depend on each other, from samples of the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import Bools, Values, as_array, as_bools, as_weights
from setwise.core.loss import Loss
from setwise.decisions.by_samples import of_any_loss, of_costs, of_counts
from setwise.decisions.decision import Decision
from setwise.decisions.formula import Formula, formula_of
from setwise.decisions.gfm import CELLS, least_affine
from setwise.decisions.lines import is_affine
from setwise.losses import as_loss


def least_expected_loss_of_samples(samples: ArrayLike, loss: Loss | str, weights: ArrayLike | None = None) -> Decision:
    """``argmin over h of sum_j w_j loss(samples_j, h)``, where the truth is sample j with probability w_j.

    The labels may depend on each other in any way. It is exact for sums of costs, and for losses that are affine in the
    true positives at each number predicted, as F_beta, MCC and the balanced error are: the k decisions of least weights
    are the best k (GFM, Dembczynski et al. 2011), in O(m p + p^2 (u + log p)) for u different numbers of positives.
    Other losses are enumerated for at most 16 decisions, or 12 if they are no functions of the counts. For more
    decisions a local search finds a labeling, with a lower bound that is 0 where nothing better is known.

    Parameters
    ----------
    samples : (m, p) of 0 and 1 for one set, as the predictions of the trees of a forest for the labels of a row; or
        (n, m, p) for n sets
    loss : any loss of labels 0 and 1, or its name
    weights : (m,) not negative; they are divided by their sum. None weighs all samples equally

    Returns
    -------
    Decision
        The labels, (p,) or (n, p), and for each set their expected loss and a lower bound of the least one

    Raises
    ------
    ValueError : for samples that are not 0 and 1 or of another shape, and weights that do not fit
    TypeError : for a loss of another kind

    Examples
    --------
    Either the first two labels are positive or the last two. The frequencies of the labels alone do not know that:

    >>> from setwise.decisions import least_expected_loss, least_expected_loss_of_samples
    >>> samples = np.array([[1, 1, 0, 0]] * 6 + [[0, 0, 1, 1]] * 4)
    >>> least_expected_loss_of_samples(samples, "zero_one").values.round(2).tolist()
    [0.4]
    >>> least_expected_loss(samples.mean(axis=0), "zero_one").values.round(2).tolist()
    [0.87]
    """
    given = as_array(samples, "samples")
    if given.ndim not in (2, 3) or given.size == 0:
        raise ValueError(f"samples must have shape (m, p) or (n, m, p), and not be empty; got shape {given.shape}.")
    truths = as_bools(given, "samples").reshape(-1, *given.shape[-2:])
    w, bound = _weights(weights, truths.shape[1]), as_loss(loss)
    formula = formula_of(bound, truths.shape[2])
    if formula is not None and is_affine(formula):
        labels, values = _of_lines(formula, truths, w)
        bounds = values
    else:
        found = [
            of_counts(formula, each, w)
            if formula is not None
            else of_costs(bound, each, w) or of_any_loss(bound, each, w)
            for each in truths
        ]
        labels = np.stack([each.labels for each in found])
        values, bounds = np.array([each.value for each in found]), np.array([each.bound for each in found])
    return Decision(labels[0] if given.ndim == 2 else labels, values, bounds, bounds >= values)


def _weights(weights: ArrayLike | None, m: int) -> Values:
    """The probabilities of the samples, (m,)."""
    if weights is None:
        return np.full(m, 1.0 / m)
    w = as_weights(weights)
    if w.shape != (m,) or w.sum() <= 0:
        raise ValueError(f"weights must have shape ({m},), one for each sample, and not all be 0; got {w.shape}.")
    return np.asarray(w / w.sum())


def _of_lines(formula: Formula, truths: Bools, w: Values) -> tuple[Bools, Values]:
    """The best labelings and their expected losses, (n, p) and (n,), for a loss that is affine in tp."""
    n, m, p = truths.shape
    numbers = truths.sum(axis=2)
    s = np.unique(numbers)
    labels, values = np.empty((n, p), dtype=bool), np.empty(n)
    rows = max(1, CELLS // (m * (p + len(s)) + p * len(s)))
    for a in range(0, n, rows):
        part = slice(a, a + rows)
        # The weight of each sample stands in the column of its number of positives.
        which = np.where(numbers[part, :, None] == s, w[:, None], 0.0)
        joint = truths[part].transpose(0, 2, 1).astype(np.float64) @ which
        labels[part], values[part] = least_affine(formula, joint, which.sum(axis=1), s)
    return labels, values
