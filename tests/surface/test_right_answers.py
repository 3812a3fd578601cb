"""Arguments drawn at random: what is malformed is refused by name, and all else is answered rightly."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import close, every_loss, objectives
from setwise import SetClassifier, describe, loss_augmented_inference, max_marginals
from setwise.core import enumerate as brute
from setwise.core.exceptions import Refusal
from setwise.core.terms import Trait
from setwise.learners import LEARNERS
from setwise.losses import (
    LOSSES,
    AreaWeightedLoss,
    ClassWeightedLoss,
    FBeta,
    Jaccard,
    MeanOverClasses,
    OneClass,
    as_loss,
    plain_losses,
)  # fmt: skip
from setwise.surrogates import SURROGATES, LovaszHinge, MarginRescaling, SlackRescaling, margin_scale
from surface.refusals import labels, numbers, refused, without

FORMS = {
    "array": lambda a: a,
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "32 bits": lambda a: a.astype(np.float32),
    "big end first": lambda a: a.astype(">f8"),
    "every other": lambda a: np.repeat(a, 2)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "read only": lambda a: np.frombuffer(a.tobytes(), dtype=a.dtype),
    "a column": lambda a: np.column_stack([a, a])[:, 1],
    "series": pd.Series,
}
LABEL_FORMS = FORMS | {"bytes": lambda a: a.astype(np.int8), "bools": lambda a: a.astype(bool)}


@st.composite
def argument(draw, right, forms, wrong):
    """``(value, whether it is well-formed)``: mostly the right array in one form or another."""
    if draw(st.integers(0, 4)):
        return draw(st.sampled_from(list(forms.values())))(right), True
    return wrong[draw(st.sampled_from(sorted(wrong)))], False


@st.composite
def questions(draw):
    """A loss or its name, labels and scores of one set, and what the call is given for them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = draw(st.integers(2, 5))
    y = (rng.random(p) < draw(st.sampled_from([0.0, 0.4, 1.0]))).astype(float)
    # Eighths are the same numbers in 32 bits.
    s = rng.integers(-16, 17, p) / 8
    loss = draw(st.sampled_from(every_loss(p)))
    name = type(loss).name
    named = name in plain_losses() and loss == plain_losses()[name]()
    return {
        "loss": loss,
        "given": name if named and draw(st.booleans()) else loss,
        "y": (y, *draw(argument(y, LABEL_FORMS, without(labels(p), "matrix", "generator")))),
        "scores": (s, *draw(argument(s, FORMS, without(numbers(p, negative=True), "column", "matrix", "generator")))),
    }


def answer(question, call, names=("y", "scores")):
    """The answer of a call of y and scores, None where one of them is malformed and refused in a sentence."""
    (_, y, right_y), (_, s, right_s) = question["y"], question["scores"]
    wrong = [name for name, right in zip(names, (right_y, right_s), strict=True) if not right]
    if not wrong:
        return call(y, s)
    refused(lambda: call(y, s), *wrong)
    return None


@given(questions(), st.booleans())
def test_the_worst_labeling_of_one_set(question, slack):
    found = answer(question, lambda y, s: loss_augmented_inference(question["given"], y, s, slack=slack))
    if found is None:
        return
    loss, y, s = question["loss"], question["y"][0].astype(bool), question["scores"][0]
    best = objectives(loss, y, s, slack).max() + (0.0 if slack else s @ y)
    assert found.value <= best + 1e-9 and best <= found.bound + 1e-9  # noqa: PT018
    reached = loss(y, found.labels)
    won = s @ found.labels
    assert found.value == pytest.approx(reached * (1.0 + won - s @ y) if slack else reached + won, abs=1e-9)
    if found.exact:
        assert found.value == pytest.approx(best, abs=1e-9)


@given(questions())
def test_max_marginals_of_one_set(question):
    found = answer(question, lambda y, s: max_marginals(question["given"], y, s))
    if found is not None:
        y, s = question["y"][0].astype(bool), question["scores"][0]
        assert close(found, brute.max_marginals(question["loss"], y, s), s)


