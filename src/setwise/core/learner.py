"""A learner: what minimizes ``0.5 |w|^2 + C risk(w)``, seeing planes and nothing else."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_count, as_number
from setwise.core.refusal import Refusal
from setwise.core.risk import Risk

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Record:
    """One line of a learner's history."""

    iteration: int
    objective: float
    lower_bound: float
    upper_bound: float
    seconds: float

    @property
    def gap(self) -> float:
        """Relative certified gap, ``(upper_bound - lower_bound) / |upper_bound|``."""
        return relative_gap(self.lower_bound, self.upper_bound)


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """The best weights seen, and what is certain about them: ``lower_bound <= minimum <= F(w) <= upper_bound``.

    ``objective`` is F(w) as inference saw it; ``upper_bound`` also counts what inexact inference may have missed.
    ``status`` is one of ``"converged"``, ``"max_iter"``, ``"stalled"``, ``"interrupted"``, ``"callback"``; ``message``
    says it in words.
    """

    w: Floats
    objective: float
    lower_bound: float
    upper_bound: float
    status: str
    message: str
    history: tuple[Record, ...] = field(repr=False)

    @property
    def gap(self) -> float:
        """Relative certified gap."""
        return relative_gap(self.lower_bound, self.upper_bound)


@final
@dataclass(frozen=True, eq=False)
class Step:
    """What a learner reports after each iteration: a point, its value there, and the best lower bound so far.

    ``upper`` bounds the objective at ``w`` from above. ``stalled`` says that no further progress is possible.
    """

    w: Floats
    objective: float
    upper: float
    lower: float
    stalled: bool = False


Callback = Callable[[Record, Floats], bool | None]

_MESSAGES = {
    "converged": "the certified relative gap {gap:.2e} is within tol={tol:g}",
    "max_iter": "stopped after max_iter={max_iter} iterations at a certified relative gap of {gap:.2e}",
    "stalled": "no plane improves any more; inexact inference or rounding cannot close the last gap of {gap:.2e}",
    "interrupted": "interrupted; these are the best weights so far, at a certified relative gap of {gap:.2e}",
    "callback": "the callback asked to stop, at a certified relative gap of {gap:.2e}",
}


class Learner(ABC):
    """Minimizes ``F(w) = 0.5 |w|^2 + C risk(w)`` to a certified relative gap.

    A subclass yields :class:`Step` after :class:`Step`; the loop around it (bounds, history, callback, stop, Ctrl-C) is
    here, once.
    """

    C: float
    tol: float
    max_iter: int

    def __post_init__(self) -> None:
        as_number(self.C, "C", low=0.0, open_low=True)
        as_number(self.tol, "tol", low=0.0)
        as_count(self.max_iter, "max_iter")

    @abstractmethod
    def steps(self, risk: Risk, w0: Floats | None) -> Iterator[Step]:
        """The method itself, one iteration after another, without end."""

    @final
    def minimize(self, risk: Risk, *, w0: Floats | None = None, callback: Callback | None = None) -> Fit:
        """The best weights found.

        ``callback(record, w)`` sees every iteration and stops it by returning True. Ctrl-C keeps the best weights.
        """
        if not risk.convex:
            raise Refusal(f"{type(self).__name__} refuses a risk that is not convex: its bounds would not hold.")
        if w0 is not None and (np.shape(w0) != (risk.size,) or not np.isfinite(w0).all()):
            raise ValueError(f"w0 must be finite with shape ({risk.size},); got shape {np.shape(w0)}.")
        begin = time.perf_counter()
        w, objective, lower, upper = np.zeros(risk.size), np.inf, 0.0, np.inf
        history: list[Record] = []
        status = "max_iter"
        try:
            for step in self.steps(risk, w0):
                lower = max(lower, step.lower)
                if step.objective < objective:
                    w, objective, upper = step.w, step.objective, step.upper
                history.append(Record(len(history) + 1, objective, lower, upper, time.perf_counter() - begin))
                stop = callback is not None and callback(history[-1], w)
                if relative_gap(lower, upper) <= self.tol:
                    status = "converged"
                elif stop:
                    status = "callback"
                elif step.stalled:
                    status = "stalled"
                elif len(history) < self.max_iter:
                    continue
                break
        except KeyboardInterrupt:
            if not history:
                raise  # there are no weights to keep
            status = "interrupted"
        words = _MESSAGES[status].format(gap=relative_gap(lower, upper), tol=self.tol, max_iter=self.max_iter)
        # Inexact inference may have seen less than the bound that later planes proved.
        return Fit(w, max(objective, lower), lower, upper, status, words, tuple(history))


def relative_gap(lower: float, upper: float) -> float:
    """``(upper - lower) / |upper|``; 0 where both are 0, inf where nothing is known."""
    if upper == lower:
        return 0.0
    return (upper - lower) / abs(upper) if np.isfinite(upper) and upper != 0 else np.inf
