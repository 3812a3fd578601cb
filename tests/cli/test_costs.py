"""``setwise compare`` with costs of each row, in money of 1,000 rows, and ``predict`` of the model that it saves."""

import csv
import json
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from setwise.cli import main, options_parser
from setwise.compare.command import plan_of
from setwise.compare.saved_model import load_model
from setwise.datasets import load_rows, load_table
from setwise.estimators import TableEncoder

pytestmark = pytest.mark.slow


def write(path, n, seed):
    rng = np.random.default_rng(seed)
    risk, amount = rng.normal(size=n), np.round(np.exp(rng.normal(3.0, 1.2, n)), 2)
    fraud = (rng.random(n) < 1.0 / (1.0 + np.exp(3.0 - 1.5 * risk))).astype(int)
    lines = [f"{r:.4f},{a},{'abc'[i % 3]},{y}" for i, (r, a, y) in enumerate(zip(risk, amount, fraud, strict=True))]
    path.write_text("\n".join(["risk,amount,shop,fraud", *lines]) + "\n")
    return amount, fraud


def run(*words):
    try:
        return main(list(map(str, words)))
    except SystemExit as stop:
        return stop.code


def answers(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))["answers"][0]


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("costs")
    data, new = folder / "pay.csv", folder / "new.csv"
    known = write(data, 4000, 0), write(new, 1500, 1)
    code = run(
        "compare", data, "--target", "fraud", "--fp-cost", 5, "--fn-cost", "amount", "--quick", "--base", "linear",
        "--strategies", "threshold,decision", "--time-budget", 3600, "--test", new, "--save", folder / "m.skops",
        "--out", folder / "report",
    )  # fmt: skip
    assert code == 0
    return folder, *known


def paid(amount, fraud, labels):
    return float(np.where(fraud == 1, np.where(labels == 1, 0.0, amount), np.where(labels == 1, 5.0, 0.0)).sum())


def test_the_answer_is_the_money_of_a_thousand_rows_and_the_saved_model_pays_it(compared, capsys):
    folder, _, (amount, fraud) = compared
    found = answers(folder / "report")
    assert (found["change"], found["strategy"]) == (False, "decision")
    capsys.readouterr()
    assert run("predict", folder / "m.skops", folder / "new.csv") == 0
    labels = np.array([int(row["label"]) for row in csv.DictReader(capsys.readouterr().out.splitlines())])
    cost = paid(amount, fraud, labels) * 1000 / 1500
    (row,) = [row for row in found["rows"] if row["strategy"] == "decision"]
    assert row["loss_on_test_file"] == pytest.approx(cost)
    assert found["verdict"] == "Stay with logistic regression, and decide each row by its costs."
    words = " ".join(found["details"])
    assert f"On the rows of the test file: cost of 1,000 rows {cost:,.0f}" in words
    said = re.search(
        r"Of 1,000 rows, with one rule for all folds: .* alarms cost ([\d.]+) and .* misses cost ([\d,.]+)\.", words
    )
    alarms, misses = (float(one.replace(",", "")) for one in said.groups())
    decided = row["out_of_fold_loss"]
    assert alarms + misses == pytest.approx(decided, rel=0.05)
    assert "loss=RowCosts(fp=5, fn=X[:, 1])" in found["code"]


def test_one_threshold_is_kept_where_it_is_clearly_cheaper_than_the_costs_of_each_row(tmp_path, capsys):
    rng = np.random.default_rng(302)
    amount, risk = np.round(np.exp(rng.normal(2.0, 1.2, 400)), 2), rng.normal(size=400)
    # Small amounts are fraud, and the model does not know the amount.
    odds = 1.2 * risk - 1.5 - 0.9 * (np.log(amount) - 2.0)
    fraud = (rng.random(400) < 1.0 / (1.0 + np.exp(-odds))).astype(int)
    rows = [f"{r:.4f},{a},{y}" for r, a, y in zip(risk, amount, fraud, strict=True)]
    data = tmp_path / "pay.csv"
    data.write_text("\n".join(["risk,amount,fraud", *rows]) + "\n")
    saved = tmp_path / "m.skops"
    words = ("--target", "fraud", "--fp-cost", 5, "--fn-cost", "amount", "--drop", "amount", "--base", "linear")
    assert run("compare", data, *words, "--quick", "--save", saved, "--out", tmp_path / "r") == 0
    found = answers(tmp_path / "r")
    assert (found["change"], found["strategy"]) == (False, "threshold")
    assert found["verdict"].startswith("Stay with logistic regression")
    assert "its costs" not in found["verdict"]
    assert load_model(saved).threshold == pytest.approx(found["threshold"])


