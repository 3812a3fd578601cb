"""The Lovász extension of a loss as a function of errors."""

import torch
from torch import Tensor

from setwise.core.checks import shown
from setwise.core.loss import Loss
from setwise.torch import ops
from setwise.torch.forms import registered
from setwise.torch.layout import as_scores
from setwise.torch.lovasz_form import Errors, LovaszForm
from setwise.torch.naming import named
from setwise.torch.wording import refuse_tracing

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
    values: Tensor = ops.evaluate(errors, codes.to(torch.int8), number)[0]
    return values


_LASTING: list[LovaszForm] = []


@torch.compiler.assume_constant_result
def _lasting(loss: Loss | str) -> int:
    """The number of the extension of a loss, which is found while a graph is made, and kept for it."""
    found: tuple[LovaszForm, int] = registered(LovaszForm(named(loss), Errors.GIVEN))
    _LASTING.append(found[0])
    return found[1]
