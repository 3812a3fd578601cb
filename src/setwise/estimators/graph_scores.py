"""How good the labels of graphs are, image by image and together."""

from dataclasses import dataclass, field
from typing import final

from setwise.core.checks import Values


@final
@dataclass(frozen=True, eq=False)
class GraphScores:
    """One minus the loss of predicted labels.

    Attributes
    ----------
    score : one minus the mean loss over the sets: the graphs, or the groups of graphs
    pooled : one minus the loss of all graphs together as one set
    scores : (n,) one minus the loss of each set, in the order of the graphs or of the sorted ids of groups
    predicted, true : the shares of the nodes with known labels, or of their areas, that are predicted positive and that
        are positive; nan with more than two labels
    """

    score: float
    pooled: float
    scores: Values = field(repr=False)
    predicted: float
    true: float
