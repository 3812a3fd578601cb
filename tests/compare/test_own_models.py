"""Classifiers of one's own in files: `setwise predict` says what they say of the frame that pandas reads."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from compare.own_models import READ, fitted, patients, pipeline, plain
from setwise import MeasureClassifier
from setwise.cli import main
from setwise.compare import SavedModel, load_model, save_model, tune
from setwise.core.exceptions import Refusal

pytest.importorskip("skops.io")


def labelled(model, new, folder, suffix=".csv"):
    """The table that `setwise predict` writes for the rows of a data frame."""
    data, out = folder / f"new{suffix}", folder / "labels.csv"
    new.to_csv(data, index=False) if suffix == ".csv" else new.to_parquet(data)
    assert main(["predict", str(model), str(data), "--out", str(out)]) == 0
    return pd.read_csv(out, dtype={"label": str}, keep_default_na=False)


def as_file(folder, table):
    """The rows as pandas reads them again, but for the word ? of the wards, and 007, which is text."""
    table.to_csv(folder / "again.csv", index=False)
    return pd.read_csv(folder / "again.csv", dtype={"ward": object})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("last", "score"),
    [
        (RandomForestClassifier(10, random_state=0), "probability"),
        (LogisticRegression(max_iter=2000), "probability"),
        (LinearSVC(), "score"),
        (FixedThresholdClassifier(LogisticRegression(max_iter=2000), threshold=0.2), "probability"),
        (TunedThresholdClassifierCV(RidgeClassifier(), cv=2), "score"),
        (MeasureClassifier(LogisticRegression(max_iter=2000), strategies=["threshold"], cv=2), "probability"),
    ],
    ids=lambda one: type(one).__name__ if hasattr(one, "fit") else one,
)
def test_a_pipeline_on_a_table_with_words_labels_a_file_as_it_labels_a_frame(tmp_path, last, score, suffix):
    old, new = patients(), patients(200, 1)
    new.loc[3:9, "ward"] = "west"
    model = fitted(old, last)
    path = save_model(model, tmp_path / "m.skops", old)
    found = labelled(path, new[["note", "sick", "id", "member", "ward", "age"]], tmp_path, suffix)
    rows = as_file(tmp_path, new)[READ]
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    raw = model.predict_proba(rows)[:, 1] if score == "probability" else model.decision_function(rows)
    np.testing.assert_allclose(found[score], raw, rtol=1e-12)
    assert 0 < (found["label"] == "yes").sum() < 200


@pytest.mark.parametrize("pos_label", [None, "no", "yes"])
@pytest.mark.parametrize(
    "last", [LogisticRegression(max_iter=2000), LinearSVC(random_state=0)], ids=["proba", "decision"]
)
def test_either_class_is_the_positive_one(tmp_path, pos_label, last):
    table = patients()
    model, X = plain(table, last)
    held = load_model(save_model(model, tmp_path / "m.skops", pos_label=pos_label))
    assert held.classes == (("yes", "no") if pos_label == "no" else ("no", "yes"))
    assert (held.columns, held.n_features, held.fitted_to) == ((), 1, "array")
    labels, scores = held.decide(X)
    np.testing.assert_array_equal(np.array(held.classes)[labels], model.predict(X))
    # Scores rise with the positive class.
    assert scores[labels == 1].min() >= scores[labels == 0].max()


@pytest.mark.parametrize("classes", [(0, 1), (1, 0), (False, True), (2.0, 7.0), (-1, 1)], ids=str)
def test_classes_of_any_kind(tmp_path, classes):
    table = patients()
    y = np.where(table["sick"] == "yes", classes[1], classes[0])
    path = save_model(fitted(table, LogisticRegression(max_iter=2000), y), tmp_path / "m.skops", table)
    found = labelled(path, table, tmp_path)
    words = {False: "False", True: "True"} if classes[0] is False else {one: f"{one:g}" for one in classes}
    rows = as_file(tmp_path, table)[READ]
    wanted = [words[one] for one in fitted(table, LogisticRegression(max_iter=2000), y).predict(rows).tolist()]
    assert found["label"].tolist() == wanted


def test_a_frame_of_numbers_needs_no_table_and_a_model_without_names_takes_it_from_one(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["c", "a", "b"])
    y = np.where(table["a"] > 0, "up", "down")
    for X, given in ((table, None), (table, table), (table.to_numpy(), table)):
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X, y)
        held = load_model(save_model(model, tmp_path / "m.skops", given))
        assert [column.name for column in held.columns] == ["c", "a", "b"]
        assert (held.training is None) == (given is None)
        found = labelled(tmp_path / "m.skops", table[["a", "b", "c"]], tmp_path)
        assert found["label"].tolist() == model.predict(X).tolist()
    with pytest.raises(ValueError, match="table must have the 3 columns of numbers .*; it has 'c', 'a', 'b', 'y'"):
        save_model(model, tmp_path / "no.skops", table.assign(y=y))
    assert not (tmp_path / "no.skops").exists()


def test_a_dtype_of_categories(tmp_path):
    table = patients()
    table["ward"] = table["ward"].astype("category")
    X, y = table[["age", "ward"]], table["sick"]
    model = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype").fit(X, y)
    path = save_model(model, tmp_path / "m.skops", table)
    new = patients(100, 1)
    new.loc[4, "ward"] = "west"
    found = labelled(path, new, tmp_path)
    rows = as_file(tmp_path, new)[["age", "ward"]]
    rows["ward"] = pd.Categorical(as_file(tmp_path, new)["ward"].replace("west", np.nan), table["ward"].cat.categories)
    np.testing.assert_array_equal(found["label"], model.predict(rows))


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(5, random_state=0), OneVsRestClassifier(LogisticRegression(max_iter=2000)),
     MultiOutputClassifier(LogisticRegression()), make_pipeline(StandardScaler(), MLPClassifier((5,), max_iter=20))],
    ids=["forest", "rest", "outputs", "network"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_label_matrices_need_the_names_of_labels(tmp_path, model):
    X = np.random.default_rng(0).normal(size=(60, 3))
    Y = (X > 0).astype(int)
    model.fit(X, Y)
    held = load_model(save_model(model, tmp_path / "m.skops", labels=["x", "y", "z"]))
    labels, scores = held.decide(X)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert scores.shape == (60, 3)
    assert (held.classes, held.many) == (("x", "y", "z"), True)
    with pytest.raises(Refusal, match="name its labels"):
        save_model(model, tmp_path / "no.skops")
    with pytest.raises(ValueError, match=r"no.skops cannot be saved: .* shape \(2, 2\)"):
        save_model(model, tmp_path / "no.skops", labels=["x", "y"])


def test_what_cannot_be_a_saved_model_is_one_sentence(tmp_path):
    table = patients()
    X, y = table[["age"]].fillna(0.0), table["sick"]
    spaced, gone, dated = table.copy(), table.astype({"ward": object}), table.copy()
    spaced["ward"] = " " + spaced["ward"]
    gone.loc[0, "ward"] = None
    dated["ward"] = pd.Timestamp("2020-01-01")
    model = fitted(table)
    cases = (
        (pipeline(), table, "instance is not fitted yet"),
        (LinearRegression().fit(X, y == "yes"), None, "LinearRegression has no classes_; save a classifier"),
        (model, None, r"does not tell of which columns; give the table that it was fitted to, as table=X"),
        (model, table[["age"]], "it has no 'ward', 'note', 'member'"),
        (model, spaced, "holds ' (north|south|007|\\?)': strip the column and fit again"),
        (model, gone, "column 'ward' of table must hold .* with NaN for gaps; it holds None"),
        (model, dated, "column 'ward' of table must hold .*; it holds .*1577836800000000|Timestamp"),
        (model, table[:0], "table must have one row or more; got none"),
        (
            make_pipeline(FunctionTransformer(lambda x: x), LogisticRegression(max_iter=2000)).fit(X, y),
            None,
            "names what is no class",
        ),
    )
    for one, given, says in cases:
        with pytest.raises(ValueError, match=says) as caught:
            save_model(one, tmp_path / "m.skops", given)
        assert "\n" not in str(caught.value)
    for one in (KMeans, "m", LogisticRegression):
        with pytest.raises(TypeError, match="model must be a fitted classifier, or a SavedModel"):
            save_model(one, tmp_path / "m.skops")
    held = SavedModel(
        LogisticRegression(max_iter=2000).fit(X.to_numpy(), y == "yes"), ("no", "yes"), "f1", n_features=1
    )
    with pytest.raises(ValueError, match="table, pos_label and labels must be None for a SavedModel"):
        save_model(held, tmp_path / "m.skops", table)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "last",
    [LogisticRegression(max_iter=2000), RandomForestClassifier(10, random_state=0), LinearSVC(random_state=0)],
    ids=["probabilities", "forest", "scores"],
)
def test_several_classes_have_a_label_and_a_score_for_each(tmp_path, last):
    old, new = patients(), patients(200, 1)
    wards = ["south", "north", "007"]
    y = np.array(wards)[np.digitize(old["age"].fillna(50.0), [45, 55])]
    model = fitted(old, last, y)
    found = labelled(save_model(model, tmp_path / "m.skops", old), new, tmp_path)
    rows = as_file(tmp_path, new)[READ]
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    score = "score" if isinstance(last, LinearSVC) else "probability"
    assert list(found) == ["label", *(f"{one} {score}" for one in sorted(wards))]
    raw = model.decision_function(rows) if score == "score" else model.predict_proba(rows)
    np.testing.assert_allclose(found.iloc[:, 1:], raw, rtol=1e-12)
    assert len(set(found["label"])) == 3


def texts():
    words = np.random.default_rng(0).choice(["good", "bad", "day", "night", "long"], size=(120, 3))
    table = pd.DataFrame({"note": [" ".join(row) for row in words], "id": np.arange(120)})
    return table.assign(kind=np.where(table["note"].str.contains("good"), "up", "down"))


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("encoder", [TfidfVectorizer(), CountVectorizer(), HashingVectorizer(n_features=64)], ids=str)
def test_a_model_of_texts_reads_one_column(tmp_path, encoder, as_list):
    table = texts()
    given = table["note"].tolist() if as_list else table["note"]
    model = make_pipeline(encoder, LogisticRegression()).fit(given[:80], table["kind"][:80])
    path = save_model(model, tmp_path / "m.skops", table[["note"]][:80])
    found = labelled(path, table, tmp_path)
    np.testing.assert_array_equal(found["label"], model.predict(given))
    np.testing.assert_allclose(found["probability"], model.predict_proba(given)[:, 1], rtol=1e-12)
    tuned = tune(path, table[80:], "kind", new_rows=True)
    assert tuned.old == 0.5
    for wrong in (None, table):
        with pytest.raises(Refusal, match=r"as table=table\[\['text'\]\], or fit it to the table by ColumnTransformer"):
            save_model(model, tmp_path / "no.skops", wrong)
    # This is what the refusal names.
    again = make_pipeline(ColumnTransformer([("text", encoder, "note")]), LogisticRegression())
    again.fit(table[["note", "id"]][:80], table["kind"][:80])
    path = save_model(again, tmp_path / "again.skops", table[:80])
    np.testing.assert_array_equal(labelled(path, table, tmp_path)["label"], again.predict(table))


def test_a_model_of_dicts_is_one_sentence(tmp_path):
    model = make_pipeline(DictVectorizer(), LogisticRegression()).fit(
        [{"a": i % 3} for i in range(60)], np.arange(60) % 2
    )
    with pytest.raises(Refusal, match="give the data frame that it was fitted to, as table"):
        save_model(model, tmp_path / "m.skops", pd.DataFrame({"a": np.arange(60.0)}))


def test_wrong_columns_of_a_new_file_are_one_sentence(tmp_path, capsys):
    table = patients()
    path = save_model(fitted(table), tmp_path / "m.skops", table)
    for new, says in (
        (table.drop(columns="ward"), "new.csv has no column 'ward', which the model reads"),
        (
            table.assign(age="old"),
            "column 'age' of new.csv holds 'old' in row 1 (line 2), and it must hold finite numbers",
        ),
        (
            table.assign(member=3),
            "column 'member' of new.csv holds '3' in row 1 (line 2), and it must hold true and false",
        ),
    ):
        new.to_csv(tmp_path / "new.csv", index=False)
        assert main(["predict", str(path), str(tmp_path / "new.csv")]) == 2
        assert says in capsys.readouterr().err


def test_a_file_of_another_kind_is_said_to_differ(tmp_path, capsys):
    table = patients()
    path = save_model(fitted(table), tmp_path / "m.skops", table)
    labelled(path, patients(300, 1), tmp_path)
    assert not capsys.readouterr().err
    labelled(path, patients(300, 1).assign(age=lambda new: new["age"] + 100, ward=np.nan), tmp_path)
    said = capsys.readouterr().err
    assert "Column 'age' is above" in said
    assert "Column 'ward' is empty in 100.0 % of the rows" in said
