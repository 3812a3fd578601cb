"""The estimator: kinds of knowledge, what it predicts, what it says, and what it refuses."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise import WeakSetClassifier
from setwise.core.exceptions import Refusal
from setwise.decisions import least_expected_loss
from setwise.estimators.weak.bag_scores import threshold_for
from setwise.estimators.weak.families import LinearFamily
from setwise.estimators.weak.methods import LINEAR
from setwise.losses import ErrorRate, FBeta, Jaccard

PLAIN = WeakSetClassifier(method="count_likelihood", C=1.0)


def drawn(seed=0, bags=40, size=10):
    """Rows in bags of random shares, their labels, the bag of each, and the numbers of positives."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(bags), size)
    y = (rng.random(bags * size) < rng.beta(0.8, 1.2, bags)[groups]).astype(int)
    X = rng.standard_normal((bags * size, 2)) + y[:, None] * [2, -1]
    return X, y, groups, np.bincount(groups, y, bags).astype(int)


NEW, TRUTH, *_ = drawn(1, 100)


def error(model):
    return float((model.predict(NEW) != TRUTH).mean())


def test_all_kinds_of_knowledge_teach():
    X, y, groups, counts = drawn()
    full = error(clone(PLAIN).fit(X, y))
    assert full < 0.15
    pairs = np.minimum(np.column_stack([counts // 3 * 3, counts // 3 * 3 + 2]), 10)
    for name, values in {"counts": counts, "proportions": counts / 10, "between": pairs}.items():
        assert error(clone(PLAIN).fit(X, groups=groups, **{name: values})) < full + 0.03, name
    # Of half the bags a share is known, of others rows, and of some that there is one positive or none.
    half = np.where(np.arange(40) < 20, counts / 10, np.nan)
    labels = np.where((groups >= 20) & (np.arange(400) % 10 == 0), y, -1)
    mixed = clone(PLAIN).fit(
        X, labels, groups=groups, proportions=half, at_least={b: int(counts[b] > 0) for b in range(30, 40)}
    )
    assert error(mixed) < full + 0.03


def test_at_least_0_is_said_to_be_no_negative_bag():
    X, _, groups, _ = drawn()
    positive = np.arange(40) < 30
    # A bag of which a row or a share is known is used.
    one_row, share = np.where(np.arange(400) == 390, 0, -1), np.where(np.arange(40) == 38, 0.2, np.nan)
    with pytest.warns(UserWarning, match=r"^at_least=0 says nothing of a bag, so 8 of 40 bags are .* counts=0"):
        clone(PLAIN).fit(X, one_row, groups=groups, proportions=share, at_least=positive.astype(int))
    none = np.where(positive, np.nan, 0)
    clone(PLAIN).fit(X, groups=groups, at_least=positive.astype(int), counts=none)


def test_multiple_instances():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 6)
    y = (rng.random(600) < 0.15).astype(int)
    X = rng.standard_normal((600, 2)) + 3 * y[:, None]
    some = np.bincount(groups, y) > 0
    between = np.column_stack([some, np.where(some, 6, 0)])
    model = clone(PLAIN).fit(X, groups=groups, between=between)
    assert (model.predict(X) == y).mean() > 0.95
    found = model.predict_bags(X, groups)
    assert ((found.at_least_one > 0.5) == some).mean() > 0.95
    # A bag is as likely to have a positive as its likeliest row is to be one, or likelier.
    likeliest = np.maximum.reduceat(model.predict_proba(X)[:, 1], np.arange(0, 600, 6))
    assert (found.at_least_one >= likeliest - 1e-12).all()


def test_positive_and_unlabeled_rows_with_a_known_share():
    X, y, *_ = drawn(size=25)
    known = np.where((y == 1) & (np.random.default_rng(0).random(len(y)) < 0.3), 1, -1)
    model = clone(PLAIN).fit(X, known, proportions=y.mean())
    assert model.classes_.tolist() == [0, 1]
    assert error(model) < error(clone(PLAIN).fit(X, y)) + 0.02
    with pytest.raises(ValueError, match="y must hold two classes where nothing is known of bags; it holds 1 alone"):
        clone(PLAIN).fit(X, known)


def test_bags_are_predicted_as_enumeration_does():
    X, _, groups, counts = drawn(bags=6, size=7)
    model = clone(PLAIN).fit(X, groups=groups, counts=counts)
    shuffled = np.random.default_rng(0).permutation(len(X))
    names = np.array(["f", "e", "d", "c", "b", "a"])[groups]
    found = model.predict_bags(X[shuffled], names[shuffled])
    assert found.ids.tolist() == sorted(names[::7])
    q = model.predict_proba(X)[:, 1]
    labelings = np.array(list(product((0, 1), repeat=7)))
    for i, name in enumerate(found.ids):
        rows = q[names == name]
        probability = np.where(labelings, rows, 1 - rows).prod(axis=1)
        of_count = np.bincount(labelings.sum(axis=1), probability)
        np.testing.assert_allclose(found.mean[i], of_count @ np.arange(8))
        np.testing.assert_allclose(found.at_least_one[i], 1 - of_count[0])
        assert found.most_probable[i] == of_count.argmax()
        assert found.sizes[i] == 7
        # The score is the mean log-likelihood of bags.
        score = model.score(X, groups=names, counts={name: 3})
        np.testing.assert_allclose(score, np.log(of_count[3]))
    whole = model.predict_bags(X)
    np.testing.assert_allclose(whole.mean, [q.sum()])


def test_score_is_the_accuracy_of_known_rows():
    X, y, groups, counts = drawn()
    model = clone(PLAIN).fit(X, groups=groups, counts=counts)
    some = np.where(np.arange(400) < 100, y, -1)
    assert model.score(X, some) == (model.predict(X)[:100] == y[:100]).mean()
    assert model.score(X, groups=groups, counts=counts) < 0
    with pytest.raises(ValueError, match="score must be given labels y, or counts"):
        model.score(X, groups=groups)
    with pytest.raises(ValueError, match="y must hold the classes"):
        model.score(X, y + 5)


def test_weights_of_rows_are_for_known_labels():
    X, y, groups, counts = drawn()
    model = clone(PLAIN).fit(X, groups=groups, counts=counts)
    some, weight = np.where(np.arange(400) < 100, y, -1), np.arange(400) % 4
    right = model.predict(X)[:100] == y[:100]
    assert 0 < right.sum() < 100
    expected = weight[:100][right].sum() / weight[:100].sum()
    assert expected != right.mean()
    for scale in (1, 1e-300, 1e306):
        assert model.score(X, some, sample_weight=scale * weight) == pytest.approx(expected, rel=1e-12)
    # Bags beside labels change nothing.
    assert model.score(X, some, groups=groups, counts=counts, sample_weight=weight) == pytest.approx(expected)
    # A weight is a number of rows.
    repeated = model.score(np.repeat(X, weight, axis=0), np.repeat(some, weight))
    assert repeated == pytest.approx(expected)
    with pytest.raises(ValueError, match="sample_weight must hold real numbers; got dtype bool"):
        model.score(X, some, sample_weight=weight > 0)
    for wrong, words in (
        (weight - 1, "must not be negative"),
        (np.where(some == -1, 1, 0), ".*be positive for a row with a known label"),
        (np.where(weight == 3, np.nan, 1), "must be finite"),
        (weight[:100], r"must have shape \(400,\)"),
    ):
        with pytest.raises(ValueError, match=f"sample_weight {words}"):
            model.score(X, some, sample_weight=wrong)
    with pytest.raises(ValueError, match="sample_weight must be None where score is given no known label in y"):
        model.score(X, groups=groups, counts=counts, sample_weight=weight)


def test_weights_of_rows_of_three_classes():
    X, y = load_iris(return_X_y=True)
    model = WeakSetClassifier(C=0.01).fit(X, y)
    weight = np.random.default_rng(0).random(150)
    expected = np.average(model.predict(X) == y, weights=weight)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(expected)
    assert expected < 1


@pytest.mark.slow
def test_neither_the_order_of_rows_nor_the_kind_of_ids_matters():
    X, _, groups, counts = drawn()
    model = clone(PLAIN).set_params(tol=1e-12).fit(X, groups=groups, counts=counts)
    order = np.random.default_rng(0).permutation(len(X))
    names = np.array([f"bag {b:02}" for b in groups])
    for other, ids, values in (
        (X[order], groups[order], counts),
        (X[order], groups[order], counts[groups][order]),
        (X[order], names[order], dict(zip(names[::10], counts, strict=True))),
        (pd.DataFrame(X[order], columns=["a", "b"]), pd.Series(names[order]), pd.Series(counts, names[::10])),
    ):
        again = clone(model).fit(other, groups=ids, counts=values)
        np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-4)
    with pytest.raises(ValueError, match="groups must be ids of one type"):
        clone(model).fit(X, groups=[1, "a"] * 200, counts=1)
    auto = [
        WeakSetClassifier().fit(X[o], groups=groups[o], counts=counts).candidates_ for o in (slice(None), order)
    ]  # fmt: skip
    assert [(one.method, one.C) for one in auto[0]][:3] == [(one.method, one.C) for one in auto[1]][:3]


def test_units_of_features_do_not_matter():
    X, _, groups, counts = drawn()
    model = clone(PLAIN).fit(X, groups=groups, counts=counts)
    other = clone(PLAIN).fit(X * [1e6, 1e-6] - [1e3, 5], groups=groups, counts=counts)
    np.testing.assert_allclose(
        other.decision_function(X * [1e6, 1e-6] - [1e3, 5]), model.decision_function(X), rtol=1e-5
    )
    constant = clone(PLAIN).fit(np.column_stack([X, np.ones(400)]), groups=groups, counts=counts)
    np.testing.assert_allclose(constant.coef_, [[*model.coef_[0], 0]], rtol=1e-6)


@pytest.mark.parametrize("kind", [csr_matrix, csr_array])
def test_sparse_rows(kind):
    X, _, groups, counts = drawn()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = clone(PLAIN).set_params(C=100.0, tol=1e-12).fit(X, groups=groups, counts=counts)
    sparse = clone(dense).fit(kind(X), groups=groups, counts=counts)
    # Both scale to a variance of 1, so that the regularizers differ in the intercept alone.
    np.testing.assert_allclose(sparse.decision_function(kind(X)), dense.decision_function(X), atol=0.02)


@pytest.mark.draw(6)
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        HistGradientBoostingClassifier(max_iter=20),
        RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
        GaussianNB(),
        KNeighborsClassifier(25),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("method", ["count_likelihood", "alternation", "proportion_loss"])
def test_any_classifier(estimator, method):
    X, _, groups, counts = drawn()
    model = WeakSetClassifier(estimator, method, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, groups=groups, counts=counts)
    assert error(model) < 0.25
    assert len(model.estimators_) == 1
    assert model.score(X, groups=groups, counts=counts) > -2.5
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_em_of_logistic_regression_is_the_count_likelihood():
    X, _, groups, counts = drawn()
    linear = clone(PLAIN).set_params(tol=1e-12).fit(X, groups=groups, counts=counts)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    logistic = LogisticRegression(tol=1e-8, max_iter=1000)
    model = WeakSetClassifier(logistic, "count_likelihood").fit(scaled, groups=groups, counts=counts)
    np.testing.assert_allclose(model.estimators_[0].coef_[0], linear.coef_[0] * X.std(axis=0), rtol=0.03)


def test_the_estimator_reads_rows_as_they_are():
    X, y, groups, counts = drawn()
    words = np.where(X[:, 0] > 1, "large", "small")
    table = pd.DataFrame({"word": words, "number": X[:, 1]})

    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    reader = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    model = WeakSetClassifier(make_pipeline(reader, LogisticRegression()), "count_likelihood")
    model.fit(table, groups=groups, counts=counts)
    assert (model.predict(table) == y).mean() > 0.75
    assert model.feature_names_in_.tolist() == ["word", "number"]


def test_shares_of_three_classes():
    X, y = load_iris(return_X_y=True)
    groups = np.random.default_rng(0).permutation(150) // 5
    shares = np.array([np.bincount(y[groups == b], minlength=3) / 5 for b in range(30)])
    names = np.array(["x", "y", "z"])
    model = WeakSetClassifier(method="count_likelihood", C=1.0, classes=names)
    model.fit(X, groups=groups, proportions=shares)
    assert (model.predict(X) == names[y]).mean() > 0.88
    assert model.coef_.shape == (3, 4)
    assert model.method_ == ["count_likelihood"] * 3
    found = model.predict_bags(X, groups)
    np.testing.assert_allclose(found.mean.sum(axis=1), 5)
    assert np.isfinite(model.score(X, groups=groups, proportions=shares))
    # One label of each class does as well as the names.
    some = np.full(150, -1)
    some[[0, 50, 100]] = y[[0, 50, 100]]
    codes = clone(model).set_params(classes=None).fit(X, some, groups=groups, proportions=dict(enumerate(shares)))
    assert codes.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="counts must say of which of 3 classes"):
        clone(model).fit(X, groups=groups, counts=2)


