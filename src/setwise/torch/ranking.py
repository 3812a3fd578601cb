"""Losses of the order of the logits: the area under the ROC curve, and average precision."""

from collections.abc import Sequence
from typing import Unpack, final

from torch import Tensor

from setwise.losses import AveragePrecision, RocArea
from setwise.surrogates import MarginRescaling
from setwise.torch.arguments import Arguments, Classes, Empty, Mode
from setwise.torch.criterion import Criterion
from setwise.torch.gathering import Sync
from setwise.torch.reducing import Options, Reduction
from setwise.torch.surrogate_form import SurrogateForm


@final
class RocAreaLoss(Criterion):
    """``mean over pairs of (1 - s_i + s_j)_+`` of a positive i and a negative j: margin rescaling of 1 - AUC.

    Joachims (2005). It is computed on the host, also for tensors of an accelerator, in O(p log p). Sets of one class
    have no pairs, and cost 0. For the arguments see :class:`setwise.torch.arguments.Arguments` and
    :class:`setwise.torch.Criterion`.
    """

    def __init__(
        self,
        mode: Mode = "binary",
        *,
        ignore_index: int | None = None,
        per_image: bool = False,
        classes: Classes = "present",
        include_background: bool = True,
        class_weight: Sequence[float] | Tensor | None = None,
        empty: Empty | None = None,
        reduction: Reduction = "mean",
        sync: Sync | None = None,
    ) -> None:
        arguments = Arguments(mode, ignore_index, per_image, classes, include_background, empty)
        loss = arguments.of(RocArea())
        super().__init__(SurrogateForm(MarginRescaling(loss), loss), arguments, class_weight, reduction, sync)


@final
class AveragePrecisionLoss(Criterion):
    """``max over rankings of 1 - AP + score - score of the perfect ranking``: margin rescaling of average precision.

    Yue, Finley, Radlinski and Joachims (2007). It is computed on the host, also for tensors of an accelerator. Sets of
    one class cost 0. For the arguments see :class:`setwise.torch.arguments.Arguments` and
    :class:`setwise.torch.Criterion`.
    """

    def __init__(
        self,
        mode: Mode = "binary",
        *,
        ignore_index: int | None = None,
        per_image: bool = False,
        classes: Classes = "present",
        include_background: bool = True,
        class_weight: Sequence[float] | Tensor | None = None,
        empty: Empty | None = None,
        reduction: Reduction = "mean",
        sync: Sync | None = None,
    ) -> None:
        arguments = Arguments(mode, ignore_index, per_image, classes, include_background, empty)
        loss = arguments.of(AveragePrecision())
        super().__init__(SurrogateForm(MarginRescaling(loss), loss), arguments, class_weight, reduction, sync)


def roc_area_loss(
    logits: Tensor, target: Tensor, mode: Mode = "binary", *, mask: Tensor | None = None, **options: Unpack[Options]
) -> Tensor:
    """The same as ``RocAreaLoss(mode, **options)(logits, target, mask)``."""
    value: Tensor = RocAreaLoss(mode, **options)(logits, target, mask)
    return value


def average_precision_loss(
    logits: Tensor, target: Tensor, mode: Mode = "binary", *, mask: Tensor | None = None, **options: Unpack[Options]
) -> Tensor:
    """The same as ``AveragePrecisionLoss(mode, **options)(logits, target, mask)``."""
    value: Tensor = AveragePrecisionLoss(mode, **options)(logits, target, mask)
    return value