def test_new_rows_need_their_costs(compared, capsys):
    folder, *_ = compared
    (folder / "no.csv").write_text("risk,shop\n0.5,a\n")
    assert run("predict", folder / "m.skops", folder / "no.csv") == 2
    assert "amount" in capsys.readouterr().err
    (folder / "gap.csv").write_text("risk,amount,shop\n0.5,3,a\n0.5,,a\n")
    assert run("predict", folder / "m.skops", folder / "gap.csv") == 2
    assert (
        "column 'amount' of gap.csv holds nothing in row 2 (line 3), and the model decides each row by its own costs; "
        "--single-threshold decides by the tuned threshold, which needs none."
    ) in capsys.readouterr().err
    assert run("predict", folder / "m.skops", folder / "gap.csv", "--single-threshold") == 0
    assert len(capsys.readouterr().out.split()) == 3
    (folder / "none.csv").write_text("risk,amount,shop\n")
    assert run("predict", folder / "m.skops", folder / "none.csv") == 2


def test_the_single_threshold_of_a_saved_model_decides_without_costs(compared, tmp_path, capsys):
    folder, *_ = compared
    capsys.readouterr()
    assert run("predict", folder / "m.skops", folder / "new.csv", "--single-threshold") == 0
    labels = [int(row["label"]) for row in csv.DictReader(capsys.readouterr().out.splitlines())]
    model, X = (
        load_model(folder / "m.skops"),
        load_rows(folder / "new.csv", load_table(folder / "pay.csv", "fraud").columns).X,
    )
    assert labels == model.estimator.predict(X, single_threshold=True).tolist()
    assert labels != model.estimator.predict(X).tolist()
    words = ("--strategies", "threshold", "--save", tmp_path / "t.skops", "--out", tmp_path / "r")
    assert run("compare", folder / "pay.csv", *QUICK, "--fp-cost", 5, "--fn-cost", "amount", *words) == 0
    assert run("predict", tmp_path / "t.skops", folder / "new.csv", "--single-threshold") == 2
    said = "--single-threshold is for a model that decides each row by its own costs; t.skops does not."
    assert said in capsys.readouterr().err


def test_a_cost_that_is_missing_is_named_with_its_line(tmp_path, capsys):
    rows = ["x,amount,fraud", "", *(f"{i},{i},{'no' if i % 2 else 'yes'}" for i in range(1, 60))]
    rows[5], rows[10] = "4,,no", "9,,yes"
    (tmp_path / "gap.csv").write_text("\n".join(rows))
    common = (tmp_path / "gap.csv", "--target", "fraud", "--positive", "yes", "--quick")
    for cell, row, line, kind in (("fn", 9, 11, "yes"), ("fp", 4, 6, "no")):
        assert run("compare", *common, f"--{cell}-cost", "amount") == 2
        said = f"--{cell}-cost must be known for each row that is '{kind}'; column 'amount' of gap.csv holds nothing in"
        assert f"{said} row {row} (line {line})." in capsys.readouterr().err


def test_equal_costs_are_a_threshold(compared, tmp_path):
    folder, *_ = compared
    common = ("--target", "fraud", "--quick", "--base", "linear", "--strategies", "threshold", "--time-budget", 3600)
    assert run("compare", folder / "pay.csv", "--fp-cost", 1, "--fn-cost", 4, "--out", tmp_path / "a", *common) == 0
    loss = ("--loss", "class_weighted_hamming:1:4")
    assert run("compare", folder / "pay.csv", *loss, "--out", tmp_path / "b", *common) == 0
    ours, usual = answers(tmp_path / "a"), answers(tmp_path / "b")
    assert ours["threshold"] == usual["threshold"]
    for one, two in zip(ours["rows"], usual["rows"], strict=True):
        assert one["out_of_fold_loss"] == pytest.approx(two["out_of_fold_loss"] * 1000 / 4000)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--fn-cost", "shop"),
            "--fn-cost must be a number or a column of numbers of pay.csv, which has 'risk', 'amount'; got 'shop'",
        ),
        (("--fp-cost", "nan"), "fp must be a finite number"),
        (("--fn-cost", "amount", "--loss", "f1"), "--loss and --fn-cost do not go together: costs are the measure"),
        (("--fn-cost", "shop", "--drop", "shop"), "column 'shop' of pay.csv holds 'a' in row 1"),
        (("--fn-cost", "amount", "--drop", "amount,risk,shop"), "pay.csv has no column left for features"),
    ],
)
def test_costs_that_do_not_fit_are_refused(compared, tmp_path, capsys, words, said):
    folder, *_ = compared
    assert run("compare", folder / "pay.csv", "--target", "fraud", "--out", tmp_path / "r", *words) == 2
    assert said in capsys.readouterr().err