def test_one_bag_and_bags_of_one_row():
    X, y, *_ = drawn()
    with pytest.warns(UserWarning, match="one bag carries no signal of which of its rows are positive"):
        model = clone(PLAIN).set_params(method="auto", C="auto").fit(X, counts=int(y.sum()))
    assert "without a comparison, which needs two bags or more" in model.choice_
    assert model.candidates_ == ()
    assert model.doubt_ is None
    np.testing.assert_allclose(model.predict_bags(X).mean, y.sum(), rtol=0.01)
    single = clone(PLAIN).fit(X, groups=np.arange(400), counts=dict(enumerate(y.tolist())))
    labels = clone(PLAIN).fit(X, y)
    np.testing.assert_allclose(single.coef_, labels.coef_, rtol=1e-3)


@pytest.mark.draw(9)
@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("method", ["auto", *LINEAR])
def test_all_rows_of_one_class(value, method, estimator):
    if estimator is not None and method in ("margin", "ramp"):
        pytest.skip("for linear models")
    X, _, groups, _ = drawn(bags=6)
    model = WeakSetClassifier(estimator, method).fit(X, groups=groups, proportions=value)
    assert (model.predict(X) == value).all()
    assert (clone(model).fit(X, np.full(60, value)).predict(X) == value).all()


