"""The benchmarks of networks solve their problems: snakes with tables of edges, and noisy grids."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from setwise.learners import BlockFrankWolfe, OneSlack

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def benchmark(name, monkeypatch):
    """The module of a benchmark."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    found = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.realdata
@pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")
def test_tables_of_input_features_find_the_snakes(monkeypatch):
    snakes = benchmark("snakes", monkeypatch)
    folder, right = Path(os.environ["SETWISE_DATA"]), {}
    for kind in ("input", "directions"):
        train, test = (snakes.problem(snakes.grids(folder, part), kind) for part in ("train", "test"))
        fit = snakes.fitted(*train, BlockFrankWolfe(C=20.0, tol=0.6, random_state=0))
        assert fit.status == "converged"
        right[kind] = snakes.accuracy(*test, fit.w)[0]
    assert right["input"] >= 0.99
    assert right["directions"] < 0.95


@pytest.mark.parametrize("make", [OneSlack, BlockFrankWolfe])
def test_noisy_grids_are_trained_to_their_gap(make, monkeypatch):
    fit = make(C=0.1, tol=1e-3).minimize(benchmark("grids", monkeypatch).problem(1.5, 12, 5))
    assert fit.gap <= 1e-3
    assert fit.w[-1] > 0
