"""Methods of inference maximize the loss and the score together over the labelings of each set.

They return labelings with their values and bounds. Certificates allow for the rounding of values and bounds, and for
nothing else.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, islice, takewhile
from types import UnionType
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import (
    Bools,
    Floats,
    Ints,
    Values,
    as_array,
    as_count,
    as_flag,
    as_kind,
    as_limit,
    as_reals,
    as_scores,
    as_tolerances,
    shown,
)
from setwise.core.exceptions import Refusal
from setwise.core.pages import FORCED_LABELS, INFERENCE
from setwise.core.terms import Term
from setwise.kernels.segments import count_true, segment_sums


@final
@dataclass(frozen=True, eq=False)
class Solutions:
    """The best labelings of all sets that were found, where ``values <= maximum <= bounds`` for each set.

    Attributes
    ----------
    labels : (total,), bool for labels 0 and 1, else whole numbers
    values : (n,), those of the labelings
    bounds : (n,), no labeling of the set has a larger value
    exact : (n,) truth values: where True, value and bound agree up to rounding

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Auto
    >>> from setwise.losses import Hamming
    >>> two_sets = Sets(np.array([True, False, True]), offsets=np.array([0, 2, 3]))
    >>> found = Auto().prepare(Hamming().bind(two_sets)).maximize([3.0, 0.5, -1.0])
    >>> print(found.labels, found.values, found.bounds, found.exact)
    [ True  True False] [1.5 2. ] [1.5 2. ] [ True  True]
    """

    labels: NDArray[Any]
    values: Values
    bounds: Values
    exact: Bools

    @classmethod
    def known(cls, labels: NDArray[Any], values: Values) -> "Solutions":
        """Labelings that are known to be the best ones."""
        return cls(labels, values, values, np.ones(len(values), dtype=bool))


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """One labeling of one set, where ``value <= maximum <= bound``.

    Attributes
    ----------
    labels : (p,), bool for labels 0 and 1, else whole numbers
    value : that of the labeling
    bound : no labeling has a larger value
    exact : whether value and bound agree up to rounding
    status : the method that found it, in words

    Examples
    --------
    >>> from setwise import loss_augmented_inference
    >>> found = loss_augmented_inference("hamming", [1, 0], [3.0, 0.5])
    >>> print(found.labels, found.value, found.bound, found.status)  # 1 + 3 + 0.5
    [ True  True] 4.5 4.5 ModularMaximum: exact
    """

    labels: NDArray[Any]
    value: float
    bound: float
    exact: bool
    status: str = ""


MANY = 1000
"""In sums of more terms most of the rounding cancels."""


def rounding(terms: Any, size: Any) -> Any:
    """``4 eps min(terms, 1000) size``: what rounding changes in sums of so many terms of this absolute sum."""
    return 4.0 * 2.0**-52 * np.minimum(terms, MANY) * size


def absolute_sums(scores: Floats, batch: Batch) -> Values:
    """The sum of the absolute scores of each set, (n,)."""
    return segment_sums(np.abs(scores).astype(np.float64, copy=False), batch.score_offsets)


def rounding_next_to(value: float, scores: Values, batch: Batch) -> float:
    """What rounding changes in values and bounds of a batch of one set next to a value."""
    return float(rounding(batch.addends[0], abs(value) + float(np.abs(scores).sum())))


NO_SPLIT = ": the product is not a sum. Use margin rescaling."
"""How the sentence of most methods for slack rescaling goes on."""


@final
@dataclass(frozen=True)
class Takes:
    """What a method of inference takes, and what it says of anything else.

    A sentence is what follows "refuses"; ``{kind}`` in it is the kind of the batch, and ``{loss!r}`` the bound loss.

    Attributes
    ----------
    batch, other_batch : the kinds of batches, and the sentence for others
    slack : how the sentence for slack rescaling goes on; empty where the method takes it
    terms, other_terms : the kinds of terms, and how the sentence for others goes on
    single : whether there may be one term at most
    unknown : whether sets may have labels that are not known
    whole : whether pieces of sets are another kind of batch
    """

    batch: type[Batch] | UnionType
    other_batch: str
    slack: str = ""
    terms: type[Term] | UnionType = Term
    other_terms: str = ""
    single: bool = False
    unknown: bool = False
    whole: bool = False

    def refusal(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        """What follows "refuses", or None where the method takes the kinds of batch and terms, and the rescaling."""
        batch, terms = bound_loss.batch, bound_loss.terms
        sets = batch if isinstance(batch, Sets) else None
        pieces = sets is not None and sets.totals is not None
        if not isinstance(batch, self.batch) or (pieces and self.whole):
            why = self.other_batch
        elif pieces:
            why = "pieces of sets: their labelings are evaluated together. Use the whole sets."
        elif sets is not None and sets.known is not None and not self.unknown:
            why = "unknown labels. Use Auto or Enumeration."
        elif slack and sets is not None and sets.compared is not None and not self.whole:
            why = "slack rescaling of {loss!r}: the truth is not one of the labelings it takes."
        elif slack and self.slack:
            why = "slack rescaling" + self.slack
        elif not all(isinstance(term, self.terms) for term in terms) or (self.single and len(terms) > 1):
            why = "{loss!r}: " + self.other_terms
        else:
            return None
        return why.format(kind=type(batch).__name__, loss=bound_loss)


FORCE, FORCES = 1e4, 7
"""A forced label outweighs all scores; where the loss still wins, the force grows by FORCE, at most FORCES times."""


class Inference(ABC):
    """A method that maximizes a bound loss and a score together.

    Source: own; docs/adr/0003-loss-surrogate-inference.md tells why it is an object of its own.

    Attributes
    ----------
    name : the short name under which it is listed
    about : how it works, in a few words
    approximate : whether it may miss the maximum; it then returns a bound of it
    takes : the kinds of batches and of terms that it takes, and whether slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import CountSearch
    >>> from setwise.losses import EarlyDetection, Jaccard
    >>> batch = Sets.single([1, 0, 0])
    >>> print(CountSearch().refuses(Jaccard().bind(batch)))
    None
    >>> print(CountSearch().refuses(EarlyDetection().bind(batch)))
    CountSearch refuses EarlyDetection(): it is not a function of (fn, fp, P, N). Use Enumeration or GreedySearch.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    approximate: ClassVar[bool] = False
    takes: ClassVar[Takes]

    def refuses(self, bound_loss: BoundLoss, slack: bool = False) -> str | None:
        """None if this method fits the bound loss, otherwise a sentence with the reason and what to use instead."""
        if not hasattr(self, "takes"):
            raise TypeError(f"{type(self).__name__} must declare what it takes, as takes = Takes(Sets, ...).")
        why = self.takes.refusal(bound_loss, slack)
        return self._refuses(bound_loss, slack) if why is None else f"{type(self).__name__} refuses {why}"

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        """The sentence for what a method refuses although it takes its kind; None by default."""
        return None

    @abstractmethod
    def bind(self, bound_loss: BoundLoss, slack: bool) -> "Maximizer":
        """The method for a bound loss that it does not refuse. Callers use :meth:`prepare`, which checks that."""

    def prepare(self, bound_loss: BoundLoss, slack: bool = False) -> "Maximizer":
        """The method for a bound loss; everything that depends on the truth alone is computed here, once.

        Raises
        ------
        Refusal : if the method does not fit, with the sentence of :meth:`refuses`
        """
        check_bound_loss(bound_loss, slack)
        why = self.refuses(bound_loss, slack)
        if why is not None:
            raise Refusal(why, INFERENCE)
        return self.bind(bound_loss, slack)


