"""Is the choice of MeasureClassifier ever worse than tuned thresholds where each row has several labels?

The protocol is in ``measure_protocol``, which was fixed before the first result. Every cell is printed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import KFold, ShuffleSplit

from papers.experiment import Advance, Experiment, Outcome, Settings, need_data
from papers.experiment import Table as ResultTable
from papers.measure_protocol import (
    FOLDS,
    GRID,
    LABEL_BASES,
    LABEL_MEASURES,
    LABEL_REFERENCES,
    LABEL_SETS,
    LABEL_SPLITS,
    LEVEL,
    SEED,
    TEST_SHARE,
)
from papers.measure_reference import dense, holm, linear, over_splits, p_below
from setwise.compare.answer import PairedDifference
from setwise.compare.problem import digit_traits
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Values
from setwise.core.loss import Loss
from setwise.decisions import best_threshold, label_thresholds
from setwise.estimators.selection import STRATEGIES, as_strategies
from setwise.estimators.selection.choice import choose
from setwise.estimators.selection.out_of_fold import OutOfFoldBase
from setwise.estimators.selection.problem import problem_of
from setwise.losses import as_loss

NAME = "measure_labels"

TREES, QUICK_TREES, QUICK_ROWS = 100, 4, 100
"""The number of trees of a forest, and in the quick version also of rows of each table."""


@final
@dataclass(frozen=True, eq=False)
class Matrix:
    """A table of numbers (n, d) and a label matrix (n, p)."""

    name: str
    X: NDArray[np.float64]
    Y: Bools


@final
@dataclass(frozen=True, eq=False)
class LabelSplit:
    """The losses on one test part, (bases, measures): ours, and (bases, measures, references) of the references."""

    ours: Values
    references: Values
    strategies: list[str]


def run(settings: Settings, advance: Advance) -> Outcome:
    """Five splits of five label matrices; the quick version has two splits of 2 and of 3 traits of some digits."""
    tables = list(_matrices(settings))
    splits = 2 if settings.quick else LABEL_SPLITS
    trees = QUICK_TREES if settings.quick else TREES
    results = over_splits(tables, splits, partial(one_split, trees=trees), advance)
    shape = (len(tables), splits, len(LABEL_BASES), len(LABEL_MEASURES))
    ours = np.array([r.ours for r in results]).reshape(shape)
    references = np.array([r.references for r in results]).reshape(*shape, len(LABEL_REFERENCES))
    strategies = [strategy for r in results for strategy in r.strategies]
    return _outcome(tuple(table.name for table in tables), ours, references, strategies)


def one_split(table: Matrix, k: int, splits: int, trees: int) -> LabelSplit:
    """Everything on split ``k`` of a label matrix."""
    train, test = list(ShuffleSplit(splits, test_size=TEST_SHARE, random_state=SEED).split(table.X))[k]
    part, held = Matrix(table.name, table.X[train], table.Y[train]), Matrix(table.name, table.X[test], table.Y[test])
    losses = [as_loss(name) for name in LABEL_MEASURES]
    folds = tuple(KFold(FOLDS, shuffle=True, random_state=k).split(part.X))
    ours, references, strategies = [], [], []
    for base in LABEL_BASES:
        models = [linear(c) for c in GRID] if base == "linear" else [RandomForestClassifier(trees, random_state=k)]
        held_out = [_problem(part, losses[0]).out_of_fold(model, folds) for model in models]
        for loss in losses:
            first, rivals = _references(part, held, held_out, loss)
            choice = choose(
                {"": first},
                _problem(part, loss).task,
                as_strategies("auto"),
                reference=STRATEGIES["threshold"](),
                seed=k,
            )
            ours.append(_mean(loss, held.Y, choice.rule.labels(first.fresh(held.X))))
            references.append(rivals)
            strategies.append(choice.chosen.strategy)
    shape = (len(LABEL_BASES), len(losses))
    return LabelSplit(np.array(ours).reshape(shape), np.array(references).reshape(*shape, -1), strategies)


def _references(
    part: Matrix, held: Matrix, models: Sequence[OutOfFoldBase], loss: Loss
) -> tuple[OutOfFoldBase, tuple[float, float]]:
    """The model that is best with one threshold, and the losses at test with one and with a threshold for each label.

    Each reference chooses its own C by its out-of-fold loss.
    """
    scores = [model.response().scores for model in models]
    one = [best_threshold(Sets.rows(part.Y), s.ravel(), loss) for s in scores]
    each = [label_thresholds(part.Y, s, loss, average="macro", shrinkage=0.0).thresholds for s in scores]
    by_one = int(np.argmin(np.round([t.loss for t in one], 12)))
    by_each = int(np.argmin(np.round([_mean(loss, part.Y, s >= t) for s, t in zip(scores, each, strict=True)], 12)))
    with_one = models[by_one].fresh(held.X).response().scores >= one[by_one].threshold
    with_each = models[by_each].fresh(held.X).response().scores >= each[by_each]
    return models[by_one], (_mean(loss, held.Y, with_one), _mean(loss, held.Y, with_each))


def _problem(part: Matrix, loss: Loss) -> Any:
    return problem_of(part.X, part.Y.astype(np.int64), loss)


def _mean(loss: Loss, Y: Bools, labels: Bools) -> float:
    """The mean loss over rows."""
    return float(loss.values(Sets.rows(Y), np.ascontiguousarray(labels).ravel()).mean())


def _matrices(settings: Settings) -> Iterator[Matrix]:
    """The label matrices of the protocol, or the traits of scikit-learn's digits."""
    if settings.quick:
        for count in (2, 3):
            problem = digit_traits(count)
            X, Y = problem.X[:QUICK_ROWS], problem.y[:QUICK_ROWS] == 1
            yield Matrix(f"{count} {problem.name}", np.asarray(X, dtype=np.float64), Y)
        return
    for path in need_data(settings, NAME, [f"{name}.npz" for name in LABEL_SETS]):
        with np.load(path, allow_pickle=False) as file:
            yield Matrix(path.stem, dense(file), file["Y"] == 1)


