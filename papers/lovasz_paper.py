"""What the tables of LH share: the four methods of training, the choice of C, and the pattern that LH claims."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from papers.experiment import Settings
from papers.methods import LinearDecisionRule, SetMethod, standardized
from papers.paired_mean import ConstantSearch, PairedMean, choose
from papers.problems import losses_of
from setwise.compare.problem import Problem
from setwise.core.loss import Loss
from setwise.inference import GreedySearch
from setwise.losses import Hamming
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling

GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
QUICK_GRID = (1e-3, 1e-1)
"""Wide grids of constants C, counted for each decision."""

THOROUGH = ConstantSearch(inner=3, grid=(1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0))
QUICK = ConstantSearch(inner=2, grid=QUICK_GRID)
"""How the tables of LH choose C: the grid is finer where a few hundred sets have their best constant."""

TRAINERS: tuple[SetMethod, ...] = (
    SetMethod("L", "Lovász hinge", lambda loss, scale: LovaszHinge(loss)),
    SetMethod("0-1", "support vector machine", lambda loss, scale: LovaszHinge(loss), hamming=True),
    SetMethod("S", "slack rescaling, greedy", lambda loss, scale: SlackRescaling(loss, GreedySearch())),
    SetMethod("M", "margin rescaling, greedy", lambda loss, scale: MarginRescaling(loss, GreedySearch())),
    SetMethod("S exact", "slack rescaling, exact", lambda loss, scale: SlackRescaling(loss)),
    SetMethod("M exact", "margin rescaling, exact", lambda loss, scale: MarginRescaling(loss)),
)
"""The rows of LH's tables, L to M; then slack and margin rescaling with exact inference, which LH could not try."""

NAMES = tuple(trainer.name for trainer in TRAINERS)
STEPS = len(TRAINERS)


def cross(
    train: Problem, test: Problem, loss: Loss, settings: Settings, advance: Callable[[str], None]
) -> tuple[NDArray[np.float64], list[LinearDecisionRule]]:
    """Train with all six methods and test with ``loss`` and with the number of mistakes.

    C is chosen by folds of the training sets, by the loss that is trained for; the last fit is on all training sets.
    Slack and margin rescaling choose it with exact inference and use it for greedy inference too, so that only the
    inference differs between the two. ``advance`` is called once for each method. Returns the losses (methods, 2, test
    sets) and the trained rules.
    """
    losses, models = [], []
    whole, held_out = standardized(train, test)
    exact = {trainer.name: trainer for trainer in TRAINERS}
    chosen: dict[str, float] = {}
    for trainer in TRAINERS:
        row, target = trainer.name.removesuffix(" exact"), Hamming() if trainer.hamming else loss
        if row not in chosen:
            chosen[row] = pick(exact.get(f"{row} exact", trainer), train, target, settings)
        model = trainer.train(whole, loss, chosen[row], 1e-3)
        scores = model.margins(held_out)
        losses.append([losses_of(held_out, loss, scores), losses_of(held_out, Hamming(), scores)])
        models.append(model)
        advance(f"{train.name}: {trainer.name}")
    return np.array(losses), models


def pick(method: SetMethod, train: Problem, loss: Loss, settings: Settings) -> float:
    """The constant C, counted for each decision, with the least mean of ``loss`` over folds of the training sets."""
    plan = replace(QUICK if settings.quick else THOROUGH, seed=settings.seed)
    return choose(method, train, loss, plan, lambda: None)


def pattern(samples: NDArray[np.float64], name: str, unit: str) -> list[str]:
    """Sentences that say whether training on the loss of the test is best, as LH claims.

    ``samples`` (methods, 2, repetitions) are losses at test, with the methods of :data:`TRAINERS` and the columns
    ``name`` and 0-1; ``unit`` is the word for a repetition. Differences are paired over repetitions.
    """
    sentences = []
    for column, (own, loss) in enumerate((("L", name), ("0-1", "0-1"))):
        row = NAMES.index(own)
        # LH compares its four methods; those with exact inference are no rivals here.
        others = [i for i in range(4) if i != row]
        # The rival is the best of the other methods, which is the hardest comparison.
        rival = min(others, key=lambda i: samples[i, column].mean())
        pair = PairedMean.of(samples[row, column], samples[rival, column])
        if not pair.clear:
            outcome = "is undecided: the difference is within chance"
        else:
            outcome = "holds" if pair.difference < 0 else "fails"
        sentences.append(
            f"{loss} at test: the paper's pattern (training on it, {own}, is best) {outcome}. {own} has "
            f"{samples[row, column].mean():.4f}, the best of LH's other ways, {NAMES[rival]}, "
            f"{samples[rival, column].mean():.4f} (difference {pair.difference:+.4f}, 95 % interval "
            f"± {pair.width:.4f} over {samples.shape[2]} {unit})."
        )
    return [*sentences, *inference_matters(samples, name)]


def inference_matters(samples: NDArray[np.float64], name: str) -> list[str]:
    """Sentences that say whether approximate inference makes slack and margin rescaling worse, as LH 6.5 says."""
    sentences = []
    lovasz = samples[NAMES.index("L"), 0]
    for row, words in (("S", "Slack"), ("M", "Margin")):
        greedy, exact = samples[NAMES.index(row), 0], samples[NAMES.index(f"{row} exact"), 0]
        behind, gain = PairedMean.of(exact, lovasz), PairedMean.of(exact, greedy)
        change = f"{greedy.mean():.4f} with greedy and {exact.mean():.4f} with exact inference"
        if behind.clear and behind.difference > 0:
            # The share of the distance between greedy inference and L that exact inference removes.
            share = -gain.difference / (greedy.mean() - lovasz.mean())
            part = f"{share:.0%} of the distance" if gain.clear and gain.difference < 0 else "none of the distance"
            sentences.append(
                f"{words} rescaling has {change} in {name}, against {lovasz.mean():.4f} of L: greedy inference "
                f"explains {part}. What is left is the surrogate's own."
            )
        elif gain.clear and gain.difference < 0:
            sentences.append(
                f"{words} rescaling has {change} in {name}: exact inference makes it level with L or better."
            )
        else:
            sentences.append(f"{words} rescaling has {change} in {name}: not clearly behind L, whatever the inference.")
    return sentences


def mean_and_error(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The means and the standard errors over the last axis."""
    return samples.mean(axis=-1), samples.std(axis=-1, ddof=1) / np.sqrt(samples.shape[-1])


def beside(published: Mapping[str, tuple[float, ...]]) -> NDArray[np.float64]:
    """The published figures, (methods, columns), in the order of :data:`TRAINERS`; NaN for rows that LH lacks."""
    width = len(next(iter(published.values())))
    return np.array([published.get(name, (np.nan,) * width) for name in NAMES])
