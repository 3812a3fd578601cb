"""The promises that a loss makes about its set function of mistakes."""

from enum import Enum


class Trait(Enum):
    """One promise about ``l_y(A)``, for every ground truth ``y``; tests check each by enumeration.

    Traits decide which surrogates and methods of inference take a loss. :func:`setwise.describe` looks at those of a
    loss for one target.

    Examples
    --------
    >>> from setwise.losses import FBeta, Jaccard, Trait
    >>> Trait.SUBMODULAR in Jaccard().traits, Trait.SUBMODULAR in FBeta().traits
    (True, False)
    >>> Trait.SUBMODULAR.value
    'submodular: the gain of a mistake shrinks as mistakes gather (LH Eq. 7)'
    """

    INCREASING = "increasing: l(A) <= l(A + i) (LH Eq. 8)"
    SUBMODULAR = "submodular: the gain of a mistake shrinks as mistakes gather (LH Eq. 7)"
    SUPERMODULAR = "supermodular: the gain of a mistake grows as mistakes gather"
    MODULAR = "modular: a sum of one cost per mistake"
    COUNTS = "depends on the counts (fn, fp, P, N) alone"
    CARDINALITY = "depends on the number of mistakes alone"
    LABEL_FREE = "depends on which decisions are wrong, not on their labels"

    # Each member is one object, so its identity is a valid hash; Enum would hash the name instead, which is slow.
    __hash__ = object.__hash__


SHAPES = (Trait.INCREASING, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR)
"""The traits of the shape of a set function; the others say what it depends on."""

CURVATURES = frozenset({Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR})
"""The traits of every modular function, whether it increases or not."""
