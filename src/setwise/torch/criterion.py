"""What all losses for logits and targets share: the way forward, and the values of sets as one number.

The loss of logits on the host is one node of the graph of PyTorch, which small images need to be fast.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import cleandoc, signature
from typing import Any, Literal, ParamSpec, Protocol, Self, cast, overload

import numpy as np
import torch
from torch import Tensor, nn

from setwise.core.checks import as_choice, as_number, shown
from setwise.core.loss import Loss
from setwise.kernels.pixels import ALIKE, shares
from setwise.kernels.threads import thread_limit
from setwise.torch import operators
from setwise.torch.arguments import (
    Arguments,
    as_call,
    in_unit,
    refuse_tracing,
    taken,
    warn_of_probabilities,
    worded,
)
from setwise.torch.layout import as_scores, lay
from setwise.torch.operators import NO_SECOND, Form, OperatorForm, array_of, registered, totals_of
from setwise.torch.process_groups import ScoreRows, Sync, as_sync, group_of, shared

Reduction = Literal["none", "mean", "sum"]


P = ParamSpec("P")


class LossFunction(Protocol[P]):
    """A function of logits, a target and a mask, and of the arguments ``P`` of a module."""

    @overload
    def __call__(self, logits: Tensor, target: Tensor, *given: P.args, **options: P.kwargs) -> Tensor: ...

    # A ParamSpec leaves no room for a name of one's own, so a call with a mask may have any arguments.
    @overload
    def __call__(self, *given: Any, mask: Tensor | None, **options: Any) -> Tensor: ...


LOGITS = (
    "logits, target, mask : (N, C, ...), (N, ...) and (N, ...) or None, see :meth:`setwise.torch.Criterion.forward`"
)

ABOVE_EXAMPLES = """
Parameters
----------
{data}
{names} : as those of :class:`setwise.torch.{module}`, with the same defaults; weights of classes are (C,)

Returns
-------
value : a scalar, or the value of every set with ``reduction="none"``

Raises
------
Refusal, ValueError, TypeError, OverflowError : as :class:`setwise.torch.{module}`

