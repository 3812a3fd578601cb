"""``setwise compare`` and ``setwise predict`` of more than two classes: figures by hand, words, and refusals."""

import csv
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, cohen_kappa_score, f1_score, matthews_corrcoef
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise.cli import main
from setwise.compare import NamedLoss, Plan, Problem, SavedModel, compare, load_model
from setwise.compare.audit import audited, copies_label, value_counts
from setwise.compare.command import ComparisonTask, class_order, cost_matrix
from setwise.compare.fits import SEED
from setwise.compare.plan import measures_of
from setwise.compare.problem import read
from setwise.compare.sentences import confusion, foreign, labels, verdict
from setwise.compare.twins import twins
from setwise.core.exceptions import Refusal
from setwise.datasets import load, load_table
from setwise.decisions import class_offsets
from setwise.estimators.splits import block_folds, indicators
from setwise.losses import CostMatrix, FBeta

SCORES = {
    "f1": lambda y, said: f1_score(y, said, average="macro"),
    "f1_weighted": lambda y, said: f1_score(y, said, average="weighted"),
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "mcc": matthews_corrcoef,
    "kappa": cohen_kappa_score,
}
QUICK = Plan(3, 3, (0.1,), ("linear",))
KINDS = ("ash", "birch", "cedar", "deal")


def skewed(n=1200, seed=0):
    """Rows of four classes, of which one has 85 %."""
    return make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=4, weights=[0.85, 0.07, 0.05], n_clusters_per_class=1,
        class_sep=0.8, random_state=seed,
    )  # fmt: skip


def problem_of(X, y, **more):
    return Problem("made up", "", X, y, classes=KINDS[: y.max() + 1], **more)


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file of the skewed rows in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("setwise.compare.report.drawn", lambda found: {})
    X, y = skewed()
    lines = [",".join([*(f"{v:.3f}" for v in row), KINDS[label]]) for row, label in zip(X, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,e,f,wood", *lines]) + "\n")
    return tmp_path / "t.csv"


def linear(C=0.1):
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=1000))


def probabilities(model, X, y, k=3):
    """Of models that did not see the row, as the folds inside are."""
    return cross_val_predict(
        model, X, y, cv=StratifiedKFold(k, shuffle=True, random_state=SEED), method="predict_proba"
    )


def logs(q):
    return np.log(np.maximum(q, 1e-12))


@pytest.mark.parametrize("load_data", [load_wine, load_iris], ids=["wine", "iris"])
def test_the_figures_are_those_of_scikit_learn_on_the_same_folds(load_data):
    X, y = load_data(return_X_y=True)
    measures = [one for name in SCORES for one in measures_of(name, "samples")]
    found = compare(problem_of(X, y), measures, QUICK)
    by_hand = {way: {name: [] for name in SCORES} for way in ("most_probable", "class_multipliers")}
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        held, new = probabilities(linear(), X[train], y[train]), linear().fit(X[train], y[train]).predict_proba(X[test])
        for name, score in SCORES.items():
            offsets = class_offsets(y[train], logs(held), name, n_resamples=20).offsets
            by_hand["most_probable"][name].append(score(y[test], new.argmax(axis=1)))
            by_hand["class_multipliers"][name].append(score(y[test], (logs(new) + offsets).argmax(axis=1)))
    for answer, name in zip(found, SCORES, strict=True):
        for way, figures in by_hand.items():
            told = [answer.measured.shown(loss) for loss in answer.row(("linear", way)).outer]
            np.testing.assert_allclose(told, figures[name], err_msg=f"{name} {way}")
        said = probabilities(linear(), X, y).argmax(axis=1)
        assert answer.reference.key == ("linear", "most_probable")
        if answer.winner.key == answer.reference.key:
            assert answer.measured.shown(answer.reference.loss) == pytest.approx(SCORES[name](y, said))
            np.testing.assert_array_equal(answer.winner.labels, said)
            assert confusion(answer).sum() == len(y)
            assert np.trace(confusion(answer)) == (said == y).sum()


