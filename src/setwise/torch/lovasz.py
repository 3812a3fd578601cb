"""The Lovász hinge of logits, and the Lovász extension at the errors of probabilities, for any submodular loss.

Probabilities are folded: as they are up to 1/2, and less 1 above it, so that none of their digits is lost.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from setwise.core.attributes import cached_property
from setwise.core.batch import Orders
from setwise.core.checks import LARGEST, Bools, Floats, as_flag, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.core.pages import PROMISES
from setwise.core.terms import Trait
from setwise.kernels.folding import BLOCK, softmax_gradient
from setwise.kernels.folding import folded_softmax as softmax_of
from setwise.kernels.lovasz import (
    FOLDED,
    GIVEN,
    MARGINS,
    PROBABILITIES,
    limits_of,
    lovasz_values,
    quotient_extension,
    survey,
)
from setwise.kernels.sorting import sort_falling
from setwise.kernels.threads import thread_limit
from setwise.losses import CountFunctionLoss
from setwise.surrogates import LovaszHinge
from setwise.torch import operators
from setwise.torch.arguments import Arguments, Classes, Empty, Mode, named, refuse_tracing, worded
from setwise.torch.criterion import Criterion, Reduction, functional, is_eager, once
from setwise.torch.device_forms import DeviceCounts, extension
from setwise.torch.layout import WHOLE, as_scores, channels_of, check_sums, ragged
from setwise.torch.operators import Codes, Form, HostValues, ValueAndGradient, registered
from setwise.torch.process_groups import Sync


class Errors(Enum):
    """How the error of a decision with score s comes about."""

    MARGIN = "1 - s for positives and 1 + s for negatives (LH Eq. 34)"
    PROBABILITY = "1 - s for positives and s for negatives, where s is the probability of a positive"
    FOLDED = "the same of the probability s, or 1 + s where the sign of s is minus"
    GIVEN = "s itself"


LINES = {
    Errors.MARGIN: (MARGINS, -LARGEST, LARGEST),
    Errors.PROBABILITY: (PROBABILITIES, -0.01, 1.01),
    Errors.FOLDED: (FOLDED, -0.51, 0.51),
    Errors.GIVEN: (GIVEN, 0.0, LARGEST),
}
"""How the errors of :mod:`setwise.kernels.lovasz` come from scores, and the range of these."""


@final
@dataclass(frozen=True, eq=False)
class LovaszForm(Form):
    """``l(none) + sum_j e_(j) gain_j`` along the errors e, sorted down (LH Eq. 33 and 35).

    On a device, losses of counts are evaluated as in :func:`setwise.torch.device_forms.extension`.

    Parameters
    ----------
    loss : a submodular loss of labels
    errors : how errors come from scores. Margin errors of losses that increase are clipped at 0, one by one, and for
        other losses the whole sum is (LH Def. 5 and 6). Other errors must be at least 0, and are not clipped
    only_present : whether sets without positives may have the value 0, as they do not count
    """

    loss: Loss
    errors: Errors
    only_present: bool = False

    def __post_init__(self) -> None:
        if self.loss.reads != "labels" or Trait.SUBMODULAR not in self.loss.traits:
            # Some losses without the promise show it once they are bound; the hinge refuses all others.
            worded(LovaszHinge, self.loss)

    @property
    def key(self) -> Hashable:
        return LovaszForm, self.loss, self.errors, self.only_present

    def on_host(self, scores: Floats, codes: Codes) -> HostValues:
        return self._of_quotient(scores, codes) or self._of_any(scores, codes)

    @cached_property
    def _increasing_counts(self) -> CountLoss | None:
        """The loss if it may be an increasing quotient of counts that is not modular."""
        loss = self.loss
        if not isinstance(loss, CountLoss) or type(loss).bind is not CountLoss.bind:
            return None
        fits = {Trait.INCREASING, Trait.SUBMODULAR} <= loss.traits and Trait.MODULAR not in loss.traits
        return loss if fits else None

    def _of_quotient(self, scores: Floats, codes: Codes) -> HostValues | None:
        """What a kernel finds for an increasing quotient of counts; None for other losses, and for odd scores."""
        loss = self._increasing_counts
        if loss is None:
            return None
        sets, size = scores.shape
        flat, labels = scores.reshape(-1), codes.reshape(-1)
        offsets = np.array([i * size for i in range(sets + 1)])
        line, low, high = LINES[self.errors]
        counts, last = survey(flat, labels, offsets, line)
        _, P, N = counts
        quotient, none = loss.quotient(P, N), np.zeros(len(P))
        if quotient is None:
            return None
        start = loss.of_counts(none, none, P, N)
        limits = limits_of(counts, last, self.only_present, *quotient, start)
        values, gradient, proper = quotient_extension(flat, labels, offsets, line, limits, *quotient, start, low, high)
        if not proper:
            return None
        return HostValues(values.astype(flat.dtype), gradient.reshape(sets, size), counts[:2].T)

    def _of_any(self, scores: Floats, codes: Codes) -> HostValues:
        """What is found for any submodular loss, from its gains."""
        found = ragged(codes)
        sets = found.sets
        if sets is None:
            return HostValues(np.zeros_like(scores, shape=len(scores)), np.zeros_like(scores))
        flat = found.take(scores)
        self._check(flat)
        if self.errors is Errors.MARGIN:
            seen = LovaszHinge(self.loss).on(sets)(flat)
            return HostValues(found.spread_rows(seen.values, scores), found.spread(seen.gradient, scores))
        bound_loss = self.loss.bind(sets)
        if Trait.SUBMODULAR not in bound_loss.traits:
            raise Refusal(
                f"the Lovász extension refuses {self.loss!r}: the loss does not promise to be submodular.", PROMISES
            )
        keys = self._keys(flat, sets.truth)
        items, labels, ordered, starts = sort_falling(keys, sets.truth, sets.offsets, above_zero=True)
        if self.errors is Errors.FOLDED:
            ordered = np.where(ordered > 1.0, 1.0 - 1.0 / ordered, ordered)
        gains = bound_loss.gains_of(Orders(items, labels, starts))
        gradient = np.zeros_like(flat)
        values = lovasz_values(ordered, gains, items, labels, starts, bound_loss.at_empty(), gradient)
        if self.errors is Errors.GIVEN:
            gradient[sets.truth] *= -1
        return HostValues(found.spread_rows(values, scores), found.spread(gradient, scores))

    def _keys(self, flat: Floats, truth: Bools) -> Floats:
        """What rises with the errors of scores: the errors, and ``1 / (1 - e)`` of folded ones e above 1/2.

        Different errors near 1 would be equal in float64.
        """
        if self.errors is Errors.PROBABILITY:
            return np.where(truth, 1 - flat, flat)
        if self.errors is Errors.FOLDED:
            folded = np.where(truth, -flat, flat).astype(np.float64)
            with np.errstate(divide="ignore"):
                return np.where(np.signbit(folded), np.minimum(-1.0 / folded, LARGEST), folded)
        return flat

    def _check(self, flat: Floats) -> None:
        """Raise ValueError for what are no errors or probabilities; the hinge checks its scores itself."""
        if self.errors is Errors.MARGIN:
            return
        least, largest = flat.min(), flat.max()
        if not np.isfinite(least) or not np.isfinite(largest):
            raise ValueError(f"{'errors' if self.errors is Errors.GIVEN else 'logits'} must be finite; got NaN or inf.")
        # Means of probabilities in bfloat16 may be 1 and a rounding error.
        if self.errors is Errors.PROBABILITY and (least < -0.01 or largest > 1.01):
            odd = least if least < 0 else largest
            raise ValueError(f"from_logits=False needs probabilities in [0, 1]; got {odd:g}.")
        if self.errors is Errors.GIVEN and least < 0:
            raise ValueError(f"errors must be at least 0; got {least:g}.")

    @cached_property
    def _counts(self) -> DeviceCounts | None:
        """The loss on tensors; None where its traits are read off the sets, or where tensors can not run it."""
        if Trait.SUBMODULAR not in self.loss.traits:
            return None
        # A function of counts may show that it increases without promising it.
        parts = [part for _, part in self.loss.parts] if isinstance(self.loss, Combination) else [self.loss]
        if Trait.INCREASING not in self.loss.traits and any(isinstance(part, CountFunctionLoss) for part in parts):
            return None
        return DeviceCounts.of(self.loss)

    def on_device(self, scores: Tensor, codes: Tensor) -> ValueAndGradient | None:
        counts = self._counts
        if counts is None:
            return None
        positive = codes == 1
        if self.errors is Errors.GIVEN:
            return extension(counts, scores, codes, clipped=True)
        if self.errors is Errors.MARGIN:
            clipped = Trait.INCREASING in self.loss.traits
            found = extension(counts, torch.where(positive, -scores, scores), codes, clipped, level=1.0)
        elif self.errors is Errors.FOLDED:
            folded = torch.where(positive, -scores, scores).double()
            # Different errors near 1 would be equal in float64.
            keys = torch.where(torch.signbit(folded), -1.0 / folded, folded)
            found = extension(counts, keys, codes, clipped=True, folded=True)
        else:
            found = extension(counts, torch.where(positive, 1 - scores, scores), codes, clipped=True)
        slopes = torch.where(positive, -found.gradient, found.gradient)
        return ValueAndGradient(found.values.to(scores.dtype), slopes.to(scores.dtype))

    def __repr__(self) -> str:
        return f"the Lovász extension of {self.loss!r} at {self.errors.name.lower()} errors"


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
        given = as_scores(logits)
        channels_of(given, self.arguments)
        if logits.device.type == "cpu":
            check_sums(given.detach(), target, mask, self.arguments)

    def scores(self, logits: Tensor) -> Tensor:
        """The probabilities; those of logits are folded."""
        exact = as_scores(logits)
        channels_of(exact, self.arguments)
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
    # A number beyond int8, of an accelerator, must not become a label.
    codes = (labels if labels.dtype == torch.bool else labels.clamp(-2, 2)).to(torch.int8)
    # The form lives until the values are there.
    held = None if torch.compiler.is_compiling() else registered(LovaszForm(named(loss), Errors.GIVEN))
    values: Tensor = operators.evaluate(given, codes, _lasting(loss) if held is None else held[1])[0]
    return values


_LASTING: list[LovaszForm] = []


def _lasting(loss: Loss | str) -> int:
    """The number of the extension of a loss, which is found while a graph is made, and kept for it."""
    found: tuple[LovaszForm, int] = registered(LovaszForm(named(loss), Errors.GIVEN))
    _LASTING.append(found[0])
    return found[1]


# The mark of torch.compiler.assume_constant_result, which would import the compiler: as for operators.kept_out.
vars(_lasting)["_dynamo_marked_constant"] = True
