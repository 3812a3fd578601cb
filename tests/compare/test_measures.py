import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file

from setwise.cli import main
from setwise.compare import report
from setwise.compare.methods import LOGISTIC, LOVASZ, MARGIN, SLACK, SVM, TUNED

ALL = {m.name for m in (LOGISTIC, TUNED, SVM, LOVASZ, MARGIN, SLACK)}
REFUSED = {
    "f1": {LOVASZ: "the loss is not submodular"},
    "break_even": {LOVASZ: "LovaszHinge refuses BreakEven()", TUNED: "in which no threshold occurs"},
    "auc": {
        LOVASZ: "it evaluates a ranking, not a set of mistakes",
        SLACK: "SlackRescaling refuses RocArea(): it ranks and makes no set of mistakes",
        TUNED: "RocArea() evaluates the order of scores, in which no threshold occurs",
    },
    "average_precision": {
        LOVASZ: "LovaszHinge refuses AveragePrecision()",
        SLACK: "SlackRescaling refuses AveragePrecision()",
        TUNED: "in which no threshold occurs",
    },
}
"""Which methods are left out for a measure, and with what words."""


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(report, "pictures", lambda found: {})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A quarter of 120 rows is positive; the same data in every format, and with labels as a matrix."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    y, bags = np.arange(120) % 4 == 0, np.arange(120) // 8
    X = rng.normal(size=(120, 3)) + np.outer(y, [1.5, 0.5, 0.0])
    X[np.abs(X) < 0.4] = 0.0
    lines = [",".join([*(f"{v:.4f}" for v in x), str(b), str(int(t))]) for x, b, t in zip(X, bags, y, strict=True)]
    (folder / "t.csv").write_text("\n".join(["u,v,w,bag,sick", *lines]) + "\n")
    dump_svmlight_file(X, y.astype(int), str(folder / "t.svm"))
    dump_svmlight_file(X, y.astype(int), str(folder / "q.svm"), query_id=bags)
    sparse = csr_matrix(X)
    csr = {"X_data": sparse.data, "X_indices": sparse.indices, "X_indptr": sparse.indptr, "X_shape": [120, 3]}
    Y = (X + rng.normal(size=X.shape) > 0.5).astype(int)
    np.savez(folder / "csr.npz", y=y.astype(int), **csr)
    np.savez(folder / "dense.npz", X=X, y=y.astype(int), groups=bags)
    np.savez(folder / "matrix.npz", X=X, Y=Y)
    np.savez(folder / "csr_matrix.npz", Y=Y, **csr)
    return folder


def compare(out, *words):
    assert main(["compare", *words, "--quick", "--folds", "2", "--budget", "3600", "--out", str(out)]) == 0
    return json.loads((out / "results.json").read_text())["problems"]


CASES = (
    ("t.csv", "--target", "sick"),
    ("t.csv", "--target", "sick", "--group", "bag"),
    ("t.svm",),
    ("q.svm",),
    ("csr.npz",),
    ("dense.npz",),
    ("matrix.npz",),
    ("csr_matrix.npz",),
)


@pytest.mark.parametrize("words", CASES, ids=[" ".join(c).replace("--target sick", "").strip() for c in CASES])
def test_every_measure_on_every_kind_of_data(files, tmp_path, capsys, words):
    found = compare(tmp_path, str(files / words[0]), *words[1:], "--loss", ",".join(REFUSED))
    shown = " ".join(capsys.readouterr().out.split())
    assert [p["measure"] for p in found] == list(REFUSED)
    for problem in found:
        refused = REFUSED[problem["measure"]]
        assert {row["method"] for row in problem["rows"]} == ALL - {m.name for m in refused}
        said = " ".join(problem["words"])
        for method, sentence in refused.items():
            assert f"{method.name} is left out: " in said
            assert sentence in said
            assert sentence in shown
        for row in problem["rows"]:
            assert all(0 <= value <= 1 for value in row["folds"][problem["measure"]])
        assert problem["words"][0].startswith(f"In {problem['measure']} ")


def test_what_has_no_threshold_is_not_blamed_for_its_decisions(files, tmp_path):
    (auc, f1) = compare(tmp_path, str(files / "csr.npz"), "--loss", "auc,f1")
    said = " ".join(auc["words"])
    assert "Only the order of scores counts in auc" in said
    assert "figures in f1 and error_rate say little of it" in said
    assert "pays" not in said
    assert "Only the order" not in " ".join(f1["words"])


def test_the_scores_of_a_ranking_are_plain(files):
    from setwise.compare.problem import Problem
    from setwise.datasets import load
    from setwise.losses import AveragePrecision, BreakEven, RocArea

    data = load(files / "csr.npz")
    problem = Problem("p", "", data.X, data.y)
    trained = LOGISTIC.train(problem, RocArea(), 1.0, 1e-2)
    scores = trained.margins(problem)
    for loss in (RocArea(), AveragePrecision(), BreakEven()):
        assert problem.loss(loss, scores) == pytest.approx(problem.loss(loss, scores - 3.0))


@pytest.mark.slow
@pytest.mark.parametrize("measure", REFUSED)
def test_built_in_problems(tmp_path, measure):
    found = compare(tmp_path, "--loss", measure)
    assert [p["problem"] for p in found] == ["early detection", "digit 8 against the rest", "breast cancer"]
    for problem in found:
        rows = {row["method"]: row["mean"][measure] for row in problem["rows"]}
        assert set(rows) == ALL - {m.name for m in REFUSED[measure]}
        assert max(rows.values()) < 0.4
