import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from setwise.compare.comparison import Plan, compare
from setwise.compare.methods import LOGISTIC, LOVASZ

from compare.made_up import PROBLEM, made_up
from setwise.compare.bundled import bags
from setwise.compare.problem import Problem
from setwise.compare.report import earlier, write_report
from setwise.losses import EarlyDetection, ErrorRate

NAMES = ("report.html", "results.json")


def content(folder):
    return {p.name for p in folder.iterdir()}


def results(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def test_the_report_holds_everything_inside(tmp_path):
    pytest.importorskip("matplotlib")
    losses = {"early_detection": EarlyDetection(), "error_rate": ErrorRate()}
    early = compare(
        bags(30, 0), "early_detection", losses, Plan(3, 2, (0.1,)), lambda what, n: None, (LOGISTIC, LOVASZ)
    )
    files = write_report(tmp_path / "new" / "folder", [early], "a <title>", 3.0)
    assert all(f.stat().st_size > 0 for f in files)
    assert [f.name for f in files] == [*NAMES, *(f"early-detection-{n}.png" for n in ("table", "gaps", "scores"))]
    page = files[0].read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 2
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)
    assert "http" not in page
    assert "a &lt;title&gt;" in page
    row = next(r for r in early.rows if r.method is LOVASZ)
    assert f"{row.mean[0]:.3f} ± {row.error[0]:.3f}" in page
    kept = results(tmp_path / "new" / "folder")["problems"][0]
    assert kept["rows"][1]["mean"]["early_detection"] == pytest.approx(row.mean[0])
    assert len(kept["rows"][1]["folds"]["error_rate"]) == 3


def test_an_earlier_report_is_replaced_with_all_its_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr("setwise.compare.report.pictures", lambda found: {found.problem.name: b"png"})
    first, second = (
        made_up([0.1, 0.2], [0.1, 0.2], problem=replace(PROBLEM, name=name)) for name in ("one", "another")
    )
    assert earlier(tmp_path / "no such folder") == earlier(tmp_path) == []
    write_report(tmp_path, [first], "first", 1.0)
    assert content(tmp_path) == {*NAMES, "one-one.png"}
    write_report(tmp_path, [second], "second", 1.0)
    assert content(tmp_path) == {*NAMES, "another-another.png"} == {p.name for p in earlier(tmp_path)}
    assert results(tmp_path)["title"] == "second"


@pytest.mark.parametrize("name", ["thesis.txt", ".hidden", "report.html", "results.json", "folder/thesis.txt"])
@pytest.mark.parametrize("reported", [True, False])
def test_a_folder_with_anything_else_is_refused_and_left_alone(tmp_path, name, reported):
    if reported:
        write_report(tmp_path, [made_up([0.1, 0.2], [0.1, 0.2])], "mine", 1.0)
        name = name.replace("report", "another").replace("results", "another")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("[]")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(ValueError, match=r"holds '[^']+', which is not of an earlier report; name another .* by --out"):
        write_report(tmp_path, [made_up([0.1, 0.2], [0.1, 0.2])], "title", 1.0)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_no_name_costs_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    for name in (r"$\frac$", "数据", "a\udcffb"):
        problem = replace(PROBLEM, name=name, about=name, classes=(r"$\no$", "是"))
        write_report(tmp_path, [made_up([0.1, 0.2], [0.1, 0.2], problem=problem, notes=(name,))], name, 1.0)
        assert results(tmp_path)["title"] == name
        assert (tmp_path / "report.html").stat().st_size > 1000


def test_two_sparse_features_are_a_plane_too(tmp_path):
    pytest.importorskip("matplotlib")
    problem = Problem("p", "", csr_matrix(np.eye(4, 2)), np.array([0, 1, 0, 1]))
    write_report(tmp_path, [made_up([0.1, 0.2], [0.2, 0.1], problem=problem)], "t", 1.0)
    assert "p-scores.png" in content(tmp_path)
