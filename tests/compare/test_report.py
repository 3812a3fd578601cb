import json
import os
import re
from dataclasses import replace

import numpy as np
import pytest

from compare.answers import PROBLEM, made_up
from setwise.compare import NamedLoss, Plan, Problem, compare
from setwise.compare.plan import COSTS
from setwise.compare.problem import bags, breast_cancer
from setwise.compare.report import check_folder, write_report
from setwise.compare.sentences import comparison, verdict
from setwise.losses import EarlyDetection, FBeta, Hamming, RowCosts
from setwise.losses.row_costs import Place

NAMES = ("report.html", "results.json")
SITE = "https://docs.example.org/"


@pytest.fixture(autouse=True)
def site(monkeypatch):
    """The site of the documentation, which the metadata of the installed package may not tell."""
    monkeypatch.setattr("setwise.core.pages.documentation", lambda: SITE)


def content(folder):
    return {p.name for p in folder.iterdir()}


def results(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_report_holds_everything_inside_and_answers_first(tmp_path):
    pytest.importorskip("matplotlib")
    plan = Plan(3, 3, (1.0,), ("linear",), ("threshold", "stack"))
    (early,) = compare(bags(60, 0), [NamedLoss("early_detection", EarlyDetection())], plan)
    (cancer,) = compare(breast_cancer(), [NamedLoss("f1", FBeta())], replace(plan, strategies=("threshold",)))
    files = write_report(tmp_path / "new" / "folder", [early, cancer], "a <title>", 3.0)
    assert all(f.stat().st_size > 0 for f in files)
    page = files[0].read_text(encoding="utf-8")
    shown = re.findall(r'<img alt="(\w+)" src="data:image/png;base64,', page)
    assert shown == ["threshold", "curves", "calibration"] * 2
    assert not re.findall(r"src=\"(?!data:)", page)
    assert "http" not in re.sub(f'href="{SITE}', "", page)
    assert "a &lt;title&gt;" in page
    for found in (early, cancer):
        part = page[page.index(f"<h2>{found.problem.name}: ") :]
        # Nothing else was tried on the second problem.
        gain = ("<svg ", comparison(early)[2]) if found is early else ()
        whole = (verdict(found), *gain, "<img", "Of 1,000 rows<", "<pre>", "<details>", ">WHY<", ">In Python<")
        places = [part.index(word) for word in whole]
        assert places == sorted(places)
    assert not re.search(r"\b(I|our|us)\b", re.sub(r"<[^>]+>", " ", page[page.index("<body>") :].split("from ")[0]))
    first, second = results(tmp_path / "new" / "folder")["answers"]
    assert first["problem"] == "early detection"
    assert first["rows"][0]["loss_in_folds"] == early.reference.outer.tolist()
    assert sum(second["confusion"]) == len(cancer.problem.y)
    assert len(second["curves"]["linear"]["bins"][0]) == 10
    assert second["gain"]["mean"] == cancer.gain.mean
    assert second["coefficients"]["mean radius"] == cancer.winner.coefficients["mean radius"]


@pytest.mark.parametrize("measure", ["hamming", COSTS])
@pytest.mark.parametrize("positive", [False, True])
def test_advice_to_give_all_rows_one_label_has_a_picture(tmp_path, measure, positive):
    pytest.importorskip("matplotlib")
    from setwise.compare.pictures import threshold

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.exponential(20.0, 400)])
    y = (rng.random(400) < (0.94 if positive else 0.06)).astype(int)
    paid = Place("paid", 1)
    costs = RowCosts(fp=paid, fn=500.0) if positive else RowCosts(fp=500.0, fn=paid)
    problem, measured = Problem("rows", "", X, y), NamedLoss(measure, costs if measure == COSTS else Hamming())
    (found,) = compare(problem, [measured], Plan(3, 3, (1.0,), ("linear",), ("threshold",)))
    at, flat = found.winner.threshold, found.winner.flat
    assert at == (-np.inf if positive else np.inf)
    assert flat.thresholds[0 if positive else -1] == (flat.low if positive else flat.high)
    (axes,) = threshold(found, flat).axes
    low, high = axes.get_xlim()
    assert flat.thresholds[0] <= low < high <= flat.thresholds[-1] + 1e-6
    assert ("below" if positive else "above") + " all scores" in axes.get_title("left")
    page = write_report(tmp_path, [found], "title", 1.0)[0].read_text(encoding="utf-8")
    assert '<img alt="threshold"' in page