@pytest.mark.slow
@pytest.mark.draw(5)
@pytest.mark.parametrize(
    "known",
    [{"proportions": 0.5}, {"proportions": 0.33}, {"proportions": 0.525}, {"between": (2, 6)}, {"at_least": 5}],
    ids=str,
)
def test_bags_of_which_the_same_is_known_are_named(known):
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((600, 3)), np.repeat(np.arange(30), 20)
    with pytest.warns(UserWarning, match="hardly any signal: the same is known of all 30"):
        clone(PLAIN).fit(X, groups=groups, **known)
    with pytest.warns(UserWarning, match="the bags show no signal: one share of positives explains .* of 30 bags"):
        WeakSetClassifier().fit(X, groups=groups, **known)


@pytest.mark.slow
def test_naive_bags_are_named():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((600, 3)), np.repeat(np.arange(6), 100)
    y = (rng.random(600) < 0.3).astype(int)
    counts = np.bincount(groups, y).astype(int)
    with pytest.warns(UserWarning, match=r"the bags show no signal: one share of positives .* \(p = 0.\d+\)"):
        WeakSetClassifier().fit(X, groups=groups, counts=counts)
    # Shares that differ by chance alone teach if features tell them apart, and so does a known row.
    clone(PLAIN).fit(X, np.where(np.arange(600) < 20, y, -1), groups=groups, proportions=0.3)
    WeakSetClassifier().fit(
        X + 3 * y[:, None], groups=np.arange(600) // 20, counts=np.bincount(np.arange(600) // 20, y).astype(int)
    )
    # Without a race counts that differ may teach, and so do positive bags beside negative ones.
    clone(PLAIN).fit(X, groups=groups, counts=counts)
    clone(PLAIN).fit(X, groups=groups, at_least=[1, 1, 1, None, None, None], counts=[None, None, None, 0, 0, 0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the bags show no signal", "ignore:the bags carry hardly any")
def test_rounding_decides_no_race():
    rng = np.random.default_rng(3)
    X, groups = rng.standard_normal((40, 2)), np.repeat([0, 1], 20)
    for counts in ([5, 5], [4, 9], [0, 20]):
        one = WeakSetClassifier().fit(X, groups=groups, counts=counts)
        order = rng.permutation(40)
        other = WeakSetClassifier().fit(X[order], groups=groups[order], counts=counts)
        assert (one.method_, one.C_) == (other.method_, other.C_)
        np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.filterwarnings("ignore:the bags carry hardly any")
def test_the_interval_of_the_intercept():
    X, _, groups, counts = drawn()
    model = clone(PLAIN).fit(X, groups=groups, counts=counts)
    interval, s = model.interval_, model.decision_function(X)

    def likelihood(c):
        moved = clone(model)
        moved.__dict__.update(vars(model))
        moved.intercept_ = model.intercept_ + c
        return 40 * moved.score(X, groups=groups, counts=counts)

    greatest = max(likelihood(c) for c in np.linspace(-0.2, 0.2, 81))
    for end in (interval.low, interval.high):
        np.testing.assert_allclose(greatest - likelihood(end), 1.92, rtol=0.02)
    between = (s > -interval.high) & (s < -interval.low)
    np.testing.assert_allclose(interval.undecided, between.mean())
    # At least one in each bag bounds the intercept from below only.
    assert clone(PLAIN).fit(X, groups=groups, at_least=1).interval_.high == np.inf


@pytest.mark.slow
def test_the_race_takes_what_makes_held_out_bags_likely():
    X, _, groups, counts = drawn()
    model = WeakSetClassifier(verbose=0).fit(X, groups=groups, counts=counts)
    first = model.candidates_[0]
    best = next(one for one in model.candidates_ if (one.method, one.C) == (model.method_, model.C_))
    values = [one.likelihood for one in model.candidates_]
    assert values == sorted(values, reverse=True)
    assert len(values) == 18
    assert {one.method for one in model.candidates_} == {"constant", "bag_features", *LinearFamily.methods}
    runner_up = next(one for one in model.candidates_ if one.method not in (best.method, "constant"))
    assert (model.doubt_.method, model.doubt_.C) == (runner_up.method, runner_up.C)
    np.testing.assert_allclose(model.doubt_.difference, best.likelihood - runner_up.likelihood)
    assert 0 < model.doubt_.error < np.inf
    # The trusted method is left only for one that is better by more than a standard error.
    assert best is next(one for one in model.candidates_ if one.method == "count_likelihood") or best is first
    assert best is first or model.doubt_.difference >= -model.doubt_.error
    two = np.flatnonzero(np.isin(groups, [counts.argmin(), counts.argmax()]))
    # One method with several C, or one C with several methods, are races too; bag_features is refused in the second.
    assert len(WeakSetClassifier(method="proportion_loss").fit(X, groups=groups, counts=counts).candidates_) == 5
    assert len(WeakSetClassifier(C=1.0).fit(X, groups=groups, counts=counts).candidates_) == 6
    assert len(WeakSetClassifier(C=1.0).fit(X[two], groups=groups[two], counts=[0, 8]).candidates_) == 6


@pytest.mark.slow
def test_verbose_shows_progress_and_the_choice(capsys):
    X, _, groups, counts = drawn(bags=10)
    model = WeakSetClassifier(verbose=1).fit(X, groups=groups, counts=counts)
    shown = capsys.readouterr()
    assert model.choice_ in shown.out
    assert "±" in shown.out
    assert "compared: " in shown.err
    assert "objective" in shown.err


def test_a_small_max_iter_is_told():
    X, _, groups, counts = drawn()
    with pytest.warns(ConvergenceWarning, match="WeakSetClassifier stopped after max_iter=2 steps; raise max_iter"):
        model = clone(PLAIN).set_params(max_iter=2).fit(X, groups=groups, counts=counts)
    assert model.status_ == "max_iter"
    assert model.n_iter_ == 2


class FitCounter(GaussianNB):
    """A classifier that counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("method", ["count_likelihood", "alternation"])
def test_max_iter_and_tol_rule_the_fits_of_a_classifier(method):
    X, _, groups, counts = drawn(bags=20)

    def fit(**params):
        FitCounter.fits = 0
        model = WeakSetClassifier(FitCounter(), method, **params).fit(X, groups=groups, counts=counts)
        assert model.n_iter_ == FitCounter.fits
        return model

    for most in (1, 2, 3):
        with pytest.warns(ConvergenceWarning, match=f"stopped after max_iter={most} fits; raise max_iter or tol"):
            model = fit(max_iter=most)
        assert (model.n_iter_, model.status_) == (most, "max_iter")
    full = fit(max_iter=1000)
    assert full.status_ == "converged"
    assert full.n_iter_ > 3
    # What the warning asks for helps.
    rough = fit(max_iter=3, tol=0.5)
    assert rough.status_ == "converged"
    assert rough.n_iter_ < full.n_iter_


def test_a_classifier_is_fitted_twenty_times_unless_max_iter_says_more():
    X, _, groups, counts = drawn(bags=20)

    def fit(most):
        return WeakSetClassifier(KNeighborsClassifier(5), "count_likelihood", max_iter=most).fit(
            X, groups=groups, counts=counts
        )

    # Labels that are drawn anew in each round do not settle.
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=20 fits"):
        assert fit(None).n_iter_ == 20
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=23 fits"):
        assert fit(23).n_iter_ == 23


def test_nystroem_and_bags_in_a_pipeline():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 5)
    X = rng.uniform(-2, 2, (400, 2))
    y = ((X**2).sum(axis=1) < 1.5).astype(int)
    model = make_pipeline(
        Nystroem(n_components=50, random_state=0), WeakSetClassifier(method="count_likelihood", C=10.0)
    )
    model.fit(X, None, weaksetclassifier__groups=groups, weaksetclassifier__counts=np.bincount(groups, y).astype(int))
    assert (model.predict(X) == y).mean() > 0.9


def test_margin_rescaling_is_for_linear_models():
    X, _, groups, counts = drawn()
    named = (
        "'auto', 'count_likelihood', 'proportion_loss', 'alternation' or 'bag_features' where estimator.*; got 'margin'"
    )
    with pytest.raises(ValueError, match=f"method must be {named}"):
        WeakSetClassifier(LogisticRegression(), "margin").fit(X, groups=groups, counts=counts)


def test_huge_and_odd_features():
    X, _, groups, counts = drawn()
    with pytest.raises(OverflowError, match="X is too large"):
        clone(PLAIN).fit(X * 1e200, groups=groups, counts=counts)
    with pytest.raises(ValueError, match="NaN"):
        clone(PLAIN).fit(np.where(X > 2, np.nan, X), groups=groups, counts=counts)
    with pytest.raises(NotFittedError):
        clone(PLAIN).predict_bags(X, groups)
    model = clone(PLAIN).fit(X, groups=groups, counts=counts)
    with pytest.raises(ValueError, match=r"groups must have shape \(400,\)"):
        model.predict_bags(X, groups[:-1])
    assert expit(model.decision_function(X)) == pytest.approx(model.predict_proba(X)[:, 1])


def test_predict_decides_for_a_loss_without_labels():
    X, _, groups, counts = drawn(bags=30)
    plain = WeakSetClassifier(method="count_likelihood", C=1.0).fit(X, groups=groups, counts=counts)
    assert plain.threshold_ == 0
    log_odds = plain.decision_function(X)
    for loss in ("f1", Jaccard(), "error_rate"):
        model = WeakSetClassifier(method="count_likelihood", C=1.0, loss=loss).fit(X, groups=groups, counts=counts)
        np.testing.assert_allclose(model.decision_function(X), log_odds)
        positive = model.predict(X) == 1
        expected = least_expected_loss(expit(log_odds), loss).labels
        np.testing.assert_array_equal(positive, expected)
        np.testing.assert_array_equal(positive, log_odds > model.threshold_)
    with pytest.raises(ValueError, match="loss must be None for more than two classes"):
        WeakSetClassifier(loss="f1").fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="is refused: it reads the order of scores"):
        WeakSetClassifier(loss="auc").fit(X, groups=groups, counts=counts)


def test_equal_rows_take_the_better_of_their_labels():
    X, groups = np.random.default_rng(0).normal(size=(30, 2)), np.repeat(np.arange(6), 5)
    with pytest.warns(UserWarning, match="signal"):
        model = WeakSetClassifier(method="count_likelihood", C=1.0, loss="kld").fit(X, groups=groups, counts=1)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.2, atol=1e-4)
    # Of 30 rows 6 are positive in the mean, which is nearer to none than to all.
    assert model.threshold_ == np.inf
    assert (model.predict(X) == 0).all()


class UntrainableClassifier(GaussianNB):
    """A classifier that must not be trained."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("trained")


def test_losses_without_a_threshold_are_refused_before_training():
    X, _, groups, counts = drawn(bags=30)
    model = WeakSetClassifier(UntrainableClassifier(), loss="f1")
    with pytest.raises(AssertionError, match="trained"):
        model.fit(X, groups=groups, counts=counts)
    with pytest.raises(Refusal, match="'f1', or None"):
        model.set_params(loss="early_detection").fit(X, groups=groups, counts=counts)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("loss", ["kld", "nkld", "ae", "rae", "q", "qacc", "qf1", "qgm"])
def test_losses_of_the_number_predicted_have_thresholds(loss):
    X, _, groups, counts = drawn(bags=30)
    model = WeakSetClassifier(method="count_likelihood", C=1.0, loss=loss).fit(X, groups=groups, counts=counts)
    assert abs(model.predict(X).sum() - counts.sum()) < 0.2 * counts.sum()


def test_the_threshold_of_equal_rows():
    assert threshold_for(FBeta(), np.zeros(4)) < 0
    assert threshold_for(ErrorRate(), np.array([1.0, 2.0])) == -np.inf
    assert threshold_for(ErrorRate(), np.array([-1.0, -2.0])) == np.inf
    assert threshold_for(ErrorRate(), np.array([-1.0, 3.0])) == 1.0


@pytest.mark.slow
def test_labels_that_follow_from_numbers_do_not_hide_naive_bags():
    rng = np.random.default_rng(5)
    X, groups, y = rng.standard_normal((800, 3)), np.repeat(np.arange(40), 20), rng.random(800) < 0.1
    counts = np.bincount(groups, y).astype(int)
    assert (counts == 0).any()
    with pytest.warns(UserWarning, match="the bags show no signal"):
        WeakSetClassifier().fit(X, groups=groups, counts=counts)


@pytest.mark.parametrize("nothing", [{"counts": np.full(6, np.nan)}, {"at_least": 0}, {"between": (0, 5)}], ids=str)
def test_one_class_is_refused_where_values_of_bags_say_nothing(nothing):
    X, groups = np.random.default_rng(0).standard_normal((30, 2)), np.repeat(np.arange(6), 5)
    with pytest.raises(ValueError, match="y must hold two classes where nothing is known of bags"):
        clone(PLAIN).fit(X, np.where(np.arange(30) < 15, 1, -1), groups=groups, **nothing)
