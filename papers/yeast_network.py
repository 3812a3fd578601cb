"""A two-layer network on yeast: losses of label sets, judged by four measures, each decoded in two ways.

The protocol was fixed before the first result on yeast. The quick version had been run: there the ramp hardly learned
from random weights, so it got a second row, which begins with cross-entropy.

*Data.* yeast of Mulan with its official split, 1,500 rows for training and 917 for test, 103 features scaled to the
mean 0 and the deviation 1 of the training rows, 14 labels. When quick, the six traits of 600 of scikit-learn's digits,
half of them for test.

*Network.* 103 features, 128 hidden units with rectified outputs, 14 logits; a row of labels is a set (``per_image``).

*Losses.* Cross-entropy, the sum over the labels of a row; margin rescaling of Hamming, which is the hinge of each
label; margin rescaling of F1; the ramp of F1; margin rescaling of the zero-one loss of a row; the Lovász hinge of
Jaccard. The mean over rows is trained on. The ramp is trained alone, and also after a third of the epochs of
cross-entropy.

*Training.* Adam with weight decay 1e-4 and batches of 64 rows, 60 epochs. A fifth of the training rows, drawn anew for
each seed, does not train but chooses. There are 5 seeds of this part, the first weights and the order of rows, which
all losses share.

*Choice.* The budget is the same for all: three learning rates, 3e-4, 1e-3 and 3e-3, and the epochs 4, 8, ..., 60. Each
loss, measure and way of decoding takes the rate and the epoch with the least mean of the measure on the rows that
choose. All is reported, also what is lost.

*Decoding.* A label is predicted where its logit is above 0; or all labels of a row by ``setwise.torch.decide`` for F1.
Probabilities for it are the sigmoid of ``a s + b``, with a and b, the same for all labels, of the largest likelihood on
the rows that choose, since only cross-entropy trains probabilities.

*Measures.* The mean over test rows of 1 - F1, of 1 - Jaccard, of the zero-one loss of the row, and the share of wrong
labels. Standard errors are over seeds, and so do not hold the chance of the test rows; differences from cross-entropy
at 0 are paired.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from papers.experiment import Advance, Experiment, Outcome, Settings, Table, need_data
from papers.multilabel_samples import read
from setwise.compare.problem import digit_traits
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.losses import FBeta, Hamming, Jaccard, ZeroOne

LOSSES = (
    "cross-entropy", "Hamming, margin", "F1, margin", "F1, ramp", "cross-entropy, then F1 ramp", "zero-one, margin",
    "Jaccard, Lovász hinge",
)  # fmt: skip
Criterion = Callable[[Any, Any], Any]

WAYS = ("at 0", "by decide")
ROWS = tuple(f"{loss}, {way}" for loss in LOSSES for way in WAYS)
COLUMNS = ("1 - F1", "1 - Jaccard", "zero-one", "wrong labels")


@final
@dataclass(frozen=True)
class NetworkSize:
    """How much is trained: the seeds, hidden units, learning rates and epochs, and how often epochs are judged."""

    seeds: int = 5
    hidden: int = 128
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    epochs: int = 60
    every: int = 4
    batch: int = 64

    @property
    def judged(self) -> int:
        """The number of epochs that are judged."""
        return self.epochs // self.every


QUICK = NetworkSize(seeds=2, hidden=32, rates=(1e-3, 1e-2), epochs=12)


@final
@dataclass(frozen=True, eq=False)
class YeastRows:
    """Rows of scaled features (n, d) float32 and labels (n, p)."""

    X: NDArray[np.float32]
    Y: Bools

    def take(self, rows: Ints) -> "YeastRows":
        """Some of the rows."""
        return YeastRows(self.X[rows], self.Y[rows])


def parts_of(settings: Settings) -> tuple[YeastRows, YeastRows]:
    """The training and the test part."""
    if settings.quick:
        problem, n_train = digit_traits(), 300
        rows = np.random.default_rng([settings.seed, 90]).permutation(len(problem.y))[:600]
    else:
        (path,) = need_data(settings, "yeast_network", ["yeast.npz"])
        problem = read(path)
        with np.load(path) as held:
            n_train = int(held["n_train"])
        rows = np.arange(len(problem.y))
    X, Y = np.asarray(problem.X, dtype=np.float64)[rows], problem.y[rows].astype(bool)
    mean, deviation = X[:n_train].mean(axis=0), X[:n_train].std(axis=0)
    scaled = ((X - mean) / np.where(deviation > 0, deviation, 1.0)).astype(np.float32)
    whole = YeastRows(scaled, Y)
    return whole.take(np.arange(n_train)), whole.take(np.arange(n_train, len(Y)))


def criteria() -> dict[str, tuple[Criterion, Criterion]]:
    """The losses of logits and labels (n, p) in the first third of the epochs and after it, by their names.

    Raises
    ------
    ValueError : without PyTorch
    """
    try:
        from setwise.torch import LovaszHingeLoss, MarginRescalingLoss, RampLoss
    except ImportError as error:
        raise ValueError(str(error)) from None

    def cross_entropy(logits: Any, labels: Any) -> Any:
        from torch.nn.functional import binary_cross_entropy_with_logits

        total = binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="sum")
        return total / len(logits)

    ramp = RampLoss("f1", per_image=True)
    alone = (
        cross_entropy,
        MarginRescalingLoss("hamming", per_image=True),
        MarginRescalingLoss("f1", per_image=True),
        ramp,
        MarginRescalingLoss("zero_one", per_image=True),
        LovaszHingeLoss("jaccard", per_image=True),
    )
    found = [(criterion, criterion) for criterion in alone]
    found.insert(4, (cross_entropy, ramp))
    return dict(zip(LOSSES, found, strict=True))


def trained(
    criterion: tuple[Criterion, Criterion],
    part: YeastRows,
    others: tuple[YeastRows, ...],
    rate: float,
    size: NetworkSize,
    seed: int,
) -> list[tuple[Values, ...]]:
    """The logits of the other parts after each epoch that is judged."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    widths = (part.X.shape[1], size.hidden, part.Y.shape[1])
    first, last = (torch.nn.Linear(*pair) for pair in pairwise(widths))
    for layer in (first, last):
        bound = layer.in_features**-0.5
        torch.nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
        torch.nn.init.zeros_(layer.bias)
    network = torch.nn.Sequential(first, torch.nn.ReLU(), last)
    steps = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=1e-4)
    X, Y = torch.from_numpy(part.X), torch.from_numpy(part.Y)
    seen = []
    for epoch in range(1, size.epochs + 1):
        order = torch.randperm(len(X), generator=generator)
        for start in range(0, len(X), size.batch):
            rows = order[start : start + size.batch]
            steps.zero_grad()
            criterion[3 * epoch > size.epochs](network(X[rows]), Y[rows]).backward()
            steps.step()
        if epoch % size.every == 0:
            with torch.no_grad():
                seen.append(tuple(network(torch.from_numpy(other.X)).double().numpy() for other in others))
    return seen


