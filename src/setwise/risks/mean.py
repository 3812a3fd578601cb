"""The weighted mean of a surrogate over the sets of a batch, as a function of the weights of a model.

Or as a function of steps from a start; and it may remember its planes, so that another fit begins with them.
"""

from dataclasses import fields, replace
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import segments
from setwise.core.checks import Floats, Ints, Values, as_count, as_kind, as_number, as_point, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.pages import NOT_CONVEX
from setwise.core.promises import ROUNDING
from setwise.core.risk import CuttingPlane, Features, PartPlanes, Risk, SetCache
from setwise.core.surrogate import Evaluation, Evaluator
from setwise.kernels.threads import map_units, thread_limit

EPSILON = float(np.finfo(np.float64).eps)


def shares(weights: ArrayLike | None, n: int) -> Values:
    """The weights of n sets, divided by their sum; None gives all sets the same weight.

    Raises
    ------
    ValueError : for weights below 0, all 0 or of another shape
    """
    omega = np.ones(n) if weights is None else as_reals(weights, "weights", (n,))
    if (omega < 0).any() or omega.max() == 0:
        raise ValueError(f"weights must be {n} finite numbers >= 0, one for each set and not all zero.")
    # Divided by the largest first, for a sum of large weights may overflow.
    omega = omega / omega.max()
    return np.asarray(omega / omega.sum())


