"""The Lovász hinge of logits, and the Lovász extension at the errors of probabilities, for any submodular loss.

Probabilities are folded: as they are up to 1/2, and less 1 above it, so that none of their digits is lost.
"""

import math
from collections.abc import Sequence
from typing import Any, final

import torch
from torch import Tensor

from setwise.core.checks import as_flag, shown
from setwise.core.loss import Loss
from setwise.kernels.folding import BLOCK, softmax_gradient
from setwise.kernels.folding import folded_softmax as softmax_of
from setwise.kernels.threads import thread_limit
from setwise.torch import operators
from setwise.torch.arguments import Arguments, Classes, Empty, Mode, named, refuse_tracing
from setwise.torch.criterion import Criterion, Reduction, functional, is_eager, once
from setwise.torch.host_forms import Errors, LovaszForm
from setwise.torch.layout import as_scores, channels_of, check_sums
from setwise.torch.operators import registered
from setwise.torch.process_groups import Sync


def folded_sigmoid(logits: Tensor) -> Tensor:
    """The sigmoid q of logits where they are at most 0, and ``q - 1`` above."""
    sign = 1 - 2 * (logits > 0).to(logits.dtype)
    return sign * torch.sigmoid(sign * logits)


def folded_softmax(logits: Tensor) -> Tensor:
    """The softmax q of logits (N, C, ...) where it is at most 1/2, and ``q - 1`` above.

    That is minus the sum of the other classes. Where nothing traces what is done to tensors of the host, a kernel finds
    it and its gradient; what PyTorch makes of the same formula takes several times as long.
    """
    if is_eager(logits) and not torch._C._are_functorch_transforms_active():
        found: Tensor = _FoldedSoftmax.apply(logits)  # type: ignore[no-untyped-call]
        return found
    q = logits.softmax(dim=1)
    above = q > 0.5
    rest = q.masked_fill(above, 0.0).sum(dim=1, keepdim=True)
    # Some compilers make 0 of the opposite of 0, whose sign says which of both it is.
    return torch.where(above, -rest.clamp(min=torch.finfo(q.dtype).tiny), q)


class _FoldedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        with thread_limit(torch.get_num_threads()):
            found = _tensor(softmax_of(_array(logits)), logits.shape)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Any, change: Tensor) -> Tensor:
        (folded,) = ctx.saved_tensors
        with thread_limit(torch.get_num_threads()):
            slope = softmax_gradient(_array(folded), _array(change))
        return once(_tensor(slope, folded.shape), folded, change)


def _array(x: Tensor) -> Any:
    """The numbers of a tensor (N, C, ...) as an array (N, C, pixels), or (1, C, N pixels) for small images."""
    flat = x.detach().reshape(*x.shape[:2], math.prod(x.shape[2:]))
    if flat.shape[2] < BLOCK:
        # The kernels work on rows of pixels, which should not be short.
        flat = flat.movedim(0, 1).reshape(1, x.shape[1], x.shape[0] * flat.shape[2])
    return flat.contiguous().numpy()


def _tensor(x: Any, shape: torch.Size) -> Tensor:
    """The tensor of this shape whose array is x."""
    found = torch.from_numpy(x)
    if math.prod(shape[2:]) < BLOCK:
        found = found.reshape(shape[1], shape[0], *shape[2:]).movedim(0, 1)
    return found.reshape(shape)


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


@functional(LovaszHingeLoss)
def lovasz_hinge_loss(
    logits: Tensor, target: Tensor, *given: Any, mask: Tensor | None = None, **options: Any
) -> Tensor:
    """The Lovász hinge of logits (LH Def. 5), in one call of :class:`setwise.torch.LovaszHingeLoss`.

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import lovasz_hinge_loss
    >>> lovasz_hinge_loss(torch.tensor([[2.0, 2.0, -1.0]]), torch.tensor([[1, 0, 0]])).item()
    1.5
    """
    return LovaszHingeLoss(*given, **options)(logits, target, mask)