@given(questions(), st.sampled_from(sorted(SURROGATES)))
def test_surrogates_of_one_set(question, name):
    loss = question["loss"]
    if name == "lovasz" and Trait.SUBMODULAR not in loss.traits:
        return
    if name == "multilabel_hinge":
        return  # it takes the max loss alone, and has tests of its own
    found = answer(question, SURROGATES[name](question["given"]))
    if found is None:
        return
    y, s = question["y"][0].astype(bool), question["scores"][0]
    true = {"margin": brute.margin_rescaling, "slack": brute.slack_rescaling, "ramp": brute.ramp}.get(name)
    expected = brute.lovasz_hinge(loss, y, s, Trait.INCREASING in loss.traits) if true is None else true(loss, y, s)
    assert found.value <= expected + 1e-9 and expected <= found.upper + 1e-9  # noqa: PT018
    if found.exact:
        assert found.value == pytest.approx(expected, abs=1e-9)


@given(questions())
def test_a_loss_of_one_set(question):
    loss = question["loss"]
    y, guess = question["y"][0], (question["scores"][0] > 0).astype(float)
    calls = {"y": question["y"], "scores": (guess, guess.tolist(), True)}
    found = answer(calls, loss, ("y_true", "y_pred"))
    if found is not None:
        mistakes = (y != guess) @ (1 << np.arange(len(y)))
        assert found == pytest.approx(brute.table(loss, y)[mistakes], abs=1e-12)


@pytest.mark.parametrize("name", [name for name, kind in plain_losses().items() if kind().reads == "labels"])
def test_names_are_taken_wherever_losses_are(name):
    loss, y, s = as_loss(name), [1, 0, 1, 0, 0], [0.5, -0.25, -0.5, 0.125, 0.0]
    assert loss_augmented_inference(name, y, s).value == loss_augmented_inference(loss, y, s).value
    np.testing.assert_array_equal(max_marginals(name, y, s), max_marginals(loss, y, s))
    assert describe(name, y) == describe(loss, y)
    assert margin_scale(name, y) == margin_scale(loss, y)
    assert MarginRescaling(name)(y, s).value == MarginRescaling(loss)(y, s).value
    assert SlackRescaling(name)(y, s).value == SlackRescaling(loss)(y, s).value
    assert repr(MeanOverClasses(name)) == repr(MeanOverClasses(loss))
    assert OneClass(name, 0)([0, 1, 2], [0, 2, 2]) == OneClass(loss, 0)([0, 1, 2], [0, 2, 2])
    X = np.arange(10.0).reshape(5, 2)
    by_name, by_object = (SetClassifier(one, tol=0.1).fit(X, y) for one in (name, loss))
    np.testing.assert_array_equal(by_name.coef_, by_object.coef_)


def test_names_are_taken_for_losses_of_areas_and_of_weighted_classes():
    y, guess, areas = [1, 0, 1], [1, 1, 0], [1.0, 2.0, 0.5]
    assert AreaWeightedLoss("jaccard", areas)(y, guess) == AreaWeightedLoss(Jaccard(), areas)(y, guess)
    assert ClassWeightedLoss("f1", 2.0, 0.5)(y, guess) == ClassWeightedLoss(FBeta(), 2.0, 0.5)(y, guess)
    with pytest.raises(Refusal, match=r"AreaWeightedLoss refuses RocArea\(\)"):
        AreaWeightedLoss("auc", areas)
    with pytest.raises(Refusal, match=r"MeanOverClasses refuses RocArea\(\): it evaluates scores"):
        MeanOverClasses("auc")


def test_names_are_taken_for_surrogates_and_learners():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    for name, kind in SURROGATES.items():
        if name == "multilabel_hinge":
            continue
        # By its name the ramp is scaled by the size of the set.
        given = kind("jaccard", scale="size") if name == "ramp" else kind("jaccard")
        by_name, by_object = (SetClassifier("jaccard", one, tol=0.1).fit(X, y) for one in (name, given))
        np.testing.assert_array_equal(by_name.coef_, by_object.coef_)
    for name, kind in LEARNERS.items():
        seed = {"random_state": 0} if "random_state" in kind.__dataclass_fields__ else {}
        by_name = SetClassifier(surrogate="convex", learner=name, C=1.0, tol=0.1, random_state=0).fit(X, y)
        by_object = SetClassifier(surrogate="convex", learner=kind(tol=0.1, **seed)).fit(X, y)
        assert by_name.status_ == by_object.status_ == "converged"
        assert by_name.objective_ == pytest.approx(by_object.objective_, rel=0.2)


def test_the_hinge_takes_a_name_where_the_loss_is_submodular():
    assert LovaszHinge("jaccard")([1, 0], [0.5, 0.5]).value == LovaszHinge(Jaccard())([1, 0], [0.5, 0.5]).value
    assert set(plain_losses()) <= set(LOSSES)