@final
class MeanRisk(Risk):
    """``R(w) = sum_i omega_i B_i(base_i + Phi_i w)`` over the n sets of a batch, with ``omega`` that sum to 1.

    Source: LH Eq. 1, with a surrogate in place of the loss.

    Parameters
    ----------
    features : the model of scores, ``base + Phi w`` for all sets
    evaluator : B, a surrogate bound to the batch: ``LovaszHinge("jaccard").on(sets)``
    weights : (n,) non-negative, not all 0; None gives all sets the same weight
    n_jobs : number of threads that share the sets. The sets are cut into the same chunks for any number of threads, so
        results do not depend on it.

    Raises
    ------
    TypeError : for arguments of another kind
    ValueError : for features of another number of scores than the batch has, and weights below 0, all 0 or of another
        shape

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> sets = Sets(np.array([True, False]), offsets=np.array([0, 1, 2]))  # two sets of one decision
    >>> features = RowModel([[1.0], [1.0]], offsets=sets.offsets, intercept=0.0)
    >>> risk = MeanRisk(features, LovaszHinge("hamming").on(sets), weights=[3.0, 1.0])
    >>> cut = risk.cut(np.array([0.5]))  # 3/4 max(0, 1 - w) + 1/4 max(0, 1 + w)
    >>> print(cut.value, cut.slope)
    0.75 [-0.5]
    """

    CHUNK = 1 << 16
    """Chunks have about this number of scores."""

    def __init__(
        self, features: Features, evaluator: Evaluator, weights: ArrayLike | None = None, n_jobs: int = 1
    ) -> None:
        if not isinstance(features, Features):
            raise TypeError(
                f"features must be Features, such as setwise.models.RowModel(X, offsets); got {features!r}."
            )
        if not isinstance(evaluator, Evaluator):
            raise TypeError(
                f"evaluator must be a surrogate bound to a batch, such as surrogate.on(sets); got {evaluator!r}."
            )
        batch = evaluator.batch
        self.features, self.evaluator, self.batch = features, evaluator, batch
        self.size, self.lower, self.n_parts = features.size, features.lower, len(batch)
        self.convex, self.n_jobs = evaluator.convex, as_count(n_jobs, "n_jobs")
        n_scores = len(features.row_lengths)
        if n_scores != batch.n_scores:
            raise ValueError(f"features must give {batch.n_scores} scores, as the batch has them; got {n_scores}.")
        self.weights = shares(weights, len(batch))
        # Where the surrogate has a floor, each part of the risk has one, and learners begin with it.
        self.floors = None if evaluator.floor == -np.inf else self.weights * evaluator.floor
        self._singles: SetCache[Evaluator] = SetCache(n_scores)
        runs = _runs(batch.score_offsets, self.CHUNK)
        self._chunks = [(run, evaluator if len(runs) == 1 else evaluator.take(run)) for run in runs]

    def cut(self, w: Values, tol: float = 0.0) -> CuttingPlane:
        """Returns the plane ``sum_i omega_i (B_i(s_i) + <g_i, Phi_i v - Phi_i w>)``, a function of v."""
        tol, base = as_number(tol, "tol", low=0.0), self.features.base
        # Most fits begin at w = 0, where no product with X is needed.
        known = isinstance(w, np.ndarray) and w.dtype == np.float64 and w.shape == (self.size,)
        at_zero = known and base is None and not w.any()
        scores = np.zeros(self.batch.n_scores) if at_zero else self.features.scores(w)
        found = self._evaluate(scores, tol)
        gradient = found.gradient * self._spread(self.weights, self.batch.score_offsets)
        value = float(self.weights @ found.values)
        # The plane is linear in Phi w, so fixed scores belong to its offset.
        moved = scores if base is None else scores - base
        inner = float(gradient @ moved)
        # Each score may have lost digits in proportion to the length of its row times |w|, and so has the plane.
        lost = float(np.abs(gradient) @ self.features.row_lengths) * float(np.sqrt(w @ w))
        return CuttingPlane(
            offset=value - inner,
            slope=self.features.pullback(gradient),
            value=value,
            upper=float(self.weights @ found.upper),
            rounding=4.0 * EPSILON * (abs(value) + abs(inner) + lost),
        )

    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> PartPlanes:
        """Returns the planes of the chosen sets, each times its ``omega_i``."""
        tol = as_number(tol, "tol", low=0.0)
        # Where all sets are chosen in order, no copy of X and of the batch is made.
        every = isinstance(parts, np.ndarray) and len(parts) == self.n_parts
        all_parts = every and np.array_equal(parts, np.arange(self.n_parts))
        chosen = None if all_parts else parts
        evaluator = self.evaluator if all_parts else self._singles.of(parts, self.evaluator.take)
        scores, offsets = self.features.scores(w, chosen), evaluator.batch.score_offsets
        omega = self.weights[parts]
        with thread_limit(self.n_jobs):
            found = evaluator(scores, tol)
        gradient = found.gradient * self._spread(omega, offsets)
        values = omega * found.values
        moved = scores if self.features.base is None else scores - self.features.scores(np.zeros(self.size), chosen)
        inner = np.add.reduceat(gradient * moved, offsets[:-1])
        places = slice(None) if all_parts else segments(parts, self.batch.score_offsets)
        lengths = np.add.reduceat(np.abs(gradient) * self.features.row_lengths[places], offsets[:-1])
        slopes = self.features.pullbacks(gradient, chosen)
        return PartPlanes(values - inner, slopes, values, omega * found.upper, lengths=lengths)

    def majorant(self, w: Values) -> "MeanRisk":
        if self.convex:
            return self
        evaluator = self.evaluator.majorant(self.features.scores(w))
        return MeanRisk(self.features, evaluator, self.weights, self.n_jobs)

    def centred(self, w0: Values) -> "MeanRisk":
        """The risk of steps from the weights ``w0``."""
        return MeanRisk(self.features.centred(w0), self.evaluator, self.weights, self.n_jobs)

    def redrawn(self, seed: int) -> "MeanRisk":
        return MeanRisk(self.features, self.evaluator.redrawn(seed), self.weights, self.n_jobs)

    def _evaluate(self, scores: Floats, tol: float) -> Evaluation:
        """Evaluates all sets, in chunks that the threads share."""
        with thread_limit(self.n_jobs):
            if len(self._chunks) == 1:
                return self.evaluator(scores, tol)
            ends = self.batch.score_offsets
            found = map_units(lambda one: one[1](scores[ends[one[0][0]] : ends[one[0][-1] + 1]], tol), self._chunks)
        names = [each.name for each in fields(Evaluation)]
        return Evaluation(*(np.concatenate([getattr(one, name) for one in found]) for name in names))

    @staticmethod
    def _spread(omega: Values, offsets: Ints) -> Values | float:
        """Returns the weight of its set for each score."""
        return float(omega[0]) if len(omega) == 1 else np.repeat(omega, np.diff(offsets))


def _runs(offsets: Ints, size: int) -> list[Ints]:
    """Returns runs of whole sets with about ``size`` scores each, more where single sets are larger."""
    # Cut before the first set that begins at or after each multiple of ``size``.
    edges = np.unique(np.searchsorted(offsets, np.arange(0, offsets[-1], size)))
    edges = np.append(edges[edges < len(offsets) - 1], len(offsets) - 1)
    return [np.arange(a, b) for a, b in pairwise(edges)]


