"""A synthetic problem of early detection in a sequence (LH 6.1, Fig. 3)."""

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_count, as_random_state

EARLY = 2.5 * np.array([0.0, 1.0])
"""The mean of positives in the first third of a bag."""

LATE = 4.0 * np.array([np.cos(np.deg2rad(-20.0)), np.sin(np.deg2rad(-20.0))])
"""The mean of positives in the rest of a bag."""


def early_stage(p: int = 15) -> NDArray[np.bool_]:
    """A mask of the early stage of a bag of ``p`` samples in time order: the first third, (p,) bool."""
    # The third is rounded up, so that no bag lacks an early stage.
    return np.arange(p) < -(-p // 3)


def early_detection(
    n_bags: int = 1000, p: int = 15, random_state: int | np.random.Generator | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Draw bags of ``p`` samples of the plane in time order, each of them positive with probability 1/2.

    Negatives come from ``N(0, I)`` at all times. Early positives (the first third of a bag) come from ``N((0, 2.5),
    I)``, near the negatives and above them; late positives from ``N(4 (cos -20°, sin -20°), I)``, farther away and to
    the right. LH gives no numbers for its Fig. 3; the numbers here reproduce what the figure shows. Two thirds of the
    positives are late, so the line with the fewest mistakes leans to the right and misses early positives. A loss that
    counts early mistakes (:class:`setwise.losses.EarlyDetection`) asks for a line that lies almost flat below the
    early positives. The two lines differ in direction, so the tuning of a threshold, which moves a line in parallel,
    cannot turn the first line into the second.

    Source: LH 6.1.

    Parameters
    ----------
    n_bags, p : the number of bags and the number of samples in each, >= 1
    random_state : a seed or a numpy Generator

    Returns
    -------
    X : (n_bags * p, 2) float64, bag after bag, in time order
    y : (n_bags * p,) int64, 0 or 1
    groups : (n_bags * p,) int64, the index of the bag

    Raises
    ------
    TypeError, ValueError : if a number is no whole one of 1 or above, or random_state is no seed

    Examples
    --------
    >>> from setwise.datasets import early_detection
    >>> X, y, groups = early_detection(n_bags=2, p=3, random_state=0)
    >>> X.shape, groups.tolist()
    ((6, 2), [0, 0, 0, 1, 1, 1])
    """
    n_bags, p = as_count(n_bags, "n_bags"), as_count(p, "p")
    rng = np.random.default_rng(as_random_state(random_state))
    labels = rng.random((n_bags, p)) < 0.5
    X = rng.normal(size=(n_bags, p, 2))
    # Negatives have mean 0; the mean of a positive depends on its stage.
    X += np.where(early_stage(p)[:, None], EARLY, LATE) * labels[:, :, None]
    return X.reshape(-1, 2), labels.ravel().astype(np.int64), np.repeat(np.arange(n_bags), p)
