"""LSM Table 2: denoising of silhouettes without clean images.

The protocol was written before its first run; single fits had been tried before, which settled the length of a step.

*Data.* That of :mod:`papers.lsm_table1`: only the noisy images of the training part are given.

*Rows.* ``BinaryDenoiser`` on noisy images alone, with the share pi of flipped pixels known, and learned with all other
weights, each by max- and by mean-marginals of 100 perturbed images; and the noisy image as it is. The regularizers are
1e-2, as in LSM; 3,000 steps a fit (300 when quick).

*Measures.* Wrong pixels, intersection over union and Brier score, as in Table 1, and the pi that was learned: means
over draws, ± standard deviations.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.experiment import Advance, Experiment, Outcome, Settings, Table
from papers.lsm_images import Binary, Silhouettes, duels, errors_of, flipped, silhouettes
from papers.lsm_table1 import draws, levels
from setwise.estimators import BinaryDenoiser

Values = NDArray[np.float64]
ROWS = ("pi known, max", "pi known, mean", "pi learned, max", "pi learned, mean", "noisy images")
COLUMNS = ("wrong pixels, %", "IoU, %", "Brier", "pi, %")
PUBLISHED = {
    "pi known, max": (0.5, 0.9, 1.9, 5.3), "pi known, mean": (0.5, 1.0, 2.1, 6.0),
    "pi learned, max": (1.0, 3.5, 6.8, 20.0), "pi learned, mean": (1.0, 3.6, 7.0, 20.0),
}  # fmt: skip
RIDGE = 1e-2
WAYS = ("pi known", "pi learned")


def denoiser(way: str, level: float, seed: int, quick: bool) -> BinaryDenoiser:
    """A ``BinaryDenoiser`` of the protocol."""
    noise = level if way == "pi known" else "learned"
    return BinaryDenoiser(noise=noise, ridge=RIDGE, steps=300 if quick else 3000, random_state=seed, n_jobs=2)


class DecodedImages(NamedTuple):
    """What one fit makes of noisy images.

    Attributes
    ----------
    q : the probabilities of label 1, as the images
    mean, best : the images by mean- and by max-marginals
    pi : the share of flipped pixels, known or learned
    """

    q: Values
    mean: Binary
    best: Binary
    pi: float


def decoded(noisy: Binary, test: Binary, level: float, seed: int, quick: bool) -> dict[str, DecodedImages]:
    """The noisy test images decoded, with pi known and learned."""
    found = {}
    for way in WAYS:
        model = denoiser(way, level, seed, quick).fit(noisy)
        q = np.stack(model.predict_marginals(test))
        best = np.asarray(model.set_params(decode="max").transform(test))
        found[way] = DecodedImages(q, (q > 0.5).astype(np.int8), best, float(model.noise_))
    return found


def restored(noisy: Binary, test: Binary, level: float, seed: int, quick: bool) -> dict[str, Binary]:
    """The restored images of each row."""
    found = {}
    for way, one in decoded(noisy, test, level, seed, quick).items():
        found[f"{way}, mean"], found[f"{way}, max"] = one.mean, one.best
    return found


def one_draw(images: Silhouettes, level: float, seed: int, quick: bool) -> Values:
    """The measures of all rows, (rows, columns)."""
    noisy, test = (flipped(part, level, seed, k) for k, part in enumerate((images.train, images.test)))
    out = np.full((len(ROWS), len(COLUMNS)), np.nan)
    for way, one in decoded(noisy, test, level, seed, quick).items():
        brier, pi = float(np.square(one.q - images.test).mean()), 100.0 * one.pi
        out[ROWS.index(f"{way}, mean")] = *errors_of(one.mean, images.test)[:2], brier, pi
        out[ROWS.index(f"{way}, max")] = *errors_of(one.best, images.test)[:2], np.nan, pi
    out[-1, :2] = errors_of(test, images.test)[:2]
    return out


def run(settings: Settings, advance: Advance) -> Outcome:
    """All rows for all levels and draws."""
    images, tables, words = silhouettes(settings, "lsm_table2"), [], []
    for i, level in enumerate(levels(settings)):
        found = []
        for draw in range(draws(settings)):
            found.append(one_draw(images, level, settings.seed + draw, settings.quick))
            advance(f"{100 * level:g} %: draw {draw + 1}")
        samples = np.stack(found, axis=-1)
        means, spread = samples.mean(axis=-1), samples.std(axis=-1, ddof=1)
        published = np.full(means.shape, np.nan)
        for row, numbers in PUBLISHED.items():
            published[ROWS.index(row), 0] = np.nan if settings.quick else numbers[i]
        best = np.zeros(means.shape, dtype=bool)
        best[:, 0], best[:, 1] = means[:, 0] == means[:, 0].min(), means[:, 1] == means[:, 1].max()
        title = f"{100 * level:g} % of the pixels flipped: means ± standard deviations over {samples.shape[-1]} draws."
        tables.append(Table(title, ROWS, COLUMNS, means, spread, published, None, best, 3))
        words += words_on(level, samples)
    return Outcome(tuple(tables), tuple(words))


def words_on(level: float, samples: Values) -> list[str]:
    """Which decoding has fewer wrong pixels, and whether anything beats the noisy image."""
    return duels(level, ROWS, samples[:, 0], ((0, 1), (2, 3), (0, 4), (2, 4)))


EXPERIMENT = Experiment(
    "lsm_table2",
    "LSM Table 2, denoising of silhouettes without clean images",
    lambda settings: len(levels(settings)) * draws(settings),
    run,
)
