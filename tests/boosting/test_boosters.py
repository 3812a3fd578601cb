"""What XGBoost and LightGBM make of objectives and metrics, through each of their interfaces."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from setwise.boosting import metric, objective
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.losses import Jaccard, RocArea

pytestmark = pytest.mark.slow

ROUNDS = 20
GAINS = {"lovasz": 0.05, "margin": 0.05, "ramp": 0.01}
LIGHT = {"verbose": -1, "num_threads": 1, "num_leaves": 7, "min_data_in_leaf": 5, "learning_rate": 0.3}
EXTREME = {"nthread": 1, "max_depth": 3, "base_score": 0.0, "eta": 0.3, "verbosity": 0}


def beginning(X):
    """Scores from which the ramp descends; it is flat where all scores are equal."""
    return X[:, 0] + np.sin(3 * X[:, 1]) - 2.0


@pytest.fixture(scope="module")
def rows():
    """Rows whose label depends on two features and on their set; sets are not in order."""
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 20, 400)
    X = rng.standard_normal((400, 4))
    y = (X[:, 0] + np.sin(3 * X[:, 1]) + rng.standard_normal(20)[ids] > 1.2).astype(float)
    return X, y, ids


@pytest.fixture(scope="module")
def lightgbm():
    return pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def xgboost():
    return pytest.importorskip("xgboost")


def jaccard(y, scores, ids):
    """The mean Jaccard loss over sets."""
    order = np.argsort(ids, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(ids)))).astype(np.int64)
    return Jaccard().values(Sets(y[order] == 1, offsets), scores[order] > 0).mean()


def seen(own):
    """An objective of the four arguments of scikit-learn's interfaces, and what it was called with and returned."""
    calls = []

    def recorded(y_true, y_pred, sample_weight=None, group=None):
        found = own(y_true, y_pred, sample_weight, group)
        calls.append((y_true.copy(), y_pred.copy(), found))
        return found

    return recorded, calls


@pytest.mark.parametrize("surrogate", ["lovasz", "margin", "ramp"])
def test_lightgbm_learns_and_its_interfaces_agree(lightgbm, rows, surrogate):
    X, y, ids = rows
    own = objective("jaccard", groups=ids, surrogate=surrogate)
    start = beginning(X) if surrogate == "ramp" else None
    data = lightgbm.Dataset(X, y, init_score=start)
    native = lightgbm.train(LIGHT | {"objective": own}, data, ROUNDS).predict(X)
    recorded, calls = seen(own)
    sizes = {"n_jobs": 1, "num_leaves": 7, "min_child_samples": 5, "learning_rate": 0.3, "verbose": -1}
    model = lightgbm.LGBMClassifier(objective=recorded, n_estimators=ROUNDS, **sizes).fit(X, y, init_score=start)
    assert_allclose(model.predict(X, raw_score=True), native)
    assert len(calls) == ROUNDS
    assert_array_equal(calls[0][0], y)
    before, after = np.zeros(400) if start is None else start, native if start is None else native + start
    assert jaccard(y, after, ids) < jaccard(y, before, ids) - GAINS[surrogate]


@pytest.mark.parametrize("surrogate", ["lovasz", "margin", "ramp"])
def test_xgboost_learns_and_its_interfaces_agree(xgboost, rows, surrogate):
    X, y, ids = rows
    own = objective("jaccard", groups=ids, surrogate=surrogate)
    start = beginning(X) if surrogate == "ramp" else np.zeros(400)
    data = xgboost.DMatrix(X, y, base_margin=start)
    native = xgboost.train(EXTREME, data, ROUNDS, obj=own).predict(data, output_margin=True)
    recorded, calls = seen(own)
    model = xgboost.XGBClassifier(
        objective=recorded, n_estimators=ROUNDS, n_jobs=1, max_depth=3, learning_rate=0.3
    ).fit(X, y, base_margin=start)
    assert_allclose(model.predict(X, output_margin=True, base_margin=start), native, atol=1e-5)
    assert len(calls) == ROUNDS
    assert_array_equal(calls[0][0], y)
    assert_allclose(calls[0][1], start, atol=1e-6)
    assert jaccard(y, native, ids) < jaccard(y, start, ids) - GAINS[surrogate]


