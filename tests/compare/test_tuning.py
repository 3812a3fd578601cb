"""Another threshold for a saved model, against all thresholds and the losses of counts by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, f1_score, fbeta_score, jaccard_score, precision_score, recall_score
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from compare.own_models import READ, fitted, patients, plain
from setwise import MeasureClassifier
from setwise.cli import main
from setwise.compare import FlooredThreshold, SavedModel, load_model, save_model, tune
from setwise.compare.frames import columns_of
from setwise.core.exceptions import Refusal
from setwise.decisions import UnmetFloor, bagged_threshold, class_offsets, label_thresholds
from setwise.estimators.selection.problem import problem_of
from setwise.losses import CostMatrix, RowCosts, as_loss

pytest.importorskip("skops.io")

OLD, NEW = patients(), patients(900, 1)
TRUTH = NEW["sick"] == "yes"


@pytest.fixture(scope="module")
def forest():
    return fitted(OLD)


@pytest.fixture
def path(forest, tmp_path):
    return save_model(forest, tmp_path / "m.skops", OLD)


def scores_of(model, rows=NEW):
    return model.predict_proba(rows[READ])[:, 1]


def by_hand(labels):
    return f1_score(TRUTH, labels)


def of_folds(scores, threshold_of):
    """The labels of each of five folds by a threshold of the others."""
    truth, labels = TRUTH.to_numpy(), np.zeros(len(TRUTH), bool)
    folds = problem_of(scores.reshape(-1, 1), truth.astype(int), as_loss("f1")).folds(5, 0)
    assert np.sort(np.concatenate([test for _, test in folds])).tolist() == list(range(len(truth)))
    for train, test in folds:
        labels[test] = scores[test] >= threshold_of(truth[train], scores[train])
    return labels


def test_the_threshold_is_that_of_measure_classifier_and_the_measures_are_those_of_counts(path, forest):
    scores = scores_of(forest)
    tuned = tune(path, NEW, "sick", "f1")
    prefit = MeasureClassifier(forest, "f1", ["threshold"], cv="prefit", refit=False, pos_label="yes")
    assert (
        tuned.new
        == prefit.fit(NEW[READ], NEW["sick"]).best_threshold_
        == bagged_threshold(TRUTH, scores, "f1").threshold
    )
    assert tuned.old == 0.5
    assert tuned.before == pytest.approx(by_hand(forest.predict(NEW[READ]) == "yes"))
    judged = of_folds(scores, lambda y, s: bagged_threshold(y, s, "f1").threshold)
    assert tuned.after == pytest.approx(by_hand(judged))
    # The intervals are those of resampled rows.
    before = forest.predict(NEW[READ]) == "yes"
    drawn = np.random.default_rng(1).integers(900, size=(2000, 900))

    def f1_of(labels):
        hits, errors = (TRUTH.to_numpy() & labels)[drawn].sum(axis=1), (TRUTH.to_numpy() ^ labels)[drawn].sum(axis=1)
        return 2 * hits / (2 * hits + errors)

    half = 1.96 * np.std(f1_of(judged) - f1_of(before))
    np.testing.assert_allclose(
        tuned.gain_interval, np.array([-half, half]) + tuned.after - tuned.before, atol=0.2 * half
    )
    for interval, labels in ((tuned.before_interval, before), (tuned.after_interval, judged)):
        half = 1.96 * np.std(f1_of(labels))
        np.testing.assert_allclose(np.diff(interval), 2 * half, rtol=0.2)
    assert tuned.clear == (tuned.gain_interval[0] > 0)
    assert len(str(tuned).splitlines()) <= 10


def test_nothing_but_the_threshold_changes(path, forest, tmp_path):
    before = load_model(path)
    again = load_model(save_model(tune(before, NEW, "sick", "fbeta:2").model, tmp_path / "t.skops"))
    for name in ("classes", "columns", "response", "many", "group", "joint", "alarms", "version", "fitted_to"):
        assert getattr(again, name) == getattr(before, name)
    assert (before.loss, again.loss, before.threshold) == ("", "fbeta:2", None)
    rows = NEW[READ]
    np.testing.assert_array_equal(again.decide(rows)[1], before.decide(rows)[1])
    np.testing.assert_array_equal(again.decide(rows)[0], scores_of(forest) >= again.threshold)


def test_a_model_that_was_tuned_before_says_its_old_threshold(path, forest):
    once = tune(path, NEW, "sick", "fbeta:2")
    twice = tune(once.model, NEW, "sick", "f1")
    assert twice.old == once.new
    assert twice.before == pytest.approx(by_hand(scores_of(forest) >= once.new))
    assert once.before == pytest.approx(fbeta_score(TRUTH, forest.predict(NEW[READ]) == "yes", beta=2))


@pytest.mark.parametrize(
    "floor", [{"recall": 0.9}, {"precision": 0.6}, {"alarms": 0.2}, {"recall": 0.8, "confidence": 0.9}]
)
def test_a_floor_is_kept_by_the_best_of_all_thresholds(path, forest, floor):
    loss = {"recall": "tversky:1:1e-9"}.get(next(iter(floor)), "tversky:1e-9:1")
    tuned = tune(path, NEW, "sick", loss, floor=FlooredThreshold(**floor))
    scores = scores_of(forest)

    def keeps(labels):
        shares = {"recall": recall_score(TRUTH, labels), "precision": precision_score(TRUTH, labels, zero_division=1.0)}
        return all(shares[name] >= floor.get(name, 0) for name in shares) and labels.mean() <= floor.get("alarms", 1)

    goal = precision_score if "recall" in floor else recall_score
    best = max(goal(TRUTH, scores >= at) for at in np.unique(scores) if keeps(scores >= at))
    assert keeps(scores >= tuned.new)
    reached = goal(TRUTH, scores >= tuned.new)
    assert reached == pytest.approx(best) if "confidence" not in floor else reached <= best
    assert tuned.model.alarms == floor.get("alarms")
    said = str(tuned)
    assert "was asked" in said
    assert len(said.splitlines()) <= 10


def test_a_floor_that_no_threshold_keeps_is_one_sentence(path):
    with pytest.raises(UnmetFloor, match="not met by any threshold of these scores"):
        tune(path, NEW, "sick", floor=FlooredThreshold(precision=0.999, recall=0.9))


def test_costs_are_those_of_the_rows(path, forest):
    rows = NEW.assign(pay=np.random.default_rng(0).gamma(1.0, 20.0, 900).round(2))
    for costs, fn in (
        (RowCosts(fp=1.0, fn=8.0), np.full(900, 8.0)),
        (RowCosts(fp=1.0, fn="pay"), rows["pay"].to_numpy()),
    ):
        tuned = tune(path, rows, "sick", costs)

        def cost(labels, fn=fn):
            return 1000 / 900 * (np.sum(labels & ~TRUTH) + fn[TRUTH & ~labels].sum())

        assert tuned.before == pytest.approx(cost(forest.predict(NEW[READ]) == "yes"))
        scores = scores_of(forest)
        prefit = MeasureClassifier(forest, RowCosts(), ["threshold"], cv="prefit", refit=False, pos_label="yes")
        assert (
            tuned.new
            == prefit.fit(NEW[READ], NEW["sick"], fp_cost=1.0, fn_cost=fn if costs.columns else 8.0).best_threshold_
        )
        at_all = [cost(scores >= at) for at in [*np.unique(scores), np.inf]]
        # The mean of the best ones of resamples is near the best one.
        assert cost(scores >= tuned.new) <= min(at_all) * 1.15
        assert tuned.measure == "cost of 1,000 rows"
        assert tuned.after < tuned.before
        assert tuned.gain_interval[0] < tuned.before - tuned.after < tuned.gain_interval[1]
        grouped = tune(path, rows.assign(visit=np.arange(900) // 7), "sick", costs, group="visit")
        assert grouped.before == pytest.approx(tuned.before)


def test_weights_of_rows_count(path, forest):
    weights = np.random.default_rng(0).gamma(1.0, 1.0, 900)
    tuned = tune(path, NEW, "sick", "f1", sample_weight=weights)
    labels = forest.predict(NEW[READ]) == "yes"
    assert tuned.before == pytest.approx(f1_score(TRUTH, labels, sample_weight=weights))
    prefit = MeasureClassifier(forest, "f1", ["threshold"], cv="prefit", refit=False, pos_label="yes")
    assert tuned.new == prefit.fit(NEW[READ], NEW["sick"], sample_weight=weights).best_threshold_
    whole = np.where(np.arange(900) < 500, 1.0, 0.0)
    assert tune(path, NEW, "sick", sample_weight=whole).before == pytest.approx(f1_score(TRUTH[:500], labels[:500]))
    with pytest.raises(Refusal, match="a floor with a confidence refuses weights of rows"):
        tune(path, NEW, "sick", floor=FlooredThreshold(recall=0.5, confidence=0.9), sample_weight=weights)


def test_groups_are_sets(path, forest):
    rows = NEW.assign(visit=np.arange(900) // 6)
    labels = forest.predict(NEW[READ]) == "yes"
    visits = [slice(k, k + 6) for k in range(0, 900, 6)]
    wanted = np.mean([jaccard_score(TRUTH[one], labels[one], zero_division=1.0) for one in visits])
    assert tune(path, rows, "sick", "jaccard", group="visit").before == pytest.approx(wanted)


@pytest.mark.parametrize("pos_label", ["no", "yes"])
def test_a_model_with_decision_function_alone(tmp_path, pos_label):
    model = fitted(OLD, LinearSVC(random_state=0))
    tuned = tune(save_model(model, tmp_path / "m.skops", OLD, pos_label=pos_label), NEW, "sick", "f1")
    truth = NEW["sick"] == pos_label
    scores = model.decision_function(NEW[READ]) * (1 if pos_label == "yes" else -1)
    assert tuned.old == 0.0
    assert tuned.new == bagged_threshold(truth, scores, "f1").threshold
    assert tuned.before == pytest.approx(f1_score(truth, model.predict(NEW[READ]) == pos_label))


def test_a_decision_by_another_threshold_is_the_old_one(tmp_path):
    model = fitted(OLD, FixedThresholdClassifier(LogisticRegression(max_iter=2000), threshold=0.2, pos_label="yes"))
    tuned = tune(save_model(model, tmp_path / "m.skops", OLD), NEW, "sick", "f1")
    # Inside of a pipeline it is not looked for.
    assert tuned.old is None
    assert tuned.lines[0].startswith("Threshold: its own decision before, ")
    assert tuned.before == pytest.approx(by_hand(model.predict(NEW[READ]) == "yes"))
    X = NEW[["age"]].fillna(50.0)
    bare = FixedThresholdClassifier(LogisticRegression(), threshold=0.2, pos_label="yes").fit(X, NEW["sick"])
    rows = OLD.fillna({"age": 50.0})
    tuned = tune(save_model(bare, tmp_path / "b.skops"), rows, "sick", new_rows=True)
    assert tuned.old == 0.2
    assert tuned.before == pytest.approx(f1_score(OLD["sick"] == "yes", bare.predict(rows[["age"]]) == "yes"))


@pytest.mark.parametrize("threshold", [None, 0.4, (0.5, 0.3, 0.2)], ids=str)
@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_label_matrices_get_a_threshold_for_each_label_or_one_for_all(threshold, average):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["u", "v", "w"])
    Y = (X.to_numpy() + rng.normal(size=(400, 3)) > [0.5, 0.8, 1.1]).astype(int)
    model = RandomForestClassifier(20, min_samples_leaf=10, random_state=0).fit(X[:200], Y[:200])
    columns = load_columns(X)
    held = SavedModel(
        model,
        ("a", "b", "c"),
        "f1",
        columns,
        response="predict_proba",
        threshold=threshold,
        many=True,
        fitted_to="frame",
    )
    rows = pd.concat([X, pd.DataFrame(Y, columns=list("abc"))], axis=1)[200:]
    tuned = tune(held, rows, loss="jaccard", average=average, new_rows=True)
    labels = held.decide(X[200:])[0]
    wanted = jaccard_score(Y[200:], labels, average=average, zero_division=1.0)
    assert tuned.before == pytest.approx(wanted)
    assert np.ndim(tuned.new) == (threshold is None or isinstance(threshold, tuple))
    now = jaccard_score(Y[200:], tuned.model.decide(X[200:])[0], average=average, zero_division=1.0)
    scores = held.decide(X[200:])[1]
    if np.ndim(tuned.new) == 0:
        every = [jaccard_score(Y[200:], scores >= at, average=average, zero_division=1.0) for at in np.unique(scores)]
        assert now == pytest.approx(max(every))
    elif average == "macro":
        assert now == pytest.approx(1.0 - label_thresholds(Y[200:], scores, "jaccard", "macro").loss)
    assert now >= tuned.before - (0.02 if average == "macro" else 1e-12)
    assert len(str(tuned).splitlines()) <= 10


def load_columns(X):
    return columns_of(X, list(X.columns))


def test_rows_of_the_training_are_refused_and_new_ones_are_not(path, forest, tmp_path):
    model, X = plain(OLD)
    unknown = save_model(model, tmp_path / "unknown.skops")
    for rows in (OLD, OLD.sample(frac=1.0, random_state=0), pd.concat([NEW, OLD[:200]])):
        with pytest.raises(
            Refusal, match=r"m.skops.*by heart. Give other rows, or say by new_rows=True \(--new-rows\)"
        ):
            tune(path, rows, "sick")
        assert "are equal to training rows" in str(tune(path, rows, "sick", new_rows=True))
    np.savez(tmp_path / "old.npz", X=X, y=OLD["sick"].to_numpy().astype(str))
    with pytest.raises(Refusal, match="unknown.skops does not know its training rows.*say so by new_rows=True"):
        tune(unknown, tmp_path / "old.npz")
    tuned = tune(unknown, tmp_path / "old.npz", new_rows=True)
    assert tuned.before == pytest.approx(f1_score(OLD["sick"] == "yes", model.predict(X) == "yes"))
    assert "you say that none was in the training" in str(tuned)
    # Rows with three or four values each are equal to others by chance.
    few = patients(900)[["ward", "sick"]].fillna("north"), patients(900, 3)[["ward", "sick"]].fillna("north")
    of_words = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(few[0][["ward"]], few[0]["sick"])
    assert "900 are equal to training rows" in str(
        tune(save_model(of_words, tmp_path / "w.skops", few[0]), few[1], "sick")
    )


def test_rows_that_are_written_and_read_again_are_known(path, tmp_path):
    OLD.to_csv(tmp_path / "old.csv", index=False, sep=";")
    with pytest.raises(Refusal, match="600 of 600 rows of old.csv are equal"):
        tune(path, tmp_path / "old.csv", "sick")
    OLD.assign(age=OLD["age"] * (1 + 1e-12)).to_parquet(tmp_path / "old.parquet")
    with pytest.raises(Refusal, match="600 of 600 rows of old.parquet are equal"):
        tune(path, tmp_path / "old.parquet", "sick")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (NEW[NEW["sick"] == "no"], r"data must hold 5 rows or more of each label; it holds \d+ of no and 0 of yes"),
        (NEW.drop(columns="ward"), "data has no column 'ward', which the model reads; it has 'sick', 'age'"),
        (NEW.drop(columns="sick"), "data has no column 'sick'; it has 'age'"),
        (NEW.assign(sick="perhaps"), "data: column 'sick' must hold 'no', 'yes'; it holds 'perhaps'"),
        (NEW.assign(sick=NEW["sick"].where(NEW["age"] > 30)), "data: column 'sick' must hold 'no', 'yes'; it holds ''"),
        (NEW.assign(age="old"), "column 'age' of data holds 'old' in row 1, and it must hold finite numbers"),
    ],
)
def test_rows_that_do_not_fit_are_one_sentence(path, rows, says):
    with pytest.raises(ValueError, match=says):
        tune(path, rows, "sick")


def test_models_without_a_threshold_are_refused():
    X = np.arange(20.0).reshape(-1, 1)
    own = LogisticRegression().fit(X, np.arange(20) > 9)
    held = SavedModel(own, ("no", "yes"), "f1", n_features=1)
    with pytest.raises(Refusal, match="the model has no threshold to tune: it gives no scores"):
        tune(held, "no.npz")
    held = SavedModel(own, ("no", "yes"), "f1", n_features=1, response="predict_proba", joint=True)
    with pytest.raises(Refusal, match="it decides the rows of a group together"):
        tune(held, "no.npz")


def grown(n=600, seed=0):
    """Rows of a rare, a usual and a frequent class."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["elm", "fir", "ash"], n, p=[0.08, 0.22, 0.7])
    center = pd.Series(kind).map({"elm": 2.0, "fir": 1.0, "ash": 0.0}).to_numpy()
    leaf = rng.choice(["round", "long"], n)
    return pd.DataFrame({"height": (center + rng.normal(size=n)).round(3), "leaf": leaf, "kind": kind})


