import json
import re
import subprocess
import sys

import numpy as np
import pytest

from setwise import __version__
from setwise.cli import main


def run(*words):
    try:
        return main(list(words))
    except SystemExit as stop:
        return stop.code


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(90) < 0.3
    x = rng.normal(size=(90, 2)) + 1.5 * y[:, None]
    lines = ["u,v,bag,sick"]
    lines += [
        f"{a:.4f},{b:.4f},{i // 6},{'yes' if c else 'no'}" for i, ((a, b), c) in enumerate(zip(x, y, strict=True))
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_list_has_a_line_for_everything(capsys):
    assert run("list") == 0
    out = capsys.readouterr().out
    for title in ("losses:", "surrogates:", "inference:", "learners:", "experiments:"):
        assert title in out
    for name in ("jaccard", "early_detection", "lovasz", "one_slack", "lh_table1", "lh_figure6"):
        line = re.search(rf"^  {name} +(.+)$", out, re.MULTILINE)
        assert line, name
        assert len(line.group(1)) > 10
    assert "(LH Eq." not in [line.rstrip()[-7:] for line in out.splitlines()]


def test_version_and_help(capsys):
    assert run("--version") == 0
    assert __version__ in capsys.readouterr().out
    assert run("compare", "--help") == 0
    assert "--loss" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "sets"), [((), "one set"), (("--group", "bag"), "Each of the 15 groups is a set")])
def test_compare_on_a_file(table, tmp_path, capsys, words, sets):
    out = tmp_path / "report"
    assert run("compare", str(table), "--target", "sick", *words, "--quick", "--folds", "2", "--out", str(out)) == 0
    shown = capsys.readouterr()
    assert sets in shown.out
    for name in ("logistic regression at 0.5", "Hamming SVM", "Lovász hinge", "margin rescaling", "slack rescaling"):
        assert name in shown.out
    assert re.search(r"In jaccard (training for it wins|no clear winner|setwise loses)", shown.out)
    assert "compare" in shown.err
    assert "\r" not in shown.err
    kept = json.loads((out / "results.json").read_text())
    for row in kept["problems"][0]["rows"]:
        assert 0 <= row["mean"]["jaccard"] <= 1
    assert (out / "report.html").stat().st_size > 1000


def test_compare_on_a_raw_table_with_parameters_of_the_loss(tmp_path, capsys):
    rng = np.random.default_rng(0)
    cities = rng.choice(["Rome", "Oslo", "Bern", ""], 120)
    sick = (cities == "Rome") | (rng.random(120) < 0.1)
    lines = ["id,city,since,weight,note,sick"]
    for i, (city, yes) in enumerate(zip(cities, sick, strict=True)):
        weight = "NA" if i % 7 == 0 else f"{60 + 5 * yes + rng.normal():.1f}"
        lines.append(f"p{i},{city},{2000 + i % 20}-03-01,{weight},x{i % 3},{'yes' if yes else 'no'}")
    (tmp_path / "t.csv").write_text("\n".join(lines))
    words = ("--target", "sick", "--drop", "note", "--loss", "fbeta:2,jaccard:fraction", "--quick", "--folds", "2")
    assert run("compare", str(tmp_path / "t.csv"), *words, "--out", str(tmp_path / "r")) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "t.csv, trained for fbeta:2" in out
    assert "Column 'id' is left out: it is text of which no value occurs twice, as an id is." in out
    assert "'note'" not in out
    kept = json.loads((tmp_path / "r" / "results.json").read_text())
    assert [problem["measure"] for problem in kept["problems"]] == ["fbeta:2", "jaccard:fraction"]
    # the city alone tells nearly all, so a model that did not read it would be far worse
    for problem in kept["problems"]:
        assert min(row["mean"]["error_rate"] for row in problem["rows"]) < 0.15


