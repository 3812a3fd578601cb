"""Losses of areas for the labels of which they are losses, and for some of the sets of their batch."""

from dataclasses import replace

from setwise.core.batch import Batch
from setwise.core.checks import Ints, Values
from setwise.core.loss import Loss
from setwise.losses.combinations import AreaWeighted, MeanOverClasses, OneClass


def with_areas(loss: Loss, areas: Values) -> Loss:
    """The loss of areas in place of counts, for the labels of which it is a loss; ``areas`` are those of one batch."""
    if isinstance(loss, MeanOverClasses | OneClass):
        return replace(loss, loss=with_areas(loss.loss, areas))
    return AreaWeighted(loss, areas)


def part_of(loss: Loss, batch: Batch, parts: Ints) -> Loss:
    """The loss for the chosen sets of its batch."""
    if isinstance(loss, MeanOverClasses | OneClass):
        return replace(loss, loss=part_of(loss.loss, batch, parts))
    if isinstance(loss, AreaWeighted) and len(loss.areas) == batch.total:
        return AreaWeighted(loss.loss, loss.areas[batch.decisions(parts)])
    return loss
