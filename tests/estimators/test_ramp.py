"""The ramp in SetClassifier: its logistic start, when ``"auto"`` takes it, thresholds."""

import os
import warnings
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from orders import in_order
from rounds import rounds
from setwise import SetClassifier, SetClassifierCV, VacuousBoundWarning
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.decisions import best_threshold, label_thresholds
from setwise.learners import ConvexConcaveProcedure, OneSlack
from setwise.losses import AveragePrecision, PrecisionAtK, RecallAtK, RocArea
from setwise.surrogates import MarginRescaling, Ramp


def overlapping(n=600, seed=0, shift=1.5):
    """Rows whose rare class overlaps the other one: convex bounds of F1 and Jaccard say nothing here."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 5.0, 0.2] + [0.0, 2.0, -1.0]
    y = X[:, 0] + 0.3 * (X[:, 1] - 2.0) ** 2 / 25 + rng.standard_normal(n) > shift
    return X, y.astype(int)


def logistic(X, y):
    """Scores of logistic regression on scaled features."""
    rows = StandardScaler().fit_transform(X)
    return LogisticRegression(max_iter=1000).fit(rows, y).decision_function(rows)


def at(scores, threshold):
    return (scores >= threshold).astype(int)


@pytest.mark.parametrize("loss", ["f1", "jaccard", "g_mean", "mcc", "hamming"])
@pytest.mark.parametrize("scaling", [1.0, 10.0])
def test_a_tiny_c_is_logistic_regression_with_its_best_threshold(loss, scaling):
    X, y = overlapping()
    scores = logistic(X, y)
    expected = at(scores, best_threshold(y, scores, loss).threshold)
    model = SetClassifier(loss, "ramp", C=1e-9, intercept_scaling=scaling, start=LogisticRegression()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert model.status_ == "local"
    assert model.lower_bound_ == 0.0


@pytest.mark.slow
def test_a_tiny_c_is_logistic_regression_for_groups_matrices_and_classes():
    X, y = overlapping()
    groups = np.arange(600) // 20
    scores = logistic(X, y)
    sets = Sets(y == 1, np.arange(0, 601, 20))
    expected = at(scores, best_threshold(sets, scores, "jaccard").threshold)
    model = SetClassifier("jaccard", "ramp", C=1e-9, start=LogisticRegression()).fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.predict(X), expected)

    X, Y = make_multilabel_classification(200, 5, n_classes=3, random_state=0)
    columns = np.column_stack([logistic(X, column) for column in Y.T])
    for average in ("samples", "macro", "micro"):
        expected = at(columns, label_thresholds(Y, columns, "f1", average, shrinkage=0.0).thresholds)
        model = SetClassifier("f1", "ramp", C=1e-9, average=average, start=LogisticRegression()).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), expected)

    grades = np.digitize(X[:, 0], [5, 9])
    rows = StandardScaler().fit_transform(X)
    expected = LogisticRegression(max_iter=1000).fit(rows, grades).predict(rows)
    for names in (np.arange(3), np.array(["high", "low", "none"])):
        model = SetClassifier("jaccard", "ramp", C=1e-9).fit(X, names[grades])
        np.testing.assert_array_equal(model.predict(X), names[expected])


@pytest.mark.draw(6)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_start_has_the_c_and_the_threshold_that_are_best_on_held_out_rows(grouped, weighted):
    X, y = overlapping(300)
    X, y = in_order(np.hstack([X, np.random.default_rng(1).standard_normal((300, 40))]), y)
    groups = np.random.default_rng(2).integers(12, size=300) if grouped else None
    ids = np.zeros(300, dtype=int) if groups is None else groups
    weight = 1.0 + ids % 3 if weighted else np.ones(300)
    weight /= weight.mean()
    splitter = GroupKFold(5) if grouped else StratifiedKFold(5, shuffle=True, random_state=0)
    rows, Cs = StandardScaler().fit_transform(X), 10.0 ** np.arange(-3, 3)
    models = [LogisticRegression(C=C, max_iter=1000, solver="newton-cholesky") for C in Cs]
    held_out = np.zeros((6, 300))
    for train, test in splitter.split(rows, y, groups):
        for scores, model in zip(held_out, models, strict=True):
            scores[test] = model.fit(rows[train], y[train], weight[train]).decision_function(rows[test])
    best = np.argmin([log_loss(y, 1 / (1 + np.exp(-scores)), sample_weight=weight) for scores in held_out])
    assert Cs[best] < 1.0
    order = np.argsort(ids, kind="stable")
    sets = Sets(y[order] == 1, np.concatenate([[0], np.cumsum(np.bincount(ids))]))
    threshold = best_threshold(sets, held_out[best][order], "f1").threshold
    expected = at(models[best].fit(rows, y, weight).decision_function(rows), threshold)
    found = SetClassifier("f1", "ramp", C=1e-9).fit(X, y, groups=groups, sample_weight=weight)
    np.testing.assert_array_equal(found.predict(X), expected)


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.filterwarnings("ignore:.*fewer than 10 positives")
@pytest.mark.parametrize("average", ["samples", "macro"])
def test_the_start_of_a_label_matrix_has_one_c_and_the_thresholds_of_held_out_rows(average):
    X, Y = make_multilabel_classification(120, 30, n_classes=3, random_state=0)
    X, Y = in_order(X, np.column_stack([Y, np.arange(120) == 7]))  # a label with one positive row
    rows, Cs = StandardScaler().fit_transform(X), 10.0 ** np.arange(-3, 3)
    held_out = np.zeros((6, *Y.shape))
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        for scores, C in zip(held_out, Cs, strict=True):
            model = LogisticRegression(C=C, max_iter=1000, solver="newton-cholesky")
            for i, column in enumerate(Y[train].T):
                if column.any():
                    scores[test, i] = model.fit(rows[train], column).decision_function(rows[test])
                else:
                    scores[test, i] = np.log(0.5 / (len(train) + 0.5))
    best = np.argmin([np.logaddexp(0, np.where(Y == 1, -scores, scores)).mean() for scores in held_out])
    thresholds = label_thresholds(Y, held_out[best], "f1", average, shrinkage=0.0).thresholds
    models = [LogisticRegression(C=Cs[best], max_iter=1000, solver="newton-cholesky").fit(rows, y) for y in Y.T]
    scores = np.column_stack([model.decision_function(rows) for model in models])
    found = SetClassifier("f1", "ramp", C=1e-9, average=average).fit(X, Y)
    np.testing.assert_array_equal(found.predict(X), at(scores, thresholds))


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e300])
def test_weights_that_are_all_equal_change_nothing(scale):
    for X, y, plain in unweighted():
        weighed = SetClassifier("f1", "ramp").fit(X, y, sample_weight=np.full(len(X), scale))
        np.testing.assert_allclose(weighed.coef_, plain, rtol=1e-6)


@cache
def unweighted():
    """Rows with one label and with several, and the weights of a fit to them."""
    problems = overlapping(300), make_multilabel_classification(100, 5, n_classes=3, random_state=0)
    return [(X, y, SetClassifier("f1", "ramp").fit(X, y).coef_) for X, y in problems]


def test_the_start_of_few_positives_or_of_one_class_in_a_fold_needs_no_held_out_rows():
    X = np.random.default_rng(0).standard_normal((30, 2))
    for positives in (1, 2, 4, 6):
        y = np.arange(30) < positives
        assert SetClassifier("f1", "ramp").fit(X, y).score(X, y) > 0.0
    y, groups = np.arange(30) < 15, np.arange(30) // 15
    assert SetClassifier("f1", "ramp").fit(X, y, groups=groups).status_ == "local"


def test_without_an_intercept_and_with_a_constant_label_there_is_a_start_too():
    X, Y = make_multilabel_classification(80, 5, n_classes=3, random_state=0)
    Y[:, 1], Y[:, 2] = 0, 1
    model = SetClassifier("f1", "ramp", C=1e-9).fit(X, Y)
    assert not model.predict(X)[:, 1].any()
    assert model.predict(X)[:, 2].all()
    bare = SetClassifier("f1", "ramp", C=10.0, fit_intercept=False).fit(X, Y[:, 0])
    assert (bare.intercept_ == 0).all()
    X, y = overlapping()
    dense, sparse = (SetClassifier("f1", "ramp", C=1e-9).fit(rows, y) for rows in (X, csr_matrix(X)))
    assert sparse.score(X, y) == pytest.approx(dense.score(X, y), abs=0.02)


@pytest.mark.draw(9)
@pytest.mark.parametrize("learner", ["auto", "nrbm", "convex_concave"])
@pytest.mark.parametrize("loss", ["f1", "jaccard", "g_mean"])
def test_training_is_never_worse_than_the_start_and_never_empty(learner, loss):
    better = 0
    for seed in range(rounds(4, 1)):
        X, y = overlapping(seed=seed)
        start = SetClassifier(loss, "ramp", C=1e-9).fit(X, y)
        for C in (1.0, 100.0, "auto", 1e6):
            model = SetClassifier(loss, "ramp", learner, C=C).fit(X, y)
            assert model.score(X, y) >= start.score(X, y)
            assert 0 < model.predict(X).sum() < len(y)
            assert model.history_["objective"][0] >= model.objective_ - 1e-12
            better += model.score(X, y) > start.score(X, y)
    # These data are those of a logistic model, so the start is hard to beat.
    assert better > 0 or loss == "g_mean"


def test_auto_takes_the_ramp_for_one_set():
    X, y = overlapping()
    # With classes far apart a convex bound would say something, and still fit the training rows too closely.
    for rows in (X, X + 8.0 * y[:, None]):
        for loss in ("f1", "jaccard", "error_rate"):
            auto, ramp = SetClassifier(loss).fit(rows, y), SetClassifier(loss, "ramp").fit(rows, y)
            assert auto.surrogate_ == "ramp"
            assert rows is not X or auto.status_ == "local"
            np.testing.assert_array_equal(auto.coef_, ramp.coef_)
    micro, named = (SetClassifier("f1", one, average="micro").fit(X, y[:, None] == [0, 1]) for one in ("auto", "ramp"))
    np.testing.assert_array_equal(micro.coef_, named.coef_)


def test_auto_stays_convex_for_one_set_without_a_ramp_or_a_start():
    X, y = overlapping()
    far = X + 8.0 * y[:, None]
    for model, convex in ((SetClassifier("auc"), "margin"), (SetClassifier("jaccard", start="zero"), "lovasz")):
        model.fit(far, y)
        assert (model.surrogate_, model.status_) == (convex, "converged")


@pytest.mark.draw(2)
@pytest.mark.parametrize("groups", [None, np.arange(600) // 200])
def test_a_model_from_zero_is_better_than_a_constant_or_auto_warns(groups):
    warned = 0
    for seed, shift in ((1, 1.5), (1, 2.2), (2, 2.8)):
        X, y = overlapping(seed=seed, shift=shift)
        for loss in ("f1", "jaccard"):
            constant = max(as_constant.score(X, y, groups) for as_constant in constants(loss, X, y))
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                model = SetClassifier(loss, start="zero").fit(X, y, groups=groups)
            empty = model.score(X, y, groups) <= constant + 1e-12
            assert [kind.category for kind in said] == [VacuousBoundWarning] * empty
            warned += empty
            chosen = SetClassifierCV(SetClassifier(loss, start="zero"), Cs=[1.0, 1e4]).fit(X, y, groups=groups)
            assert chosen.candidates_ == (("auto", 1.0), ("auto", 1e4))
    assert warned == 0


@pytest.mark.slow
def test_a_convex_bound_around_logistic_regression_may_say_nothing_too():
    X, y = overlapping()
    groups = np.arange(600) // 200
    for sets in (None, groups):
        with pytest.warns(VacuousBoundWarning, match="the convex surrogate 'lovasz' guarantees no smaller loss"):
            SetClassifier("jaccard", "convex", start="logistic").fit(X, y, groups=sets)
        auto = SetClassifier("jaccard", start="logistic").fit(X, y, groups=sets)
        assert auto.surrogate_ == "ramp"
        np.testing.assert_array_equal(auto.coef_, SetClassifier("jaccard", "ramp").fit(X, y, groups=sets).coef_)


def constants(loss, X, y):
    """Models that predict no positive, and nothing else."""
    none = SetClassifier(loss, "ramp", C=1e-9).fit(X, y)
    every = deepcopy(none)
    for model, sign in ((none, -1.0), (every, 1.0)):
        model.coef_, model.intercept_ = 0 * model.coef_, sign + 0 * model.intercept_
    return none, every


def test_auto_takes_the_ramp_for_several_sets_whose_convex_bound_says_nothing():
    X, y = overlapping()
    groups = np.arange(600) // 200
    for loss, convex in (("f1", "margin"), ("jaccard", "lovasz")):
        with pytest.warns(
            VacuousBoundWarning, match=f"the convex surrogate '{convex}' guarantees no smaller loss .*'auto'"
        ):
            named = SetClassifier(loss, "convex").fit(X, y, groups=groups)
        auto, ramp = (SetClassifier(loss, one).fit(X, y, groups=groups) for one in ("auto", "ramp"))
        assert (named.surrogate_, auto.surrogate_, auto.status_) == (convex, "ramp", "local")
        np.testing.assert_array_equal(auto.coef_, ramp.coef_)
        assert auto.score(X, y, groups=groups) > named.score(X, y, groups=groups)
        assert named.predict(X).sum() in (0, 600) or loss == "f1"


def test_auto_keeps_a_convex_surrogate_of_several_sets_whose_bound_says_something():
    X, y = overlapping()
    far, groups = X + 8.0 * y[:, None], np.arange(600) // 200
    # "auto" sorts the rows of each group, and "convex" does not.
    parts = [in_order(far[groups == one], y[groups == one]) for one in range(3)]
    far, y = np.vstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for loss, convex in (("f1", "margin"), ("jaccard", "lovasz"), ("auc", "margin")):
            auto, named = (SetClassifier(loss, one).fit(far, y, groups=groups) for one in ("auto", "convex"))
            assert auto.surrogate_ == named.surrogate_ == convex
            np.testing.assert_array_equal(auto.coef_, named.coef_)
            assert auto.status_ == "converged"


def test_a_constant_row_of_labels_is_a_constant_too():
    # Nearly all rows have the same labels, and no feature tells the others: the commonest row is the best constant.
    rng = np.random.default_rng(0)
    Y = np.tile([1, 0, 1, 0], (200, 1))
    Y[:20] = rng.integers(0, 2, (20, 4))
    model = SetClassifier("jaccard").fit(rng.standard_normal((200, 3)), Y)
    assert model.score(rng.standard_normal((200, 3)), Y) > 0.8
    assert (model.predict(rng.standard_normal((50, 3))) == [1, 0, 1, 0]).mean() > 0.9


@pytest.mark.slow
def test_objects_are_taken_at_their_word():
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SetClassifier("f1", MarginRescaling("f1", scale="size")).fit(X, y).surrogate_ == "margin"
        assert SetClassifier("f1", Ramp("f1", scale="size")).fit(X, y).surrogate_ == "ramp"
    with pytest.warns(VacuousBoundWarning):
        assert SetClassifier("f1", learner=OneSlack(C=100.0)).fit(X, y).surrogate_ == "margin"
    by_name = SetClassifier("f1", "ramp", "convex_concave").fit(X, y)
    by_object = SetClassifier("f1", "ramp", ConvexConcaveProcedure(C=by_name.C_)).fit(X, y)
    np.testing.assert_array_equal(by_object.coef_, by_name.coef_)
    assert SetClassifier("f1", learner="n_slack").fit(X, y).surrogate_ == "ramp"
    with pytest.raises(Refusal, match=r"NSlack refuses a risk that is not convex.*learner='nrbm' or 'convex_concave'"):
        SetClassifier("f1", "ramp", "n_slack").fit(X, y)


def test_c_auto_is_a_number_that_is_told():
    X, y = overlapping()
    far = X + 8.0 * y[:, None]
    grouped = SetClassifier("f1", "ramp").fit(X, y, groups=np.arange(600) // 30)
    np.testing.assert_allclose([SetClassifier("f1").fit(X, y).C_, grouped.C_], 600**2 / (10 * 3**1.5))
    assert SetClassifier("f1", "convex").fit(far, y).C_ == 300.0
    assert SetClassifier("jaccard", "convex").fit(far, y).C_ == 30.0
    assert SetClassifier("f1", C=7.0).fit(X, y).C_ == 7.0
    assert SetClassifier("f1", learner=OneSlack(C=5.0)).fit(far, y).C_ == 5.0


def test_a_convex_surrogate_may_be_centred_at_the_logistic_start():
    X, y = overlapping()
    start = SetClassifier("f1", "ramp", C=1e-9).fit(X, y)
    near = SetClassifier("f1", "convex", C=1e-9, start="logistic").fit(X, y)
    np.testing.assert_array_equal(near.predict(X), start.predict(X))
    trained = SetClassifier("f1", "convex", C=1e3, start="logistic").fit(X, y)
    assert trained.status_ == "converged"
    empty = SetClassifier("jaccard", "ramp", start="zero").fit(X, y)
    assert empty.score(X, y) <= SetClassifier("jaccard", "ramp").fit(X, y).score(X, y)


def test_an_exact_threshold_is_that_of_held_out_scores():
    X, y = in_order(*overlapping())
    plain = SetClassifier("f1", "convex", C=300.0)
    scores = np.zeros(600)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        scores[test] = plain.fit(X[train], y[train]).decision_function(X[test])
    expected = best_threshold(y, scores, "f1").threshold
    plain.fit(X, y)
    moved = SetClassifier("f1", "convex", C=300.0, threshold="exact").fit(X, y)
    assert moved.threshold_ == pytest.approx(expected)
    np.testing.assert_allclose(moved.intercept_, plain.intercept_ - expected)
    np.testing.assert_array_equal(moved.coef_, plain.coef_)
    np.testing.assert_array_equal(moved.predict(X), at(plain.decision_function(X), expected))
    # A warm start begins at the weights of the fit, without the threshold.
    moved.set_params(warm_start=True).fit(X, y)
    assert moved.history_["objective"][0] == pytest.approx(plain.objective_)


@pytest.mark.slow
def test_exact_thresholds_of_groups_and_of_labels():
    X, y = overlapping()
    groups = np.arange(600) // 20
    by_group = SetClassifier("jaccard", "ramp", threshold="exact").fit(X, y, groups=groups)
    assert by_group.threshold_ != 0.0
    X, Y = make_multilabel_classification(200, 5, n_classes=3, random_state=0)
    for average in ("samples", "macro", "micro"):
        model = SetClassifier("f1", threshold="exact", average=average).fit(X, Y)
        assert model.threshold_.shape == model.intercept_.shape == (3,)
    # Where nothing should be predicted the threshold is beyond all scores, and finite.
    rare = np.zeros(200, dtype=int)
    rare[:12] = 1
    noise = np.random.default_rng(0).standard_normal((2, 200, 2))
    none = SetClassifier("error_rate", threshold="exact").fit(noise[0], rare)
    assert np.isfinite(none.intercept_).all()
    assert none.predict(noise[1]).sum() <= 10


@pytest.mark.parametrize(
    ("loss", "target", "groups", "words"),
    [
        ("auc", [0, 1] * 10, None, r"threshold='exact' refuses RocArea\(\), which has none"),
        ("f1", [0, 1, 2, 1] * 5, None, "threshold='exact' refuses more than two classes"),
        ("f1", [0] * 19 + [1], None, "needs at least two rows of each class"),
        ("f1", [0, 1] * 10, [0] * 20, "needs at least two groups"),
    ],
)
def test_where_there_is_no_exact_threshold(loss, target, groups, words):
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(Refusal, match=words):
        SetClassifier(loss, threshold="exact").fit(X, target, groups=groups)


@pytest.mark.parametrize("target", ["vector", "groups", "matrix", "classes"])
def test_certain_predictions_do_not_change_by_further_optimization(target):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    amount = X @ [1.0, -1.0, 0.5, 0.0] + 0.4 * rng.standard_normal(300)
    y = {
        "vector": (amount > 0).astype(int),
        "groups": (amount > 0).astype(int),
        "matrix": np.column_stack([amount > 0, amount > 1, X[:, 3] > 0]).astype(int),
        "classes": np.digitize(amount, [-0.5, 0.5]),
    }[target]
    groups = np.arange(300) // 10 if target == "groups" else None
    fresh, shares = 2.0 * rng.standard_normal((200, 4)), []
    for tol in (0.3, 1e-2, 1e-4):
        loss = "hamming" if target == "classes" else "jaccard"
        rough, fine = (
            SetClassifier(loss, "convex", C=1.0, tol=t, max_iter=5000).fit(X, y, groups=groups) for t in (tol, 1e-9)
        )
        for rows in (X, fresh):
            labels, sure = rough.predict(rows, return_certain=True)
            assert labels.shape == sure.shape
            np.testing.assert_array_equal(labels, rough.predict(rows))
            np.testing.assert_array_equal(labels[sure], fine.predict(rows)[sure])
        shares.append(rough.certain_share_)
        assert rough.certain_share_ == pytest.approx(rough.predict(X, return_certain=True)[1].mean())
    assert shares[0] <= shares[1] <= shares[2]
    assert shares[2] > 0.3


def test_the_ramp_certifies_no_prediction():
    X, y = overlapping()
    model = SetClassifier("f1").fit(X, y)
    assert np.isnan(model.certain_share_)
    with pytest.raises(Refusal, match="return_certain refuses a model of the ramp: its minimum is local"):
        model.predict(X, return_certain=True)


@pytest.mark.realdata
@pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")
@pytest.mark.parametrize(("name", "gain"), [("wilt", 0.01), ("phoneme", 0.01), ("pc1", -0.02), ("us_crime", -0.02)])
def test_real_imbalanced_tables_gain_over_logistic_regression_with_its_threshold(name, gain):
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(Path(os.environ["SETWISE_DATA"]) / "imbalanced" / f"{name}.csv").dropna()
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].astype(str)
    y = (y == {"wilt": "2", "phoneme": "2", "pc1": "True", "us_crime": "1"}[name]).astype(int).to_numpy()
    gains = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(y))
        a, b = order[: len(y) // 2], order[len(y) // 2 :]
        scaler = StandardScaler().fit(X[a])
        before, after = scaler.transform(X[a]), scaler.transform(X[b])
        start, model = (SetClassifier("f1", C=C).fit(before, y[a]) for C in (1e-9, "auto"))
        gains.append(model.score(after, y[b]) - start.score(after, y[b]))
    assert np.mean(gains) > gain


@pytest.mark.slow
def test_no_fit_of_a_ranking_ends_at_equal_scores_in_silence():
    X, y = make_classification(6000, 8, weights=[0.95], random_state=4, flip_y=0.02)
    model = SetClassifier(RecallAtK(100)).fit(X, y)
    assert model.surrogate_ == "ramp"
    assert model.score(X, y) >= SetClassifier(RecallAtK(100), start="logistic", C=0).fit(X, y).score(X, y)
    for seed in range(rounds(75, 3)):
        X, y = make_classification(200, 8, random_state=seed, flip_y=0.05, class_sep=0.3)
        for loss in (RecallAtK(3), PrecisionAtK(3), AveragePrecision(), RocArea()):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                model = SetClassifier(loss, C=("auto", 1.0, 1e4)[seed % 3]).fit(X, y)
            assert model.coef_.any()
            better = model.score(X, y) > 1 - loss(y, np.zeros(200))
            assert better or VacuousBoundWarning in [kind.category for kind in said]


def test_the_smallest_number_as_c_divides_by_nothing(bags):
    X, y, _ = bags
    assert np.isfinite(SetClassifier("jaccard", "ramp", C=5e-324).fit(X, y).coef_).all()
