"""How often a floor with a confidence of 0.95 is broken on new rows, whichever threshold was picked on the sample.

``python benchmarks/floors.py [TRIALS] [--mapie]``, by default 2,000 trials, and half as many over sets; ``--mapie``
puts Learn-then-Test of MAPIE 1.6 beside, on 99 thresholds from .01 to .99 of the normal distribution function of the
scores: its fixed sequence, and for two floors, which that refuses, its default (Bonferroni and Holm). What holds is
known without new rows, from the law that scores and labels are drawn from. "Broken" counts trials in which the share at
the picked threshold is below the floor, "answered" those with a threshold, both of all trials; "recall" is the mean
recall at the threshold, 0 without one.

Rows: labels are 1 with probability SHARE, scores normal around SHIFT and 0. Laws: the label of the row at the share u
of the ranking is 1 with the probability that the law has there. Sets: 5 to 50 rows each; the scores of a set share a
normal effect, and so does its log odds of label 1, of the size given; in the last law 7 % of the sets get scores of
which all are low, whatever the label.
"""

import argparse
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy import special

from setwise.core import Sets
from setwise.decisions import Floor, UnmetFloor, constrained_threshold
from timing import table

LEVEL = 0.95

ROWS = [
    # rows, share of positives, shift, floors
    (1000, 0.2, 1.5, {"precision": 0.6}),
    (1000, 0.5, 0.2, {"precision": 0.6}),
    (1000, 0.3, 0.5, {"precision": 0.5}),
    (1000, 0.1, 0.5, {"precision": 0.3}),
    (5000, 0.1, 0.5, {"precision": 0.3}),
    (5000, 0.5, 0.2, {"precision": 0.6}),
    (400, 0.3, 0.3, {"precision": 0.4}),
    (1000, 0.5, 0.0, {"precision": 0.6}),
    (1000, 0.2, 1.5, {"recall": 0.9}),
    (400, 0.3, 0.3, {"recall": 0.9}),
    (400, 0.3, 0.3, {"specificity": 0.9}),
    (5000, 0.1, 1.5, {"specificity": 0.95}),
    (2000, 0.3, 1.5, {"precision": 0.5, "recall": 0.5}),
    (400, 0.3, 1.0, {"recall": 0.8, "specificity": 0.4}),
    (5000, 0.1, 1.5, {"precision": 0.3, "unflagged": 0.9}),
    (1000, 0.5, 0.0, {"precision": 0.45, "recall": 0.5}),
]
"""The first eight are those of precision; then recall, specificity, and two floors at once."""


def zigzag(floor, down):
    """Precision that touches the floor at six ranks, from below or from above."""
    ends = np.array([0.01, 0.03, 0.06, 0.12, 0.25, 0.5])
    halves = np.sort(np.concatenate([ends, (np.append(0.0, ends[:-1]) + ends) / 2]))
    signs = np.tile([-1.0, 1.0] if down else [1.0, -1.0], 6)
    return [*zip(halves, floor + 0.2 * signs, strict=True), (1.0, floor - 0.2)]


LAWS = {
    # name: rows, floor, [(share of the ranking up to which, probability of label 1), ..]
    "just below the floor everywhere": (1000, 0.6, [(1.0, 0.6 - 1e-6)]),
    "just below the floor, more rows": (5000, 0.3, [(1.0, 0.3 - 1e-6)]),
    "touches the floor from below": (1000, 0.6, zigzag(0.6 - 1e-6, down=True)),
    "touches the floor from above": (1000, 0.6, zigzag(0.6 + 1e-6, down=False)),
    "top bad, middle good": (1000, 0.6, [(0.02, 0.3), (0.3, 0.9), (1.0, 0.1)]),
    "just below the floor, then low": (1000, 0.6, [(0.2, 0.6 - 1e-6), (1.0, 0.3)]),
    "good, then just below the floor": (1000, 0.6, [(0.1, 0.9), (0.2, 0.3 - 1e-5), (1.0, 0.6 - 1e-6)]),
}

