import pickle

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from sklearn import set_config
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning, NotFittedError
from sklearn.metrics import f1_score, jaccard_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from setwise import SetClassifier
from setwise.core.refusal import Refusal
from setwise.inference import Greedy
from setwise.learners import OneSlack
from setwise.losses import (
    Capped,
    CountFunctionLoss,
    Hamming,
    Jaccard,
    MeanOverClasses,
    OneClass,
    Saturating,
    Trait,
    plain_losses,
)
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling

PER_ROW = "sample_weight weighs whole sets; with y (n,) the sample is one set, and a set loss has no weights for rows"
EXPECTED_FAILURES = {
    "check_sample_weights_not_overwritten": PER_ROW,
    "check_sample_weight_equivalence_on_dense_data": PER_ROW,
    "check_sample_weight_equivalence_on_sparse_data": PER_ROW,
    "check_classifiers_one_label_sample_weights": PER_ROW,
}
OF_TWO = "class_weight weighs the counts of two classes; it is refused, in a sentence, for more"


@parametrize_with_checks(
    [
        SetClassifier(),
        SetClassifier("hamming", "lovasz", "block_frank_wolfe", random_state=0),
        SetClassifier("error_rate", "margin", C=100.0),
    ],
    expected_failed_checks=lambda model: (
        EXPECTED_FAILURES
        if model.surrogate == "lovasz"
        else EXPECTED_FAILURES | {"check_class_weight_classifiers": OF_TWO}
    ),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_compatibility(estimator, check):
    check(estimator)


@pytest.fixture
def bags():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.5 * rng.standard_normal(120) > 0.5
    return X, np.where(y, "sick", "healthy"), np.repeat(np.arange(12), 10)


def test_groups_in_any_order_of_rows_give_the_same_fit(bags):
    X, y, groups = bags
    shuffle = np.random.default_rng(1).permutation(len(y))
    a = SetClassifier(C=10).fit(X, y, groups=groups)
    b = SetClassifier(C=10).fit(X[shuffle], y[shuffle], groups=groups[shuffle])
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=3e-3)
    assert a.score(X, y, groups=groups) == pytest.approx(a.score(X[shuffle], y[shuffle], groups=groups[shuffle]))
    assert list(a.classes_) == ["healthy", "sick"]
    assert set(a.predict(X)) <= {"healthy", "sick"}


def test_rows_keep_their_order_inside_a_group(bags):
    X, y, groups = bags
    interleaved = np.argsort(np.arange(len(y)) % 10, kind="stable")
    a = SetClassifier("early_detection", C=10).fit(X, y, groups=groups)
    b = SetClassifier("early_detection", C=10).fit(X[interleaved], y[interleaved], groups=groups[interleaved])
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)


def test_one_set_groups_and_matrix_agree_where_they_are_the_same_problem():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((40, 2)), rng.random(40) < 0.4
    y[:2] = [True, False]
    one = SetClassifier(C=5).fit(X, y)
    grouped = SetClassifier(C=5).fit(X, y, groups=np.zeros(40))
    np.testing.assert_allclose(one.coef_, grouped.coef_)
    hamming = SetClassifier("hamming", C=5, tol=1e-8).fit(X, y, groups=np.arange(40))
    twice = SetClassifier("hamming", C=5, tol=1e-8).fit(X, np.column_stack([y, ~y]))
    np.testing.assert_allclose(twice.coef_, [hamming.coef_[0], -hamming.coef_[0]], atol=1e-3)


def test_multi_label_matrix():
    X, Y = make_multilabel_classification(150, 6, n_classes=4, random_state=0)
    model = SetClassifier(Saturating(1.0, [1, 0.8, 0.6, 0.4]), C=50).fit(X, Y)
    assert model.coef_.shape == (4, 6)
    assert model.intercept_.shape == (4,)
    assert model.predict(X).shape == Y.shape
    assert model.decision_function(X).shape == Y.shape
    losses = [model.loss_(row, guess) for row, guess in zip(Y, model.predict(X), strict=True)]
    assert model.score(X, Y) == pytest.approx(1 - np.mean(losses))


