"""Strategies: ways to get labels out of a classifier, each with the rule that it leaves behind.

Here are the base model as it is, one threshold for all scores or one for each label, weighted positives, and the order
of scores.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, final

from numpy.typing import NDArray

from setwise.core import pages
from setwise.core.checks import Bools, Floats, Ints, Values, as_count, as_reals, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import Page
from setwise.decisions import bagged_threshold, best_threshold
from setwise.decisions.label_thresholds import ScoredLabelMatrix, as_amounts, thresholds_of
from setwise.decisions.task import Task
from setwise.estimators.selection.base_models import Response
from setwise.losses.row_costs import RowCosts


@final
@dataclass(frozen=True)
class TreesByCosts:
    """Boosted trees in place of the classifier of a base model, fitted to rows that are weighted by costs.

    Parameters
    ----------
    costs : the costs of all training rows
    """

    costs: RowCosts


Weight = float | RowCosts | TreesByCosts
"""With what a base model is fitted: the weight of each positive row, or costs, by which each row has a weight."""


class Evidence(ABC):
    """What is known of some rows without their labels: the responses of the base model, and the rows themselves.

    On training rows the responses come from models that did not see the row, on new rows from the model of all rows.

    Attributes
    ----------
    groups : (n,) the number of the set of each row, or None if they are not known
    """

    groups: Ints | None

    @abstractmethod
    def response(self, weight: Weight = 1.0) -> Response:
        """The response of the base model that was fitted with ``weight`` on each positive row, or by costs."""

    @property
    @abstractmethod
    def numbers(self) -> Values | None:
        """The numbers of the rows, float64 (n, d), NaN where they have gaps; None without a dense table of numbers."""


class Base(ABC):
    """What a strategy may ask of a base model before it is tuned.

    Attributes
    ----------
    name : the name of the classifier in sentences
    weighable : whether the model can be fitted with weighted rows
    replaceable : whether boosted trees may take the place of the classifier, and are something else
    numbers : the numbers of the training rows, float64 (n, d), without codes of words; None without a dense table of
        numbers
    """

    name: str
    weighable: bool
    replaceable: bool
    numbers: Values | None


class Rule(ABC):
    """How labels follow from evidence: plain data, fixed once it is tuned.

    Attributes
    ----------
    weight : the weight of positive rows in the base model that the rule reads, or the costs that weigh all
    short : how much floors are missed on the rows that the rule was tuned on; 0 where they are kept, or there are none
    joint : whether rows of a group are decided together, where groups are known
    """

    weight: Weight = 1.0
    short: float = 0.0
    joint: ClassVar[bool] = False

    def for_rows(self, loss: Loss) -> "Rule":
        """The rule for rows to which this loss belongs: it matters where each row is decided by its own costs."""
        return self

    @property
    def threshold(self) -> Any:
        """The threshold of the scores of the base model, if the rule is one, (p,) for one for each label; else None."""
        return None

    @abstractmethod
    def labels(self, evidence: Evidence) -> NDArray[Any]:
        """The predicted labels, (n,) or (n, p) bool; of more than two classes (n,) int64."""


class Strategy(ABC):
    """A way to get labels out of a base model. A subclass in ``setwise.estimators.selection`` is found by its name.

    ``MeasureClassifier`` takes objects of subclasses from anywhere.

    Source: own; described in docs/guide/measure.md.

    Attributes
    ----------
    name : the short name, unique among strategies
    title : the name in a table; what has none is called by its short name
    phrase : the words for it behind the name of a base model
    explanation : what it is, below a table of strategies
    explanation_of_matrices : the same for a label matrix, where that is something else
    needs : why it does not fit, for a reader who does not know its short name, where its data are of the right kind
    page : the page that explains it
    linear : whether it leaves a linear function of the features over logistic regression
    listed : whether ``"auto"`` tries it, and its short name alone stands for it
    many_numbers : whether tuning fits so many numbers that, to judge it on a fold, the base models behind its evidence
        must not have seen that fold. This takes k (k - 1) / 2 more fits of the base model for k folds
    several_classes : whether it is for more than two classes

    Examples
    --------
    >>> from setwise.estimators.selection import Strategy, RampStack, SingleThreshold
    >>> strategies: list[Strategy] = [SingleThreshold(), RampStack(C=100.0)]
    >>> [(strategy.name, strategy.many_numbers, strategy.fits) for strategy in strategies]
    [('threshold', False, (1.0,)), ('ramp', True, (1.0,))]
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    phrase: ClassVar[str] = ""
    explanation: ClassVar[str] = ""
    explanation_of_matrices: ClassVar[str] = ""
    needs: ClassVar[str] = ""
    page: ClassVar[Page] = pages.STRATEGIES
    linear: ClassVar[bool] = False
    listed: ClassVar[bool] = True
    many_numbers: ClassVar[bool] = False
    several_classes: ClassVar[bool] = False

    def refuses_weights(self, task: Task) -> str | None:
        """Why this strategy is not for weighted rows, in a sentence; None if it counts their weights."""
        return f"{self.name} refuses weights of rows, which it does not count." if task.weights is not None else None

    def refuses_data(self, task: Task) -> str | None:
        """Why this strategy is for data of another kind, in a sentence; None if it is for these."""
        return None

    def refuses(self, task: Task, base: Base) -> str | None:
        """Why this strategy does not fit, in a sentence; None if it does."""
        return self.refuses_data(task)

    def bound(self, task: Task) -> "Strategy":
        """The strategy with the defaults that depend on the truth of all rows; it is then tuned on parts of them."""
        return self

    @property
    def fits(self) -> tuple[Weight, ...]:
        """The weights of positive rows, or costs, with which the base model must be fitted before this is tuned."""
        return (1.0,)

    @abstractmethod
    def tune(self, evidence: Evidence, task: Task) -> Rule:
        """The best rule for rows whose truth is known. Raises Refusal if the loss turns out not to fit."""


