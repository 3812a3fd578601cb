"""Losses of the order of the logits: the area under the ROC curve, and average precision."""

from collections.abc import Sequence
from typing import Any, ClassVar, final

from torch import Tensor

from setwise.core.loss import Loss
from setwise.losses import AveragePrecision, RocArea
from setwise.surrogates import MarginRescaling
from setwise.torch.arguments import Arguments, Classes, Empty, Mode
from setwise.torch.criterion import Criterion, Reduction, functional
from setwise.torch.process_groups import Sync
from setwise.torch.rescaling import SurrogateForm


class _RankingCriterion(Criterion):
    """Margin rescaling of a loss of a ranking."""

    _loss: ClassVar[Loss]

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
        loss = arguments.of(self._loss)
        super().__init__(SurrogateForm(MarginRescaling(loss), loss), arguments, class_weight, reduction, sync)


@final
class RocAreaLoss(_RankingCriterion):
    """``mean over pairs of (1 - s_i + s_j)_+`` of a positive i and a negative j: margin rescaling of 1 - AUC.

    Joachims (2005). It is computed on the host, also for tensors of an accelerator, in O(p log p). Sets of one class
    have no pairs, and cost 0.

    Parameters
    ----------
    mode, ignore_index, per_image, classes, include_background, empty : what the channels mean, which decisions make a
        set, and which sets count; see :class:`setwise.torch.Arguments`
    class_weight, reduction, sync : a weight of each channel (C,), what is made of the values of the sets, and whether
        sets go over several processes; see :class:`setwise.torch.Criterion`

    Raises
    ------
    Refusal : for arguments that do not fit each other, and ``empty`` other than None and ``"ignore"``
    ValueError, TypeError, OverflowError : as :class:`setwise.torch.Criterion` says

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import RocAreaLoss
    >>> logits, target = torch.tensor([[2.0, 2.5, -1.0]]), torch.tensor([[1, 0, 0]])
    >>> RocAreaLoss()(logits, target).item()  # the wrong pair, (1 - 2 + 2.5) / 2
    0.75
    """

    _loss = RocArea()


@final
class AveragePrecisionLoss(_RankingCriterion):
    """``max over rankings of 1 - AP + score - score of the perfect ranking``: margin rescaling of average precision.

    Yue, Finley, Radlinski and Joachims (2007). It is computed on the host, also for tensors of an accelerator. Sets of
    one class cost 0.

    Parameters
    ----------
    mode, ignore_index, per_image, classes, include_background, empty : what the channels mean, which decisions make a
        set, and which sets count; see :class:`setwise.torch.Arguments`
    class_weight, reduction, sync : a weight of each channel (C,), what is made of the values of the sets, and whether
        sets go over several processes; see :class:`setwise.torch.Criterion`

    Raises
    ------
    Refusal : for arguments that do not fit each other, and ``empty`` other than None and ``"ignore"``
    ValueError, TypeError, OverflowError : as :class:`setwise.torch.Criterion` says

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import AveragePrecisionLoss
    >>> logits, target = torch.tensor([[2.0, 2.5, -1.0]]), torch.tensor([[1, 0, 0]])
    >>> AveragePrecisionLoss()(logits, target).item()  # the negative 2.5 first, 1/2 + (2.5 - 2) / 2
    0.75
    """

    _loss = AveragePrecision()


@functional(RocAreaLoss)
def roc_area_loss(logits: Tensor, target: Tensor, *given: Any, mask: Tensor | None = None, **options: Any) -> Tensor:
    """Margin rescaling of 1 - AUC (Joachims 2005), in one call of :class:`setwise.torch.RocAreaLoss`.

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import roc_area_loss
    >>> roc_area_loss(torch.tensor([[2.0, 0.5, -1.0]]), torch.tensor([[1, 0, 0]])).item()  # all pairs 1 apart or more
    0.0
    """
    return RocAreaLoss(*given, **options)(logits, target, mask)


@functional(AveragePrecisionLoss)
def average_precision_loss(
    logits: Tensor, target: Tensor, *given: Any, mask: Tensor | None = None, **options: Any
) -> Tensor:
    """Margin rescaling of 1 - AP (Yue et al. 2007), in one call of :class:`setwise.torch.AveragePrecisionLoss`.

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import average_precision_loss
    >>> average_precision_loss(torch.tensor([[2.0, 2.5, -1.0]]), torch.tensor([[1, 0, 0]])).item()
    0.75
    """
    return AveragePrecisionLoss(*given, **options)(logits, target, mask)
