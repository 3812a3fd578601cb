"""Train for F1, PRBEP, ROCArea and average precision, and compare with the usual methods at test.

This follows the table of T. Joachims, "A Support Vector Method for Multivariate Performance Measures" (ICML 2005),
which compares training for a measure with an ordinary SVM. The data differ: the paper has Reuters ModApte, WebKB,
Ohsumed and Covertype; here they are another sample of Reuters, scene, yeast and digits. So only measured figures are
shown, and none of the paper. Average precision, logistic regression and the tuned threshold are added.

The set methods penalize their intercept, and a measure like F1 asks for a threshold far from theirs. So a constant
feature of 10 is added for all methods, which makes the intercept nearly free, as it is in logistic regression.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, issparse, vstack
from sklearn.model_selection import StratifiedShuffleSplit

from papers.experiment import Advance, Experiment, Outcome, Settings, Table, need_data
from papers.methods import LOGISTIC, SVM, TUNED, LinearDecisionRule, Method, SetMethod, standardized
from papers.paired_mean import QUICK_GRID, PairedMean
from papers.problems import digits, folds_of, mean_loss_of
from setwise.compare.problem import Problem
from setwise.core.loss import Loss
from setwise.datasets import load
from setwise.losses import AveragePrecision, BreakEven, FBeta, RocArea
from setwise.surrogates import MarginRescaling

Floats = NDArray[np.float64]

NAME = "joachims2005"
FILES = ("reuters_acq.npz", "scene.npz", "yeast.npz")
MEASURES: Mapping[str, Loss] = {
    "F1": FBeta(),
    "PRBEP": BreakEven(),
    "ROCArea": RocArea(),
    "AP": AveragePrecision(),
}
COLUMNS = tuple(MEASURES)

OURS = SetMethod(
    "trained for the measure",
    "margin rescaling on the scale of the set",
    lambda loss, scale: MarginRescaling(loss, scale="size"),
)
ROWS: tuple[str, ...] = (OURS.name, "error-rate SVM", LOGISTIC.name, TUNED.name)

FITS: tuple[tuple[int, Method, tuple[str, ...]], ...] = (
    *((0, OURS, (name,)) for name in COLUMNS),
    (1, SVM, COLUMNS),
    (2, LOGISTIC, COLUMNS),
    (3, TUNED, ("F1",)),
)
"""The row of the table, the method, and the columns that one fit fills; the fit is for the first of these columns."""

GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""The constants C, counted for each decision, from which every method chooses."""

SPLITS, TEST_SHARE, TOL = 10, 1 / 3, 1e-3
RIVALS = {
    "the error-rate SVM": dict.fromkeys(COLUMNS, 1),
    "logistic regression (for F1 with its threshold tuned)": {"F1": 3, "PRBEP": 2, "ROCArea": 2, "AP": 2},
}


@final
@dataclass(frozen=True, eq=False)
class ProblemResult:
    """The results on one problem: ``percent`` (rows, columns, splits), NaN where a method is not used for a measure.

    By method and measure, ``edges`` counts how often C was chosen at an end of the grid, and ``idle`` how often all
    weights stayed at zero. ``unsolved`` is the number of models that did not reach the gap, of ``fits`` models.
    """

    problem: Problem
    percent: Floats
    edges: Counter[str]
    idle: Counter[str]
    unsolved: int
    fits: int


def run(settings: Settings, advance: Advance) -> Outcome:
    """Measure 10 random splits of four real problems.

    The quick version measures 3 splits of scikit-learn's digits, with a small grid.
    """
    problems = [digits()] if settings.quick else _problems(settings)
    found = [_measure(problem, settings, advance) for problem in problems]
    words = [
        "The paper's data are others, so only the pattern can be compared: there, as here, one row is trained for the "
        "measure of its column and one is an ordinary SVM.",
        *(_about(m.problem) for m in found),
        *(sentence for m in found for sentence in _verdicts(m)),
        *_cautions(found),
    ]
    return Outcome((_table(found),), tuple(words))


