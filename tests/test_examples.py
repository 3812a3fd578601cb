"""Every example of the gallery runs without a warning, and leaves a picture that is described."""

import ast
import importlib.util
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
QUICK = "plot_early_detection"
NEEDS = {"plot_cluster": "distributed", "plot_torch_finetuning": "torch", "plot_segmentation": "skimage"}


@pytest.mark.parametrize(
    "example",
    [pytest.param(path, marks=() if path.stem == QUICK else pytest.mark.slow, id=path.stem) for path in EXAMPLES],
)
def test_an_example_runs_and_ends_in_described_pictures(example, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip(NEEDS.get(example.stem, "numpy"))
    monkeypatch.chdir(tmp_path)
    from figures import in_both_modes, plain_style

    plain_style(None, None)
    variables = {"example_globals": runpy.run_path(str(example))}
    variables["image_path_iterator"] = (str(tmp_path / f"{i}.png") for i in range(9))
    shown = in_both_modes(None, variables, {"src_dir": str(tmp_path)})
    assert shown.count(":alt: ") >= 2
    assert all(path.stat().st_size > 5_000 for path in tmp_path.glob("*.png"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_begins_with_a_title(example):
    first, title, line, *_ = example.read_text("utf-8").split("\n")
    assert first == '"""'
    assert title
    assert line == "=" * len(title)


def test_the_gallery_has_a_place_for_each():
    from gallery_order import ORDER, GalleryOrder

    assert sorted(ORDER) == [path.stem.removeprefix("plot_") for path in EXAMPLES]
    shown = sorted([*(path.name for path in EXAMPLES), "plot_b.py", "plot_a.py"], key=GalleryOrder("examples"))
    assert shown == [*(f"plot_{name}.py" for name in ORDER), "plot_a.py", "plot_b.py"]


OTHER_CHECKOUTS = {("side_by_side.py", "loss_augmented_inference"), ("side_by_side.py", "max_marginals")}
"""Names that older checkouts have, which this benchmark compares with."""


def find_module(name):
    """Whether there is a module of this name; a name inside a module is none."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("folder", ["benchmarks", "papers", "examples"])
def test_what_scripts_import_of_setwise_is_there(folder):
    for package in ("torch", "distributed", "pandas", "skops"):
        pytest.importorskip(package)
    missing = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "setwise":
                module = importlib.import_module(node.module)
                names = [alias.name for alias in node.names if not hasattr(module, alias.name)]
                missing += [(path.name, n) for n in names if not find_module(f"{node.module}.{n}")]
    assert set(missing) <= OTHER_CHECKOUTS
