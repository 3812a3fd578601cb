"""The result of a decision: a labeling of each set, its expected loss, and a bound of the least one."""

from dataclasses import dataclass
from typing import final

from setwise.core.arrays import Bools, Values


@final
@dataclass(frozen=True, eq=False)
class Decision:
    """Labelings with ``bounds <= least expected loss <= values``; equal, up to rounding, where ``exact``.

    Parameters
    ----------
    labels : bool, of the shape of the probabilities
    values : (n,) the expected loss of the labeling of each set
    bounds : (n,) a lower bound of the least expected loss of any labeling of the set
    exact : (n,) bool, whether no labeling has a smaller expected loss
    """

    labels: Bools
    values: Values
    bounds: Values
    exact: Bools