def test_costs_are_those_of_the_matrix():
    X, y = skewed()
    costs = np.array([[0, 1, 2, 1], [3, 0, 1, 1], [9, 2, 0, 1], [6, 1, 1, 0.5]])
    (found,) = compare(problem_of(X, y), [NamedLoss("mean_cost", CostMatrix(costs), classes=4)], QUICK)
    for k, (train, test) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)):
        q = linear().fit(X[train], y[train]).predict_proba(X[test])
        least = costs[y[test], (q @ costs).argmin(axis=1)].mean()
        assert found.row(("linear", "least_cost")).outer[k] == pytest.approx(least)
        assert found.reference.outer[k] == pytest.approx(costs[y[test], q.argmax(axis=1)].mean())
    assert found.measured.title == "mean cost"
    assert found.measured.better == "lower is better"
    assert f"CostMatrix({costs.tolist()})" in found.winner.code


def test_a_file_is_compared_and_new_rows_get_the_class_by_hand(table, capsys):
    words = ("--target", "wood", "--loss", "balanced_accuracy", "--base", "linear", "--n-jobs", "1", "--quick")
    words = (*words, "--time-budget", "7200", "--test", "t.csv", "--save", "m.skops", "--out", "r")
    assert main(["compare", "t.csv", *words]) == 0
    out = capsys.readouterr().out
    assert "Change to logistic regression with a tuned multiplier for each class." in out
    assert "The 1,200 rows have 4 classes: ash (8" in out
    assert "Of 1,000 rows " in out
    assert "On the rows of the test" in out
    assert main(["predict", "m.skops", "t.csv", "--out", "new.csv"]) == 0
    data = load_table("t.csv", target="wood")
    constant = json.loads((table.parent / "r" / "results.json").read_text())["answers"][0]["constant"]
    held = probabilities(linear(constant), data.X, data.y)
    offsets = class_offsets(data.y, logs(held), "balanced_accuracy", n_resamples=20).offsets
    new = linear(constant).fit(data.X, data.y).predict_proba(data.X)
    with open("new.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["label", *(f"{kind} probability" for kind in KINDS)]
    told = np.array([[float(row[f"{kind} probability"]) for kind in KINDS] for row in rows])
    np.testing.assert_allclose(told, new, atol=1e-9)
    assert [row["label"] for row in rows] == [KINDS[c] for c in (logs(new) + offsets).argmax(axis=1)]
    assert [row["label"] for row in rows] != [KINDS[c] for c in new.argmax(axis=1)]
    counted = capsys.readouterr().out
    assert "1,200 rows labelled: " in counted
    assert " as cedar (" in counted
    assert main(["tune", "m.skops", "t.csv", "--target", "wood", "--out", "n.skops"]) == 2
    assert "1,200 of 1,200 rows of t.csv are equal to rows of the training" in capsys.readouterr().err
    assert main(["tune", "m.skops", "t.csv", "--target", "wood", "--out", "n.skops", "--new-rows"]) == 0
    q = SCORES["f1"](data.y, (logs(new) + offsets).argmax(axis=1))
    assert f"Macro F1 before: {q:.3f}".replace("0.", ".") in capsys.readouterr().out
    again = load_model("n.skops")
    found = class_offsets(data.y, logs(new), "f1", n_resamples=20).offsets
    np.testing.assert_allclose(again.offsets, found, atol=1e-9)
    np.testing.assert_array_equal(again.decide(data.X)[0], (logs(new) + found).argmax(axis=1))


def test_the_page_has_the_confusion_matrix_and_the_code_repeats_the_choice(table, capsys):
    words = ("--target", "wood", "--loss", "balanced_accuracy", "--base", "linear", "--n-jobs", "1", "--quick")
    assert main(["compare", "t.csv", *words, "--time-budget", "7200", "--out", "r"]) == 0
    capsys.readouterr()
    (found,) = json.loads((table.parent / "r" / "results.json").read_text())["answers"]
    page = (table.parent / "r" / "report.html").read_text()
    counts = np.array(found["confusion"])
    assert counts.sum() == 1200
    assert counts.sum(axis=1).tolist() == list(found["data"]["class_rows"].values())
    cells = page.split('class="cells">')[1].split("</table>")[0]
    assert cells.count("<td") == 16
    assert "recall" in cells
    assert "precision" in cells
    shown = np.array(re.findall(r">(\d+)</td>", cells), dtype=int)
    assert shown.sum() == 1000
    assert np.abs(shown - (1000.0 * counts / 1200).ravel()).max() < 1.0
    assert "with the most probable class is left only" in page
    assert "0.5" not in page.split("<pre>")[0]
    space = {}
    exec(found["code"], space)
    assert space["model"].best_strategy_ == "class_multipliers"
    assert set(space["labels"]) == set(KINDS)


def test_costs_of_a_file_are_in_the_order_of_the_classes(table, capsys):
    order = [2, 0, 3, 1]
    costs = np.array([[0, 1, 1, 1], [8, 0, 1, 1], [9, 1, 0, 1], [7, 1, 1, 0]])
    lines = [",".join([KINDS[i], *(str(costs[i, j]) for j in order)]) for i in reversed(order)]
    (table.parent / "c.csv").write_text("\n".join([",".join(["true", *(KINDS[j] for j in order)]), *lines]) + "\n")
    words = ("t.csv", "--target", "wood", "--base", "linear", "--n-jobs", "1", "--quick", "--time-budget", "7200")
    assert main(["compare", *words, "--cost-matrix", "c.csv", "--out", "r"]) == 0
    assert "mean cost " in capsys.readouterr().out
    page = (table.parent / "r" / "report.html").read_text()
    assert f"CostMatrix({costs.astype(float).tolist()})" in page
    (table.parent / "c.csv").write_text("true,ash,birch\nash,0,1\nbirch,1,0\n")
    assert main(["compare", *words, "--cost-matrix", "c.csv", "--out", "r"]) == 2
    assert "c.csv must have a line and a column for each class" in capsys.readouterr().err


@pytest.mark.parametrize("first", [0, 1])
def test_costs_of_numeric_classes_are_those_that_pandas_writes(tmp_path, first):
    costs, k = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 3.0], [4.0, 6.0, 0.0]]), [first, first + 1, first + 2]
    problem = Problem("t", "", np.zeros((6, 1)), np.arange(6) % 3, classes=tuple(map(str, k)))
    frame = pd.DataFrame(costs, k, k)
    for name, written in {
        "whole": frame, "floats": frame.set_axis(map(float, k), axis=0).set_axis(map(float, k), axis=1),
        "named": frame.rename_axis("true"), "shuffled": frame.iloc[[2, 0, 1], [1, 2, 0]],
    }.items():  # fmt: skip
        written.to_csv(tmp_path / f"{name}.csv")
        given = SimpleNamespace(cost_matrix=tmp_path / f"{name}.csv", loss=None)
        assert cost_matrix(given, problem).costs.tolist() == costs.tolist(), name
    # The lines are numbered otherwise than the classes, or the classes of the lines are not written.
    for k, written in enumerate((frame.set_axis([1 - first, 2 - first, 3 - first], axis=0), frame[[first]])):
        written.to_csv(tmp_path / f"odd{k}.csv")
        with pytest.raises(ValueError, match="a line and a column for each class"):
            cost_matrix(SimpleNamespace(cost_matrix=tmp_path / f"odd{k}.csv", loss=None), problem)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--loss", "auc"), "refuses RocArea() for 4 classes"),
        (("--recall-at-least", "0.9"), "a floor is for two classes; the target has 4; --positive tells one"),
        (("--alarms-at-most", "0.1"), "the target has 4; --positive tells one class from the others, and Measure"),
        (("--fp-cost", "2"), "--fp-cost is for two classes; the target has 4; use --cost-matrix."),
        (("--average", "macro"), "--average says what a set is in a label matrix"),
        (("--positive", "oak"), "so 'oak' cannot be the positive one"),
        (("--folds", "300"), "rows of"),
    ],
)
def test_what_is_for_two_classes_is_one_sentence(table, capsys, words, says):
    assert main(["compare", "t.csv", "--target", "wood", "--base", "linear", *words, "--out", "r"]) == 2
    err = [line for line in capsys.readouterr().err.splitlines() if line.startswith("setwise: ")]
    assert len(err) == 1
    assert says in err[0]