def test_quick_takes_a_part_of_a_large_file(tmp_path):
    from setwise.compare import Plan
    from setwise.compare.command import _work

    y = np.arange(9000) % 3 == 0
    np.savez(tmp_path / "big.npz", X=np.arange(9000.0)[:, None], y=y.astype(int), groups=np.arange(9000) // 9)
    plan = Plan(3, 2)
    (problem, measures), *rest = _work(str(tmp_path / "big.npz"), None, None, None, None, None, plan, True)
    assert not rest
    assert list(measures) == ["jaccard"]
    assert len(problem.y) == pytest.approx(3000, abs=9)
    assert (np.unique(problem.groups, return_counts=True)[1] == 9).all()
    assert "of its 9,000 rows" in problem.about
    whole = _work(str(tmp_path / "big.npz"), None, None, None, None, None, plan, False)[0][0]
    assert len(whole.y) == 9000


def test_quick_takes_some_sets_where_each_is_large(tmp_path):
    from setwise.compare import Plan
    from setwise.compare.command import _work

    y = np.random.default_rng(0).random(30 * 4096) < 0.2
    np.savez(tmp_path / "images.npz", X=np.arange(len(y))[:, None], y=y, groups=np.arange(len(y)) // 4096)
    for folds, sets in ((3, 12), (20, 20)):
        (problem, _), *_ = _work(str(tmp_path / "images.npz"), None, None, None, None, None, Plan(folds, 2), True)
        assert len(problem.y) == sets * 4096
        assert len(problem.folds(folds, 0)) == folds


def test_columns_that_hold_nothing_take_no_memory(tmp_path, capsys):
    lines = [f"{i % 3 // 2} {10**15 + i % 5}:{1 + i % 2} {10**18}:{i % 7 + 3 * (i % 3 // 2)}" for i in range(60)]
    (tmp_path / "wide.svm").write_text("\n".join(lines))
    words = (str(tmp_path / "wide.svm"), "--quick", "--folds", "2", "--out", str(tmp_path / "r"))
    assert run("compare", *words) == 0
    assert "Lovász hinge" in capsys.readouterr().out


def test_compare_for_several_measures_on_a_label_matrix(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (X + 0.3 * rng.normal(size=(60, 3)) > 0).astype(int)
    np.savez(tmp_path / "m.npz", X=X, Y=Y)
    words = ("--loss", "jaccard,zero_one", "--quick", "--folds", "2", "--out", str(tmp_path / "r"))
    assert run("compare", str(tmp_path / "m.npz"), *words) == 0
    out = capsys.readouterr().out
    assert "m.npz, trained for jaccard" in out
    assert "m.npz, trained for zero_one" in out
    assert "In short" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("compare", "none.csv"), "there is no file none.csv."),
        (("compare", "--loss", "nope"), "there is no loss 'nope'; use"),
        (("compare", "--loss", "precision_at_k"), "loss 'precision_at_k' needs k; write precision_at_k:k."),
        (("compare", "--loss", "tversky:0.3,0.7"), "parameters are joined by colons, as in tversky:0.3:0.7."),
        (("compare", "--target", "y"), "are for a file"),
        (("compare", "--drop", "y"), "--target, --group, --positive and --drop are for a file; name it before them."),
        (("compare", "--quick", "--folds", "1"), "--folds must be at least 2; got 1."),
        (("compare", "--quick", "--folds", "x"), "invalid int value: 'x'"),
        (("compare", "--seed", "-1"), "--seed must not be negative"),
        (("compare", "--budget", "0"), "--budget must be a number of seconds above 0; got 0.0."),
        (("compare", "--budget", "soon"), "invalid float value: 'soon'"),
        (("compare", "--out", "."), "the folder . holds 'notes.txt', which is not of an earlier report; name another"),
        (("reproduce", "nope"), "there is no experiment 'nope'; use "),
        (("reproduce", "lh_table3"), "lh_table3 needs scene.npz and yeast.npz"),
        (("reproduce", "lh_table3", "--data", "no/such/folder"), "there is no folder no/such/folder of real data."),
        (("nope",), "invalid choice: 'nope'"),
        ((), "COMMAND"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_code_2(capsys, monkeypatch, tmp_path, words, says):
    monkeypatch.delenv("SETWISE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").touch()
    assert run(*words) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.startswith("setwise: ")
    assert len(err.strip().splitlines()) == 1
    assert not list(tmp_path.rglob("report.html"))


def test_a_report_that_can_not_be_written_fails_before_the_work(table, tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert run("compare", str(table), "--target", "sick", "--out", str(blocked)) == 2
    assert "Not a directory" in capsys.readouterr().err


def test_a_data_folder_without_the_file(tmp_path, capsys):
    assert run("reproduce", "lh_table4", "--data", str(tmp_path)) == 2
    assert "needs scene.npz, which is neither in" in capsys.readouterr().err


def test_interruption_is_clean(table, monkeypatch, capsys, tmp_path):
    from setwise.compare import command

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "compare", interrupted)
    assert run("compare", str(table), "--target", "sick", "--out", str(tmp_path / "r")) == 130
    assert "setwise: interrupted" in capsys.readouterr().err


def test_reproduce_writes_its_figure(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert run("reproduce", "lh_figure2", "--quick", "--out", str(tmp_path)) == 0
    assert "(Prop. 9): both hold" in " ".join(capsys.readouterr().out.split())
    assert {p.name for p in tmp_path.iterdir()} == {"lh_figure2.json", "lh_figure2.png"}


def test_the_module_runs_without_matplotlib(table, tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; from setwise.cli import main; "
        f"sys.exit(main(['compare', {str(table)!r}, '--target', 'sick', '--quick', '--folds', '2', "
        f"'--out', {str(tmp_path / 'r')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (tmp_path / "r").iterdir()} == {"report.html", "results.json"}
    assert "For pictures install matplotlib" in (tmp_path / "r" / "report.html").read_text()


@pytest.mark.slow
def test_quick_built_in_comparison_tells_both_stories(tmp_path, capsys):
    assert run("compare", "--quick", "--out", str(tmp_path)) == 0
    out = capsys.readouterr().out
    assert "early detection: In early_detection training for it wins: Lovász hinge beats" in " ".join(out.split())
    assert "digit 8 against the rest" in out
    assert "breast cancer" in out


def test_too_little_memory_is_a_sentence(monkeypatch, capsys):
    def greedy(*_, **__):
        raise MemoryError

    monkeypatch.setattr("setwise.compare.command.compare_command", greedy)
    assert main(["compare"]) == 2
    assert capsys.readouterr().err == "setwise: there is not enough memory for these data.\n"


def test_numbers_beyond_float64_are_a_sentence_too(monkeypatch, capsys):
    def overflow(*_, **__):
        raise OverflowError("scores are too large")

    monkeypatch.setattr("setwise.compare.command.compare_command", overflow)
    assert main(["compare"]) == 2
    assert capsys.readouterr().err == "setwise: scores are too large\n"
