"""A synthetic problem of early detection in a sequence (LH 6.1, Fig. 3)."""

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_count, as_random_state

EARLY = 2.5 * np.array([0.0, 1.0])
"""Mean of positives in the first third of a bag."""

LATE = 4.0 * np.array([np.cos(np.deg2rad(-20.0)), np.sin(np.deg2rad(-20.0))])
"""Mean of positives in the rest of it."""


def early_stage(p: int = 15) -> NDArray[np.bool_]:
    """Which of the ``p`` places of a bag, in time order, lie in its early stage, the first third; (p,) bool."""
    return np.arange(p) < -(-p // 3)


def early_detection(
    n_bags: int = 1000, p: int = 15, random_state: int | np.random.Generator | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Bags of ``p`` samples of the plane in time order, each positive with probability 1/2.

    Negatives come from ``N(0, I)`` at all times. Early positives (the first third of a bag) come from ``N((0, 2.5),
    I)``, near the negatives and above them; late positives from ``N(4 (cos -20°, sin -20°), I)``, farther away and to
    the right. LH gives no numbers for its Fig. 3; these show what it shows. Two thirds of the positives are late, so
    the line with the fewest mistakes leans to the right, where early positives are missed. A loss that counts early
    mistakes (:class:`setwise.losses.EarlyDetection`) asks for a line that lies almost flat below the early ones. The
    two lines differ in direction: to move the first one in parallel, as the tuning of a threshold does, cannot turn
    it into the second.

    Parameters
    ----------
    n_bags, p : numbers of bags and of samples in each, >= 1
    random_state : seed or numpy Generator

    Returns
    -------
    X : (n_bags * p, 2) float64, bag after bag, in time order
    y : (n_bags * p,) int64, 0 or 1
    groups : (n_bags * p,) int64, the number of the bag
    """
    n_bags, p = as_count(n_bags, "n_bags"), as_count(p, "p")
    rng = np.random.default_rng(as_random_state(random_state))
    labels = rng.random((n_bags, p)) < 0.5
    X = rng.normal(size=(n_bags, p, 2))
    X += np.where(early_stage(p)[:, None], EARLY, LATE) * labels[:, :, None]
    return X.reshape(-1, 2), labels.ravel().astype(np.int64), np.repeat(np.arange(n_bags), p)