def _measure(problem: Problem, settings: Settings, advance: Advance) -> ProblemResult:
    """Measure every method on the same splits; C is chosen on the training part by the measure of the column."""
    splits, grid = (3, QUICK_GRID) if settings.quick else (SPLITS, GRID)
    drawn = StratifiedShuffleSplit(splits, test_size=TEST_SHARE, random_state=settings.seed)
    percent = np.full((len(ROWS), len(COLUMNS), splits), np.nan)
    edges: Counter[str] = Counter()
    idle: Counter[str] = Counter()
    unsolved = fits = 0
    for k, (rows, held_out) in enumerate(drawn.split(problem.y, problem.y)):
        train, test = problem.take(rows), problem.take(held_out)
        # Inner folds are scaled on their own training rows, so that nothing held out leaks in.
        inner = [_scaled(train.take(a), train.take(b)) for a, b in folds_of(train, 3, settings.seed + k)]
        whole, unseen = _scaled(train, test)
        for row, method, names in FITS:
            # Measures may choose different constants; each constant is trained once.
            chosen = _choose(method, names, inner, grid)
            models = {c: method.train(whole, MEASURES[names[0]], c, TOL) for c in set(chosen)}
            for name, c in zip(names, chosen, strict=True):
                loss = mean_loss_of(unseen, MEASURES[name], models[c].margins(unseen))
                # The paper gives percent of a gain, so higher is better.
                percent[row, COLUMNS.index(name), k] = 100 * (1 - loss)
                # A choice at an end of the grid suggests that a wider grid might do better.
                edges[f"{ROWS[row]} ({name})"] += c in (grid[0], grid[-1])
                idle[f"{ROWS[row]} ({name})"] += np.allclose(models[c].coef, 0.0, atol=1e-9)
            unsolved += sum(_unsolved(models[c]) for c in chosen)
            fits += len(chosen)
            advance(f"{problem.name}: {method.name}, split {k + 1}")
    return ProblemResult(problem, percent, edges, idle, unsolved, fits)


def _choose(
    method: Method, names: Sequence[str], inner: Sequence[tuple[Problem, Problem]], grid: Sequence[float]
) -> list[float]:
    """For each measure the constant of the grid with the least mean loss over the inner folds."""
    losses = np.zeros((len(grid), len(names)))
    for i, c in enumerate(grid):
        for part, held_out in inner:
            scores = method.train(part, MEASURES[names[0]], c, TOL).margins(held_out)
            losses[i] += [mean_loss_of(held_out, MEASURES[name], scores) for name in names]
    # Equal losses may differ in their last digits; rounding lets the smallest constant win.
    return [grid[i] for i in np.argmin(np.round(losses, 12), axis=0)]


def _unsolved(trained: LinearDecisionRule) -> bool:
    """Whether a certified gap stayed above the one that was asked for, by more than rounding."""
    return trained.gap is not None and trained.gap > 1.05 * TOL


def _scaled(train: Problem, test: Problem) -> tuple[Problem, Problem]:
    """Both parts with standardized dense features, or with texts as they are (tf-idf of length 1), and a constant."""
    # Standardizing would make sparse features dense.
    first, second = (train, test) if issparse(train.X) else standardized(train, test)
    return _with_constant(first), _with_constant(second)


def _with_constant(problem: Problem, value: float = 10.0) -> Problem:
    """The problem with one more feature, which is constant."""
    column = np.full((len(problem.y), 1), value)
    X = hstack([problem.X, column], format="csr") if issparse(problem.X) else np.hstack([problem.X, column])
    return replace(problem, X=X)


def _table(found: Sequence[ProblemResult]) -> Table:
    """The table of all problems, in which the best of each problem and column is marked."""
    percent = np.concatenate([m.percent for m in found])
    means, splits = percent.mean(axis=2), percent.shape[2]
    blocks = [m.percent.mean(axis=2) for m in found]
    title = f"Percent at test, mean ± standard error over {splits} random splits (higher is better)"
    return Table(
        title,
        tuple(f"{m.problem.name}: {row}" for m in found for row in ROWS),
        COLUMNS,
        means,
        percent.std(axis=2, ddof=1) / np.sqrt(splits),
        # The best row is marked inside each problem, not over all of them.
        best=np.concatenate([block == np.nanmax(block, axis=0) for block in blocks]),
        digits=1,
    )


def _widening(splits: int) -> float:
    """The factor by which splits that share rows widen an interval, after Nadeau and Bengio (2003)."""
    return float(np.sqrt(1 + splits * TEST_SHARE / (1 - TEST_SHARE)))


