"""``setwise compare`` on files of all kinds."""

import json
import os
import re
from html import escape

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file

from setwise.cli import main, options_parser
from setwise.compare.command import plan_of, work_of

LEAST = ("-v", "--quick", "--folds", "2", "--base", "linear", "--strategies", "threshold", "--time-budget", "3600")


def run(*words):
    try:
        return main(["compare", *map(str, words)])
    except SystemExit as stop:
        return stop.code


def results(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))["answers"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A quarter of 160 rows is positive; the same data in every format, and with labels as a matrix."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    y, bags = np.arange(160) % 4 == 0, np.arange(160) // 8
    X = rng.normal(size=(160, 3)) + np.outer(y, [1.5, 0.5, 0.0])
    X[np.abs(X) < 0.4] = 0.0
    lines = [",".join([*(f"{v:.4f}" for v in x), str(b), str(int(t))]) for x, b, t in zip(X, bags, y, strict=True)]
    (folder / "t.csv").write_text("\n".join(["u,v,w,bag,sick", *lines]) + "\n")
    dump_svmlight_file(X, y.astype(int), str(folder / "t.svm"))
    dump_svmlight_file(X, y.astype(int), str(folder / "q.svm"), query_id=bags)
    sparse = csr_matrix(X)
    csr = {"X_data": sparse.data, "X_indices": sparse.indices, "X_indptr": sparse.indptr, "X_shape": [160, 3]}
    Y = (X + rng.normal(size=X.shape) > 0.5).astype(int)
    np.savez(folder / "csr.npz", y=y.astype(int), **csr)
    np.savez(folder / "dense.npz", X=X, y=y.astype(int), groups=bags)
    np.savez(folder / "matrix.npz", X=X, Y=Y)
    np.savez(folder / "csr_matrix.npz", Y=Y, **csr)
    return folder


@pytest.fixture
def without_pictures(monkeypatch):
    """Pictures are drawn in tests of their own."""
    monkeypatch.setattr("setwise.compare.report.drawn", lambda found: {})


CASES = (
    ("t.csv", "--target", "sick", "--drop", "bag"),
    ("t.csv", "--target", "sick", "--group", "bag"),
    ("t.svm",),
    ("q.svm",),
    ("csr.npz",),
    ("dense.npz",),
    ("matrix.npz",),
    ("matrix.npz", "--average", "macro"),
    ("csr_matrix.npz",),
)


@pytest.mark.draw(9)
@pytest.mark.parametrize("words", CASES, ids=[" ".join(c).replace("--target sick", "").strip() for c in CASES])
def test_every_kind_of_data_gets_an_answer_for_every_kind_of_measure(files, tmp_path, capsys, words):
    assert run(files / words[0], *words[1:], *LEAST, "--loss", "f1,auc,break_even", "--out", tmp_path / "r") == 0
    shown = capsys.readouterr()
    found = results(tmp_path / "r")
    assert [one["measure"] for one in found] == ["f1", "auc", "break_even"]
    for word in ("Stay with logistic", "(higher is better)", "HOW SURE", "WHY"):
        assert shown.out.count(f"\n{word}" if word.isupper() else word) == 3
    for one in found:
        assert one["rows"][0]["base"] == "linear"
        assert all(0 <= loss <= 1 for row in one["rows"] if not row["refusal"] for loss in row["loss_in_folds"])
    f1, *orders = found
    assert {row["strategy"] for row in f1["rows"]} >= {"threshold", "as_it_is"}
    for one in orders:
        assert {row["strategy"] for row in one["rows"]} == {"order"}
        assert one["threshold"] is None
    assert "on a usual machine" in shown.err
    assert "\r" not in shown.err


@pytest.mark.slow
def test_a_raw_table_is_answered_saved_and_predicted(tmp_path, capsys):
    rng = np.random.default_rng(0)
    cities = rng.choice(["Rome", "Oslo", "Bern", ""], 300)
    sick = (cities == "Rome") ^ (rng.random(300) < 0.1)
    lines = ["id,city,since,weight,note,sick"]
    for i, (city, yes) in enumerate(zip(cities, sick, strict=True)):
        weight = "NA" if i % 7 == 0 else f"{60 + rng.normal():.1f}"
        lines.append(f"p{i},{city},{2000 + i % 20}-03-01,{weight},x{i % 3},{'yes' if yes else 'no'}")
    (tmp_path / "t.csv").write_text("\n".join(lines))
    (tmp_path / "new.csv").write_text("\n".join([lines[0], *lines[200:]]))
    words = ("--target", "sick", "--drop", "note", "--loss", "fbeta:2", *LEAST, "--test", tmp_path / "new.csv")
    assert run(tmp_path / "t.csv", *words, "--out", tmp_path / "r", "--save", tmp_path / "m.skops") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "t.csv: F2" in out
    assert (
        "Column 'id' is left out: it is text of which no value occurs twice, as an id is; its words count as kind text."
        in out
    )
    assert "'note'" not in out.replace("drop='note'", "")
    assert "city = Rome +" in out
    assert f"Next: setwise predict {tmp_path / 'm.skops'} new.csv --keep id --out labels.csv" in out
    (one,) = results(tmp_path / "r")
    count = int(sick.sum())
    positive = f"Positive is sick = yes: {count} of 300 rows ({count / 3:.1f} %)."
    assert f"{positive} This is the default; change it with --positive no." in out
    assert "In the test file" not in out
    # The test file has the latest rows, so that no word is lost on dates.
    assert "folds are random" not in out
    assert one["data"] == {
        "file": str(tmp_path / "t.csv"), "rows": 300, "rows_of_file": 300, "target": "sick", "positive": "yes",
        "positive_by_default": True, "positive_rows": count,
    }  # fmt: skip
    page = (tmp_path / "r" / "report.html").read_text("utf-8")
    assert positive in page
    assert "Columns: category city; date since; number weight." in page
    whole = json.loads((tmp_path / "r" / "results.json").read_text("utf-8"))
    assert whole["command"].startswith(f"setwise compare {tmp_path / 't.csv'} --target sick")
    assert re.search(re.escape(escape(whole["command"])) + rf", {whole['date']}, setwise", page)
    assert one["rows"][0]["loss_on_test_file"] < 0.2
    assert (
        main(["predict", str(tmp_path / "m.skops"), str(tmp_path / "new.csv"), "--out", str(tmp_path / "l.csv")]) == 0
    )
    labels = [line.split(",")[0] for line in (tmp_path / "l.csv").read_text().splitlines()[1:]]
    assert np.mean([label == line.split(",")[-1] for label, line in zip(labels, lines[200:], strict=False)]) > 0.8


@pytest.mark.slow
def test_the_printed_code_runs_and_repeats_the_threshold(files, tmp_path, capsys, monkeypatch, without_pictures):
    assert run(files / "t.csv", "--target", "sick", "--group", "bag", *LEAST, "--out", tmp_path / "r") == 0
    (one,) = results(tmp_path / "r")
    monkeypatch.chdir(files)
    space = {}
    exec(one["code"], space)
    assert space["model"].best_threshold_ == one["threshold"]
    # The code stands in the report.
    assert escape(one["code"].splitlines()[-1].strip()) in (tmp_path / "r" / "report.html").read_text("utf-8")
    assert "MeasureClassifier" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_table_is_read_as_it_is_asked_for(tmp_path, capsys, without_pictures):
    rng = np.random.default_rng(0)
    groups, age = rng.integers(0, 4, 300), rng.integers(20, 60, 300)
    sick = (groups == 2) ^ (rng.random(300) < 0.1)
    ages = [-1 if i % 5 == 0 else one for i, one in enumerate(age)]
    lines = [
        "größe^age^key^sick",
        *(f"{g}^{a}^{i % 9}^{int(y)}" for i, (g, a, y) in enumerate(zip(groups, ages, sick, strict=True))),
    ]
    (tmp_path / "t.csv").write_bytes("\n".join(lines).encode("cp850"))
    form = ("--sep", "^", "--encoding", "cp850")
    words = (*form, "--kind", "größe=category", "--kind", "key=id", "--missing", "-1", "--target", "sick", *LEAST)
    assert run(tmp_path / "t.csv", *words, "--test", tmp_path / "t.csv", "--out", tmp_path / "r", "--save",
               tmp_path / "m.skops") == 0  # fmt: skip
    out = " ".join(capsys.readouterr().out.split())
    assert "Column 'key' is left out: it is an id." in out
    assert "größe = 2 +" in out
    (one,) = results(tmp_path / "r")
    assert one["rows"][0]["loss_on_test_file"] < 0.3
    space = {}
    exec(one["code"], space)
    assert space["data"].columns[1].missing == ("-1",)
    command = ["predict", str(tmp_path / "m.skops"), str(tmp_path / "t.csv"), *form, "--out", str(tmp_path / "l.csv")]
    assert main(command) == 0
    labels = [line.split(",")[0] for line in (tmp_path / "l.csv").read_text().splitlines()[1:]]
    assert np.mean(np.array(labels, dtype=int) == sick) > 0.8


@pytest.mark.slow
def test_the_code_has_the_path_that_was_given_names_the_measure_and_predicts_names(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = os.path.relpath(files / "t.csv")
    words = ("--target", "sick", "--drop", "bag", "--recall-at-least", "0.8", *LEAST)
    assert run(path, *words, "--out", tmp_path / "r") == 0
    (one,) = results(tmp_path / "r")
    assert f"data = load_table({path!r}, " in one["code"]
    assert "loss=Tversky(alpha=1.0, beta=1e-09, zero_division=1.0)" in one["code"]
    assert "strategies=[FlooredThreshold(recall=0.8)]" in one["code"]
    assert (one["measure"], one["title"]) == ("tversky:1:1e-9", "precision")
    space = {}
    exec(one["code"], space)
    assert space["model"].best_threshold_ == one["threshold"]
    assert set(space["labels"]) == {"0", "1"}


def test_the_code_of_bundled_digits_draws_the_rows_of_quick():
    options = options_parser().parse_args(["compare", "--quick"])
    _, digits, _ = work_of(options, plan_of(options))
    space = {}
    exec("\n".join(digits.problem.code), space)
    assert len(space["y"]) == 600
    np.testing.assert_array_equal(space["X"], digits.problem.X)
    np.testing.assert_array_equal(space["y"], digits.problem.y)


def test_a_test_file_that_differs_is_told(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    rows = [f"{x:.2f},{'yes' if t else 'no'}" for x, t in zip(np.exp(rng.normal(size=300) + y), y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["amount,sick", *rows]))
    (tmp_path / "cents.csv").write_text("\n".join(["amount,sick", *(row.replace(".", "") for row in rows)]))
    words = ("--target", "sick", *LEAST, "--test", tmp_path / "cents.csv", "--out", tmp_path / "r")
    assert run(tmp_path / "t.csv", *words, "--save", tmp_path / "m.skops") == 0
    assert "In the test file: Column 'amount' is above " in (tmp_path / "r" / "report.html").read_text("utf-8").replace(
        "&#x27;", "'"
    )
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "m.skops"), str(tmp_path / "t.csv")]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_what_is_more_than_a_threshold_is_saved_too(files, tmp_path):
    from setwise.compare.saved_model import load_model

    words = ("--quick", "--folds", "2", "--base", "forest", "--strategies", "decision", "--time-budget", "3600")
    assert run(files / "matrix.npz", *words, "--out", tmp_path / "r", "--save", tmp_path / "m.skops") == 0
    (one,) = results(tmp_path / "r")
    X = np.load(files / "matrix.npz")["X"]
    space = {"__name__": "x"}
    code = one["code"].replace("'matrix.npz'", repr(str(files / "matrix.npz")))
    exec(code, space)
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").decide(X)[0], space["model"].predict(X))


@pytest.mark.slow
def test_floors_are_asked_for_and_counted(files, tmp_path, capsys, without_pictures):
    words = ("--target", "sick", "--drop", "bag", "--recall-at-least", "0.8", "--confidence", "0.8")
    # What is left out is said however much time there is.
    assert run(files / "t.csv", *words, *LEAST, "--strategies", "ramp,gfm", "--out", tmp_path / "r") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Left out of --strategies: ramp; a floor is kept by a threshold alone." in out
    assert "Left out of --strategies: gfm; not for this kind of data or of measure." in out
    assert "t.csv: precision at a recall of at least 0.8 with confidence 0.8 =" in out
    report = (tmp_path / "r" / "report.html").read_text("utf-8")
    # Where the address of the site is known, words are links.
    report = re.sub("</?a[^>]*>", "", report)
    assert "tuned threshold: of the thresholds that keep the floor" in report
    assert re.search(r"keeps a recall of at least 0.8 with confidence 0.8 out of .* [012] of 2 keep the floor", out)
    assert re.search(r"Expect recall \.\d+ \(at least .* and precision", out)
    assert "--confidence 0.95" not in out
    assert run(files / "t.csv", *words, *LEAST, "--precision-at-least", "0.94", "--out", tmp_path / "s") == 2
    assert "is not met by any threshold" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("t.csv",), "name the target column with --target"),
        (("t.csv", "--target", "sick", "--average", "macro"), "--average says what a set is in a label matrix"),
        (("matrix.npz", "--recall-at-least", "0.9"), "a floor is for one label a row"),
        (("t.csv", "--target", "sick", "--loss", "auc", "--recall-at-least", "0.9"), "a floor is kept by a threshold"),
        (
            ("t.csv", "--target", "sick", "--loss", "f1,auc", "--save", "m.skops"),
            "--save takes the model of one measure",
        ),
        (("t.csv", "--target", "sick", "--save", "m.pickle"), "the path of a model must end in .skops"),
        (("t.csv", "--target", "sick", "--save", "no/m.skops"), "there is no folder no for m.skops."),
        (("t.csv", "--target", "sick", "--test", "matrix.npz"), "path must end in one of .csv"),
        (("t.csv", "--target", "sick", "--test", "none.csv"), "there is no file none.csv."),
        (("t.csv", "--target", "sick", "--folds", "100"), "t.csv is too small for 100 outer folds"),
        (("t.csv", "--target", "u"), "must have 2 to 50 values; it has 124"),
        (("t.csv", "--target", "sick", "--kind", "bag"), "--kind must be COLUMN=KIND, as zip=category; got 'bag'."),
        (("t.csv", "--target", "sick", "--kind", "bag=numeral"), "kinds['bag'] must be one of 'number', 'category'"),
        (("t.csv", "--target", "sick", "--kind", "no=id"), "t.csv has no column 'no'"),
        (("t.csv", "--target", "sick", "--sep", ";;"), "sep must be one character, as ';'; got ';;'."),
        (
            ("t.csv", "--target", "sick", "--encoding", "x"),
            "--encoding must be one that Python knows, as 'cp1252'; got 'x'.",
        ),
        (("matrix.npz", "--missing", "-"), "missing is for tables with named columns; matrix.npz has none."),
        (
            ("t.csv", "--target", "sick", "--recall-at-least", "1.5"),
            "--recall-at-least must be a finite number in [0, 1]; got 1.5.",
        ),
        (
            ("t.csv", "--target", "sick", "--precision-at-least", "nan"),
            "--precision-at-least must be a finite number in [0, 1]; got nan",
        ),
        (
            ("t.csv", "--target", "sick", "--recall-at-least", "0.9", "--confidence", "1"),
            "--confidence must be a finite number in (0, 1); got 1.0.",
        ),
        (
            ("t.csv", "--target", "sick", "--recall-at-least", "0.99", "--confidence", "0.95"),
            "a recall of at least 0.99 with confidence 0.95 cannot be kept on 40 positive rows",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(files, tmp_path, monkeypatch, capsys, words, says):
    monkeypatch.chdir(files)
    assert run(*words, "--out", tmp_path / "r") == 2
    err = [line for line in capsys.readouterr().err.splitlines() if line.startswith("setwise: ")]
    assert len(err) == 1
    assert says in err[0]
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--save", "m.txt"), "the path of a model must end in .skops"),
        (("--save", "no/m.skops"), "there is no folder no for m.skops."),
        (("--save", "m.skops", "--loss", "f1,auc"), "--save takes the model of one measure"),
        (("--checkpoint", "no/c.npz"), "checkpoint must be a file in a folder that exists; got"),
        (("--checkpoint", "t.csv"), "there is a file t.csv already: pass --resume"),
        (("--checkpoint", "t.csv", "--resume"), "t.csv is not a checkpoint of setwise"),
        (("--resume",), "--resume goes on from the file of --checkpoint; name it."),
        (("--test", "no.csv"), "there is no file no.csv."),
        (("--plan", "no.json"), "there is no file no.json."),
        (("--cost-matrix", "no.csv"), "there is no file no.csv."),
    ],
)
def test_a_bad_place_is_refused_before_the_rows_are_read(files, tmp_path, monkeypatch, capsys, words, says):
    monkeypatch.setattr("setwise.compare.command.work_of", lambda *_: pytest.fail("the rows are read"))
    monkeypatch.chdir(files)
    assert run("t.csv", "--target", "sick", *words, "--out", tmp_path / "r") == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_a_folder_is_no_place_for_a_model(files, tmp_path, capsys):
    (tmp_path / "m.skops").mkdir()
    words = ("--target", "sick", *LEAST, "--save", tmp_path / "m.skops", "--out", tmp_path / "r")
    assert run(files / "t.csv", *words) == 2
    assert f"{tmp_path / 'm.skops'} is a folder; name a file." in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_all_rows_of_a_file_are_taken(tmp_path):
    y = np.arange(9000) % 3 == 0
    np.savez(tmp_path / "big.npz", X=np.sqrt(np.arange(9000.0))[:, None], y=y.astype(int), groups=np.arange(9000) // 9)
    for quick in (False, True):
        options = options_parser().parse_args(["compare", str(tmp_path / "big.npz"), *["--quick"] * quick])
        (work,) = work_of(options, plan_of(options))
        assert [measured.name for measured in work.measures] == ["f1"]
        assert len(work.problem.y) == 9000
        assert (work.problem.origin.rows, work.problem.origin.drawn) == (9000, "")


@pytest.mark.slow
def test_the_plan_of_a_report_is_repeated_exactly(files, tmp_path, capsys):
    words = (files / "t.csv", "--target", "sick", "--quick", "-v")
    # A budget of nothing leaves one constant of logistic regression, and the folds inside.
    first = ("--time-budget", "1e-6", "--out", tmp_path / "r", "--save", tmp_path / "m.skops")
    assert run(*words, *first) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "The figures may be too good: there was no time to repeat the choice" in shown
    assert "Left out to end in time: " in shown
    (one,) = results(tmp_path / "r")
    assert one["plan"]["grid"] == [1.0]
    assert (one["plan"]["folds"], one["plan"]["outer"]) == (5, 0)
    plan = ("--plan", tmp_path / "r" / "results.json")
    assert run(*words, *plan, "--out", tmp_path / "again", "--save", tmp_path / "again.skops") == 0
    (other,) = results(tmp_path / "again")
    assert other["rows"] == one["rows"]
    assert other["plan"] == one["plan"]
    assert other["threshold"] == one["threshold"]
    capsys.readouterr()
    lines = (files / "t.csv").read_text().splitlines(keepends=True)
    (tmp_path / "less.csv").write_text("".join(lines[:-20]))
    n = len(lines) - 1
    assert run(tmp_path / "less.csv", *words[1:], *plan, "--out", tmp_path / "less") == 0
    other_rows = f"The plan is that of {n} rows of t.csv; here are {n - 20}."
    assert other_rows in " ".join(capsys.readouterr().out.split())
    assert run(*words, "--plan", files / "t.csv", "--out", tmp_path / "r") == 2
    assert "--plan must be the results.json of a report on one problem" in capsys.readouterr().err


@pytest.mark.slow
def test_columns_that_hold_nothing_take_no_memory(tmp_path, capsys):
    lines = [f"{i % 3 // 2} {10**6 + i % 5}:{1 + i % 2} {10**9}:{i % 7 + 3 * (i % 3 // 2)}" for i in range(60)]
    (tmp_path / "wide.svm").write_text("\n".join(lines))
    assert run(tmp_path / "wide.svm", *LEAST, "--out", tmp_path / "r") == 0
    assert "feature 1000000000" in capsys.readouterr().out


@pytest.mark.slow
def test_the_bundled_problems_tell_all_stories(tmp_path, capsys):
    assert run("--quick", "--folds", "3", "--out", tmp_path) == 0
    out = " ".join(capsys.readouterr().out.split())
    stories = (
        ("early detection", "Change to "),
        ("traits of digits", "Change to boosted"),
        ("breast cancer", "Stay with"),
    )
    for name, verdict in stories:
        assert re.search(rf"{name}: .*? {verdict}", out)
        out = out[out.index(f"{name}: ") :]
