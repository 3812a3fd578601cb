"""Learners minimize ``0.5 |w|^2 + C risk(w)``; all that they see of the risk are planes.

They return weights with their certificate, and a record of each iteration. A progress bar shows how far a long fit has
come, and Ctrl-C is noticed where compiled code runs.
"""

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from typing import Any, ClassVar, TextIO, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checkpoint import FitState, OpenCheckpoint
from setwise.core.checks import Values, as_count, as_kind, as_number, as_reals, shown
from setwise.core.exceptions import BrokenPromise, Refusal
from setwise.core.pages import NOT_CONVEX
from setwise.core.promises import CheckedRisk, refuse_planes_above
from setwise.core.risk import Bundle, CuttingPlane, Risk


@final
@dataclass(frozen=True)
class Record:
    """The state of a learner after one iteration.

    Attributes
    ----------
    iteration : its number, from 1
    objective : F at the best weights so far, as inference computed it
    lower_bound : the minimum of F is at least this
    upper_bound : F at the best weights is at most this
    seconds : since the fit began; those of an earlier fit that it goes on from count too
    gap : ``(upper_bound - lower_bound) / max(|upper_bound|, C / 1000)``

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import OneSlack
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> fit = OneSlack(C=0.5, tol=1e-6).minimize(risk)
    >>> first, last = fit.history[0], fit.history[-1]
    >>> first.iteration, first.objective, round(last.objective, 3), last.gap <= 1e-6
    (1, 0.5, 0.375, True)
    """

    iteration: int
    objective: float
    lower_bound: float
    upper_bound: float
    seconds: float
    gap: float


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """The best weights that were seen, with the certificate ``lower_bound <= minimum <= F(w) <= upper_bound``.

    Attributes
    ----------
    w : (d,)
    objective : F(w) as inference computed it
    lower_bound : the minimum of F is at least this
    upper_bound : F(w) is at most this; it also counts what inexact inference may have missed
    gap : ``(upper_bound - lower_bound) / max(|upper_bound|, C / 1000)``
    status : ``"converged"``, ``"local"``, ``"max_iter"``, ``"stalled"``, ``"interrupted"`` or ``"callback"``; an
        estimator with ``C=0``, which takes no step, has ``"start"``
    message : explains the status
    history : a :class:`Record` for each iteration

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import OneSlack
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> fit = OneSlack(C=0.5, tol=1e-6).minimize(risk)  # 0.5 w^2 + 0.5 max(0, 1 - w), least at w = 0.5
    >>> print(fit.w.round(3), round(fit.lower_bound, 3), round(fit.upper_bound, 3), fit.status)
    [0.5] 0.375 0.375 converged
    """

    w: Values
    objective: float
    lower_bound: float
    upper_bound: float
    gap: float
    status: str
    message: str
    history: tuple[Record, ...] = field(repr=False)


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt where Ctrl-C inside would come out as a SystemError.

    A signal that arrives while a kernel runs is handled once Python code runs again. That may be a helper of Numba that
    hands the result over, and Python reports an exception there as a SystemError with this cause.
    """
    try:
        yield
    except SystemError as error:
        if not _of_interrupt(error):
            raise
        raise KeyboardInterrupt from error


def _of_interrupt(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, is a KeyboardInterrupt."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


SMALLEST = 1e-3
"""Gaps are relative to the objective, or to this fraction of C if the objective is smaller."""


@final
@dataclass(frozen=True, eq=False)
class Step:
    """What a learner reports after each iteration: the cut at a point, and what its earlier planes prove.

    Attributes
    ----------
    w : the point
    cut : the cut that was made at the point
    known : the largest value that the earlier planes have at the point
    lower : a lower bound of the minimum
    stalled : whether no further progress is possible
    local : whether descent on a risk that is not convex has come to its end
    bundle : a function that gives the planes behind the lower bound, for a checkpoint; None if there are none
    """

    w: Values
    cut: CuttingPlane
    known: float
    lower: float
    stalled: bool = False
    local: bool = False
    bundle: Callable[[], Bundle | None] | None = None


Callback = Callable[[Record, Values], bool | None]

_MESSAGES = {
    "converged": "the certified relative gap {gap:.2e} is within tol={tol:g}",
    "local": "descent ended within tol={tol:g}: a local minimum or a stationary point, without a certificate",
    "max_iter": "stopped after max_iter={max_iter} iterations at a certified relative gap of {gap:.2e}",
    "stalled": "no plane improves any more; inexact inference or rounding leaves a gap of {gap:.2e}",
    "interrupted": "interrupted; these are the best weights so far, at a certified relative gap of {gap:.2e}",
    "callback": "the callback asked to stop, at a certified relative gap of {gap:.2e}",
}

_MESSAGES_OF_DESCENT = {
    "max_iter": "stopped after max_iter={max_iter} iterations, before its descent ended; it has no certificate, "
    "because the risk is not convex",
    "stalled": "no plane improves any more; there is no certificate, because the risk is not convex",
    "interrupted": "interrupted; these are the best weights so far, without a certificate, because the risk is not "
    "convex",
    "callback": "the callback asked to stop; there is no certificate, because the risk is not convex",
}
"""What differs where the risk is not convex: nothing but its floor bounds it, and no iteration lowers that gap."""


class Learner(ABC):
    """Minimizes ``F(w) = 0.5 |w|^2 + C risk(w)`` over ``w >= lower`` to a certified relative gap.

    A subclass yields one :class:`Step` for each iteration. The loop around it is shared by all learners: it updates
    the bounds, refuses overflow, writes the history, calls the callback, decides when to stop, and handles Ctrl-C.

    Source: own; docs/architecture.md tells why a learner sees planes alone.

    Attributes
    ----------
    name : the short name under which it is listed
    needs_convex : whether risks that are not convex are refused
    attainable : a certified gap that is reached on small problems in some thousand iterations; tests ask for no less

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.learners import OneSlack
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> rough = OneSlack(C=0.5, tol=0.0).minimize(risk, callback=lambda record, w: record.gap < 0.5)
    >>> rough.status, bool(rough.lower_bound <= 0.375 <= rough.upper_bound)  # the minimum is 0.375, at w = 0.5
    ('callback', True)
    """

    name: ClassVar[str]
    needs_convex: ClassVar[bool] = True
    attainable: ClassVar[float] = 1e-5

    C: float
    tol: float
    max_iter: int

    def __post_init__(self) -> None:
        as_number(self.C, "C", low=0.0, open_low=True)
        as_number(self.tol, "tol", low=0.0)
        as_count(self.max_iter, "max_iter")

    @abstractmethod
    def steps(self, risk: Risk, w0: Values) -> Iterator[Step]:
        """The method itself as an endless iterator over iterations; the first planes are made at ``w0``."""

    @final
    def minimize(
        self,
        risk: Risk,
        *,
        w0: Values | None = None,
        callback: Callback | None = None,
        checkpoint: OpenCheckpoint | None = None,
    ) -> Fit:
        """Minimize F and return the best weights with their certificate.

        ``callback(record, w)`` is called after every iteration and stops the learner by returning True. After Ctrl-C
        the best weights so far are returned, with the status ``"interrupted"``.

        ``checkpoint``, as ``Checkpoint("fit.npz").open(resume=True)`` gives it, is written every so often and at the
        end. Where it holds an earlier fit, this one goes on from its weights, bounds, planes and history instead of
        ``w0``, and ``max_iter`` counts the earlier iterations too.

        Raises
        ------
        Refusal : if the method needs a convex risk and the risk is not convex
        ValueError : if the checkpoint is one of another learner, C or risk
        BrokenPromise : if planes and values contradict each other, so that a bound would be false
        OverflowError : if C times a plane is beyond float64
        """
        self._check(risk, callback, checkpoint)
        earlier = None if checkpoint is None else FitState.of(checkpoint, self.name, self.C, risk)
        start, begin = self._start(risk, w0 if earlier is None else earlier.w), time.perf_counter()
        # The floor of the risk bounds the minimum from below before the first plane does.
        track = _BestPoint(self.C, start, self.C * risk.floor)
        history: list[Record] = []
        watched, ended = CheckedRisk(risk, self.C), ""
        if earlier is not None:
            history = track.go_on(earlier)
            begin -= history[-1].seconds
            watched = CheckedRisk(risk, self.C, earlier)
            ended = earlier.ended(track.gap, self.tol, self.max_iter)
        status = ended or "max_iter"
        try:
            for step in () if ended else _plainly(self.steps(watched, start)):
                track.see(step)
                seconds = time.perf_counter() - begin
                gap = track.gap
                history.append(Record(len(history) + 1, track.objective, track.lower, track.upper, seconds, gap))
                # The view is read-only: a callback that wrote into w would change the result under its certificate.
                stop = callback is not None and _asked(callback(history[-1], read_only(track.w)))
                if checkpoint is not None and checkpoint.due:
                    self._write(checkpoint, track, history, "")
                # A certified gap counts first, so that a fit which converges at its last iteration is called converged.
                if gap <= self.tol:
                    status = "converged"
                elif stop:
                    status = "callback"
                elif step.local:
                    status = "local"
                elif step.stalled:
                    status = "stalled"
                elif len(history) < self.max_iter:
                    continue
                break
        except KeyboardInterrupt:
            if not history:
                raise  # there are no weights to keep
            status = "interrupted"
        if checkpoint is not None and not ended:
            self._write(checkpoint, track, history, status)
        messages = _MESSAGES if risk.convex else _MESSAGES | _MESSAGES_OF_DESCENT
        words = messages[status].format(gap=track.gap, tol=self.tol, max_iter=self.max_iter)
        # Inexact inference may have computed less than the lower bound that later planes proved.
        objective = max(track.objective, track.lower)
        return Fit(track.w, objective, track.lower, track.upper, track.gap, status, words, tuple(history))

    def _check(self, risk: Any, callback: Any, checkpoint: Any) -> None:
        """The arguments of :meth:`minimize`."""
        if not isinstance(risk, Risk):
            raise TypeError(f"risk must be a Risk, such as setwise.risks.MeanRisk(features, evaluator); got {risk!r}.")
        if self.needs_convex and not risk.convex:
            raise Refusal(
                f"{type(self).__name__} refuses a risk that is not convex: its bounds would not hold. Use NRBM or "
                "ConvexConcaveProcedure (learner='nrbm' or 'convex_concave').",
                NOT_CONVEX,
            )
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a function of (record, w); got {shown(callback)}.")
        if checkpoint is not None:
            as_kind(checkpoint, "checkpoint", OpenCheckpoint, "Checkpoint('fit.npz').open()")

    def _write(self, checkpoint: OpenCheckpoint, track: "_BestPoint", history: list[Record], status: str) -> None:
        """Write what was found so far."""
        bundle = None if track.bundle is None else track.bundle()
        if track.bundle is not None and bundle is None:
            # Ctrl-C came while the planes were being changed: the file stays as it was written last.
            return
        records = np.array([astuple(record) for record in history], dtype=np.float64)
        bounds = np.array([track.objective, track.lower, track.upper, track.rounding])
        found = FitState(track.w, bounds, records, bundle, status, self.tol)
        checkpoint.put(found.arrays(self.name, self.C))
        checkpoint.write()

    def objective(self, w: Values, cut: CuttingPlane, known: float) -> float:
        """F(w), where the risk is the larger of the values of the new cut and of the earlier planes at w."""
        return 0.5 * float(w @ w) + self.C * max(cut.value, known)

    def close_to(self, objective: float) -> float:
        """The absolute gap at which the loop stops when the objective has this value."""
        return max(self.tol, 1e-12) * max(abs(objective), SMALLEST * self.C)

    def tolerance(self, objective: float) -> float:
        """How far a value of the risk may lie below the true one: a tenth of the requested gap, divided by C."""
        return 0.1 * self.close_to(objective) / self.C if np.isfinite(objective) and self.tol > 0 else 0.0

    def _start(self, risk: Risk, w0: Values | None) -> Values:
        """The start as a checked copy, moved to the bounds of the weights where it violates them; 0 by default."""
        start = np.zeros(risk.size) if w0 is None else as_reals(w0, "w0", (risk.size,))
        return start if risk.lower is None else np.maximum(start, risk.lower)


def _plainly(steps: Iterator[Step]) -> Iterator[Step]:
    """The same steps, out of which Ctrl-C comes as KeyboardInterrupt."""
    while True:
        with plain_interrupts():
            step = next(steps, None)
        if step is None:
            return
        yield step


class _BestPoint:
    """The best point so far, with the bounds of its objective and of the minimum."""

    def __init__(self, C: float, w: Values, lower: float) -> None:
        self.C, self.w, self.lower = C, w, lower
        self.objective = self.upper = np.inf
        self.rounding = 0.0
        self.bundle: Callable[[], Bundle | None] | None = None

    @property
    def gap(self) -> float:
        """``(upper - lower) / max(|upper|, C / 1000)``, inf before the first iteration."""
        return relative_gap(self.lower, self.upper, self.C)

    def go_on(self, earlier: FitState) -> list[Record]:
        """Begin where an earlier fit has ended; returns its history."""
        self.objective, lower, self.upper, self.rounding = (float(bound) for bound in earlier.bounds)
        self.lower, self.bundle = max(self.lower, lower), None if earlier.bundle is None else lambda: earlier.bundle
        return [Record(int(k), *numbers) for k, *numbers in earlier.records.tolist()]

    def see(self, step: Step) -> None:
        """Update the best point and the bounds; raises BrokenPromise if the step contradicts an earlier one."""
        half, cut, self.bundle = 0.5 * float(step.w @ step.w), step.cut, step.bundle
        self.rounding = max(self.rounding, cut.rounding)
        refuse_planes_above(step.known, cut.upper, self.rounding + 1e-9 * SMALLEST)
        # Earlier planes lie below a convex risk too, so where they are higher they replace the value of inexact
        # inference.
        objective, upper = half + self.C * max(cut.value, step.known), half + self.C * max(cut.upper, step.known)
        self.lower = max(self.lower, step.lower)
        if objective < self.objective:
            self.w, self.objective, self.upper = step.w, objective, upper
        if self.lower > self.upper + 1e-9 * (abs(self.upper) + SMALLEST * self.C):
            raise BrokenPromise(
                f"the lower bound {self.lower:.6g} is above the objective {self.upper:.6g} that was reached: the "
                "planes of this risk are not below it. Check what its loss promises with setwise.describe(loss, y)."
            )
        # A difference that is left here is rounding.
        self.lower = min(self.lower, self.upper)


def relative_gap(lower: float, upper: float, C: float) -> float:
    """``(upper - lower) / max(|upper|, C / 1000)``, and inf while ``upper`` is."""
    if not np.isfinite(upper):
        return np.inf
    # With a C below the numbers of float64 all of these are 0.
    return (upper - lower) / (max(abs(upper), SMALLEST * C) or 1.0)


def _asked(stop: Any) -> bool:
    """Whether a callback has asked to stop; TypeError where it has returned anything but a truth value or None."""
    if stop is not None and not isinstance(stop, bool | np.bool_):
        raise TypeError(f"callback must return True to stop, and else False or None; got {shown(stop)}.")
    return bool(stop)


def read_only(w: Values) -> Any:
    """A copy of ``w`` that is marked as read-only: what is written into it nevertheless changes no result."""
    copy = w.copy()
    copy.setflags(write=False)
    return copy


@final
class ProgressBar:
    """A callback for learners that draws one line: the progress of the gap from 1 to ``tol``, on a log scale."""

    WIDTH = 24

    def __init__(self, tol: float, label: str = "fit", stream: TextIO | None = None) -> None:
        self.tol, self.label, self.stream = max(tol, 1e-12), label, stream or sys.stderr
        self._drawn = -1.0

    def __call__(self, record: Record, w: NDArray) -> None:
        """Draw the line, at most ten times a second."""
        if record.seconds - self._drawn < 0.1 and record.gap > self.tol:
            return
        self._drawn = record.seconds
        # Gaps fall by factors, so the share of log(tol) that is reached grows about evenly.
        done = math.log(min(max(record.gap, self.tol), 1.0)) / math.log(self.tol) if self.tol < 1 else 1.0
        full = round(self.WIDTH * done)
        bar = "#" * full + "-" * (self.WIDTH - full)
        text = f"\r{self.label} [{bar}] gap {record.gap:.1e}  iteration {record.iteration}  {record.seconds:.1f} s "
        self.stream.write(text)
        self.stream.flush()

    def close(self) -> None:
        """End the line with a line break."""
        self.stream.write("\n")
        self.stream.flush()