@pytest.mark.parametrize("name", sorted(plain_losses()))
def test_every_named_loss_trains_to_its_certificate(name):
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = X[:, 0] - X[:, 1] > 0.3
    X[:, 0] += 2 * y
    model = SetClassifier(name, C=100).fit(X, y)
    assert model.duality_gap_ <= 1e-3
    assert 0 <= model.lower_bound_ <= model.objective_ * (1 + 1e-9)
    untrained = SetClassifier(name, C=1e-9).fit(X, y)
    assert model.score(X, y) > untrained.score(X, y)


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
@pytest.mark.parametrize("loss", ["f1", "jaccard", "hamming"])
def test_average_says_what_a_set_is(average, loss):
    X, Y = make_multilabel_classification(60, 5, n_classes=3, random_state=1)
    model = SetClassifier(loss, C=50, average=average).fit(X, Y)
    guess = model.predict(X)
    pairs = {
        "samples": list(zip(Y, guess, strict=True)),
        "macro": list(zip(Y.T, guess.T, strict=True)),
        "micro": [(Y.ravel(), guess.ravel())],
    }[average]
    assert model.score(X, Y) == pytest.approx(1 - np.mean([model.loss_(a, b) for a, b in pairs]))
    sparse = SetClassifier(loss, C=50, average=average).fit(csr_matrix(X), Y)
    assert sparse.objective_ == pytest.approx(model.objective_, rel=2e-3)


@pytest.mark.parametrize("learner", ["n_slack", "block_frank_wolfe"])
def test_macro_is_one_problem_for_each_label(learner):
    X, Y = make_multilabel_classification(60, 5, n_classes=3, random_state=1)
    together = SetClassifier("jaccard", learner=learner, C=60, average="macro", tol=1e-4, max_iter=5000, random_state=0)
    together.fit(X, Y)
    apart = [SetClassifier("jaccard", C=20, tol=1e-5).fit(X, column) for column in Y.T]
    assert together.objective_ == pytest.approx(sum(model.objective_ for model in apart), rel=1.2e-4)


@pytest.mark.parametrize("convert", [csr_matrix, csc_matrix])
@pytest.mark.parametrize("surrogate", ["lovasz", "margin"])
def test_sparse_equals_dense(bags, convert, surrogate):
    X, y, groups = bags
    dense = SetClassifier(surrogate=surrogate, C=10, tol=1e-7).fit(X, y, groups=groups)
    sparse = SetClassifier(surrogate=surrogate, C=10, tol=1e-7).fit(convert(X), y, groups=groups)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-3)
    np.testing.assert_allclose(dense.decision_function(X), dense.decision_function(convert(X)), atol=1e-12)


@pytest.mark.parametrize("learner", ["one_slack", "n_slack", "block_frank_wolfe"])
@pytest.mark.parametrize("surrogate", ["lovasz", "margin", "slack"])
def test_learners_agree_within_their_certified_gaps(bags, learner, surrogate):
    X, y, groups = bags
    model = SetClassifier("saturating", surrogate, learner, C=20, tol=1e-4, random_state=0).fit(X, y, groups=groups)
    reference = SetClassifier("saturating", surrogate, C=20, tol=1e-6, max_iter=5000).fit(X, y, groups=groups)
    assert model.duality_gap_ <= 1e-4
    assert model.objective_ == pytest.approx(reference.objective_, rel=1.1e-4)
    assert model.lower_bound_ <= reference.objective_ * (1 + 1e-9)
    assert "certified" in model.stop_reason_
    assert all(len(column) == model.n_iter_ for column in model.history_.values())
    assert (np.diff(model.history_["lower_bound"]) >= 0).all()


