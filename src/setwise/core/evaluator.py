"""Evaluators are functions of the scores of a batch, with a value, a gradient and an upper bound for each set."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.batch import Batch
from setwise.core.checks import as_kind, as_scores, as_tolerances
from setwise.core.pages import NOT_CONVEX, PLACES_REFUSE
from setwise.core.pieces import PiecedEvaluator
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """Bounds ``values <= true values <= upper`` of the sets of a batch, and the gradient of ``values``.

    Attributes
    ----------
    values : (n,), one for each set
    gradient : (n_scores,), of ``values`` by the scores, in their dtype
    upper : (n,), upper bounds of the true values
    exact : (n,) truth values: where True, value and bound agree up to rounding

    Examples
    --------
    >>> from setwise.core.sets import Sets
    >>> from setwise.surrogates import LovaszHinge
    >>> two_sets = Sets(np.array([True, False, True, True]), offsets=np.array([0, 2, 4]))
    >>> found = LovaszHinge("hamming").batch(two_sets, [0.5, 0.5, 2.0, 0.0])
    >>> print(found.values, found.gradient, found.exact)
    [2. 1.] [-1.  1.  0. -1.] [ True  True]
    """

    values: Values
    gradient: Floats
    upper: Values
    exact: Bools


@final
@dataclass(frozen=True)
class SetEvaluation:
    """Bounds ``value <= true value <= upper`` of one set, and the gradient of ``value``.

    Attributes
    ----------
    value : one number
    gradient : (p,), of ``value`` by the scores, in their dtype
    upper : an upper bound of the true value
    exact : whether value and bound agree up to rounding

    Examples
    --------
    >>> from setwise.surrogates import LovaszHinge
    >>> found = LovaszHinge("hamming")([1, 0], [0.5, 0.5])  # the margin errors are 0.5 and 1.5
    >>> print(found.value, found.gradient, found.upper, found.exact)
    2.0 [-1.  1.] 2.0 True
    """

    value: float
    gradient: Floats
    upper: float
    exact: bool


class Evaluator(ABC):
    """A function of the flat scores of a batch, one value for each set.

    The gradient is a subgradient of the function where ``exact``. Elsewhere value and gradient still make a plane
    below a convex function, and ``upper`` bounds the true value from above.

    Source: own; why surrogates live on scores is told in docs/adr/0002-surrogates-live-on-scores.md.

    Attributes
    ----------
    batch : the batch whose layout the scores have
    convex : whether the function is convex in the scores
    floor : a lower bound of all its values

    Examples
    --------
    >>> from setwise.core.sets import Sets
    >>> from setwise.surrogates import LovaszHinge
    >>> evaluator = LovaszHinge("jaccard").on(Sets.single([1, 0]))
    >>> print(evaluator([0.5, 0.5]).values, evaluator([1.0, -1.0]).values)
    [1.] [0.]
    >>> evaluator.convex, evaluator.floor
    (True, 0.0)
    """

    batch: Batch
    convex: bool = True
    floor: float = -np.inf

    @abstractmethod
    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        """The computation behind :meth:`__call__`, for checked scores and ``tol`` of shape (n,)."""

    @abstractmethod
    def take(self, parts: Ints) -> "Evaluator":
        """The evaluator of the chosen sets; it shares with this one what is stored between calls."""

    @final
    def __call__(self, scores: ArrayLike, tol: ArrayLike = 0.0) -> Evaluation:
        """The value, the gradient in the dtype of the scores, and the bound of every set.

        ``scores`` are finite floats of shape (n_scores,). Inference may stop for a set once its value is known to
        within ``tol``, which is one number or one for each set.
        """
        checked = as_scores(scores, self.batch.n_scores)
        # An overflow is refused below in one sentence, so NumPy need not warn of it.
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.evaluate(checked, as_tolerances(tol, len(self.batch)))
        if not np.isfinite(found.values).all():
            raise OverflowError(f"scores are too large: {self!r} overflows float64; scale them down.")
        return found

    def majorant(self, scores: ArrayLike) -> "Evaluator":
        """A convex evaluator that is nowhere below this one and equals it at ``scores``; itself where it is convex."""
        if self.convex:
            return self
        raise Refusal(f"{self!r} has no convex majorant.", NOT_CONVEX)

    def redrawn(self, seed: int) -> "Evaluator":
        """The same function with new noise, which depends on (seed, set, sample) alone; itself if it has no noise."""
        return self


class Surrogate(ABC):
    """An operator that turns a loss into an evaluator (LH Eq. 5); a likelihood is a surrogate without a loss.

    It is called with one set, or bound to many at once by :meth:`on` or :meth:`batch`.

    Attributes
    ----------
    name : the short name under which it is listed

    Examples
    --------
    >>> from setwise.core.sets import Sets
    >>> from setwise.surrogates import MarginRescaling, Surrogate
    >>> surrogate = MarginRescaling("jaccard")
    >>> isinstance(surrogate, Surrogate)
    True
    >>> surrogate([1, 0], [0.5, 0.5]).value  # a false positive costs 1/2 and wins 0.5
    1.0
    >>> surrogate.batch(Sets.single([1, 0]), [0.5, 0.5]).values
    array([1.])
    """

    name: ClassVar[str]

    @abstractmethod
    def on(self, batch: Any) -> Evaluator:
        """The surrogate bound to a batch; everything that depends on the truth alone is computed here, once.

        Raises ValueError where its loss does not fit the batch, and Refusal where the combination makes no sense.
        """

    def in_pieces(self, negatives: int, positives: int) -> PiecedEvaluator:
        """The surrogate bound to one set that lies in several places, with these numbers of decisions in all.

        Raises
        ------
        Refusal : if it needs all scores of a set in one place
        """
        raise Refusal(f"{self!r} needs all scores of a set in one place.", PLACES_REFUSE)

    @final
    def batch(self, batch: Batch, scores: ArrayLike) -> Evaluation:
        """The value, gradient and bound of every set, for finite floats ``scores`` of shape (n_scores,)."""
        return self._bound(batch)(scores)

    def _bound(self, batch: Batch) -> Evaluator:
        """The evaluator bound to a batch; it is stored with the batch, since the truth of a batch never changes."""
        kept = as_kind(batch, "batch", Batch, "Sets.single(y)").kept
        if self not in kept:
            kept[self] = self.on(batch)
        found: Evaluator = kept[self]
        return found

    @final
    def __call__(self, y: ArrayLike, scores: ArrayLike) -> SetEvaluation:
        """The value, gradient and bound of one set, for ``y`` (p,) of 0 and 1 and finite floats ``scores`` (p,)."""
        found = self.batch(Sets.single(y, "y"), scores)
        return SetEvaluation(float(found.values[0]), found.gradient, float(found.upper[0]), bool(found.exact[0]))