Examples
"""
"""What the functions of all losses say between their first lines and their examples."""


def functional(module: Callable[P, Any], data: str = LOGITS) -> Callable[[Callable[..., Tensor]], LossFunction[P]]:
    """A decorator of the function that makes a module and calls it: its signature and docstring name all arguments.

    ``data`` is what the docstring says of the tensors.
    """
    arguments = signature(module).parameters

    def told(function: Callable[..., Tensor]) -> LossFunction[P]:
        own = signature(function)
        named = [one for one in own.parameters.values() if one.name not in ("given", "options")]
        every = sorted([*named, *arguments.values()], key=lambda one: one.kind)
        vars(function)["__signature__"] = own.replace(parameters=every)
        if function.__doc__:
            above = ABOVE_EXAMPLES.format(data=data, names=", ".join(arguments), module=getattr(module, "__name__", ""))
            function.__doc__ = cleandoc(function.__doc__).replace("\nExamples\n", above)
        return cast("LossFunction[P]", function)

    return told


def counted(totals: Tensor, arguments: Arguments) -> Tensor:
    """A mask of the sets that count, (S,), for the numbers (S, 2) of negatives and positives."""
    return totals[:, 1] > 0 if arguments.only_present else totals.sum(1) > 0


def reduced(
    values: Tensor, counts: Tensor, shape: tuple[int, ...], weight: Tensor | None, reduction: Reduction
) -> Tensor:
    """The values (S,) of sets as ``reduction`` says; sets that do not count have no part in it.

    ``"none"`` returns them in their ``shape``, with 0 where they do not count. ``"sum"`` adds them with the weights of
    their classes. ``"mean"`` divides the sum of each image by its sum of weights, and takes the mean of the images in
    which a set counts; without images it is the mean of the classes. Where nothing counts, the result is 0.
    """
    weights = counts.to(values.dtype)
    if weight is not None and reduction != "none":
        weights = (weights.reshape(shape) * weight.to(weights)).flatten()
    found: Tensor = torch.where(counts, values, 0.0) * factors_of(weights.reshape(shape), reduction).flatten()
    return found.reshape(shape) if reduction == "none" else found.sum()


def factors_of(weights: Tensor, reduction: Reduction) -> Tensor:
    """What each value is multiplied by before all are added, for weights of sets in their shape.

    With ``"none"`` they are not added. Sets that do not count have the weight 0. On the host,
    :func:`setwise.kernels.pixels.shares` tells the same.
    """
    if reduction != "mean":
        return weights
    whole = weights.sum(dim=-1, keepdim=True)
    some = whole > 0
    number = some.sum()
    # Where no set of an image counts, its weights are 0 whatever they are divided by.
    return weights / ((whole + ~some) * (number + (number == 0)))


def summed(values: Tensor, counts: Tensor, shape: tuple[int, ...], weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """The sum of the means of the images, and in how many images a set counts: their quotient is the mean."""
    weights = counts.reshape(shape).to(values.dtype)
    if weight is not None:
        weights = weights * weight.to(values)
    total, whole = (torch.where(counts, values, 0.0).reshape(shape) * weights).sum(dim=-1), weights.sum(dim=-1)
    some = whole > 0
    means = total / torch.where(some, whole, torch.ones_like(whole))
    return means.sum(), some.sum()


def as_class_weight(weights: Sequence[float] | Tensor | None, arguments: Arguments) -> Tensor | None:
    """One weight of at least 0 for each channel of logits, (C,) float64."""
    if weights is None:
        return None
    every = weights if isinstance(weights, list | tuple) else [weights]
    if any(isinstance(one, Tensor) and one.requires_grad for one in every):
        raise ValueError("class_weight must not require a gradient, for it would get none; pass class_weight.detach().")
    given = weights.detach().cpu().numpy() if isinstance(weights, Tensor) else weights
    listed = list(given) if isinstance(given, Sequence | np.ndarray) and np.ndim(given) == 1 else []
    if not listed or isinstance(given, str):
        raise ValueError(f"class_weight must be one number for each class; got {shown(weights)}.")
    checked = [as_number(each, "class_weight", low=0.0) for each in listed]
    counted = range(len(checked)) if isinstance(arguments.classes, str) else arguments.classes
    if not any(checked[c] for c in counted if c < len(checked) and (c or arguments.include_background)):
        raise ValueError(f"class_weight must be above 0 for a class that counts; got {shown(checked)}.")
    return torch.tensor(checked, dtype=torch.float64)


class WeightedModule(nn.Module):
    """A module with weights of the channels of logits, which go where it goes, and keep their type."""

    arguments: Arguments

    class_weight: Tensor | None

    def weights_of(self, channels: int) -> Tensor | None:
        """The weights of those of ``channels`` that may count; None weights all alike."""
        if self.class_weight is None:
            return None
        if len(self.class_weight) != channels:
            raise ValueError(
                f"class_weight must have one number for each of {channels} channels; got {len(self.class_weight)}."
            )
        return taken(self.class_weight, self.arguments.channels(channels), dim=0)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        weight = self.class_weight
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if weight is not None and self.class_weight is not None:
            self.class_weight = weight.to(self.class_weight.device)
        return self


def is_eager(scores: Tensor) -> bool:
    """Whether scores are plain numbers in the memory of the host, and nothing traces what is done to them."""
    plain = type(scores) is Tensor or type(scores) is torch.nn.Parameter
    return plain and scores.is_cpu and not torch.compiler.is_compiling()


@dataclass
class CriterionJob:
    """What the scores (N, C, ...) of a batch are evaluated with, and what is left for the way back.

    ``weight_of`` tells the weights of the classes, once the shape of the scores is known to be right. ``gradient`` is
    that of the values of the sets, (S, p), or in the shape of the scores in binary mode. ``factors`` (S, 1, ...) are
    what the values are multiplied by.
    """

    target: Tensor
    mask: Tensor | None
    form: Form
    arguments: Arguments
    weight_of: Callable[[Tensor], Tensor | None]
    reduction: Reduction
    gradient: Tensor | None = None
    factors: Tensor | None = None

    def total(self, scores: Tensor) -> Tensor:
        """What the operators of :mod:`setwise.torch.operators` and ``reduced`` make of the scores."""
        # The first way is 30 us faster, for PyTorch inspects the signature of the second at each call.
        way = _FunctionalTotalLoss if torch._C._are_functorch_transforms_active() else _TotalLoss
        found: Tensor = way.apply(as_scores(scores), self)  # type: ignore[no-untyped-call]
        return found

    def run(self, scores: Tensor) -> Tensor:
        """The same without a graph."""
        rows, codes, shape = lay(scores, self.target, self.mask, self.arguments)
        with thread_limit(torch.get_num_threads()):
            values, gradient, known = worded(self.form.on_host, array_of(rows), array_of(codes))
        totals = totals_of(codes).numpy() if known is None else known
        given = self.weight_of(scores)
        weight = ALIKE if given is None or self.reduction == "none" else given.detach().cpu().numpy()
        factors = shares(totals, shape[-1], weight, self.arguments.only_present, self.reduction == "mean")
        if self.arguments.mode == "binary":
            gradient = gradient.reshape(scores.shape)
        self.gradient = torch.from_numpy(gradient)
        self.factors = torch.from_numpy(factors.astype(values.dtype).reshape(-1, *[1] * (gradient.ndim - 1)))
        each = values * factors
        total = each.reshape(shape) if self.reduction == "none" else np.add.reduce(each)
        return torch.from_numpy(np.asarray(total, values.dtype))


class _TotalLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, job: CriterionJob) -> Tensor:
        found = job.run(scores)
        # Their numbers are not read again, so they may change: a saved tensor may not.
        ctx.scores, ctx.arguments = scores, job.arguments
        ctx.save_for_backward(job.gradient, job.factors)
        return found

    @staticmethod
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor, None]:
        gradient, factors, *scores = ctx.saved_tensors
        source = scores[0] if scores else ctx.scores
        # A single number needs no step of its own to be multiplied with.
        scale = factors * (change.reshape(factors.shape) if change.ndim else change)
        found = _laid_back(gradient * scale, source.shape, ctx.arguments)
        return once(found, source), None


class _FunctionalTotalLoss(_TotalLoss):
    """The same in the form that ``torch.func.grad`` asks for."""

    @staticmethod
    def forward(scores: Tensor, job: CriterionJob) -> Tensor:  # type: ignore[override]
        return job.run(scores)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, CriterionJob], output: Tensor) -> None:
        scores, job = inputs
        ctx.arguments = job.arguments
        ctx.save_for_backward(job.gradient, job.factors, scores)


def _laid_back(rows: Tensor, shape: torch.Size, arguments: Arguments) -> Tensor:
    """Rows (S, p) in the ``shape`` of the scores from which :func:`lay` made them, with 0 in channels left out.

    In binary mode they are in this shape already.
    """
    if arguments.mode == "binary":
        return rows
    images, channels = shape[:2]
    chosen = arguments.channels(channels)
    pixels = rows.shape[1] if arguments.per_image else rows.shape[1] // max(images, 1)
    if arguments.per_image:
        found = rows.reshape(images, len(chosen), pixels)
    else:
        found = rows.reshape(len(chosen), images, pixels).transpose(0, 1)
    if chosen != list(range(channels)):
        whole = rows.new_zeros(images, channels, pixels)
        whole[:, chosen] = found
        found = whole
    return found.reshape(shape)


def once(gradient: Tensor, *sources: Tensor) -> Tensor:
    """A gradient that was found from the ``sources``, of which no further one can be taken."""
    if not torch.is_grad_enabled():
        return gradient
    found: Tensor = _SingleGradient.apply(gradient, *sources)  # type: ignore[no-untyped-call]
    return found


class _SingleGradient(torch.autograd.Function):
    """A gradient as it is, whose own gradient is refused, also with respect to the tensors from which it was found."""

    @staticmethod
    def forward(gradient: Tensor, *sources: Tensor) -> Tensor:
        return gradient.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *unused: Any) -> None:
        raise RuntimeError(NO_SECOND)


class FormModule(nn.Module):
    """A loss that a form evaluates, with what all such losses are given; see :class:`Criterion`."""

    __call__: Callable[..., Tensor]

    def __init__(self, form: OperatorForm, arguments: Arguments, reduction: Reduction, sync: Sync | None) -> None:
        super().__init__()
        as_choice(reduction, "reduction", ("none", "mean", "sum"))
        self.arguments, self.reduction = arguments, reduction
        self.sync = None if sync is None else as_sync(sync)
        self.form, self._number = registered(form)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        # Numbers of forms belong to a process, and a module may come from another one.
        self.form, self._number = registered(self.form)

    def extra_repr(self) -> str:
        """What ``repr`` shows in parentheses."""
        return as_call(self, self.arguments, self.form)


class Criterion(WeightedModule, FormModule):
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
    form : what the sets are evaluated by, a :class:`setwise.torch.operators.Form`
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

    form: Form

    _looked = False

    def __init__(
        self,
        form: Form,
        arguments: Arguments,
        class_weight: Sequence[float] | Tensor | None = None,
        reduction: Reduction = "mean",
        sync: Sync | None = None,
    ) -> None:
        super().__init__(form, arguments, reduction, sync)
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
        group = None if self.sync is None else group_of(self.sync)
        if group is not None:
            values, counts, shape = self._over_ranks(logits, target, mask, group)
            return reduced(values, counts, shape, self._weight(logits), self.reduction)
        self.check(logits, target, mask)
        scores = self.scores(logits)
        if is_eager(scores):
            if not self._looked:
                self._look(logits)
            return CriterionJob(target, mask, self.form, self.arguments, self._weight, self.reduction).total(scores)
        laid = lay(as_scores(scores), target, mask, self.arguments)
        values, counts = self._values(laid.scores, laid.codes)
        return reduced(values, counts, laid.shape, self._weight(logits), self.reduction)

    def _look(self, logits: Tensor) -> None:
        """Warn where the first logits look like probabilities, which a surrogate of labels would take for logits."""
        self._looked = True
        loss = getattr(self.form, "loss", getattr(getattr(self.form, "surrogate", None), "loss", None))
        read = isinstance(loss, Loss) and loss.reads == "labels" and getattr(self, "from_logits", True)
        if read and not torch._C._are_functorch_transforms_active() and in_unit(logits):
            warn_of_probabilities(f"{type(self).__name__} reads them as logits and predicts those above 0")

    def _values(self, scores: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """The values of sets, and which of them count, (S,) each."""
        values, _, totals = operators.evaluate(scores, codes, self._number)
        return values, counted(totals, self.arguments)

    def _over_ranks(
        self, logits: Tensor, target: Tensor, mask: Tensor | None, group: Any
    ) -> tuple[Tensor, Tensor, tuple[int, ...]]:
        """The values of the sets of all ranks, which of them count, and the shape in which they are returned."""

        def own() -> ScoreRows:
            self._weight(logits)
            self.check(logits, target, mask)
            laid = lay(as_scores(self.scores(logits)), target, mask, self.arguments)
            if not self.arguments.per_image:
                return ScoreRows(laid.scores, laid.codes)
            # An image is whole on its rank, so its values are shared: one row of them for each class.
            values, counts = self._values(laid.scores, laid.codes)
            return ScoreRows(values.reshape(laid.shape).T, counts.reshape(laid.shape).T.to(torch.int8))

        found = shared(own, self.arguments, group)
        if not self.arguments.per_image:
            return *self._values(found.numbers, found.codes), (len(found.codes),)
        return found.numbers.T.flatten(), found.codes.T.flatten() == 1, tuple(found.codes.T.shape)

    def _weight(self, logits: Tensor) -> Tensor | None:
        """The weights of the channels that may count; None weights all alike."""
        return self.weights_of(1 if self.arguments.mode == "binary" else logits.shape[1])
