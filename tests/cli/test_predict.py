"""``setwise predict``: a saved model labels the rows of a file in another process."""

import bz2
import csv
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from compare.saved_models import matrix_model, raw_rows, table_model, write_csv
from setwise import __version__
from setwise.cli import main
from setwise.compare.drift import TrainingRows
from setwise.compare.saved_model import SavedModel, save_model
from setwise.datasets.columns import Texts

skops = pytest.importorskip("skops.io")


def run(*words):
    try:
        return main([str(word) for word in words])
    except SystemExit as stop:
        return stop.code


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("predict")
    write_csv(path / "t.csv", raw_rows())
    for kind in ("linear", "categories"):
        save_model(table_model(path / "t.csv", kind)[0], path / f"{kind}.skops")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "categories"])
def test_another_process_labels_shuffled_columns_with_unseen_words_and_gaps(folder, tmp_path, kind):
    new = raw_rows(60, seed=1)
    new["extra"] = [f"row {i}" for i in range(60)]
    new["city"][3:6], new["age"][4:8], new["since"][5] = ["Paris", "", "Lima"], ["NA"] * 4, ""
    order = ["extra", "since", "city", "bag", "member", "age"]
    path = write_csv(tmp_path / "new.csv", new, order)
    words = [folder / f"{kind}.skops", path, "--keep", "extra", "--group", "bag", "--out", tmp_path / "labels.csv"]
    command = [sys.executable, "-m", "setwise.cli", "predict", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = rows_of((tmp_path / "labels.csv").read_text())
    yes = sum(row["label"] == "yes" for row in found)
    said = " ".join(done.stdout.split())
    assert re.fullmatch(
        rf"60 rows labelled: {yes} as yes \({100 * yes / 60:.1f} %\), at threshold [.\d]+, in \S+/labels.csv", said
    )
    assert list(found[0]) == ["extra", "bag", "label", "probability"]
    assert [row["extra"] for row in found] == new["extra"]
    assert [row["bag"] for row in found] == new["bag"]

    # the same rows with the columns of the training, read in this process, by a model that was not saved
    model, data = table_model(folder / "t.csv", kind)
    X = np.column_stack(
        [column.codes(Texts.of(np.array(new[column.name], dtype=object)), "new") for column in data.columns]
    )
    labels, scores = model.decide(X)
    assert [row["label"] for row in found] == [("no", "yes")[label] for label in labels]
    np.testing.assert_array_equal([float(row["probability"]) for row in found], scores)
    assert set(labels) == {0, 1}


def test_without_out_the_labels_are_printed(folder, capsys):
    assert run("predict", folder / "linear.skops", folder / "t.csv") == 0
    shown = capsys.readouterr()
    assert len(rows_of(shown.out)) == 200
    assert shown.out.startswith("label,probability\n")
    assert not shown.err


def drop(name):
    return lambda rows: rows.pop(name)


def put(name, row, value):
    return lambda rows: rows[name].__setitem__(row, value)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a named pipe and /dev/full")
def test_labels_are_compressed_as_their_ending_says(folder, tmp_path, capsys):
    packed = tmp_path / "new.csv.gz"
    packed.write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    for out in ("labels.csv", "labels.csv.gz", "labels.csv.bz2", "labels.csv.xz"):
        assert run("predict", folder / "linear.skops", packed, "--out", tmp_path / out) == 0
    plain = (tmp_path / "labels.csv").read_bytes()
    assert len(plain.splitlines()) == len((folder / "t.csv").read_bytes().splitlines())
    for end, module in (("gz", gzip), ("bz2", bz2), ("xz", lzma)):
        assert module.decompress((tmp_path / f"labels.csv.{end}").read_bytes()) == plain
    assert run("predict", folder / "linear.skops", packed, "--out", tmp_path / "labels.csv.zip") == 2
    assert "--out may be compressed as .gz, .bz2, .xz; got" in capsys.readouterr().err
    assert not (tmp_path / "labels.csv.zip").exists()


def test_labels_go_through_links_and_pipes(folder, tmp_path, capsys):
    link, pipe, got = tmp_path / "link.csv", tmp_path / "pipe", []
    link.symlink_to("behind.csv")
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    for out in (link, pipe):
        assert run("predict", folder / "linear.skops", folder / "t.csv", "--out", out) == 0
    reader.join(30)
    assert link.is_symlink()
    assert got == [(tmp_path / "behind.csv").read_text()]
    assert len(rows_of(got[0])) == 200
    assert run("predict", folder / "linear.skops", folder / "t.csv", "--out", "/dev/full") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (drop("age"), "new.csv has no column 'age', which the model reads; it has 'city', 'since',"),
        (
            put("age", 7, "old"),
            "column 'age' of new.csv holds 'old' in row 8 (line 9), and it must hold",
        ),
        (
            put("age", 0, "inf"),
            "column 'age' of new.csv holds 'inf' in row 1 (line 2), and it must hold",
        ),
        (
            put("since", 1, "01.02.2020"),
            "column 'since' of new.csv holds '01.02.2020' in row 2 (line 3), and it must hold",
        ),
        (
            put("member", 2, "perhaps"),
            "column 'member' of new.csv holds 'perhaps' in row 3 (line 4), and it must hold",
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence(folder, tmp_path, capsys, edit, says):
    new = raw_rows(20, seed=2)
    edit(new)
    out = tmp_path / "labels.csv"
    path = write_csv(tmp_path / "new.csv", new)
    assert run("predict", folder / "linear.skops", path, "--out", out) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("setwise: " + says)
    assert len(shown.err.splitlines()) == 1
    assert not shown.out
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("none.skops", "t.csv"), "there is no file none.skops."),
        (("t.csv", "t.csv"), "the path of a model must end in .skops, as save_model writes it; got 't.csv'."),
        (("linear.skops", "none.csv"), "there is no file none.csv."),
        (("linear.skops", "t.npz"), "path must end in one of .csv, .tsv, .txt, .parquet, since the columns have names"),
        (("linear.skops", "t.csv", "--group", "no"), "t.csv has no column 'no'; it has"),
        (("linear.skops", "t.csv", "--keep", "age,age"), "keep must name distinct columns"),
        (("linear.skops", "t.csv", "--out", "t.csv"), "--out must not be the model or the data; got t.csv."),
        (("linear.skops", "t.csv", "--out", "linear.skops"), "--out must not be the model or the data"),
        (("linear.skops", "t.csv", "--out", "no/such/labels.csv"), "there is no folder no/such for labels.csv."),
        (("linear.skops", "t.csv", "--out", "."), ". is a folder; name a file."),
        (("linear.skops", "t.csv", "--out", "far.csv"), "away for far.csv."),
        (("linear.skops", "t.csv", "--out", "loop.csv"), "loop.csv is a link to itself"),
        (("bad.skops", "t.csv"), "bad.skops is not a model saved by setwise: File is not a zip file."),
        (("linear.skops",), "the following arguments are required: DATA"),
    ],
)
def test_wrong_commands_are_one_sentence(folder, tmp_path, monkeypatch, capsys, words, says):
    for name in ("t.csv", "linear.skops"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "bad.skops").write_text("no model")
    np.savez(tmp_path / "t.npz", X=np.eye(3))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "far.csv").symlink_to(Path("away", "labels.csv"))
    monkeypatch.chdir(tmp_path)
    assert run("predict", *words) == 2
    shown = capsys.readouterr()
    assert says in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    for link in ("loop.csv", "far.csv"):
        (tmp_path / link).unlink()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_label_matrices_and_features_without_names(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    Y = (X > 0).astype(int)
    model = matrix_model(MultiOutputClassifier(LogisticRegression()), X, Y, response="predict_proba", threshold=0.5)
    save_model(model, tmp_path / "m.skops")
    np.savez(tmp_path / "new.npz", X=X, groups=np.arange(30) // 3)
    assert run("predict", tmp_path / "m.skops", tmp_path / "new.npz") == 0
    found = rows_of(capsys.readouterr().out)
    assert list(found[0]) == ["group", "a", "b", "c", "a probability", "b probability", "c probability"]
    np.testing.assert_array_equal([[int(row[name]) for name in "abc"] for row in found], model.decide(X)[0])
    assert run("predict", tmp_path / "m.skops", tmp_path / "new.npz", "--keep", "x") == 2
    assert (
        "--keep, --sep and --encoding are for tables; m.skops reads features without names" in capsys.readouterr().err
    )


class FirstRowClassifier(BaseEstimator):
    """The first row of a group is positive."""

    def predict(self, X, groups):
        return np.isin(np.arange(len(groups)), np.unique(groups, return_index=True)[1]).astype(int)


def test_a_joint_model_takes_the_groups_of_its_training(folder, monkeypatch, capsys):
    columns = table_model(folder / "t.csv")[0].columns
    held = SavedModel(FirstRowClassifier(), ("no", "yes"), "f1", columns, group="bag", joint=True)
    monkeypatch.setattr("setwise.compare.predict.load_model", lambda path: held)
    assert run("predict", "m.skops", folder / "t.csv") == 0
    found = rows_of(capsys.readouterr().out)
    assert list(found[0]) == ["bag", "label"]
    assert [row["label"] for row in found] == ["yes", "no", "no", "no", "no"] * 40
    assert run("predict", "m.skops", folder / "t.csv", "--group", "sick") == 0
    assert sum(row["label"] == "yes" for row in rows_of(capsys.readouterr().out)) == 2
    monkeypatch.setattr("setwise.compare.predict.load_model", lambda path: replace(held, group=None))
    assert run("predict", "m.skops", folder / "t.csv") == 2
    assert "name the column of the groups" in capsys.readouterr().err


def test_a_column_beside_labels_of_the_same_name_is_refused(folder, tmp_path, capsys):
    rows = raw_rows(20, seed=3)
    path = write_csv(tmp_path / "new.csv", rows | {"label": rows["age"], "probability": rows["age"]})
    for name in ("label", "probability"):
        assert run("predict", folder / "linear.skops", path, "--keep", name, "--out", tmp_path / "l.csv") == 2
        assert f"there would be two columns {name!r}: --keep and" in capsys.readouterr().err
    assert not (tmp_path / "l.csv").exists()
    assert run("predict", folder / "linear.skops", path, "--keep", "age") == 0


def test_svmlight_counts_features_as_the_training_did(tmp_path, capsys):
    X, y = np.eye(3)[[0, 1, 2, 0, 1, 2]], np.array([0, 1, 0, 0, 1, 0])
    fitted = LogisticRegression(C=100.0).fit(X, y)
    (tmp_path / "new.svm").write_text("0 qid:7 2:1\n0 qid:7 1:1\n")
    for first, labels in ((1, ["yes", "no"]), (0, ["no", "yes"])):
        save_model(SavedModel(fitted, ("no", "yes"), "f1", n_features=3, first=first), tmp_path / "m.skops")
        assert run("predict", tmp_path / "m.skops", tmp_path / "new.svm", "--group", "qid") == 0
        found = rows_of(capsys.readouterr().out)
        assert [row["label"] for row in found] == labels
        assert [row["qid"] for row in found] == ["7", "7"]


def test_a_model_of_another_version_is_said(folder, tmp_path):
    model, _ = table_model(folder / "t.csv", version="0.0.9")
    save_model(model, tmp_path / "m.skops")
    with pytest.warns(
        InconsistentVersionWarning, match=f"from version setwise 0.0.9 when using version .*{__version__}"
    ):
        assert run("predict", tmp_path / "m.skops", folder / "t.csv", "--out", tmp_path / "labels.csv") == 0


def test_a_model_whose_parts_do_not_fit_is_one_sentence(tmp_path, capsys):
    fitted = LogisticRegression().fit(np.eye(3), [0, 1, 0])
    # A file from a version of setwise that wrote it.
    skops.dump(SavedModel(fitted, ("no", "yes"), "f1", n_features=2), tmp_path / "m.skops")
    np.savez(tmp_path / "new.npz", X=np.ones((4, 2)))
    assert run("predict", tmp_path / "m.skops", tmp_path / "new.npz") == 2
    err = capsys.readouterr().err
    assert err.startswith("setwise: m.skops cannot label new.npz: X has 2 features, but LogisticRegression")
    assert len(err.splitlines()) == 1


def test_words_of_any_kind_are_written_so_that_they_can_be_read_again(tmp_path, capsys):
    names = ['a "b", c', "日本\nx"]
    fitted = LogisticRegression().fit(np.eye(2), [0, 1])
    save_model(SavedModel(fitted, tuple(names), "f1", n_features=2), tmp_path / "m.skops")
    np.savez(tmp_path / "new.npz", X=np.eye(2))
    assert run("predict", tmp_path / "m.skops", tmp_path / "new.npz", "--out", tmp_path / "l.csv") == 0
    with (tmp_path / "l.csv").open(encoding="utf-8", newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == names
    assert " ".join(capsys.readouterr().out.split()).startswith(r"2 rows labelled: 1 as 日本\nx (50.0 %), in ")


def test_rows_that_differ_from_the_training_are_told(folder, tmp_path, capsys):
    model, data = table_model(folder / "t.csv")
    labels = model.decide(data.X)[0]
    share = f"{100 * labels.mean():.1f} %"
    training = TrainingRows.of(data.X, data.columns, None, labels)
    path = save_model(replace(model, training=training), tmp_path / "m.skops")

    def told(name, change):
        new = raw_rows(150, seed=2)
        new[name] = [change(cell) for cell in new[name]]
        write_csv(tmp_path / "new.csv", new)
        assert run("predict", path, tmp_path / "new.csv", "--out", tmp_path / "labels.csv") == 0
        shown = capsys.readouterr()
        assert f"; {share} in training)" in " ".join(shown.out.split())
        return shown.err

    assert told("age", str) == ""
    assert re.fullmatch(
        r"setwise: Column 'age' is above \d+(\.\d)?, the largest of the training, in 100.0 % of its cells.\n",
        told("age", lambda cell: cell and f"{100 * float(cell):.0f}"),
    )
    assert told("member", lambda _: "") == (
        "setwise: Column 'member' is empty in 100.0 % of the rows, and in 33.0 % of the training.\n"
    )
    assert told("city", str.upper).startswith("setwise: Column 'city' holds words in 100.0 % of its cells that the")
    assert told("since", lambda day: f"19{day[2:]}").startswith("setwise: Column 'since' is below 2000-01-01, the ")


def test_a_model_that_knows_nothing_of_its_training_says_nothing(folder, tmp_path, capsys):
    model, _ = table_model(folder / "t.csv")
    # a file of a version that kept nothing
    del model.__dict__["training"]
    save_model(model, tmp_path / "m.skops")
    new = raw_rows(150, seed=2)
    new["age"] = ["5000"] * 150
    path = write_csv(tmp_path / "new.csv", new)
    assert run("predict", tmp_path / "m.skops", path, "--out", tmp_path / "labels.csv") == 0
    shown = capsys.readouterr()
    assert not shown.err
    assert "in training" not in shown.out
