"""Models in files: the same labels after loading, and whatever else a file may hold is one sentence."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from compare.saved_models import matrix_model, raw_rows, table_model, write_csv
from setwise import MeasureClassifier, SetClassifier
from setwise.compare.saved_model import (
    SavedModel,
    load_model,
    save_model,
)
from setwise.core.exceptions import Refusal
from setwise.datasets import load_rows, load_table
from setwise.estimators import TableEncoder
from setwise.estimators.selection import STRATEGIES, choice
from setwise.losses import LOSSES

skops = pytest.importorskip("skops.io")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, :3] + 0.5 * RNG.normal(size=(120, 3)) > 0).astype(int)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("saved") / "t.csv", raw_rows())


def again(model, folder):
    return load_model(save_model(model, folder / "model.skops"))


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_classes_are_found_by_their_names_whatever_module_has_them(table, tmp_path):
    model, data = table_model(table, "set")
    path = save_model(model, tmp_path / "model.skops")
    with ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for home in ("setwise", "setwise.moved.away"):
        schema = files["schema.json"].decode()
        schema = re.sub(r'"__module__": "setwise[^"]*"', f'"__module__": "{home}"', schema)
        with ZipFile(path, "w") as archive:
            for name, content in (files | {"schema.json": schema}).items():
                archive.writestr(name, content)
        assert_same(load_model(path).decide(data.X), model.decide(data.X))


def test_no_two_classes_of_setwise_have_one_name():
    homes = {}
    for home, module in [*sys.modules.items()]:
        if home.startswith("setwise.") and not home.startswith("setwise.dask"):
            for name, held in vars(module).items():
                if isinstance(held, type) and held.__module__ == home:
                    assert homes.setdefault(name, home) == home


@pytest.mark.draw(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_strategy_is_saved(strategy, tmp_path, monkeypatch):
    # Whatever the gain, the model takes what was asked for, so that its rule is saved.
    monkeypatch.setattr(choice, "errors_needed", lambda gains, *_: np.full(gains.shape, -np.inf))
    rows = X[:60]
    for y in (Y[:60, 0], Y[:60]):
        model = MeasureClassifier(LogisticRegression(), "f1", [strategy], cv=2)
        if strategy not in ("gfm", "label_thresholds") or y.ndim == 2:
            saved = SavedModel(
                model.fit(rows, y), ("a", "b", "c")[: 2 if y.ndim == 1 else 3], "f1", n_features=4, many=y.ndim == 2
            )
            assert_same(again(saved, tmp_path).decide(rows), saved.decide(rows))


@pytest.mark.draw(2)
@pytest.mark.parametrize("kind", ["linear", "forest", "boosted", "categories", "set"])
def test_a_model_of_a_raw_table_decides_the_same_after_loading(table, tmp_path, kind):
    model, data = table_model(table, kind)
    loaded = again(model, tmp_path)
    assert_same(loaded.decide(data.X), model.decide(data.X))
    assert (loaded.columns, loaded.classes, loaded.loss) == (data.columns, ("no", "yes"), "f1")
    labels, scores = loaded.decide(data.X)
    np.testing.assert_array_equal(labels, scores >= model.threshold)
    assert np.mean(labels == data.y) > 0.85


@pytest.mark.draw(3)
@pytest.mark.parametrize(
    "estimator",
    [
        CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=2),
        CalibratedClassifierCV(RandomForestClassifier(3, random_state=0), cv=2),
        DecisionTreeClassifier(random_state=0),
        GradientBoostingClassifier(n_estimators=3),
        AdaBoostClassifier(n_estimators=3),
        FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
        TunedThresholdClassifierCV(LogisticRegression(), cv=2),
        GaussianNB(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_classifiers_of_scikit_learn_with_predict(estimator, tmp_path):
    model = SavedModel(estimator.fit(X, Y[:, 0]), ("no", "yes"), "f1", n_features=4)
    assert_same(again(model, tmp_path).decide(X), model.decide(X))
    np.testing.assert_array_equal(model.decide(X)[0], estimator.predict(X))


@pytest.mark.draw(16)
@pytest.mark.parametrize(
    ("estimator", "response"),
    [
        (RandomForestClassifier(5, random_state=0), "predict_proba"),
        (MultiOutputClassifier(LogisticRegression()), "predict_proba"),
        (OneVsRestClassifier(LogisticRegression()), "predict_proba"),
        (OneVsRestClassifier(SGDClassifier(random_state=0)), "decision_function"),
        (SetClassifier("jaccard", C=10.0), "decision_function"),
        (SetClassifier("hamming", C=10.0), "predict"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseEstimator) else one,
)
@pytest.mark.parametrize("threshold", [None, 0.25, (0.1, 0.5, 0.9)], ids=str)
def test_label_matrices(estimator, response, threshold, tmp_path):
    if response == "predict" and threshold is not None:
        pytest.skip("no scores, no threshold")
    model = matrix_model(estimator, X, Y, response=response, threshold=threshold)
    loaded = again(model, tmp_path)
    assert_same([loaded.decide(X)[0]], [model.decide(X)[0]])
    labels, scores = loaded.decide(X)
    assert labels.shape == (120, 3)
    if threshold is None:
        np.testing.assert_array_equal(labels, estimator.predict(X))
    else:
        np.testing.assert_array_equal(labels, scores >= np.array(threshold))


def test_a_label_that_the_training_did_not_show_has_probability_0():
    constant = Y.copy()
    constant[:, 1] = 0
    forest = matrix_model(RandomForestClassifier(3, random_state=0), X, constant, response="predict_proba")
    assert not forest.decide(X)[1][:, 1].any()
    constant[:, 1] = 1
    forest = matrix_model(RandomForestClassifier(3, random_state=0), X, constant, response="predict_proba")
    assert (forest.decide(X)[1][:, 1] == 1).all()


def test_infinite_thresholds_decide_all_or_none(tmp_path):
    for threshold, label in ((np.inf, 0), (-np.inf, 1)):
        fitted = LogisticRegression().fit(X, Y[:, 0])
        model = SavedModel(fitted, ("no", "yes"), "f1", n_features=4, response="decision_function", threshold=threshold)
        assert (again(model, tmp_path).decide(X)[0] == label).all()


def test_some_of_the_features_alone(tmp_path):
    places = np.array([2, 0])
    fitted = LogisticRegression().fit(X[:, places], Y[:, 0])
    model = again(SavedModel(fitted, ("no", "yes"), "f1", n_features=4, places=places), tmp_path)
    np.testing.assert_array_equal(model.decide(X)[0], fitted.predict(X[:, places]))


class JointClassifier(BaseEstimator):
    """A rule that sees the other rows of a group; it is no class of setwise, so it is not saved."""

    def predict(self, X, groups):
        first = np.unique(groups, return_index=True)[1]
        return np.isin(np.arange(len(groups)), first).astype(int)


def test_a_joint_model_reads_the_groups(tmp_path):
    model = SavedModel(JointClassifier(), ("no", "yes"), "f1", n_features=4, joint=True)
    labels, scores = model.decide(X[:4], np.array([1, 1, 2, 1]))
    assert labels.tolist() == [1, 0, 1, 0]
    assert scores is None
    with pytest.raises(ValueError, match="decides the rows of a group together; name the column of the groups"):
        model.decide(X)
    with pytest.raises(
        ValueError,
        match=r"m.skops cannot be saved: it names what is no class .*: '.*JointClassifier'; use what",
    ):
        save_model(model, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def test_what_would_not_be_loaded_is_not_saved(tmp_path):
    for function, says in ((lambda x: x, "it names what .*lambda"), (open, "'_?io.open'")):
        fitted = LogisticRegression().fit(X, Y[:, 0])
        steps = Pipeline([("encoder", FunctionTransformer(function)), ("model", fitted)])
        model = SavedModel(steps, ("no", "yes"), "f1", n_features=4)
        with pytest.raises(ValueError, match=says):
            save_model(model, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def test_a_saved_file_replaces_another_and_can_be_read_as_other_files(tmp_path):
    fitted = LogisticRegression().fit(X, Y[:, 0])
    path = tmp_path / "m.skops"
    for loss in ("f1", "jaccard"):
        save_model(SavedModel(fitted, ("no", "yes"), loss, n_features=4), path)
    assert load_model(path).loss == "jaccard"
    (tmp_path / "other").write_text("")
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / "link.skops").symlink_to(path)
    save_model(SavedModel(fitted, ("no", "yes"), "f1", n_features=4), tmp_path / "link.skops")
    assert (tmp_path / "link.skops").is_symlink()
    assert load_model(path).loss == "f1"


def test_what_is_not_fitted_is_not_saved_and_nan_is_no_answer(tmp_path):
    model = SavedModel(LogisticRegression(), ("no", "yes"), "f1", n_features=4)
    half = make_pipeline(StandardScaler(), LogisticRegression().fit(X, Y[:, 0]))
    for one, at in ((model, "LogisticRegression"), (replace(model, estimator=half), "StandardScaler")):
        with pytest.raises(ValueError, match=f"m.skops cannot be saved: This {at} instance is not fitted yet"):
            save_model(one, tmp_path / "m.skops")
    (tmp_path / "far.skops").symlink_to(os.path.join("away", "m.skops"))
    whole = make_pipeline(FunctionTransformer(), "passthrough", LogisticRegression()).fit(X, Y[:, 0])
    with pytest.raises(FileNotFoundError, match="there is no folder .*away for far.skops"):
        save_model(replace(model, estimator=whole), tmp_path / "far.skops")
    fitted = LogisticRegression().fit(X, Y[:, 0])
    fitted.coef_ = fitted.coef_ * np.nan
    broken = SavedModel(fitted, ("no", "yes"), "f1", n_features=4, response="decision_function", threshold=0.0)
    with pytest.raises(ValueError, match="decision_function must give numbers; got NaN"):
        broken.decide(X)


@pytest.mark.draw(2)
@pytest.mark.parametrize(
    ("estimator", "where"),
    [
        (LogisticRegression(), "coef_"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "intercept_"),
        (SetClassifier("hamming", C=10.0), "coef_"),
        (GaussianNB(), "theta_"),
        (MLPClassifier((3,), tol=1.0, n_iter_no_change=1), "coefs_"),
        (CalibratedClassifierCV(LogisticRegression(), cv=2), "coef_"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseEstimator) else one,
)
def test_weights_that_are_nan_are_neither_saved_nor_loaded(estimator, where, tmp_path):
    fitted = clone(estimator).fit(X, Y[:, 0])
    model = SavedModel(fitted, ("no", "yes"), "f1", n_features=4)
    inner = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    if isinstance(fitted, CalibratedClassifierCV):
        inner = fitted.calibrated_classifiers_[1].estimator
    if where == "coefs_":
        inner.coefs_[1][0] = np.nan
    else:
        setattr(inner, where, np.nan * getattr(inner, where))
    says = f"{where} of its {type(inner).__name__} is NaN"
    with pytest.raises(Refusal, match=f"m.skops cannot be saved: {says}; fit it to rows of numbers"):
        save_model(model, tmp_path / "m.skops")
    skops.dump(model, tmp_path / "m.skops")
    with pytest.raises(ValueError, match=f"m.skops is not a model saved by setwise: {says}"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize(
    "estimator", [GradientBoostingClassifier(n_estimators=3), HistGradientBoostingClassifier(max_iter=3)]
)
def test_leaves_of_trees_that_are_nan_are_neither_saved_nor_loaded(estimator, tmp_path):
    fitted = clone(estimator).fit(X, Y[:, 0])
    held = (
        fitted.estimators_[1, 0].tree_.value
        if hasattr(fitted, "estimators_")
        else fitted._predictors[1][0].nodes["value"]
    )
    held[1] = np.nan
    model = SavedModel(fitted, ("no", "yes"), "f1", n_features=4)
    with pytest.raises(Refusal, match="m.skops cannot be saved: .* is damaged"):
        save_model(model, tmp_path / "m.skops")
    skops.dump(model, tmp_path / "m.skops")
    with pytest.raises(ValueError, match="m.skops is not a model saved by setwise: .* is damaged"):
        load_model(tmp_path / "m.skops")


@pytest.mark.filterwarnings("ignore:All-NaN")
def test_gaps_that_a_model_was_fitted_to_are_no_reason_to_refuse(tmp_path):
    gaps = np.where(RNG.random(X.shape) < 0.3, np.nan, X)
    for model in (
        DecisionTreeClassifier(),
        HistGradientBoostingClassifier(max_iter=3),
        RandomForestClassifier(3),
        make_pipeline(MinMaxScaler(), SimpleImputer(keep_empty_features=True), LogisticRegression()),
    ):
        gaps[:, 3] = np.nan if isinstance(model, Pipeline) else X[:, 3]
        fitted = model.fit(gaps, Y[:, 0])
        save_model(SavedModel(fitted, ("no", "yes"), "f1", n_features=4), tmp_path / "m.skops")
        assert (load_model(tmp_path / "m.skops").estimator.predict(gaps) == fitted.predict(gaps)).all()


def test_a_model_of_another_version_warns(tmp_path):
    fitted = LogisticRegression().fit(X, Y[:, 0])
    path = save_model(SavedModel(fitted, ("no", "yes"), "f1", n_features=4, version="0.0.9"), tmp_path / "m.skops")
    with pytest.warns(InconsistentVersionWarning, match=r"SavedModel from version setwise 0.0.9"):
        load_model(path)
    path = save_model(SavedModel(fitted, ("no", "yes"), "f1", n_features=4, version="\x1b[31m\n"), tmp_path / "m.skops")
    with pytest.warns(InconsistentVersionWarning, match=r"from version setwise \\x1b\[31m\\n when"):
        load_model(path)


@pytest.mark.slow
def test_without_skops_one_sentence_says_how_to_install_it(tmp_path):
    code = (
        "import sys; sys.modules['skops'] = None; from setwise.compare.saved_model import load_model, optional\n"
        "for call in (lambda: load_model('m.skops'), lambda: optional('skops.io', 'to save a model')):\n"
        "    try: call()\n"
        "    except ValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "to read m.skops install skops: pip install 'setwise[compare]'.",
        "to save a model install skops: pip install 'setwise[compare]'.",
    ]


def test_a_threshold_needs_scores_and_labels():
    fitted = LogisticRegression().fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="threshold must be None where response is 'predict'"):
        SavedModel(fitted, ("no", "yes"), "f1", n_features=4, threshold=0.5)
    with pytest.raises(ValueError, match="threshold must be one number, or one for each label"):
        SavedModel(fitted, ("no", "yes"), "f1", n_features=4, response="predict_proba", threshold=(0.5,))


def test_an_estimator_that_answers_otherwise_is_refused():
    words = LogisticRegression().fit(X, np.where(Y[:, 0], "yes", "no"))
    with pytest.raises(ValueError, match="the estimator must predict labels 0 and 1"):
        SavedModel(words, ("no", "yes"), "f1", n_features=4).decide(X)
    many = SavedModel(LogisticRegression().fit(X, Y[:, 0]), ("a", "b"), "f1", n_features=4, many=True)
    with pytest.raises(ValueError, match=r"the estimator must predict labels 0 and 1 of shape \(120, 2\)"):
        many.decide(X)
    with pytest.raises(ValueError, match=r"decision_function must give scores of shape \(120, 2\); got \(120,\)"):
        replace(many, response="decision_function").decide(X)


def test_an_estimator_that_was_fitted_to_other_features_is_not_saved(table, tmp_path):
    data = load_table(table, "sick", drop="bag")
    numbers = np.nan_to_num(data.X)
    names = [column.name for column in data.columns]
    wide = np.column_stack([numbers, numbers[:, 0]])
    for fitted, was in (
        (
            GaussianNB().fit(pd.DataFrame(numbers, columns=names), data.y),
            "X does not have valid feature names, but GaussianNB was fitted with feature names",
        ),
        (GaussianNB().fit(wide, data.y), "X has 4 features, but GaussianNB is expecting 5 features as input"),
        (
            make_pipeline(StandardScaler(), GaussianNB()).fit(X[:, :3], Y[:, 0]),
            "X has 4 features, but StandardScaler is expecting 3 features as input",
        ),
    ):
        says = (
            f"m.skops cannot be saved: {was}; fit it to X of load_table and to labels 0 and 1, or give save_model the "
        )
        with pytest.raises(Refusal, match=says):
            save_model(SavedModel(fitted, data.classes, "f1", data.columns), tmp_path / "m.skops")
    fitted = GaussianNB().fit(X, Y[:, 0])
    with pytest.raises(Refusal, match="X has 2 features, .* 4 .*; fit it to an array and to labels 0 and 1, or give"):
        save_model(SavedModel(fitted, ("no", "yes"), "f1", n_features=4, places=np.array([0, 1])), tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def test_words_moments_and_units_are_read_by_a_loaded_model(tmp_path):
    rng = np.random.default_rng(0)
    ill = rng.random(200) < 0.5
    rows = [
        f"the patient number {i} says it {'hurts' if yes else 'is fine'},2024-03-{1 + i % 28:02} {i % 24:02}:30,"
        f"${i}.50,{int(yes)}"
        for i, yes in enumerate(ill)
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["note,seen,paid,ill", *rows]) + "\n")
    data = load_table(path, "ill")
    assert [column.kind for column in data.columns][-2:] == ["date", "number"]
    fitted = make_pipeline(TableEncoder(data.columns), LogisticRegression(C=10.0)).fit(data.X, data.y)
    model = SavedModel(fitted, data.classes, "f1", data.columns, response="predict_proba", threshold=0.5)
    loaded = load_model(save_model(model, tmp_path / "m.skops"))
    assert loaded.columns == data.columns
    new = tmp_path / "new.csv"
    new.write_text('paid,seen,note\n"$1.50",2025-01-01 12:00,it hurts\n$2,2025-01-01 12:00,now it is fine\n')
    labels, scores = loaded.decide(load_rows(new, loaded.columns).X)
    assert labels.tolist() == [1, 0]
    np.testing.assert_array_equal(scores, model.decide(load_rows(new, data.columns).X)[1])


def test_an_estimator_of_other_labels_is_neither_saved_nor_silent(tmp_path):
    for names in (["no", "yes"], ["0", "1"], [1, 2]):
        words = LogisticRegression().fit(X, np.array(names)[Y[:, 0]])
        model = SavedModel(words, ("no", "yes"), "f1", n_features=4, response="predict_proba", threshold=0.3)
        for ask in (lambda model=model: save_model(model, tmp_path / "m.skops"), lambda model=model: model.decide(X)):
            with pytest.raises(ValueError, match="the estimator was fitted to the labels .*, and not to 0 and 1"):
                ask()


@pytest.mark.draw(4)
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_every_loss_inside_an_estimator_is_known(name, tmp_path):
    for loss in LOSSES[name].examples(3):
        if name in ("count_function", "set_function", "metric") or callable(getattr(loss, "ratio", None)):
            continue  # functions of users are code
        if callable(getattr(loss, "costs", None)):
            continue  # and so are these
        estimator = LogisticRegression().fit(X, Y[:, 0])
        estimator.loss_ = loss
        model = SavedModel(estimator, ("no", "yes"), "f1", n_features=4)
        assert repr(again(model, tmp_path).estimator.loss_) == repr(loss)