def test_sample_weight_weighs_sets(bags):
    X, y, groups = bags
    weight = np.where(groups < 6, 2.0, 0.0)
    weighted = SetClassifier(C=10).fit(X, y, groups=groups, sample_weight=weight)
    kept = groups < 6
    subset = SetClassifier(C=10).fit(X[kept], y[kept], groups=groups[kept])
    np.testing.assert_allclose(weighted.objective_, subset.objective_, rtol=2e-3)
    assert weighted.score(X, y, groups, weight) == pytest.approx(weighted.score(X[kept], y[kept], groups[kept]))
    huge = SetClassifier(C=10).fit(X, y, groups=groups, sample_weight=1.7e308 * (weight > 0))
    np.testing.assert_allclose(huge.coef_, weighted.coef_)


def test_class_weight_moves_the_balance():
    X, y = make_classification(300, 4, weights=[0.8], flip_y=0.2, random_state=0)
    positives = [
        SetClassifier("hamming", C=0.1, class_weight={0: 1.0, 1: b}).fit(X, y).predict(X).sum() for b in (0.2, 1.0, 5.0)
    ]
    assert positives[0] < positives[1] < positives[2]
    balanced = SetClassifier("jaccard", C=300, class_weight="balanced").fit(X, y)
    assert balanced.predict(X).sum() > SetClassifier("jaccard", C=300).fit(X, y).predict(X).sum() * 0.9


def test_class_weight_is_refused_where_it_has_no_meaning(bags):
    X, y, groups = bags
    with pytest.raises(Refusal, match=r"class_weight refuses EarlyDetection\(\)"):
        SetClassifier("early_detection", class_weight="balanced").fit(X, y, groups=groups)
    with pytest.raises(Refusal, match="class_weight refuses a surrogate object"):
        SetClassifier(surrogate=MarginRescaling(Jaccard()), class_weight="balanced").fit(X, y)


@pytest.mark.filterwarnings("ignore:SetClassifier stalled")
def test_objects_instead_of_names(bags):
    X, y, groups = bags
    loss = Capped(np.linspace(1, 0.1, 10), 1.5)
    model = SetClassifier(loss, MarginRescaling(loss, Greedy()), OneSlack(C=10, max_iter=40)).fit(X, y, groups=groups)
    assert model.loss_ is loss
    assert model.duality_gap_ >= 0
    clone(model).fit(X, y, groups=groups)


def test_inexact_inference_is_never_called_converged_on_trust():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((300, 3)), np.repeat(np.arange(10), 30)
    y = X[:, 0] + rng.standard_normal(300) > 0
    model = SetClassifier("early_detection", "margin", C=10, max_iter=200).fit(X, y, groups=groups)
    assert model.history_["upper_bound"][-1] >= model.objective_
    assert model.duality_gap_ > 1e-3 or "within tol" in model.stop_reason_
    if model.duality_gap_ > 1e-3:
        assert "inexact inference" in model.stop_reason_


def test_pipeline_grid_search_and_cross_validation_route_groups(bags):
    X, y, groups = bags
    set_config(enable_metadata_routing=True)
    try:
        model = SetClassifier().set_fit_request(groups=True).set_score_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), model)
        search = GridSearchCV(pipeline, {"setclassifier__C": [1.0, 30.0]}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, groups=groups)
        assert search.best_score_ > 0.3
        scores = cross_val_score(pipeline, X, y, cv=GroupKFold(3), params={"groups": groups}, error_score="raise")
        assert scores.shape == (3,)
    finally:
        set_config(enable_metadata_routing=False)


def test_a_large_intercept_scaling_frees_the_intercept(bags):
    X, y, groups = bags
    shifted = X + 30.0
    held, free = (
        SetClassifier(C=10, tol=1e-5, max_iter=5000, intercept_scaling=c).fit(shifted, y, groups=groups).objective_
        for c in (1.0, 100.0)
    )
    centered = SetClassifier(C=10, tol=1e-5, max_iter=5000, intercept_scaling=100.0).fit(X, y, groups=groups).objective_
    assert abs(free - centered) < 0.2 * abs(held - centered)


