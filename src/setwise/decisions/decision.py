"""The result of a decision: a labeling of each set, its expected loss, and a bound of the least one."""

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import NDArray

from setwise.core.arrays import Bools, Values


@final
@dataclass(frozen=True, eq=False)
class Decision:
    """Labelings with ``bounds <= least expected loss <= values``; equal, up to rounding, where ``exact``.

    Parameters
    ----------
    labels : bool, of the shape of the probabilities; whole numbers where classes are decided
    values : (n,) the expected loss of the labeling of each set
    bounds : (n,) a lower bound of the least expected loss of any labeling of the set
    exact : (n,) bool, whether no labeling has a smaller expected loss
    """

    labels: NDArray[Any]
    values: Values
    bounds: Values
    exact: Bools
