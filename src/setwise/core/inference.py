"""Inference: what maximizes loss and score together over the labelings of each set."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.checks import as_count, as_scores
from setwise.core.refusal import Refusal
from setwise.core.structure import Structure
from setwise.kernels.segments import count_true, segment_sums

FORCE, FORCES = 1e4, 7
"""A label is forced by more than all scores together, and so many times by so much more where that is not enough."""


@final
@dataclass(frozen=True, eq=False)
class Solutions:
    """The best labelings found, flat (total,), and for each set ``values <= best <= bounds``, equal where ``exact``."""

    labels: NDArray[Any]
    values: Values
    bounds: Values
    exact: Bools


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """One labeling (p,) of one set with ``value <= best <= bound``, equal where ``exact``; ``status`` says how."""

    labels: NDArray[Any]
    value: float
    bound: float
    exact: bool
    status: str = ""


class Inference(ABC):
    """One way to maximize a structure and a score together.

    Attributes
    ----------
    name : short name, for lists
    about : how it works, in a few words
    approximate : whether it may miss the maximum, and then only bounds it
    """

    name: ClassVar[str]
    about: ClassVar[str]
    approximate: ClassVar[bool] = False

    @abstractmethod
    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        """None if this method fits the structure, else a sentence that says why not and what to use instead."""

    @abstractmethod
    def bind(self, structure: Structure, slack: bool) -> "Maximizer":
        """The method bound to a structure that it does not refuse. Callers ask :meth:`prepare`."""

    def prepare(self, structure: Structure, slack: bool = False) -> "Maximizer":
        """The method bound to a structure: all that depends on the truth alone is computed here, once.

        Raises
        ------
        Refusal : where the method does not fit, in the sentence of :meth:`refuses`
        """
        why = self.refuses(structure, slack)
        if why is not None:
            raise Refusal(why)
        return self.bind(structure, slack)


class Maximizer(ABC):
    """``max_y l(y) + <s, phi(y) - target>`` for every set, or with ``slack`` ``max_y l(y) (1 + <s, phi(y) - target>)``.

    Values are relative to the target of the batch, so that large scores do not drown the loss.
    LH Eq. 21 and 22 have this form, with labels -1 and 1.

    Attributes
    ----------
    method : the inference that was bound
    structure : l
    slack : whether the loss multiplies the score
    """

    method: Inference
    structure: Structure
    slack: bool

    @abstractmethod
    def solve(self, scores: Floats, tol: Values) -> Solutions:
        """The mathematics of :meth:`maximize`, for scores that were checked and ``tol`` (n,)."""

    def solved(self, scores: Floats, labels: NDArray[Any], bounds: Values | None = None) -> Solutions:
        """Solutions whose values are computed from the labels; exact where no bounds are given, or where they meet."""
        batch = self.structure.batch
        values, won = self.structure.values(labels), batch.won(scores, labels)
        values = values * (1.0 + won) if self.slack else values + won
        if bounds is None:
            return Solutions(labels, values, values, np.ones(len(batch), dtype=bool))
        size = segment_sums(np.abs(scores).astype(np.float64), batch.score_offsets)
        exact = bounds - values <= 1e-12 * (1.0 + np.abs(values) + size)
        return Solutions(labels, values, np.where(exact, values, bounds), exact)

    def take(self, parts: Ints) -> "Maximizer":
        """The maximizer of the chosen sets. One that keeps something between calls shares it with this one."""
        return self.method.bind(self.structure.take(parts), self.slack)

    @final
    def maximize(self, scores: ArrayLike, tol: ArrayLike = 0.0) -> Solutions:
        """The best labeling of every set, with its certificate; ``scores`` (n_scores,) finite.

        A set may be given up once ``bound - value <= tol``, with ``tol`` one number or one for each set.
        """
        batch = self.structure.batch
        checked = as_scores(scores, batch.n_scores)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.solve(checked, np.broadcast_to(np.asarray(tol, dtype=np.float64), len(batch)))
        if np.isnan(found.values).any() or (found.values == np.inf).any():
            raise OverflowError(f"scores are too large: {self.structure!r} overflows float64; scale them down.")
        return found

    def best(self, scores: ArrayLike, forced: ArrayLike) -> Solutions:
        """The same over labelings in which decision i has the label ``forced_i``; -1 leaves it free.

        Forcing goes through the scores: what prefers a label by more than all else can win will have it. A labeling
        that does not obey is solved again with stronger scores. Where an exact method never obeys, no labeling that is
        allowed does, and the value is -inf; where another one does not, its labeling is mended and keeps its bound.
        """
        batch = self.structure.batch
        s, wanted = as_scores(scores, batch.n_scores), as_forced(forced, batch.total, batch.n_labels)
        if self.slack:
            raise Refusal(f"{self!r} refuses to force labels under slack rescaling: the score is multiplied there.")
        size = segment_sums(np.abs(s).astype(np.float64), batch.score_offsets)
        strength, tol = 4.0 * (1.0 + size), np.zeros(len(batch))
        for _ in range(FORCES):
            pushed = batch.force(s, wanted, strength[batch.owners])
            with np.errstate(over="ignore", invalid="ignore"):
                found = self.solve(pushed, tol)
            disobeys = (wanted >= 0) & (found.labels != wanted)
            if not disobeys.any():
                break
            strength = np.where(count_true(disobeys, batch.offsets) > 0, FORCE * strength, strength)
        labels = np.where(wanted >= 0, wanted, found.labels).astype(found.labels.dtype)
        values = self.structure.values(labels) + batch.won(s, labels)
        # Every labeling that obeys gains the same by the forced scores, so the bound moves by what this one gained.
        bounds = found.bounds - batch.won(pushed - s, labels)
        mended = count_true(disobeys, batch.offsets) > 0
        values = np.where(mended & found.exact, -np.inf, values)
        return Solutions(labels, values, np.where(found.exact, values, np.maximum(bounds, values)), found.exact)

    def max_marginals(self, scores: ArrayLike, base: Values | float = 0.0) -> Values:
        """``M[i, v] = base + max over y with y_i = v of l(y) + <s, phi(y) - target>`` for all i, (total, n_labels).

        These are the messages of a loss (HOL Eq. 4); ``base`` (n,) belongs to each set. The default forces each label
        of each decision in turn.
        """
        batch = self.structure.batch
        out = np.empty((batch.total, batch.n_labels))
        for place in range(int(batch.sizes.max())):
            sets = np.flatnonzero(batch.sizes > place)
            at = batch.offsets[sets] + place
            for label in range(batch.n_labels):
                forced = np.full(batch.total, -1)
                forced[at] = label
                found = self.best(scores, forced)
                if not found.exact[sets].all():
                    raise Refusal(f"max_marginals refuses {self.structure!r}: its maximum is only bounded here.")
                out[at, label] = (found.values + base)[sets]
        return out

    def k_best(self, scores: ArrayLike, k: int) -> list[list[Solution]]:
        """For every set its k best labelings, best first; fewer where there are no more (Lawler 1972)."""
        as_count(k, "k")
        return [list(islice(ranked, k)) for ranked in self._ranked(scores)]

    def above(self, scores: ArrayLike, threshold: float, limit: int = 1000) -> list[list[Solution]]:
        """For every set the labelings of value above ``threshold``, best first; at most ``limit`` of them."""
        as_count(limit, "limit")
        found = []
        for ranked in self._ranked(scores):
            kept: list[Solution] = []
            for solution in ranked:
                if not solution.value > threshold or len(kept) == limit:
                    break
                kept.append(solution)
            found.append(kept)
        return found

    def _ranked(self, scores: ArrayLike) -> list[Iterator[Solution]]:
        batch = self.structure.batch
        s = as_scores(scores, batch.n_scores)
        spans = zip(batch.score_offsets[:-1], batch.score_offsets[1:], strict=True)
        return [_lawler(self.take(np.array([i])), s[a:b]) for i, (a, b) in enumerate(spans)]


def as_forced(forced: ArrayLike, total: int, n_labels: int) -> Ints:
    """``forced`` as int64 (total,) in -1..n_labels-1."""
    out = np.asarray(forced)
    if out.shape != (total,) or out.dtype.kind not in "iu":
        raise ValueError(f"forced must be whole numbers of shape ({total},); got {out.dtype} of shape {out.shape}.")
    if out.size and (out.min() < -1 or out.max() >= n_labels):
        raise ValueError(f"forced must be in -1..{n_labels - 1}; got {out.min()} to {out.max()}.")
    return out.astype(np.int64)


def _lawler(one: Maximizer, scores: Floats) -> Iterator[Solution]:
    """Labelings of one set from the best down.

    All labelings but the best are split by the first decision in which they differ from it: each part forces the
    decisions before, and another label there. The best of each part wait in a heap.
    """
    batch = one.structure.batch
    ticket = count()
    heap: list[tuple[float, int, Solution, Ints]] = []

    def push(forced: Ints) -> None:
        found = one.best(scores, forced)
        if found.values[0] > -np.inf:
            value, bound = float(found.values[0]), float(found.bounds[0])
            solution = Solution(found.labels, value, bound, bool(found.exact[0]), type(one.method).__name__)
            heappush(heap, (-value, next(ticket), solution, forced))

    push(np.full(batch.total, -1))
    while heap:
        _, _, solution, forced = heappop(heap)
        yield solution
        labels, before = solution.labels.astype(np.int64), forced.copy()
        for i in np.flatnonzero(forced < 0):
            for label in range(batch.n_labels):
                if label != labels[i]:
                    other = before.copy()
                    other[i] = label
                    push(other)
            before[i] = labels[i]