@final
@dataclass(frozen=True)
class OwnPrediction(Strategy):
    """``estimator.predict(X)``, unchanged.

    Source: own; it tells what all else gains.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import OwnPrediction
    >>> X, y = make_classification(200, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [OwnPrediction()], cv=3, random_state=0).fit(X, y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['threshold', 'as_it_is']
    """

    name: ClassVar[str] = "as_it_is"
    title = "at 0.5"
    phrase = "at 0.5"
    explanation = "positive from the probability 0.5 on"
    linear = True
    several_classes = True

    def refuses_weights(self, task: Task) -> str | None:
        """None: weights of rows count."""
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        return OwnLabelsRule()


@final
@dataclass(frozen=True)
class OwnLabelsRule(Rule):
    """The labels that the base model predicts."""

    def labels(self, evidence: Evidence) -> Bools:
        return evidence.response().labels


@final
@dataclass(frozen=True)
class SingleThreshold(Strategy):
    """``[score >= t]`` with one t for all out-of-fold scores, where their mean loss is least, steadied by bagging.

    This is the reference: the other strategies must gain over it. The best of all cut points is partly the luck of the
    rows, so t is the mean of the best cuts of resamples, see :func:`~setwise.decisions.bagged_threshold`. A label
    matrix holds more decisions, and a loss that is no function of counts has no resamples of a single set: there t is
    the best of all cut points.

    Source: own; measured in docs/guide/thresholds.md.

    Parameters
    ----------
    n_resamples : how many resamples are drawn; 0 takes the best of all cut points. Of more than 100,000 rows there are
        fewer in proportion, but 10 at least: a cut that varies little needs few of them

    Raises
    ------
    ValueError : for a number below 0
    TypeError : for what is no whole number

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import SingleThreshold
    >>> X, y = make_classification(400, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> for resamples in (0, 1000):
    ...     model = MeasureClassifier(LogisticRegression(), "f1", [SingleThreshold(resamples)], cv=3, random_state=0)
    ...     print(round(model.fit(X, y).best_threshold_, 2))
    0.23
    0.25
    """

    n_resamples: int = 100

    name: ClassVar[str] = "threshold"
    title = "tuned threshold"
    phrase = "with a tuned threshold"
    explanation = "the threshold with the best measure on held-out training rows, averaged over resamples of them"
    explanation_of_matrices = "one threshold for all labels, with the best measure on held-out training rows"
    page = pages.BAGGED
    linear = True

    def __post_init__(self) -> None:
        as_count(self.n_resamples, "n_resamples", low=0)

    def refuses_weights(self, task: Task) -> str | None:
        """None: weights of rows count."""
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        return ThresholdRule(steady_threshold(task, evidence.response().scores, self.n_resamples))