def measured(truth: Bools, labels: Bools) -> Values:
    """The four measures of predicted labels (n, p)."""
    sets = Sets(truth.ravel(), np.arange(len(truth) + 1) * truth.shape[1])
    losses = (FBeta(), Jaccard(), ZeroOne(), Hamming())
    means = [float(loss.bind(sets).values(labels.ravel()).mean()) for loss in losses]
    return np.array([*means[:3], means[3] / truth.shape[1]])


def decoded(chosen_by: Values, truth: Bools, scores: Values) -> tuple[Bools, Bools]:
    """The labels of scores (n, p) in both ways; other scores and their labels give the probabilities."""
    import torch

    from setwise.torch import decide

    # Without a penalty to speak of, this is the line of the largest likelihood.
    line = LogisticRegression(C=1e6).fit(chosen_by.reshape(-1, 1), truth.ravel())
    logits = line.decision_function(scores.reshape(-1, 1)).reshape(scores.shape)
    return scores > 0, decide(torch.from_numpy(logits), "f1").labels.numpy()


def one_loss(
    criterion: tuple[Criterion, Criterion], parts: tuple[YeastRows, YeastRows, YeastRows], size: NetworkSize, seed: int
) -> NDArray[np.float64]:
    """The measures of the test part, (ways, measures), with the rate and the epoch that the second part chooses."""
    train, choosing, test = parts
    found = np.empty((2, len(size.rates), size.judged, len(WAYS), len(COLUMNS)))
    for r, rate in enumerate(size.rates):
        for e, (held, unseen) in enumerate(trained(criterion, train, (choosing, test), rate, size, seed)):
            for at, part, scores in ((0, choosing, held), (1, test, unseen)):
                labels = decoded(held, choosing.Y, scores)
                found[at, r, e] = [measured(part.Y, each) for each in labels]
    flat = found.reshape(2, -1, len(WAYS), len(COLUMNS))
    best = flat[0].argmin(axis=0)
    return np.asarray(np.take_along_axis(flat[1], best[None], axis=0)[0])


