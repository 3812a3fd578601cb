"""The ratios for asv: each function runs on small sets and returns a number; asv itself is not needed."""

import importlib.util
import json
import math
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parents[1] / "benchmarks/asv"


@pytest.fixture(scope="module")
def ratios():
    spec = importlib.util.spec_from_file_location("asv_ratios", ROOM / "ratios.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.DECISIONS, module.ROUNDS = 2_000, 1
    return module


def test_every_ratio_is_a_finite_positive_number(ratios):
    suite = ratios.Ratios()
    suite.setup()
    found = {name: getattr(suite, name)() for name in dir(suite) if name.startswith("track_")}
    assert len(found) > 5
    assert all(math.isfinite(ratio) and ratio > 0.0 for ratio in found.values()), found


def test_the_ratio_is_that_of_the_medians(ratios, monkeypatch):
    clock = iter([0, 3, 10, 11, 20, 26, 30, 33, 40, 49, 50, 52])
    monkeypatch.setattr(ratios.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(ratios, "ROUNDS", 3)
    assert ratios.over(lambda: None, lambda: None) == 6 / 2


def test_the_configuration_names_folders_that_exist():
    configuration = json.loads((ROOM / "asv.conf.json").read_text("utf-8"))
    assert (ROOM / configuration["repo"] / "pyproject.toml").exists()
    assert (ROOM / configuration["benchmark_dir"] / "ratios.py").exists()
    assert configuration["project"] == "setwise"
