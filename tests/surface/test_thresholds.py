"""Thresholds, their floors, their intervals and their picture: every argument."""

from functools import partial

import numpy as np
import pytest

from setwise.core.batch import Sets
from setwise.decisions import (
    Floor,
    bagged_threshold,
    best_threshold,
    bootstrap_threshold,
    class_offsets,
    constrained_threshold,
    label_thresholds,
    precision_at_recall,
    recall_at_alarm_rate,
    recall_at_false_positive_rate,
    recall_at_precision,
    threshold_curve,
    top_k_labels,
)
from setwise.losses import LOSSES, CostMatrix
from setwise.plotting import ThresholdDisplay
from surface import field_parameters
from surface.refusals import COUNTS, NO_NUMBERS, NUMBERS, OBJECTS, Parameter, labels, numbers, try_all, without
from surface.test_calls import LENGTHS, LOSS, P, S, Y

RANKED = {name: kind.examples(P)[0] for name, kind in LOSSES.items() if kind.examples(P)[0].reads == "scores"}
MATRIX = np.array([Y, Y[::-1]])
LEVELS = NUMBERS | {"one": 1.0, "zero": 0.0, "two": 2.0}
SEEDS = without(NO_NUMBERS, "truth") | {"negative": -1, "half": 0.5}


def matrices(values):
    """Malformed matrices (2, P), each of two equal rows, and arrays without two axes."""
    flat = without(values, "matrix", "column", "generator", "records")
    rows = {f"two {name}": [row, row] for name, row in flat.items() if isinstance(row, list | np.ndarray)}
    return flat | rows | {"three axes": np.ones((2, P, 1)), "no rows": np.ones((0, P)), "no columns": np.ones((2, 0))}


def calls():
    shares = without(NUMBERS, "negative") | {"below": -0.1, "above": 1.1}
    asked = {
        best_threshold: ("best_threshold", ()),
        threshold_curve: ("threshold_curve", ()),
        constrained_threshold: ("constrained_threshold", (Floor("recall", 0.5),)),
        bootstrap_threshold: ("bootstrap_threshold", (3,)),
        bagged_threshold: ("bagged_threshold", (3,)),
    }
    for ask, (name, more) in asked.items():
        yield Parameter(f"{name}(y)", lambda v, ask=ask, more=more: ask(v, S, "f1", *more), labels(P))
        yield Parameter(f"{name}(y, scores)", lambda v, ask=ask, more=more: ask(v, S, "f1", *more), LENGTHS)
        yield Parameter(
            f"{name}(scores)", lambda v, ask=ask, more=more: ask(Y, v, "f1", *more), numbers(P, negative=True)
        )
        yield Parameter(f"{name}(loss)", lambda v, ask=ask, more=more: ask(Y, S, v, *more), LOSS)
    for ask, (name, more) in asked.items():
        where = f"{name}(sample_weight)"
        weigh = partial(ask, Y, S, "f1", *more)
        yield Parameter(where, lambda v, ask=weigh: ask(sample_weight=v), without(numbers(P), "None"))
    floors = OBJECTS | {"text": "recall", "pair": ("recall", 0.9), "texts": ["recall"], "tuple": (), "one": [0.9]}
    yield Parameter("constrained_threshold(floor)", partial(constrained_threshold, Y, S, "f1"), floors)
    for ask, name in (
        (precision_at_recall, "recall"),
        (recall_at_precision, "precision"),
        (recall_at_false_positive_rate, "rate"),
        (recall_at_alarm_rate, "rate"),
    ):
        where = ask.__name__
        yield Parameter(f"{where}(y)", lambda v, ask=ask: ask(v, S, 0.1), labels(P))
        yield Parameter(f"{where}(y, scores)", lambda v, ask=ask: ask(v, S, 0.1), LENGTHS)
        yield Parameter(f"{where}(scores)", lambda v, ask=ask: ask(Y, v, 0.1), numbers(P, negative=True))
        yield Parameter(f"{where}({name})", partial(ask, Y, S), shares)
        yield Parameter(f"{where}(confidence)", lambda v, ask=ask: ask(Y, S, 0.1, v), without(LEVELS, "None"))
        weigh, wrong = partial(ask, Y, S, 0.1), without(numbers(P), "None")
        yield Parameter(f"{where}(sample_weight)", lambda v, ask=weigh: ask(sample_weight=v), wrong)
    yield from field_parameters.parameters(Floor, Floor("recall", 0.5))