def check_bound_loss(bound_loss: object, slack: object) -> None:
    """Refuse what is no bound loss, and a ``slack`` that is neither True nor False."""
    as_kind(bound_loss, "bound_loss", BoundLoss, "loss.bind(batch)")
    as_flag(slack, "slack")


def check_inference(inference: object) -> None:
    """Refuse what is no inference."""
    if inference is not None and not isinstance(inference, Inference):
        raise TypeError(
            f"inference must be None or an Inference, such as setwise.inference.GreedySearch(); got {shown(inference)}."
        )


class Maximizer(ABC):
    """``max_y l(y) + <s, phi(y) - target>`` for every set, or with ``slack`` ``max_y l(y) (1 + <s, phi(y) - target>)``.

    Values are relative to the target of the batch, so that large scores do not drown the loss.
    LH Eq. 21 and 22 have this form, with labels -1 and 1.

    Attributes
    ----------
    method : the inference that was bound
    bound_loss : the loss l of the labelings
    slack : whether the loss multiplies the score, as slack rescaling asks

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Auto
    >>> from setwise.losses import Hamming
    >>> maximizer = Auto().prepare(Hamming().bind(Sets.single([1, 0])))
    >>> found = maximizer.maximize([3.0, 0.5])  # the negative alone is wrong: 1 + 0.5
    >>> print(found.labels, found.values, found.exact)
    [ True  True] [1.5] [ True]
    >>> [one.value for one in maximizer.k_best([3.0, 0.5], 2)[0]]
    [1.5, 0.0]
    """

    method: Inference
    bound_loss: BoundLoss
    slack: bool

    @abstractmethod
    def solve(self, scores: Floats, tol: Values) -> Solutions:
        """The computation behind :meth:`maximize`, for checked scores and ``tol`` of shape (n,)."""

    def solved(self, scores: Floats, labels: NDArray[Any], bounds: Values | None = None, most: Any = None) -> Solutions:
        """Solutions whose values are computed from the labels.

        They are exact where the bounds (n,) meet the values up to the rounding of sums of the scores and of the losses
        ``most`` (n,), by default those of the labels, or where no bounds are given.
        """
        batch = self.bound_loss.batch
        lost, won = self.bound_loss.values(labels), batch.won(scores, labels)
        values = lost * (1.0 + won) if self.slack else lost + won
        if bounds is None:
            return Solutions.known(labels, values)
        size, most = absolute_sums(scores, batch), np.abs(lost if most is None else most)
        exact = bounds - values <= rounding(batch.addends, most * (1.0 + size) if self.slack else most + size)
        return Solutions(labels, values, np.maximum(bounds, values), exact)

    def take(self, parts: Ints) -> "Maximizer":
        """The maximizer of the chosen sets; a subclass that stores results between calls shares them with it."""
        return self.method.bind(self.bound_loss.take(parts), self.slack)

    @final
    def maximize(self, scores: ArrayLike, tol: ArrayLike = 0.0) -> Solutions:
        """The best labeling of every set with its certificate, for finite ``scores`` of shape (n_scores,).

        The search of a set may end once ``bound - value <= tol``, which is one number or one for each set.
        """
        batch = self.bound_loss.batch
        checked = as_scores(scores, batch.n_scores)
        # An overflow is refused below in one sentence, so NumPy need not warn of it.
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.solve(checked, as_tolerances(tol, len(batch)))
        if np.isnan(found.values).any() or (found.values == np.inf).any():
            raise OverflowError(f"scores are too large: {self.bound_loss!r} overflows float64; scale them down.")
        return found

    def best(self, scores: ArrayLike, forced: ArrayLike) -> Solutions:
        """The best labeling of every set in which decision i has the label ``forced_i``; -1 leaves a decision free.

        Labels are forced through the scores: a label wins if its score exceeds all that other labels can gain. If a
        labeling does not have the forced labels, the set is solved again with stronger scores. If it still has not
        after the last time, then with an exact method no allowed labeling has them, and the value is -inf; with an
        inexact method the forced labels are written into the labeling, which retains its bound.
        """
        batch = self.bound_loss.batch
        s, wanted = as_scores(scores, batch.n_scores), as_forced(forced, batch.total, batch.n_labels)
        if self.slack:
            raise Refusal(
                f"{self!r} refuses to force labels under slack rescaling: the score is multiplied there.", FORCED_LABELS
            )
        # No change of labels gains more score than this.
        size = absolute_sums(s, batch) + self._usual_losses
        strength, tol = 4.0 * (size + (size == 0.0)), np.zeros(len(batch))
        for _ in range(FORCES):
            pushed = batch.force(s, wanted, strength[batch.owners])
            with np.errstate(over="ignore", invalid="ignore"):
                found = self.solve(pushed, tol)
            disobeys = (wanted >= 0) & (found.labels != wanted)
            if not disobeys.any():
                break
            # The loss gains more than the scores here: only the sets that disobeyed are forced harder.
            strength = np.where(count_true(disobeys, batch.offsets) > 0, FORCE * strength, strength)
        labels = np.where(wanted >= 0, wanted, found.labels).astype(found.labels.dtype)
        values = self.bound_loss.values(labels) + batch.won(s, labels)
        # Every labeling that obeys gains the same by the forced scores, so the bound moves by what this one gained.
        bounds = found.bounds - batch.won(pushed - s, labels)
        # A set whose last labeling disobeyed has the forced labels written into it.
        never = found.exact & (count_true(disobeys, batch.offsets) > 0)
        values[never] = bounds[never] = -np.inf
        return Solutions(labels, values, np.maximum(bounds, values), found.exact)

    @cached_property
    def _usual_losses(self) -> Values:
        """The largest loss of each set, (n,), among a few labelings: all of one label, and all of wrong ones."""
        batch, labels = self.bound_loss.batch, self.bound_loss.batch.labels
        wrong = np.where(labels.astype(np.int64) < batch.largest, labels.astype(np.int64) + 1, 0)
        alike = (np.minimum(label, batch.largest) for label in range(batch.n_labels))
        tried = [*(np.broadcast_to(one, wrong.shape) for one in alike), wrong]
        lost = np.stack([self.bound_loss.values(one.astype(labels.dtype)) for one in tried])
        most: Values = np.abs(np.where(np.isfinite(lost), lost, 0.0)).max(axis=0)
        return most

    def max_marginals(self, scores: ArrayLike, base: Values | float = 0.0) -> Values:
        """``M[i, v] = base + max over y with y_i = v of l(y) + <s, phi(y) - target>`` for all i, (total, n_labels).

        The message of a loss to decision i (HOL Eq. 4) is that less the score of decision i itself. ``base`` (n,) is a
        constant of each set. The default forces each label of each decision in turn.
        """
        batch = self.bound_loss.batch
        base, out = as_base_values(base, len(batch)), np.empty((batch.total, batch.n_labels))
        for place in range(int(batch.sizes.max())):
            # One decision of every set is forced at a time, so a call serves all sets that are long enough.
            sets = np.flatnonzero(batch.sizes > place)
            at = batch.offsets[sets] + place
            for label in range(batch.n_labels):
                forced = np.full(batch.total, -1)
                forced[at] = label
                found = self.best(scores, forced)
                if not found.exact[sets].all():
                    raise Refusal(
                        f"max_marginals refuses {self.bound_loss!r}: its maximum is only bounded here.", FORCED_LABELS
                    )
                out[at, label] = (found.values + base)[sets]
        return out

    def k_best(self, scores: ArrayLike, k: int) -> list[list[Solution]]:
        """The k best labelings of every set, best first, or all where there are fewer (Lawler 1972)."""
        as_count(k, "k")
        return [list(islice(ranked, k)) for ranked in self._ranked(scores)]

    def above(self, scores: ArrayLike, threshold: float, limit: int = 1000) -> list[list[Solution]]:
        """The labelings of every set whose value is above ``threshold``, best first, and at most ``limit`` of them."""
        as_limit(threshold, "threshold")
        as_count(limit, "limit")
        high = [takewhile(lambda solution: solution.value > threshold, ranked) for ranked in self._ranked(scores)]
        return [list(islice(solutions, limit)) for solutions in high]

    def _ranked(self, scores: ArrayLike) -> list[Iterator[Solution]]:
        """For every set an iterator over its labelings, best first, which computes them on demand."""
        batch = self.bound_loss.batch
        s = as_scores(scores, batch.n_scores)
        spans = zip(batch.score_offsets[:-1], batch.score_offsets[1:], strict=True)
        return [_lawler(self.take(np.array([i])), s[a:b]) for i, (a, b) in enumerate(spans)]


