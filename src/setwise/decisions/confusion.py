"""Losses of several classes as functions of the confusion matrix."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import CountLoss, Loss
from setwise.core.pages import CLASS_LOSSES
from setwise.core.terms import Trait
from setwise.losses.combinations import MeanOverClasses, OneClass
from setwise.losses.cost_matrix import CostMatrix
from setwise.losses.functions import MetricLoss
from setwise.losses.mistakes import BalancedError, ErrorRate
from setwise.losses.recalls import MCC, CohenKappa


@final
@dataclass(frozen=True, eq=False)
class Fractions:
    """``sum_r (starts[r, 0] + <steps[r, 0], C>) / (starts[r, 1] + <steps[r, 1], C>)`` of a confusion matrix C (k, k).

    It holds for all matrices with given numbers of true labels.

    Attributes
    ----------
    starts : (R, 2) the numerators and denominators of no row
    steps : (R, 2, k, k) what a row in a cell adds
    zeros : (R,) the value of 0/0
    by_class : whether there is a fraction for each class, to which only cells of this class add
    """

    starts: Values
    steps: Values
    zeros: Values
    by_class: bool

    def of(self, confusion: Values) -> tuple[Values, Values]:
        """The numerators and the denominators, (R,) each."""
        both = self.starts + np.einsum("rsij,ij->rs", self.steps, confusion)
        return both[:, 0].copy(), both[:, 1].copy()


def confusion_of(truth: Ints, predicted: Ints, k: int, weights: Values | None = None) -> Values:
    """The confusion matrix (k, k): the rows, or their weight, of each true class that are predicted each class."""
    return confusion_at(truth * k + predicted, k, weights)


def confusion_at(cells: Ints, k: int, weights: Values | None = None) -> Values:
    """The confusion matrix (k, k) of rows in its cells, ``k`` times the true class plus the predicted one."""
    return np.bincount(cells, weights, minlength=k * k).reshape(k, k).astype(np.float64)


@dataclass(frozen=True)
class ConfusionLoss(Loss):
    """A loss of k classes that is a function of the confusion matrix of each set, and nothing else.

    Parameters
    ----------
    loss : the loss of which it is the form for several classes
    k : the number of classes
    """

    loss: Loss
    k: int

    reads: ClassVar = "classes"
    traits = frozenset()

    @abstractmethod
    def of_confusion(self, confusion: Values) -> Values:
        """The loss of confusion matrices (..., k, k), a row for each true class."""

    @property
    def reported(self) -> Loss:
        """The same of the loss that scores are made of."""
        return class_loss(self.loss.reported, self.k)

    def as_score(self, loss: float, n: float) -> float:
        """The score of the loss."""
        return self.loss.as_score(loss, n)

    def fractions(self, true: Values) -> Fractions | None:
        """The loss as a sum of fractions where so many rows, (k,), are of each class; None where it is none."""
        return None

    def evaluate(self, batch: Batch, predictions: Ints) -> Values:
        known = batch.labels >= 0
        return self.of_sets(batch.owners[known], len(batch), batch.labels[known], predictions[known])

    def of_sets(self, owners: Ints, n: int, truth: Ints, predicted: Ints, weights: Values | None = None) -> Values:
        """The loss of each of n sets, for the set, label and prediction of each row; rows may have weights."""
        counts = np.bincount((owners * self.k + truth) * self.k + predicted, weights, minlength=n * self.k**2)
        return self.of_confusion(counts.reshape(n, self.k, self.k).astype(np.float64))

    def _bind(self, batch: Batch) -> BoundLoss:
        raise Refusal(f"{self!r} refuses to be trained for: it is for decisions of MeasureClassifier.", CLASS_LOSSES)

    def __repr__(self) -> str:
        return repr(self.loss)


@final
@dataclass(frozen=True, repr=False)
class MeanOfClasses(ConfusionLoss):
    """``sum_c w_c loss(c against the rest)`` of a loss of counts.

    Parameters
    ----------
    inner : the loss of counts
    weights : ``"equal"`` for 1/m with the number m of classes that occur in truth or prediction, ``"support"`` for the
        share of rows that are of the class, or the number of the one class that counts
    """

    inner: CountLoss
    weights: str | int = "equal"

    def _counts(self, confusion: Values) -> tuple[Values, Values, Values, Values]:
        """The false negatives, false positives, positives and negatives of each class, (..., k)."""
        right = np.diagonal(confusion, axis1=-2, axis2=-1)
        P, said = confusion.sum(axis=-1), confusion.sum(axis=-2)
        return P - right, said - right, P, P.sum(axis=-1, keepdims=True) - P

    def shares(self, P: Values, occurs: Bools) -> Values:
        """The weights of the classes, (..., k), with the numbers of rows of each class, and which of them occur."""
        if self.weights == "support":
            return np.asarray(P / np.maximum(P.sum(axis=-1, keepdims=True), 1e-300))
        if self.weights == "equal":
            return np.asarray(occurs / np.maximum(occurs.sum(axis=-1, keepdims=True), 1))
        return np.broadcast_to((np.arange(self.k) == self.weights) * 1.0, P.shape)

    def of_confusion(self, confusion: Values) -> Values:
        counts = self._counts(confusion)
        shares = self.shares(counts[2], (counts[1] > 0) | (counts[2] > 0))
        return np.asarray((shares * self.inner.of_counts(*counts)).sum(axis=-1))

    def fractions(self, true: Values) -> Fractions | None:
        """The loss as a sum of fractions, for which all classes occur: one without rows has the weight 1/k too."""
        rest = true.sum() - true
        found = self.inner.quotient(true, rest)
        if found is None:
            return None
        shares, none = self.shares(true, np.ones(self.k, dtype=bool)), np.zeros(self.k)
        steps, classes = np.zeros((self.k, 2, self.k, self.k)), np.arange(self.k)
        for place, part in enumerate(found):
            for c in classes:
                others = classes != c
                steps[c, place, c, others] = part[c, 1]
                steps[c, place, others, c] = part[c, 2]
        steps[:, 0] *= shares[:, None, None]
        starts = np.stack([shares * found[0][:, 0], found[1][:, 0]], axis=1)
        return Fractions(starts, steps, shares * self.inner.of_counts(none, none, true, rest), True)


@final
@dataclass(frozen=True, repr=False)
class MeanCost(ConfusionLoss):
    """``<costs, C> / n``: the mean cost of a decision. ``costs`` (k, k) are those that a row in each cell adds."""

    costs: Any

    def of_confusion(self, confusion: Values) -> Values:
        rows = confusion.sum(axis=(-2, -1))
        return np.asarray((self.costs * confusion).sum(axis=(-2, -1)) / np.maximum(rows, 1e-300))

    def fractions(self, true: Values) -> Fractions:
        steps = np.stack([self.costs, np.zeros_like(self.costs)])[None]
        return Fractions(np.array([[0.0, true.sum()]]), steps, np.zeros(1), False)


@final
@dataclass(frozen=True, repr=False)
class MeanMiss(ConfusionLoss):
    """``mean_c (share of the rows of class c that are predicted another class)`` over the classes that have rows."""

    def of_confusion(self, confusion: Values) -> Values:
        true = confusion.sum(axis=-1)
        recalls = np.diagonal(confusion, axis1=-2, axis2=-1) / np.maximum(true, 1e-300)
        present = (true > 0).sum(axis=-1)
        return np.asarray(1.0 - recalls.sum(axis=-1) / np.maximum(present, 1) - (present == 0))

    def fractions(self, true: Values) -> Fractions:
        each = np.where(true > 0, 1.0 / (np.maximum(true, 1e-300) * max((true > 0).sum(), 1)), 0.0)
        misses = (1.0 - np.eye(self.k)) * each[:, None]
        steps = np.stack([misses, np.zeros_like(misses)])[None]
        return Fractions(np.array([[0.0, 1.0]]), steps, np.zeros(1), False)


@final
@dataclass(frozen=True, repr=False)
class Disagreement(ConfusionLoss):
    """``<W, C> / <W, t p' / n>``, one minus Cohen's kappa, with the numbers t that are of each class and p predicted.

    ``weights`` (k, k) are W, 0 on the diagonal: 1 elsewhere, or the distances of the classes, or their squares.
    """

    weights: Any

    def of_confusion(self, confusion: Values) -> Values:
        true, said = confusion.sum(axis=-1), confusion.sum(axis=-2)
        chance = np.einsum("...i,ij,...j->...", true, self.weights, said) / np.maximum(true.sum(axis=-1), 1e-300)
        found = (self.weights * confusion).sum(axis=(-2, -1))
        return np.asarray(np.where(chance > 0, found / np.where(chance > 0, chance, 1.0), 0.0))

    def fractions(self, true: Values) -> Fractions:
        chance = np.tile(true @ self.weights / true.sum(), (self.k, 1))
        steps = np.stack([self.weights, chance])[None]
        return Fractions(np.zeros((1, 2)), steps, np.zeros(1), False)


@final
@dataclass(frozen=True, repr=False)
class Uncorrelated(ConfusionLoss):
    """``1 - (n tr C - t p) / sqrt((n^2 - |p|^2) (n^2 - |t|^2))``, one minus Matthews' correlation of k classes.

    It is 1 where the truth or the prediction has one class only, and 0 where there are no rows.
    Source: Gorodkin (2004).
    """

    def of_confusion(self, confusion: Values) -> Values:
        true, said = confusion.sum(axis=-1), confusion.sum(axis=-2)
        n = true.sum(axis=-1)
        shared = n * np.trace(confusion, axis1=-2, axis2=-1) - (true * said).sum(axis=-1)
        # The roots are taken one by one, because the product of large counts has more digits than a float.
        spread = [np.maximum(n * n - (part * part).sum(axis=-1), 0.0) for part in (true, said)]
        scale = np.sqrt(spread[0]) * np.sqrt(spread[1])
        return np.asarray((n > 0) - shared / np.where(scale > 0, scale, 1.0) * (scale > 0))


DISTANCES = {None: 0, "linear": 1, "quadratic": 2}
"""The powers of the distance of two classes by which kappa weighs their mistakes."""


def class_loss(loss: Loss, k: int) -> ConfusionLoss:
    """The form for k classes of a loss: macro F1 of ``"f1"``, the mean Jaccard index, kappa of k classes, and so on.

    A loss of counts is the mean over the classes that occur in truth or prediction, each against the rest; accuracy,
    balanced accuracy, Matthews' correlation and Cohen's kappa have forms of their own. All are those of scikit-learn.

    Raises
    ------
    Refusal : for losses that are no function of the confusion matrix, and functions of a user
    ValueError : for a matrix of costs of another number of classes, and a class that there is not
    """
    if isinstance(loss, ConfusionLoss):
        return loss
    if isinstance(loss, CostMatrix):
        if loss.k != k:
            raise ValueError(f"costs must have a row and a column for each class, {k}; got {loss.k}.")
        return MeanCost(loss, k, loss.counted)
    if isinstance(loss, BalancedError):
        return MeanMiss(loss, k)
    if isinstance(loss, MCC):
        return Uncorrelated(loss, k)
    if isinstance(loss, CohenKappa):
        apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
        power = DISTANCES[loss.weights]
        return Disagreement(loss, k, apart**power if power else (apart > 0).astype(np.float64))
    inner = loss.loss if isinstance(loss, MeanOverClasses | OneClass) else loss
    if not isinstance(loss, MeanOverClasses | OneClass) and Trait.LABEL_FREE in loss.traits:
        if isinstance(loss, ErrorRate):
            return MeanCost(loss, k, 1.0 - np.eye(k))
    elif isinstance(inner, CountLoss):
        if isinstance(loss, OneClass):
            if loss.label >= k:
                raise ValueError(f"label must be one of 0..{k - 1}; got {loss.label}.")
            return MeanOfClasses(loss, k, inner, loss.label)
        return MeanOfClasses(loss, k, inner, loss.weights if isinstance(loss, MeanOverClasses) else "equal")
    why = "it is no function of the confusion matrix"
    if isinstance(loss, MetricLoss):
        given = ", ".join(f"{name}={value!r}" for name, value in getattr(loss.f, "keywords", {}).items())
        why = f"no loss stands for this function{' with ' * bool(given)}{given}, and functions are for two classes"
    raise Refusal(
        f"MeasureClassifier refuses {loss!r} for {k} classes: {why}. Use 'f1', "
        "'jaccard', 'kappa', 'mcc', 'balanced_accuracy', 'accuracy' or CostMatrix(costs).",
        CLASS_LOSSES,
    )
