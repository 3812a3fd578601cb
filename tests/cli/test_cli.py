import re
import shutil
import subprocess
import sys
from pathlib import Path

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
    for title in ("losses:", "surrogates:", "inference:", "learners:", "label spaces:", "strategies:"):
        assert title in out
    for name in ("jaccard", "early_detection", "lovasz", "one_slack", "matchings", "label_thresholds"):
        line = re.search(rf"^  {name} +(.+)$", out, re.MULTILINE)
        assert line, name
        assert len(line.group(1)) > 10
    assert "(LH Eq." not in [line.rstrip()[-7:] for line in out.splitlines()]


def test_version_and_help(capsys):
    assert run("--version") == 0
    assert __version__ in capsys.readouterr().out
    assert run("compare", "--help") == 0
    assert "--loss" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("compare", "none.csv"), "there is no file none.csv."),
        (("compare", "--loss", "nope"), "there is no loss 'nope'; use"),
        (("compare", "--loss", "precision_at_k"), "loss 'precision_at_k' needs k; write precision_at_k:k."),
        (("compare", "--loss", "tversky:0.3,0.7"), "parameters are joined by colons, as in tversky:0.3:0.7."),
        (("compare", "--target", "y"), "--target is for a file; name it before the options."),
        (("compare", "--drop", "y"), "--drop is for a file; name it before the options."),
        (("compare", "--save", "m.skops"), "--save is for a file; name it before the options."),
        (("compare", "--quick", "--folds", "1"), "--folds must be at least 2; got 1."),
        (("compare", "--quick", "--folds", "x"), "invalid int value: 'x'"),
        (("compare", "--seed", "-1"), "--seed must be at least 0; got -1."),
        (("compare", "--seed", "4294967296"), "--seed must be at most 4294967295; got 4294967296."),
        (("compare", "a\x1b[31m.csv"), r"there is no file a\x1b[31m.csv"),
        (("compare", "--time-budget", "0"), "--time-budget must be a finite number in (0, inf); got 0.0."),
        (("compare", "--time-budget", "soon"), "invalid float value: 'soon'"),
        (("compare", "--n-jobs", "0"), "--n-jobs must be a number of processes, or -1 for all; got 0."),
        (
            ("compare", "--base", "linear,deep"),
            "--base must be names among linear, forest, boosted, ",
        ),
        (("compare", "--strategies", "nope"), "--strategies must be names among "),
        (("compare", "--confidence", "0.9"), "--confidence is that of a floor; give --recall-at-least, "),
        (("compare", "--recall-at-least", "1.5"), "--recall-at-least must be"),
        (("compare", "--average", "weighted"), "invalid choice: 'weighted'"),
        (("compare", "--out", "."), "the folder . holds 'notes.txt', which is not of an earlier report; name another"),
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
    # Windows finds nothing below a file.
    assert re.match(r"setwise: (Not a directory|No such file or directory): .*file\.\n", capsys.readouterr().err)


FEW = ("--target", "sick", "--quick", "--folds", "2", "--base", "linear", "--strategies", "threshold")


@pytest.mark.skipif(not Path("/sys").is_dir(), reason="needs a folder that takes no files")
def test_a_place_that_takes_no_files_is_refused_before_the_work(table, tmp_path, capsys):
    pytest.importorskip("skops")
    assert run("compare", str(table), *FEW, "--out", str(tmp_path / "r"), "--save", "/sys/m.skops") == 2
    assert re.fullmatch(r"setwise: [A-Z][a-z ]+: /sys\.\n", capsys.readouterr().err)
    assert not (tmp_path / "r").exists()


def test_a_place_that_fails_after_the_work_loses_nothing_else(table, tmp_path, monkeypatch, capsys):
    pytest.importorskip("skops")
    from setwise.compare import command

    model, report = tmp_path / "models" / "m.skops", tmp_path / "r"
    model.parent.mkdir()
    words = (*FEW, "--out", str(report), "--save", str(model))

    def removed(folder, then):
        def late(*given, **more):
            shutil.rmtree(folder)
            folder.write_text("")
            return then(*given, **more)

        return late

    with monkeypatch.context() as patch:
        patch.setattr(command, "save_model", removed(model.parent, command.save_model))
        assert run("compare", str(table), *words) == 2
    shown = capsys.readouterr()
    assert "Stay with" in shown.out
    assert "report.html" in shown.out
    assert "saved" not in shown.out.lower()
    last = shown.err.splitlines()[-1]
    assert re.fullmatch(r"setwise: the model is not saved: there is no folder .*models for m.skops\.", last)
    assert (report / "report.html").exists()

    model.parent.unlink()
    model.parent.mkdir()
    monkeypatch.setattr(command, "write_report", removed(report, command.write_report))
    assert run("compare", str(table), *words) == 2
    shown = capsys.readouterr()
    assert "Stay with" in shown.out
    assert "Written in" not in shown.out
    assert "setwise: the report is not written: File exists:" in shown.err
    assert model.exists()


def test_interruption_is_clean(table, monkeypatch, capsys, tmp_path):
    from setwise.compare import command

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "compare", interrupted)
    words = (
        "--target",
        "sick",
        "--quick",
        "--base",
        "linear",
        "--strategies",
        "threshold",
        "--out",
        str(tmp_path / "r"),
    )
    assert run("compare", str(table), *words) == 130
    assert "setwise: interrupted, nothing was written." in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_the_module_runs_without_matplotlib(table, tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; from setwise.cli import main; "
        f"sys.exit(main(['compare', {str(table)!r}, '--target', 'sick', '--quick', '--folds', '2', '--base', 'linear', "
        f"'--out', {str(tmp_path / 'r')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (tmp_path / "r").iterdir()} == {"report.html", "results.json"}
    assert "For pictures: pip install" in (tmp_path / "r" / "report.html").read_text("utf-8")


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


def test_python_m_setwise_is_the_command():
    done = subprocess.run([sys.executable, "-m", "setwise", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"setwise {__version__}\n", "")