def as_base_values(base: Any, n: int) -> Values:
    """Check what is added to the max-marginals of each set and return it as float64 (n,)."""
    given = as_reals(base, "base")
    if given.shape not in ((), (n,)):
        raise ValueError(f"base must be one number or {n} of them, one for each set; got shape {given.shape}.")
    return np.broadcast_to(given, n)


def as_forced(forced: ArrayLike, total: int, n_labels: int) -> Ints:
    """Check forced labels and return them as int64 (total,) in -1..n_labels-1."""
    out = as_array(forced, "forced")
    if out.shape != (total,) or out.dtype.kind not in "iu":
        raise ValueError(f"forced must be whole numbers of shape ({total},); got {out.dtype} of shape {out.shape}.")
    if out.size and (out.min() < -1 or out.max() >= n_labels):
        raise ValueError(f"forced must be in -1..{n_labels - 1}; got {out.min()} to {out.max()}.")
    return out.astype(np.int64)


def _lawler(one: Maximizer, scores: Floats) -> Iterator[Solution]:
    """The labelings of one set in the order of falling values, by Lawler's partition.

    All labelings but the best are divided by the first decision in which they differ from the best: each part forces
    the labels of the decisions before it and another label there. The best labelings of the parts wait in a heap.
    """
    batch = one.bound_loss.batch
    # Tickets break ties of the heap, which cannot compare solutions.
    ticket = count()
    heap: list[tuple[float, int, Solution, Ints]] = []

    def push(forced: Ints) -> None:
        found = one.best(scores, forced)
        # A part without an allowed labeling is left out.
        if found.values[0] > -np.inf:
            value, bound = float(found.values[0]), float(found.bounds[0])
            solution = Solution(found.labels, value, bound, bool(found.exact[0]), type(one.method).__name__)
            heappush(heap, (-value, next(ticket), solution, forced))

    push(np.full(batch.total, -1))
    while heap:
        _, _, solution, forced = heappop(heap)
        yield solution
        labels, before = solution.labels.astype(np.int64), forced.copy()
        # Divide the part without its best labeling: decisions before i agree with it, decision i does not.
        for i in np.flatnonzero(forced < 0):
            for label in range(batch.n_labels):
                if label != labels[i]:
                    other = before.copy()
                    other[i] = label
                    push(other)
            before[i] = labels[i]
