"""``python -m papers``: the list, refusals in a sentence, Ctrl-C, and the files that it writes."""

import pytest

import papers
from papers.__main__ import main
from papers.experiment import Experiment


def run(*words):
    try:
        return main(list(words))
    except SystemExit as stop:
        return stop.code


def test_without_a_name_all_are_listed(capsys):
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [one.name for one in papers.experiments()]
    assert all(len(line.split(maxsplit=1)[1]) > 10 for line in lines)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("lh_table1", "--seed", "-1"), "--seed must be in 0..4294967295; got -1"),
        (("nope",), "there is no experiment 'nope'; use "),
        (("lh_table3",), "lh_table3 needs scene.npz and yeast.npz"),
        (("lh_table3", "--data", "no/such/folder"), "there is no folder no/such/folder of real data."),
        (("lh_table1", "more"), "unrecognized arguments: more. See 'python -m papers --help'."),
    ],
)
def test_a_refusal_is_a_sentence(words, says, capsys, monkeypatch):
    monkeypatch.delenv("SETWISE_DATA", raising=False)
    assert run(*words) == 2
    err = capsys.readouterr().err
    assert err.startswith("papers: ")
    assert says in err


def test_a_data_folder_without_the_file(tmp_path, capsys):
    assert run("lh_table4", "--data", str(tmp_path)) == 2
    assert "needs scene.npz, which is neither in" in capsys.readouterr().err


def test_an_interrupted_experiment_says_what_it_kept(monkeypatch, capsys, tmp_path):
    def interrupted(settings, advance):
        assert settings.out == tmp_path
        raise KeyboardInterrupt("three trainings are kept")

    long = Experiment("long", "long", lambda settings: 1, interrupted)
    monkeypatch.setattr(papers, "find", lambda name: long)
    assert run("long", "--out", str(tmp_path)) == 130
    assert capsys.readouterr().err.endswith("papers: interrupted, three trainings are kept.\n")


def test_a_run_writes_its_figure(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert run("lh_figure2", "--quick", "--out", str(tmp_path)) == 0
    assert "(Prop. 9): both hold" in " ".join(capsys.readouterr().out.split())
    assert {p.name for p in tmp_path.iterdir()} == {"lh_figure2.json", "lh_figure2.png"}