@pytest.mark.parametrize("average", ["samples", "micro", "macro"])
def test_intercept_scaling_is_a_constant_feature(average):
    X, Y = make_multilabel_classification(50, 4, n_classes=3, random_state=2)
    wide = np.column_stack([X, np.full(len(X), 5.0)])
    scaled = SetClassifier("hamming", C=5, tol=1e-7, average=average, intercept_scaling=5.0).fit(X, Y)
    column = SetClassifier("hamming", C=5, tol=1e-7, average=average, fit_intercept=False).fit(wide, Y)
    np.testing.assert_allclose(scaled.coef_, column.coef_[:, :-1], atol=1e-3)
    np.testing.assert_allclose(scaled.intercept_, 5.0 * column.coef_[:, -1], atol=5e-3)
    warm = SetClassifier("hamming", C=5, tol=1e-7, average=average, intercept_scaling=5.0, warm_start=True).fit(X, Y)
    warm.fit(X, Y)
    assert warm.history_["objective"][0] == pytest.approx(scaled.objective_, rel=1e-6)


def test_pickle_and_warm_start(bags):
    X, y, groups = bags
    model = SetClassifier(C=30, tol=1e-4, warm_start=True).fit(X, y, groups=groups)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    cold = model.n_iter_
    objective = model.objective_
    model.fit(X, y, groups=groups)
    assert model.history_["objective"][0] == pytest.approx(objective, rel=1e-9)
    assert model.n_iter_ <= cold


def test_safe_saving_holds_only_data(bags, tmp_path):
    skops = pytest.importorskip("skops.io")
    X, y, groups = bags
    model = SetClassifier(C=30).fit(X, y, groups=groups)
    skops.dump(model, tmp_path / "model.skops")
    unknown = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(name.startswith("setwise.") for name in unknown)
    loaded = skops.load(tmp_path / "model.skops", trusted=unknown)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_digits_jaccard_beats_predicting_all_positive():
    X, y = load_digits(return_X_y=True)
    y = y == 0
    model = SetClassifier(C=3000).fit(X[::2] / 16, y[::2])
    assert model.score(X[1::2] / 16, y[1::2]) > 0.9


@pytest.mark.parametrize("learner", ["block_frank_wolfe", "subgradient"])
def test_random_state_repeats_a_fit(learner, bags):
    X, y, groups = bags
    model = SetClassifier("hamming", learner=learner, C=10, tol=1e-2)
    fits = [
        clone(model).set_params(random_state=state).fit(X, y, groups=groups).coef_
        for state in (3, 3, np.random.RandomState(3), np.random.RandomState(3))
    ]
    assert np.array_equal(fits[0], fits[1])
    assert np.array_equal(fits[2], fits[3])


def test_verbose_draws_a_bar(bags, capsys):
    X, y, _ = bags
    SetClassifier(verbose=1, C=100).fit(X, y)
    assert "SetClassifier [" in capsys.readouterr().err


