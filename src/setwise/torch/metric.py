"""SetMetric: a loss of decided labels over many batches, the validation figure of what a network was trained for."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self, final

import numpy as np
import torch
from torch import Tensor

from setwise.core.batch import Sets
from setwise.core.checks import as_choice, as_count, as_number
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import FIGURE_TO_WATCH
from setwise.core.terms import Trait
from setwise.torch.arguments import (
    Arguments,
    Classes,
    Empty,
    Mode,
    as_call,
    in_unit,
    named,
    refuse_tracing,
    warn_of_probabilities,
)
from setwise.torch.criterion import WeightedModule, as_class_weight, counted, summed
from setwise.torch.layout import LABELS, as_scores, codes_of, kind_of, lay, numbers_of, ragged, shape_of
from setwise.torch.operators import array_of
from setwise.torch.process_groups import Sync, as_sync, exchanged, group_of


def decided(preds: Tensor, mode: Mode, num_classes: int | None, threshold: float) -> tuple[Tensor, Tensor]:
    """Labels that are decided, and a tensor of floats in the shape of logits (N, C, ...) for which they are.

    Floats are logits: a decision is positive above the threshold, and in multiclass mode the label is that of the
    largest. Bools and whole numbers are labels already.
    """
    if not isinstance(preds, Tensor) or preds.dtype not in LABELS:
        raise TypeError(f"preds must be a tensor of logits or labels; got {kind_of(preds)}.")
    of_labels = mode == "multiclass" and preds.dtype != torch.bool and not preds.is_floating_point()
    if num_classes is not None and not of_labels and preds.ndim > 1 and preds.shape[1] != num_classes:
        raise ValueError(f"num_classes must be the number of channels of preds, {preds.shape[1]}; got {num_classes}.")
    if preds.is_floating_point():
        if mode != "multiclass":
            return preds > threshold, as_scores(preds)
        if preds.ndim < 2 or preds.shape[1] < 2:
            raise ValueError(f"preds must be logits (N, C, ...) with C >= 2 in multiclass mode; got {shape_of(preds)}.")
        return preds.argmax(dim=1), as_scores(preds)
    if of_labels and num_classes is None:
        raise ValueError("preds of class numbers do not tell how many classes there are; give num_classes.")
    # A number of classes that a small type does not hold would be another number there.
    preds = preds if preds.dtype == torch.bool else preds.long()
    top = num_classes if of_labels and num_classes is not None else 2
    # On an accelerator wrong labels are found when they are encoded.
    told = preds.dtype != torch.bool and preds.device.type == "cpu"
    if told and len(odd := preds[(preds < 0) | (preds >= top)]):
        raise ValueError(f"preds must be logits, or labels from 0 to {top - 1}; got {odd[0].item()}.")
    shape = (*preds.shape[:1], num_classes, *preds.shape[1:]) if of_labels else preds.shape
    return preds, torch.empty((), device=preds.device).expand(*shape)


def tallied(labels: Tensor, codes: Tensor) -> Tensor:
    """The numbers (S, 4) of false negatives, false positives, positives and negatives, int64.

    ``labels`` (S, p) are bool, and ``codes`` (S, p) those of the truth; decisions of code -1 are in none.
    """
    positive, negative = codes == 1, codes == 0
    parts = (positive & ~labels, negative & labels, positive, negative)
    return torch.stack([part.sum(dim=1) for part in parts], dim=1)


def tallied_numbers(labels: Tensor, numbers: Tensor, classes: int) -> Tensor:
    """The same (N, classes, 4) for the sets of each class in each image, of class numbers (N, p) of one for each pixel.

    Pixels of the true number -1 are in none. This takes one pass over the pixels, where codes take one for each class.
    """
    images, cells = len(labels), classes * classes
    cell = torch.where(numbers < 0, cells, numbers * classes + labels)
    cell += (cells + 1) * torch.arange(images)[:, None]
    found = torch.bincount(cell.flatten(), minlength=images * (cells + 1)).reshape(images, cells + 1)
    table = found[:, :cells].reshape(images, classes, classes)
    right, positives, predicted = table.diagonal(dim1=1, dim2=2), table.sum(dim=2), table.sum(dim=1)
    negatives = positives.sum(dim=1, keepdim=True) - positives
    return torch.stack([positives - right, predicted - right, positives, negatives], dim=2)


def reads_counts(loss: Loss) -> bool:
    """Whether a loss is a function of the counts of a set of any size."""
    if loss.reads != "labels" or Trait.COUNTS not in loss.traits:
        return False
    try:
        loss.check(Sets(np.zeros(3, dtype=np.bool_), np.array([0, 1, 3])))
    except ValueError:
        return False
    return True


def of_tallies(loss: Loss, tallies: Tensor) -> Tensor:
    """The loss of sets with these counts (S, 4), (S,) float64; sets without decisions have the value 0."""
    out = np.zeros(len(tallies))
    counts = tallies.cpu().numpy().astype(np.float64)
    rows = np.flatnonzero(counts[:, 2:].sum(axis=1))
    if len(rows):
        fn, fp, P, N = counts[rows].T
        formula = loss.bind(Sets.pieces(P, N)).counts
        assert formula is not None
        out[rows] = formula.of(fn, fp)
    return torch.from_numpy(out)


def of_predictions(loss: Loss, predictions: Tensor, codes: Tensor) -> Tensor:
    """The loss of every set for labels or scores (S, p), (S,) float64; sets of which no decision counts have 0."""
    found = ragged(array_of(codes.cpu()))
    out = np.zeros(len(codes))
    if found.sets is not None:
        out[found.rows] = loss.values(found.sets, found.take(array_of(predictions.cpu())))
    return torch.from_numpy(out)


@final
class SetMetric(WeightedModule):
    """``loss(truth, decided labels)`` of the data set since the last reset: 1 - IoU for Jaccard, 1 - F1 for F1.

    Without ``per_image`` each class has one set, which is the whole data set: its false negatives, false positives,
    positives and negatives are added up, so the loss must be a function of these. With ``per_image`` the losses of
    images are added up, for any loss, also of a ranking. The arguments are those of the losses, and choose the same
    sets; the figure is that of their mean, at the labels that are decided. It is float64, and NaN where no set counts.

    A call adds a batch, and returns the value of this batch. Sums are no part of ``state_dict``, follow ``to(device)``,
    and keep their type under ``half()``. The methods and attributes are those of torchmetrics, but not the class: where
    an instance of ``torchmetrics.Metric`` is asked for, as in a MetricCollection, its ``update`` may add up
    :meth:`sums_of` in a state with ``dist_reduce_fx="sum"``, and its ``compute`` returns :meth:`value_of` that.
    Lightning logs ``metric.compute()``, not the metric.

    Source: this library; sums of counts, compared with the loss of all batches in tests/pytorch/test_set_metric.py.

    Parameters
    ----------
    loss : any loss of labels or of a ranking, or its name
    mode, ignore_index, per_image, classes, include_background, empty : see :class:`setwise.torch.Arguments`
    class_weight : (C,) numbers of at least 0, the weights of the channels in the mean of the classes; None weights all
        alike
    reduction : ``"mean"``, or ``"none"`` for the value of each class over the data set, with NaN for those that do not
        count
    num_classes : how many classes there are, which ``preds`` of class numbers do not tell; logits must have as many
    threshold : the logit above which a decision is positive, not in multiclass mode; the unit is that of the
        outputs, so 0.5 suits probabilities. None is 0, and warns once where all that is given is in [0, 1]
    sync : ``"set"`` adds up the sums of all ranks in :meth:`compute`, which all of them must call then; a process group
        those of its ranks, and None none. Without processes they are the same. It never changes the sums of a rank

    Raises
    ------
    Refusal : for a loss whose batches do not add up, and for arguments that do not fit each other
    ValueError : for words and numbers that are none of these; when called, as the losses, and for logits that are NaN
    TypeError : for arguments of other types; when called, for tensors of other types
    RuntimeError : from :meth:`compute`, before the first batch

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import SetMetric
    >>> metric = SetMetric("jaccard")
    >>> value = metric(torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([[1, 1, 0]]))  # IoU is 1/3
    >>> round(value.item(), 3)
    0.667
    >>> metric.update(torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([[1, 1, 0]]))  # IoU is 2/2
    >>> round(metric.compute().item(), 3)  # of both batches as one set IoU is 3/5
    0.4
    """

    is_differentiable: ClassVar[bool] = False
    higher_is_better: ClassVar[bool] = False
    full_state_update: ClassVar[bool] = False

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
        reduction: Literal["mean", "none"] = "mean",
        num_classes: int | None = None,
        threshold: float | None = None,
        sync: Sync | None = "set",
    ) -> None:
        super().__init__()
        self.arguments = Arguments(mode, ignore_index, per_image, classes, include_background, empty)
        self.loss = self.arguments.of(named(loss))
        self.reduction = as_choice(reduction, "reduction", ("mean", "none"))
        self.num_classes = None if num_classes is None else as_count(num_classes, "num_classes")
        self.threshold = 0.0 if threshold is None else as_number(threshold, "threshold")
        self.sync = as_sync(sync)
        self._of_counts = reads_counts(self.loss)
        self._check()
        self._sure = threshold is not None or mode == "multiclass" or self.loss.reads == "scores"
        self.register_buffer("class_weight", as_class_weight(class_weight, self.arguments), persistent=False)
        self._sums: Tensor | None = None

    def _check(self) -> None:
        """Refuse what cannot be summed."""
        if not self.arguments.per_image and not self._of_counts:
            raise Refusal(
                f"SetMetric refuses {self.loss!r} over a whole data set: it is not a function of the counts of "
                "mistakes in sets of any size, so its batches do not add up. Use per_image=True.",
                FIGURE_TO_WATCH,
            )
        if self.arguments.mode == "binary" and self.num_classes is not None:
            raise Refusal(
                f"num_classes={self.num_classes} is for several classes, but mode='binary' has one.", FIGURE_TO_WATCH
            )
        if self.arguments.mode == "multiclass" and self.threshold != 0.0:
            raise Refusal(
                f"threshold={self.threshold:g} is for decisions of their own, but in mode='multiclass' the label is "
                "that of the largest logit.",
                FIGURE_TO_WATCH,
            )
        if self.arguments.per_image and self.reduction == "none":
            raise Refusal(
                "reduction='none' and per_image=True refuse each other: SetMetric keeps one sum of all images.",
                FIGURE_TO_WATCH,
            )

    @torch.no_grad()
    def update(self, preds: Tensor, target: Tensor, mask: Tensor | None = None) -> None:
        """Add a batch.

        Parameters
        ----------
        preds : logits (N, C, ...), or (N, ...) in binary mode; or labels that are decided: 0 and 1 in these shapes, or
            class numbers (N, ...) in multiclass mode. The label is that of the largest logit there
        target, mask : as those of the losses, see :class:`setwise.torch.Criterion`
        """
        self._add(self.sums_of(preds, target, mask))

    @torch.no_grad()
    def forward(self, preds: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """Add a batch, and return the value of this batch alone, on this rank."""
        batch = self.sums_of(preds, target, mask)
        self._add(batch)
        return self.value_of(batch)

    @torch.no_grad()
    def compute(self) -> Tensor:
        """The value of all batches, on all ranks of ``sync``; RuntimeError if none of these has seen a batch."""
        own, group = self._sums, group_of(self.sync)
        total = own
        if group is not None:
            parts = exchanged(None if own is None else own.cpu(), group)
            seen = [part for part in parts if part is not None]
            total = _sum(seen).to("cpu" if own is None else own.device) if seen else None
        if total is None:
            raise RuntimeError("compute of SetMetric was called before update, so there is nothing to compute.")
        return self.value_of(total)

    def reset(self) -> None:
        """Forget all batches."""
        self._sums = None

    def merge_state(self, incoming: "SetMetric") -> None:
        """Add the batches that another metric with the same arguments has seen."""
        if not isinstance(incoming, SetMetric) or repr(incoming) != repr(self):
            raise ValueError(
                f"incoming must be a SetMetric with the arguments of this one, {self!r}; got {incoming!r}."
            )
        if incoming._sums is not None:
            self._add(incoming._sums)

    def _add(self, sums: Tensor) -> None:
        """Add sums to those of this metric, on the device of the new ones."""
        self._sums = sums if self._sums is None else _sum([self._sums.to(sums.device), sums])

    @torch.no_grad()
    def sums_of(self, preds: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """The sums of a batch, which may be added up by others: with :meth:`value_of` they make any metric of sums.

        They are the numbers (classes, 4) of false negatives, false positives, positives and negatives, int64; or with
        ``per_image`` (2,) the sum over the images in which a set counts, and the number of these, float64.
        """
        refuse_tracing("SetMetric")
        arguments = self.arguments
        labels, logits = decided(preds, arguments.mode, self.num_classes, self.threshold)
        if not self._sure and in_unit(preds):
            self._sure = True
            warn_of_probabilities(
                "SetMetric predicts scores above threshold=0: give threshold=0.5 for probabilities, or threshold=0.0 "
                "for logits"
            )
        if self.loss.reads == "scores" and not preds.is_floating_point():
            raise TypeError(f"preds must be logits for {self.loss!r}, which ranks them; got {preds.dtype}.")
        self._check_numbers(preds, target, mask)
        channels = 1 if arguments.mode == "binary" else logits.shape[1]
        weight = self.weights_of(channels)
        if self._of_counts:
            tallies = self._tallies(labels, logits, target, mask)
            if not arguments.per_image:
                return tallies
            values = of_tallies(self.loss, tallies)
        else:
            predictions, codes = self._rows(labels, logits, target, mask)
            tallies = tallied(codes == 1, codes)
            values = of_predictions(self.loss, predictions, codes)
        shape = (logits.shape[0], len(arguments.channels(channels)))
        total, images = summed(values, self._counted(tallies).cpu(), shape, None if weight is None else weight.cpu())
        return torch.stack([total, images.to(total)]).to(logits.device)

    def _check_numbers(self, preds: Tensor, target: Tensor, mask: Tensor | None) -> None:
        """Raise ValueError for logits of the CPU that are NaN where pixels count."""
        # A sum takes one pass; it is also NaN where inf meets -inf.
        if preds.device.type != "cpu" or not preds.is_floating_point() or not preds.sum().isnan():
            return
        every = replace(self.arguments, classes="present", include_background=True, per_image=False)
        scores, codes, _ = lay(as_scores(preds), target, mask, every)
        odd, counts = scores.isnan(), codes >= 0
        if every.mode == "multiclass":
            # One class that is NaN leaves the label of the pixel open.
            odd, counts = odd.any(dim=0), counts.any(dim=0)
        if (odd & counts).any():
            raise ValueError("preds must be numbers where pixels count; got NaN.")

    def value_of(self, sums: Tensor) -> Tensor:
        """The value of the metric for these sums of batches."""
        if self.arguments.per_image:
            return sums[0] / sums[1]
        values, counts = of_tallies(self.loss, sums).to(sums.device), self._counted(sums)
        if self.reduction == "none":
            return torch.where(counts, values, torch.nan)
        channels = 0 if self.class_weight is None else len(self.class_weight)
        total, number = summed(values, counts, (len(values),), self.weights_of(channels))
        return total / number

    def _tallies(self, labels: Tensor, logits: Tensor, target: Tensor, mask: Tensor | None) -> Tensor:
        """The counts (S, 4) of a batch."""
        arguments = self.arguments
        # Counting cells waits for an accelerator, so this is a way for the CPU.
        if arguments.mode == "multiclass" and labels.dtype != torch.bool and labels.device.type == "cpu":
            numbers = numbers_of(logits, target, mask, arguments)
            if numbers is not None:
                found = tallied_numbers(labels.reshape(numbers.shape), numbers, logits.shape[1])
                found = found[:, arguments.channels(logits.shape[1])]
                return found.flatten(0, 1) if arguments.per_image else found.sum(dim=0)
        return tallied(*self._rows(labels, logits, target, mask))

    def _rows(self, labels: Tensor, logits: Tensor, target: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """What the loss reads, as rows (S, p) of labels or of scores, and the codes of the target."""
        if self.loss.reads == "scores":
            return lay(logits, target, mask, self.arguments)[:2]
        decisions = codes_of(logits, labels, None, replace(self.arguments, ignore_index=None))
        return decisions == 1, codes_of(logits, target, mask, self.arguments)

    def _counted(self, tallies: Tensor) -> Tensor:
        """Which sets count, (S,)."""
        return counted(tallies[:, 2:].flip(1), self.arguments)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        # Sums go where the module goes, but do not take its type, in which they would lose digits.
        if self._sums is not None:
            self._sums = self._sums.to(fn(torch.zeros((), dtype=torch.int64, device=self._sums.device)).device)
        return super()._apply(fn, recurse)

    def extra_repr(self) -> str:
        """What ``repr`` shows in parentheses."""
        return as_call(self, self.arguments)


def _sum(parts: Sequence[Tensor]) -> Tensor:
    """The sum of sums of batches, which must have the same classes."""
    if len({part.shape for part in parts}) > 1:
        counts = ", ".join(str(len(part)) for part in parts)
        raise ValueError(f"preds must have the same channels in all batches; SetMetric got {counts} classes.")
    return torch.stack(list(parts)).sum(dim=0)
