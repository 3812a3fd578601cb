"""``setwise compare`` with costs of each row, in money of 1,000 rows, and ``predict`` of the model that it saves."""

import csv
import json
import re

import numpy as np
import pytest

from setwise.cli import main

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
    assert (found["change"], found["strategy"]) == (True, "decision")
    capsys.readouterr()
    assert run("predict", folder / "m.skops", folder / "new.csv") == 0
    labels = np.array([int(row["label"]) for row in csv.DictReader(capsys.readouterr().out.splitlines())])
    cost = paid(amount, fraud, labels) * 1000 / 1500
    (row,) = [row for row in found["rows"] if row["strategy"] == "decision"]
    assert row["loss_on_test_file"] == pytest.approx(cost)
    assert found["verdict"] == "Change to logistic regression decided by the least expected loss."
    words = " ".join(found["details"])
    assert f"On the rows of the test file: cost of 1,000 rows {cost:,.0f}" in words
    said = re.search(r"Of 1,000 rows, out of fold: .* alarms cost ([\d.]+) and .* misses cost ([\d,.]+)\.", words)
    alarms, misses = (float(one.replace(",", "")) for one in said.groups())
    decided = row["out_of_fold_loss"]
    assert alarms + misses == pytest.approx(decided, rel=0.05)
    assert "loss=RowCosts(fp=5, fn=X[:, 1])" in found["code"]


def test_new_rows_need_their_costs(compared, capsys):
    folder, *_ = compared
    (folder / "no.csv").write_text("risk,shop\n0.5,a\n")
    assert run("predict", folder / "m.skops", folder / "no.csv") == 2
    assert "amount" in capsys.readouterr().err
    (folder / "gap.csv").write_text("risk,amount,shop\n0.5,,a\n")
    assert run("predict", folder / "m.skops", folder / "gap.csv") == 2
    assert "fn must be known for each row that is to be decided; got NaN for row 0" in capsys.readouterr().err


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
        (("--fn-cost", "amount", "--drop", "amount"), "--fn-cost must be a number or a column of numbers of pay.csv"),
    ],
)
def test_costs_that_do_not_fit_are_refused(compared, tmp_path, capsys, words, said):
    folder, *_ = compared
    assert run("compare", folder / "pay.csv", "--target", "fraud", "--out", tmp_path / "r", *words) == 2
    assert said in capsys.readouterr().err
