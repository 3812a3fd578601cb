"""A small U-Net that segments horses, trained in nine ways and decoded in three.

The protocol was written before the first test result. Four fits of cross-entropy on the first seed, with learning rates
of .001 to .03, had been judged on validation images, which settled the number of epochs and the grid.

*Images.* The Weizmann horses at 64 x 64 pixels, in the stored split of 200 and 119 images; photographs are the means of
2 x 2 pixels of those at 128 x 128. Of the 200, 160 train and 40 validate, drawn anew for each of 5 seeds. When quick,
64 and 48 generated objects of 32 x 32 pixels, whatever folder of data is given, 16 of the 64 to validate, and 2 seeds.

*Network.* One convolution of 3 x 3 pixels, with batch normalization, at each of four resolutions on the way down, and
at three on the way up, with 8, 16, 32 and 64 channels: 61,057 weights. The grids below have two channels more: the
softplus of these are weights of the edges to the right and down.

*Training.* Adam, 8 images a step, 40 epochs (12 when quick), each image mirrored with probability one half. The
learning rate rises for one epoch and falls as a cosine to 0. Its largest value is one of .003, .01 and .03 (.01 and .03
when quick): for each way the one whose network of the first seed has the best mean Jaccard index on the images to
validate, at 0.5; the first one of equals. It serves all seeds. Weights, splits, and the order and mirroring of images
depend on the seed alone, so all ways share them.

*Ways.*

- cross-entropy, the mean over pixels;
- Dice: 1 - (2 sum q y + 1) / (sum q + sum y + 1) of each image, q the sigmoid of the logits;
- Lovász hinge: ``LovaszHingeLoss("jaccard", per_image=True)``;
- Lovász after cross-entropy: cross-entropy for 20 epochs, then the Lovász hinge for 20, in one schedule;
- Lovász + cross-entropy: their sum;
- Jaccard margin: ``MarginRescalingLoss("jaccard", scale="size", per_image=True)``;
- Jaccard ramp: ``RampLoss("jaccard", scale="size", per_image=True)``, from random weights as all others;
- max-margin MRF: ``MaxMarginMRFLoss("error_rate", scale="size")`` of the grid;
- log-supermodular: ``LogSupermodularLoss(samples=4)`` of the grid, with new noise in each step.

*Decoding.* At 0.5: a pixel is positive where its score is above 0. Tuned: where it is above the threshold that is best
on the images to validate, for the measure at hand. Decided: the mask of least expected Jaccard loss of each image, by
``setwise.torch.decide(scores, "jaccard")``; the sigmoid of a score stands for the probability, which the hinges, the
margins and the ramp were not trained for. Scores are logits. Those of the max-margin MRF are -b, b being the bias at
which a pixel turns positive in the labeling of greatest score; so at 0.5 is the exact cut, and a threshold is a bias.
Those of the log-supermodular grid are the logits of its marginals, by 64 perturbed cuts of each image, with half a cut
added to each label; its training curve is that of the exact cut.

*Measures.* The Jaccard index of test images in percent: the mean of the images, which all choices are made for (but for
a threshold of its own), and that of all test pixels as one set. Standard errors are over the seeds, all of which share
the test images; differences are paired by seed. The curve is the mean index of the images to validate at 0.5. The share
of the loss is that of processor time of all steps of training but the first one with each loss, which may compile it:
the loss and its gradient of the outputs against the whole step. Trainings use one thread each, two at a time. Whether a
way wins or loses is said by single intervals of 95 %, which are not corrected for the number of comparisons.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from joblib import Parallel, delayed

from papers.experiment import Advance, Experiment, Outcome, Settings, Table
from papers.horses.data import DECODINGS, GRIDS, MEASURES, HorseSize, Parts, Pictures, parts
from papers.horses.store import Run, Store, TrainingJob
from papers.lovasz_paper import mean_and_error
from papers.paired_mean import PairedMean, verdict
from setwise.core.checks import Values

FULL = HorseSize()
QUICK = HorseSize(seeds=2, rates=(0.01, 0.03), epochs=12, held=16)

RIVAL, LOVASZ = "cross-entropy", "Lovász hinge"

IN_PICTURES = ("cross-entropy", "Lovász hinge", "Lovász + cross-entropy", "Jaccard margin", *GRIDS)

GENERATED = "The images are generated: no folder of data is read with --quick."


@final
@dataclass(frozen=True, eq=False)
class WayTrainings:
    """The trainings of each way with its learning rate, one for each seed; ``note`` says which were made before."""

    size: HorseSize
    rates: dict[str, float]
    runs: dict[str, list[Run]]
    note: str = ""

    @property
    def samples(self) -> Values:
        """Jaccard indices in percent, (ways, decodings, measures, seeds)."""
        return np.stack([np.stack([run.cells for run in self.runs[way]], axis=-1) for way in self.size.ways])

    def each(self, of: Callable[[Run], float]) -> Values:
        """A number of each training, (ways, seeds)."""
        return np.array([[of(run) for run in self.runs[way]] for way in self.size.ways])


def need_torch() -> None:
    """Raise ValueError where PyTorch is absent."""
    try:
        import setwise.torch  # noqa: F401
    except ImportError as error:
        raise ValueError(str(error)) from None


def run(settings: Settings, advance: Advance) -> Outcome:
    """Train in all ways, and judge all decodings."""
    size = QUICK if settings.quick else FULL
    need_torch()
    given = parts(settings)
    told = outcome(trained(size, given, settings, advance), given.test)
    return replace(told, words=(*told.words, GENERATED)) if settings.quick else told


def trained(size: HorseSize, given: Parts, settings: Settings, advance: Advance, n_jobs: int = 2) -> WayTrainings:
    """All trainings: with each learning rate on the first seed, and with the chosen one on the others.

    Raises
    ------
    KeyboardInterrupt : with a sentence on what is kept
    """
    folder = None if settings.out is None else settings.out / "horses_unet_runs"
    store = Store(folder, size, settings.quick)
    try:
        first = [TrainingJob(way, rate, 0, settings.seed) for way in size.ways for rate in size.rates]
        found = dict(zip(first, _all(first, given, store, advance, n_jobs), strict=True))
        rates = {
            way: _best_rate({r: found[TrainingJob(way, r, 0, settings.seed)] for r in size.rates}) for way in size.ways
        }
        rest = [TrainingJob(way, rates[way], k, settings.seed) for k in range(1, size.seeds) for way in size.ways]
        found |= zip(rest, _all(rest, given, store, advance, n_jobs), strict=True)
    except KeyboardInterrupt:
        if folder is None:
            raise
        kept = f"trainings that ended are kept in {folder}, and the same command goes on from there"
        raise KeyboardInterrupt(kept) from None
    runs = {
        way: [found[TrainingJob(way, rates[way], k, settings.seed)] for k in range(size.seeds)] for way in size.ways
    }
    count = len(first) + len(rest)
    note = f"{store.reused} of {count} trainings were made before, and kept in {folder}." if store.reused else ""
    return WayTrainings(size, rates, runs, note)


def _best_rate(runs: dict[float, Run]) -> float:
    """The learning rate that is best in validation, the first one of equals."""
    return max(runs, key=lambda rate: runs[rate].validation)


def _all(jobs: Sequence[TrainingJob], given: Parts, store: Store, advance: Advance, n_jobs: int) -> Iterator[Run]:
    """The trainings in the order of the jobs; those that are kept are read."""
    from papers.horses.training import train

    kept = {job: store.read(job) for job in jobs}
    new = [job for job in jobs if kept[job] is None]
    made = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(train)(job, given, store.size) for job in new)
    for job in jobs:
        one = kept[job]
        if one is None:
            one = next(made)
            store.write(job, one)
        advance(f"{job.way}, rate {job.rate:g}, seed {job.seed}")
        yield one


def outcome(found: WayTrainings, test: Pictures) -> Outcome:
    """Tables, sentences and figures."""
    ways, samples = found.size.ways, found.samples
    tables = [_table(f"Jaccard index of test images in percent, {MEASURES[0]}.", ways, samples[:, :, 0])]
    title = f"The same less that of {RIVAL} at 0.5, paired over seeds."
    tables.append(_table(title, ways, samples[:, :, 0] - samples[ways.index(RIVAL), 0, 0]))
    tables.append(_table(f"Jaccard index of test images in percent, {MEASURES[1]} as one set.", ways, samples[:, :, 1]))
    tables.append(_training(found))
    figures = {"training": _curves(found, [way for way in ways if way not in GRIDS])}
    if set(GRIDS) & set(ways):
        figures["grids"] = _curves(found, [RIVAL, *(way for way in GRIDS if way in ways)])
    figures["masks"] = _pictures(found, test)
    words = [*words_of(ways, samples[:, :, 0]), *([found.note] if found.note else [])]
    return Outcome(tuple(tables), tuple(words), figures)


def _table(title: str, ways: tuple[str, ...], samples: Values) -> Table:
    """A row for each way and a column for each decoding."""
    means, errors = mean_and_error(samples)
    return Table(title, ways, DECODINGS, means, errors, best=means == means.max(axis=0), digits=1)


def _training(found: WayTrainings) -> Table:
    """The learning rates, the index in validation, the share of the loss, and seconds."""
    rates = np.array([[1000.0 * found.rates[way]] * found.size.seeds for way in found.size.ways])
    numbers = [found.each(of) for of in (lambda r: r.validation, lambda r: r.share, lambda r: r.seconds)]
    means, errors = mean_and_error(np.stack([rates, *numbers], axis=1))
    errors[:, [0, 2, 3]] = np.nan
    columns = ("1000 x rate", "validation, at 0.5", "% of a step in the loss", "CPU s")
    title = "The learning rate, the mean Jaccard index of images to validate, and processor time of training."
    return Table(title, found.size.ways, columns, means, errors, best=np.zeros(means.shape, dtype=bool), digits=1)


def words_of(ways: tuple[str, ...], samples: Values) -> list[str]:
    """Who wins or loses against cross-entropy, and where decoding does, for (ways, decodings, seeds)."""
    rival, base = ways.index(RIVAL), DECODINGS[0]
    pairs = [
        (f"{decoding}: ", samples[i, j], samples[rival, j], RIVAL, way)
        for i, way in enumerate(ways)
        for j, decoding in enumerate(DECODINGS)
        if way != RIVAL
    ]
    pairs += [
        (f"{way}: ", samples[i, j], samples[i, 0], base, DECODINGS[j]) for i, way in enumerate(ways) for j in (1, 2)
    ]
    clear = [pair for pair in pairs if PairedMean.of(pair[1], pair[2]).clear]
    said = [start + verdict(*rest) for start, *rest in clear]
    said.append(f"{len(pairs) - len(clear)} of {len(pairs)} comparisons are undecided at 95 %.")
    said.append("All of these are single intervals of 95 %, not corrected for the number of comparisons.")
    if LOVASZ in ways:
        ours, theirs = samples[ways.index(LOVASZ), 0].mean(), samples[rival, 0].mean()
        said.append(f"At 0.5 the mean of the Lovász hinge alone is {ours - theirs:+.1f} from that of cross-entropy.")
    return said


def _curves(found: WayTrainings, ways: Sequence[str]) -> Callable[[], object]:
    """A function that draws the index in validation against epochs."""
    size = found.size
    at = np.arange(1, size.epochs // size.every + 1) * size.every
    curves = {way: mean_and_error(np.stack([run.curve for run in found.runs[way]], axis=-1)) for way in ways}

    def draw() -> object:
        from setwise import plotting

        title = "Images to validate, at 0.5"
        return plotting.curves(at, curves, None, "epoch", "Jaccard index, percent", title)

    return draw


def _pictures(found: WayTrainings, test: Pictures) -> Callable[[], object]:
    """A function that draws the first test images with the masks of some ways at 0.5, of the first seed."""
    ways = [way for way in IN_PICTURES if way in found.runs]
    masks = {way: list(found.runs[way][0].shown[0]) for way in ways}
    count = len(masks[RIVAL])

    def draw() -> object:
        from setwise import plotting

        return plotting.segmentations(list(test.images[:count]), {"truth": list(test.masks[:count])} | masks)

    return draw


def steps(settings: Settings) -> int:
    """The number of calls of ``advance``."""
    size = QUICK if settings.quick else FULL
    return len(size.ways) * (len(size.rates) + size.seeds - 1)


EXPERIMENT = Experiment(
    "horses_unet", "A small U-Net on horses, trained for nine losses and decoded in three ways", steps, run
)
