"""A measure evaluates predictions; a loss is a measure for which a predictor can be trained."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.arrays import Values
from setwise.core.batch import Batch
from setwise.core.checks import as_class_labels, as_factor, as_kind, as_labels, as_predictions, as_scores
from setwise.core.classes import Classes
from setwise.core.counts import Formula
from setwise.core.function_of_mistakes import FunctionOfMistakes
from setwise.core.graphs import Graphs
from setwise.core.one_label import binary_view, lift
from setwise.core.pages import CLASS_LOSSES, RANKINGS, SUMS
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.structure import Structure
from setwise.core.traits import CURVATURES, Trait


class Measure(ABC):
    """A function of the truth and of predictions that gives one number for each set; lower is better.

    Attributes
    ----------
    name : the short name, which is unique among the measures of setwise
    reads : the kind of the predictions: ``"labels"`` 0 and 1, ``"scores"`` whose order counts, or ``"classes"`` 0..k-1
    """

    name: ClassVar[str]
    reads: ClassVar[Literal["labels", "scores", "classes"]] = "labels"

    @classmethod
    @abstractmethod
    def examples(cls, p: int) -> "list[Any]":
        """Instances for sets of p decisions, difficult ones included, on which the tests check every promise."""

    @abstractmethod
    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        """The mathematics of :meth:`values`, for predictions that were checked."""

    @final
    def values(self, batch: Batch, predictions: ArrayLike) -> Values:
        """The measure of every set, (n,), for flat predictions (total,) of the kind in ``reads``.

        A measure of scores takes :class:`setwise.core.Graphs` too: the scores are one for each node, as the
        differences of its max-marginals.
        """
        as_kind(batch, "batch", Batch, "Sets.single(y)")
        if self.reads == "scores":
            batch = batch.nodes if isinstance(batch, Graphs) else batch
            if not isinstance(batch, Sets) or batch.known is not None or batch.totals is not None:
                raise Refusal(
                    f"{self!r} refuses this batch: it ranks whole sets of binary decisions, all known.", RANKINGS
                )
            return self._finite(batch, as_scores(predictions, batch.total, "predictions"))
        return self._finite(batch, as_predictions(predictions, batch.total, batch.n_labels))

    @final
    def __call__(self, y_true: ArrayLike, y_pred: ArrayLike) -> float:
        """The measure of one set, for ``y_true`` (p,) and ``y_pred`` (p,) of the kind in ``reads``."""
        batch: Batch
        guess: NDArray[Any]
        if self.reads == "classes":
            # The number of classes is read off both arrays, and is at least 2.
            truth, guess = as_class_labels(y_true, "y_true"), as_class_labels(y_pred, "y_pred")
            batch = Classes.single(truth, 1 + int(max(truth.max(), guess.max(initial=1))))
        else:
            batch = Sets.single(y_true)
            guess = as_labels(y_pred, "y_pred") if self.reads == "labels" else as_scores(y_pred, batch.total, "scores")
        if guess.shape != batch.labels.shape:
            raise ValueError(f"y_pred must have the shape of y_true, {batch.labels.shape}; got {guess.shape}.")
        return float(self._finite(batch, guess)[0])

    def _finite(self, batch: Batch, predictions: NDArray[Any]) -> Values:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.evaluate(batch, predictions)
        if not np.isfinite(values).all():
            raise OverflowError(f"{self!r} overflows float64 on these predictions; scale its parameters down.")
        return values


class Loss(Measure):
    """The cost of a labeling of a set, given the truth; it is at least 0, and training makes it small.

    ``loss(y_true, y_pred)`` is that of one set, for two arrays (p,): labels 0 and 1, the scores of a loss of a ranking,
    or labels 0..k-1 of several classes. ``loss.of_mistakes(y_true)`` is the set function ``A -> l_y(A)`` of the
    mistakes, and ``loss.values(batch, predictions)`` goes over many sets, (n,). Losses are added, and multiplied by
    positive numbers.

    A subclass gives its formula once, in :meth:`bind`; values, gains and marginals follow from the terms that this
    method returns. One for a function of the counts is shorter: see :class:`setwise.core.CountLoss`.

    Source: LH Eq. 9.

    Examples
    --------
    >>> from setwise.losses import Hamming, Jaccard
    >>> y_true, y_pred = [1, 1, 1, 0], [1, 1, 0, 0]
    >>> loss = Jaccard() + 2.0 * Hamming()
    >>> round(loss(y_true, y_pred), 3)  # 1/3 + 2
    2.333
    >>> # 1/4, then 2/4 with the second mistake.
    >>> Jaccard().of_mistakes(y_true).gains([3, 2]).round(3).tolist()
    [0.25, 0.25]
    """

    @property
    @abstractmethod
    def traits(self) -> frozenset[Trait]:
        """The traits that this loss, with its parameters, promises for every ground truth."""

    @property
    def denied(self) -> frozenset[Trait]:
        """The traits that are known to fail for some ground truth; refusals mention them."""
        return frozenset()

    def of_one_batch(self, batch: Batch) -> bool:
        """Whether a parameter numbers the decisions of this one batch, so that these must keep their order."""
        return False

    @property
    def weak(self) -> bool:
        """Whether decisions of unknown label take part, so that a set may be known by nothing else."""
        return False

    @property
    def formula(self) -> Formula | None:
        """The loss as a function of (fn, fp, P, N) that holds for all binary sets; None where no such is known."""
        return None

    def check(self, batch: Batch) -> None:
        """Raise ValueError if the parameters do not fit the sets, for example weights of another length."""

    @abstractmethod
    def bind(self, batch: Any) -> Structure:
        """The formula bound to a batch that fits it. Callers use :meth:`structure`, which checks the batch first."""

    @final
    def structure(self, batch: Batch) -> Structure:
        """The loss bound to a batch, computed once for each fit. Raises ValueError if it does not fit the sets."""
        as_kind(batch, "batch", Batch, "Sets.single(y)")
        self.check(batch)
        if batch.binary or self.reads == "classes":
            return replace(self.bind(batch), source=self)
        if Trait.LABEL_FREE not in self.traits:
            raise Refusal(
                f"{self!r} refuses {batch.n_labels} labels: it tells positives from negatives. "
                "Use MeanOverClasses(loss) or OneClass(loss, label).",
                CLASS_LOSSES,
            )
        # A loss that sees only which decisions are wrong is bound to the decisions "is this label right?".
        return replace(lift(batch, None, self.bind(binary_view(batch, None))), source=self)

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        return self.structure(batch).values(predictions)

    @final
    def of_mistakes(self, y_true: ArrayLike) -> FunctionOfMistakes:
        """The set function ``A -> l_y(A)`` of the mistakes, for one ground truth of shape (p,) and values 0/1."""
        return FunctionOfMistakes(self.structure(Sets.single(y_true)))

    @final
    def __add__(self, other: object) -> "Loss":
        return Combination.of([(1.0, self), (1.0, other)]) if isinstance(other, Loss) else NotImplemented

    @final
    def __radd__(self, other: object) -> "Loss":
        # Python's sum() begins with 0, which adds nothing.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @final
    def __mul__(self, factor: object) -> "Loss":
        if not isinstance(factor, int | float | np.integer | np.floating):
            return NotImplemented
        return Combination.of([(as_factor(factor), self)])

    __rmul__ = __mul__


@final
@dataclass(frozen=True)
class Combination(Loss):
    """``sum_t factor_t loss_t`` with positive factors, which ``+`` and ``*`` of losses return.

    It makes the promises that all its losses make, and its structure is the sum of the multiples of their structures.
    """

    parts: tuple[tuple[float, Loss], ...]

    name: ClassVar[str] = ""

    @classmethod
    def of(cls, parts: "Iterable[tuple[float, Loss]]") -> "Combination":
        """The combination of the given pairs (factor, loss), in which sums of sums are one sum."""
        flat: list[tuple[float, Loss]] = []
        for factor, loss in parts:
            inner = loss.parts if isinstance(loss, Combination) else ((1.0, loss),)
            flat += [(as_factor(factor * c), part) for c, part in inner]
        odd = [loss for _, loss in flat if loss.reads == "scores"]
        if odd and len(flat) > 1:
            raise Refusal(
                f"+ refuses {odd[0]!r}: it evaluates an order of scores, not labels. Train for it alone.", SUMS
            )
        return cls(tuple(flat))

    @classmethod
    def examples(cls, p: int) -> list[Any]:
        return []

    @property
    def reads(self) -> Any:  # type: ignore[override]
        """The kind of predictions that all the losses read; labels are classes too, so classes prevail."""
        kinds = {loss.reads for _, loss in self.parts}
        return "classes" if "classes" in kinds else kinds.pop()

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset.intersection(*(loss.traits for _, loss in self.parts))

    @property
    def denied(self) -> frozenset[Trait]:
        """The curvatures that the only loss that is not modular denies: modular losses do not change its curvature."""
        if len(self.parts) == 1:
            return self.parts[0][1].denied
        remainder = [loss for _, loss in self.parts if Trait.MODULAR not in loss.traits]
        return remainder[0].denied & CURVATURES if len(remainder) == 1 else frozenset()

    def of_one_batch(self, batch: Batch) -> bool:
        """Whether one of the losses is."""
        return any(loss.of_one_batch(batch) for _, loss in self.parts)

    @property
    def weak(self) -> bool:
        """Whether one of the losses is."""
        return any(loss.weak for _, loss in self.parts)

    def check(self, batch: Batch) -> None:
        for _, loss in self.parts:
            loss.check(batch)

    def bind(self, batch: Any) -> Structure:
        # A factor of 1 is left out, so that the sum shares the arrays of its terms.
        bound = [loss.structure(batch) if c == 1.0 else c * loss.structure(batch) for c, loss in self.parts]
        return reduce(Structure.__add__, bound)

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        return reduce(np.add, [factor * loss.evaluate(batch, predictions) for factor, loss in self.parts])

    def __repr__(self) -> str:
        if len(self.parts) == 1:
            return f"{self.parts[0][0]:g} * {self.parts[0][1]!r}"
        return " + ".join(repr(loss) if c == 1.0 else f"{c:g} * {loss!r}" for c, loss in self.parts)