@pytest.mark.slow
def test_words_link_to_the_pages_that_explain_them(tmp_path, monkeypatch):
    def written():
        return write_report(tmp_path, [made_up()], "title", 1.0)[0].read_text(encoding="utf-8")

    linked = written()
    bagged = f'<a href="{SITE}guide/thresholds.html#bagged" title="Bagged, in guide/thresholds">tuned threshold</a>'
    assert f"{bagged}: the threshold with" in linked
    assert f'<a href="{SITE}guide/compare.html#what-it-prints" title="What it prints, in guide/' in linked
    assert f'<h2><a href="{SITE}guide/compare.html#how-it-chooses-and-how-the-gain-is-measured" title=' in linked
    monkeypatch.setattr("setwise.core.pages.documentation", lambda: None)
    assert written() == re.sub(r"<a [^>]*>|</a>", "", linked)


def test_an_earlier_report_is_replaced(tmp_path):
    first, second = (made_up(problem=replace(PROBLEM, name=name)) for name in ("one", "another"))
    check_folder(tmp_path / "no such folder")
    check_folder(tmp_path)
    write_report(tmp_path, [first], "first", 1.0)
    for name in NAMES:
        (tmp_path / name).chmod(0o640)
    write_report(tmp_path, [second], "second", 1.0)
    # Windows knows no groups.
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in NAMES} == {0o666 if os.name == "nt" else 0o640}
    assert content(tmp_path) == {*NAMES}
    assert results(tmp_path)["title"] == "second"


@pytest.mark.slow
@pytest.mark.draw(10)
@pytest.mark.parametrize("name", ["thesis.txt", ".hidden", "report.html", "folder/thesis.txt"])
@pytest.mark.parametrize("reported", [True, False])
def test_a_folder_with_anything_else_is_refused_and_left_alone(tmp_path, name, reported):
    if reported:
        write_report(tmp_path, [made_up()], "mine", 1.0)
        name = name.replace("report", "another")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("[]")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(ValueError, match=r"holds '[^']+', which is not of an earlier report; name another .* by --out"):
        write_report(tmp_path, [made_up()], "title", 1.0)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.slow
def test_a_link_in_an_earlier_report_is_written_through(tmp_path):
    out, behind = tmp_path / "report", tmp_path / "page.html"
    write_report(out, [made_up()], "first", 1.0)
    (out / "report.html").rename(behind)
    (out / "report.html").symlink_to(behind)
    write_report(out, [made_up()], "second", 1.0)
    assert (out / "report.html").is_symlink()
    assert "second" in behind.read_text(encoding="utf-8")


@pytest.mark.slow
def test_no_name_costs_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    for name in (r"$\frac$", "数据", "a\udcffb"):
        problem = replace(PROBLEM, name=name, about=name, classes=(r"$\no$", "是"))
        write_report(tmp_path, [made_up(problem=problem, notes=(name,))], name, 1.0)
        assert results(tmp_path)["title"] == name
        assert (tmp_path / "report.html").stat().st_size > 1000


def test_infinite_thresholds_and_missing_figures_are_still_json(tmp_path):
    found = made_up()
    found = replace(found, winner=replace(found.winner, threshold=-np.inf, flat=None))
    rows = (
        *found.rows,
        replace(found.rows[0], strategy="decision", outer=np.full(3, np.nan), refusal="It does not fit."),
    )
    write_report(tmp_path, [replace(found, rows=rows)], "t", 1.0)
    (one,) = results(tmp_path)["answers"]
    assert one["threshold"] == "-inf"
    assert one["rows"][-1]["loss_in_folds"] == [None] * 3
    assert "It does not fit." in (tmp_path / "report.html").read_text("utf-8")