MANY_ROWS = 100_000
"""Resamples of more rows are fewer, so that all of them together are no more rows."""

FEWEST = 10
"""So few resamples at least. Their mean has a variance of 1/10 of that of a single cut, which with so many rows is
small: the loss that it adds is a tenth of what the luck of the rows adds to the best threshold."""


def steady_threshold(task: Task, scores: Floats, n_resamples: int) -> float:
    """The bagged threshold of one set of rows, or of groups of rows; otherwise the best one."""
    flat = task.flat(scores)
    if n_resamples and not task.is_matrix:
        n_resamples = min(n_resamples, max(FEWEST, n_resamples * MANY_ROWS // len(flat)))
        try:
            return bagged_threshold(task.sets, flat, task.set_loss, n_resamples).threshold
        except Refusal:
            # Either there are no resamples, or no threshold fits the loss at all, which the next line says.
            pass
    return best_threshold(task.sets, flat, task.set_loss).threshold


@final
@dataclass(frozen=True, eq=False)
class ThresholdRule(Rule):
    """``[score >= at]`` for the scores of the base model.

    Parameters
    ----------
    at : the threshold, or (p,) one for each label; inf predicts no positive, -inf all
    weight : the weight of positive rows in the base model, or the costs that weigh all
    short : how much floors are missed on the rows that it was tuned on; 0 where they are kept, or there are none
    """

    at: float | Values
    weight: Weight = 1.0
    short: float = 0.0

    @property
    def threshold(self) -> float | Values:
        return self.at

    def labels(self, evidence: Evidence) -> Bools:
        return evidence.response(self.weight).scores >= self.at


@final
@dataclass(frozen=True)
class ThresholdPerLabel(Strategy):
    """``[score_j >= t_j]`` with a threshold for each label j of a label matrix, by out-of-fold scores.

    Labels that are rare or that the base model ranks badly get thresholds of their own. For means over labels they are
    bagged and shrunk, by default as far as held-out rows say. For means over rows they are lowered one after another,
    which need not reach the least loss.

    Source: own; the thresholds are those of :func:`setwise.decisions.label_thresholds`.

    Parameters
    ----------
    shrinkage : for means over labels, the weight of the micro loss, from 0 on; 0.0 takes the best thresholds, "auto"
        chooses by held-out rows

    Raises
    ------
    ValueError, TypeError : for another amount

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import ThresholdPerLabel
    >>> X, Y = make_multilabel_classification(100, n_features=5, n_classes=3, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "jaccard", [ThresholdPerLabel()], cv=3, random_state=0)
    >>> model = model.fit(X, Y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['threshold', 'label_thresholds']
    """

    shrinkage: Literal["auto"] | float = "auto"

    name: ClassVar[str] = "label_thresholds"
    title = "threshold for each label"
    phrase = "with a tuned threshold for each label"
    explanation = "such a threshold for each label by itself"
    page = pages.LABEL_THRESHOLDS

    def __post_init__(self) -> None:
        as_amounts(self.shrinkage)

    def refuses_data(self, task: Task) -> str | None:
        return None if task.is_matrix else "label_thresholds refuses y of shape (n,): there is one label only."

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        scores = evidence.response().scores
        shrinkage = self.shrinkage if task.average == "macro" else 0.0
        return ThresholdRule(
            thresholds_of(ScoredLabelMatrix.of(task.truth, scores), task.loss, task.average, shrinkage).thresholds
        )


@final
@dataclass(frozen=True)
class ClassWeight(Strategy):
    """``argmin over w, t of the loss of [score_w >= t]``, score_w being fitted with weight w on each positive row.

    By default the weights are ``(N / P)^a`` for a = 0, 1/4, 1/2, 3/4, 1, from equal to balanced classes. They do not
    depend on the loss, so that several measures share the fits.

    A quotient of counts, as F1 or Jaccard, is least where a cost-sensitive error is least, with costs that depend on
    the least value (Parambath et al. 2014). So if the base model minimizes that error exactly, the loss over a grid of
    weights is as near to the least one as the grid is fine. For a model that does not, and for other losses, the path
    is a heuristic.

    Parameters
    ----------
    weights : the weights w above 0, each of which needs a fit of the base model for each fold; None takes the default
    n_resamples : once w is chosen, t is steadied by so many resamples, as in
        :class:`~setwise.estimators.selection.SingleThreshold`

    Raises
    ------
    ValueError : for weights that are not above 0, and a number of resamples below 0
    TypeError : for what is no number

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import ClassWeight
    >>> X, y = make_classification(200, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [ClassWeight((1.0, 4.0))], cv=3, random_state=0).fit(X, y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['threshold', 'class_weight']
    """

    weights: tuple[float, ...] | None = None
    n_resamples: int = 100

    name: ClassVar[str] = "class_weight"
    title = "weighted positives"
    phrase = "fitted to weighted positives, with a tuned threshold"
    explanation = "the model is fitted again with heavier positive rows, with a tuned threshold"
    needs = "because this model cannot be fitted to weighted rows here"
    page = pages.CLASS_WEIGHTS

    def __post_init__(self) -> None:
        as_count(self.n_resamples, "n_resamples", low=0)
        if self.weights is None:
            return
        given = as_reals(self.weights, "weights")
        if given.ndim != 1 or not given.size or (given <= 0).any():
            raise ValueError(f"weights must be a list of one number or more above 0; got {shown(self.weights)}.")
        object.__setattr__(self, "weights", tuple(given.tolist()))

    def refuses_data(self, task: Task) -> str | None:
        if task.is_matrix:
            return "class_weight refuses label matrices: the weight of a row would weigh all its labels alike."
        return None

    def refuses(self, task: Task, base: Base) -> str | None:
        unweighted = f"class_weight refuses {base.name}: it cannot be fitted with weighted rows here."
        return self.refuses_data(task) or (None if base.weighable else unweighted)

    def bound(self, task: Task) -> "ClassWeight":
        if self.weights is not None:
            return self
        P = int(task.truth.sum())
        return replace(self, weights=tuple(dict.fromkeys(((len(task.truth) - P) / P) ** (a / 4) for a in range(5))))

    @property
    def fits(self) -> tuple[float, ...]:
        assert self.weights is not None
        return self.weights

    def refuses_weights(self, task: Task) -> str | None:
        """None: weights of rows count."""
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        flat = {weight: task.flat(evidence.response(weight).scores) for weight in self.fits}
        weight = min(flat, key=lambda w: best_threshold(task.sets, flat[w], task.set_loss).loss)
        return ThresholdRule(steady_threshold(task, evidence.response(weight).scores, self.n_resamples), weight)


@final
@dataclass(frozen=True)
class ScoreOrder(Strategy):
    """The scores of the base model as they are; only their order counts."""

    name: ClassVar[str] = "order"
    title = "order of scores"
    phrase = "in the order of its scores"
    explanation = "no rule: the measure judges the order in which the model puts the rows"
    page = pages.RANKINGS
    listed = False

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        return ScoreRule()


@final
@dataclass(frozen=True)
class ScoreRule(Rule):
    """The scores of the base model in place of labels, (n,) or (n, p)."""

    def labels(self, evidence: Evidence) -> Any:
        return evidence.response().scores