MANY = {
    "f1": ("f1", lambda y, labels: f1_score(y, labels, average="macro")),
    "kappa": ("kappa", cohen_kappa_score),
    "costs": (CostMatrix([[0, 1, 1], [5, 0, 1], [2, 1, 0]]), None),
}


@pytest.mark.parametrize("last", [LogisticRegression(), LinearSVC(random_state=0)], ids=["probabilities", "scores"])
@pytest.mark.parametrize(("loss", "by_hand"), MANY.values(), ids=MANY)
def test_several_classes_get_the_offsets_of_class_offsets(tmp_path, last, loss, by_hand):
    old, new = grown(), grown(500, 1)
    encoder = make_column_transformer((OneHotEncoder(), ["leaf"]), remainder="passthrough")
    model = make_pipeline(encoder, last).fit(old[["height", "leaf"]], old["kind"])
    tuned = tune(save_model(model, tmp_path / "m.skops", old), new, "kind", loss)
    raw = getattr(model, "predict_proba", None) or model.decision_function
    scores = raw(new[["height", "leaf"]])
    scores = np.log(scores) if isinstance(last, LogisticRegression) else scores
    y, names = np.searchsorted(model.classes_, new["kind"]), model.classes_

    def score(labels):
        costs = loss.costs if by_hand is None else None
        return costs[y, labels].mean() if by_hand is None else by_hand(y, labels)

    found = class_offsets(y, scores, loss, n_resamples=20).offsets
    np.testing.assert_allclose(tuned.model.offsets, found, atol=1e-12)
    np.testing.assert_allclose(tuned.new, np.exp(found) if isinstance(last, LogisticRegression) else found)
    np.testing.assert_allclose(tuned.old, 1.0 if isinstance(last, LogisticRegression) else 0.0)
    assert tuned.before == pytest.approx(score(scores.argmax(axis=1)))
    judged = np.zeros(len(y), dtype=int)
    for train, test in problem_of(scores, y, as_loss(loss)).folds(5, 0):
        offsets = class_offsets(y[train], scores[train], loss, n_resamples=20).offsets
        judged[test] = (scores[test] + offsets).argmax(axis=1)
    assert tuned.after == pytest.approx(score(judged))
    word = "Multipliers" if isinstance(last, LogisticRegression) else "Offsets"
    assert str(tuned).startswith(f"{word} now: ash ")
    # A tuned model is saved, read, and tuned again from where it is.
    again = load_model(save_model(tuned.model, tmp_path / "t.skops"))
    labels = names[again.decide(new[["height", "leaf"]])[0]]
    np.testing.assert_array_equal(labels, names[(scores + found).argmax(axis=1)])
    twice = tune(again, new, "kind", loss)
    np.testing.assert_allclose(twice.old, tuned.new)
    assert twice.before == pytest.approx(score((scores + found).argmax(axis=1)))


