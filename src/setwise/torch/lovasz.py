"""The Lovász hinge of logits, and the Lovász extension at the errors of probabilities, for any submodular loss."""

from collections.abc import Sequence
from typing import Unpack, final

import torch
from torch import Tensor

from setwise.core.checks import as_flag
from setwise.core.measure import Loss
from setwise.torch.arguments import Arguments, Classes, Empty, Mode
from setwise.torch.criterion import Criterion
from setwise.torch.folding import folded_sigmoid, folded_softmax
from setwise.torch.gathering import Sync
from setwise.torch.layout import as_scores, channels_of, check_sums
from setwise.torch.lovasz_form import Errors, LovaszForm
from setwise.torch.naming import named
from setwise.torch.reducing import Options, Reduction


@final
class LovaszHingeLoss(Criterion):
    """``l(none) + sum_j (u_(j))_+ gain_j`` along the margin errors ``u = 1 - s (2y - 1)``, sorted down (LH Def. 5).

    The tight convex surrogate of a submodular loss; for losses that do not increase the whole sum is clipped at 0
    instead (LH Def. 6). O(p log p) for p decisions with ``u > 0``. On CUDA it is one sort of all decisions, for losses
    of counts; weighted mistakes, tables and set functions go through the host.

    Parameters
    ----------
    loss : a submodular loss of labels, or its name; another one raises Refusal
    others : see :class:`setwise.torch.arguments.Arguments` and :class:`setwise.torch.Criterion`
    """

    def __init__(
        self,
        loss: Loss | str = "jaccard",
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
        form = LovaszForm(arguments.of(named(loss)), Errors.MARGIN, arguments.only_present)
        super().__init__(form, arguments, class_weight, reduction, sync)


@final
class LovaszSoftmaxLoss(Criterion):
    """``l(none) + sum_j e_(j) gain_j`` along the errors of probabilities, sorted down: ``1 - q`` or ``q`` of a class.

    The probabilities q are the softmax of the logits, and their sigmoid in binary and multilabel mode. The Lovász
    extension of each class is taken against the rest. On CUDA it is one sort of all decisions, for losses of counts;
    weighted mistakes, tables and set functions go through the host. For Jaccard it is Lovász-softmax (Berman, Rannen
    Triki and Blaschko 2018).

    Parameters
    ----------
    loss : a submodular loss of labels, or its name; another one raises Refusal
    from_logits : whether logits are given, or else probabilities, which in multiclass mode have the sum 1
    others : see :class:`setwise.torch.arguments.Arguments` and :class:`setwise.torch.Criterion`
    """

    def __init__(
        self,
        loss: Loss | str = "jaccard",
        mode: Mode = "multiclass",
        *,
        ignore_index: int | None = None,
        per_image: bool = False,
        classes: Classes = "present",
        include_background: bool = True,
        class_weight: Sequence[float] | Tensor | None = None,
        empty: Empty | None = None,
        reduction: Reduction = "mean",
        sync: Sync | None = None,
        from_logits: bool = True,
    ) -> None:
        arguments = Arguments(mode, ignore_index, per_image, classes, include_background, empty)
        self.from_logits = as_flag(from_logits, "from_logits")
        errors = Errors.FOLDED if from_logits else Errors.PROBABILITY
        form = LovaszForm(arguments.of(named(loss)), errors, arguments.only_present)
        super().__init__(form, arguments, class_weight, reduction, sync)

    def check(self, logits: Tensor, target: Tensor, mask: Tensor | None) -> None:
        """Raise ValueError for probabilities of the CPU whose sum is not 1 where pixels count."""
        if self.from_logits or self.arguments.mode != "multiclass" or torch.compiler.is_compiling():
            return
        channels_of(logits, self.arguments)
        if logits.device.type == "cpu":
            check_sums(as_scores(logits).detach(), target, mask, self.arguments)

    def scores(self, logits: Tensor) -> Tensor:
        """The probabilities; those of logits are folded."""
        channels_of(logits, self.arguments)
        exact = as_scores(logits)
        if not self.from_logits:
            return exact
        return folded_softmax(exact) if self.arguments.mode == "multiclass" else folded_sigmoid(exact)


def lovasz_hinge_loss(
    logits: Tensor,
    target: Tensor,
    loss: Loss | str = "jaccard",
    mode: Mode = "binary",
    *,
    mask: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """The same as ``LovaszHingeLoss(loss, mode, **options)(logits, target, mask)``."""
    value: Tensor = LovaszHingeLoss(loss, mode, **options)(logits, target, mask)
    return value


def lovasz_softmax_loss(
    logits: Tensor,
    target: Tensor,
    loss: Loss | str = "jaccard",
    mode: Mode = "multiclass",
    *,
    mask: Tensor | None = None,
    from_logits: bool = True,
    **options: Unpack[Options],
) -> Tensor:
    """The same as ``LovaszSoftmaxLoss(loss, mode, from_logits=from_logits, **options)(logits, target, mask)``."""
    value: Tensor = LovaszSoftmaxLoss(loss, mode, from_logits=from_logits, **options)(logits, target, mask)
    return value
