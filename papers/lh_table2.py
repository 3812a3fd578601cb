"""LH Table 2: the Jaccard loss of a whole test set, class by class, after training for Jaccard and for 0-1."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from papers.experiment import Advance, Experiment, Outcome, Settings, Table, need_data
from papers.lovasz_paper import pick
from papers.methods import LOVASZ, SVM, SetMethod, standardized
from papers.paired_mean import PairedMean
from papers.problems import mean_loss_of
from setwise.compare.problem import Problem
from setwise.datasets import load
from setwise.losses import Hamming, Jaccard

COLUMNS = ("Δ_J by L", "Δ_J by 0-1", "0-1 by L", "0-1 by 0-1")

PUBLISHED: dict[str, tuple[float, float, float, float]] = {
    "aeroplane": (0.310, 0.310, 0.014, 0.014),
    "bicycle": (0.436, 0.466, 0.025, 0.027),
    "bird": (0.371, 0.399, 0.025, 0.025),
    "boat": (0.416, 0.483, 0.017, 0.020),
    "bottle": (0.761, 0.917, 0.062, 0.045),
    "bus": (0.539, 0.661, 0.026, 0.025),
    "car": (0.399, 0.397, 0.076, 0.068),
    "cat": (0.426, 0.469, 0.035, 0.034),
    "chair": (0.687, 0.744, 0.121, 0.090),
    "cow": (0.640, 0.892, 0.027, 0.023),
}
"""The published losses on PASCAL VOC; our copy of the paper holds only one row of the other ten classes."""


def run(settings: Settings, advance: Advance) -> Outcome:
    """Measure scikit-learn's digits (half for training) and scene (its official split); when quick, digits 0 to 2."""
    work = [_digits(range(3) if settings.quick else range(10), settings.seed)]
    if not settings.quick:
        work.append(_scene(settings))
    tables, words = [], []
    for name, pairs in work:
        found = np.array([_class(train, test, settings, advance) for train, test in pairs])
        labels = tuple(train.classes[1] for train, _ in pairs)
        title = f"{name}: loss of the whole test set, for each class and training for Jaccard (L) and for 0-1"
        tables.append(Table(title, labels, COLUMNS, found, best=_best(found), digits=3))
        words += [f"{name}: {sentence}" for sentence in _words(found)]
    published = np.array(list(PUBLISHED.values()))
    title = "The paper, PASCAL VOC with Overfeat features (other data, so only the pattern can be compared)"
    tables.append(Table(title, tuple(PUBLISHED), COLUMNS, published, best=_best(published), digits=3))
    words += [f"Paper, ten classes: {sentence}" for sentence in _words(published)]
    return Outcome(tuple(tables), tuple(words))


def _class(train: Problem, test: Problem, settings: Settings, advance: Advance) -> tuple[float, float, float, float]:
    """The Jaccard loss of both methods (L and 0-1) and their error rates; C is chosen by the loss trained for."""
    whole, held_out = standardized(train, test)
    losses: list[tuple[float, float]] = []
    methods: tuple[tuple[SetMethod, Jaccard | Hamming], ...] = ((LOVASZ, Jaccard()), (SVM, Hamming()))
    for method, loss in methods:
        model = method.train(whole, loss, pick(method, train, loss, settings), 1e-3)
        scores = model.margins(held_out)
        # The Hamming loss counts the mistakes of the test set, so the error rate is its share.
        mistakes = mean_loss_of(held_out, Hamming(), scores)
        losses.append((mean_loss_of(held_out, Jaccard(), scores), mistakes / len(test.y)))
        advance(f"{train.name}: {method.name}")
    (jaccard_l, error_l), (jaccard_h, error_h) = losses
    return jaccard_l, jaccard_h, error_l, error_h


def _best(found: NDArray[np.float64]) -> NDArray[np.bool_]:
    """A mask of the better one of each pair of columns."""
    return np.column_stack(
        [
            found[:, 0] <= found[:, 1],
            found[:, 1] <= found[:, 0],
            found[:, 2] <= found[:, 3],
            found[:, 3] <= found[:, 2],
        ]
    )


def _words(found: NDArray[np.float64]) -> list[str]:
    """One sentence for each loss at test: whether training for it wins, over the classes."""
    sentences = []
    # Columns a and b hold the loss at test after training for it, and for the other one.
    for name, own, other, a, b in (("Δ_J", "L", "0-1", 0, 1), ("0-1", "0-1", "L", 3, 2)):
        wins, ties = int((found[:, a] < found[:, b]).sum()), int((found[:, a] == found[:, b]).sum())
        pair = PairedMean.of(found[:, a], found[:, b])
        verdict = "is undecided" if not pair.clear else "holds" if pair.difference < 0 else "fails"
        sentences.append(
            f"in {name} training on it ({own}) wins {wins} of {len(found)} classes and ties {ties}; on average "
            f"{found[:, a].mean():.3f} against {found[:, b].mean():.3f} by {other}, difference {pair.difference:+.3f} "
            f"with a 95 % interval ± {pair.width:.3f} over classes: the paper's pattern {verdict}."
        )
    return sentences


def _digits(which: Sequence[int], seed: int) -> tuple[str, list[tuple[Problem, Problem]]]:
    """Each of the digits against the rest, as training and test parts of one split."""
    X, y = load_digits(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    pairs = []
    for digit in which:
        whole = Problem(f"digit {digit}", "", X, (y == digit).astype(np.int64), None, ("rest", f"digit {digit}"))
        pairs.append((whole.take(train), whole.take(test)))
    return "digits", pairs


def _scene(settings: Settings) -> tuple[str, list[tuple[Problem, Problem]]]:
    """Each label of scene against the rest, as training and test parts of the official split."""
    path = need_data(settings, "lh_table2", ["scene.npz"])[0]
    data = load(path)
    with np.load(path, allow_pickle=False) as archive:
        # The first rows of the file are the official training part.
        n_train = int(archive["n_train"])
    pairs = []
    for j, label in enumerate(data.classes):
        whole = Problem(f"scene, {label}", "", data.X, data.y[:, j], None, ("rest", label))
        pairs.append((whole.take(np.arange(n_train)), whole.take(np.arange(n_train, len(data.y)))))
    return "scene", pairs


def _steps(settings: Settings) -> int:
    """The number of calls of ``advance``: two methods for 10 digits and the 6 labels of scene."""
    return 2 * (3 if settings.quick else 16)


EXPERIMENT = Experiment("lh_table2", "LH Table 2, Jaccard loss of a whole test set, class by class", _steps, run)