def test_the_command_for_several_classes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    old, new = grown(), grown(500, 1)
    new.to_csv("new.csv", index=False)
    model = LogisticRegression().fit(old[["height"]], old["kind"])
    save_model(model, "m.skops", old)
    kinds = model.classes_
    pd.DataFrame([[0, 1, 1], [5, 0, 1], [2, 1, 0]], kinds, kinds).to_csv("costs.csv")
    for options, loss in ((("--loss", "kappa"), "kappa"), (("--cost-matrix", "costs.csv"), MANY["costs"][0])):
        code, said, err = run(capsys, "tune", "m.skops", "new.csv", "--target", "kind", *options, "--out", "t.skops")
        assert (code, err) == (0, "")
        tuned = tune("m.skops", new, "kind", loss)
        assert load_model("t.skops").offsets == tuned.model.offsets
        assert " ".join(said.split()).startswith(tuned.lines[0])
        assert run(capsys, "predict", "t.skops", "new.csv", "--out", "labels.csv")[0] == 0
        labels = (np.log(model.predict_proba(new[["height"]])) + tuned.model.offsets).argmax(axis=1)
        np.testing.assert_array_equal(pd.read_csv("labels.csv")["label"], kinds[labels])
    for options, says in (
        (("--recall-at-least", "0.9"), "floor is for two classes; m.skops has 'ash', 'elm', 'fir'"),
        (("--fp-cost", "2"), "--fp-cost is for two classes; the model has 3; use --cost-matrix"),
        (("--loss", "f1", "--cost-matrix", "costs.csv"), "--loss and --cost-matrix do not go together"),
        (("--loss", "auc"), "loss must judge labels"),
        (("--group", "leaf"), "group is for two classes; m.skops has 'ash', 'elm', 'fir'"),
    ):
        code, said, err = run(capsys, "tune", "m.skops", "new.csv", "--target", "kind", *options, "--out", "n.skops")
        assert (code, said) == (2, "")
        assert says in err
        assert len(err.strip().splitlines()) == 1
    with pytest.raises(Refusal, match="5 rows or more of each label; it holds .* of ash, 0 of elm and .* of fir"):
        tune("m.skops", new[new["kind"] != "elm"], "kind")


