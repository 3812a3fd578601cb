"""What all losses for logits and targets share."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from setwise.core.checks import as_choice
from setwise.torch import ops
from setwise.torch.arguments import Arguments
from setwise.torch.channels import taken
from setwise.torch.forms import Form, number_of
from setwise.torch.layout import lay
from setwise.torch.reducing import Reduction, as_class_weight, counted, reduced


class Criterion(nn.Module):
    """A loss of sets of decisions, for logits and a target of any number of dimensions.

    Tensors of the CPU are evaluated by the kernels of setwise. Tensors of CUDA are evaluated where they are, without
    the host waiting for them, for losses whose value is one formula of the counts (fn, fp, P, N) for all sets, as
    Jaccard, F1 or a function of one's own that NumPy's functions make; which losses these are is tried once, on small tensors. What
    such a function returns is not checked there. All other losses, and tensors of other accelerators, go through the
    host.

    Logits of half precision are computed with in float32, and the result is a float32 then. Its gradient in each of
    many pixels is near 1e-6, so training in float16 needs ``torch.amp.GradScaler``.

    Parameters
    ----------
    form : what the sets are evaluated by
    arguments : what the channels mean, which decisions make a set, and which sets count
    class_weight : one weight for each channel, by which the mean of the classes is weighted; None weights all alike
    reduction : ``"mean"``, ``"sum"``, or ``"none"`` for the value of every set: (classes,), or (images, classes) with
        ``per_image``, with 0 for sets that do not count
    """

    class_weight: Tensor | None

    def __init__(
        self,
        form: Form,
        arguments: Arguments,
        class_weight: Sequence[float] | Tensor | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        as_choice(reduction, "reduction", ("none", "mean", "sum"))
        self.form, self.arguments, self.reduction = form, arguments, reduction
        self._number = number_of(form)
        self.register_buffer("class_weight", as_class_weight(class_weight), persistent=False)

    def scores(self, logits: Tensor) -> Tensor:
        """What the form reads of the logits; by default the logits themselves."""
        return logits

    def forward(self, logits: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """The loss of the logits.

        Parameters
        ----------
        logits : (N, C, ...) floats; in binary mode (N, 1, ...) or (N, ...)
        target : (N, ...) class numbers, or 0 and 1 in the shape of the logits
        mask : (N, ...) bools, False where pixels do not count; or one for each label, in the shape of the target
        """
        laid = lay(self.scores(logits), target, mask, self.arguments)
        values, _, totals = ops.evaluate(laid.scores, laid.codes, self._number)
        weight = None if self.class_weight is None else self._chosen(logits, self.class_weight)
        return reduced(values, counted(totals, self.arguments), laid.shape, weight, self.reduction)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        # Numbers of forms belong to a process, and a module may come from another one.
        self._number = number_of(self.form)

    def _chosen(self, logits: Tensor, weight: Tensor) -> Tensor:
        """The weights of the channels that may count."""
        channels = 1 if self.arguments.mode == "binary" else logits.shape[1]
        if len(weight) != channels:
            raise ValueError(f"class_weight must have one number for each of {channels} channels; got {len(weight)}.")
        return taken(weight, self.arguments.channels(channels), dim=0)

    def extra_repr(self) -> str:
        """What ``repr`` shows in parentheses."""
        return f"{self.form!r}, {self.arguments!r}, reduction={self.reduction!r}"