def of_intervals():
    ask = partial(bootstrap_threshold, Y, S, "f1")
    yield Parameter("bootstrap_threshold(n_resamples)", ask, COUNTS | {"zero": 0})
    yield Parameter("bootstrap_threshold(confidence)", lambda v: ask(3, v), LEVELS)
    yield Parameter("bootstrap_threshold(random_state)", lambda v: ask(3, random_state=v), SEEDS)
    bag = partial(bagged_threshold, Y, S, "f1")
    yield Parameter("bagged_threshold(n_resamples)", bag, COUNTS | {"zero": 0})
    yield Parameter("bagged_threshold(random_state)", lambda v: bag(3, v), SEEDS)


def of_matrices():
    scores = S * np.ones((2, 1))
    yield Parameter("label_thresholds(Y)", lambda v: label_thresholds(v, scores, "f1"), matrices(labels(P)))
    shapes = {"wide": np.ones((2, P + 1)), "high": np.ones((3, P)), "flat": np.ones(2 * P)}
    wrong = matrices(numbers(P, negative=True)) | shapes
    yield Parameter("label_thresholds(scores)", lambda v: label_thresholds(MATRIX, v, "f1"), wrong)
    yield Parameter(
        "label_thresholds(loss)",
        lambda v: label_thresholds(MATRIX, scores, v, "samples"),
        LOSS,
    )
    weigh, wrong = partial(label_thresholds, MATRIX, scores, "f1"), without(numbers(2), "None")
    yield Parameter("label_thresholds(sample_weight)", lambda v: weigh(sample_weight=v), wrong)
    ask = partial(label_thresholds, MATRIX, scores, "f1")
    amounts = without(NUMBERS, "half") | {"below": -0.1, "another": "all"}
    yield Parameter("label_thresholds(shrinkage)", lambda v: ask(shrinkage=v), amounts)
    yield Parameter("label_thresholds(random_state)", lambda v: ask(random_state=v), SEEDS)
    averages = OBJECTS | {"another": "weighted", "empty": "", "capital": "Macro"}
    yield Parameter("label_thresholds(average)", partial(label_thresholds, MATRIX, scores, "f1"), averages)


def of_top_labels():
    wrong = matrices(numbers(P, negative=False)) | {"above": [[0.5, 1.5]], "flat": [0.5, 0.5]}
    wrong = without(wrong, "None", "two short", "two long")
    yield Parameter("top_k_labels(probabilities)", lambda v: top_k_labels(v, 1), wrong)
    yield Parameter("top_k_labels(k)", lambda v: top_k_labels([[0.5, 0.5]], v), COUNTS | {"zero": 0, "many": 3})
    measures = OBJECTS | {"another": "f1", "empty": "", "capital": "Precision"}
    yield Parameter("top_k_labels(measure)", lambda v: top_k_labels([[0.5, 0.5]], 1, v), measures)