QUICK = ("--target", "fraud", "--quick", "--base", "linear", "--time-budget", 3600)


def predicted(model, data, capsys):
    capsys.readouterr()
    assert run("predict", model, data) == 0
    return list(csv.DictReader(capsys.readouterr().out.splitlines()))


def without(path, column, new):
    rows = list(csv.reader(path.read_text().splitlines()))
    at = rows[0].index(column)
    new.write_text("\n".join(",".join(row[:at] + row[at + 1 :]) for row in rows) + "\n")
    return new


def test_a_column_that_is_dropped_is_still_a_cost_and_no_feature(tmp_path, capsys):
    folder = tmp_path / "rows"
    folder.mkdir()
    write(folder / "pay.csv", 12000, 2)
    amount, fraud = write(folder / "new.csv", 1500, 3)
    bare = without(folder / "pay.csv", "amount", tmp_path / "bare.csv")
    costs = ("--fp-cost", 5, "--fn-cost", "amount", "--drop", "amount", "--test", folder / "new.csv")
    for name, model in (("threshold", "t.skops"), ("threshold,decision", "d.skops")):
        words = ("--strategies", name, "--save", tmp_path / model, "--out", tmp_path / name)
        assert run("compare", folder / "pay.csv", *costs, *QUICK, *words) == 0

    # The threshold needs no amounts, and its probabilities are those of a table that has none.
    new = without(folder / "new.csv", "amount", tmp_path / "new.csv")
    ours, found = predicted(tmp_path / "t.skops", new, capsys), answers(tmp_path / "threshold")
    held = load_table(bare, "fraud")
    steps = TableEncoder(held.columns), LogisticRegression(C=found["constant"], max_iter=1000)
    by_hand = make_pipeline(*steps).fit(held.X, held.y).predict_proba(load_rows(new, held.columns).X)[:, 1]
    assert [float(row["probability"]) for row in ours] == pytest.approx(by_hand.tolist(), rel=1e-3)
    assert ours == predicted(tmp_path / "t.skops", folder / "new.csv", capsys)
    by_hand = paid(amount, fraud, np.array([int(row["label"]) for row in ours])) / 1.5
    assert next(row for row in found["rows"] if row["strategy"] == "threshold")["loss_on_test_file"] == pytest.approx(
        by_hand
    )
    assert not any("amount" in name for name in found["coefficients"])

    # Its own costs decide a row, and its label is that of the printed code.
    found = answers(tmp_path / "threshold,decision")
    assert found["strategy"] == "decision"
    labels = np.array([int(row["label"]) for row in predicted(tmp_path / "d.skops", folder / "new.csv", capsys)])
    decided = next(row for row in found["rows"] if row["strategy"] == "decision")
    assert decided["loss_on_test_file"] == pytest.approx(paid(amount, fraud, labels) / 1.5)
    assert run("predict", tmp_path / "d.skops", new) == 2
    said = "new.csv has no column 'amount', by which the model decides each row unless --single-threshold is given"
    assert said in capsys.readouterr().err
    assert run("predict", tmp_path / "d.skops", new, "--single-threshold") == 0
    one = [int(row["label"]) for row in csv.DictReader(capsys.readouterr().out.splitlines())]
    assert one == [int(row["label"]) for row in ours]
    space = {}
    exec(found["code"], space)
    rows = csv.DictReader((folder / "new.csv").read_text().splitlines())
    X = np.array([(float(row["risk"]), float(row["amount"]), "abc".index(row["shop"])) for row in rows])
    assert (space["model"].predict(X, fn_cost=amount) == labels).mean() > 0.99

    # A plan of an earlier report repeats it.
    words = ("--plan", tmp_path / "threshold,decision" / "results.json", "--out", tmp_path / "again")
    assert run("compare", folder / "pay.csv", *costs, "--target", "fraud", *words) == 0
    assert answers(tmp_path / "again")["rows"] == found["rows"]


