"""Decoding over legal sets: what is chosen on held-out rows, and what is predicted."""

import numpy as np
import pytest
from sklearn.base import clone

from setwise import MultilabelStructuredPredictor, gibbs_bound
from setwise.core import Sets
from setwise.estimators.label_decoding import fitted_log_odds
from setwise.spaces import Candidates, ClosedSets, FiniteSpace, Hierarchy, LabelSequences, ListedSets

TREE = Hierarchy({"cow": "animal", "horse": "animal", "car": "vehicle", "bus": "vehicle"})


def rows_of(rng, n=160):
    """Rows with closed sets, of which some have no label."""
    X, W = rng.standard_normal((n, 6)), np.random.default_rng(0).standard_normal((6, 6))
    return X, TREE.closed(X @ W + 0.5 * rng.standard_normal((n, 6)) > 2.5)


def predictor(decode, space=TREE, surrogate="margin", **options):
    return MultilabelStructuredPredictor(space, C=100.0, tol=0.02, surrogate=surrogate, decode=decode, **options)


@pytest.mark.parametrize("loss", ["max", "sum"])
@pytest.mark.parametrize("decode", ["seen", "closed", "paths", ListedSets(TREE.ancestors)])
@pytest.mark.filterwarnings("ignore::setwise.VacuousBoundWarning")
def test_predictions_are_the_legal_sets_of_least_expected_loss(decode, loss):
    X, Y = rows_of(np.random.default_rng(1))
    model = predictor(decode, loss=loss).fit(X, Y)
    found = model.predict_matrix(X)
    legal = model._decoding.legal
    assert legal.holds(found).all()
    odds = model._decoding.a * model.decision_function(X) + model._decoding.c
    np.testing.assert_array_equal(found, legal.decide(odds, model.loss_).sets)
    assert model.score(X, Y) == pytest.approx(1.0 - model.loss_.values(Sets.rows(Y), found.ravel()).mean())
    assert model.predict(X) == TREE.decode(found)
    again = predictor(decode, loss=loss).fit(X, [iter(row) for row in TREE.decode(Y)])
    np.testing.assert_array_equal(again.predict_matrix(X), found)
    # The labels of largest scores come first.
    first = model.predict(X, max_labels=1)
    best = np.where(found, model.decision_function(X), -np.inf)
    assert first == [[TREE.names[j]] if row.any() else [] for j, row in zip(best.argmax(axis=1), found, strict=True)]


@pytest.mark.filterwarnings("ignore::setwise.VacuousBoundWarning")
def test_the_choice_gains_and_does_not_see_the_order_of_rows():
    rng = np.random.default_rng(2)
    leaf = rng.integers(4, size=300)
    X, Y = np.eye(4)[leaf] + 0.4 * rng.standard_normal((300, 4)), TREE.closed(np.eye(6)[[0, 2, 3, 5]][leaf])
    model = predictor("auto", surrogate="hinge").fit(X[:200], Y[:200])
    table = model.decode_table_
    assert [row["decode"] for row in table] == ["labels", *np.repeat(["seen", "closed", "paths"], 2)]
    assert model.decode_ == max(table, key=lambda row: row["gain"])["decode"] != "labels"
    for row in table:
        assert row["gain"] == pytest.approx(table[0]["loss"] - row["loss"])
    assert model.score(X[200:], Y[200:]) > predictor("labels", surrogate="hinge").fit(X[:200], Y[:200]).score(
        X[200:], Y[200:]
    )
    order = rng.permutation(200)
    again = predictor("auto", surrogate="hinge").fit(X[order], Y[order])
    assert again.decode_table_ == model.decode_table_
    np.testing.assert_array_equal(again.predict_matrix(X), model.predict_matrix(X))


def test_labels_remain_where_no_decoding_is_known_to_gain():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 2))
    Y = np.sign(X) > 0
    model = predictor("auto", FiniteSpace(["a", "b"])).fit(X, Y)
    assert model.decode_ == "labels"
    plain = predictor("labels", FiniteSpace(["a", "b"])).fit(X, Y)
    np.testing.assert_array_equal(model.predict_matrix(X), plain.predict_matrix(X))
    assert (plain.decode_, plain.decode_table_) == ("labels", [])


@pytest.mark.filterwarnings("ignore::setwise.VacuousBoundWarning")
def test_twins_stay_in_one_fold():
    """A set that is seen in twins alone is not seen in the fold that holds them out."""
    rng = np.random.default_rng(4)
    X = np.repeat(rng.standard_normal((12, 3)), 2, axis=0)
    Y = np.repeat(rng.permutation(np.array([[i >> j & 1 for j in range(4)] for i in range(12)])), 2, axis=0) > 0
    table = predictor("seen", FiniteSpace(range(4))).fit(X, Y).decode_table_
    assert table[1]["loss"] == 1.0