@final
class ShiftedRisk(Risk):
    """``R(origin + v)``, a function of v.

    Source: this library.

    Parameters
    ----------
    inner : R, with a fixed number of weights
    origin : (d,)

    Raises
    ------
    TypeError : for an ``inner`` that is no risk
    ValueError : for an ``origin`` of another shape, or that is not finite

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk, ShiftedRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> inner = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> risk = ShiftedRisk(inner, origin=[2.0])
    >>> inner.cut(np.array([0.5])).value, risk.cut(np.array([-1.5])).value  # both at w = 0.5
    (0.5, 0.5)
    """

    def __init__(self, inner: Risk, origin: Values) -> None:
        as_kind(inner, "inner", Risk, "DistributedRisk(places, rows, truth, surrogate)")
        self.inner: Risk = inner
        self.origin = as_reals(origin, "origin", (inner.size,))
        self.size, self.n_parts = inner.size, inner.n_parts
        self.lower = None if inner.lower is None else inner.lower - self.origin
        self.convex, self.floors = inner.convex, inner.floors

    def cut(self, w: Values, tol: float = 0.0) -> CuttingPlane:
        cut = self.inner.cut(self.origin + as_point(w, self.size), tol)
        return replace(cut, offset=cut.offset + float(cut.slope @ self.origin))

    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> PartPlanes:
        cuts = self.inner.cuts(self.origin + as_point(w, self.size), parts, tol)
        return replace(cuts, offsets=cuts.offsets + cuts.slopes @ self.origin)

    def majorant(self, w: Values) -> "ShiftedRisk":
        return ShiftedRisk(self.inner.majorant(self.origin + as_point(w, self.size)), self.origin)


MOST = 100
"""The number of planes that are remembered between fits."""


@final
class RiskWithPlanes(Risk):
    """A convex risk with the ``planes`` below it that were found so far; they do not depend on C.

    Along a path of C each fit begins with the planes of the fits before it, and needs few new ones. Between two fits
    :meth:`keep` drops all but the planes that are highest at the last solution, which would hardly matter again.

    Source: own; that planes do not depend on C is read off their definition.

    Parameters
    ----------
    inner : a convex risk

    Raises
    ------
    TypeError : for anything but a risk
    Refusal : for a risk that is not convex

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import OneSlack
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk, RiskWithPlanes
    >>> from setwise.surrogates import LovaszHinge
    >>> inner = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> risk = RiskWithPlanes(inner)
    >>> risk.keep(OneSlack(C=0.5).minimize(risk).w)
    >>> warm, cold = OneSlack(C=0.6).minimize(risk), OneSlack(C=0.6).minimize(inner)
    >>> len(warm.history) <= len(cold.history), round(warm.objective, 3), round(cold.objective, 3)
    (True, 0.42, 0.42)
    """

    def __init__(self, inner: Risk) -> None:
        if not as_kind(inner, "inner", Risk, "MeanRisk(features, evaluator)").convex:
            raise Refusal("RiskWithPlanes refuses a risk that is not convex: its planes are not below it.", NOT_CONVEX)
        self.inner, self.size, self.n_parts = inner, inner.size, inner.n_parts
        self.lower, self.floors, self.planes = inner.lower, inner.floors, ()
        self._made: list[CuttingPlane] = []

    def cut(self, w: Values, tol: float = 0.0) -> CuttingPlane:
        cut = self.inner.cut(w, tol)
        self.size = self.inner.size
        # The offset is value - <slope, w>, so it has the rounding of the larger of these two.
        length = float(np.sqrt(cut.slope @ cut.slope) * np.sqrt(w @ w))
        self._made.append(replace(cut, rounding=cut.rounding + ROUNDING * (abs(cut.value) + length)))
        return cut

    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> PartPlanes:
        return self.inner.cuts(w, parts, tol)

    def keep(self, w: Values) -> None:
        """Make the planes made so far those that the next fit begins with, but at most 100, the highest at ``w``."""
        w, known = as_point(w, self.size), [*self.planes, *self._made]
        heights = np.array([cut.offset + float(cut.slope @ w[: len(cut.slope)]) for cut in known])
        best = np.sort(np.argsort(-heights, kind="stable")[:MOST])
        self.planes, self._made = tuple(known[i] for i in best), []