def test_ctrl_c_keeps_the_best_weights(bags, monkeypatch):
    X, y, groups = bags
    cut, calls = MeanRisk.cut, []

    def interrupted(self, w, tol=0.0):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return cut(self, w, tol)

    monkeypatch.setattr(MeanRisk, "cut", interrupted)
    model = SetClassifier(C=1000, tol=1e-6)
    with (
        pytest.warns(RuntimeWarning, match="interrupted; these are the best weights so far"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, y, groups=groups)
    assert model.n_iter_ == 3
    assert np.isfinite(model.coef_).all()
    assert "interrupted" in model.stop_reason_
    assert model.score(X, y, groups=groups) > 0


@pytest.mark.filterwarnings("ignore:SetClassifier was interrupted")
def test_ctrl_c_stops_a_search_too(bags, monkeypatch):
    X, y, _ = bags
    cut, calls = MeanRisk.cut, []

    def interrupted(self, w, tol=0.0):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return cut(self, w, tol)

    monkeypatch.setattr(MeanRisk, "cut", interrupted)
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(SetClassifier(tol=1e-6), {"C": [100.0, 1000.0]}, cv=3).fit(X, y)
    assert len(calls) == 30


def test_too_few_iterations_warn(bags):
    X, y, _ = bags
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations"):
        SetClassifier(C=1e4, max_iter=1).fit(X, y)


def test_zeros_and_huge_features():
    y = np.array([0, 1, 0, 1])
    nothing = SetClassifier(C=10).fit(np.zeros((4, 2)), y)
    assert (nothing.coef_ == 0).all()
    with pytest.raises(OverflowError, match="scale X or C down"):
        SetClassifier(C=10).fit(np.array([[1e300], [-1e300], [1e300], [2e300]]), y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.full((4, 2), np.nan)}, "NaN"),
        ({"X": np.full((4, 2), np.inf)}, "X must be finite"),
        ({"y": [0, 1, 0]}, "inconsistent numbers of samples"),
        ({"y": [1, 1, 1, 1]}, "only one class"),
        ({"y": [0, 1, 2, 1], "class_weight": "balanced"}, "class_weight refuses more than two classes"),
        ({"y": [0, 1, 2, 1], "loss": "auc"}, r"SetClassifier refuses RocArea\(\) for 3 classes"),
        ({"y": [0, 1, 0, 1], "pos_label": 7}, r"pos_label must be one of the labels \[0, 1\]; got 7"),
        ({"y": None}, "requires y to be passed"),
        ({"y": csr_matrix(np.eye(4))}, "a sparse matrix: pass Y.toarray"),
        ({"y": [[0, 1], [1]]}, "got a ragged sequence"),
        ({"y": np.array([0, None, 1, 1], dtype=object)}, "y must not hold missing values"),
        ({"y": [0.1, 0.2, 0.3, 0.4]}, "Unknown label type"),
        ({"y": [[0, 2], [1, 0], [1, 1], [0, 1]]}, "must be a matrix of labels 0 and 1|multiclass-multioutput"),
        ({"groups": [0, 1]}, r"groups must have shape \(4,\)"),
        ({"groups": [0.0, 1.0, np.nan, 1.0]}, "groups must not hold NaN"),
        ({"groups": np.array([0, None, 1, 1], dtype=object)}, "groups must not hold missing"),
        ({"groups": [1, "1", 2, 2]}, "groups must be ids of one type; got text and whole numbers"),
        ({"groups": [2**53, 0.5, 2**53 + 1, 0.5]}, "groups must be ids of one type; got numbers and whole numbers"),
        ({"groups": np.array(["a", 1, 1, "a"], dtype=object)}, "groups must be ids of one type"),
        ({"groups": np.array(["2020-01-01", "NaT"] * 2, dtype="M8[D]")}, "groups must not hold NaT"),
        ({"sample_weight": ["a", 1, 1, 1]}, "sample_weight must hold real numbers"),
        ({"sample_weight": [1, -1, 1, 1]}, "sample_weight must be finite, not negative"),
        ({"sample_weight": [1, 2, 1, 1]}, "the same for all rows of a set"),
        ({"sample_weight": [1, 1]}, r"sample_weight must have shape \(4,\)"),
        (
            {"y": [[0, 1], [1, 0], [1, 1], [0, 1]], "groups": [0, 0, 1, 1]},
            "what is a set in a label matrix Y, average says",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, words):
    arguments = {"X": np.eye(4)[:, :2], "y": [0, 1, 0, 1]} | change
    parameters = {name: arguments.pop(name) for name in ("loss", "class_weight", "pos_label") if name in arguments}
    with pytest.raises((ValueError, TypeError), match=words):
        SetClassifier(**parameters).fit(**arguments)


@pytest.mark.parametrize(
    "parameters",
    [
        *({"loss": "nope"}, {"surrogate": "nope"}, {"learner": 3}, {"C": 0.0}, {"tol": -1.0}, {"max_iter": 0}),
        *({"loss": Jaccard}, {"surrogate": MarginRescaling}, {"learner": OneSlack}, {"tol": "a"}),
    ],
)
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match="parameter of SetClassifier"):
        SetClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_loss_that_does_not_fit_the_sets(bags):
    X, y, groups = bags
    with pytest.raises(ValueError, match="has 3 weights, one for each place; got a set of 10"):
        SetClassifier(Hamming([1, 2, 3])).fit(X, y, groups=groups)