def rewritten(path, new, change):
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for i, row in enumerate(rows):
        change(row, i)
    new.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n")
    return new


@pytest.mark.parametrize("every", [1, 8])
def test_a_cost_that_is_known_for_one_label_alone_is_no_feature(compared, tmp_path, capsys, every):
    folder, *_ = compared

    def forget(row, i):
        row["amount"] = "" if row["fraud"] == "0" and i % every == 0 else row["amount"]

    data = rewritten(folder / "pay.csv", tmp_path / "gaps.csv", forget)
    costs = ("--fp-cost", 5, "--fn-cost", "amount", "--strategies", "threshold,decision")
    assert run("compare", data, *QUICK, *costs, "--save", tmp_path / "m.skops", "--out", tmp_path / "r") == 0
    out, err = capsys.readouterr()
    sentence = "Column 'amount' is empty for one of the labels alone. It is a cost and no feature"
    assert err.count(sentence) == 1
    assert "is kept, as --keep-column says" not in out + err
    found = answers(tmp_path / "r")
    assert found["strategy"] == "threshold"
    assert "kinds={'amount': 'cost'}" in found["code"]
    assert not any("amount" in name for name in found["coefficients"])
    # With the leak it would cost next to nothing.
    assert found["rows"][0]["out_of_fold_loss"] > 100.0
    without(folder / "new.csv", "amount", tmp_path / "new.csv")
    assert len(predicted(tmp_path / "m.skops", tmp_path / "new.csv", capsys)) == 1500
    assert run("compare", data, *QUICK, *costs, "--keep-column", "amount", "--out", tmp_path / "k") == 0
    assert "It is kept, as --keep-column says" in capsys.readouterr().err


def test_a_cost_may_be_the_same_for_all_rows(compared, tmp_path):
    folder, *_ = compared
    data = rewritten(folder / "pay.csv", tmp_path / "fee.csv", lambda row, i: row.update(fee="5.0"))
    words = ("--fn-cost", "amount", "--strategies", "threshold,decision")
    assert run("compare", data, *QUICK, *words, "--fp-cost", "fee", "--out", tmp_path / "a") == 0
    assert run("compare", folder / "pay.csv", *QUICK, *words, "--fp-cost", 5, "--out", tmp_path / "b") == 0
    ours, usual = answers(tmp_path / "a"), answers(tmp_path / "b")
    assert ours["rows"] == usual["rows"]
    assert ours["coefficients"] == usual["coefficients"]


def test_equal_columns_of_costs_give_the_answer_of_equal_numbers(compared, tmp_path):
    folder, *_ = compared
    data = rewritten(folder / "pay.csv", tmp_path / "same.csv", lambda row, i: row.update(fee="1", miss="4.0"))
    for name, words in (("a", ("--fp-cost", "fee", "--fn-cost", "miss")), ("b", ("--fp-cost", 1, "--fn-cost", 4))):
        rows = data if name == "a" else folder / "pay.csv"
        assert run("compare", rows, *QUICK, *words, "--out", tmp_path / name) == 0
    ours, usual = answers(tmp_path / "a"), answers(tmp_path / "b")
    for key in ("rows", "strategy", "threshold", "coefficients"):
        assert ours[key] == usual[key]


@pytest.mark.parametrize("gaps", [1, 4])
def test_how_many_rows_lack_a_cost_is_said(compared, tmp_path, capsys, gaps):
    folder, *_ = compared
    gone = []

    def forget(row, i):
        if row["fraud"] == "0" and len(gone) < gaps:
            gone.append(i)
            row["amount"] = ""

    data = rewritten(folder / "pay.csv", tmp_path / "gaps.csv", forget)
    words = ("--fp-cost", 5, "--fn-cost", "amount", "--out", tmp_path / "r", "--strategies")
    assert run("compare", data, *QUICK, *words, "threshold,decision") == 0
    sentence = f"Column 'amount' lacks the cost of {gaps} of 4,000 rows, so rows are not decided by their own costs"
    assert capsys.readouterr().err.count(sentence) == 1
    found = answers(tmp_path / "r")
    assert found["strategy"] == "threshold"
    assert [one["sentence"].startswith(sentence) for one in found["findings"]].count(True) == 1
    assert "NaN" in next(row["refusal"] for row in found["rows"] if row["strategy"] == "decision")
    # Without the rule there is nothing to say.
    assert run("compare", data, *QUICK, *words, "threshold") == 0
    assert "lacks the cost" not in capsys.readouterr().err