def test_groups_of_data_sets_are_sets(lightgbm, xgboost, rows):
    X, y, ids = rows
    order = np.argsort(ids, kind="stable")
    X, y, ids = X[order], y[order], ids[order]
    scores = np.random.default_rng(1).standard_normal(400)
    wanted = objective("jaccard", groups=ids)(y, scores)
    light = lightgbm.Dataset(X, y, group=np.bincount(ids)).construct()
    extreme = xgboost.DMatrix(X, y, qid=ids)
    for data in (light, extreme):
        assert_array_equal(objective("jaccard")(scores, data), wanted)
        with pytest.raises(Refusal, match="the data set already has groups"):
            objective("jaccard", groups=ids)(scores, data)
    # XGBoost has one weight for each group, and LightGBM one for each row.
    weight = np.random.default_rng(2).integers(1, 5, 20).astype(float)
    light = lightgbm.Dataset(X, y, group=np.bincount(ids), weight=weight[ids]).construct()
    extreme = xgboost.DMatrix(X, y, qid=ids, weight=weight)
    wanted = objective("jaccard", groups=ids)(y, scores, weight[ids])
    for data in (light, extreme):
        assert_allclose(objective("jaccard")(scores, data), wanted)
    model = xgboost.train(EXTREME, extreme, ROUNDS, obj=objective("jaccard"))
    assert jaccard(y, model.predict(extreme), ids) < 0.9


def test_weights_reach_the_objective_through_scikit_learn(lightgbm, xgboost, rows):
    X, y, ids = rows
    weight = np.where(ids < 10, 1.0, 0.0)
    for model in (
        lightgbm.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1),
        xgboost.XGBClassifier(n_estimators=2, n_jobs=1),
    ):
        recorded, calls = seen(objective("jaccard", groups=ids))
        model.set_params(objective=recorded).fit(X, y, sample_weight=weight)
        gradient, _ = calls[0][2]
        assert gradient[ids < 10].any()
        assert not gradient[ids >= 10].any()


def test_metrics_stop_boosters_early(lightgbm, xgboost, rows):
    X, y, ids = rows
    order = np.argsort(ids, kind="stable")
    X, y, ids = X[order], y[order], ids[order]
    train = ids < 14
    groups = [np.bincount(ids[part])[np.bincount(ids[part]) > 0] for part in (train, ~train)]

    light = [lightgbm.Dataset(X[p], y[p], group=g) for p, g in zip((train, ~train), groups, strict=True)]
    light[1].reference, log = light[0], {}
    model = lightgbm.train(
        LIGHT | {"objective": objective("jaccard"), "metric": "none"},
        light[0],
        60,
        valid_sets=[light[1]],
        feval=metric("jaccard", booster="lightgbm"),
        callbacks=[lightgbm.early_stopping(5, verbose=False), lightgbm.record_evaluation(log)],
    )
    values = log["valid_0"]["jaccard_loss"]
    assert model.best_iteration == 1 + int(np.argmin(values)) <= len(values) < 60
    best = model.predict(X[~train], num_iteration=model.best_iteration)
    assert min(values) == pytest.approx(jaccard(y[~train], best, ids[~train] - 14))

    extreme, log = [xgboost.DMatrix(X[p], y[p], qid=ids[p]) for p in (train, ~train)], {}
    model = xgboost.train(
        EXTREME | {"disable_default_eval_metric": 1},
        extreme[0],
        60,
        obj=objective("jaccard"),
        custom_metric=metric("jaccard", booster="xgboost"),
        evals=[(extreme[1], "valid")],
        evals_result=log,
        early_stopping_rounds=5,
        verbose_eval=False,
    )
    values = log["valid"]["jaccard_loss"]
    assert model.best_iteration == int(np.argmin(values)) < len(values) < 60
    best = model.predict(extreme[1], iteration_range=(0, model.best_iteration + 1), output_margin=True)
    assert min(values) == pytest.approx(jaccard(y[~train], best, ids[~train] - 14), abs=1e-5)


def test_metrics_of_scikit_learn_interfaces(lightgbm, xgboost, rows):
    X, y, ids = rows
    light = lightgbm.LGBMClassifier(objective=objective("jaccard", groups=ids), n_estimators=3, n_jobs=1, verbose=-1)
    light.fit(X, y, eval_set=[(X, y)], eval_metric=metric("jaccard", groups=ids, booster="lightgbm"))
    value = light.evals_result_["training"]["jaccard_loss"][-1]
    assert value == pytest.approx(jaccard(y, light.predict(X, raw_score=True), ids))
    extreme = xgboost.XGBClassifier(
        objective=objective("jaccard", groups=ids),
        eval_metric=metric("jaccard", groups=ids, booster="xgboost"),
        n_estimators=3,
        n_jobs=1,
    )
    extreme.fit(X, y, eval_set=[(X, y)], verbose=False)
    value = extreme.evals_result()["validation_0"]["jaccard_loss"][-1]
    assert value == pytest.approx(jaccard(y, extreme.predict(X, output_margin=True), ids), abs=1e-5)