SETS = [(count, effect) for count in (20, 50, 200) for effect in (0.0, 0.5, 1.0, "bad")]
SET_FLOORS = [{"recall": 0.9}, {"recall": 0.8}, {"precision": 0.6}]
BAD, SET_SHARE, SET_SHIFT = 0.07, 0.4, 2.0
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


def threshold(y, scores, floors):
    """The threshold of least loss under floors, or the sentence of the refusal."""
    loss = "hamming" if "recall" in floors else "f1"
    try:
        return constrained_threshold(y, scores, loss, [Floor(m, least, LEVEL) for m, least in floors.items()]).threshold
    except UnmetFloor as unmet:
        return str(unmet)


def rows_shares(t, share, shift):
    """Recall, precision, specificity and the unflagged at a threshold, for all rows that could be drawn."""
    recall, rate = special.ndtr(shift - t), special.ndtr(-t)
    called = share * recall + (1 - share) * rate
    precision = share * recall / called if called > 0 else 1.0
    return {"recall": recall, "precision": precision, "specificity": 1 - rate, "unflagged": 1 - called}


def law_shares(t, law):
    """Recall and precision of the rows whose share of the ranking is below ``-t``."""
    u = min(max(-t, 0.0), 1.0)
    ends = np.array([end for end, _ in law])
    p = np.array([p for _, p in law])
    starts = np.append(0.0, ends[:-1])
    whole, found = p @ (ends - starts), p @ np.clip(u - starts, 0.0, ends - starts)
    return {"recall": found / whole, "precision": found / u if u > 0 else 1.0}


def set_shares(t, effect):
    """Recall and precision over all rows of all sets that could be drawn."""
    size, bad = (0.5, BAD) if effect == "bad" else (effect, 0.0)
    weights = WEIGHTS / WEIGHTS.sum()
    share = weights @ special.expit(np.log(SET_SHARE / (1 - SET_SHARE)) + size * NODES)
    wide = np.sqrt(1 + size**2)
    recall = (1 - bad) * special.ndtr((SET_SHIFT - t) / wide) + bad * special.ndtr((-2 * SET_SHIFT - t) / wide)
    rate = (1 - bad) * special.ndtr(-t / wide) + bad * special.ndtr((-2 * SET_SHIFT - t) / wide)
    called = share * recall + (1 - share) * rate
    return {"recall": recall, "precision": share * recall / called if called > 0 else 1.0}


def drawn_sets(rng, count, effect):
    """Labels in sets, and their scores."""
    size = 0.5 if effect == "bad" else effect
    sizes = rng.integers(5, 51, count)
    log_odds = np.log(SET_SHARE / (1 - SET_SHARE)) + size * rng.standard_normal(count)
    y = rng.random(sizes.sum()) < np.repeat(special.expit(log_odds), sizes)
    scores = rng.standard_normal(len(y)) + SET_SHIFT * y + np.repeat(size * rng.standard_normal(count), sizes)
    if effect == "bad":
        missed = np.repeat(rng.random(count) < BAD, sizes)
        scores[missed] -= 2 * SET_SHIFT + SET_SHIFT * y[missed]
    return Sets(y, np.append(0, np.cumsum(sizes))), scores


def outcome(t, shares, floors):
    """Answered, broken, and the recall of one trial."""
    if isinstance(t, str):
        return 0, 0, 0.0
    at = shares(t)
    return 1, int(any(at[m] < least - 1e-12 for m, least in floors.items())), at["recall"]