def test_unfitted_and_unknown_labels(bags):
    X, y, _groups = bags
    with pytest.raises(NotFittedError):
        SetClassifier().predict(X)
    model = SetClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y must hold the labels"):
        model.score(X, np.full(len(y), "cured"))
    with pytest.raises(ValueError, match="y must have the shape of predict"):
        model.score(X, np.zeros((len(y), 2)))


def test_a_refused_fit_leaves_the_model_as_it_was(bags):
    X, y, groups = bags
    model = SetClassifier("jaccard", C=100).fit(X, y, groups=groups)
    before, score = dict(vars(model)), model.score(X, y, groups=groups)
    for parameters in ({"loss": "f1", "surrogate": "lovasz"}, {"loss": Hamming([1.0])}, {"loss": "hamming"}):
        model.set_params(**parameters)
        with pytest.raises(ValueError, match=r"refuses|has 1 weights|sample_weight"):
            model.fit(X, y, groups=groups, sample_weight=np.arange(len(y)))
        model.set_params(loss="jaccard", surrogate="auto")
        assert vars(model).keys() == before.keys()
        assert model.loss_ is before["loss_"]
        assert model.score(X, y, groups=groups) == score


def test_the_positive_label_can_be_chosen(bags):
    X, y, groups = bags
    sick, healthy = (SetClassifier(C=100, pos_label=label).fit(X, y, groups=groups) for label in ("sick", "healthy"))
    assert list(sick.classes_) == ["healthy", "sick"]
    assert list(healthy.classes_) == ["sick", "healthy"]
    assert ((healthy.decision_function(X) > 0) == (healthy.predict(X) == "healthy")).all()
    assert healthy.score(X, y, groups=groups) != sick.score(X, y, groups=groups)
    twin = SetClassifier(C=100).fit(X, np.where(y == "healthy", "z", "a"), groups=groups)
    np.testing.assert_allclose(twin.coef_, healthy.coef_)


@pytest.mark.parametrize("loss", ["jaccard", "f1", "error_rate", "hamming"])
def test_more_than_two_classes(loss):
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
    names = np.array(["cat", "dog", "emu"])[y]
    model = SetClassifier(loss, C=300, tol=1e-2).fit(X, names)
    assert model.coef_.shape == (3, 6)
    assert model.decision_function(X).shape == (150, 3)
    assert set(model.predict(X)) <= {"cat", "dog", "emu"}
    guess = model.predict(X)
    if loss in ("jaccard", "f1"):
        metric = {"jaccard": jaccard_score, "f1": f1_score}[loss]
        assert model.score(X, names) == pytest.approx(metric(names, guess, average="macro"))
        assert isinstance(model.loss_, MeanOverClasses)
    else:
        wrong = float(np.sum(guess != names))
        assert model.score(X, names) == pytest.approx(1 - (wrong / 150 if loss == "error_rate" else wrong))
    assert (guess == names).mean() > 0.6
    assert model.history_["upper_bound"][-1] >= model.objective_ * (1 - 1e-12) >= model.lower_bound_


def test_one_class_against_the_rest():
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
    model = SetClassifier("f1", C=300, pos_label=2).fit(X, y)
    assert model.loss_ == OneClass(plain_losses()["f1"](), 2)
    assert model.score(X, y) == pytest.approx(f1_score(y == 2, model.predict(X) == 2))
    assert model.duality_gap_ <= 1e-3