@pytest.mark.parametrize("constant", [False, True])
def test_log_odds_are_the_most_likely_ones(constant):
    rng = np.random.default_rng(5)
    legal, scores = ClosedSets(TREE), rng.standard_normal((60, 6))
    Y = legal.best(2.0 * scores - 1.0 + rng.gumbel(size=scores.shape))[0][:, 0]
    a, c = fitted_log_odds(legal, scores, Y, constant)
    assert (c != 0.0) == constant
    for more in 1e-2 * np.array([[1, 0], [-1, 0], *([[0, 1], [0, -1]] if constant else [])]):
        other = legal.log_likelihood((a + more[0]) * scores + c + more[1], Y).sum()
        assert other < legal.log_likelihood(a * scores + c, Y).sum()
    # Sets that are not legal are left out.
    odd = np.vstack([Y, TREE.encode([["cow"]])])
    assert fitted_log_odds(legal, np.vstack([scores, 9.0 * np.ones(6)]), odd, constant) == pytest.approx((a, c))
    assert fitted_log_odds(legal, scores, np.tile(TREE.encode([["cow"]]), (60, 1)), constant) is None


def test_one_label_and_constant_sets_can_be_decoded():
    X = np.arange(12.0)[:, None]
    for Y in (X > 5, np.zeros((12, 1), bool), np.ones((12, 1), bool)):
        model = predictor("auto", Hierarchy({"a": []})).fit(X, Y)
        assert model.predict_matrix(X).shape == (12, 1)


def test_what_does_not_fit_is_refused():
    X, Y = rows_of(np.random.default_rng(6), 40)
    with pytest.raises(ValueError, match="decode='closed' refuses FiniteSpace"):
        predictor("closed", FiniteSpace(TREE.names)).fit(X, Y)
    with pytest.raises(ValueError, match="decode must be sets of 6 labels; got sets of 2"):
        predictor(ListedSets([[1, 0]])).fit(X, Y)
    with pytest.raises(ValueError, match="X must hold two different rows or more for decode='seen'"):
        predictor("seen").fit(np.ones((3, 2)), Y[:3])
    with pytest.raises(ValueError, match="Y must hold legal sets in each fold for decode='paths'"):
        predictor("paths").fit(X, np.zeros_like(Y))
    model = predictor("closed").fit(X, Y)
    with pytest.raises(ValueError, match="certain refuses decode='closed'"):
        model.certain(X)
    with pytest.raises(ValueError, match="gibbs_bound refuses decode='closed'"):
        gibbs_bound(model, X, Y)
    assert clone(model).decode == "closed"


def words(rng, n, several):
    """Sequences of two labels with one right labeling each, or with one or none."""
    X, Y = [], []
    for _ in range(n):
        y = rng.integers(2, size=3)
        X.append(np.column_stack([y - 0.5, np.ones(3)]) + 0.3 * rng.standard_normal((3, 2)))
        Y.append([] if several and rng.random() < 0.5 else [["ab"[k] for k in y]])
        if not Y[-1]:
            X[-1][:, 1] = -1.0
    return X, Y


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.filterwarnings("ignore::setwise.VacuousBoundWarning")
def test_large_spaces_predict_as_many_of_the_best_labels_as_were_seen(several):
    rng = np.random.default_rng(7 + several)
    X, Y = words(rng, 40, several)
    options = {"C": 30.0, "surrogate": "hinge"}
    model = MultilabelStructuredPredictor(LabelSequences(["a", "b"]), decode="seen", **options).fit(
        X, (iter(y) for y in Y)
    )
    found = model.predict(X)
    for row, every in zip(found, model.top(X, 8), strict=True):
        # The sum of scores is the largest of all sets of a size that was seen.
        sums = {0: 0.0, 1: every[0][1]}
        sizes = {0, 1} if several else {1}
        assert len(row) == max(sizes, key=lambda k: sums[k])
        assert all(list(a) == list(b) for a, (b, _) in zip(row, every, strict=False))
    wrong = [[list(a) for a in row] != y for row, y in zip(found, Y, strict=True)]
    assert model.score(X, Y) == pytest.approx(1.0 - np.mean(wrong))
    table = {row["decode"]: row["loss"] for row in model.decode_table_}
    assert table["seen"] <= table["labels"]
    auto = clone(model).set_params(decode="auto").fit(X, Y)
    assert {row["decode"] for row in auto.decode_table_} == {"labels", "seen"}
    plain = clone(model).set_params(decode="labels").fit(X, Y)
    if auto.decode_ == "labels":
        assert auto.score(X, Y) == plain.score(X, Y)
    with pytest.raises(ValueError, match="decode='closed' refuses LabelSequences"):
        clone(model).set_params(decode="closed").fit(X, Y)
    with pytest.raises(ValueError, match="X must hold two inputs or more for decode='seen'"):
        clone(model).fit(X[:1], Y[:1])


def test_candidates_of_which_one_is_right_are_decoded_one_by_one():
    rng = np.random.default_rng(9)
    X = [rng.standard_normal((4, 2)) for _ in range(60)]
    Y = [[int(np.argmax(x[:, 0] + 0.2 * rng.standard_normal(4)))] for x in X]
    model = MultilabelStructuredPredictor(Candidates(), decode="auto", C=30.0, surrogate="hinge").fit(X, Y)
    assert model.decode_ == "seen"
    assert all(len(row) == 1 for row in model.predict(X))
    assert model.score(X, Y) == pytest.approx(np.mean([a == b for a, b in zip(model.predict(X), Y, strict=True)]))