def test_one_class_against_the_rest_is_a_problem_of_two_labels(table):
    whole, one = read("t.csv", {"target": "wood"}), read("t.csv", {"target": "wood", "positive": "cedar"})
    assert whole.several == 4
    assert one.several == 0
    assert one.classes == ("not cedar", "cedar")
    np.testing.assert_array_equal(one.y, whole.y == 2)
    assert labels(one).startswith("Positive is wood = cedar: ")
    held = load("t.csv", target="wood")
    assert held.classes == KINDS
    assert held.y.tolist() == whole.y.tolist()


def test_too_many_values_and_a_value_of_one_row_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},{i % 51 / 2}\n" for i in range(200)))
    with pytest.raises(ValueError, match="must have 2 to 50 values; it has 51"):
        load_table(path)
    path.write_text("x,y\n1,no\n2,yes\n3,ye\n4,yes\n5,no\n")
    with pytest.raises(
        ValueError, match=r"each value in two rows or more; it has 3: .*; 'ye' is in row 3 \(line 4\) alone"
    ):
        load_table(path)


def test_words_and_losses_of_classes():
    titles = {
        "f1": "macro F1", "fbeta:2": "macro F2", "jaccard": "macro Jaccard index", "f1_weighted": "weighted F1",
        "f1_macro": "macro F1", "accuracy": "accuracy", "mcc": "Matthews correlation", "kappa": "Cohen's kappa",
        "mean_over_classes:(fbeta:2):support": "weighted F2", "mean_over_classes:(fbeta:0.5)": "macro F0.5",
    }  # fmt: skip
    problem = problem_of(*skewed(60))
    for name, title in titles.items():
        (measured,) = (one.of(problem) for one in measures_of(name, "samples"))
        assert measured.title == title
        assert measured.better == "higher is better"
    assert "threshold" in foreign(problem, measured)
    assert "class_multipliers" not in foreign(problem, measured)
    two = Problem("", "", np.eye(4), np.array([0, 1, 0, 1]))
    assert {"most_probable", "class_multipliers"} <= set(foreign(two, NamedLoss("f1", FBeta()).of(two)))
    with pytest.raises(Refusal, match="no function of the confusion matrix"):
        next(iter(measures_of("auc", "samples"))).of(problem)
    with pytest.raises(ValueError, match="y must hold the numbers of 3 classes; got 3"):
        Problem("", "", np.eye(4), np.arange(4), classes=("a", "b", "c"))


