"""LSM Figure 1: bounds of the sum over all labelings of cuts of two clusters, with more and more labels fixed.

The protocol was written before the first run at full size.

*Data.* Two clusters of 50 points in the plane, whose centres are drawn from N((3, 3), I) and N((-3, -3), I) and whose
points from N(centre, I); when quick, 8 points each. All points are joined, an edge between x and y with the weight
``exp(-c |x - y|)``, for c = 1 and c = 3. The distribution is ``exp(-cut) / Z``, given that the first k points of the
first cluster have label 1 and the first k of the second one label 0, for k = 0, 5, .., 45 and 49 (the paper has all k
from 0 on; with k = 50 no label is left). After conditioning f is 0 where all free labels are 0, as in the paper, whose
axes end at 250 and 100.

*Bounds.* The superdifferential and mean field from below; the logistic bound with 100 samples, an estimate; L-Field and
trees from above; and exact sums where at most 20 labels are left, or few enough depend on each other.

*Repeats.* 10 draws of centres and points (2 when quick). Entries are means ± standard errors over the repeats; seconds
are of one call in the mean over all k, of one thread, in a table beside them.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from papers.experiment import Advance, Experiment, Outcome, Settings, Table
from papers.lovasz_paper import mean_and_error
from setwise.core.exceptions import Refusal
from setwise.probabilistic import (
    Cut,
    LogPartition,
    LogSupermodularDistribution,
    exact,
    l_field,
    logistic,
    mean_field,
    superdifferential,
    tree_reweighted,
)

Values = NDArray[np.float64]
RATES = (1.0, 3.0)
SAMPLES = 100

BOUNDS: dict[str, Callable[[LogSupermodularDistribution], LogPartition]] = {
    "superdifferential": superdifferential,
    "mean field": mean_field,
    "exact": partial(exact, max_width=12),
    "logistic, 100 samples": partial(logistic, samples=SAMPLES, random_state=0),
    "trees": tree_reweighted,
    "L-Field": l_field,
}


def clusters(n: int, rng: np.random.Generator) -> Values:
    """Two clusters of n points each, (2 n, 2)."""
    centres = rng.standard_normal((2, 2)) + np.array([[3.0], [-3.0]])
    return np.concatenate([centre + rng.standard_normal((n, 2)) for centre in centres])


def model_of(points: Values, rate: float) -> LogSupermodularDistribution:
    """The distribution of labels of the points."""
    ends = np.array(np.triu_indices(len(points), 1)).T
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    return LogSupermodularDistribution([Cut(len(points), ends, np.exp(-rate * lengths))])


def fixed_pairs(n: int, k: int) -> NDArray[np.int64]:
    """The labels that are fixed: 1 for the first k points of the first cluster, 0 for those of the second."""
    out = np.full(2 * n, -1)
    out[:k], out[n : n + k] = 1, 0
    return out


def steps_of(n: int) -> tuple[int, ...]:
    """The numbers of fixed pairs, up to n - 1."""
    return tuple(sorted({*range(0, n, max(n // 10, 1)), n - 1}))


def measured(model: LogSupermodularDistribution) -> tuple[list[float], list[float]]:
    """The value of each bound, NaN where it is refused, and its seconds."""
    values, seconds = [], []
    for bound in BOUNDS.values():
        start = perf_counter()
        try:
            values.append(bound(model).value)
        except Refusal:
            values.append(np.nan)
        seconds.append(perf_counter() - start)
    return values, seconds


def run(settings: Settings, advance: Advance) -> Outcome:
    """All bounds for both rates, all numbers of fixed pairs and all repeats."""
    n, repeats = (8, 2) if settings.quick else (50, 10)
    ks, tables, words, figures, seconds = steps_of(n), [], [], {}, []
    # The first calls compile kernels, or read them from a file.
    measured(model_of(clusters(3, np.random.default_rng(0)), RATES[0]))
    for rate in RATES:
        found = np.empty((len(ks), len(BOUNDS), repeats))
        took = np.empty((len(ks), len(BOUNDS), repeats))
        for r in range(repeats):
            model = model_of(clusters(n, np.random.default_rng([settings.seed, 90, r])), rate)
            for i, k in enumerate(ks):
                found[i, :, r], took[i, :, r] = measured(model.condition(fixed_pairs(n, k)) if k else model)
            advance(f"c = {rate:g}, repeat {r + 1}")
        means, errors = mean_and_error(found)
        title = f"c = {rate:g}: bounds of log Z with k pairs fixed; means ± standard errors over {repeats} repeats."
        none = np.zeros(means.shape, dtype=bool)
        rows = tuple(f"k = {k}" for k in ks)
        tables.append(Table(title, rows, tuple(BOUNDS), means, errors, None, None, none, 2))
        words += words_on(rate, found)
        # A call that was refused has no seconds.
        seconds.append(np.nanmean(np.where(np.isnan(found), np.nan, took), axis=(0, 2)))
        figures[f"c{rate:g}"] = partial(_picture, rate, ks, found)
    title = "Seconds of a call, in the mean over all k and repeats in which it is not refused."
    columns, none = tuple(f"c = {rate:g}" for rate in RATES), np.zeros((len(BOUNDS), len(RATES)), dtype=bool)
    tables.append(Table(title, tuple(BOUNDS), columns, np.column_stack(seconds), best=none))
    return Outcome(tuple(tables), tuple(words), figures)


def words_on(rate: float, found: Values) -> list[str]:
    """Whether the order of the paper holds, and how far the bounds are apart."""
    names = list(BOUNDS)
    column = {name: found[:, i] for i, name in enumerate(names)}
    said = []
    for low, high in (("logistic, 100 samples", "L-Field"), ("trees", "logistic, 100 samples")):
        # Estimates of equal bounds differ by their noise.
        share = float((column[low] <= column[high] + 1e-6).mean())
        said.append(f"c = {rate:g}: {low} is not above {high} in {100 * share:.0f} % of all cases.")
    gap = (column["logistic, 100 samples"] - column["superdifferential"]).mean()
    wide = (column["L-Field"] - column["superdifferential"]).mean()
    said.append(
        f"c = {rate:g}: above the superdifferential are the logistic bound by {gap:.1f} and L-Field by {wide:.1f}, in "
        "the mean over all cases."
    )
    return said


def _picture(rate: float, ks: tuple[int, ...], found: Values) -> object:
    """The bounds over the number of fixed pairs, with bands of two standard errors over the repeats."""
    from matplotlib.figure import Figure

    from setwise.plotting.axes import tidy
    from setwise.plotting.colors import CYCLE

    means, errors = mean_and_error(found)
    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for i, name in enumerate(BOUNDS):
        axes.plot(ks, means[:, i], color=CYCLE[i], label=name)
        low, high = means[:, i] - 2 * errors[:, i], means[:, i] + 2 * errors[:, i]
        axes.fill_between(ks, low, high, color=CYCLE[i], alpha=0.2, linewidth=0)
    axes.legend()
    tidy(axes, "fixed pairs", "log Z", f"Bounds of the sum over all labelings, c = {rate:g} (LSM Fig. 1)")
    return figure


EXPERIMENT = Experiment(
    "lsm_figure1",
    "LSM Fig. 1, bounds of log Z of cuts of two clusters",
    lambda settings: len(RATES) * (2 if settings.quick else 10),
    run,
)
