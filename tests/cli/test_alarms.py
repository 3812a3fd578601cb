"""``setwise compare --alarms-at-most`` on files, and ``predict`` of the models that it saves."""

import csv
import io
import json

import numpy as np
import pytest

from cli.test_costs import run, write
from setwise.compare.saved_model import load_model

LEAST = ("-v", "--target", "fraud", "--quick", "--base", "linear", "--time-budget", 3600)


def called(folder, model, data, capsys):
    capsys.readouterr()
    assert run("predict", folder / model, folder / data) == 0
    said = capsys.readouterr()
    return np.array([int(row["label"]) for row in csv.DictReader(io.StringIO(said.out))]), said.err


@pytest.mark.slow
def test_fifty_cases_are_a_share_that_is_kept_and_predict_says_where_a_file_has_more(tmp_path, capsys):
    write(tmp_path / "pay.csv", 4000, 0)
    words = ("--alarms-at-most", 50, "--save", tmp_path / "m.skops", "--out", tmp_path / "r")
    assert run("compare", tmp_path / "pay.csv", *LEAST, *words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "pay.csv: recall at a share of alarms of at most 0.0125" in out
    assert "The limit of alarms is 50 of all 4,000 rows, a share of 0.0125." in out
    # The share of the rows is none of the time.
    assert "of 5 keep the limit of alarms" in out
    assert "Left out" not in out
    assert json.loads((tmp_path / "r" / "results.json").read_text("utf-8"))["answers"][0]["title"] == "recall"
    model = load_model(tmp_path / "m.skops")
    assert model.alarms == 0.0125
    labels, err = called(tmp_path, "m.skops", "pay.csv", capsys)
    count = int(labels.sum())
    note = f"{count} of 4,000 rows are labelled 1; the limit of alarms, 0.0125, is 50 of them."
    assert (note in err) == (count > 50)
    rows = (tmp_path / "pay.csv").read_text().splitlines()
    risky = [row for row in rows[1:] if float(row.split(",")[0]) > 2.0]
    (tmp_path / "risky.csv").write_text("\n".join([rows[0], *risky]) + "\n")
    labels, err = called(tmp_path, "m.skops", "risky.csv", capsys)
    most = int(0.0125 * len(risky))
    assert labels.sum() > most
    assert f"of {len(risky)} rows are labelled 1; the limit of alarms, 0.0125, is {most} of them." in err


@pytest.mark.slow
def test_with_costs_the_saved_model_calls_the_rows_that_save_most(tmp_path, capsys):
    rng = np.random.default_rng(0)
    risk, amount = rng.normal(size=3000), np.round(np.exp(rng.normal(3.0, 0.8, 3000)), 2)
    fraud = (rng.random(3000) < 1.0 / (1.0 + np.exp(2.0 - 1.5 * risk))).astype(int)
    lines = [f"{r:.4f},{a},{t}" for r, a, t in zip(risk, amount, fraud, strict=True)]
    (tmp_path / "pay.csv").write_text("\n".join(["risk,amount,fraud", *lines]) + "\n")
    words = ("--alarms-at-most", 0.03, "--fp-cost", 5, "--fn-cost", "amount", "--save", tmp_path / "m.skops")
    assert run("compare", tmp_path / "pay.csv", *LEAST, *words, "--out", tmp_path / "r") == 0
    found = json.loads((tmp_path / "r" / "results.json").read_text("utf-8"))["answers"][0]
    assert (found["change"], found["strategy"]) == (True, "decision")
    assert "--strategies" not in capsys.readouterr().out
    labels, _ = called(tmp_path, "m.skops", "pay.csv", capsys)
    assert labels.mean() == pytest.approx(0.03, abs=0.005)
    # The least amount of an alarm is larger than that of many rows that are riskier.
    riskier = risk > risk[labels == 1].min()
    assert 0 < labels.sum() < 0.5 * riskier.sum()
    assert amount[labels == 1].mean() > 1.5 * amount.mean()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--alarms-at-most", 0), "--alarms-at-most must be a share of the rows above 0 and below 1, or a number of"),
        (("--alarms-at-most", "nan"), "or a number of them; got nan."),
        (("--alarms-at-most", 101), "or a number of them, of which there are 100; got 101."),
        (("--alarms-at-most", 1, "--confidence", 0.95), "cannot be kept on 100 rows: even without any alarm"),
        (("--alarms-at-most", 9, "--loss", "auc"), "a limit of alarms is kept by a threshold, and AUC has none."),
    ],
)
def test_limits_that_do_not_fit_are_refused_in_a_sentence(tmp_path, capsys, words, says):
    write(tmp_path / "pay.csv", 100, 3)
    assert run("compare", tmp_path / "pay.csv", *LEAST, "--folds", 2, *words, "--out", tmp_path / "r") == 2
    err = capsys.readouterr().err
    assert says in err
    assert "Traceback" not in err
    assert not (tmp_path / "r").exists()
