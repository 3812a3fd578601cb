"""Functions that users write: what they take, what they return, and the words of Python in them."""

import math

import numpy as np
import pytest

from setwise import SetClassifier, describe, loss_augmented_inference
from setwise.losses import CountFunctionLoss, SetFunctionLoss, Trait
from setwise.surrogates import LovaszHinge, MarginRescaling
from surface.refusals import refused

Y, GUESS, S = [1, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.5]
X = np.arange(20.0).reshape(10, 2)

CALLS = {
    "call": lambda loss: loss(Y, GUESS),
    "describe": lambda loss: describe(loss, Y),
    "margin": lambda loss: MarginRescaling(loss)(Y, S),
    "lovasz": lambda loss: LovaszHinge(loss)(Y, S),
    "inference": lambda loss: loss_augmented_inference(loss, Y, S, slack=True),
    "fit": lambda loss: SetClassifier(loss).fit(X, [0, 1] * 5),
}

PYTHON = {
    "min": lambda fn, fp: min(5 * fn + fp, 20),
    "max": max,
    "if": lambda fn, fp: 1 if fn > 2 else fp,
    "and": lambda fn, fp: (fn > 0) and (fp > 0),
    "float": lambda fn, fp: float(fn) + fp,
    "math": lambda fn, fp: math.sqrt(fn) + fp,
    "range": lambda fn, fp: sum(1 for _ in range(fn)),
}

NOT_COUNTS = {
    "one number": lambda fn, fp: 3.0,
    "a sum": lambda fn, fp: np.sum([fn, fp]),
    "None": lambda fn, fp: None,
    "text": lambda fn, fp: "a",
    "texts": lambda fn, fp: np.full(np.shape(fn), "1"),
    "complex": lambda fn, fp: fn + fp * 1j,
    "negative": lambda fn, fp: fn - fp - 9.0,
    "NaN": lambda fn, fp: fn * np.nan + fp,
    "inf": lambda fn, fp: fn + fp + np.inf,
    "a short array": lambda fn, fp: (fn + fp)[1:],
    "ragged": lambda fn, fp: [[1.0], [1.0, 2.0]],
    "objects": lambda fn, fp: (fn + fp).astype(object),
}

NOT_SETS = {
    "None": lambda y, wrong: None,
    "text": lambda y, wrong: "3",
    "complex": lambda y, wrong: 1j,
    "an array": lambda y, wrong: wrong * 1.0,
    "one in a list": lambda y, wrong: [1.0],
    "one in an array": lambda y, wrong: np.array([1.0]),
    "negative": lambda y, wrong: -1.0,
    "NaN": lambda y, wrong: math.nan,
    "inf": lambda y, wrong: math.inf,
    "a date": lambda y, wrong: np.datetime64("2020-01-01"),
}


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("f", PYTHON.values(), ids=PYTHON)
def test_words_of_python_for_single_numbers_are_told_from_those_for_arrays(f, ask):
    sentence = refused(lambda: ask(CountFunctionLoss(f)), "f")
    assert "write np.where for if, np.minimum for min" in sentence


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("f", NOT_COUNTS.values(), ids=NOT_COUNTS)
def test_a_function_of_counts_returns_a_number_for_each_of_them(f, ask):
    refused(lambda: ask(CountFunctionLoss(f)), "f")


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("f", NOT_SETS.values(), ids=NOT_SETS)
def test_a_function_of_a_set_returns_one_number(f, ask):
    refused(lambda: ask(SetFunctionLoss(f, Trait.SUBMODULAR)), "f")


@pytest.mark.parametrize("f", [lambda fn: fn, lambda a, b, c: a, lambda: 0.0, lambda a, b, c, d, e: a])
def test_a_function_of_counts_takes_two_or_four_arguments(f):
    assert "which takes (" in refused(lambda: CountFunctionLoss(f), "f")


@pytest.mark.parametrize("f", [lambda y: 0.0, lambda a, b, c: 0.0, lambda: 0.0])
def test_a_function_of_a_set_takes_two_arguments(f):
    assert "which takes (" in refused(lambda: SetFunctionLoss(f), "f")


def test_functions_may_leave_arguments_out_and_ignore_them():
    expected = CountFunctionLoss(lambda fn, fp, P, N: 5.0 * fn + 0.0 * fp)(Y, GUESS)
    for f in (lambda fn, fp: 5 * fn, lambda fn, fp, factor=5: factor * fn, lambda *counts: 5 * counts[0]):
        assert CountFunctionLoss(f)(Y, GUESS) == expected
    assert SetFunctionLoss(lambda y, wrong: wrong.any())(Y, GUESS) == 1.0


def test_the_errors_of_a_function_are_its_own():
    for loss in (CountFunctionLoss(lambda fn, fp: {}[3]), SetFunctionLoss(lambda y, wrong: {}[3])):
        with pytest.raises(KeyError, match="3"):
            loss(Y, GUESS)


def test_a_function_cannot_write_into_the_sets():
    def spoil(y, wrong):
        y[:] = True
        return 0.0

    with pytest.raises(ValueError, match="read-only"):
        SetFunctionLoss(spoil)(Y, GUESS)
