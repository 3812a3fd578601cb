"""What methods of inference return: labelings with their values and bounds."""

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import NDArray

from setwise.core.arrays import Bools, Values


@final
@dataclass(frozen=True, eq=False)
class Solutions:
    """The best labelings of all sets that were found, where ``values <= maximum <= bounds`` for each set.

    Attributes
    ----------
    labels : (total,), bool for labels 0 and 1, else whole numbers
    values : (n,), those of the labelings
    bounds : (n,), no labeling of the set has a larger value
    exact : (n,) truth values: where True, value and bound agree up to rounding

    Examples
    --------
    >>> from setwise.core.sets import Sets
    >>> from setwise.inference import Auto
    >>> from setwise.losses import Hamming
    >>> two_sets = Sets(np.array([True, False, True]), offsets=np.array([0, 2, 3]))
    >>> found = Auto().prepare(Hamming().structure(two_sets)).maximize([3.0, 0.5, -1.0])
    >>> print(found.labels, found.values, found.bounds, found.exact)
    [ True  True False] [1.5 2. ] [1.5 2. ] [ True  True]
    """

    labels: NDArray[Any]
    values: Values
    bounds: Values
    exact: Bools


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """One labeling of one set, where ``value <= maximum <= bound``.

    Attributes
    ----------
    labels : (p,), bool for labels 0 and 1, else whole numbers
    value : that of the labeling
    bound : no labeling has a larger value
    exact : whether value and bound agree up to rounding
    status : the method that found it, in words

    Examples
    --------
    >>> from setwise import loss_augmented_inference
    >>> found = loss_augmented_inference("hamming", [1, 0], [3.0, 0.5])
    >>> print(found.labels, found.value, found.bound, found.status)  # 1 + 3 + 0.5
    [ True  True] 4.5 4.5 Modular: exact
    """

    labels: NDArray[Any]
    value: float
    bound: float
    exact: bool
    status: str = ""
