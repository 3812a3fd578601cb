"""The benchmark of boosters: its tables are split by whole sets, and its quick version runs."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def grouped(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    return runpy.run_path(str(BENCHMARKS / "grouped_tables.py"))


def test_parts_hold_whole_sets_and_all_rows(grouped):
    rows = grouped["generated"](0, 40)
    parts = grouped["split"](rows, 3)
    assert [part.ids[-1] + 1 for part in parts] == [20, 10, 10]
    assert sum(len(part.y) for part in parts) == len(rows.y)
    sizes = np.sort(np.bincount(rows.ids))
    assert np.array_equal(np.sort(np.concatenate([np.bincount(part.ids) for part in parts])), sizes)
    assert all((np.diff(part.ids) >= 0).all() for part in parts)


def test_one_set_is_split_by_rows_of_both_classes(grouped):
    rows = grouped["Rows"](np.zeros((80, 1)), np.arange(80) % 4 == 0, np.zeros(80, dtype=int))
    parts = grouped["split"](rows, 0)
    assert [(len(part.y), int(part.y.sum())) for part in parts] == [(40, 10), (20, 5), (20, 5)]


def test_cells_of_images_are_the_majority_of_their_pixels(grouped):
    image, mask = np.zeros((7, 6, 3), dtype=np.uint8), np.zeros((7, 6), dtype=bool)
    image[:3, :3], mask[:2, :3], mask[3:6, 3:] = 255, True, True
    rows = grouped["cells"]([image, image], [mask, ~mask], 3)
    assert rows.y.tolist() == [True, False, False, True, False, True, True, False]
    assert rows.ids.tolist() == [0] * 4 + [1] * 4
    assert np.array_equal(rows.X[:4, 0], [1.0, 0.0, 0.0, 0.0])


@pytest.mark.slow
def test_the_quick_version_compares_all_methods(monkeypatch, capsys):
    for booster in ("lightgbm", "xgboost"):
        pytest.importorskip(booster)
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    monkeypatch.setattr(sys, "argv", ["boosting.py", "--quick"])
    runpy.run_path(str(BENCHMARKS / "boosting.py"), run_name="__main__")
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("table      booster   method")
    values = [float(re.search(r"\d+\.\d\d", line)[0]) for line in lines]
    assert len(values) == 2 * 6
    assert all(30.0 < value < 100.0 for value in values)
