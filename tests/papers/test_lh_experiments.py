import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from papers import experiments, find
from papers.experiment import Settings, Table, data_folder, need_data, write_outcome
from papers.lh_figure6 import iterations_to
from papers.lh_table3 import CAPPED, SATURATING
from papers.lh_table4 import COUNT, WEIGHTED
from papers.lovasz_paper import NAMES, inference_matters, pattern
from papers.multilabel_samples import common_labels, quotas, sample
from setwise.compare.problem import Problem

pytestmark = pytest.mark.slow

QUICK = Settings(quick=True)
NAMES_OF_ALL = ("lh_figure1", "lh_figure2", "lh_figure6", "lh_table1", "lh_table2", "lh_table3", "lh_table4")
needs_data = pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")


@cache
def outcome(name, settings=QUICK):
    experiment, said = find(name), []
    found = experiment.run(settings, said.append)
    assert len(said) == experiment.steps(settings)
    assert found.words
    assert all(w[-1] == "." for w in found.words)
    assert experiment.name in found.text(experiment)
    return found


def test_the_registry_finds_every_file():
    found = {e.name: e for e in experiments()}
    assert list(found) == sorted(found)
    assert {name for name in found if name.startswith("lh_")} == set(NAMES_OF_ALL)
    assert all(found[name].about.startswith("LH ") for name in NAMES_OF_ALL)
    with pytest.raises(ValueError, match="there is no experiment 'x'"):
        find("x")


def test_figure1_is_convex_and_touches_where_the_propositions_say():
    table = outcome("lh_figure1").tables[0]
    apart = [row for row, d in zip(table.rows, table.means[:, 0], strict=True) if d > 0]
    assert apart == [
        "margin, (ii) submodular, not increasing",
        "margin, (iii) supermodular",
        "slack, (ii) submodular, not increasing",
    ]
    assert (table.means[:, 1] == 0).all()


def test_figure2_loses_convexity():
    (forced, right) = outcome("lh_figure2").tables[0].means
    assert forced[0] == right[0] == 0
    assert forced[1] > 0.2
    assert right[1] == 0


def test_table1_has_the_pattern_of_the_paper():
    found = outcome("lh_table1")
    table = found.tables[0]
    assert table.rows == NAMES
    means = dict(zip(NAMES, table.means, strict=True))
    assert means["L"][0] < 0.75 * min(means[n][0] for n in NAMES if n != "L")
    assert means["0-1"][1] == min(m[1] for m in means.values())
    assert means["L"][1] > 2 * means["0-1"][1]
    # exact inference changes little: what is left is the surrogate
    assert abs(means["M"][0] - means["M exact"][0]) < 0.02
    assert "holds" in found.words[0]
    np.testing.assert_array_equal(table.published[:4], [[0.1, 7.42], [0.166, 2.87], [0.144, 7.69], [0.154, 3.01]])
    assert np.isnan(table.published[4:]).all()


@pytest.mark.parametrize("name", ["lh_table2", "lh_table3", "lh_table4"])
def test_tables_measure_losses_in_their_range(name):
    for table in outcome(name).tables:
        assert np.isfinite(table.means).all()
        assert (table.means >= 0).all()
        if name == "lh_table2":
            assert (table.means[:, :2] <= 1).all()
            assert (table.means[:, 2:] < 0.3).all()
        else:
            # better than one wrong label in two
            assert (table.means[:, 1] < 0.5 * (3 if name == "lh_table3" else 6)).all()


def test_figure6_certifies_the_lovasz_hinge():
    found = outcome("lh_figure6")
    for table in found.tables:
        counts = dict(zip(table.rows, table.means, strict=True))
        for name in ("L", "0-1", "S exact", "M exact"):
            assert np.isfinite(counts[name]).all()
            assert (np.diff(counts[name]) > 0).all()
        assert counts["L"][-1] < 3 * counts["0-1"][-1]
    assert set(found.figures) == {"a", "b"}


def test_losses_are_those_printed():
    y, wrong = [1, 1, 1], [0, 0, 0]
    assert CAPPED.loss(y, wrong) == pytest.approx(1.3)
    assert CAPPED.loss(y, [1, 0, 0]) == pytest.approx(0.7)
    assert SATURATING.loss(y, wrong) == pytest.approx(1 - np.exp(-3) + 1.7)
    y, wrong = np.ones(6, int), np.zeros(6, int)
    assert COUNT.loss(y, wrong) == pytest.approx(1 - np.exp(-6))
    assert WEIGHTED.loss(y, wrong) == pytest.approx(1 - np.exp(-6) + 4.0)


def test_iterations_until_a_gap():
    history = {"lower_bound": np.array([0.0, 0.9, 0.95, 0.999]), "upper_bound": np.ones(4)}
    assert iterations_to(history, 0.1) == 2
    assert iterations_to(history, 0.01) == 4
    assert np.isnan(iterations_to(history, 1e-5))