def of_rows(seed, rows, share, shift, floors, mapie):
    """One trial of independent rows, of setwise and of MAPIE."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < share
    scores = rng.standard_normal(rows) + shift * y

    def shares(t):
        return rows_shares(t, share, shift)

    found = [outcome(threshold(y, scores, floors), shares, floors)]
    if mapie:
        found.append(outcome(of_mapie(y, special.ndtr(scores), floors), lambda t: shares(special.ndtri(t)), floors))
    return found


def of_law(seed, rows, floor, law):
    """One trial of a law."""
    rng = np.random.default_rng(seed)
    place = rng.random(rows)
    y = rng.random(rows) < np.array([p for _, p in law])[np.searchsorted([end for end, _ in law], place)]
    floors = {"precision": floor}
    return [outcome(threshold(y, -place, floors), lambda t: law_shares(t, law), floors)]


def of_sets(seed, count, effect, floors):
    """One trial of sets; where it refuses with a number of sets, whether that number is answered in a new sample."""
    rng = np.random.default_rng(seed)
    t = threshold(*drawn_sets(rng, count, effect), floors)
    found = [outcome(t, lambda t: set_shares(t, effect), floors)]
    needed = needed_sets(t) if isinstance(t, str) else None
    again = None if needed is None else not isinstance(threshold(*drawn_sets(rng, needed, effect), floors), str)
    return [*found, (int(needed is not None), int(bool(again)), needed or 0)]


def needed_sets(sentence):
    """The number of sets that a refusal asks for."""
    words = sentence.replace(",", "").split()
    at = [i for i, word in enumerate(words) if word == "about"]
    return int(words[at[0] + 1]) if at else None


def of_mapie(y, scores, floors):
    """The threshold of MAPIE 1.6: Learn-then-Test with a fixed sequence of 99 thresholds."""
    from mapie.risk_control import BinaryClassificationController

    risks = {"specificity": "fpr", "unflagged": "predicted_positive_fraction"}
    wanted = [1 - least if m in risks else least for m, least in floors.items()]
    names = [risks.get(m, m) for m in floors]
    control = BinaryClassificationController(
        lambda X: np.column_stack([1 - X[:, 0], X[:, 0]]),
        names if len(names) > 1 else names[0],
        target_level=wanted if len(names) > 1 else wanted[0],
        confidence_level=LEVEL,
        best_predict_param_choice="precision" if "recall" in floors else "recall",
        list_predict_params=np.round(np.linspace(0.01, 0.99, 99), 2),
        fwer_method="fixed_sequence" if len(names) == 1 else "bonferroni_holm",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        control.calibrate(scores[:, None], y.astype(int))
    return "none" if control.best_predict_param is None else float(np.ravel(control.best_predict_param)[0])


def words_of(floors):
    """Floors in a cell."""
    return ", ".join(f"{m} {least:g}" for m, least in floors.items())


def main(trials, mapie):
    """Print the three tables."""
    run = Parallel(n_jobs=2, batch_size=20)

    def means(job, count, *args):
        return np.array(run(delayed(job)(seed, *args) for seed in range(count))).mean(axis=0)

    header = ("broken", "answered", "recall")
    cells = [("rows", "positive", "shift", "floors", *header, *(f"MAPIE: {name}" for name in header if mapie))]
    for rows, share, shift, floors in ROWS:
        found = means(of_rows, trials, rows, share, shift, floors, mapie)
        cells.append((f"{rows:,}", f"{share}", f"{shift}", words_of(floors), *_figures(found)))
    table(cells)
    print()
    cells = [("precision along the ranking", "rows", "floor", *header)]
    for name, (rows, floor, law) in LAWS.items():
        cells.append((name, f"{rows:,}", f"{floor}", *_figures(means(of_law, trials, rows, floor, law))))
    table(cells)
    print()
    cells = [("sets", "effect", "floors", *header, "told how many sets", "then answered")]
    for floors in SET_FLOORS:
        for count, effect in SETS:
            found = means(of_sets, max(trials // 2, 1), count, effect, floors)
            told, again, _ = found[1]
            then = f"{again / told:.2f}" if told else "-"
            cells.append((f"{count}", f"{effect}", words_of(floors), *_figures(found[:1]), f"{told:.3f}", then))
    table(cells)


def _figures(found):
    return [f"{value:.3f}" for answered, broken, recall in found for value in (broken, answered, recall)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("trials", nargs="?", type=int, default=2000)
    parser.add_argument("--mapie", action="store_true")
    main(**vars(parser.parse_args()))
