"""Floors: the least recall, precision or specificity that a threshold must have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from scipy.special import betainc, betaincinv

from setwise.core.arrays import Bools, Values
from setwise.core.checks import as_choice, as_number, shown

SLACK = 1e-12
"""Shares and probabilities may be so far beyond their limits: both are rounded."""

Shares = tuple[Values, Values]
"""Numbers of right decisions, and of all that they are a share of."""


class UnmetFloor(ValueError):  # noqa: N818
    """Raised where no threshold meets a floor; ``reachable`` is the best value that one has."""

    def __init__(self, sentence: str, reachable: float) -> None:
        super().__init__(sentence)
        self.reachable = reachable


@final
@dataclass(frozen=True)
class Floor:
    """``measure >= least`` on the scores at hand, or with ``confidence`` on new decisions of the same kind.

    - ``"recall"``: ``tp / P``, the share of the positives that are predicted
    - ``"precision"``: ``tp / (tp + fp)``, the share of the predicted that are positive; 0 where none is predicted
    - ``"specificity"``: ``tn / N``, the share of the negatives that are not predicted. A false-positive rate of at most
      a is a specificity of at least 1 - a

    With ``confidence`` the lower end of the one-sided interval of Clopper and Pearson (1934) must reach ``least``. It
    is the share at which so many right decisions or more have the probability ``1 - confidence``, and it assumes that
    decisions are independent. For recall and specificity the statement stays true of a threshold that was picked on the
    same scores, for the least right decisions that it asks for depend on P or N alone: the threshold is an order
    statistic of one class. For precision it is true of a number of predictions that was chosen in advance. A picked
    threshold fails more often where precision hardly changes with the threshold, as for scores that say nothing.

    Parameters
    ----------
    measure : "recall", "precision" or "specificity"
    least : the floor, in [0, 1]
    confidence : a number in (0, 1), as 0.95; None compares the share itself
    """

    measure: Literal["recall", "precision", "specificity"]
    least: float
    confidence: float | None = None

    def __post_init__(self) -> None:
        as_choice(self.measure, "measure", SHARES)
        as_number(self.least, "least", low=0.0, high=1.0)
        if self.confidence is not None:
            as_level(self.confidence)

    @property
    def words(self) -> str:
        """The floor in words, as ``a recall of at least 0.9 with confidence 0.95``."""
        sure = "" if self.confidence is None else f" with confidence {self.confidence:g}"
        return f"a {self.measure} of at least {self.least:g}{sure}"

    def met(self, tp: Values, fp: Values, P: float, N: float) -> Bools:
        """Whether the floor is met at these counts, bool of their shape."""
        right, whole = SHARES[self.measure](tp, fp, P, N)
        if self.confidence is None:
            return np.asarray(share(right, whole) >= self.least - SLACK)
        # The probability of so many right ones or more at the share ``least`` falls as they grow more.
        enough = right > 0
        found = np.zeros(np.shape(right), dtype=bool)
        tail = betainc(right[enough], (whole - right)[enough] + 1.0, self.least)
        found[enough] = tail <= 1.0 - self.confidence + SLACK
        return found | (self.least == 0.0)

    def values(self, tp: Values, fp: Values, P: float, N: float) -> Values:
        """What is compared with ``least``: the share, or the lower end of its interval."""
        right, whole = SHARES[self.measure](tp, fp, P, N)
        if self.confidence is None:
            return share(right, whole)
        enough, found = right > 0, np.zeros(np.shape(right))
        found[enough] = betaincinv(right[enough], (whole - right)[enough] + 1.0, 1.0 - self.confidence)
        return found

    def check(self, P: float, N: float) -> None:
        """Raise ValueError where the share is 0/0 at every threshold."""
        if self.measure != "precision" and not (P if self.measure == "recall" else N):
            raise ValueError(f"y must hold a known {CLASSES[self.measure]} decision for {self.words}; got none.")


def as_level(confidence: float) -> float:
    """``confidence`` as a number in (0, 1)."""
    level = as_number(confidence, "confidence", low=0.0, high=1.0, open_low=True)
    if level == 1.0:
        raise ValueError("confidence must be below 1: no sample makes certain; got 1.")
    return level


def share(right: Values, whole: Values) -> Values:
    """``right / whole``, and 0 for 0/0."""
    return np.asarray(right / np.where(whole > 0, whole, 1.0))


SHARES: dict[str, Callable[[Values, Values, float, float], Shares]] = {
    "recall": lambda tp, fp, P, N: (tp, np.full(np.shape(tp), P)),
    "precision": lambda tp, fp, P, N: (tp, tp + fp),
    "specificity": lambda tp, fp, P, N: (N - fp, np.full(np.shape(fp), N)),
}
"""The right decisions and all that they are a share of, by the name of the share."""

CLASSES = {"recall": "positive", "specificity": "negative"}
"""The class whose decisions a share counts."""


def as_floors(floor: Any) -> tuple[Floor, ...]:
    """``floor`` as one floor or more."""
    if isinstance(floor, Floor):
        return (floor,)
    if not isinstance(floor, Sequence) or not floor or not all(isinstance(one, Floor) for one in floor):
        raise TypeError(f"floor must be a Floor or a list of them, as Floor('recall', 0.9); got {shown(floor)}.")
    return tuple(floor)