def test_a_plan_has_the_strategies_for_the_classes():
    X, y = skewed(90)
    several, two = problem_of(X, y), Problem("", "", X, y > 0)
    plan = Plan(strategies=("class_multipliers", "threshold")).of(several)
    assert [one.name for one in plan.tried("linear")] == ["most_probable", "class_multipliers"]
    assert [one.name for one in Plan().of(several).tried("linear")][:2] == ["most_probable", "class_multipliers"]
    assert Plan().of(two) == Plan()
    assert "most_probable" not in Plan().of(several).of(two).strategies


def test_blocks_of_classes_are_dealt_out_evenly():
    y = np.repeat([0, 1, 2], [120, 60, 20])
    blocks = np.arange(200) // 2
    for train, test in block_folds(5, y, blocks):
        assert not set(blocks[train]) & set(blocks[test])
        np.testing.assert_array_equal(np.bincount(y[test]), [24, 12, 4])
    np.testing.assert_array_equal(indicators(np.array([2, 0, 1])), np.eye(3)[[2, 0, 1]])


def test_the_audit_finds_copies_of_the_label_and_of_rows():
    X, y = skewed(400)
    codes = np.array([7.0, 3.0, 5.0, 1.0])[y]
    assert copies_label(value_counts(codes, y))
    assert not copies_label(value_counts(codes > 4, y))
    names = (*"abcdef", "code")
    problem = Problem("t", "", np.column_stack([X, codes]), y, classes=KINDS, features=names)
    found = audited(problem, apart=True)
    assert [one.columns for one in found.findings if one.action == "left out"] == [("code",)]
    assert found.features == tuple("abcdef")
    clean = audited(problem_of(X, y, features=tuple("abcdef")))
    assert clean.findings == ()
    assert clean.blocks is None
    again, other = np.vstack([X, X[:40]]), np.concatenate([y, y[:40]])
    other[400:410] = (other[400:410] + 1) % 4
    told = twins(again, other, None, ())
    assert (told.equal, told.torn) == (80, 20)
    np.testing.assert_array_equal(told.blocks[:40], told.blocks[400:])