def test_rows_weighted_by_costs_are_tried(tmp_path, capsys):
    write(tmp_path / "pay.csv", 16000, 2)
    amount, fraud = write(tmp_path / "new.csv", 1500, 3)
    costs = ("--fp-cost", 5, "--fn-cost", "amount", "--test", tmp_path / "new.csv")
    words = ("--strategies", "cost_weight", "--save", tmp_path / "m.skops", "--out", tmp_path / "r")
    assert run("compare", tmp_path / "pay.csv", *QUICK, *costs, *words) == 0
    found = answers(tmp_path / "r")
    assert (found["change"], found["strategy"], found["weight_of_positives"]) == (True, "cost_weight", 1.0)
    # The same model by hand: each row weighs what its mistake costs.
    train, new = (load_table(tmp_path / name, "fraud") for name in ("pay.csv", "new.csv"))
    weights = np.where(train.y == 1, train.X[:, 1], 5.0)
    steps = TableEncoder(train.columns), LogisticRegression(C=found["constant"], max_iter=1000)
    model = make_pipeline(*steps).fit(train.X, train.y, logisticregression__sample_weight=weights / weights.mean())
    rows = predicted(tmp_path / "m.skops", tmp_path / "new.csv", capsys)
    scores = model.predict_proba(new.X)[:, 1]
    assert [float(row["probability"]) for row in rows] == pytest.approx(scores.tolist(), rel=1e-3)
    labels = np.array([int(row["label"]) for row in rows])
    assert ((scores >= found["threshold"]) == labels).mean() > 0.99
    weighted = next(row for row in found["rows"] if row["strategy"] == "cost_weight")
    assert weighted["loss_on_test_file"] == pytest.approx(paid(amount, fraud, labels) / 1.5)
    space = {}
    exec(found["code"], space)
    assert space["model"].predict(new.X).tolist() == labels.tolist()

    usual = options_parser().parse_args(["compare", "x.csv", "--fn-cost", "amount"])
    assert "cost_weight" in plan_of(usual).strategies
    assert "cost_weight" not in plan_of(options_parser().parse_args(["compare", "x.csv"])).strategies


@pytest.mark.parametrize(("gaps_in", "option"), [("pay", "--alarms-at-most"), ("new", "--test")])
def test_rows_that_are_decided_by_costs_must_have_them_all(tmp_path, capsys, gaps_in, option):
    for k, name in enumerate(("pay", "new")):
        write(tmp_path / f"{name}.csv", 300, k)
    lines = (tmp_path / f"{gaps_in}.csv").read_text().splitlines()
    negative = next(i for i, line in enumerate(lines) if line.endswith(",0"))
    risk, _, *rest = lines[negative].split(",")
    lines[negative] = ",".join([risk, "", *rest])
    (tmp_path / f"{gaps_in}.csv").write_text("\n".join(lines) + "\n")
    given = {"--alarms-at-most": "0.2", "--test": tmp_path / "new.csv"}[option]
    costs = ("--target", "fraud", "--fp-cost", 5, "--fn-cost", "amount", "--out", tmp_path / "r")
    assert run("compare", tmp_path / "pay.csv", *costs, option, given) == 2
    wanted = f"{option} decides rows by their own costs, which must all be known; column 'amount' of {gaps_in}.csv"
    assert f"{wanted} holds nothing in 1 of them" in capsys.readouterr().err
    # A threshold needs none, and is all that is tried beside a floor.
    assert run("compare", tmp_path / "pay.csv", *QUICK, *costs[2:], option, given, "--strategies", "threshold") == 0
    if option == "--alarms-at-most":
        assert run("compare", tmp_path / "pay.csv", *QUICK, *costs[2:], option, 0.6, "--recall-at-least", 0.05) == 0
    assert {row["strategy"] for row in answers(tmp_path / "r")["rows"]} == {"as_it_is", "threshold"}
    assert "lacks the cost" not in capsys.readouterr().err