def _verdicts(m: ProblemResult) -> list[str]:
    """One sentence for each rival: where training for the measure wins, makes no clear difference, or loses."""
    sentences = []
    for rival, rows in RIVALS.items():
        groups: dict[str, list[str]] = {"wins": [], "makes no clear difference": [], "loses": []}
        for j, name in enumerate(COLUMNS):
            pair = PairedMean.of(m.percent[0, j], m.percent[rows[name], j])
            kind = "makes no clear difference" if not pair.clear else "wins" if pair.difference > 0 else "loses"
            # The interval of Student's t takes splits for independent; widened, it allows for the rows that they share.
            firm = pair.clear and abs(pair.difference) > pair.width * _widening(m.percent.shape[2])
            groups[kind].append(f"{name} ({pair.difference:+.1f} ± {pair.width:.1f}{', firmly' if firm else ''})")
        parts = [f"{kind} in {', '.join(cells)}" for kind, cells in groups.items() if cells]
        sentences.append(f"{m.problem.name}, beside {rival}: training for the measure {'; it '.join(parts)}.")
    return sentences


def _cautions(found: Sequence[ProblemResult]) -> list[str]:
    """Sentences on what limits the results: dependent splits, ends of grids, open gaps."""
    splits = found[0].percent.shape[2]
    sentences = [
        f"Behind each difference stands its 95 % interval over {splits} paired splits. Splits share rows, so these "
        f"intervals are too narrow; 'firmly' marks what stays clear when they are {_widening(splits):.1f} times as "
        "wide (Nadeau and Bengio 2003).",
        "Every way chose its C among the same number of candidates by the measure of the column, the ordinary SVM and "
        "logistic regression too: a gain is one of training, not of choosing.",
    ]
    sentences += [
        f"{m.problem.name}: {row} kept all weights at zero in {times} of {splits} splits. Margin rescaling costs no "
        "more than 1 there, and where features tell little no weights cost less."
        for m in found
        for row, times in m.idle.items()
        if times and row.startswith(OURS.name)
    ]
    edges = sum((m.edges for m in found), Counter())
    unsolved, fits = sum(m.unsolved for m in found), sum(m.fits for m in found)
    if edges:
        worst, times = edges.most_common(1)[0]
        sentences.append(
            f"C was chosen at an end of the grid in {edges.total()} of {fits} cases, most often by {worst}: {times} of "
            f"{splits * len(found)}; a wider grid might help there."
        )
    if unsolved:
        sentences.append(f"{unsolved} of {fits} models did not reach the certified gap of {TOL:g}.")
    return sentences


def _about(problem: Problem) -> str:
    """One line on the data of a problem."""
    share = problem.y.mean()
    return f"{problem.name}: {problem.about} {len(problem.y):,} rows, {share:.1%} of them positive."


def _problems(settings: Settings) -> list[Problem]:
    """The four real problems; ValueError if their files are missing."""
    source = "the examples of SVM^light and the Mulan collection"
    reuters, scene, yeast = need_data(settings, NAME, FILES, source, ("svmlight_reuters_acq", "multilabel"))
    return [_reuters(reuters), _rarest(scene), _rarest(yeast), digits()]


def _reuters(path: Any) -> Problem:
    """Texts on acquisitions against others; the training and test parts of the file are joined."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    parts = [
        csr_matrix(
            (arrays[f"{part}_data"].astype(np.float64), arrays[f"{part}_indices"], arrays[f"{part}_indptr"]),
            shape=(len(arrays[f"{part}_y"]), int(arrays["n_features"])),
        )
        for part in ("train", "test")
    ]
    # The labels of the file are -1 and 1.
    y = (np.concatenate([arrays["train_y"], arrays["test_y"]]) > 0).astype(np.int64)
    about = "texts of Reuters-21578 (the example of SVM^light): about acquisitions or not?"
    return Problem("acq", about, vstack(parts, format="csr"), y)


def _rarest(path: Any, least: int = 100) -> Problem:
    """The rarest label of a label matrix that occurs at least ``least`` times, against the rest."""
    data = load(path)
    counts = data.y.sum(axis=0)
    # Labels that are too rare count as the most frequent of all, so they are never chosen.
    j = int(np.argmin(np.where(counts >= least, counts, len(data.y) + 1)))
    about = f"the rarest label of {path.stem} that occurs {least} times or more."
    return replace(Problem(f"{path.stem} {data.classes[j]}", about, data.X, data.y[:, j]), classes=("rest", "label"))


def _steps(settings: Settings) -> int:
    """The number of calls of ``advance``: one for each fit of each split of each problem."""
    return len(FITS) * (3 if settings.quick else 4 * SPLITS)


EXPERIMENT = Experiment(NAME, "the table of Joachims (2005): F1, PRBEP, ROCArea, trained for or not", _steps, run)
