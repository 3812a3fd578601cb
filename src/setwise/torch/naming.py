"""The names of losses in PyTorch: those of setwise, and those that measures have where images are segmented."""

from setwise.core.measure import Loss
from setwise.losses import as_loss
from setwise.losses.named import SYNONYMS


def named(loss: Loss | str) -> Loss:
    """The loss itself, or the loss of this name, which is also ``"iou"`` for Jaccard and ``"dice"`` for F1."""
    return as_loss(SYNONYMS.get(loss, loss) if isinstance(loss, str) else loss)
