"""The lower bound by independent labels."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import Values, as_count, as_kind, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.pages import DISTRIBUTIONS
from setwise.kernels.count_partition import climb, number_of_ones
from setwise.kernels.networks import arcs
from setwise.probabilistic.bounds.l_field import EXAMPLE
from setwise.probabilistic.bounds.log_partition import LogPartition, certain, entropy
from setwise.probabilistic.bounds.superdifferential import best_touching, rounded_down
from setwise.probabilistic.log_supermodular import LogSupermodular

CLOSE = 1e-13
"""The ascent ends where a sweep gains no more than this share."""


def mean_field(model: LogSupermodular, start: ArrayLike | None = None, max_iter: int = 1000) -> LogPartition:
    """``max_q H(q) - E_q f``, the lower bound by independent labels of probabilities q, climbed label by label.

    It begins at the independent labels of :func:`superdifferential`, and is never below that bound. A sweep sets each
    ``q_j = 1 / (1 + exp(E f(y_j = 1) - E f(y_j = 0)))``. It ends at a local maximum
    (Wainwright and Jordan 2008, section 5.3).

    Parameters
    ----------
    model : a distribution of cuts and concave functions of the size; others are refused
    start : (p,) the probabilities to begin with, 0 to 1
    max_iter : the most sweeps

    Returns
    -------
    bound : a lower bound of A(f)

    Raises
    ------
    ValueError, TypeError : for anything but a model, a start that is no (p,) probabilities, and ``max_iter`` below 1
    Refusal : for other terms than cuts and concave functions of the size

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodular, exact, mean_field
    >>> model = LogSupermodular([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> found = mean_field(model)
    >>> print(found.kind, round(found.value, 3), found.marginals.round(3), round(exact(model).value, 3))
    lower 1.539 [0.781 0.637] 1.627
    """
    as_kind(model, "model", LogSupermodular, EXAMPLE)
    as_count(max_iter, "max_iter")
    if model.table is None:
        raise Refusal(
            f"mean_field refuses {model!r}: the mean of a set function over independent labels has no closed form. "
            "Use superdifferential.",
            DISTRIBUTIONS,
        )
    touching = best_touching(model) if start is None else None
    # Where the ascent begins at that bound it ends nowhere below it, rounding included.
    floor = -np.inf if touching is None else rounded_down(model, touching.bound)
    q = as_reals(start, "start", (model.total,)) if touching is None else touching.probabilities
    if (q < 0.0).any() or (q > 1.0).any():
        raise ValueError(f"start must be probabilities; got {q.min():.4g} to {q.max():.4g}.")
    (edges, cuts), table = model.cuts.active, model.table
    network, places = arcs(edges, model.total)
    weights = np.zeros(len(network.heads))
    weights[places] = cuts[:, None]
    heights = table if table.any() else np.zeros(0)
    value, q = _bound(model, q), np.array(q)
    for _ in range(max_iter):
        before, last = value, q.copy()
        climb(network, weights, model.scores, heights, q)
        value = _bound(model, q)
        if value - before <= CLOSE * (1.0 + abs(value)):
            break
    # A sweep at the end of the ascent may lose by rounding.
    best, q = (value, q) if value >= before else (before, last)
    return certain(max(rounded_down(model, best), floor), "lower", q)


def _bound(model: LogSupermodular, q: Values) -> float:
    """``H(q) - E_q f``."""
    (edges, weights), table = model.cuts.active, model.table
    a, b = q[edges].T
    mean = float(weights @ (a * (1.0 - b) + b * (1.0 - a)) - model.scores @ q)
    if table is not None and table.any():
        pmf = np.empty(model.total + 1)
        number_of_ones(q, -1, pmf)
        mean += float(pmf @ table)
    return entropy(q) - mean