def test_what_classifiers_predict_is_what_the_guide_says(lightgbm, xgboost, rows):
    X, y, ids = rows
    own, starts = objective("jaccard", groups=ids), []

    def recorded(y_true, y_pred):
        starts.append(y_pred[0])
        return own(y_true, y_pred)

    light = lightgbm.LGBMClassifier(objective=recorded, n_estimators=3, n_jobs=1, verbose=-1).fit(X, y)
    with warnings.catch_warnings():
        # LightGBM warns that it returns scores.
        warnings.simplefilter("ignore")
        assert_array_equal(light.predict(X), light.predict(X, raw_score=True))
    extreme = xgboost.XGBClassifier(objective=recorded, n_estimators=3, n_jobs=1).fit(X, y)
    assert_array_equal(extreme.predict(X), extreme.predict(X, output_margin=True) > 0)
    assert starts[0] == starts[3] == 0.0
    xgboost.train({"nthread": 1}, xgboost.DMatrix(X, y), 1, obj=lambda preds, data: recorded(data.get_label(), preds))
    assert starts[6] == 0.5


def test_probabilities_have_the_threshold_one_half(lightgbm, rows):
    X, y, ids = rows
    log = {}
    data = lightgbm.Dataset(X, y)
    model = lightgbm.train(
        LIGHT | {"objective": "binary", "metric": "none"},
        data,
        5,
        valid_sets=[data],
        feval=metric("jaccard", groups=ids, booster="lightgbm", threshold=0.5),
        callbacks=[lightgbm.record_evaluation(log)],
    )
    wanted = jaccard(y, model.predict(X, raw_score=True), ids)
    assert log["training"]["jaccard_loss"][-1] == pytest.approx(wanted)


def test_several_classes_are_refused(lightgbm, xgboost, rows):
    X, y, _ = rows
    with pytest.raises(Refusal, match="reads one score for each row"):
        lightgbm.train(LIGHT | {"objective": objective("jaccard"), "num_class": 2}, lightgbm.Dataset(X, y), 1)
    with pytest.raises(Refusal, match="reads one score for each row"):
        xgboost.train(EXTREME | {"num_class": 2}, xgboost.DMatrix(X, y), 1, obj=objective("jaccard"))


def test_the_forms_of_a_metric_without_boosters():
    y, scores = np.array([0, 1, 1, 0]), np.array([1.0, 2.0, -1.0, -2.0])
    assert metric("jaccard", booster="xgboost")(y, scores) == pytest.approx(2 / 3)
    name, value, higher = metric("jaccard", booster="lightgbm", threshold=1.5)(y, scores)
    assert (name, higher) == ("jaccard_loss", False)
    assert value == pytest.approx(1 / 2)
    ids = np.array([0, 0, 1, 1])
    assert metric("jaccard", ids, booster="xgboost")(y, scores) == pytest.approx((1 / 2 + 1) / 2)
    weight = np.array([3.0, 3.0, 1.0, 1.0])
    assert metric("jaccard", ids, booster="xgboost")(y, scores, weight) == pytest.approx((3 / 2 + 1) / 4)
    assert metric(RocArea(), booster="xgboost")(y, scores) == pytest.approx(1 / 4)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"booster": "catboost"}, ValueError, "booster must be one of 'xgboost', 'lightgbm'"),
        ({"booster": "xgboost", "threshold": np.nan}, ValueError, "threshold must be a finite number"),
        ({"booster": "xgboost", "groups": [[0]]}, ValueError, r"groups must have shape \(n,\)"),
        ({"booster": "xgboost", "loss": "multiclass"}, ValueError, "multiclass"),
    ],
)
def test_malformed_metrics_are_refused(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        metric(**{"loss": "jaccard"} | arguments)


def test_malformed_rows_of_a_metric_are_refused():
    for scores in (np.array([0.0, np.nan]), np.zeros(3)):
        with pytest.raises(ValueError, match="y_pred"):
            metric("jaccard", booster="xgboost")(np.array([0, 1]), scores)
    namespace = {"__name__": "lightgbm.dask", "own": metric("jaccard", booster="lightgbm")}
    exec("def train():\n    return own([0, 1], [0.0, 1.0])", namespace)
    with pytest.raises(Refusal, match=r"^metric refuses lightgbm\.dask"):
        namespace["train"]()
