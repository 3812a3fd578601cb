"""Sentences of an answer under floors of recall and precision."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import beta, binom

from setwise.compare.answer import Answer, FloorReport
from setwise.compare.plan import PLAIN
from setwise.compare.text import figure, listed
from setwise.decisions.floors import SLACK
from setwise.estimators.selection.floors import FlooredThreshold, FloorShares

LEVEL = 0.95
"""The level of the intervals of recall and precision, and the confidence that is proposed."""

APART = 0.005
"""Two means that differ by less are not explained."""

FILE = 100
"""What a file of new rows may miss by chance is said for so many rows that the share is of."""

KINDS = {"recall": "positive rows", "precision": "rows called positive"}
"""What the shares are of."""

THOUSAND = 1000
"""What to expect is said for so many new rows."""


def expected(found: Answer, held: FloorReport) -> list[str]:
    """The recall and precision to expect on new rows with their intervals, and how many rows are called positive."""
    reached = held.all_rows[found.winner.key]
    floor, alone = held.floor, found.problem.groups is None
    shares = [_with_interval(name, reached, floor) if alone else _share(name, reached) for name in _names(floor)]
    ends, in_a_file = "" if alone else "; rows of a group are not independent, so intervals are not known", list[str]()
    if floor.confidence is not None and not alone:
        ends += f", but {floor.words} is tested over whole groups: it is that of all rows of new groups together"
    elif floor.confidence is not None and len(floor.floors) == 1:
        by_chance, _ = _by_chance(floor, reached, f"a file with {FILE}", [FILE])
        in_a_file = [f"The confidence is for the {floor.floors[0].measure} in the long run: {by_chance}."]
    called, positive = (round(THOUSAND * count / reached.rows) for count in (reached.called, reached.positives))
    hits = min(round(THOUSAND * reached.found / reached.rows), called, positive)
    return [
        f"New rows of the same kind should have {listed(shares)}{ends}.",
        *in_a_file,
        f"Of {THOUSAND:,} rows about {called} are called positive: {hits} of the {positive} positive ones are found "
        f"and {positive - hits} missed, and {called - hits} are false alarms.",
    ]


def _by_chance(floor: FlooredThreshold, reached: FloorShares, part: str, sizes: Sequence[int]) -> tuple[str, float]:
    """How often a part of new rows misses a single floor by chance, if its share in the long run is that reached."""
    (one,) = floor.floors
    share = getattr(reached, one.measure)
    chance = float(np.mean([chance_below(one.least, size, share) for size in sizes]))
    rows = f"at a {one.measure} of {figure(share)} {part} {KINDS[one.measure]}"
    return f"{rows} misses the floor by chance in {often(chance)} of the cases", chance


def _with_interval(name: str, reached: FloorShares, floor: FlooredThreshold) -> str:
    """A share with its exact interval, and where a floor is to hold with confidence before it its sure lower bound.

    The first share to show says the level of the intervals.
    """
    low, high = interval(*reached.of(name))
    sure, asked = "", floor.recall if name == "recall" else floor.precision
    if asked is not None and floor.confidence is not None:
        # The bound of Clopper and Pearson is no bound of the precision at a threshold that was picked.
        least = asked if name == "precision" else lower(*reached.of(name), floor.confidence)
        sure = f"at least {figure(least)} with confidence {floor.confidence:g}; "
    level = f"{100 * LEVEL:.0f} % interval " if name == _names(floor)[0] else ""
    return f"{_share(name, reached)} ({sure}{level}{figure(low)} to {figure(high)})"


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
    sentences = [
        f"The threshold keeps {floor.words} out of fold on all rows.",
        *_unsure(floor, whole),
        *(_on_folds(found, floor, whole, folds) if folds else []),
    ]
    usual = held.all_rows.get(PLAIN)
    if usual is not None:
        usual_model = "The same model" if key == found.reference.key else "Logistic regression"
        verdict = "keeps the floor too" if usual.kept else "breaks the floor"
        sentences.append(
            f"{usual_model} at the usual 0.5 {verdict}: out of fold on all rows it has {shares_text(floor, usual)}."
        )
    return sentences


def _unsure(floor: FlooredThreshold, reached: FloorShares) -> list[str]:
    """That a floor which holds on the rows at hand may fail on new ones; nothing for one with confidence."""
    fails = max(chance_of_less(one.least, *reached.of(one.measure)) for one in floor.floors)
    if floor.confidence is not None or fails <= 1.0 - LEVEL:
        return []
    return [
        f"In the long run such a floor fails on new rows in about {often(fails)} of the cases; --confidence {LEVEL:g} "
        f"chooses a threshold that holds in {100 * LEVEL:.0f} % of them."
    ]


def chance_of_less(least: float, right: int, whole: int) -> float:
    """The probability that a threshold with so many right rows has a share below ``least`` on new rows.

    The true share above the k-th of n independent scores has the distribution Beta(k, n - k + 1).
    """
    return float(beta.cdf(least, right, whole - right + 1)) if right else 1.0


def _on_folds(found: Answer, floor: FlooredThreshold, whole: FloorShares, folds: list[FloorShares]) -> list[str]:
    """How many outer test parts kept the floor, how many would miss it by chance, and which share to believe."""
    means = {name: float(np.mean([getattr(one, name) for one in folds])) for name in _names(floor)}
    shares, kept = listed([f"{name} {figure(mean)}" for name, mean in means.items()]), sum(one.kept for one in folds)
    sentence = f"On the test parts of the outer folds it has {shares} on average; {kept} of {len(folds)} kept the floor"
    unsure, sentences = sum(not reached.kept and floor.holds(reached) for reached in folds), list[str]()
    if unsure:
        sentence += f", and in {unsure} the training part was too small to be sure of it"
    elif kept < len(folds) and len(floor.floors) == 1 and found.problem.groups is None:
        sizes = [reached.of(floor.floors[0].measure)[1] for reached in folds]
        by_chance, chance = _by_chance(floor, whole, f"a part with {np.mean(sizes):.0f}", sizes)
        # So many misses of parts that are alike would be rare.
        rare = binom.sf(len(folds) - kept - 1, len(folds), chance) < 1.0 - LEVEL
        more = ", so the folds differ by more than chance" if rare else ""
        sentences = [f"{by_chance[0].upper()}{by_chance[1:]}{more}."]
    for name in means.keys() - {one.measure for one in floor.floors}:
        low, high = means[name], getattr(whole, name)
        if low <= high - APART:
            sentences.append(
                f"A fair {name} for new rows lies between {figure(low)} and {figure(high)}: the first is of thresholds "
                "chosen on fewer rows, the second of one chosen on the rows that it is judged on."
            )
    return [f"{sentence}.", *sentences]


def often(chance: float) -> str:
    """A probability in whole percents; a small one is not called 0."""
    return "less than 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"


def chance_below(least: float, rows: int, share: float) -> float:
    """The probability that of so many independent rows, each right with probability ``share``, fewer are right."""
    return float(binom.cdf(np.ceil(least * rows - SLACK * rows) - 1, rows, share)) if rows else 1.0


def floor_reference(found: Answer, held: FloorReport) -> str:
    """That logistic regression keeps no floor, and what it reaches at best."""
    nearest = shares_text(held.floor, held.all_rows[found.reference.key])
    return (
        f"Logistic regression keeps {held.floor.words} at no threshold, so that a gain over it would say "
        f"nothing; the threshold that comes nearest has {nearest}."
    )


def _names(floor: FlooredThreshold) -> tuple[str, ...]:
    """The shares to show: those with a floor first, and the other one."""
    return tuple(dict.fromkeys([*(one.measure for one in floor.floors), "recall", "precision"]))


def _share(name: str, reached: FloorShares) -> str:
    return f"{name} {figure(getattr(reached, name))}"


def shares_text(floor: FlooredThreshold, reached: FloorShares) -> str:
    """Recall and precision in words, that with a floor first."""
    return listed([_share(name, reached) for name in _names(floor)])