def test_classes_in_groups_and_threads():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((120, 3)), rng.permutation(np.repeat(np.arange(6), 20))
    y = np.argmax(X @ rng.standard_normal((3, 3)), axis=1)
    one, two = (SetClassifier("jaccard", C=100, tol=1e-2, n_jobs=n).fit(X, y, groups=groups) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    losses = [one.loss_(y[groups == g], one.predict(X)[groups == g]) for g in range(6) if len(set(y[groups == g])) == 3]
    assert len(losses) == 6
    assert one.score(X, y, groups=groups) == pytest.approx(1 - np.mean(losses))


def test_names_of_features_and_of_labels():
    pandas = pytest.importorskip("pandas")
    X, Y = make_multilabel_classification(60, 3, n_classes=2, random_state=0)
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = SetClassifier("hamming", C=10).fit(table, pandas.DataFrame(Y, columns=["rain", "snow"]))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert list(model.classes_) == ["rain", "snow"]
    assert model.score(table, Y) == model.score(table, pandas.DataFrame(Y, columns=["rain", "snow"]))
    with pytest.raises(ValueError, match=r"y must have the shape of predict\(X\), \(60, 2\); got shape \(60, 3\)"):
        model.score(table, np.column_stack([Y, Y[:, 0]]))


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "int64[pyarrow]", "bool[pyarrow]"])
def test_targets_of_pandas_own_types(dtype):
    pandas = pytest.importorskip("pandas")
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    X, Y = make_multilabel_classification(60, 3, n_classes=2, random_state=0)
    columns = pandas.DataFrame(
        {
            name: pandas.array(Y[:, i].astype(bool if "bool" in dtype else int), dtype=dtype)
            for i, name in enumerate("ab")
        }
    )
    many = SetClassifier("hamming", C=10).fit(X, columns)
    assert many.score(X, columns) == many.score(X, Y)
    one = SetClassifier("hamming", C=10).fit(X, columns["a"])
    assert one.classes_.tolist() == ([False, True] if "bool" in dtype else [0, 1])
    assert one.classes_.dtype.kind in "bi"
    assert one.score(X, columns["a"]) == SetClassifier("hamming", C=10).fit(X, Y[:, 0]).score(X, Y[:, 0])
    gap = columns["a"].copy()
    gap[3] = pandas.NA
    with pytest.raises(ValueError, match="y must not hold missing values|y contains NaN"):
        SetClassifier().fit(X, gap)
    with pytest.raises(ValueError, match="groups must not hold (missing values|NaN)"):
        SetClassifier().fit(X, Y[:, 0], groups=gap)


@pytest.mark.filterwarnings("ignore:groups split the rows here")
def test_dropped_groups_are_said(bags):
    X, y, groups = bags
    with pytest.warns(UserWarning, match="groups split the rows here but do not reach SetClassifier.fit"):
        cross_val_score(SetClassifier(C=10), X, y, groups=groups, cv=GroupKFold(3))
    with pytest.warns(UserWarning, match="do not reach SetClassifier.fit, which takes all rows as one set. Let them"):
        GridSearchCV(SetClassifier(), {"C": [1.0, 10.0]}, cv=GroupKFold(3)).fit(X, y, groups=groups)
    model = SetClassifier(C=10).fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match="score without groups takes all rows as one set, but fit was given groups"):
        model.score(X, y)


def test_small_products_take_one_thread(bags, monkeypatch):
    from threadpoolctl import threadpool_info

    X, y, groups = bags
    seen, cut = [], MeanRisk.cut

    def counted(self, w, tol=0.0):
        seen.append([lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"])
        return cut(self, w, tol)

    monkeypatch.setattr(MeanRisk, "cut", counted)
    SetClassifier(C=10).fit(X, y, groups=groups)
    assert all(threads == 1 for found in seen for threads in found)


def test_a_model_of_another_version_says_so(bags, monkeypatch):
    X, y, _ = bags
    stored = pickle.dumps(SetClassifier(C=10).fit(X, y))
    monkeypatch.setattr("setwise.__version__", "99.0")
    with pytest.warns(InconsistentVersionWarning, match=r"setwise .* when using version setwise 99.0"):
        pickle.loads(stored)


def test_the_auto_surrogate_reads_the_shape_of_a_function_of_counts(bags):
    X, y, groups = bags
    tolerant = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20))
    promised = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20), [Trait.SUBMODULAR, Trait.INCREASING])
    a, b = (SetClassifier(loss, C=10).fit(X, y, groups=groups) for loss in (tolerant, promised))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert a.objective_ == pytest.approx(SetClassifier(tolerant, "lovasz", C=10).fit(X, y, groups=groups).objective_)
