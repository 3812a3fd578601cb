import io
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from setwise import plotting
from setwise.losses import Cardinality, Jaccard
from setwise.surrogates import LovaszHinge


def png(figure):
    assert isinstance(figure, Figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def overlaps(figure):
    """Pairs of texts, legends apart, whose boxes overlap."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [t for axes in figure.axes for t in (*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels())]
    texts += [t for axes in figure.axes for t in (axes.title, axes.xaxis.label, axes.yaxis.label)] + figure.texts
    boxes = [t.get_window_extent(renderer) for t in texts if t.get_text() and t.get_visible()]
    return sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def history(n=40, rate=0.2):
    lower = 1.0 - np.exp(-rate * np.arange(n))
    return {"lower_bound": lower, "upper_bound": np.ones(n), "seconds": 0.1 * np.arange(n)}


@pytest.mark.slow
def test_surface_passes_through_the_loss_at_the_vertices():
    figure = plotting.surface(LovaszHinge(Jaccard()), y=(1, 0), title="a title")
    # Opaque edges would hide the loss below.
    assert figure.axes[0].collections[0].get_edgecolor()[0, 3] == pytest.approx(0.32)
    axes = figure.axes[0]
    dots = [line.get_data_3d() for line in axes.lines if line.get_marker() == "o"]
    heights = {(float(x[0]), float(y[0])): float(z[0]) for x, y, z in dots}
    loss = Jaccard().of_mistakes([1, 0])
    assert heights == {(float(a), float(b)): loss(np.array([a, b], dtype=bool)) for a in (0, 1) for b in (0, 1)}
    assert png(figure)


def test_surfaces_leave_places_empty_and_refuse_other_sizes():
    panels = [("one", LovaszHinge(Cardinality([0, 1, 1.2]))), ("refused", None)]
    figure = plotting.surfaces(panels, columns=2)
    assert len(figure.axes) == 1
    with pytest.raises(ValueError, match="must have two decisions; got 3"):
        plotting.surface(LovaszHinge(Jaccard()), y=(1, 0, 1))


@pytest.mark.parametrize("seconds", [False, True])
def test_gap_curves_show_the_gap(seconds):
    figure = plotting.gap_curves({"a": history(), "b": history(8, 1.0)}, tol=1e-3, title="gap", seconds=seconds)
    line = figure.axes[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), np.exp(-0.2 * np.arange(40)))
    assert figure.axes[0].get_ylabel() == "certified relative gap"
    assert "seconds" in figure.axes[0].get_xlabel() if seconds else figure.axes[0].get_xlabel() == "iteration"
    assert png(figure)


def test_gap_curves_need_a_history():
    with pytest.raises(ValueError, match="histories must map one name or more"):
        plotting.gap_curves({})


def test_cross_table_writes_every_number_once_and_the_best_in_bold():
    means = [[0.2, 2.4], [0.1, 6.0], [0.15, np.nan]]
    figure = plotting.cross_table(
        ["a", "b", "a longer name"], ["jaccard", "hamming"], means, np.full((3, 2), 0.01), "t"
    )
    texts = {t.get_text(): t.get_weight() for t in figure.axes[0].texts}
    assert texts["0.100 ± 0.010"] == texts["2.400 ± 0.010"] == "bold"
    assert texts["0.200 ± 0.010"] == "normal"
    assert "nan" not in " ".join(texts)
    assert overlaps(figure) == 0
    assert png(figure)
    with pytest.raises(ValueError, match="means must be numbers of shape"):
        plotting.cross_table(["a"], ["b"], means)


def test_plane_draws_lines_where_the_form_is_zero():
    rng = np.random.default_rng(0)
    X, kinds = rng.normal(size=(60, 2)), np.arange(60) % 3
    lines = {"up": (0.2, 1.0, -0.3), "vertical": (1.0, 0.0, 0.5), "far away": (1.0, 1.0, 1e6)}
    figure = plotting.plane(X, kinds, ["n", "e", "l"], lines, "title")
    drawn = {line.get_label(): np.array(line.get_data()).T for line in figure.axes[0].lines}
    for name in ("up", "vertical"):
        a, b, c = lines[name]
        np.testing.assert_allclose(drawn[name] @ (a, b) + c, 0, atol=1e-9)
    assert "far away" not in drawn
    assert png(figure)
    with pytest.raises(ValueError, match="X must have shape"):
        plotting.plane(X[:, :1], kinds, ["n"], {})


def test_scores_say_the_share_of_mistakes():
    rng = np.random.default_rng(0)
    y = rng.random((50, 4)) < 0.3
    found = {
        "one": (np.where(y, 1.0, -1.0), 0.0),
        "two": (np.where(y, 1.0, -1.0) * np.where(np.arange(4) == 0, -1, 1), 0.0),
    }
    figure = plotting.scores(found, y, ("no", "yes"), "title")
    texts = [t.get_text() for axes in figure.axes for t in axes.texts]
    assert texts == ["0.0% wrong", "25.0% wrong"]
    assert png(figure)
    with pytest.raises(ValueError, match="found must map one name or more"):
        plotting.scores({}, y)


def test_matplotlib_missing_is_said_in_a_sentence(monkeypatch):
    import importlib
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"setwise.plotting needs matplotlib: pip install 'setwise\[compare\]'"):
        importlib.reload(plotting)


def test_curves_draw_each_line_with_its_errors_and_the_marks():
    figure = plotting.curves(
        [0.5, 0.7, 1.0], {"a": ([1, 2, 3], [0.1, 0.2, 0.3]), "b": ([3, 2, 1], [0, 0, 0])}, {"here": 0.64}, "R", "share"
    )
    (axes,) = figure.axes
    assert axes.get_xlabel() == "R"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["here", "a", "b"]
    lines = [line for line in axes.lines if len(line.get_xdata()) == 3 and line.get_linestyle() != "None"]
    np.testing.assert_array_equal(lines[0].get_ydata(), [1, 2, 3])
    assert any(np.array_equal(line.get_xdata(), [0.64, 0.64]) for line in axes.lines)


def test_segmentations_show_each_mask_beside_its_image():
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (4, 6, 3), np.uint8), rng.random((5, 6))]
    masks = {
        "a": [np.eye(4, 6, dtype=bool), np.eye(5, 6, dtype=int)],
        "b": [np.zeros((4, 6), int), np.ones((5, 6), int)],
    }
    figure = plotting.segmentations(images, masks, "title")
    cells = [axes.images[0].get_array() for axes in figure.axes]
    assert [axes.get_title() for axes in figure.axes[:3]] == ["image", "a", "b"]
    assert len(cells) == 6
    # Positive pixels keep their colors, others are pale and grey.
    np.testing.assert_allclose(cells[1][np.eye(4, 6) == 1], images[0][np.eye(4, 6) == 1] / 255.0)
    assert (cells[1][np.eye(4, 6) == 0] >= 0.75).all()
    np.testing.assert_allclose(cells[5], np.repeat(images[1][:, :, None], 3, axis=2))
    assert np.ptp(cells[2], axis=2).max() < 1e-12


def test_names_of_segmentations_are_readable_on_a_phone():
    mask = np.eye(4, 6, dtype=bool)
    masks = {name: [mask] for name in ("truth", "grid of pixels\nIoU 0.78", "with blur\nIoU 0.56")}
    figure = plotting.segmentations([np.full((4, 6), 0.5)], masks)
    figure.draw_without_rendering()
    boxes = [axes.title.get_window_extent() for axes in figure.axes]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1 for box in boxes)
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    # Letters of at least 8 pixels where a phone shows the figure 358 pixels wide.
    assert figure.axes[0].title.get_fontsize() / 72 / figure.get_figwidth() * 358 >= 8
