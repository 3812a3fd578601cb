"""Sentences of an answer under floors of recall and precision, and a limit of alarms."""

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
    # Of few alarms none may be left among 1,000 rows.
    whole = THOUSAND if floor.alarms is None else reached.rows
    called, positive = (round(whole * count / reached.rows) for count in (reached.called, reached.positives))
    hits = min(round(whole * reached.found / reached.rows), called, positive)
    counts = f"{hits:,} of the {positive:,} positive ones, and {called - hits:,} false alarms"
    return [f"Expect {shares}.", f"Of {whole:,} rows {called:,} are called positive: {counts}."]


def _with_interval(name: str, reached: FloorShares, floor: FlooredThreshold) -> str:
    """A share with its exact interval; with its sure bound where a floor is to hold with confidence."""
    asked = next((one.least for one in floor.floors if one.measure == name), None)
    if asked is not None and floor.confidence is not None:
        # The bound of Clopper and Pearson is no bound of the precision at a threshold that was picked.
        least = asked if name == "precision" else lower(*reached.of(name), floor.confidence)
        side = "at most" if name == "unflagged" else "at least"
        return f"{_share(name, reached)} ({side} {_shown(name, least)} with confidence {floor.confidence:g})"
    low, high = interval(*reached.of(name))[:: -1 if name == "unflagged" else 1]
    return f"{_share(name, reached)} ({100 * LEVEL:.0f} % interval {_shown(name, low)} to {_shown(name, high)})"


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
    folds = [reached[key] for reached in held.folds if key in reached]
    rule = "rule" if found.winner.threshold is None else "threshold"
    sentences = [f"The {rule} keeps {floor.words} out of fold on all rows."]
    if folds:
        shares = shares_text(floor, *folds)
        kept = f"{sum(one.kept for one in folds)} of {len(folds)} keep the {floor.kind}"
        sentences.append(f"On the test parts of the folds it has {shares} on average, and {kept}.")
    usual = held.all_rows.get(PLAIN)
    if usual is not None:
        verdict = f"keeps the {floor.kind} too" if usual.kept else f"breaks the {floor.kind}"
        shares = shares_text(floor, usual)
        sentences.append(f"Logistic regression at the usual 0.5 {verdict}: out of fold on all rows it has {shares}.")
    return sentences


def floor_warnings(found: Answer, held: FloorReport) -> list[str]:
    """That a floor without a confidence may fail on new rows."""
    floor, whole = held.floor, held.all_rows[found.winner.key]
    fails = max(chance_of_less(one.least, *whole.of(one.measure)) for one in floor.floors)
    if floor.confidence is not None or fails <= 1.0 - LEVEL:
        return []
    return [f"On new rows this {floor.kind} fails in about {100 * fails:.0f} % of the cases; see --confidence"]


POINTS = 0.1
"""The price of so much more recall is said."""


def price(found: Answer, held: FloorReport) -> list[str]:
    """How many alarms are right, and how many more the next ten points of recall would cost."""
    reached, curve = held.all_rows[found.winner.key], found.curves[found.winner.key[0]].shares
    told = f"{100 * reached.precision:.0f} of 100 alarms are right"
    more = min(POINTS, 1.0 - reached.recall)
    if found.winner.threshold is None or not more:
        return [f"{told}."]
    # The highest threshold with so much recall has the fewest alarms.
    cost = curve[2, curve[0] >= reached.recall + more - 1e-9].min() - reached.called / reached.rows
    points = f"the next {100 * more:.0f} points of recall would cost {THOUSAND * cost:,.0f} more alarms per 1,000 rows"
    return [f"{told}; {points}."]


def chance_of_less(least: float, right: int, whole: int) -> float:
    """The probability that a threshold with so many right rows has a share below ``least`` on new rows.

    The true share above the k-th of n independent scores has the distribution Beta(k, n - k + 1).
    """
    return float(beta.cdf(least, right, whole - right + 1)) if right else float(least > 0.0)


def _names(floor: FlooredThreshold) -> tuple[str, ...]:
    """The shares to show: those that are asked for first, and recall and precision."""
    return tuple(dict.fromkeys([*(one.measure for one in floor.floors), "recall", "precision"]))


def _share(name: str, *reached: FloorShares) -> str:
    mean = float(np.mean([getattr(one, name) for one in reached]))
    return f"{'a share of alarms of' if name == 'unflagged' else name} {_shown(name, mean)}"


def _shown(name: str, value: float) -> str:
    """A share as text; of the unflagged rows the share of alarms, which may be small."""
    return f"{1.0 - value:.3g}" if name == "unflagged" else figure(value)


def shares_text(floor: FlooredThreshold, *reached: FloorShares) -> str:
    """The shares in words, in the mean of several, those that are asked for first."""
    return listed([_share(name, *reached) for name in _names(floor)])
