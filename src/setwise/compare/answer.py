"""The answer of a comparison for one measure: what to do, how much it gains, how sure that is, and why.

Paired differences over random splits have a mean and an interval.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from setwise.compare.plan import PLAIN, Key, NamedLoss, Plan
from setwise.compare.problem import Problem
from setwise.core.attributes import cached_property
from setwise.core.checks import Values
from setwise.estimators.selection.choice import Candidate
from setwise.estimators.selection.floors import FlooredThreshold, FloorShares


@final
@dataclass(frozen=True)
class PairedDifference:
    """The mean of J paired differences, with the variance ``(1/J + n_test / n_train) s^2`` of Nadeau and Bengio (2003).

    ``s^2`` is the variance of the differences. Splits share training rows, so that ``s^2 / J`` alone would be too
    small: random splits of two thirds for training need the correction, and so do the folds of a cross-validation.

    Attributes
    ----------
    mean : the mean difference
    error : its standard error; 0 if all differences are equal
    splits : the number J of differences
    """

    mean: float
    error: float
    splits: int

    @classmethod
    def of(cls, differences: ArrayLike, ratio: float) -> "PairedDifference":
        """From the differences (J,) with J >= 2, and the ``ratio`` of the numbers of test and training rows."""
        d = np.asarray(differences, dtype=np.float64)
        # Equal differences may have a variance of some rounding, which would make a test of it absurdly sharp.
        spread = 0.0 if np.ptp(d) <= 1e-12 * np.abs(d).max() else float(d.var(ddof=1))
        return cls(float(d.mean()), float(np.sqrt((1.0 / len(d) + ratio) * spread)), len(d))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The two-sided interval of Student's t with J - 1 degrees of freedom."""
        half = float(student.ppf(0.5 + level / 2.0, self.splits - 1)) * self.error if self.error > 0 else 0.0
        return self.mean - half, self.mean + half


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateResult(Candidate):
    """A candidate, judged out of fold on all rows, with what it lost on the outer folds.

    Attributes
    ----------
    outer : (folds,) the loss on the test part of each fold that judges; NaN where it was refused
    test : the loss on the rows of ``--test``, NaN without them
    """

    outer: Values
    test: float = np.nan

    @property
    def usable(self) -> bool:
        """Whether it has figures in all outer folds."""
        return bool(np.isfinite(self.outer).all())

    @property
    def mean(self) -> float:
        """The mean loss on the outer folds."""
        return float(self.outer.mean())


@final
@dataclass(frozen=True)
class ThresholdRange:
    """The thresholds around the best one at which the measure is nearly as good, out of fold on all rows.

    Under floors they are kept in the whole range.

    Attributes
    ----------
    thresholds, losses : all cut points, thinned out for a picture
    low, high : the ends of the range
    tolerance : how much the loss may be above its least value in this range
    shares : the recall, the precision and the share of rows called positive at these thresholds, (3, k)
    """

    thresholds: Values
    losses: Values
    low: float
    high: float
    tolerance: float
    shares: Values | None = None


@final
@dataclass(frozen=True, eq=False)
class BaseCurve:
    """What a base model reaches out of fold on all rows; of a label matrix, on all its labels together.

    Attributes
    ----------
    shares : recall, precision and the share of rows called positive, (3, k), from the lowest recall on
    tuned : the same at its tuned threshold, (3,); None where no threshold is tuned
    bins : for ten parts of the rows, of equal size and in the order of their probability, the mean probability, the
        share of positive rows and the share of all rows, (3, 10); None where the scores are no probabilities
    """

    shares: Values
    tuned: Values | None = None
    bins: Values | None = None


@final
@dataclass(frozen=True, eq=False)
class Recommendation:
    """What is recommended, fitted on all rows.

    Attributes
    ----------
    key : the names of the base model and of the strategy
    constant : its C, or None
    threshold : its threshold, in the units of the model's scores; (p,) for one of each label; None where it has none
    weight : the weight of positive rows in the fit of the base model
    probability : whether the scores are probabilities
    flat : the flat range of the threshold, or None
    coefficients : the coefficients of a linear model by the names of its features, or None
    code : Python code that repeats it
    fitted : the base model, fitted on all rows
    joint : whether the rows of a group are decided together
    labels : (n,) or (n, p), the labels of all rows by models that did not see them; None where they are not known
    rule : the rule, tuned on all rows; None where it is not known
    """

    key: Key
    constant: float | None = None
    threshold: Any = None
    weight: Any = 1.0
    probability: bool = True
    flat: ThresholdRange | None = None
    coefficients: Mapping[str, float] | None = None
    code: str = ""
    fitted: Any = None
    joint: bool = False
    labels: Any = None
    rule: Any = None

    @property
    def unit(self) -> str:
        """What the model gives each row: a probability or a score."""
        return "probability" if self.probability else "score"


@final
@dataclass(frozen=True, eq=False)
class FloorReport:
    """How the ways keep the floors.

    Attributes
    ----------
    floor : the threshold that keeps them
    all_rows : for each way what it reaches out of fold on all rows, with the threshold that is tuned on them
    folds : for each outer fold what each way reaches on its test part
    able : the ways that keep the floors on all rows, with their confidence
    test : for each way what it reaches on the rows of ``--test``; empty without them
    """

    floor: FlooredThreshold
    all_rows: Mapping[Key, FloorShares]
    folds: tuple[Mapping[Key, FloorShares], ...]
    able: frozenset[Key]
    test: Mapping[Key, FloorShares] = field(default_factory=dict)