def samples(shifts):
    rng = np.random.default_rng(0)
    return rng.normal(scale=0.01, size=(6, 2, 10)) + np.array(shifts)[:, :, None]


def test_words_follow_the_numbers():
    wins = samples([[0.1, 2.0], [0.2, 1.0], [0.3, 1.5], [0.3, 1.5], [0.3, 1.5], [0.12, 1.5]])
    words = pattern(wins, "Δ", "samplings")
    assert "(training on it, L, is best) holds" in words[0]
    assert "(training on it, 0-1, is best) holds" in words[1]
    loses = samples([[0.3, 1.0], [0.2, 2.0], [0.3, 1.5], [0.3, 1.5], [0.3, 1.5], [0.3, 1.5]])
    words = pattern(loses, "Δ", "samplings")
    assert "is best) fails" in words[0]
    assert "is best) fails" in words[1]
    level = samples([[0.2, 1.0]] * 6)
    assert "is undecided" in pattern(level, "Δ", "samplings")[0]


def test_words_on_inference():
    shifts = [[0.1, 0.0], [0.2, 0.0], [0.3, 0.0], [0.3, 0.0], [0.3, 0.0], [0.1, 0.0]]
    slack, margin = inference_matters(samples(shifts), "Δ")
    assert "none of the distance" in slack
    assert "level with L or better" in margin
    shifts[4] = [0.2, 0.0]
    part = inference_matters(samples(shifts), "Δ")[0]
    assert int(re.search(r"explains (\d+)% of the distance", part).group(1)) == pytest.approx(50, abs=5)


@pytest.mark.parametrize(
    ("available", "weights", "total", "expected"),
    [
        ([100, 100, 100, 100], [150, 150, 150, 30], 48, [15, 15, 15, 3]),
        ([100, 100, 100, 1], [1, 1, 1, 1], 40, [13, 13, 13, 1]),
        ([0, 100, 5, 0], [1, 1, 1, 1], 40, [0, 35, 5, 0]),
        ([3, 2, 1, 0], [1, 1, 1, 1], 40, [3, 2, 1, 0]),
    ],
)
def test_quotas_share_what_there_is(available, weights, total, expected):
    assert quotas(np.array(available), np.array(weights, float), total).tolist() == expected


def labels(n=400, k=5):
    rng = np.random.default_rng(0)
    Y = (rng.random((n, k)) < np.linspace(0.2, 0.6, k)).astype(np.int64)
    return Problem("p", "", np.arange(n, dtype=float)[:, None], Y, None, tuple("abcde"[:k]))


def test_samples_are_disjoint_and_alike():
    problem = common_labels(labels(), 3)
    train, test = sample(problem, 80, np.ones(4), np.random.default_rng(0))
    assert not set(train.X[:, 0]) & set(test.X[:, 0])
    counts = [np.bincount(p.y.sum(axis=1), minlength=4).tolist() for p in (train, test)]
    assert counts[0] == counts[1]
    assert sum(counts[0]) == 80


def test_the_most_common_labels_come_first():
    chosen = common_labels(labels(), 3)
    assert set(chosen.classes) == {"c", "d", "e"}
    frequency = chosen.y.sum(axis=0)
    assert (np.diff(frequency) <= 0).all()


def test_the_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("SETWISE_DATA", raising=False)
    assert data_folder(None) is None
    monkeypatch.setenv("SETWISE_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    with pytest.raises(ValueError, match="there is no folder"):
        data_folder(tmp_path / "no")
    with pytest.raises(ValueError, match="give their folder by --data DIR or the variable SETWISE_DATA"):
        need_data(Settings(), "x", ["a.npz"])
    (tmp_path / "multilabel").mkdir()
    (tmp_path / "multilabel" / "a.npz").touch()
    assert need_data(Settings(data=tmp_path), "x", ["a.npz"]) == [tmp_path / "multilabel" / "a.npz"]


def test_a_table_shows_the_paper_beside_the_measured():
    table = Table("t", ("L", "M"), ("a",), np.array([[0.1], [0.2]]), None, np.array([[0.3], [np.nan]]), digits=1)
    lines = table.text().splitlines()
    assert lines[2].split() == ["a", "paper"]
    assert lines[3].split() == ["L", "0.1*", "0.3"]
    assert lines[4].split() == ["M", "0.2", "-"]
    assert table.data()["published"] == [[0.3], [None]]


def test_outcomes_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    found = outcome("lh_table1")
    files = write_outcome(tmp_path / "deep", find("lh_table1"), QUICK, found)
    assert [f.name for f in files] == ["lh_table1.json", "lh_table1.png"]
    assert all(f.stat().st_size > 500 for f in files)


@pytest.mark.realdata
@needs_data
def test_table2_on_scene():
    found = outcome("lh_table2", Settings(data=Path(os.environ["SETWISE_DATA"])))
    scene = found.tables[1]
    assert scene.rows[0] == "Beach"
    # no worse than predicting every row positive would be, by far
    assert (scene.means[:, :2] < 0.75).all()
    assert (scene.means[:, 3] < 0.25).all()
