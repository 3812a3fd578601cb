"""Boosting for a loss of sets beside boosting for the log-loss: the mean Jaccard loss over sets of new rows.

``python benchmarks/boosting.py DATA [TABLE ...] [--seeds N]``, where DATA holds the folders of the tables, and
``python benchmarks/boosting.py --quick`` for generated sets, one seed and few rounds. LightGBM and XGBoost, whichever
is installed, each on one thread. The protocol was fixed before the first result on data other than generated sets; the
second derivatives and the scale of the ramp were chosen before on generated sets of the first table's kind, with other
seeds.

*Tables.* Those of ``benchmarks/grouped_tables.py``, where their features are described. Half of the sets train, a
quarter chooses, and a quarter tests, in ten random splits (seeds 0 to 9); of tables with one set, rows are split so.

*Measure.* The mean Jaccard loss over the sets of the test part, in percent. A set without positives has the loss 0 if
none is predicted, else 1. Standard errors are over splits, which share data, so they are rather too small than too
large.

*Trainings.* Each is a sequence of models: rounds 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 60, 80, 100, 125 and 150, for trees
of 7 and of 31 leaves (XGBoost: of depth 3 and 5); all else is as the boosters have it.

- log-loss: from the log-odds of the training share; learning rate .1;
- Lovász hinge: of Jaccard, from scores of 0; learning rate .1;
- Lovász hinge after, and ramp after: from the scores of the chosen log-loss model minus its chosen threshold; learning
  rate .03, and no round at all is a model of the sequence too.

*Rows of the table.* All choices, of leaves, rounds and thresholds, are those with the least measure on the choosing
part; of equal ones the first. A chosen threshold is ``best_threshold`` of that part.

- log-loss, .5: log-loss, cut at the probability one half;
- log-loss, threshold: log-loss, cut at the chosen threshold. The other rows are compared with this one, split by split;
- Lovász: Lovász hinge, cut at 0;
- Lovász, threshold: Lovász hinge, cut at the chosen threshold;
- Lovász after, ramp after: cut at 0.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import clone  # noqa: F401
from grouped_tables import TABLES, Rows, generated, split
from papers.lovasz_paper import mean_and_error
from setwise.boosting import objective
from setwise.core.batch import Sets
from setwise.decisions import best_threshold
from setwise.losses import Jaccard
from timing import table

ROUNDS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 60, 80, 100, 125, 150)
METHODS = ("log-loss, .5", "log-loss, threshold", "Lovász", "Lovász, threshold", "Lovász after", "ramp after")
REFERENCE = 1

Scores = list[np.ndarray]
"""The scores of the rows to train, to choose and to test."""


@dataclass(frozen=True)
class Setting:
    """What a booster trains for: None is the log-loss; the scores of its start; and the learning rate."""

    own: Callable | None
    start: Scores
    rate: float


def lightgbm_steps(parts: list[Rows], training: Setting, size: int, rounds: tuple[int, ...]) -> Iterator[Scores]:
    """The scores of LightGBM with trees of 7 or 31 leaves after each number of rounds."""
    import lightgbm

    shape = {"num_leaves": (7, 31)[size], "learning_rate": training.rate, "num_threads": 1, "verbose": -1}
    data = lightgbm.Dataset(parts[0].X, parts[0].y.astype(float), init_score=training.start[0])
    params = shape | {"objective": training.own or "binary", "boost_from_average": False}
    model = lightgbm.train(params, data, rounds[-1])
    scores, last = list(training.start), 0
    for number in rounds:
        for k, part in enumerate(parts):
            more = model.predict(part.X, start_iteration=last, num_iteration=number - last, raw_score=True)
            scores[k] = scores[k] + more
        last = number
        yield list(scores)


def xgboost_steps(parts: list[Rows], training: Setting, size: int, rounds: tuple[int, ...]) -> Iterator[Scores]:
    """The scores of XGBoost with trees of depth 3 or 5 after each number of rounds."""
    import xgboost

    shape = {"max_depth": (3, 5)[size], "learning_rate": training.rate, "nthread": 1, "verbosity": 0}
    data = xgboost.DMatrix(parts[0].X, parts[0].y.astype(float), base_margin=training.start[0], nthread=1)
    params = shape | ({} if training.own else {"objective": "binary:logistic"})
    model = xgboost.train(params, data, rounds[-1], obj=training.own)
    plain = [xgboost.DMatrix(part.X, base_margin=np.zeros(len(part.y)), nthread=1) for part in parts]
    scores, last = list(training.start), 0
    for number in rounds:
        for k, one in enumerate(plain):
            scores[k] = scores[k] + model.predict(one, output_margin=True, iteration_range=(last, number))
        last = number
        yield list(scores)


BOOSTERS = {"lightgbm": lightgbm_steps, "xgboost": xgboost_steps}


def measure(part: Rows, scores: np.ndarray, threshold: float = 0.0) -> float:
    """The mean Jaccard loss over the sets of a part."""
    return float(Jaccard().values(Sets(part.y, part.offsets), scores > threshold).mean())


def chosen(parts: list[Rows], models: list[Scores], tuned: bool) -> tuple[Scores, float]:
    """The scores of the model of least measure on the choosing part, and its threshold, which is 0 unless tuned."""
    sets, found = Sets(parts[1].y, parts[1].offsets), []
    for scores in models:
        cut = best_threshold(sets, scores[1], "jaccard").threshold if tuned else 0.0
        found.append((measure(parts[1], scores[1], cut), scores, cut))
    _, scores, cut = min(found, key=lambda one: one[0])
    return scores, cut


def one_split(parts: list[Rows], booster: str, rounds: tuple[int, ...] = ROUNDS) -> list[float]:
    """The test measure of each method."""
    steps = BOOSTERS[booster]

    def models(own: Callable | None, start: Scores, rate: float) -> list[Scores]:
        return [s for size in (0, 1) for s in steps(parts, Setting(own, start, rate), size, rounds)]

    def level(value: float) -> Scores:
        return [np.full(len(part.y), value) for part in parts]

    share = parts[0].y.mean()
    log_loss = models(None, level(np.log(share / (1 - share))), 0.1)
    lovasz = models(objective("jaccard", parts[0].ids), level(0.0), 0.1)
    picks = [chosen(parts, some, tuned) for some in (log_loss, lovasz) for tuned in (False, True)]
    scores, cut = picks[REFERENCE]
    start = [part - cut for part in scores]
    for surrogate in ("lovasz", "ramp"):
        after = models(objective("jaccard", parts[0].ids, surrogate), start, 0.03)
        picks.append(chosen(parts, [start, *after], False))
    return [measure(parts[2], scores[2], cut) for scores, cut in picks]


def shown(values: np.ndarray, form: str) -> str:
    """The mean, and the standard error if there are several values."""
    if len(values) == 1:
        return f"{values[0]:{form}}"
    mean, error = mean_and_error(values)
    return f"{mean:{form}} ± {error:.2f}"


def rows_of(name: str, booster: str, losses: np.ndarray) -> list[tuple[str, ...]]:
    """The lines of one table and booster, from losses (methods, splits)."""
    lines = []
    for method, own in zip(METHODS, 100 * losses, strict=True):
        gain = own - 100 * losses[REFERENCE]
        beside = "" if method == METHODS[REFERENCE] else shown(gain, "+.2f")
        lines.append((name, booster, method, shown(own, ".2f"), beside))
    return lines


def main(data: Path | None, names: list[str], seeds: int) -> None:
    """One line for each table, booster and method; lower is better, and so are negative differences."""
    installed = [name for name in BOOSTERS if importlib.util.find_spec(name) is not None]
    if not installed:
        raise SystemExit("install lightgbm or xgboost, or both, to compare with.")
    quick = data is None
    lines = [("table", "booster", "method", "Jaccard loss, %", "minus log-loss, threshold")]
    for name in names:
        make = (lambda data, seed: generated(seed, 60)) if quick else TABLES[name]
        parts = [split(make(data, seed), seed) for seed in range(seeds)]
        for booster in installed:
            rounds = ROUNDS[:6] if quick else ROUNDS
            lines += rows_of(name, booster, np.array([one_split(p, booster, rounds) for p in parts]).T)
            print(f"{name}, {booster}", file=sys.stderr, flush=True)
    table(lines)


if __name__ == "__main__":
    words = sys.argv[1:]
    count = int(words.pop(words.index("--seeds") + 1)) if "--seeds" in words else 10
    given = [word for word in words if not word.startswith("--")]
    if "--quick" in words:
        main(None, ["generated"], 1)
    elif given:
        main(Path(given[0]), given[1:] or list(TABLES), count)
    else:
        raise SystemExit(__doc__)
