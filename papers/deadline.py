"""A learner that gives up at a deadline."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.core.learner import Learner, Step
from setwise.core.risk import Risk
from setwise.learners import OneSlack


class OutOfTimeError(Exception):
    """Raised where a fit is not done at its deadline."""


def check_time(deadline: float) -> None:
    """Raise OutOfTimeError if ``time.perf_counter()`` is past ``deadline``."""
    if time.perf_counter() > deadline:
        raise OutOfTimeError


@final
@dataclass(frozen=True)
class DeadlineOneSlack(Learner):
    """:class:`setwise.learners.OneSlack` that raises OutOfTimeError after the first iteration past ``deadline``."""

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    deadline: float = np.inf

    name: ClassVar[str] = "until"

    def steps(self, risk: Risk, w0: Values) -> Iterator[Step]:
        """The iterations of OneSlack, with a check of the time after each."""
        for step in OneSlack(self.C, self.tol, self.max_iter).steps(risk, w0):
            yield step
            check_time(self.deadline)
