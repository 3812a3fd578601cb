"""What all losses for logits and targets share."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from setwise.core.checks import as_choice
from setwise.core.loss import Loss
from setwise.torch import ops
from setwise.torch.arguments import Arguments
from setwise.torch.forms import Form, registered
from setwise.torch.gathering import Rows, Sync, as_sync, group_of, shared
from setwise.torch.host import Job, is_eager
from setwise.torch.layout import lay
from setwise.torch.naming import as_call
from setwise.torch.reducing import Reduction, as_class_weight, counted, reduced, unrounded, weights_of
from setwise.torch.wording import in_unit, refuse_tracing, warn_of_probabilities


class Criterion(nn.Module):
    """A loss of sets of decisions, for logits and a target of any number of dimensions: what all such losses share.

    The losses of this package derive from it, and have the arguments ``form`` and ``arguments`` spelled out.

    Tensors of the CPU are evaluated by the kernels of setwise. On CUDA, tensors are evaluated where they are, without
    the host waiting for them, if the value of the loss is one formula of the counts (fn, fp, P, N) for all sets, as
    that of Jaccard, of F1 or of a function of one's own that is made of NumPy's functions. Which losses these are is
    found once, on small tensors. There, scores that are not finite give NaN instead of an error, and what a function of
    one's own returns is not checked. All other losses, and tensors of other accelerators, go through the host.

    ``torch.compile(fullgraph=True)`` takes the modules, but not their functional twins: these make a module at each
    call, and end a graph there.

    Logits of half precision are computed with in float32, and the result is a float32 then. Its gradient in each of
    many pixels is near 1e-6, so training in float16 needs ``torch.amp.GradScaler``.

    Source: own; why losses live on scores is told in docs/adr/0002-surrogates-live-on-scores.md.

    Parameters
    ----------
    form : what the sets are evaluated by, a :class:`setwise.torch.forms.Form`
    arguments : what the channels mean, which decisions make a set, and which sets count
    class_weight : (C,) numbers of at least 0, one for each channel, by which the mean of the classes is weighted; None
        weights all alike
    reduction : ``"mean"``, ``"sum"``, or ``"none"`` for the value of every set: (classes,), or (images, classes) with
        ``per_image``, with 0 for sets that do not count
    sync : None, or ``"set"`` where the batch is that of all processes of torch.distributed, or a process group whose
        batch it is. The value is then that of the batches of all ranks end to end, on each of them, and so is the
        gradient under DistributedDataParallel: ranks hold their part of it times the number of ranks, because that
        module takes the mean over ranks. Batches may differ in size, and be empty. With ``per_image`` the images stay
        where they are, and the mean divides by the number of all of them. A world of one process, or none, changes
        nothing.

        The forward pass shares scores, so all ranks must make it, and the backward pass shares nothing. If one rank
        refuses its batch, all raise. Under ``no_sync()`` of DistributedDataParallel, where gradients accumulate, each
        pass shares all the same: a set is then one micro-batch of all ranks, never several of them.
        ``torch.compile(fullgraph=True)`` does not take it, and ``torch.compile`` ends a graph there

    Raises
    ------
    Refusal : for a loss, or arguments, that do not fit each other
    ValueError : for weights and words that are none of these; when called, for shapes that do not fit, labels out of
        range, and logits of the CPU that are not finite
    TypeError : for arguments of other types; when called, for tensors of other types
    OverflowError : for logits whose sums leave their float type
    RuntimeError : for derivatives in forward mode and second ones, and where another rank of ``sync`` refused its batch

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import Criterion, LovaszHingeLoss
    >>> loss = LovaszHingeLoss(per_image=True, reduction="none")
    >>> isinstance(loss, Criterion)
    True
    >>> logits, target = torch.tensor([[2.0, 2.0], [-1.0, 4.0]]), torch.tensor([[1, 0], [1, 1]])
    >>> loss(logits, target).tolist()  # two images, one class: 3 * 1/2, and 2 * 1/2
    [[1.5], [1.0]]
    >>> loss(logits, target, mask=logits > 0).tolist()  # without the wrong decision of the second image
    [[1.5], [0.0]]
    """

    class_weight: Tensor | None

    _looked = False

    def __init__(
        self,
        form: Form,
        arguments: Arguments,
        class_weight: Sequence[float] | Tensor | None = None,
        reduction: Reduction = "mean",
        sync: Sync | None = None,
    ) -> None:
        super().__init__()
        as_choice(reduction, "reduction", ("none", "mean", "sum"))
        self.arguments, self.reduction = arguments, reduction
        self.sync = as_sync(sync)
        self.form, self._number = registered(form)
        self.register_buffer("class_weight", as_class_weight(class_weight, arguments), persistent=False)

    def check(self, logits: Tensor, target: Tensor, mask: Tensor | None) -> None:
        """Raise ValueError for logits that do not fit the loss; by default all do."""

    def scores(self, logits: Tensor) -> Tensor:
        """What the form reads of the logits; by default the logits themselves."""
        return logits

    def forward(self, logits: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """The loss of the logits.

        Parameters
        ----------
        logits : (N, C, ...) floats; in binary mode (N, 1, ...) or (N, ...)
        target : (N, ...) or (N, 1, ...) class numbers, or 0 and 1 in the shape of the logits
        mask : (N, ...) or (N, 1, ...) bools, False where pixels do not count; or one for each label, in the shape of
            the logits

        Returns
        -------
        value : a scalar, or the value of every set with ``reduction="none"``
        """
        refuse_tracing(type(self).__name__)
        group = group_of(self.sync)
        if group is not None:
            values, counts, shape = self._over_ranks(logits, target, mask, group)
            return reduced(values, counts, shape, self._weight(logits), self.reduction)
        self.check(logits, target, mask)
        scores = self.scores(logits)
        if is_eager(scores):
            if not self._looked:
                self._look(logits)
            return Job(target, mask, self.form, self.arguments, self._weight, self.reduction).total(scores)
        laid = lay(scores, target, mask, self.arguments)
        values, counts = self._values(laid.scores, laid.codes)
        return reduced(values, counts, laid.shape, self._weight(logits), self.reduction)

    def _look(self, logits: Tensor) -> None:
        """Warn where the first logits look like probabilities, which a surrogate of labels would take for logits."""
        self._looked = True
        loss = getattr(self.form, "loss", getattr(getattr(self.form, "surrogate", None), "loss", None))
        read = isinstance(loss, Loss) and loss.reads == "labels" and getattr(self, "from_logits", True)
        if read and not torch._C._are_functorch_transforms_active() and in_unit(logits):
            warn_of_probabilities(f"{type(self).__name__} takes it for logits, of which those above 0 are positive")

    def _values(self, scores: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """The values of sets, and which of them count, (S,) each."""
        values, _, totals = ops.evaluate(scores, codes, self._number)
        return values, counted(totals, self.arguments)

    def _over_ranks(
        self, logits: Tensor, target: Tensor, mask: Tensor | None, group: Any
    ) -> tuple[Tensor, Tensor, tuple[int, ...]]:
        """The values of the sets of all ranks, which of them count, and the shape in which they are returned."""

        def own() -> Rows:
            self._weight(logits)
            self.check(logits, target, mask)
            laid = lay(self.scores(logits), target, mask, self.arguments)
            if not self.arguments.per_image:
                return Rows(laid.scores, laid.codes)
            # An image is whole on its rank, so its values are shared: one row of them for each class.
            values, counts = self._values(laid.scores, laid.codes)
            return Rows(values.reshape(laid.shape).T, counts.reshape(laid.shape).T.to(torch.int8))

        found = shared(own, self.arguments, group)
        if not self.arguments.per_image:
            return *self._values(found.numbers, found.codes), (len(found.codes),)
        return found.numbers.T.flatten(), found.codes.T.flatten() == 1, tuple(found.codes.T.shape)

    def _weight(self, logits: Tensor) -> Tensor | None:
        """The weights of the channels that may count; None weights all alike."""
        return weights_of(self.class_weight, self.arguments, 1 if self.arguments.mode == "binary" else logits.shape[1])

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        weight = self.class_weight
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.class_weight = unrounded(weight, self.class_weight)
        return self

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        # Numbers of forms belong to a process, and a module may come from another one.
        self.form, self._number = registered(self.form)

    def extra_repr(self) -> str:
        """What ``repr`` shows in parentheses."""
        return as_call(self, self.arguments, self.form)
