"""The Lovász hinge of logits, and the Lovász extension at the errors of probabilities, for any submodular loss."""

from collections.abc import Sequence
from typing import Unpack, final

import torch
from torch import Tensor

from setwise.core.checks import as_flag
from setwise.core.loss import Loss
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
    loss : a submodular loss of labels, or its name
    mode, ignore_index, per_image, classes, include_background, empty : what the channels mean, which decisions make a
        set, and which sets count; see :class:`setwise.torch.Arguments`
    class_weight, reduction, sync : a weight of each channel (C,), what is made of the values of the sets, and whether
        sets go over several processes; see :class:`setwise.torch.Criterion`

    Raises
    ------
    Refusal : for a loss that is not submodular, or not of labels 0 and 1
    ValueError, TypeError, OverflowError : as :class:`setwise.torch.Criterion` says

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import LovaszHingeLoss
    >>> logits = torch.tensor([[2.0, 2.0, -1.0]], requires_grad=True)
    >>> loss = LovaszHingeLoss("jaccard")(logits, torch.tensor([[1, 0, 0]]))
    >>> loss.item()  # the margin error 3 of the false positive, which leaves half of the union
    1.5
    >>> loss.backward()
    >>> logits.grad.tolist()
    [[0.0, 0.5, 0.0]]
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
    loss : a submodular loss of labels, or its name
    mode, ignore_index, per_image, classes, include_background, empty : what the channels mean, which decisions make a
        set, and which sets count; see :class:`setwise.torch.Arguments`
    class_weight, reduction, sync : a weight of each channel (C,), what is made of the values of the sets, and whether
        sets go over several processes; see :class:`setwise.torch.Criterion`
    from_logits : whether logits are given, or else probabilities, which in multiclass mode have the sum 1

    Raises
    ------
    Refusal : for a loss that is not submodular, or not of labels 0 and 1
    ValueError : for probabilities whose sum is not 1 to within 0.01, on the CPU
    TypeError, OverflowError : and for all else, as :class:`setwise.torch.Criterion` says

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import LovaszSoftmaxLoss
    >>> q = torch.tensor([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])  # three pixels, two classes
    >>> values = LovaszSoftmaxLoss(reduction="none", from_logits=False)(q, torch.tensor([0, 0, 1]))
    >>> [round(value, 3) for value in values.tolist()]  # class 0: 0.5 / 2 + 0.2 / 2
    [0.35, 0.317]
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
    """The Lovász hinge of logits (LH Def. 5), in one call of :class:`setwise.torch.LovaszHingeLoss`.

    Parameters
    ----------
    logits, target, mask : (N, C, ...), (N, ...) and (N, ...) or None, see :meth:`setwise.torch.Criterion.forward`
    loss, mode : as those of :class:`setwise.torch.LovaszHingeLoss`, with the same defaults
    options : its other arguments, by name

    Returns
    -------
    value : a scalar, or the value of every set with ``reduction="none"``

    Raises
    ------
    Refusal, ValueError, TypeError, OverflowError : as :class:`setwise.torch.LovaszHingeLoss`

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import lovasz_hinge_loss
    >>> lovasz_hinge_loss(torch.tensor([[2.0, 2.0, -1.0]]), torch.tensor([[1, 0, 0]])).item()
    1.5
    """
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
    """The Lovász extension at errors of probabilities, in one call of :class:`setwise.torch.LovaszSoftmaxLoss`.

    For Jaccard it is Lovász-softmax (Berman, Rannen Triki and Blaschko 2018).

    Parameters
    ----------
    logits, target, mask : (N, C, ...), (N, ...) and (N, ...) or None, see :meth:`setwise.torch.Criterion.forward`
    loss, mode, from_logits : as those of :class:`setwise.torch.LovaszSoftmaxLoss`, with the same defaults
    options : its other arguments, by name

    Returns
    -------
    value : a scalar, or the value of every set with ``reduction="none"``

    Raises
    ------
    Refusal, ValueError, TypeError, OverflowError : as :class:`setwise.torch.LovaszSoftmaxLoss`

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import lovasz_softmax_loss
    >>> q = torch.tensor([[0.8, 0.5, 0.1]])  # probabilities of label 1 in binary mode
    >>> value = lovasz_softmax_loss(q, torch.tensor([[1, 0, 0]]), mode="binary", from_logits=False)
    >>> round(value.item(), 3)  # 0.5 / 2 + 0.2 / 2
    0.35
    """
    value: Tensor = LovaszSoftmaxLoss(loss, mode, from_logits=from_logits, **options)(logits, target, mask)
    return value
