"""The logarithm of the sum over all labelings, and the probabilities of single labels, exactly."""

import numpy as np
from scipy.special import logsumexp

from setwise.core.checks import as_count, as_kind
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.core.pages import DISTRIBUTIONS
from setwise.probabilistic.bounds.elimination import Elimination, Factor, min_fill
from setwise.probabilistic.bounds.l_field import EXAMPLE
from setwise.probabilistic.bounds.log_partition import LogPartition, certain
from setwise.probabilistic.log_supermodular import LogSupermodular

ENUMERATED = 20
"""Up to so many labels all labelings are listed."""


def exact(model: LogSupermodular, max_width: int = 21) -> LogPartition:
    """``A(f) = log sum_y exp(-f(y))``, and the marginals ``p(y_i = 1)`` (LSM 2.2).

    Up to 20 labels by enumeration, O(2^p). Otherwise by elimination of one label after another (Dechter 1999), for cuts
    whose graph is narrow: O(p 2^width) in time and memory for the width of the min-fill order, that is 8 bytes times
    ``2^(width + 1)`` for a table.

    Parameters
    ----------
    model : the distribution
    max_width : the largest width that is tried

    Returns
    -------
    bound : A(f) itself but for rounding

    Raises
    ------
    ValueError, TypeError : for anything but a model, and a width below 1
    Refusal : for wider graphs, and for other terms than cuts on more than 20 labels

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodular, exact
    >>> found = exact(LogSupermodular([Cut(2, [[0, 1]])], unary=[1.0, 0.0]))
    >>> print(round(found.value, 6), found.marginals.round(3))
    1.626523 [0.731 0.607]
    >>> print(round(np.log(1 + np.exp(1 - 1) + np.exp(0 - 1) + np.exp(1)), 6))  # labels 00, 10, 01 and 11
    1.626523
    """
    as_kind(model, "model", LogSupermodular, EXAMPLE)
    most = as_count(max_width, "max_width")
    if model.total <= ENUMERATED:
        return _enumerated(model)
    pairs = model.pairwise
    if pairs is None:
        raise Refusal(
            f"exact refuses {model!r}: only cuts are summed exactly beyond {ENUMERATED} labels. Use l_field.",
            DISTRIBUTIONS,
        )
    edges, weights = pairs.active
    order, width = min_fill(edges, model.total, most)
    if width > most:
        raise Refusal(
            f"exact refuses {model!r}: its graph has a width above {most}. Use l_field or tree_reweighted.",
            DISTRIBUTIONS,
        )
    factors = [Factor((i,), np.array([0.0, t])) for i, t in enumerate(model.scores.tolist())]
    factors += [
        Factor((a, b), np.array([[0.0, -w], [-w, 0.0]]))
        for (a, b), w in zip(edges.tolist(), weights.tolist(), strict=True)
    ]
    found = Elimination(factors, order)
    return certain(found.log_z, "exact", found.marginals())


def _enumerated(model: LogSupermodular) -> LogPartition:
    """By all labelings, a block after another."""
    p, low = model.total, min(model.total, 12)
    # The first labels change slowest: each block fixes them.
    inner, logs, ones = subsets(low), [], []
    for outer in subsets(p - low) if p > low else [np.zeros(0, dtype=bool)]:
        rows = np.hstack([np.tile(outer, (len(inner), 1)), inner])
        values = -model.values(rows)
        logs.append(float(logsumexp(values)))
        ones.append(np.exp(values - values.max()) @ rows * np.exp(values.max() - logs[-1]))
    total = float(logsumexp(logs))
    return certain(total, "exact", np.exp(np.array(logs) - total) @ np.array(ones))
