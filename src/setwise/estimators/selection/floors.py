"""Floors of recall and precision, and a limit of alarms, that the threshold must keep."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.checks import Bools, Values, as_number, shown
from setwise.core.exceptions import Refusal
from setwise.core.pages import FLOORS
from setwise.decisions import Floor, OperatingPoint, UnmetFloor, constrained_threshold
from setwise.decisions.class_offsets import floored_offset
from setwise.decisions.confusion import ConfusionLoss
from setwise.decisions.floors import SLACK, as_requests, together
from setwise.decisions.operating_point import kept_at, nearest_threshold
from setwise.decisions.task import Task
from setwise.estimators.selection.decision import BayesDecision
from setwise.estimators.selection.several_classes import ClassMultipliers, ClassStrategy, OffsetRule, log_scores
from setwise.estimators.selection.strategies import Evidence, Rule, SingleThreshold, Strategy, ThresholdRule


@final
@dataclass(frozen=True)
class FloorShares:
    """The shares that labels have over all rows together, with the numbers that they come from.

    Attributes
    ----------
    found : how many positive rows are called positive
    called : how many rows are called positive
    positives, rows : how many are positive, and how many there are
    kept : whether the floors are kept
    """

    found: int
    called: int
    positives: int
    rows: int
    kept: bool

    @property
    def recall(self) -> float:
        """The share of the positive rows that are called positive; 0 where there are none."""
        return self.found / max(self.positives, 1)

    @property
    def precision(self) -> float:
        """The share of the rows called positive that are positive; 0 where there are none."""
        return self.found / max(self.called, 1)

    @property
    def unflagged(self) -> float:
        """The share of the rows that are not called positive, one minus the share of alarms."""
        return 1.0 - self.called / self.rows

    def of(self, name: str) -> tuple[int, int]:
        """The right rows of the share with this name, and all rows that it is a share of."""
        if name == "unflagged":
            return self.rows - self.called, self.rows
        return self.found, self.positives if name == "recall" else self.called


@final
@dataclass(frozen=True)
class FlooredThreshold(Strategy):
    """``[score >= t]`` with the t of least mean loss among those that keep the floors on out-of-fold scores.

    Among the ``strategies`` of :class:`setwise.MeasureClassifier`; with ``cv="prefit"`` it takes the scores of a model
    that was fitted on other rows. The other strategies keep no floors. Label matrices are refused by ``fit``.

    Otherwise the scores come from models of folds, and the threshold is for the model of all rows. Models of folds get
    ``C`` times the number of all rows over that of their own, if they are ``LogisticRegression``, ``LinearSVC`` or
    ``SVC`` of scikit-learn, also in pipelines: with the same ``C`` the model of all rows would be penalized less for
    each row, its scores would spread more, and it would break a limit of alarms too often.

    Source: own; :func:`~setwise.decisions.constrained_threshold`, described in docs/guide/thresholds.md.

    Parameters
    ----------
    recall, precision : the least recall and the least precision over all rows together, in [0, 1]; None is no floor
    confidence : a number in (0, 1) with which the floors are to hold on new rows, see
        :class:`~setwise.decisions.Floor`; for rows in groups on those of new groups. None compares the shares
        themselves
    alarms : the greatest share of all rows that may be called positive, in (0, 1]; None is no limit
    of : the label that the floors are for. It must be given for more than two classes, and of two it is the positive
        one

    Raises
    ------
    ValueError : without a floor, and for numbers out of range
    TypeError : where a number is of another kind
    Refusal : a ValueError by ``fit``, for ``of`` that does not fit the labels, and where no threshold keeps the floors;
        it names the best reachable value

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.compare import FlooredThreshold
    >>> X, y = np.arange(12.0).reshape(-1, 1), np.array(["no", "yes"])[[0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1]]
    >>> fitted = LogisticRegression().fit(X, y)
    >>> model = MeasureClassifier(fitted, "f1", [FlooredThreshold(recall=0.9)], cv="prefit", refit=False)
    >>> model.fit(X, y).predict(X).tolist().count("yes")  # all from the first positive on
    8
    """

    recall: float | None = None
    precision: float | None = None
    confidence: float | None = None
    alarms: float | None = None
    of: Any = None

    name: ClassVar[str] = "threshold"
    title = SingleThreshold.title
    phrase = SingleThreshold.phrase
    explanation = (
        "of the thresholds that keep the floor, or the limit of alarms, on held-out training rows, the one with the "
        "best measure"
    )
    page = SingleThreshold.page
    listed = False

    def __post_init__(self) -> None:
        for name, least in (("recall", self.recall), ("precision", self.precision)):
            if least is not None:
                as_number(least, name, low=0.0, high=1.0)
        if self.alarms is not None:
            as_number(self.alarms, "alarms", low=0.0, high=1.0, open_low=True)
        if not self.floors:
            raise ValueError("a floor must be given, of recall or of precision, or a limit of alarms; got none.")

    @property
    def floors(self) -> tuple[Floor, ...]:
        """The floors that are given; the limit of alarms comes first, because some threshold always keeps it."""
        unflagged = None if self.alarms is None else 1.0 - self.alarms
        given = (("unflagged", unflagged), ("recall", self.recall), ("precision", self.precision))
        return tuple(Floor(measure, least, self.confidence) for measure, least in given if least is not None)  # type: ignore[arg-type]

    @property
    def words(self) -> str:
        """The floors in words."""
        sure = "" if self.confidence is None else f" with confidence {self.confidence:g}"
        return " and ".join(replace(floor, confidence=None).words for floor in self.floors) + sure

    @property
    def kind(self) -> str:
        """``"limit of alarms"`` if that is the only floor, otherwise ``"floor"``."""
        return "limit of alarms" if self.recall is self.precision is None else "floor"

    @property
    def decisions(self) -> tuple[BayesDecision, ...]:
        """The decision by costs of each row under the same limit of alarms; none under floors, which it may break."""
        return (BayesDecision(None, self.alarms, self.confidence),) if self.kind != "floor" else ()

    def refuses_weights(self, task: Task) -> str | None:
        """Why the floors refuse the weights of rows, or None: a confidence holds only for equally likely rows."""
        if task.weights is None or self.confidence is None:
            return None
        why = "the confidence holds only for equally likely rows"
        return f"a {self.kind} with a confidence refuses weights of rows: {why}."

    def refuses_data(self, task: Task) -> str | None:
        return f"a {self.kind} is for one label a row, and the target is a label matrix." if task.is_matrix else None

    def for_labels(self, labels: list[Any], positive: Any) -> Strategy:
        """The strategy for these labels, of which two have a ``positive`` one; Refusal for ``of`` that does not fit."""
        several, known = len(labels) > 2, not np.ndim(self.of) and self.of in labels
        if (several or self.of is not None) and not known:
            wanted = "the label that the floor is for, one of" if several else "one of the labels"
            raise Refusal(f"of must be {wanted} {labels}; got {shown(self.of)}.", FLOORS)
        if several:
            return FlooredClass(self, labels.index(self.of))
        if known and self.of != positive:
            raise Refusal(
                f"of must be the positive one of two labels, {positive!r}; got {self.of!r}: pass "
                f"pos_label={self.of!r} too.",
                FLOORS,
            )
        return replace(self, of=None)

    def bound(self, task: Task) -> Strategy:
        """The strategy that refuses on all rows only, because a fold may have too few positives for the confidence."""
        return NearestThreshold(self, len(task.truth))

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        """The threshold; UnmetFloor where none keeps the floors."""
        return ThresholdRule(self.point(evidence.response().scores, task).threshold)

    def point(self, scores: Values, task: Task) -> OperatingPoint:
        """The best threshold of scores that keeps the floors; UnmetFloor where none does."""
        return constrained_threshold(task.sets, task.flat(scores), task.set_loss, self.floors)

    def check(self, truth: Any) -> None:
        """Raise ValueError if there are so few rows that not even labels without a mistake keep the floors, or no alarm
        the limit of alarms, and for ``of``, which only MeasureClassifier reads.
        """
        if self.of is not None:
            raise ValueError(f"of must be None where labels are told as positive or not; got {shown(self.of)}.")
        P, N = float(np.sum(truth)), float(np.sum(~np.asarray(truth, dtype=bool)))
        for asked in together(as_requests(self.floors)):
            floor = asked.floor
            tp = np.array([0.0 if asked.is_ceiling else P])
            best = float(floor.values(tp, np.zeros(1), P, N)[0])
            if best < floor.least - SLACK and asked.is_ceiling:
                raise Refusal(
                    f"{asked.words} cannot be kept on {int(P + N)} rows: even without any alarm the share would have "
                    f"an upper bound of {asked.of_share(best):.4g}.",
                    FLOORS,
                )
            if best < floor.least - SLACK:
                raise Refusal(
                    f"{asked.words} cannot be kept on {int(P)} positive rows: even labels without any mistake would "
                    f"have a lower bound of {best:.4g}.",
                    FLOORS,
                )

    def reached(self, task: Task, labels: Bools) -> FloorShares:
        """The shares of labels, and whether they keep the floors, without the confidence."""
        counts = int((task.truth & labels).sum()), int(np.sum(labels)), int(task.truth.sum())
        reached = FloorShares(*counts, len(task.truth), True)
        return replace(reached, kept=self.holds(reached))

    def holds(self, reached: FloorShares) -> bool:
        """Whether shares keep the floors, without the confidence."""
        return all(getattr(reached, floor.measure) >= floor.least - SLACK for floor in self.floors)

    def met(self, thresholds: Values, scores: Values, task: Task) -> Bools:
        """Whether the floors are met at each of some thresholds, with the confidence."""
        weights = None if task.weights is None else task.flat(task.weights)
        return kept_at(task.sets, task.flat(scores), self.floors, thresholds, weights)


@final
@dataclass(frozen=True)
class NearestThreshold(Strategy):
    """The threshold of floors, and where none keeps them the one that comes nearest.

    Parameters
    ----------
    floor : the floors
    rows : with so many rows the floors must be kept, and the strategy refuses where they are not; None never refuses
    """

    floor: FlooredThreshold
    rows: int | None = None

    name: ClassVar[str] = FlooredThreshold.name
    listed = False

    def refuses_data(self, task: Task) -> str | None:
        return self.floor.refuses_data(task)

    def refuses_weights(self, task: Task) -> str | None:
        return self.floor.refuses_weights(task)

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        """The threshold, with what it is short of the floors."""
        try:
            return self.floor.tune(evidence, task)
        except UnmetFloor:
            if len(task.truth) == self.rows:
                raise
        flat, floors = task.flat(evidence.response().scores), as_requests(self.floor.floors)
        near = nearest_threshold(task.sets, flat, task.set_loss, self.floor.floors)
        short = max(one.floor.least - one.of_share(value) for one, value in zip(floors, near.reached, strict=True))
        return ThresholdRule(near.threshold, short=max(short, SLACK))


@final
@dataclass(frozen=True)
class FlooredClass(ClassStrategy):
    """Multipliers of several classes, of which that of one class keeps floors of this class.

    Parameters
    ----------
    floor : the floors
    code : the number of the class
    rows : with so many rows the floors must be kept, and the strategy refuses where they are not; of others the offset
        that comes nearest is taken
    """

    floor: FlooredThreshold
    code: int
    rows: int | None = None

    name: ClassVar[str] = ClassMultipliers.name

    def refuses_weights(self, task: Task) -> str | None:
        return self.floor.refuses_weights(task)

    def bound(self, task: Task) -> Strategy:
        return replace(self, rows=len(task.truth))

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        """The offsets; UnmetFloor where none keeps the floors."""
        tuned = ClassMultipliers().tune(evidence, task)
        assert isinstance(tuned, OffsetRule)
        assert isinstance(task.loss, ConfusionLoss)
        about = task.truth, log_scores(evidence.response(), None), task.loss, self.code, self.floor.floors, task.weights
        starts, found, unmet = (tuned.offsets, np.zeros(task.classes)), [], []
        # A fold may lack the class.
        for start in starts if (task.truth == self.code).any() else ():
            try:
                found.append(floored_offset(start, *about))
            except UnmetFloor as error:
                unmet.append(error)
        if not found and len(task.truth) == self.rows:
            worst = max(unmet, key=lambda error: error.reachable)
            said = f"class {self.floor.of!r}: {worst.sentence[0].lower()}{worst.sentence[1:]}"
            raise UnmetFloor(said, worst.reachable)
        found = found or [floored_offset(start, *about, nearest=True) for start in starts]
        best, short = min(found, key=lambda one: (one[1], one[0].loss))
        return OffsetRule(best.offsets, short=short)
