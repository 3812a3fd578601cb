"""Decided labels against a target: counts of mistakes, and the values of a loss for them."""

import numpy as np
import torch
from torch import Tensor

from setwise.core.batch import Sets
from setwise.core.checks import Values
from setwise.core.loss import Loss
from setwise.core.terms import Trait
from setwise.torch.arguments import Mode
from setwise.torch.encoding import array_of
from setwise.torch.layout import LABELS, kind_of
from setwise.torch.ragged import ragged


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
            return preds > threshold, preds
        if preds.ndim < 2 or preds.shape[1] < 2:
            raise ValueError(f"preds must be logits (N, C, ...) with C >= 2 in multiclass mode; got {_shape(preds)}.")
        return preds.argmax(dim=1), preds
    if of_labels and num_classes is None:
        raise ValueError("preds of class numbers do not tell how many classes there are; give num_classes.")
    # A number of classes that a small type does not hold would be another number there.
    preds = preds if preds.dtype == torch.bool else preds.long()
    _check_labels(preds, num_classes if of_labels and num_classes is not None else 2)
    shape = (*preds.shape[:1], num_classes, *preds.shape[1:]) if of_labels else preds.shape
    return preds, torch.empty((), device=preds.device).expand(*shape)


def _check_labels(preds: Tensor, top: int) -> None:
    """Raise ValueError where a label is none of 0..top-1; on an accelerator this is found when they are encoded."""
    if preds.dtype == torch.bool or preds.device.type != "cpu":
        return
    odd = preds[(preds < 0) | (preds >= top)]
    if len(odd):
        raise ValueError(f"preds must be logits, or labels from 0 to {top - 1}; got {odd[0].item()}.")


def _shape(preds: Tensor) -> str:
    return str(tuple(preds.shape))


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
        out[rows] = _of_counts(loss, *counts[rows].T)
    return torch.from_numpy(out)


def _of_counts(loss: Loss, fn: Values, fp: Values, P: Values, N: Values) -> Values:
    """The loss at the counts (S,), where no set is empty."""
    # A piece of each set, with one decision of each class, stands for the whole, whose totals it knows.
    there = np.column_stack([P > 0, N > 0])
    truth = np.tile([True, False], len(P))[there.ravel()]
    offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
    counts = loss.structure(Sets(truth, offsets, totals=np.column_stack([N, P]))).counts
    assert counts is not None
    return counts.of(fn, fp)


def of_predictions(loss: Loss, predictions: Tensor, codes: Tensor) -> Tensor:
    """The loss of every set for labels or scores (S, p), (S,) float64; sets of which no decision counts have 0."""
    out = torch.zeros(len(codes), dtype=torch.float64)
    found = ragged(array_of(codes.cpu()))
    if found.sets is None:
        return out
    given = predictions.cpu().contiguous().numpy().reshape(-1)
    out[torch.from_numpy(found.rows)] = torch.from_numpy(
        loss.values(found.sets, given if found.places is None else given[found.places])
    )
    return out