@functional(LovaszSoftmaxLoss)
def lovasz_softmax_loss(
    logits: Tensor, target: Tensor, *given: Any, mask: Tensor | None = None, **options: Any
) -> Tensor:
    """The Lovász extension at errors of probabilities, in one call of :class:`setwise.torch.LovaszSoftmaxLoss`.

    For Jaccard it is Lovász-softmax (Berman, Rannen Triki and Blaschko 2018).

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import lovasz_softmax_loss
    >>> q = torch.tensor([[0.8, 0.5, 0.1]])  # probabilities of label 1 in binary mode
    >>> value = lovasz_softmax_loss(q, torch.tensor([[1, 0, 0]]), mode="binary", from_logits=False)
    >>> round(value.item(), 3)  # 0.5 / 2 + 0.2 / 2
    0.35
    """
    return LovaszSoftmaxLoss(*given, **options)(logits, target, mask)


WHOLE = (torch.bool, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32)
"""The types of labels."""


def lovasz_extension(loss: Loss | str, labels: Tensor, errors: Tensor) -> Tensor:
    """``l(none) + sum_j e_(j) gain_j`` along the errors of each set, sorted down, (S,) (LH Def. 4).

    On CUDA, losses of counts are evaluated where the tensors are, and other losses on the host. The Lovász hinge is its
    value at the margin errors, clipped at 0, and Lovász-softmax at the errors of probabilities.

    Parameters
    ----------
    loss : a submodular loss of labels, or its name
    labels : (S, p) bool, or whole numbers 0, 1, and -1 for decisions that do not count
    errors : (S, p) floats of at least 0

    Returns
    -------
    values : (S,), with a gradient by the errors

    Raises
    ------
    ValueError : for shapes, labels and errors that are none of these
    TypeError : for errors that are no tensor of floats
    OverflowError : for errors whose sums leave their float type
    Refusal : for a loss that is not submodular

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import lovasz_extension
    >>> labels = torch.tensor([[True, False, False]])
    >>> values = lovasz_extension("jaccard", labels, torch.tensor([[0.2, 0.5, 0.1]]))
    >>> round(values.item(), 3)  # the false positive first, 0.5 * 1/2, and then the false negative, 0.2 * 1/2
    0.35
    >>> lovasz_extension("jaccard", labels, torch.tensor([[0.0, 1.0, 0.0]])).item()  # the loss itself at labels
    0.5
    """
    refuse_tracing("lovasz_extension")
    given = as_scores(errors, "errors")
    if not isinstance(labels, Tensor) or labels.dtype not in WHOLE or labels.shape != errors.shape:
        got = f"{labels.dtype} {tuple(labels.shape)}" if isinstance(labels, Tensor) else shown(labels)
        raise ValueError(f"labels must be bool or whole, of the shape of errors, {tuple(errors.shape)}; got {got}.")
    if errors.ndim != 2:
        raise ValueError(f"errors must have the shape (S, p) of S sets; got {tuple(errors.shape)}.")
    if labels.layout != torch.strided or labels.device != errors.device:
        got = f"{labels.layout} of {labels.device}"
        raise ValueError(f"labels must be a dense tensor on the device of errors, {errors.device}; got {got}.")
    # Compared with -1, a type without it takes its largest number for that.
    labels = labels if labels.dtype == torch.bool else labels.long()
    # Neither a graph nor an accelerator tells its values here.
    told = labels.device.type == "cpu" and not torch.compiler.is_compiling()
    if labels.dtype != torch.bool and told and len(odd := labels[(labels < -1) | (labels > 1)]):
        raise ValueError(f"labels must be 1, 0, or -1 for decisions that do not count; got {odd[0]}.")
    if torch.compiler.is_compiling():
        return _values(given, labels, _lasting(loss))
    # The form lives until the values are there.
    found = registered(LovaszForm(named(loss), Errors.GIVEN))
    return _values(given, labels, found[1])


def _values(errors: Tensor, labels: Tensor, number: int) -> Tensor:
    """The values of the form of this number."""
    # A number beyond int8, of an accelerator, must not become a label.
    codes = labels if labels.dtype == torch.bool else labels.clamp(-2, 2)
    values: Tensor = operators.evaluate(errors, codes.to(torch.int8), number)[0]
    return values


_LASTING: list[LovaszForm] = []


def _lasting(loss: Loss | str) -> int:
    """The number of the extension of a loss, which is found while a graph is made, and kept for it."""
    found: tuple[LovaszForm, int] = registered(LovaszForm(named(loss), Errors.GIVEN))
    _LASTING.append(found[0])
    return found[1]


# The mark of torch.compiler.assume_constant_result, which would import the compiler: as for operators.kept_out.
vars(_lasting)["_dynamo_marked_constant"] = True