@pytest.mark.slow
def test_the_gain_of_no_better_threshold_is_seldom_clear():
    # At 0.5 the error rate of true probabilities is least, so that no other threshold is better.
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.0])
    held = SavedModel(model, ("0", "1"), "f1", load_columns(pd.DataFrame({"x": [0.0]})), response="predict_proba")
    rng, clear = np.random.default_rng(0), 0
    for _ in range(200):
        x = rng.normal(size=300)
        rows = pd.DataFrame({"x": x, "y": (x + rng.logistic(size=300) > 0).astype(int)})
        clear += tune(held, rows, "y", "error_rate", new_rows=True).clear
    assert clear <= 12


def run(capsys, *words):
    try:
        code = main([str(word) for word in words])
    except SystemExit as stop:
        code = stop.code
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_the_command_writes_the_model_that_predict_reads(path, forest, tmp_path, capsys):
    NEW.to_csv(tmp_path / "new.csv", index=False)
    out, data = tmp_path / "tuned.skops", tmp_path / "new.csv"
    for options, more in (
        ((), {}),
        (("--loss", "fbeta:2"), {"loss": "fbeta:2"}),
        (("--recall-at-least", "0.8"), {"loss": "tversky:1:1e-9", "floor": FlooredThreshold(recall=0.8)}),
        (("--fp-cost", "1", "--fn-cost", "id"), {"loss": RowCosts(fp=1.0, fn="id")}),
    ):
        code, said, err = run(capsys, "tune", path, data, "--target", "sick", *options, "--out", out)
        assert (code, err) == (0, "")
        tuned = tune(path, NEW, "sick", **more)
        assert load_model(out).threshold == tuned.new
        assert len(said.splitlines()) <= 10
        assert " ".join(said.split()).startswith(tuned.lines[0])
        code, said, err = run(capsys, "predict", out, data, "--out", tmp_path / "labels.csv")
        assert code == 0
        labels = pd.read_csv(tmp_path / "labels.csv")["label"] == "yes"
        np.testing.assert_array_equal(labels, scores_of(forest) >= tuned.new)
        assert "in training" not in said
        assert not err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--out", "t.pkl"), "the path of a model must end in .skops, as save_model writes it; got 't.pkl'."),
        (("--loss", "f1,jaccard", "--out", "t.skops"), "f1,jaccard"),
        (("--loss", "f1", "--fn-cost", "3", "--out", "t.skops"), "--fn-cost and --loss do not go together"),
        (("--fn-cost", "pay", "--out", "t.skops"), "new.csv has no column 'pay'"),
        (("--alarms-at-most", "50", "--out", "t.skops"), "--alarms-at-most must be a share of the rows; got 50."),
        (("--confidence", "0.9", "--out", "t.skops"), "--confidence is that of a floor"),
        (("--average", "macro", "--out", "t.skops"), "--average must be 'samples' for a model of one label"),
        (("--group", "no", "--out", "t.skops"), "new.csv has no column 'no'"),
        (("--out", "new.csv"), "the path of a model must end in .skops"),
        ((), "the following arguments are required: --out"),
    ],
)
def test_wrong_commands_are_one_sentence(path, tmp_path, monkeypatch, capsys, options, says):
    monkeypatch.chdir(tmp_path)
    NEW.to_csv("new.csv", index=False)
    before = sorted(tmp_path.iterdir())
    code, said, err = run(capsys, "tune", "m.skops", "new.csv", "--target", "sick", *options)
    assert (code, said) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_model_that_compare_saved_knows_its_training_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    OLD.drop(columns="id").to_csv("old.csv", index=False)
    NEW.drop(columns="id").to_csv("new.csv", index=False)
    words = ("--base", "linear", "--strategies", "threshold", "--quick", "--save", "m.skops", "--out", "report")
    assert run(capsys, "compare", "old.csv", "--target", "sick", *words)[0] == 0
    code, _, err = run(capsys, "tune", "m.skops", "old.csv", "--target", "sick", "--out", "t.skops")
    assert code == 2
    assert "600 of 600 rows of old.csv are equal to rows of the training of m.skops" in err
    code, said, err = run(capsys, "tune", "m.skops", "new.csv", "--target", "sick", "--loss", "f2", "--out", "t.skops")
    assert (code, err) == (0, "")
    before, after = load_model("m.skops"), load_model("t.skops")
    assert said.startswith(f"Threshold: {before.threshold:.2g} before, {after.threshold:.2g} now.")
