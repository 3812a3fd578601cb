"""What a lever is: a way to get labels out of a classifier, and the rule that it leaves behind."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.task import Task
from setwise.estimators.choosing.responses import Response


class Evidence(ABC):
    """What is known of some rows without their labels: the responses of the base model, and the rows themselves.

    On training rows the responses come from models that did not see the row, on new rows from the model of all rows.

    Attributes
    ----------
    groups : (n,) the number of the set of each row, or None if they are not known
    """

    groups: Ints | None

    @abstractmethod
    def response(self, weight: float = 1.0) -> Response:
        """The response of the base model that was fitted with ``weight`` on each positive row."""

    @property
    @abstractmethod
    def numbers(self) -> Values | None:
        """The numbers of the rows, float64 (n, d), NaN where they have gaps; None without a dense table of numbers."""


class Base(ABC):
    """What a lever may ask of a base model before it is tuned.

    Attributes
    ----------
    name : the name of the classifier in sentences
    weighable : whether the model can be fitted with weighted rows
    numbers : the numbers of the training rows, float64 (n, d), without codes of words; None without a dense table of
        numbers
    """

    name: str
    weighable: bool
    numbers: Values | None


class Rule(ABC):
    """How labels follow from evidence: plain data, fixed once it is tuned.

    Attributes
    ----------
    weight : the weight of positive rows in the base model that the rule reads
    joint : whether rows of a group are decided together, where groups are known
    """

    weight: float = 1.0
    joint: ClassVar[bool] = False

    @property
    def threshold(self) -> Any:
        """The threshold of the scores of the base model, if the rule is one, (p,) for one for each label; else None."""
        return None

    @abstractmethod
    def labels(self, evidence: Evidence) -> Bools:
        """The predicted labels, (n,) or (n, p) bool."""


class Lever(ABC):
    """A way to get labels out of a base model. A subclass in ``setwise.estimators.levers`` is found by its name.

    ``MeasureClassifier`` takes objects of subclasses from anywhere.

    Source: own; described in docs/guide/measure.md.

    Attributes
    ----------
    name : the short name, unique among levers
    many_numbers : whether tuning fits so many numbers that, to judge it on a fold, the base models behind its evidence
        must not have seen that fold. This takes k (k - 1) / 2 more fits of the base model for k folds

    Examples
    --------
    >>> from setwise.estimators.levers import Lever, Ramp, Threshold
    >>> levers: list[Lever] = [Threshold(), Ramp(C=100.0)]
    >>> [(lever.name, lever.many_numbers, lever.fits) for lever in levers]
    [('threshold', False, (1.0,)), ('ramp', True, (1.0,))]
    """

    name: ClassVar[str]
    many_numbers: ClassVar[bool] = False

    @abstractmethod
    def refuses(self, task: Task, base: Base) -> str | None:
        """Why this lever does not fit, in a sentence; None if it does."""

    def bound(self, task: Task) -> "Lever":
        """The lever with the defaults that depend on the truth of all rows; it is then tuned on parts of them."""
        return self

    @property
    def fits(self) -> tuple[float, ...]:
        """The weights of positive rows with which the base model must be fitted before this lever is tuned."""
        return (1.0,)

    @abstractmethod
    def tune(self, evidence: Evidence, task: Task) -> Rule:
        """The best rule for rows whose truth is known. Raises Refusal if the loss turns out not to fit."""
