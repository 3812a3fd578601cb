"""LSM Table 1: denoising of silhouettes with clean images to learn from.

The protocol was written before its first run; single fits had been tried before, which settled the length of a step.

*Data.* Weizmann horses of 50 x 50 pixels, the stored split of 100 images to train and 100 to test, with 1, 5, 10 and
20 % of the pixels flipped; five draws of the noise. Our silhouettes are means over areas, cut at one half, and so
smoother and easier than those of the paper. When quick, 20 and 20 disks of 16 x 16 pixels, 10 % and two draws.

*Rows.* ``BinaryDenoiser`` with the share of flipped pixels known, and with the weight of the observation learned, each
by max- and by mean-marginals of 100 perturbed images; a bias of 0 and one weight for both cuts, the best of .2, .4, ..,
3 on the training pairs; the max-margin network with the same features (observation, a bias of each pixel, two cuts) by
margin rescaling of the wrong pixels, to a certified gap of 1e-2; and the noisy image as it is. A fit has 3,000 steps
(300 when quick).

*Rows added later*, whose protocol was written after the results of those above and before their own first full run;
single fits of the first draw had been seen. The same features, with the weight of the observation learned: by
pseudo-likelihood, each pixel given its neighbors, to the optimum; and by the likelihood itself, with the steps of
``BinaryDenoiser``, but for exact samples by coupling from the past in place of perturbed images. Both have
mean-marginals of 100 exact samples of their own model: ten by coupling, each of them continued to ten by Gibbs sweeps,
ten from one to the next. Where one of an image would need more than 1,024 sweeps (pseudo-likelihood) or 4,096
(likelihood), the image has 100 perturbed ones in their place; the share of such images is said. The images of least
expected loss, which is 1 - IoU or 1 - F1: from marginals, as if pixels were independent, and from exact samples, which
keep the dependence.

*Choices.* The regularizers of biases and of couplings, each 1e-4, 1e-3 or 1e-2, and C of the network, 1e2, 1e3 or 1e4,
by the wrong pixels of mean-marginals (of labels) in 3 folds of the training images, on the first draw alone. In the
folds pseudo-likelihood has perturbed marginals, as exact ones take long. The likelihood takes the regularizers of the
learned weight.

*Measures.* Wrong pixels in percent (which LSM calls the proportion of correct pixels), means over images of
intersection over union and of F1, and the mean squared error of the probabilities (Brier), over the test images: means
over draws, ± standard deviations. Folds, draws and rows are shared by two threads, on which no number depends.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, identity, vstack
from sklearn.model_selection import KFold

from papers.experiment import Advance, Experiment, Outcome, Settings, Table
from papers.lsm_images import LEVELS, Binary, Silhouettes, duels, errors_of, flipped, silhouettes
from papers.lsm_likelihoods import (
    DECIDED,
    decided,
    exact_likelihood,
    most_probable,
    perturbed_marginals,
    pseudo_likelihood,
    sampled,
)
from setwise.core.bound_loss import BoundLoss
from setwise.core.networks import Graphs
from setwise.estimators import BinaryDenoiser
from setwise.inference import MaxFlow
from setwise.kernels.threads import map_units, thread_limit
from setwise.learners import OneSlack
from setwise.losses import ErrorRate
from setwise.models import GraphModel
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling

Values = NDArray[np.float64]
Ridge = tuple[float, float]
LEARNED, EXACT = "weight learned", "exact likelihood"
ROWS = (
    "known level, max", "known level, mean", f"{LEARNED}, max", f"{LEARNED}, mean", f"{LEARNED}, IoU of marginals",
    f"{LEARNED}, F1 of marginals", "one weight, max", "pseudo-likelihood, max", "pseudo-likelihood, mean",
    f"{EXACT}, max", f"{EXACT}, mean", f"{EXACT}, IoU of marginals", f"{EXACT}, F1 of marginals",
    f"{EXACT}, IoU of samples", f"{EXACT}, F1 of samples", "max-margin network", "noisy images",
)  # fmt: skip
COLUMNS = ("wrong pixels, %", "IoU, %", "F1, %", "Brier")
PUBLISHED = {"known level, max": (0.4, 1.1, 2.1, 4.2), "known level, mean": (0.4, 1.1, 2.0, 4.1)}
PUBLISHED |= {"max-margin network": (0.6, 1.5, 2.8, 6.0)}
DUELS = (
    ("known level, mean", "known level, max"), (f"{LEARNED}, mean", f"{LEARNED}, max"),
    (f"{LEARNED}, mean", "known level, mean"), (f"{LEARNED}, mean", "one weight, max"),
    (f"{LEARNED}, mean", "max-margin network"), (f"{LEARNED}, mean", "pseudo-likelihood, mean"),
    (f"{LEARNED}, mean", f"{EXACT}, mean"), (f"{EXACT}, mean", f"{EXACT}, max"),
)  # fmt: skip
RIDGES: tuple[Ridge, ...] = tuple((t, alpha) for t in (1e-4, 1e-3, 1e-2) for alpha in (1e-4, 1e-3, 1e-2))
CS = (1e2, 1e3, 1e4)
FOLDS, DRAWS, QUICK_DRAWS, THREADS = 3, 5, 2, 2
BUDGETS = {"pseudo-likelihood": 1024, EXACT: 4096}
WAYS = ("exact", "learned", "known", "pseudo-likelihood", "others")
"""What is fitted apart; the longest come first."""

SHORT = {"jaccard": "IoU", "f1": "F1"}

Found = dict[str, tuple[float, ...]]
"""The measures by row."""


class RegularizerChoice(NamedTuple):
    """The regularizers of the two ways of ``BinaryDenoiser`` and of pseudo-likelihood, and C of the network."""

    known: Ridge
    learned: Ridge
    pseudo: Ridge
    C: float


def steps_of(quick: bool) -> int:
    """The steps of a fit."""
    return 300 if quick else 3000


def denoiser(observation: str, ridge: Ridge, quick: bool) -> BinaryDenoiser:
    """A ``BinaryDenoiser`` of the protocol."""
    return BinaryDenoiser(observation=observation, ridge=ridge, steps=steps_of(quick), random_state=0, n_jobs=1)


def network(noisy: Binary, clean: Binary) -> tuple[Graphs, GraphModel]:
    """The images as graphs, with the observation, a bias of each pixel, and the two directions of edges."""
    graphs, (n, h, w) = Graphs.images(list(clean)), noisy.shape
    own = csr_matrix(2.0 * noisy.reshape(-1, 1) - 1.0)
    X = csr_matrix(hstack([own, vstack([identity(h * w)] * n)]))
    right = np.tile(np.arange(h * (w - 1) + (h - 1) * w) < h * (w - 1), n)
    return graphs, GraphModel(X, np.column_stack([right, ~right]).astype(np.float64), graphs, 0.0)


def labeled_by_network(train: tuple[Binary, Binary], test: Binary, C: float) -> Binary:
    """The labels of the max-margin network."""
    graphs, features = network(*train)
    fit = OneSlack(C=C, tol=1e-2, max_iter=300).minimize(
        MeanRisk(features, MarginRescaling(ErrorRate(), scale="size").on(graphs))
    )
    others, new = network(test, np.zeros_like(test))
    labels = MaxFlow().prepare(BoundLoss(others)).maximize(new.scores(fit.w)).labels
    return np.asarray(labels.reshape(test.shape), dtype=np.int8)


def chosen(images: Silhouettes, level: float, seed: int, quick: bool) -> RegularizerChoice:
    """The regularizers and C of fewest wrong pixels in the folds of the training images."""
    noisy, clean = flipped(images.train, level, seed, 0), images.train
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(clean))
    ridges = RIDGES[::4] if quick else RIDGES
    grids: dict[str, tuple[Any, ...]] = {"known": ridges, "learned": ridges, "pseudo": ridges, "C": CS}

    def wrong(job: tuple[str, Any, int]) -> float:
        way, value, fold = job
        a, b = folds[fold]
        if way == "C":
            return float((labeled_by_network((noisy[a], clean[a]), noisy[b], value) != clean[b]).mean())
        if way == "pseudo":
            q = perturbed_marginals(pseudo_likelihood(noisy[a], clean[a], value), noisy[b])
            return float(((q > 0.5) != clean[b]).mean())
        return 1.0 - denoiser(way, value, quick).fit(noisy[a], clean[a]).score(noisy[b], clean[b])

    found = iter(map_units(wrong, [(way, one, k) for way, grid in grids.items() for one in grid for k in range(FOLDS)]))
    best = {}
    for way, grid in grids.items():
        means = [np.mean([next(found) for _ in range(FOLDS)]) for _ in grid]
        best[way] = grid[int(np.argmin(means))]
    return RegularizerChoice(**best)


def one_weight(noisy: Binary, clean: Binary, test: Binary) -> Binary:
    """Labels by one weight for both cuts, that of fewest wrong pixels on the training pairs."""
    model = BinaryDenoiser(decode="max", steps=1, random_state=0).fit(noisy, clean)
    model.bias_ = np.zeros(clean.shape[1:])
    weights = np.arange(1, 16) / 5

    def labels(weight: float, images: Binary) -> Binary:
        model.coupling_ = np.full(2, weight)
        return np.asarray(model.transform(images))

    wrong = [(labels(weight, noisy) != clean).mean() for weight in weights]
    return labels(float(weights[int(np.argmin(wrong))]), test)


def measured(images: Silhouettes, level: float, choice: RegularizerChoice, quick: bool, job: tuple[str, int]) -> Found:
    """The measures of the rows of one way, by row; under the name of the way the share of images sampled exactly."""
    way, seed = job
    noisy, test = (flipped(part, level, seed, k) for k, part in enumerate((images.train, images.test)))
    clean, truth = images.train, images.test
    if way == "others":
        labels = labeled_by_network((noisy, clean), test, choice.C)
        return {
            "one weight, max": errors_of(one_weight(noisy, clean, test), truth),
            "max-margin network": errors_of(labels, truth),
            "noisy images": errors_of(test, truth),
        }
    out: Found = {}
    if way in ("known", "learned"):
        name = LEARNED if way == "learned" else "known level"
        model = denoiser(way, choice.learned if way == "learned" else choice.known, quick).fit(noisy, clean)
        q = np.stack(model.predict_marginals(test))
        best = model.set_params(decode="max").transform(test)
    else:
        name = EXACT if way == "exact" else way
        if way == "exact":
            share = float((noisy != clean).mean())
            start = float(np.log((1.0 - share) / share))
            weights = exact_likelihood(noisy, clean, choice.learned, start, steps_of(quick))
        else:
            weights = pseudo_likelihood(noisy, clean, choice.pseudo)
        found = sampled(weights, test, BUDGETS[name], DECIDED if way == "exact" else ())
        q, best, out[name] = found.q, most_probable(weights, test), (found.exact,)
        for loss, labels in zip(DECIDED, found.decisions, strict=False):
            out[f"{name}, {SHORT[loss]} of samples"] = errors_of(labels, truth)
    out[f"{name}, max"] = errors_of(best, truth)
    out[f"{name}, mean"] = *errors_of((q > 0.5).astype(np.int8), truth), float(np.square(q - truth).mean())
    if way in ("learned", "exact"):
        for loss in DECIDED:
            out[f"{name}, {SHORT[loss]} of marginals"] = errors_of(decided(q, loss), truth)
    return out


def levels(settings: Settings) -> tuple[float, ...]:
    """The shares of flipped pixels."""
    return (0.1,) if settings.quick else LEVELS


def draws(settings: Settings) -> int:
    """The number of draws of the noise."""
    return QUICK_DRAWS if settings.quick else DRAWS


def run(settings: Settings, advance: Advance) -> Outcome:
    """All rows for all levels and draws."""
    images, tables, words = silhouettes(settings, "lsm_table1"), [], []
    jobs = [(way, settings.seed + draw) for way in WAYS for draw in range(draws(settings))]
    for i, level in enumerate(levels(settings)):
        with thread_limit(THREADS):
            choice = chosen(images, level, settings.seed, settings.quick)
            advance(f"{100 * level:g} %: folds")
            found = map_units(partial(measured, images, level, choice, settings.quick), jobs)
        advance(f"{100 * level:g} %: draws")
        samples = np.full((len(ROWS), len(COLUMNS), draws(settings)), np.nan)
        shares: dict[str, list[float]] = {}
        for (_, seed), rows in zip(jobs, found, strict=True):
            for row, values in rows.items():
                if row in ROWS:
                    samples[ROWS.index(row), : len(values), seed - settings.seed] = values
                else:
                    shares.setdefault(row, []).append(values[0])
        tables.append(
            table_of(level, choice, samples, {} if settings.quick else {k: v[i] for k, v in PUBLISHED.items()})
        )
        words += words_on(level, samples)
        words += [
            f"{100 * level:g} %: {100 * np.mean(each):.0f} % of the images have exact samples by {name}."
            for name, each in shares.items()
        ]
    return Outcome(tuple(tables), tuple(words))


def table_of(level: float, choice: RegularizerChoice, samples: Values, published: dict[str, float]) -> Table:
    """The table of a level from the measures (rows, columns, draws)."""
    means, errors = samples.mean(axis=-1), samples.std(axis=-1, ddof=1)
    paper = np.full(means.shape, np.nan)
    for row, number in published.items():
        paper[ROWS.index(row), 0] = number
    title = (
        f"{100 * level:g} % of the pixels flipped: means ± standard deviations over {samples.shape[-1]} draws; "
        f"ridges {choice.known} (known), {choice.learned} (learned) and {choice.pseudo} (pseudo-likelihood), "
        f"C {choice.C:g}."
    )
    best = [means[:, 0].min(), means[:, 1].max(), means[:, 2].max(), np.nanmin(means[:, 3])]
    return Table(title, ROWS, COLUMNS, means, errors, paper, None, means == best, 3)


def words_on(level: float, samples: Values) -> list[str]:
    """Who has fewer wrong pixels."""
    return duels(level, ROWS, samples[:, 0], [(ROWS.index(ours), ROWS.index(rival)) for ours, rival in DUELS])


EXPERIMENT = Experiment(
    "lsm_table1",
    "LSM Table 1, denoising of silhouettes with clean images to learn from",
    lambda settings: 2 * len(levels(settings)),
    run,
)
