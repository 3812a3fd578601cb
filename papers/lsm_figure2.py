"""LSM Figure 2: pictures of silhouettes that are denoised without clean images.

*Data.* That of :mod:`papers.lsm_table2`, its first draw, with 10 and 20 % of the pixels flipped (the paper
shows one horse and does not say its level).

*Pictures.* Four test images, chosen by the share of wrong pixels of max-marginals with the level known: the best, those
at one third and at two thirds of the order, and the worst. Beside each the noisy image, and the restored ones by the
rows of Table 2, where pixels that are wrongly 1 are red and those that are wrongly 0 blue. The table has their shares.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from papers.experiment import Advance, Experiment, Outcome, Settings, Table
from papers.lsm_images import Binary, Silhouettes, flipped, silhouettes
from papers.lsm_table2 import ROWS, restored

PICTURES = 4


def levels(settings: Settings) -> tuple[float, ...]:
    """The shares of flipped pixels."""
    return (0.1,) if settings.quick else (0.1, 0.2)


def chosen(restored_images: Binary, truth: Binary) -> NDArray[np.int64]:
    """The images at the ends, at one third and at two thirds of the order of wrong pixels."""
    wrong = (restored_images != truth).mean(axis=(1, 2))
    places = np.round(np.linspace(0, len(wrong) - 1, PICTURES)).astype(int)
    return np.asarray(np.argsort(wrong, kind="stable")[places])


def shown(images: Silhouettes, level: float, seed: int, quick: bool) -> tuple[Binary, dict[str, Binary]]:
    """The true images that are shown, and beside them the restored and the noisy ones by row of Table 2."""
    noisy, test = (flipped(part, level, seed, k) for k, part in enumerate((images.train, images.test)))
    found = restored(noisy, test, level, seed, quick)
    places = chosen(found[ROWS[0]], images.test)
    rows = {name: (test if name == "noisy images" else found[name])[places] for name in (ROWS[-1], *ROWS[:-1])}
    return images.test[places], rows


def run(settings: Settings, advance: Advance) -> Outcome:
    """A table and a picture for each level."""
    images, tables, figures = silhouettes(settings, "lsm_figure2"), [], {}
    for level in levels(settings):
        truth, rows = shown(images, level, settings.seed, settings.quick)
        wrong = 100.0 * np.array([(labels != truth).mean(axis=(1, 2)) for labels in rows.values()])
        title = f"{100 * level:g} % of the pixels flipped: wrong pixels of the four images shown, in percent."
        columns = ("best", "one third", "two thirds", "worst")
        tables.append(Table(title, tuple(rows), columns, wrong, digits=2))
        figures[f"{100 * level:g}"] = partial(_picture, truth, rows)
        advance(f"{100 * level:g} %")
    return Outcome(tuple(tables), (), figures)


def _picture(truth: Binary, rows: dict[str, Binary]) -> object:
    """The true images, and beside them the others with their wrong pixels in color."""
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure

    from setwise.plotting.colors import RED, SKY

    columns = {"clean": truth, **rows}
    n, k, top, bottom = len(truth), len(columns), 0.32, 0.42
    height = 1.45 * n + top + bottom
    figure = Figure(figsize=(1.3 * k, height))
    grid = figure.subplots(n, k, squeeze=False, gridspec_kw={
        "left": 0.005, "right": 0.995, "bottom": bottom / height, "top": 1.0 - top / height, "wspace": 0.04,
        "hspace": 0.16,
    })  # fmt: skip
    for x, color, words in ((0.30, RED, "wrongly white"), (0.52, SKY, "wrongly black")):
        figure.text(x, 0.07 / height, "\N{BLACK SQUARE}", color=color, fontsize=13, va="bottom")
        figure.text(x + 0.022, 0.09 / height, words, fontsize=9, va="bottom")
    for j, (name, images) in enumerate(columns.items()):
        for i, (axes, labels) in enumerate(zip(grid[:, j], images, strict=True)):
            picture = np.repeat(labels[:, :, None].astype(np.float64), 3, axis=2)
            if j > 1:
                picture[(labels == 1) & (truth[i] == 0)] = to_rgb(RED)
                picture[(labels == 0) & (truth[i] == 1)] = to_rgb(SKY)
            axes.imshow(picture, interpolation="nearest")
            axes.set_xticks([])
            axes.set_yticks([])
            for side in axes.spines.values():
                side.set_color("#b0b0b0")
            if j:
                axes.set_xlabel(f"{100.0 * (labels != truth[i]).mean():.1f} % wrong", fontsize=7, labelpad=2)
        grid[0, j].set_title(name.removesuffix(" images").replace("pi", "\N{GREEK SMALL LETTER PI}"), fontsize=9)
    return figure


EXPERIMENT = Experiment(
    "lsm_figure2",
    "LSM Fig. 2, pictures of silhouettes denoised without clean images",
    lambda settings: len(levels(settings)),
    run,
)
