"""Losses of the confusion matrix, and offsets of the scores of several classes that are tuned for them."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    fbeta_score,
    jaccard_score,
    matthews_corrcoef,
)

from setwise.core import Classes, Sets
from setwise.core.exceptions import Refusal
from setwise.decisions import Floor, UnmetFloor, class_offsets
from setwise.decisions.class_offsets import FIRST_ROWS, _between, _Rows, floored_offset
from setwise.decisions.confusion import MeanOfClasses, class_loss, confusion_of
from setwise.kernels.confusion import best_others
from setwise.losses import CohenKappa, CostMatrix, FBeta, MeanOverClasses, OneClass, as_loss

SCORES = {
    "f1": lambda y, h: f1_score(y, h, average="macro"),
    "fbeta:2": lambda y, h: fbeta_score(y, h, beta=2, average="macro"),
    "f1_weighted": lambda y, h: f1_score(y, h, average="weighted"),
    "f1_micro": lambda y, h: f1_score(y, h, average="micro"),
    "jaccard": lambda y, h: jaccard_score(y, h, average="macro"),
    "one_class:f1:2": lambda y, h: f1_score(y == 2, h == 2),
    "kappa": cohen_kappa_score,
    "kappa:linear": lambda y, h: cohen_kappa_score(y, h, weights="linear"),
    "kappa:quadratic": lambda y, h: cohen_kappa_score(y, h, weights="quadratic"),
    "mcc": matthews_corrcoef,
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
}


def labels(rng, n, k):
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    return y, np.where(rng.random(n) < 0.6, y, rng.integers(0, k, n))


@pytest.mark.parametrize("name", SCORES)
def test_losses_of_the_confusion_matrix_are_those_of_scikit_learn(name):
    rng = np.random.default_rng(0)
    for k in (3, 5):
        y, h = labels(rng, 60, k)
        form = class_loss(as_loss(name), k)
        assert form.of_confusion(confusion_of(y, h, k)) == pytest.approx(1.0 - SCORES[name](y, h), abs=1e-12)
        # Several matrices at once are those one by one, and fractions are the same value.
        tables = np.array([confusion_of(*labels(rng, 30, k), k) for _ in range(4)])
        assert form.of_confusion(tables) == pytest.approx([float(form.of_confusion(one)) for one in tables])
        fractions = form.fractions(tables[0].sum(axis=1))
        if fractions is not None:
            tops, bottoms = fractions.of(tables[0])
            values = np.where(bottoms > 0, tops / np.where(bottoms > 0, bottoms, 1.0), fractions.zeros)
            assert values.sum() == pytest.approx(float(form.of_confusion(tables[0])))
        else:
            assert name == "mcc"


def test_nasty_confusion_matrices():
    k = 3
    absent = np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    alone = np.diag([4.0, 0.0, 0.0])
    none = np.zeros((k, k))
    expected = {"kappa": (0.0, 0.0), "mcc": (1.0, 0.0), "accuracy": (0.0, 0.0), "balanced_accuracy": (0.0, 0.0)}
    for name, values in expected.items():
        form = class_loss(as_loss(name), k)
        assert [float(form.of_confusion(one)) for one in (alone, none)] == list(values), name
    assert class_loss(as_loss("balanced_accuracy"), k).of_confusion(absent) == pytest.approx(1 / 3)
    # An absent class that is predicted has no F1, and one that is not is left out.
    assert class_loss(as_loss("f1"), k).of_confusion(absent) == pytest.approx((1 - 0.8 + 1) / 2)
    assert [float(class_loss(as_loss("f1"), k).of_confusion(one)) for one in (alone, none)] == [0.0, 0.0]


@pytest.mark.parametrize("name", ["f1", "fbeta:2", "f1_weighted", "f1_micro", "jaccard"])
def test_a_class_in_neither_labels_nor_predictions_is_left_out_of_the_mean_as_by_scikit_learn(name):
    rng = np.random.default_rng(3)
    form, tables, expected = class_loss(as_loss(name), 6), [], []
    for trial in range(30):
        there = rng.permutation(6)[: rng.integers(1, 6)]
        y, h = rng.choice(there, 12), rng.choice(there, 12)
        tables.append(confusion_of(y, h, 6))
        expected.append(1.0 - SCORES[name](y, h))
        assert form.of_sets(np.zeros(12, np.int64), 1, y, h) == pytest.approx([expected[trial]])
    assert form.of_confusion(np.array(tables)) == pytest.approx(expected)


def test_a_matrix_of_costs_is_the_mean_cost_and_reported_as_it_is():
    costs = np.array([[0.0, 1.0, 5.0], [1.0, -2.0, 1.0], [4.0, 1.0, 0.0]])
    rng = np.random.default_rng(1)
    y, h = labels(rng, 40, 3)
    loss = CostMatrix(costs)
    least = costs.min(axis=1)
    assert loss(y, h) == pytest.approx((costs[y, h] - least[y]).mean())
    assert loss.reported(y, h) == pytest.approx(costs[y, h].mean())
    form = class_loss(loss, 3)
    assert form.of_confusion(confusion_of(y, h, 3)) == pytest.approx(loss(y, h))
    assert form.reported.as_score(float(form.reported.of_confusion(confusion_of(y, h, 3))), 40.0) == pytest.approx(
        -costs[y, h].mean()
    )
    for given, match in (
        ([[0, 1]], "square matrix"), ([[0.0]], "square matrix"), ([[0, np.nan], [1, 0]], "finite"), ("a", "costs"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            CostMatrix(given)
    with pytest.raises(ValueError, match="a row and a column for each class, 4; got 3"):
        class_loss(loss, 4)
    with pytest.raises(Refusal, match="it is for 3 classes"):
        loss.bind(Sets.single([0, 1]))


@pytest.mark.parametrize("name", [*SCORES, "costs"])
def test_each_coordinate_is_exact(name):
    """The best of all offsets of one class is that of all cut points, tried one by one; rows have weights and ties."""
    rng = np.random.default_rng(2)
    margins_equal = 1e-9
    for trial in range(40):
        k, n = int(rng.integers(3, 6)), int(rng.integers(4, 40))
        y = rng.integers(0, k, n)
        scores = np.round(rng.normal(size=(n, k)), 1 if trial % 2 else 6)
        weights = rng.integers(0, 3, n).astype(float) if trial % 3 == 0 else np.ones(n)
        if not weights.sum():
            continue
        form = class_loss(CostMatrix(rng.random((k, k))) if name == "costs" else as_loss(name), k)
        rows, c = _Rows(scores, y, form, weights), int(rng.integers(k))
        # A mean over the classes is exact where all of them occur.
        if isinstance(form, MeanOfClasses) and form.weights == "equal" and not rows.true.all():
            continue
        margins, cells = np.empty(n), np.empty(n, np.int64)
        best_others(scores, np.zeros(k), c, y, margins, cells)
        others = cells % k
        value, cut, rising_margins = rows._best_cut(margins, cells, c)
        rising = np.unique(margins)
        between = [(a + b) / 2 for a, b in pairwise(rising) if b - a > margins_equal]
        losses = [
            float(form.of_confusion(confusion_of(y, np.where(margins < t, c, others), k, weights)))
            for t in (rising[0] - 1, *between, rising[-1] + 1)
        ]
        assert value == pytest.approx(min(losses), abs=1e-9)
        offsets = np.zeros(k)
        offsets[c] = _between(rising_margins, cut)
        assert rows.loss(offsets) == pytest.approx(value, abs=1e-9)


def test_weights_are_repeated_rows_and_nothing_is_worse_than_argmax():
    rng = np.random.default_rng(3)
    for name in SCORES:
        y, _ = labels(rng, 80, 4)
        scores = rng.normal(size=(80, 4))
        scores[np.arange(80), y] += 1.0
        times = rng.integers(0, 4, 80)
        weighted = class_offsets(y, scores, name, sample_weight=times)
        repeated = class_offsets(np.repeat(y, times), np.repeat(scores, times, axis=0), name)
        assert weighted.loss == pytest.approx(repeated.loss)
        plain = class_offsets(y, scores, name)
        argmax = float(class_loss(as_loss(name), 4).of_confusion(confusion_of(y, scores.argmax(axis=1), 4)))
        assert plain.loss <= argmax + 1e-12
        assert plain.offsets.mean() == pytest.approx(0.0)
        guess = (scores + plain.offsets).argmax(axis=1)
        assert plain.loss == pytest.approx(float(class_loss(as_loss(name), 4).of_confusion(confusion_of(y, guess, 4))))


def test_small_sets_reach_the_best_offsets():
    """Three classes have two free offsets, of which a fine grid is tried."""
    rng = np.random.default_rng(4)
    reached, grid = [], np.linspace(-4, 4, 81)
    for _ in range(10):
        y, _ = labels(rng, 12, 3)
        scores = rng.normal(size=(12, 3))
        form = class_loss(FBeta(), 3)
        best = min(
            float(form.of_confusion(confusion_of(y, (scores + np.array([0.0, a, b])).argmax(axis=1), 3)))
            for a in grid for b in grid
        )  # fmt: skip
        reached.append(class_offsets(y, scores, "f1").loss - best)
    assert np.mean(reached) < 0.02
    assert np.mean(np.array(reached) < 1e-9) >= 0.5


def test_losses_without_a_closed_form_are_tried_at_cuts():
    rng = np.random.default_rng(5)
    y, _ = labels(rng, 200, 3)
    scores = rng.normal(size=(200, 3))
    scores[np.arange(200), y] += 1.0
    form = class_loss(MeanOverClasses("g_mean"), 3)
    assert form.fractions(np.bincount(y).astype(float)) is None
    argmax = float(form.of_confusion(confusion_of(y, scores.argmax(axis=1), 3)))
    assert class_offsets(y, scores, "g_mean").loss <= argmax


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e300])
def test_scores_of_any_size(scale):
    rng = np.random.default_rng(6)
    y, _ = labels(rng, 50, 3)
    found = class_offsets(y, scale * rng.random((50, 3)), "f1")
    assert np.isfinite(found.offsets).all()
    assert 0.0 <= found.loss <= 1.0


def test_resamples_and_many_rows():
    rng = np.random.default_rng(7)
    y = rng.choice(3, 2 * FIRST_ROWS + 1, p=[0.9, 0.08, 0.02])
    scores = np.log([0.9, 0.08, 0.02]) + rng.normal(size=(len(y), 3))
    scores[np.arange(len(y)), y] += 1.0
    whole = class_offsets(y, scores, "f1", n_starts=1)
    part = class_offsets(y[:2000], scores[:2000], "f1", n_resamples=10)
    form = class_loss(FBeta(), 3)
    argmax = float(form.of_confusion(confusion_of(y, scores.argmax(axis=1), 3)))
    assert whole.loss < argmax - 0.02
    guess = (scores + part.offsets).argmax(axis=1)
    assert float(form.of_confusion(confusion_of(y, guess, 3))) < argmax - 0.01
    again = class_offsets(y[:2000], scores[:2000], "f1", n_resamples=10)
    assert (part.offsets == again.offsets).all()


def test_bad_input_is_refused_in_one_sentence():
    y, scores = [0, 1, 2, 1], np.zeros((4, 3))
    for given, match in (
        ((y, scores[:3]), r"scores must have shape \(4, k\)"), ((y, scores[:, 0]), "a column for each class"),
        (([0, 1, 3, 1], scores), r"y must hold labels 0..2, the columns of scores; got 3"),
        ((y, scores * np.nan), "scores must be finite"), (([0.5, 1, 1, 0], scores), "y must"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            class_offsets(*given)
    for loss in ("auc", "zero_one", "hamming"):
        with pytest.raises(Refusal, match="it is no function of the confusion matrix"):
            class_offsets(y, scores, loss)
    with pytest.raises(ValueError, match="label must be one of 0..2; got 3"):
        class_offsets(y, scores, OneClass("f1", 3))
    with pytest.raises(ValueError, match="n_starts"):
        class_offsets(y, scores, n_starts=4)
    with pytest.raises(ValueError, match="weights must be"):
        CohenKappa("cubic")
    with pytest.raises(ValueError, match="weights must be"):
        MeanOverClasses("f1", "prior")


def test_the_weighted_mean_over_classes_is_a_loss_of_one_set():
    rng = np.random.default_rng(8)
    loss = MeanOverClasses("f1", "support")
    for k in (2, 3, 4):
        y, h = labels(rng, 40, k)
        assert loss(y, h) == pytest.approx(1.0 - f1_score(y, h, average="weighted"))
    with pytest.raises(Refusal, match="its weights are for one set"):
        loss.bind(Classes(np.array([0, 1, 2, 1]), np.array([0, 2, 4]), 3))


def floors_of(trial):
    """Floors, and whether decisions for a class keep them, by its truth and what is called it."""
    if trial % 4 == 0:
        return [Floor("recall", 0.7)], lambda y, h: h[y].sum() >= 0.7 * y.sum()
    if trial % 4 == 1:
        return [Floor("precision", 0.5)], lambda y, h: h.any() and y[h].mean() >= 0.5
    if trial % 4 == 2:
        return [Floor("unflagged", 0.6), Floor("recall", 0.3)], lambda y, h: h.mean() <= 0.4 and h[y].mean() >= 0.3
    # The lower end of Clopper and Pearson's interval.
    return [Floor("recall", 0.5, 0.8)], lambda y, h: binom.sf(h[y].sum() - 1, y.sum(), 0.5) <= 0.2


@pytest.mark.parametrize("name", ["f1", "kappa", "mcc", "balanced_accuracy", "costs", "g_mean"])
def test_the_offset_of_a_class_is_the_best_of_all_that_keep_its_floors(name):
    """All cuts of the leads are tried one by one, with ties, for 3 and 5 classes."""
    rng, unmet, trials = np.random.default_rng(9), 0, 80
    for trial in range(trials):
        k, n = (3, 5)[trial % 2], int(rng.integers(10, 40))
        y, c = np.append(np.arange(k), rng.integers(0, k, n - k)), int(rng.integers(k))
        start, scores = rng.normal(size=k), np.round(rng.normal(size=(n, k)), 1 if trial % 3 else 6)
        form = class_loss(CostMatrix(rng.random((k, k))) if name == "costs" else as_loss(name), k)
        floors, keeps = floors_of(trial)
        rest = scores + start
        rest[:, c] = -np.inf
        leads = np.round(rest.max(axis=1) - scores[:, c], 9)
        best = np.inf
        for t in (-np.inf, *((a + b) / 2 for a, b in pairwise(np.unique(leads))), np.inf):
            guess = np.where(leads < t, c, rest.argmax(axis=1))
            if keeps(y == c, guess == c):
                best = min(best, float(form.of_confusion(confusion_of(y, guess, k))))
        if np.isinf(best):
            unmet += 1
            with pytest.raises(UnmetFloor):
                floored_offset(start, y, scores, form, c, tuple(floors))
            near, short = floored_offset(start, y, scores, form, c, tuple(floors), nearest=True)
            assert short > 0.0
        else:
            near, short = floored_offset(start, y, scores, form, c, tuple(floors))
            assert short == 0.0
            guess = (scores + near.offsets).argmax(axis=1)
            assert keeps(y == c, guess == c)
            assert near.loss == pytest.approx(float(form.of_confusion(confusion_of(y, guess, k))))
            assert near.loss == pytest.approx(best, abs=1e-9)
        others = np.arange(k) != c
        assert (near.offsets[others] == start[others]).all()
    assert 0 < unmet < trials / 2


def test_leads_that_differ_by_rounding_are_not_separated():
    scores = np.array([[0.3, 0.1, 0.0], [0.2, 0.0, 0.0], [0.9, 0.7, 0.0], [0.1, 0.5, 0.0], [0.0, 0.0, 1.0]])
    margins = scores[:4, 0] - scores[:4, 1]
    assert len(set(margins[:3].tolist())) == 3  # 0.2 in three roundings
    found, _ = floored_offset(
        np.zeros(3), np.array([1, 0, 0, 1, 2]), scores, class_loss(FBeta(), 3), 1, (Floor("recall", 1.0),)
    )
    assert (scores + found.offsets).argmax(axis=1).tolist()[:4] == [1, 1, 1, 1]
