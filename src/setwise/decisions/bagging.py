"""The mean of the best cuts of resamples: a threshold that follows the luck of a sample less than the best one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.checks import as_count, as_random_state
from setwise.core.loss import Loss
from setwise.decisions.resampling import resampling
from setwise.decisions.sweep import Threshold, as_sets, bound, sweep_all
from setwise.losses import as_loss

HILL = 3.0
"""How many times the optimism of the best threshold a bagged one may lose more than that on the scores themselves."""


def bagged_threshold(
    y: ArrayLike | Sets,
    scores: ArrayLike,
    loss: Loss | str,
    n_resamples: int = 100,
    random_state: int | np.random.Generator | None = 0,
) -> Threshold:
    """The cut nearest to ``mean_b argmin over k of the loss of resample b``, k decisions being predicted; O(b m).

    The loss of a few hundred positives is a jagged curve of the threshold, and its least point is partly luck. The mean
    over bootstrap resamples (bagging, Breiman 1996) is steadier, so that the loss on *new* scores is less on average,
    though not on these. Where the curve has two valleys their mean may lie on the hill between them: if the loss there
    is above the least one by more than luck explains, ``HILL`` times the optimism of
    :func:`~setwise.decisions.bootstrap_threshold`, the best threshold of these scores is taken.

    Decisions of unknown label have no loss; without any known one there is nothing to resample, and the best threshold
    is returned.

    Parameters
    ----------
    y : (p,) labels 0 and 1 of one set, or a batch of :class:`~setwise.core.Sets`
    scores : (p,) or flat (total,), finite; the larger, the more likely positive
    loss : a loss of labels, or its name; for a single set a function of counts
    n_resamples : how many resamples are drawn: of decisions for a single set, of whole sets where there are several
    random_state : the seed of the resamples, an int, a numpy Generator or None

    Returns
    -------
    Threshold
        The threshold with its loss on these scores, which is at least that of the best one; ``exact`` is then False

    Raises
    ------
    Refusal : for a single set, if the loss is no function of counts; and as in ``best_threshold``
    ValueError : for labels and scores that do not fit, and ``n_resamples`` below 1
    TypeError : for a loss, a number or a seed of another kind

    Examples
    --------
    >>> from setwise.decisions import bagged_threshold, best_threshold
    >>> y = np.arange(200) % 4 == 0
    >>> scores = y + np.random.default_rng(1).standard_normal(200)
    >>> best, bagged = best_threshold(y, scores, "f1"), bagged_threshold(y, scores, "f1")
    >>> print(f"best {best.threshold:.2f} ({best.loss:.2f}), bagged {bagged.threshold:.2f} ({bagged.loss:.2f})")
    best 0.90 (0.36), bagged 0.76 (0.40)
    """
    as_count(n_resamples, "n_resamples")
    loss, sets, rng = as_loss(loss), as_sets(y), np.random.default_rng(as_random_state(random_state))
    structure = bound(loss, sets, "bagged_threshold")
    swept = sweep_all(structure, scores)
    order, losses = swept.order, np.append(swept.start, swept.losses)
    if not len(order.items):
        return swept.best()[0]
    drawn = resampling(loss, structure, order).draw(n_resamples, rng)
    thresholds, least = np.array([resample.best() for resample in drawn]).T
    cuts, allowed, best = order.cuts_at(thresholds), order.allowed, swept.best()[0]
    bagged = int(allowed[np.abs(allowed - cuts.mean()).argmin()])
    optimism = float((losses[cuts] - least).mean())
    return swept.threshold(bagged) if losses[bagged] <= best.loss + HILL * optimism else best
