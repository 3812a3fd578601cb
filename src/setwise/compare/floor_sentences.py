"""Sentences of an answer under floors of recall and precision."""

import numpy as np
from scipy.stats import beta

from setwise.compare.answer import Answer, FloorReport
from setwise.compare.plan import PLAIN
from setwise.compare.text import figure, listed
from setwise.estimators.selection.floors import FlooredThreshold, FloorShares

LEVEL = 0.95
"""The level of the intervals of recall and precision, and the confidence that is proposed."""

THOUSAND = 1000
"""What to expect is said for so many new rows."""


def expected(found: Answer, held: FloorReport) -> list[str]:
    """The recall and precision to expect on new rows with their intervals, and how many rows are called positive."""
    reached, floor = held.all_rows[found.winner.key], held.floor
    # Rows of a group are not independent, so their intervals are not known.
    shares = shares_text(floor, reached)
    if found.problem.groups is None:
        shares = listed([_with_interval(name, reached, floor) for name in _names(floor)])
    called, positive = (round(THOUSAND * count / reached.rows) for count in (reached.called, reached.positives))
    hits = min(round(THOUSAND * reached.found / reached.rows), called, positive)
    return [
        f"In the long run new rows of the same kind should have {shares}.",
        f"Of {THOUSAND:,} rows about {called} are called positive: {hits} of the {positive} positive ones are found, "
        f"and {called - hits} are false alarms.",
    ]


def _with_interval(name: str, reached: FloorShares, floor: FlooredThreshold) -> str:
    """A share with its exact interval; with its sure lower bound where a floor is to hold with confidence."""
    asked = floor.recall if name == "recall" else floor.precision
    if asked is not None and floor.confidence is not None:
        # The bound of Clopper and Pearson is no bound of the precision at a threshold that was picked.
        least = asked if name == "precision" else lower(*reached.of(name), floor.confidence)
        return f"{_share(name, reached)} (at least {figure(least)} with confidence {floor.confidence:g})"
    low, high = interval(*reached.of(name))
    return f"{_share(name, reached)} ({100 * LEVEL:.0f} % interval {figure(low)} to {figure(high)})"


def interval(right: int, whole: int) -> tuple[float, float]:
    """The interval of Clopper and Pearson (1934) of a share of independent rows."""
    tail = 0.5 + 0.5 * LEVEL
    return lower(right, whole, tail), 1.0 - lower(whole - right, whole, tail)


def lower(right: int, whole: int, confidence: float) -> float:
    """The lower end of the one-sided interval of Clopper and Pearson."""
    return float(beta.ppf(1.0 - confidence, right, whole - right + 1)) if right else 0.0


def floor_gain(found: Answer, held: FloorReport) -> list[str]:
    """Whether the floor is kept on all rows and on the outer test parts, and what the usual 0.5 would reach."""
    floor, key = held.floor, found.winner.key
    whole, folds = held.all_rows[key], [reached[key] for reached in held.folds if key in reached]
    sentences = [f"The threshold keeps {floor.words} out of fold on all rows."]
    if folds:
        means = {name: float(np.mean([getattr(one, name) for one in folds])) for name in _names(floor)}
        shares = listed([f"{name} {figure(mean)}" for name, mean in means.items()])
        kept = f"{sum(one.kept for one in folds)} of {len(folds)}"
        sentences.append(f"On the test parts of the folds it has {shares} on average, and {kept} keep the floor.")
    fails = max(chance_of_less(one.least, *whole.of(one.measure)) for one in floor.floors)
    if floor.confidence is None and fails > 1.0 - LEVEL:
        sentences.append(
            f"On new rows such a floor fails in about {100 * fails:.0f} % of the cases; --confidence {LEVEL:g} chooses "
            f"a threshold that holds in {100 * LEVEL:.0f} % of them."
        )
    usual = held.all_rows.get(PLAIN)
    if usual is not None:
        verdict = "keeps the floor too" if usual.kept else "breaks the floor"
        shares = shares_text(floor, usual)
        sentences.append(f"Logistic regression at the usual 0.5 {verdict}: out of fold on all rows it has {shares}.")
    return sentences


def chance_of_less(least: float, right: int, whole: int) -> float:
    """The probability that a threshold with so many right rows has a share below ``least`` on new rows.

    The true share above the k-th of n independent scores has the distribution Beta(k, n - k + 1).
    """
    return float(beta.cdf(least, right, whole - right + 1)) if right else 1.0


def _names(floor: FlooredThreshold) -> tuple[str, ...]:
    """The shares to show: those with a floor first, and the other one."""
    return tuple(dict.fromkeys([*(one.measure for one in floor.floors), "recall", "precision"]))


def _share(name: str, reached: FloorShares) -> str:
    return f"{name} {figure(getattr(reached, name))}"


def shares_text(floor: FlooredThreshold, reached: FloorShares) -> str:
    """Recall and precision in words, that with a floor first."""
    return listed([_share(name, reached) for name in _names(floor)])
