"""Floors: the least recall, precision or specificity that a threshold must have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from scipy.special import betainc, betaincinv

from setwise.core.checks import Bools, Values, as_choice, as_number, shown
from setwise.core.exceptions import Refusal
from setwise.core.pages import FLOORS

Measure = Literal["recall", "precision", "specificity", "unflagged"]

SLACK = 1e-12
"""Shares and probabilities may be so far beyond their limits: both are rounded."""

Shares = tuple[Values, Values]
"""Numbers of right decisions, and of all that they are a share of."""


class UnmetFloor(Refusal):
    """Raised where no threshold meets a floor; ``reachable`` is the best value that one has.

    It is a value of what the call was given: where a false-positive rate was, the least rate, or with a confidence the
    least upper bound of it.

    Examples
    --------
    >>> from setwise.decisions import UnmetFloor, recall_at_precision
    >>> try:
    ...     recall_at_precision([0, 1, 1], [0.9, 0.8, 0.7], precision=0.9)
    ... except UnmetFloor as error:
    ...     print(round(error.reachable, 3))
    0.667
    """

    def __init__(self, sentence: str, reachable: float) -> None:
        super().__init__(sentence, FLOORS)
        self.reachable = reachable

    def __reduce__(self) -> tuple[Any, ...]:
        # A search in several processes sends it back.
        return UnmetFloor, (self.sentence, self.reachable)


@final
@dataclass(frozen=True)
class Floor:
    """``measure >= least`` on the scores at hand, or with ``confidence`` on new decisions of the same kind.

    - ``"recall"``: ``tp / P``, the share of the positives that are predicted
    - ``"precision"``: ``tp / (tp + fp)``, the share of the predicted that are positive; 0 where none is predicted
    - ``"specificity"``: ``tn / N``, the share of the negatives that are not predicted. A false-positive rate of at most
      a is a specificity of at least 1 - a
    - ``"unflagged"``: ``(tn + fn) / (P + N)``, the share of all that are not predicted. At most 50 alarms among 1,000
      are 0.95 unflagged

    With ``confidence`` the floor holds on new decisions of the same kind in that share of all samples at least,
    whichever threshold is picked on the sample. A sample without an answer counts as one in which it holds.

    - Recall, specificity and unflagged: the lower end of the one-sided interval of Clopper and Pearson (1934) must
      reach ``least``. That is true of a picked threshold too, because these shares only fall, or only rise, with it.
    - Precision rises and falls. Exact binomial tests walk down the ranking from ranks that were fixed in advance, and
      a threshold is sure where all tests of its walk passed.
    - Several sets: rows of one set may depend on each other, so the test is the stricter one of the binomial test and
      of a bound over sets (Gaffke 2005). The sets must be drawn independently, and the floor is one of the share
      pooled over the rows of new sets. It is no theorem, and was broken in at most 5.3 % of simulated samples.
    - Several floors in one call hold together. Those that a threshold keeps by being high, those it keeps by being low,
      and precision get equal parts of ``1 - confidence``.

    Parameters
    ----------
    measure : "recall", "precision", "specificity" or "unflagged"
    least : the floor, in [0, 1]
    confidence : a number in (0, 1), as 0.95; None compares the share itself

    Raises
    ------
    ValueError : for another measure, and numbers out of range
    TypeError : where a number is of another kind

    Examples
    --------
    If all of P positives are found, a recall of ``0.05 ** (1 / P)`` is sure; for one of 0.9, 20 positives are too few:

    >>> from setwise.decisions import Floor
    >>> floor = Floor("recall", 0.9, confidence=0.95)
    >>> tp, fp = np.array([20.0]), np.array([0.0])
    >>> floor.values(tp, fp, P=20.0, N=100.0).round(3).tolist(), floor.met(tp, fp, P=20.0, N=100.0).tolist()
    ([0.861], [False])
    >>> floor.met(np.array([30.0]), fp, P=30.0, N=100.0).tolist()
    [True]
    """

    measure: Measure
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
        if self.measure == "unflagged":
            return f"a share of alarms of at most {1.0 - self.least:g}{sure}"
        return f"a {self.measure} of at least {self.least:g}{sure}"

    @property
    def level(self) -> float:
        """The probability with which the floor may fail, of a floor with confidence."""
        assert self.confidence is not None
        return 1.0 - self.confidence

    def met(self, tp: Values, fp: Values, P: float, N: float) -> Bools:
        """Whether the floor is met at these counts, bool of their shape; with a confidence, at each of them alone."""
        right, whole = SHARES[self.measure](tp, fp, P, N)
        if self.confidence is None:
            return np.asarray(share(right, whole) >= self.least - SLACK)
        return np.asarray(tail(right, whole, self.least) <= self.level + SLACK) | (self.least == 0.0)

    def values(self, tp: Values, fp: Values, P: float, N: float) -> Values:
        """What is compared with ``least``: the share, or the lower end of its interval."""
        right, whole = SHARES[self.measure](tp, fp, P, N)
        if self.confidence is None:
            return share(right, whole)
        enough, found = right > 0, np.zeros(np.shape(right))
        found[enough] = betaincinv(right[enough], (whole - right)[enough] + 1.0, 1.0 - self.confidence)
        return found

    def check(self, P: float, N: float, words: str) -> None:
        """Raise ValueError where the share is 0/0 at every threshold; ``words`` say who asks for it."""
        if self.measure in CLASSES and not (P if self.measure == "recall" else N):
            raise ValueError(f"y must hold a known {CLASSES[self.measure]} decision for {words}; got none.")


@final
@dataclass(frozen=True)
class FloorRequest:
    """A floor in the words of the call that asks for it.

    Parameters
    ----------
    floor : the floor
    words : what the call was given
    share : the name of the share that it was given
    is_ceiling : whether that share is one minus the share of the floor, so that the call was given its largest value
    """

    floor: Floor
    words: str
    share: str
    is_ceiling: bool = False

    @classmethod
    def of(cls, floor: Floor) -> "FloorRequest":
        """A floor that the call was given as it is."""
        is_ceiling = floor.measure == "unflagged"
        return cls(floor, floor.words, "share of alarms" if is_ceiling else floor.measure, is_ceiling)

    @classmethod
    def least(cls, measure: Literal["recall", "precision"], value: float, confidence: float | None) -> "FloorRequest":
        """A share of at least ``value``, an argument of the name of the share."""
        least = as_number(value, measure, low=0.0, high=1.0)
        return cls(Floor(measure, least, confidence), _words(measure, value, confidence), measure)

    @classmethod
    def rate(cls, measure: Measure, share: str, value: float, confidence: float | None) -> "FloorRequest":
        """A rate of at most ``value``, the argument ``rate``: one minus the share of a floor."""
        floor = Floor(measure, 1.0 - as_number(value, "rate", low=0.0, high=1.0), confidence)
        return cls(floor, _words("rate", value, confidence), share, is_ceiling=True)

    @property
    def opening(self) -> str:
        """The words where a sentence begins; the name of an argument stays as it is."""
        return self.words if "=" in self.words else self.words.capitalize()

    @property
    def best(self) -> str:
        """The name of the best value that a threshold reaches."""
        kind = "lowest" if self.is_ceiling else "best"
        bound = "" if self.floor.confidence is None else f"{'upper' if self.is_ceiling else 'lower'} bound of "
        return f"the {kind} reachable {bound}{self.share}"

    def reached(self, tp: Values, fp: Values, P: float, N: float) -> float:
        """The share that the call was given, or its bound at these counts alone, at one cut, (1,) each."""
        if self.is_ceiling and self.floor.confidence is None:
            right, whole = SHARES[self.floor.measure](tp, fp, P, N)
            return float(share(whole - right, whole)[0])
        return self.of_share(float(self.floor.values(tp, fp, P, N)[0]))

    def of_share(self, value: float) -> float:
        """What the call was given, for a share of the floor."""
        return 1.0 - value if self.is_ceiling else value


def together(floors: tuple[FloorRequest, ...]) -> tuple[FloorRequest, ...]:
    """Floors with confidence that hold together: each kind of :data:`SIDES` among them gets an equal part of 1 - it.

    Floors of one side that is not "both" hold together as they are: the one that a threshold breaks first has to fail.
    """
    sure = [asked.floor for asked in floors if asked.floor.confidence is not None]
    precisions = sum(floor.measure == "precision" for floor in sure)
    parts = len({SIDES[floor.measure] for floor in sure}) + max(precisions - 1, 0)
    if parts < 2:
        return floors
    return tuple(
        asked
        if asked.floor.confidence is None
        else replace(asked, floor=replace(asked.floor, confidence=1.0 - asked.floor.level / parts))
        for asked in floors
    )


def _words(name: str, value: float, confidence: float | None) -> str:
    return f"{name}={float(value)!r}" + ("" if confidence is None else f" with confidence={float(confidence)!r}")


def as_level(confidence: float) -> float:
    """``confidence`` as a number in (0, 1)."""
    return as_number(confidence, "confidence", low=0.0, high=1.0, open_low=True, open_high=True)


def share(right: Values, whole: Values) -> Values:
    """``right / whole``, and 0 for 0/0."""
    return np.asarray(right / np.where(whole > 0, whole, 1.0))


def tail(right: Values, whole: Values, least: float) -> Values:
    """The probability that of ``whole`` decisions, each right with probability ``least``, ``right`` or more are."""
    found = np.ones(np.shape(right))
    some = right > 0
    # More than all are right with probability 0.
    found[some] = betainc(right[some], np.maximum(whole - right, 0.0)[some] + 1.0, least)
    return np.asarray(np.where(right > whole, 0.0, found))


SHARES: dict[str, Callable[[Values, Values, float, float], Shares]] = {
    "recall": lambda tp, fp, P, N: (tp, np.full(np.shape(tp), P)),
    "precision": lambda tp, fp, P, N: (tp, tp + fp),
    "specificity": lambda tp, fp, P, N: (N - fp, np.full(np.shape(fp), N)),
    "unflagged": lambda tp, fp, P, N: (P + N - tp - fp, np.full(np.shape(fp), P + N)),
}
"""The right decisions and all that they are a share of, by the name of the share."""

SIDES: dict[Measure, Literal["low", "high", "both"]] = {
    "recall": "low",
    "precision": "both",
    "specificity": "high",
    "unflagged": "high",
}
"""On which side of a threshold that meets a floor all thresholds meet it."""

CLASSES = {"recall": "positive", "specificity": "negative"}
"""The class whose decisions a share counts."""


def as_requests(floor: Any) -> tuple[FloorRequest, ...]:
    """``floor`` as requests of one floor or more."""
    given = [floor] if isinstance(floor, Floor) else floor
    if not isinstance(given, Sequence) or not given or not all(isinstance(one, Floor) for one in given):
        raise TypeError(f"floor must be a Floor or a list of them, such as Floor('recall', 0.9); got {shown(floor)}.")
    return tuple(FloorRequest.of(one) for one in given)