def of_classes():
    y, scores = np.arange(P) % 3, np.arange(3.0 * P).reshape(P, 3) % 7
    yield Parameter("class_offsets(y)", lambda v: class_offsets(v, scores), without(labels(P), "another label"))
    wrong = matrices(numbers(P, negative=True))
    yield Parameter("class_offsets(scores)", lambda v: class_offsets(y, v), wrong)
    yield Parameter("class_offsets(loss)", lambda v: class_offsets(y, scores, v), LOSS)
    weigh, wrong = partial(class_offsets, y, scores), without(numbers(P), "None", "huge", "all huge")
    yield Parameter("class_offsets(sample_weight)", lambda v: weigh(sample_weight=v), wrong)
    yield Parameter("class_offsets(n_starts)", lambda v: weigh(n_starts=v), COUNTS | {"four": 4})
    yield Parameter("class_offsets(n_resamples)", lambda v: weigh(n_resamples=v), COUNTS | {"negative": -1})
    yield Parameter("class_offsets(random_state)", lambda v: weigh(random_state=v), SEEDS)
    square = {"flat": [1.0, 2.0], "wide": [[0, 1, 2], [1, 0, 2]], "one": [[0.0]], "NaN": [[0, np.nan], [1, 0]]}
    yield Parameter("CostMatrix(costs)", CostMatrix, OBJECTS | square | {"text": "costs", "empty": []})
    yield Parameter("CostMatrix(from_best)", lambda v: CostMatrix([[0, 1], [1, 0]], v), OBJECTS | {"one": 1})


class Classifier:
    """A fitted classifier of two classes."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        p = np.asarray(X)[:, 0]
        return np.column_stack([1 - p, p])


def of_pictures():
    X, words = np.linspace(0, 1, 6)[:, None], np.array(["no", "yes"])[[0, 1, 0, 1, 1, 1]]
    draw = partial(ThresholdDisplay.from_estimator, Classifier(), X, words, n_resamples=3)
    yield Parameter("ThresholdDisplay(estimator)", lambda v: ThresholdDisplay.from_estimator(v, X, words), OBJECTS)
    wrong = {"text": "a", "short": words[:-1], "others": ["a"] * 6, "numbers": [0, 1] * 3, "None": None}
    yield Parameter("ThresholdDisplay(y)", lambda v: ThresholdDisplay.from_estimator(Classifier(), X, v), wrong)
    yield Parameter("ThresholdDisplay(loss)", lambda v: draw(loss=v), LOSS)
    yield Parameter("ThresholdDisplay(response_method)", lambda v: draw(response_method=v), OBJECTS | {"text": "a"})
    missing = {"missing": "decision_function"}
    yield Parameter("ThresholdDisplay(estimator)", lambda v: draw(response_method=v), missing)
    yield Parameter("ThresholdDisplay(pos_label)", lambda v: draw(pos_label=v), {"text": "maybe", "number": 1})
    yield Parameter("ThresholdDisplay(n_resamples)", lambda v: draw(n_resamples=v), COUNTS | {"zero": 0})
    yield Parameter("ThresholdDisplay(confidence)", lambda v: draw(confidence=v), LEVELS)
    yield Parameter("ThresholdDisplay(random_state)", lambda v: draw(random_state=v), SEEDS)
    yield Parameter("ThresholdDisplay(ax)", lambda v: draw(ax=v), without(OBJECTS, "None"))
    yield Parameter("ThresholdDisplay(title)", lambda v: draw(title=v), OBJECTS)
    guess = partial(ThresholdDisplay.from_predictions, n_resamples=3)
    yield Parameter("ThresholdDisplay(y)", lambda v: guess(v, S), without(labels(P), "matrix", "column"))
    yield Parameter("ThresholdDisplay(scores)", partial(guess, Y), numbers(P, negative=True))
    odd = {"text": "maybe", "number": 2, "list": [1], "array": np.ones(2), "dict": {}, "NaN": np.nan}
    yield Parameter("ThresholdDisplay(pos_label)", lambda v: guess(Y, S, pos_label=v), odd)
    wrong = {"three": np.arange(P), "matrix": np.eye(P), "none": [], "sets": Sets.rows(np.eye(3, dtype=int))}
    yield Parameter("ThresholdDisplay(y, pos_label)", lambda v: guess(v, S, pos_label=1), wrong)


PARAMETERS = [*calls(), *of_intervals(), *of_matrices(), *of_top_labels(), *of_classes(), *of_pictures()]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)


@pytest.mark.parametrize("loss", RANKED.values(), ids=RANKED)
def test_no_ranking_has_a_threshold(loss):
    with pytest.raises(ValueError, match="reads the order of scores, not labels"):
        best_threshold(Y, S, loss)