def samples(train: YeastRows, test: YeastRows, size: NetworkSize, seed: int, advance: Advance) -> Values:
    """The measures of all rows of the table, (rows, measures, seeds)."""
    found = np.empty((len(ROWS), len(COLUMNS), size.seeds))
    for k in range(size.seeds):
        order = np.random.default_rng([seed, k]).permutation(len(train.X))
        held, rest = np.split(order, [len(order) // 5])
        parts = train.take(rest), train.take(held), test
        for i, (name, criterion) in enumerate(criteria().items()):
            advance(f"seed {k + 1}: {name}")
            found[len(WAYS) * i : len(WAYS) * (i + 1), :, k] = one_loss(criterion, parts, size, 1000 * seed + k)
    return found


def run(settings: Settings, advance: Advance) -> Outcome:
    """Train the network with each loss, and judge it by each measure."""
    size = QUICK if settings.quick else NetworkSize()
    criteria()
    found = samples(*parts_of(settings), size, settings.seed, advance)
    name = "digits" if settings.quick else "yeast"
    root = np.sqrt(size.seeds)
    tables = [
        Table(
            f"{name}: mean over the test rows ± standard error over {size.seeds} seeds; less is better.",
            ROWS, COLUMNS, found.mean(axis=2), found.std(axis=2, ddof=1) / root,
        )
    ]  # fmt: skip
    less = found - found[:1]
    title = f"{name}: less {ROWS[0]}, ± standard error of the {size.seeds} differences; below 0 is better."
    tables.append(Table(title, ROWS[1:], COLUMNS, less[1:].mean(axis=2), less[1:].std(axis=2, ddof=1) / root))
    return Outcome(tuple(tables), tuple(words(found)))


def words(found: Values) -> list[str]:
    """For each measure the best row, and how far it is from cross-entropy decoded in its best way."""
    means, said = found.mean(axis=2), []
    for j, column in enumerate(COLUMNS):
        best, rival = int(means[:, j].argmin()), int(means[: len(WAYS), j].argmin())
        less = found[best, j] - found[rival, j]
        error = less.std(ddof=1) / np.sqrt(len(less))
        beside = (
            "it is that of cross-entropy" if best == rival else f"{less.mean():+.4f} ± {error:.4f} from {ROWS[rival]}"
        )
        said.append(f"{column}: {ROWS[best]} is the least, {means[best, j]:.4f}; {beside}.")
    return said


def steps(settings: Settings) -> int:
    """The number of calls of ``advance``."""
    return len(LOSSES) * (QUICK if settings.quick else NetworkSize()).seeds


EXPERIMENT = Experiment(
    "yeast_network", "Losses of label sets for a two-layer network on yeast, in two ways of decoding", steps, run
)
