"""A measure evaluates predictions; a loss is a measure for which a predictor can be trained.

Most losses depend on the counts of false negatives, false positives, positives and negatives alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.batch import Batch, Classes, Sets
from setwise.core.bound_loss import BoundLoss, FunctionOfMistakes, binary_view, lift
from setwise.core.checks import Ints, Values, as_class_labels, as_factor, as_kind, as_labels, as_predictions, as_scores
from setwise.core.counts import Ceiling, Counts, Curvature, Formula, Quotient, QuotientCurvature
from setwise.core.exceptions import BrokenPromise, Refusal
from setwise.core.networks import Graphs
from setwise.core.pages import CLASS_LOSSES, NETWORKS_REFUSE, RANKINGS, SUMS
from setwise.core.terms import CURVATURES, Mistakes, Trait


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
    def examples(cls, p: int) -> "list[Any]":
        """Instances for sets of p decisions, difficult ones included, on which the tests check every promise.

        By default the one without parameters.
        """
        return [cls()]

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

    is_called: ClassVar[bool] = False
    """Whether each value is a call of a function of a user."""

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

    def of_rows(self, rows: Ints) -> "Loss":
        """The loss for some rows of a set, where parameters number its rows; otherwise the loss itself."""
        return self

    def as_score(self, loss: float, n: float) -> float:
        """The score of sets of n rows each, or of rows of the weight n, with this mean loss: ``1 - loss``."""
        return 1.0 - loss

    @property
    def reported(self) -> "Loss":
        """The loss that scores and reports are made of; another one only for a function of a user, which they print."""
        return self

    def for_labels(self, labels: tuple[Any, Any]) -> "Loss":
        """The loss where these are the negative and the positive label; another one only for a function of a user."""
        return self

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
    def _bind(self, batch: Any) -> BoundLoss:
        """The formula bound to a batch that fits it. Callers use :meth:`bind`, which checks the batch first."""

    @final
    def bind(self, batch: Batch) -> BoundLoss:
        """The loss bound to a batch, computed once for each fit. Raises ValueError if it does not fit the sets."""
        as_kind(batch, "batch", Batch, "Sets.single(y)")
        self.check(batch)
        if batch.binary or self.reads == "classes":
            return replace(self._bind(batch), source=self)
        if Trait.LABEL_FREE not in self.traits:
            raise Refusal(
                f"{self!r} refuses {batch.n_labels} labels: it is for two classes. Use MeanOver"
                "Classes(loss) or OneClass(loss, label).",
                CLASS_LOSSES,
            )
        # A loss that sees only which decisions are wrong is bound to the decisions "is this label right?".
        return replace(lift(batch, None, self._bind(binary_view(batch, None))), source=self)

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        return self.bind(batch).values(predictions)

    @final
    def of_mistakes(self, y_true: ArrayLike) -> FunctionOfMistakes:
        """The set function ``A -> l_y(A)`` of the mistakes, for one ground truth of shape (p,) and values 0/1."""
        return FunctionOfMistakes(self.bind(Sets.single(y_true)))

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

    It makes the promises that all its losses make, and bound to a batch it is the sum of their multiples, bound.
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
            raise Refusal(f"+ refuses {odd[0]!r}: it reads the order of scores, not labels. Train for it alone.", SUMS)
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

    def of_rows(self, rows: Ints) -> Loss:
        """The combination of the losses for some rows of a set."""
        return Combination(tuple((factor, loss.of_rows(rows)) for factor, loss in self.parts))

    def for_labels(self, labels: tuple[Any, Any]) -> Loss:
        """The combination of the losses for these labels."""
        return Combination(tuple((factor, loss.for_labels(labels)) for factor, loss in self.parts))

    @property
    def weak(self) -> bool:
        """Whether one of the losses is."""
        return any(loss.weak for _, loss in self.parts)

    def check(self, batch: Batch) -> None:
        for _, loss in self.parts:
            loss.check(batch)

    def _bind(self, batch: Any) -> BoundLoss:
        # A factor of 1 is left out, so that the sum shares the arrays of its terms.
        bound = [loss.bind(batch) if c == 1.0 else c * loss.bind(batch) for c, loss in self.parts]
        return reduce(BoundLoss.__add__, bound)

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        return reduce(np.add, [factor * loss.evaluate(batch, predictions) for factor, loss in self.parts])

    def __repr__(self) -> str:
        if len(self.parts) == 1:
            return f"{self.parts[0][0]:g} * {self.parts[0][1]!r}"
        return " + ".join(repr(loss) if c == 1.0 else f"{c:g} * {loss!r}" for c, loss in self.parts)


class CountLoss(Loss):
    """``l_y(A) = f(fn, fp, P, N)`` of the false negatives, false positives, positives and negatives of the set.

    A subclass gives :meth:`of_counts`, vectorized over float64 arrays, and everything else follows from it. The other
    methods state properties of f with which inference finds the maximum faster. docs/guide/own_loss.md makes one step
    by step.

    Source: Joachims (2005) for losses of counts; the properties are own (docs/guide/inference.md).

    Raises
    ------
    BrokenPromise : where the loss is bound to sets, for a promise of ``Trait.MODULAR`` that f does not keep there
    Refusal : a ValueError, where a loss with :meth:`predicted` is bound to networks

    Examples
    --------
    The share of decisions that are wrong, with misses four times as expensive:

    >>> from dataclasses import dataclass
    >>> from setwise.core import CountLoss
    >>> from setwise.losses import Trait
    >>> @dataclass(frozen=True)
    ... class Missed(CountLoss):
    ...     traits = frozenset({Trait.INCREASING, Trait.MODULAR, Trait.COUNTS})
    ...
    ...     @classmethod
    ...     def examples(cls, p):
    ...         return [cls()]
    ...
    ...     def of_counts(self, fn, fp, P, N):
    ...         return (4.0 * fn + fp) / (P + N)
    >>> Missed()([1, 1, 0, 0], [1, 0, 1, 0])
    1.25
    """

    @abstractmethod
    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The formula f; its four arguments broadcast, with 0 <= fn <= P and 0 <= fp <= N."""

    def quotient(self, P: Values, N: Values) -> Quotient | None:
        """The coefficients (n, 3) of 1, fn, fp in the numerator and in the denominator of a linear-fractional loss.

        The loss must increase, and the denominator must be positive, except at fn = fp = 0 where it may vanish. All
        other losses return None.
        """
        return None

    @property
    def monge(self) -> bool | None:
        """Whether one more false negative never adds more at a larger fp, for all P and N; None if this is unknown."""
        return None

    @property
    def affine(self) -> bool | None:
        """Whether f is affine in fn where P, N and the number ``P - fn + fp`` predicted are fixed; None: unknown.

        For quotients this is read off the coefficients, so only other losses need to tell.
        """
        return None

    @property
    def diluted(self) -> bool | None:
        """Whether f never grows with P where fn, fp and N are fixed, nor with N where the others are; None: unknown.

        One more right decision then never makes the loss larger. The bounds of large decisions are faster for it.
        """
        return None

    @property
    def ceiling(self) -> Ceiling | None:
        """An upper bound of f over ranges of fn and fp, for losses that do not increase; None: unknown.

        It takes the first and the last fn, the first and the last fp, P and N, which broadcast. With it large tables of
        counts are pruned, as those of increasing losses are.
        """
        return None

    @property
    def curvature(self) -> Curvature | None:
        """Bounds on the second differences of f over ranges of fn and fp; None: unknown.

        With them large sets in several pieces need few rounds of histograms. For quotients they are known, so only
        other losses need to tell.
        """
        return None

    def predicted(self, P: Values, N: Values) -> Values | None:
        """The number of decisions that must be predicted positive for the loss to be defined, (n,); None allows any."""
        return None

    @property
    def formula(self) -> Formula | None:
        kind = type(self)
        # A subclass that binds in a way of its own, or fits some sets only, is not known by its formula alone.
        own = (kind.bind, kind.counts, kind.check, kind.predicted)
        plain = own == (CountLoss.bind, CountLoss.counts, Loss.check, CountLoss.predicted)
        return self.of_counts if plain and self.reads == "labels" else None

    def _bind(self, batch: Sets) -> BoundLoss:
        P, N = batch.count(1), batch.count(0)
        # A modular loss is bound as a sum of costs, which is maximized exactly, decision by decision.
        if Trait.MODULAR in self.traits:
            costs = self._costs(batch, P, N)
            if costs is not None:
                return BoundLoss(batch, (Mistakes(costs),))
        term = self.counts(P, N)
        if term.predicted is None:
            return BoundLoss(batch, (term,))
        if not isinstance(batch, Sets):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: it fixes the number of predicted positives, which no "
                "method for networks can do. Train for another loss, and measure this one by differences of "
                "max-marginals.",
                NETWORKS_REFUSE,
            )
        return BoundLoss(_compared_with_best(batch, term.predicted), (term,))

    def counts(self, P: Values, N: Values) -> Counts:
        """The formula for sets with these numbers of positives and negatives, (n,) each, as a term."""
        quotient = self.quotient(P, N) if Trait.INCREASING in self.traits else None
        # With fp = fn + a constant, a denominator whose coefficients of fn and fp cancel is a constant.
        curvature = self.curvature if quotient is None else QuotientCurvature(self.quotient)
        flat = quotient is not None and bool(np.isclose(quotient[1][:, 1], -quotient[1][:, 2], 1e-15, 0.0).all())
        return Counts(
            ((1.0, self.of_counts),),
            P,
            N,
            self.traits,
            quotient=quotient,
            monge=self.monge,
            predicted=self.predicted(P, N),
            affine=True if flat else self.affine,
            diluted=self.diluted,
            ceilings=None if self.ceiling is None else ((1.0, self.ceiling),),
            curvatures=None if curvature is None else ((1.0, curvature),),
        )

    def _costs(self, batch: Sets, P: Values, N: Values) -> Values | None:
        """The cost of each mistake of a modular loss, (total,); None if the loss of no mistake is not 0."""
        none = np.zeros(len(P))
        # The first mistake of each kind has the cost of all others. Where a set lacks a class, its count stays 0.
        start = self.of_counts(none, none, P, N)
        miss = self.of_counts(np.minimum(P, 1.0), none, P, N)
        alarm = self.of_counts(none, np.minimum(N, 1.0), P, N)
        if (start != 0).any():
            return None
        whole, sums = self.of_counts(P, N, P, N), P * miss + N * alarm
        if (np.abs(whole - sums) > 1e-9 * (np.abs(whole) + np.abs(sums))).any():
            raise BrokenPromise(
                f"{self!r} breaks its promise: on these sets it is not modular. Leave that promise out."
            )
        return np.where(batch.truth, np.repeat(miss, batch.sizes), np.repeat(alarm, batch.sizes))


def _compared_with_best(batch: Sets, predicted: Values) -> Sets:
    """The batch whose target is the mean of the best labelings among those with ``predicted`` positives.

    The best of them have the fewest mistakes. The truth itself is not allowed where its number of positives differs.
    """
    P, N = batch.positives, batch.negatives
    if batch.totals is not None:
        N, P = batch.totals.T
    if (predicted == P).all():
        return batch
    # With fewer predicted positives than P every positive is chosen equally often, and no negative. With more, all
    # positives are chosen, and the negatives share the rest.
    positive = np.minimum(predicted / np.maximum(P, 1.0), 1.0)
    negative = np.maximum(predicted - P, 0.0) / np.maximum(N, 1.0)
    return replace(batch, compared=np.where(batch.truth, positive[batch.owners], negative[batch.owners]))


def calls_labels(loss: Loss) -> bool:
    """Whether a loss is a function of a user, or is made of one, so that its values are calls of it."""
    parts = [part for _, part in loss.parts] if isinstance(loss, Combination) else [getattr(loss, "loss", None)]
    return loss.is_called or any(calls_labels(part) for part in parts if isinstance(part, Loss))
