"""Numbers, masks and matrices that NumPy would convert without a word."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix

from setwise.core.checks import as_reals, as_scores
from setwise.decisions import (
    best_threshold,
    expected_loss,
    label_thresholds,
    least_expected_loss,
    least_expected_loss_of_map,
    least_expected_loss_of_samples,
    precision_at_recall,
)

BIG = 2**60
HELD = [
    np.array([BIG, BIG + 256, -BIG, 0]),
    np.array([2**53, -(2**53), 2**53 - 1]),
    np.array([2**63, 2**63 + 2**11], dtype=np.uint64),
    np.array([-(2**63), 1]),
    np.array([3, 127], dtype=np.int8),
    [0.5, BIG],
    [0.5, 1e300],
    np.array([0.5, 0.25], dtype=np.longdouble),
]
ROUNDED = [
    (np.array([BIG, BIG + 1]), f"int64 {BIG + 1}"),
    (np.array([1, -(2**53) - 1]), f"int64 {-(2**53) - 1}"),
    (np.array([2**63, 2**63 + 1], dtype=np.uint64), f"uint64 {2**63 + 1}"),
    (np.array([[-(2**63) + 1, 1]]), f"int64 {-(2**63) + 1}"),
    ([0.5, BIG + 1], str(BIG + 1)),
    ([-1, 2**63 + 1], str(2**63 + 1)),
    ([[0.5, 1.0], [1.0, np.int64(BIG + 1)]], str(BIG + 1)),
    (pd.Series([1, BIG + 1]), f"int64 {BIG + 1}"),
]


@pytest.mark.parametrize("values", HELD, ids=repr)
def test_numbers_that_float64_holds_are_converted(values):
    found = as_reals(values, "scores")
    assert found.dtype == np.float64
    # Numbers of Python are compared without rounding.
    assert [int(x * 4) for x in found.tolist()] == [int(x * 4) for x in np.asarray(values).tolist()]


@pytest.mark.parametrize(("values", "got"), ROUNDED)
def test_numbers_that_float64_would_round_are_refused(values, got):
    words = f"scores must hold numbers that float64 holds exactly; got {got}.$"
    with pytest.raises(ValueError, match=words):
        as_reals(values, "scores")
    if np.ndim(values) == 1:
        with pytest.raises(ValueError, match=words):
            as_scores(values, len(values))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant == 52, reason="the longest floats are float64")
def test_wide_floats_are_not_shortened():
    with pytest.raises(ValueError, match=r"scores must hold numbers that float64 holds exactly; got \w+ 1\.0000000000"):
        as_reals(np.array([1.0, np.longdouble(1) + np.finfo(np.longdouble).eps]), "scores")


def test_scores_of_a_threshold_do_not_merge():
    with pytest.raises(ValueError, match=f"scores must hold numbers that float64 holds exactly; got int64 {BIG + 1}"):
        best_threshold([0, 1, 1], np.array([BIG, BIG + 1, BIG + 2]), "f1")
    assert best_threshold([0, 1, 1], np.array([BIG, BIG + 256, BIG + 512]), "f1").loss == 0.0


@pytest.mark.parametrize("values", [True, [True, False], np.ones(2, dtype=bool)])
def test_truth_values_are_no_numbers(values):
    with pytest.raises(ValueError, match="Cs must hold real numbers; got dtype bool"):
        as_reals(values, "Cs")


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_sparse_targets_are_refused_as_such(kind):
    with pytest.raises(ValueError, match=r"^y must be a dense array; got a sparse matrix: pass its .toarray\(\)"):
        best_threshold(kind(np.array([[0, 1, 1]])), [1.0, 2.0, 3.0], "f1")


def test_masks_are_not_forgotten():
    y = np.ma.array([0, 1, 1], mask=[False, True, False])
    with pytest.raises(ValueError, match="^y must hold no masked entries; got 1 of them"):
        best_threshold(y, [1.0, 2.0, 3.0], "f1")
    with pytest.raises(ValueError, match="^Y must hold no masked entries; got 1 of them"):
        label_thresholds(np.ma.array(np.eye(2), mask=[[0, 1], [0, 0]]), np.eye(2), "f1")
    nothing = np.ma.array([0, 1, 1], mask=False)
    assert best_threshold(nothing, [1.0, 2.0, 3.0], "f1") == best_threshold([0, 1, 1], [1.0, 2.0, 3.0], "f1")


@pytest.mark.parametrize(
    ("ask", "odd"),
    [
        (partial(expected_loss, [0.5, 0.5], loss="f1"), "labels"),
        (partial(least_expected_loss_of_samples, loss="f1"), "samples"),
    ],
)
@pytest.mark.parametrize(("label", "got"), [(2, "2"), (-1, "-1"), (0.5, "0.5"), (np.nan, "nan"), ("a", "dtype <U")])
def test_what_is_no_label_is_shown(ask, odd, label, got):
    values = [1, label] if odd == "labels" else [[1, 0], [0, label]]
    with pytest.raises(ValueError, match=f"^{odd} must hold labels 0 and 1( only)?; got {got}"):
        ask(**{odd: values})


@pytest.mark.parametrize("kind", [list, np.array, lambda labels: np.array(labels, dtype=object)])
@pytest.mark.parametrize("choose", [best_threshold, partial(precision_at_recall, recall=0.9)])
def test_the_refusal_of_words_names_the_way_out(choose, kind):
    y, scores = kind(["no", "yes", "yes"]), [0.1, 0.2, 0.3]
    loss = {"loss": "f1"} if choose is best_threshold else {}
    says = (
        r"^y must hold labels 0 and 1; got dtype \S+: pass np.asarray\(y\) == 'yes', if that is the positive label\.$"
    )
    with pytest.raises(ValueError, match=says):
        choose(y, scores, **loss)
    assert choose(np.asarray(y) == "yes", scores, **loss).threshold == pytest.approx(0.15)


@pytest.mark.parametrize("y", [["a", "b", "c"], ["a" * 50, "b"], np.array(["a", None, 1.0], dtype=object)])
def test_other_words_have_no_such_way_out(y):
    with pytest.raises(ValueError, match=r"^y must hold labels 0 and 1; got dtype [^ :]+\.$"):
        best_threshold(y, [0.1] * len(y), "f1")


def test_all_digits_of_a_probability_are_shown():
    with pytest.raises(ValueError, match=r"^probabilities must be in \[0, 1\]; got 1.0000001\.$"):
        least_expected_loss([0.1, 1.0000001], "f1")
    with pytest.raises(ValueError, match=r"^probabilities must be in \[0, 1\]; got -1e-12\.$"):
        least_expected_loss_of_map([[1.0, -1e-12]], "f1")
