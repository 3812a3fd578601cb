"""Decisions of least expected loss: every argument."""

from functools import partial

import numpy as np
import pytest

from setwise.decisions import (
    expected_loss,
    gfm,
    least_expected_loss,
    least_expected_loss_of_map,
    least_expected_loss_of_samples,
)
from surface.refusals import FLAGS, NUMBERS, OFFSETS, Parameter, numbers, try_all, without
from surface.test_calls import LOSS, P
from surface.test_calls import S as SCORES

Q = np.array([0.25, 0.5, 0.75, 1.0])
OUTSIDE = {"above 1": [0.5, 0.5, 0.5, 1.1], "below 0": [0.5, 0.5, 0.5, -1e-9], "scores": SCORES}
# Any length and any matrix is a set, or a set of sets.
SET = without(numbers(P), "short", "long", "matrix", "column") | OUTSIDE
SET |= {"three axes": np.full((2, 2, 2), 0.5), "no rows": np.zeros((0, 3)), "no columns": np.zeros((3, 0))}
LABELS = without(numbers(P), "number") | {
    "two": [0, 1, 2, 1], "half": [0.5, 0, 1, 1], "negative": [0, 1, -1, 1], "one label": 1, "matrix": [[0, 1, 0, 1]],
}  # fmt: skip


def of_probabilities():
    for ask, name in (
        (least_expected_loss, "least_expected_loss"),
        (partial(_expected, [1, 0, 1, 0]), "expected_loss"),
    ):
        yield Parameter(f"{name}(probabilities)", lambda v, ask=ask: ask(v, "f1"), SET)
        yield Parameter(f"{name}(loss)", lambda v, ask=ask: ask(Q, v), LOSS)
        yield Parameter(f"{name}(offsets)", lambda v, ask=ask: ask(Q, "f1", v), OFFSETS)
    yield Parameter("least_expected_loss(tol)", lambda v: least_expected_loss(Q, "f1", tol=v), NUMBERS)
    yield Parameter("expected_loss(labels)", lambda v: expected_loss(Q, v, "f1"), LABELS)
    both = {"of a matrix": Q[None], "of a column": Q[:, None]}
    yield Parameter(
        "least_expected_loss(probabilities)", lambda v: least_expected_loss(v, "f1", np.array([0, 4])), both
    )


def _expected(labels, probabilities, loss, offsets=None):
    return expected_loss(probabilities, labels, loss, offsets)


def of_dependent_labels():
    samples = np.array([[0, 1, 1, 0], [1, 1, 0, 0]])
    wrong = without(LABELS, "matrix") | {
        "flat": [0, 1, 0],
        "four axes": np.zeros((1, 1, 1, 1)),
        "none": np.zeros((0, 3)),
    }
    yield Parameter("least_expected_loss_of_samples(samples)", partial(_of_samples, loss="f1"), wrong)
    yield Parameter("least_expected_loss_of_samples(loss)", partial(_of_samples, samples), LOSS)
    weights = without(numbers(2), "None") | {"zeros": [0.0, 0.0]}
    yield Parameter(
        "least_expected_loss_of_samples(weights)", lambda v: least_expected_loss_of_samples(samples, "f1", v), weights
    )
    joint = np.full((3, 3), 0.05)
    grids = numbers(3) | {
        "wide": np.full((2, 3), 0.05), "above 1": 4 * joint + 1.0, "no distribution": np.ones((3, 3)),
        "no rows": np.zeros((0, 0)), "three sets": np.full((3, 2, 3), 0.01), "below 0": -joint,
    }  # fmt: skip
    yield Parameter("gfm(joint)", lambda v: gfm(v, "f1"), grids)
    yield Parameter("gfm(loss)", partial(gfm, joint), LOSS)
    none = without(numbers(2), "None", "number") | {"above 1": [0.5, 1.5], "one": [0.5]}
    yield Parameter("gfm(none)", lambda v: gfm(np.stack([joint, joint]), "f1", v), none)


def _of_samples(samples, loss):
    return least_expected_loss_of_samples(samples, loss)


def of_maps():
    q = np.full((2, 3, 4), 0.25)
    wrong = numbers(P) | {
        "one class": np.ones((5, 1)),
        "sums": q * 1.1,
        "no pixels": np.zeros((0, 3)),
        "NaNs": q * np.nan,
    }
    yield Parameter("least_expected_loss_of_map(probabilities)", lambda v: least_expected_loss_of_map(v, "f1"), wrong)
    yield Parameter("least_expected_loss_of_map(loss)", partial(least_expected_loss_of_map, q), LOSS)
    yield Parameter("least_expected_loss_of_map(overlapping)", partial(least_expected_loss_of_map, q, "f1"), FLAGS)
    yield Parameter("least_expected_loss_of_map(tol)", partial(least_expected_loss_of_map, q, "f1", False), NUMBERS)


PARAMETERS = [*of_probabilities(), *of_dependent_labels(), *of_maps()]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
