"""Functions of a user, scorers, gains and names as losses: in Python, on the command line, and against enumeration."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (  # noqa: F401, texts of the command line name some of them
    accuracy_score,
    cohen_kappa_score,
    f1_score,
    fbeta_score,
    get_scorer,
    hamming_loss,
    log_loss,
    make_scorer,
    mean_absolute_error,
    precision_score,
    zero_one_loss,
)

from setwise import MeasureClassifier, SetClassifier
from setwise.compare import NamedLoss, Plan, Problem, compare
from setwise.compare.command import measures_of
from setwise.core import Refusal, Sets
from setwise.decisions import best_threshold, least_expected_loss, threshold_curve
from setwise.losses import CohenKappa, ErrorRate, FBeta, MeanOverClasses, MetricLoss, as_loss


def profit(y_true, y_pred):
    """A gain: a hit earns 9, a call costs 2."""
    return 9.0 * (y_true & y_pred).sum() - 2.0 * y_pred.sum()


def spent(y_true, y_pred):
    """A cost that is not 0 for the true labels."""
    return 2 * y_pred.sum() + 10 * (y_true > y_pred).sum()


def changes(y_true, y_pred):
    """A cost that depends on the order of the rows."""
    return np.abs(np.diff(y_true - y_pred)).sum() + (y_true != y_pred).sum()


def alarms(y_true, y_pred):
    """The true labels are not its best."""
    return int(y_pred.sum())


def three(a, b, c):
    return 0.0


own_scorer = make_scorer(profit)
own_cost_scorer = make_scorer(spent, greater_is_better=False)
weighted_f1 = make_scorer(f1_score, average="weighted")
other_label = make_scorer(f1_score, pos_label=0)
absolute_error = make_scorer(mean_absolute_error, greater_is_better=False)
of_hamming = make_scorer(hamming_loss, greater_is_better=False)
of_kappa = make_scorer(cohen_kappa_score)
wrong_way = make_scorer(f1_score, greater_is_better=False)
wrong_hamming = make_scorer(hamming_loss)
of_probabilities = get_scorer("neg_log_loss")
f1 = FBeta()

HERE = __name__

TAKEN = {
    "f1": FBeta(),
    "f1_score": FBeta(),
    "fbeta:2": FBeta(2.0),
    "f2": FBeta(2.0),
    "accuracy": ErrorRate(),
    "accuracy_score": ErrorRate(),
    "hamming_loss": ErrorRate(),
    "zero_one_loss": ErrorRate(),
    "kappa": CohenKappa(),
    "cohen_kappa": CohenKappa(),
    "cohen_kappa_score": CohenKappa(),
    "jaccard+0.5*hamming": as_loss("jaccard") + 0.5 * as_loss("hamming"),
    f"{HERE}:profit": MetricLoss(profit),
    f"{HERE}:spent": MetricLoss(spent),
    f"{HERE}:changes": MetricLoss(changes),
    f"{HERE}:own_scorer": MetricLoss(profit, greater_is_better=True),
    f"{HERE}:own_cost_scorer": MetricLoss(spent),
    f"{HERE}:weighted_f1": MeanOverClasses("f1", "support"),
    f"{HERE}:other_label": MetricLoss(partial(f1_score, pos_label=0), greater_is_better=True),
    f"{HERE}:absolute_error": MetricLoss(mean_absolute_error),
    f"{HERE}:of_hamming": ErrorRate(),
    f"{HERE}:of_kappa": CohenKappa(),
    f"{HERE}:cohen_kappa_score": CohenKappa(),
    f"{HERE}:f1": FBeta(),
}

REFUSED = {
    "jacard": "use jaccard",
    "cohen_kapa": "use cohen_kappa",
    "acuracy": "use accuracy",
    "precision": "precision alone is best where few rows",
    "neg_log_loss": "judges probabilities",
    "brier_score_loss": "judges probabilities",
    f"{HERE}:log_loss": "judges probabilities",
    f"{HERE}:of_probabilities": "judges probabilities",
    f"{HERE}:precision_score": "precision_score alone is best where few rows",
    f"{HERE}:wrong_way": "a scorer of f1_score must have greater_is_better=True; got False",
    f"{HERE}:wrong_hamming": "a scorer of hamming_loss must have greater_is_better=False; got True",
    f"{HERE}:fbeta_score": "fbeta_score needs beta; give make_scorer",
    f"{HERE}:three": r"loss must be a function of \(y_true, y_pred\)",
}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def held(text):
    """What Python is given for a text of the command line."""
    return globals()[text.rpartition(":")[2]] if text.startswith(HERE) else text


@pytest.mark.parametrize("text", TAKEN)
def test_python_and_the_command_line_take_the_same(text, rng):
    (measured,) = measures_of(text, "samples")
    for loss in (as_loss(held(text)), measured.loss, NamedLoss("own", held(text)).loss):
        assert repr(loss) == repr(TAKEN[text])
    y, guess = rng.random(30) < 0.4, rng.random(30) < 0.5
    if not text.endswith(":profit"):
        assert measured.loss(y, guess) == TAKEN[text](y, guess)


@pytest.mark.parametrize("text", REFUSED)
def test_python_and_the_command_line_refuse_the_same(text):
    for ask in (lambda: as_loss(held(text)), lambda: measures_of(text, "samples")):
        with pytest.raises((ValueError, TypeError), match=REFUSED[text]) as refused:
            ask()
        assert str(refused.value).endswith(".")


def test_modules_that_are_not_there_are_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="'jacard:fraction' must be module:object; .*The nearest loss is jaccard"):
        measures_of("jacard:fraction", "samples")
    with pytest.raises(ValueError, match=f"'{HERE}:nothing' must be module:object; .*no attribute 'nothing'"):
        measures_of(f"f1,{HERE}:nothing", "samples")
    assert [one.title for one in measures_of(f"F1, {HERE}:own_scorer", "samples")] == ["F1", "own scorer"]


def test_the_macro_average_is_the_mean_over_classes(rng):
    y, guess = rng.integers(0, 2, 40), rng.integers(0, 2, 40)
    for given in ("f1_macro", get_scorer("f1_macro")):
        assert as_loss(given) == MeanOverClasses(FBeta())
        assert 1.0 - as_loss(given)(y, guess) == pytest.approx(f1_score(y, guess, average="macro"))


GAINS = [(profit, True), (spent, False), (changes, False), (accuracy_score, True), (zero_one_loss, False)]


@pytest.mark.parametrize(("f", "gain"), GAINS)
def test_the_best_threshold_of_a_function_is_that_of_enumeration(f, gain, rng):
    for n in (1, 2, 7, 40):
        for ratio in (0.0, 0.3, 1.0):
            y, scores = (rng.random(n) < ratio).astype(int), np.round(rng.normal(size=n), 1)
            loss = MetricLoss(f, greater_is_better=gain)
            found = best_threshold(y, scores, loss)
            cuts = [np.inf, *np.unique(scores)]
            values = [float(f(y, (scores >= t).astype(int))) for t in cuts]
            best = max(values) if gain else min(values)
            assert f(y, (scores >= found.threshold).astype(int)) == best
            assert found.loss == pytest.approx(abs(float(f(y, y)) - best), abs=1e-12)
            assert threshold_curve(y, scores, loss)[1].min() == found.loss


@pytest.mark.parametrize(("f", "gain"), GAINS)
def test_scores_are_the_function_and_groups_have_their_mean(f, gain):
    X, y = make_classification(150, 4, weights=[0.7], flip_y=0.2, random_state=0)
    groups, sign = np.arange(150) % 5, 1.0 if gain else -1.0
    for ids in (None, groups):
        model = MeasureClassifier(LogisticRegression(), MetricLoss(f, gain), ["threshold"], 3, store_cv_results=True)
        model.fit(X, y, groups=ids)
        labels = model.predict(X, groups=ids)
        sets = [np.arange(150)] if ids is None else [np.flatnonzero(groups == g) for g in range(5)]
        expected = sign * np.mean([float(f(y[rows], labels[rows])) for rows in sets])
        assert model.score(X, y, groups=ids) == pytest.approx(expected, rel=1e-12)
        # The threshold that is best out of fold has the score that the curve says.
        assert model.cv_results_["scores"].max() >= model.best_score_ - 1e-9
    if gain and f is profit:
        by_scorer = MeasureClassifier(LogisticRegression(), own_scorer, ["threshold"], 3).fit(X, y)
        assert by_scorer.score(X, y) == own_scorer(by_scorer, X, y)


def test_auto_leaves_out_what_would_train_for_a_function():
    X, y = make_classification(90, 4, weights=[0.7], flip_y=0.2, random_state=0)
    model = MeasureClassifier(LogisticRegression(), own_scorer, cv=3, random_state=0).fit(X, y)
    # What is refused has no loss.
    assert {one.strategy for one in model.candidates_ if np.isfinite(one.loss)} >= {"threshold", "as_it_is"}
    assert not any(np.isfinite(one.loss) for one in model.candidates_ if one.strategy in ("ramp", "decision", "gfm"))
    with pytest.raises(
        Refusal, match=r"SetClassifier refuses MetricLoss\(profit.* for a set of 90 decisions: training"
    ):
        SetClassifier(own_scorer).fit(X, y)
    with pytest.raises(Refusal, match="for a set of 90 decisions: training"):
        SetClassifier(as_loss(own_scorer) + FBeta()).fit(X, y)
    # Of a label matrix too nothing is trained, and the score is the mean of the function.
    Y = np.column_stack([y, X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    rows = MeasureClassifier(LogisticRegression(), own_scorer, cv=3, random_state=0).fit(X, Y)
    assert not {one.strategy for one in rows.candidates_ if np.isfinite(one.loss)} & {"ramp", "stack"}
    each = [profit(*pair) for pair in zip(Y, rows.predict(X), strict=True)]
    assert rows.score(X, Y) == pytest.approx(np.mean(each))
    # All labelings of small sets can be tried.
    small = SetClassifier(own_scorer, C=10.0).fit(X, y, groups=np.arange(90) // 6)
    labels = (small.decision_function(X) > 0).astype(int)
    rows = np.arange(90).reshape(15, 6)
    expected = np.mean([profit(y[row], labels[row]) for row in rows])
    assert small.score(X, y, groups=np.arange(90) // 6) == pytest.approx(expected)


def test_the_least_expected_loss_of_a_function_is_that_of_enumeration_or_refused(rng):
    p = rng.random(6)
    found = least_expected_loss(p, own_scorer)
    labelings = (np.arange(64)[:, None] >> np.arange(6)) & 1
    chances = np.prod(np.where(labelings, p, 1.0 - p), axis=1)
    expected = [
        sum(c * MetricLoss(profit, True)(y, h) for c, y in zip(chances, labelings, strict=True)) for h in labelings
    ]
    assert found.values[0] == pytest.approx(min(expected))
    with pytest.raises(Refusal, match="MetricLoss"):
        least_expected_loss(rng.random(300), own_scorer)


def f1_score_of(y_true, y_pred):
    return f1_score(y_true, y_pred)


BROKEN = {
    "nan": (lambda y, h: np.nan, "f must return one finite number; got nan from <lambda> of 4 labels"),
    "an array": (lambda y, h: y != h, "f must return one finite number; got array.* CountFunctionLoss takes functions"),
    "text": (lambda y, h: "1", "f must return one finite number; got '1'"),
    "none": (lambda y, h: None, "f must return one finite number; got None"),
    "raising": (lambda y, h: {}["x"], r"<lambda> of 4 labels with 2 positives, 2 predicted, raised KeyError: 'x'"),
    "a fixed length": (lambda y, h: (y != h) @ np.ones(9), "of 4 labels .* raised ValueError"),
    "a gain as a cost": (f1_score_of, r"MetricLoss\(f, greater_is_better=True\)"),
    "other labels are better": (
        alarms,
        r"f must be best for the true labels; MetricLoss\(alarms\) is 1 for other labels and 2 for the true",
    ),
}


@pytest.mark.parametrize(("f", "says"), BROKEN.values(), ids=BROKEN)
def test_functions_that_are_no_losses_are_refused_in_a_sentence(f, says):
    with pytest.raises(ValueError, match=says):
        best_threshold([1, 1, 0, 0], [0.4, 0.3, 0.2, 0.1], f)


def test_a_cost_as_a_gain_is_refused():
    with pytest.raises(ValueError, match="If less is better, give f, as a cost"):
        best_threshold([1, 1, 0, 0], [0.4, 0.3, 0.2, 0.1], make_scorer(hamming_like))


def hamming_like(y_true, y_pred):
    return float(np.mean(y_true != y_pred))


def test_a_function_cannot_change_the_labels_and_sees_whole_numbers():
    def spoil(y_true, y_pred):
        lost = float((y_true - y_pred != 0).sum())
        y_true[:], y_pred[:] = 1, 0
        return lost

    y = np.array([1, 0, 1, 0])
    assert best_threshold(y, [4.0, 3.0, 2.0, 1.0], spoil) == best_threshold(y, [4.0, 3.0, 2.0, 1.0], "hamming")
    assert y.tolist() == [1, 0, 1, 0]


def test_rows_of_unknown_label_are_left_out():
    sets = Sets(np.array([1, -1, 0, -1, -1], np.int8), np.array([0, 3, 5]))
    seen = []

    def counted(y_true, y_pred):
        seen.append(len(y_true))
        return float((y_true != y_pred).sum())

    assert as_loss(counted).values(sets, np.array([0, 1, 1, 1, 1])).tolist() == [2.0, 0.0]
    assert set(seen) == {2}


def test_one_class_alone():
    y, scores = np.ones(4, int), np.arange(4.0)
    assert best_threshold(y, scores, own_scorer).loss == 0.0
    assert best_threshold(1 - y, scores, own_scorer).threshold == np.inf


def test_weights_of_rows_are_refused():
    X, y = make_classification(60, 4, random_state=0)
    with pytest.raises(Refusal, match=r"MetricLoss\(profit, greater_is_better=True\) refuses weights of rows"):
        MeasureClassifier(LogisticRegression(), own_scorer, ["threshold"], 3).fit(X, y, sample_weight=np.ones(60))


def test_functions_of_modules_can_be_pickled_and_those_without_a_name_cannot():
    loss = pickle.loads(pickle.dumps(as_loss(own_scorer)))
    assert loss([1, 1, 0], [1, 0, 1]) == as_loss(own_scorer)([1, 1, 0], [1, 0, 1]) == 9.0
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(as_loss(lambda y, h: float((y != h).sum())))
    # Processes of the folds do not need it.
    X, y = make_classification(60, 4, random_state=0)
    MeasureClassifier(LogisticRegression(), lambda y, h: float((y != h).sum()), ["threshold"], 3, n_jobs=2).fit(X, y)


def test_measures_show_the_number_of_the_function():
    gain, cost = NamedLoss("mine:own_scorer", own_scorer), NamedLoss("mine:spent", spent)
    assert (gain.better, gain.shown(-5.0), gain.title) == ("higher is better", 5.0, "own scorer")
    assert (cost.better, cost.shown(5.0), cost.title) == ("lower is better", 5.0, "spent")
    y, guess = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    assert gain.shown(gain.on(y[:, None])(y, guess)) == profit(y, guess)
    assert cost.shown(cost.on(y[:, None])(y, guess)) == spent(y, guess)


def test_a_comparison_prints_the_number_of_the_function():
    X, y = make_classification(90, 4, weights=[0.7], flip_y=0.2, random_state=0)
    plan = Plan(folds=2, inner=3, grid=(1.0,), bases=("linear",), strategies=("threshold",))
    (measured,) = measures_of(f"{HERE}:own_scorer", "samples")
    answer = compare(Problem("made", "Generated rows.", X, y), [measured], plan)[0]
    labels = answer.winner.labels
    flat = answer.winner.flat
    at = np.argmin(np.abs(flat.thresholds - answer.winner.threshold))
    assert measured.shown(flat.losses[at]) == pytest.approx(profit(y, labels))
    assert f"from {HERE} import own_scorer" in answer.winner.code
    assert "loss=own_scorer," in answer.winner.code