def test_rows_that_are_known_from_similar_ones_are_kept_together():
    rng = np.random.default_rng(0)
    centers, kinds = rng.normal(size=(60, 5)) * 4, rng.integers(0, 3, 60)
    own = np.repeat(np.arange(60), 10)
    problem = problem_of(centers[own] + rng.normal(size=(600, 5)) * 1.0, kinds[own], features=tuple("abcde"))
    found = audited(problem)
    assert [one.kind for one in found.findings] == ["similar"]
    assert found.blocks is not None


def test_a_class_that_a_training_part_lacks_is_refused():
    X, y = skewed(400)
    order = np.argsort(y, kind="stable")
    problem = Problem("t", "", X[order], y[order], classes=KINDS, times=np.arange(400.0))
    with pytest.raises(Refusal, match="too small for"):
        compare(problem, [NamedLoss("f1", FBeta())], QUICK)


def test_a_class_needs_five_rows_and_the_refusal_says_what_to_do():
    X, y = skewed(400)
    plan = Plan(5, 3, (0.1,), ("linear",))
    four, five = (np.delete(np.arange(400), np.flatnonzero(y == 3)[n:]) for n in (4, 5))
    with pytest.raises(Refusal, match="4 rows of deal, and 5 are needed; leave these rows out, or give them the label"):
        compare(problem_of(X[four], y[four]), [NamedLoss("f1", FBeta())], plan)
    assert compare(problem_of(X[five], y[five]), [NamedLoss("f1", FBeta())], plan)[0].problem.several == 4


def test_weighted_kappa_says_the_order_of_words(table, capsys):
    words = ("t.csv", "--target", "wood", "--base", "linear", "--n-jobs", "1", "--quick", "--time-budget", "7200")
    says = "The classes are ordered: ash, birch, cedar, deal. For another order write names that sort, as '1 low', "
    assert main(["compare", *words, "--loss", "kappa:linear", "--out", "r"]) == 0
    assert says in capsys.readouterr().err
    assert "The classes are ordered: ash, birch, cedar, deal" in (table.parent / "r" / "report.html").read_text()
    for names, loss, there in (
        (("0", "1", "2"), "kappa:quadratic", False), (("-1", "0.5", "2"), "kappa:linear", False),
        (("1 low", "2 medium", "10 high"), "kappa:linear", False),
        (("1 low", "10 high", "2 mid"), "kappa:linear", True),
        (("high", "low", "mid"), "kappa:linear", True), (("high", "low", "mid"), "kappa", False),
        (("high", "low", "mid"), "f1", False), (("high", "low"), "kappa:linear", False),
    ):  # fmt: skip
        problem = Problem("t", "", np.zeros((6, 1)), np.arange(6) % len(names), classes=names)
        task = ComparisonTask(problem, measures_of(f"accuracy,{loss}", "samples"))
        assert bool(class_order(task)) is there, names


def test_a_verdict_has_twelve_words_at_most(table):
    X, y = skewed()
    for loss in ("f1", "balanced_accuracy"):
        (found,) = compare(problem_of(X, y), measures_of(loss, "samples"), QUICK)
        assert len(verdict(found).split()) <= 12


@pytest.mark.parametrize("wrong", [{"threshold": 0.5}, {"alarms": 0.1}, {"offsets": (0.0, 1.0)}])
def test_a_saved_model_of_several_classes_has_offsets_and_no_threshold(wrong):
    model = LogisticRegression().fit(np.eye(6, 2), np.arange(6) % 3)
    usual = {"estimator": model, "classes": KINDS[:3], "loss": "", "n_features": 2, "response": "predict_proba"}
    said, scores = SavedModel(**usual).decide(np.eye(6, 2))
    np.testing.assert_array_equal(said, model.predict(np.eye(6, 2)))
    np.testing.assert_array_equal(scores, model.predict_proba(np.eye(6, 2)))
    said, _ = SavedModel(**usual, offsets=(-9.0, 0.0, 0.1)).decide(np.eye(6, 2))
    np.testing.assert_array_equal(said, (scores * np.exp([-9.0, 0.0, 0.1])).argmax(axis=1))
    with pytest.raises(ValueError, match="more than two classes"):
        SavedModel(**usual, **wrong)
