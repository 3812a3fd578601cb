"""The result of a decision: a labeling of each set, its expected loss, and a bound of the least one."""

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import NDArray

from setwise.core.checks import Bools, Values


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

    Examples
    --------
    >>> from setwise.decisions import least_expected_loss
    >>> found = least_expected_loss([0.6, 0.4], "f1")
    >>> found.labels.tolist(), found.values.round(2).tolist(), found.exact.tolist()
    ([True, True], [0.41], [True])
    """

    labels: NDArray[Any]
    values: Values
    bounds: Values
    exact: Bools


@final
@dataclass(frozen=True, eq=False)
class DecisionInPieces:
    """A labeling of one set that lies in several places, with ``bound <= least expected loss <= value``.

    Parameters
    ----------
    threshold : larger probabilities are predicted positive
    ties : how many of the probabilities that equal the threshold are predicted, the first ones in the order of the
        places; None predicts all of them
    size : the number of decisions that are predicted positive
    value : the expected loss of this labeling; where its distribution would take too long, a bound above it
    bound : a lower bound of the least expected loss of any labeling
    certified : whether ``value - bound`` is at most the tolerance that was asked for
    labels : the labeling at its places, where it was asked for

    Examples
    --------
    On a cluster :func:`setwise.dask.least_expected_loss` returns one; its fields say the same of a set that is at hand:

    >>> from setwise.decisions import DecisionInPieces
    >>> found = DecisionInPieces(threshold=0.4, ties=None, size=2, value=0.41, bound=0.41, certified=True)
    >>> (np.array([0.6, 0.4]) >= found.threshold).sum().item() == found.size
    True
    """

    threshold: float
    ties: int | None
    size: int
    value: float
    bound: float
    certified: bool
    labels: Any = None