@final
@dataclass(frozen=True, eq=False)
class OtherRowsReport:
    """What ways reach on the rows of a file that are not in the sample on which they were compared.

    Attributes
    ----------
    count : how many rows these are
    losses : the mean loss of the recommendation, of the reference, and of logistic regression at 0.5
    reached : under floors, their recall and precision
    refusal : why there are no figures, in a sentence; empty if there are
    """

    count: int
    losses: Mapping[Key, float] = field(default_factory=dict)
    reached: Mapping[Key, FloorShares] = field(default_factory=dict)
    refusal: str = ""


@final
@dataclass(frozen=True, eq=False)
class Answer:
    """The comparison of all ways for one measure on one problem.

    Attributes
    ----------
    problem, measured, plan : the data, the measure and the folds
    rows : every strategy over every base model; the reference is the first row
    chosen : the way that was chosen on all rows
    choices : the way that each outer fold chose on its training part
    winner : what is recommended
    test_gain : with rows of ``--test``, the gain there over the reference with its interval, (gain, low, high); None
        without them, and where the reference is kept
    floored : how the floors are kept; None without floors
    others : what is reached on the rows of the file that are not in the sample; None where there are none
    repeated : whether the choice was repeated in outer folds, which then judge; if the budget had no room for four of
        them, the folds inside judge, which the choice has seen
    test_differs : sentences on how the rows of ``--test`` differ from the others
    notes : sentences on what was left out, and why
    curves : recall, precision and probabilities of each base model, by its name
    saved : the name of the file in which the recommendation is saved; empty if it is not

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from setwise.compare import NamedLoss, Plan, Problem, compare
    >>> from setwise.losses import FBeta
    >>> X, y = make_classification(150, 3, n_redundant=0, weights=[0.8], class_sep=0.7, random_state=0)
    >>> plan = Plan(folds=2, inner=3, grid=(1.0,), bases=("linear",), strategies=("threshold",))
    >>> answer = compare(Problem("made", "Generated rows.", X, y), [NamedLoss("f1", FBeta())], plan)[0]

    >>> answer.reference.key, [row.strategy for row in answer.rows]
    (('linear', 'threshold'), ['threshold', 'as_it_is'])
    """

    problem: Problem
    measured: NamedLoss
    plan: Plan
    rows: tuple[CandidateResult, ...]
    chosen: Key
    choices: tuple[Key, ...]
    winner: Recommendation
    test_gain: tuple[float, float, float] | None = None
    floored: FloorReport | None = None
    others: OtherRowsReport | None = None
    repeated: bool = True
    test_differs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    curves: Mapping[str, BaseCurve] = field(default_factory=dict)
    saved: str = ""

    @property
    def reference(self) -> CandidateResult:
        """Logistic regression with a tuned threshold; for losses of a ranking, in its order, and with the most probable
        class where there are more than two.
        """
        return self.rows[0]

    @property
    def own(self) -> Values:
        """The losses of what each fold chose on the rows that it judges, (folds,)."""
        return np.array([self.row(key).outer[k] for k, key in enumerate(self.choices)])

    def row(self, key: Key) -> CandidateResult:
        """The row with this key."""
        return next(row for row in self.rows if row.key == key)

    @property
    def plain(self) -> CandidateResult | None:
        """Logistic regression at 0.5; None where no threshold occurs, and under floors, which it may break."""
        return next((row for row in self.rows if row.key == PLAIN), None) if self.floored is None else None

    @property
    def stands(self) -> bool:
        """Whether the reference keeps the floors, if there are any, so that a gain over it means something."""
        return self.floored is None or self.reference.key in self.floored.able

    def paired(self, first: Values, second: Values) -> PairedDifference:
        """The paired difference ``first - second`` of losses over the folds that judge: what ``second`` gains."""
        ratio = self.problem.test_by_train(self.plan.folds) if self.repeated else 1.0 / (self.plan.inner - 1)
        return PairedDifference.of(first - second, ratio)

    @cached_property
    def gain(self) -> PairedDifference:
        """What the choice, repeated in each outer fold, gains over the reference."""
        return self.paired(self.reference.outer, self.own)

    @property
    def changes(self) -> bool:
        """Whether to leave logistic regression with a tuned threshold: another choice, and an interval above 0.

        A reference that keeps no floors is left for a choice that does.
        """
        return self.chosen != self.reference.key and (not self.stands or self.gain.interval()[0] > 1e-12)

    @property
    def parts(self) -> dict[str, PairedDifference]:
        """The gain over logistic regression at 0.5 in three parts: threshold, base model, strategy."""
        found = {} if self.plain is None else {"threshold": self.paired(self.plain.outer, self.reference.outer)}
        tuned = [self.row((base, self.reference.strategy)).outer[k] for k, (base, _) in enumerate(self.choices)]
        found["base"] = self.paired(self.reference.outer, np.array(tuned))
        if self.plain is not None or self.measured.classes:
            found["strategy"] = self.paired(np.array(tuned), self.own)
        return found

    @property
    def best_other(self) -> CandidateResult | None:
        """The best way but the reference, by its out-of-fold loss on all rows; the outer folds have no say in it."""
        # A way that loses the same in every fold is the reference under another name.
        usable = [row for row in self.rows[1:] if row.usable and row.key != PLAIN]
        others = [row for row in usable if np.abs(row.outer - self.reference.outer).max() > 1e-12]
        return min(others, key=lambda row: row.loss) if others else None
