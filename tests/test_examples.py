"""Every example of the gallery runs without a warning, and leaves a picture that is described."""

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