def _outcome(names: Sequence[str], ours: Values, references: Values, strategies: Sequence[str]) -> Outcome:
    """The losses, the mean paired gains over each reference, and sentences on what the protocol asks."""
    gains = references - ours[..., None]
    ratio = TEST_SHARE / (1.0 - TEST_SHARE)
    shape = (len(names), len(LABEL_BASES), len(LABEL_MEASURES), len(LABEL_REFERENCES))
    cells = {at: PairedDifference.of(gains[(at[0], slice(None), *at[1:])], ratio) for at in np.ndindex(shape)}
    means, errors = (np.array([getattr(c, a) for c in cells.values()]).reshape(shape) for a in ("mean", "error"))
    tables, words = [], []
    for b, base in enumerate(LABEL_BASES):
        columns = tuple(f"{m}: {who}" for m in LABEL_MEASURES for who in (*LABEL_REFERENCES, "choice"))
        levels = np.concatenate([references.mean(axis=1)[:, b], ours.mean(axis=1)[:, b, :, None]], axis=2)
        flat = levels.reshape(len(names), -1)
        nothing = np.zeros(flat.shape, dtype=bool)
        tables.append(ResultTable(f"Mean loss over {base}", tuple(names), columns, flat, best=nothing, digits=3))
        columns = tuple(f"{m} over {r}" for m in LABEL_MEASURES for r in LABEL_REFERENCES)
        mean, error = means[:, b].mean(axis=0), means[:, b].std(axis=0, ddof=1) / np.sqrt(len(names))
        shown = np.vstack([means[:, b].reshape(len(names), -1), mean.reshape(1, -1)])
        spread = np.vstack([errors[:, b].reshape(len(names), -1), error.reshape(1, -1)])
        title = f"Mean gain over {base} ± standard error (Nadeau and Bengio)"
        nothing = np.zeros(shown.shape, dtype=bool)
        tables.append(ResultTable(title, (*names, "mean"), columns, shown, spread, best=nothing, digits=3))
        for j, k in np.ndindex(shape[2:]):
            fine = "not below 0 by more" if mean[j, k] >= -error[j, k] else "below 0 by more"
            above = ", above 0 by more" if mean[j, k] > error[j, k] else ""
            words.append(
                f"Over {base}, {LABEL_MEASURES[j]} against {LABEL_REFERENCES[k]}: mean {mean[j, k]:+.4f}, "
                f"error {error[j, k]:.4f}; {fine}{above}."
            )
    adjusted = holm(list(map(p_below, cells.values())))
    low = [_cell(names, at) for at, p in zip(cells, adjusted, strict=True) if p <= LEVEL]
    words.append(f"Cells below 0 after Holm's correction of {len(cells)}: {', '.join(low) or 'none'}.")
    worst = min(cells, key=lambda at: cells[at].mean)
    words.append(f"The worst cell is {_cell(names, worst)}: {cells[worst].mean:+.4f} ± {cells[worst].error:.4f}.")
    counts = ", ".join(f"{name} {list(strategies).count(name)}" for name in sorted(set(strategies)))
    words.append(f"Strategies that were chosen: {counts}.")
    return Outcome(tuple(tables), tuple(words))


def _cell(names: Sequence[str], at: Sequence[int]) -> str:
    i, b, j, k = at
    return f"{names[i]}/{LABEL_BASES[b]}/{LABEL_MEASURES[j]} against {LABEL_REFERENCES[k]}"


def _steps(settings: Settings) -> int:
    return 2 * 2 if settings.quick else len(LABEL_SETS) * LABEL_SPLITS


EXPERIMENT = Experiment(
    NAME, "a choice of training, tuning and deciding against tuned thresholds, on label matrices", _steps, run
)
