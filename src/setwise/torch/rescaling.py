"""Margin rescaling, slack rescaling and the ramp of logits, for losses whose loss-augmented maximum is found."""

from collections.abc import Sequence
from typing import Unpack, final

from torch import Tensor

from setwise.core.measure import Loss
from setwise.surrogates import MarginRescaling, Ramp, SlackRescaling
from setwise.torch.arguments import Arguments, Classes, Empty, Mode
from setwise.torch.criterion import Criterion
from setwise.torch.gathering import Sync
from setwise.torch.naming import named
from setwise.torch.reducing import Options, Reduction
from setwise.torch.surrogate_form import SurrogateForm


@final
class MarginRescalingLoss(Criterion):
    """``max_h loss(h) + <s, h - y> / g`` over all labelings h of a set (LH Eq. 21, where g = 1).

    On CUDA losses of counts are maximized where the tensors are: in sets of up to 1,024 decisions by a search of the
    whole table of counts, and in larger ones for sums of costs, Jaccard, F_beta, Tversky with ``alpha + beta = 1`` or
    ``beta = 1``, and MCC, and for sums of some of them, in O(p log p). All else goes through the host: other losses,
    larger sets, and losses that fix the number of predicted positives, as precision at k.

    Parameters
    ----------
    loss : any loss of labels, or its name
    scale : g > 0, or ``"size"`` for the number of decisions of each set. The scores of a large set add up while a loss
        like F1 stays below 1, so at g = 1 tiny scores would be enough
    others : see :class:`setwise.torch.arguments.Arguments` and :class:`setwise.torch.Criterion`
    """

    def __init__(
        self,
        loss: Loss | str,
        mode: Mode = "binary",
        *,
        scale: float | str = 1.0,
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
        bound = arguments.of(named(loss))
        form = SurrogateForm(MarginRescaling(bound, scale=scale), (bound, scale))
        super().__init__(form, arguments, class_weight, reduction, sync)


@final
class SlackRescalingLoss(Criterion):
    """``max_h loss(h) (1 + <s, h - y>)`` over all labelings h of a set (LH Eq. 22).

    ``loss`` is any loss of labels, or its name. On CUDA losses of counts are maximized where the tensors are, in sets
    of up to 1,024 decisions; larger sets and other losses go through the host. For the other arguments see
    :class:`setwise.torch.arguments.Arguments` and :class:`setwise.torch.Criterion`.
    """

    def __init__(
        self,
        loss: Loss | str,
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
        bound = arguments.of(named(loss))
        super().__init__(SurrogateForm(SlackRescaling(bound), bound), arguments, class_weight, reduction, sync)


@final
class RampLoss(Criterion):
    """``max_h [loss(h) + <s, h> / g] - max_h <s, h> / g``: between the loss and margin rescaling, and not convex.

    Do, Le, Teo, Chapelle and Smola (2008). On CUDA it is computed where :class:`MarginRescalingLoss` is. It is a
    difference of two sums of scores in float64, so where these are beyond about 1e12 its digits are lost.

    Parameters
    ----------
    loss : any loss of labels, or its name
    scale : g > 0, or ``"size"``, as in :class:`MarginRescalingLoss`
    others : see :class:`setwise.torch.arguments.Arguments` and :class:`setwise.torch.Criterion`
    """

    def __init__(
        self,
        loss: Loss | str,
        mode: Mode = "binary",
        *,
        scale: float | str = 1.0,
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
        bound = arguments.of(named(loss))
        form = SurrogateForm(Ramp(bound, scale=scale), (bound, scale))
        super().__init__(form, arguments, class_weight, reduction, sync)


def margin_rescaling_loss(
    logits: Tensor,
    target: Tensor,
    loss: Loss | str,
    mode: Mode = "binary",
    *,
    scale: float | str = 1.0,
    mask: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """The same as ``MarginRescalingLoss(loss, mode, scale=scale, **options)(logits, target, mask)``."""
    value: Tensor = MarginRescalingLoss(loss, mode, scale=scale, **options)(logits, target, mask)
    return value


def slack_rescaling_loss(
    logits: Tensor,
    target: Tensor,
    loss: Loss | str,
    mode: Mode = "binary",
    *,
    mask: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """The same as ``SlackRescalingLoss(loss, mode, **options)(logits, target, mask)``."""
    value: Tensor = SlackRescalingLoss(loss, mode, **options)(logits, target, mask)
    return value


def ramp_loss(
    logits: Tensor,
    target: Tensor,
    loss: Loss | str,
    mode: Mode = "binary",
    *,
    scale: float | str = 1.0,
    mask: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """The same as ``RampLoss(loss, mode, scale=scale, **options)(logits, target, mask)``."""
    value: Tensor = RampLoss(loss, mode, scale=scale, **options)(logits, target, mask)
    return value
