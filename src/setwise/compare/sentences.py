"""An answer in words: what to do, what to expect, how much it gains, how sure that is, and why."""

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from shlex import quote
from typing import Any

import numpy as np

from setwise.compare.answer import Answer, CandidateResult, PairedDifference
from setwise.compare.fits import rows_of
from setwise.compare.floor_sentences import expected, floor_gain, shares_text
from setwise.compare.plan import PLAIN, TRIED, Key, NamedLoss, base_model
from setwise.compare.problem import Origin, Problem
from setwise.compare.text import between, figure, grid, listed, percent, signed, threshold_text
from setwise.datasets.columns import Date
from setwise.estimators.selection import Strategy
from setwise.estimators.selection.floors import FloorShares
from setwise.estimators.selection.strategies import ScoreOrder
from setwise.losses.row_costs import RowCosts

WAYS: Mapping[str, type[Strategy]] = {**TRIED, ScoreOrder.name: ScoreOrder}
"""The classes of strategies by their short names; each has its own words."""


def way(key: Key) -> str:
    """The words for a way, as ``boosted trees with a tuned threshold``."""
    base, strategy = key
    return f"{base_model(base).title} {WAYS[strategy].phrase}"


MOST_LABELS = 6
"""So many labels of a matrix are named with their shares; all of them are in results.json."""

COEFFICIENTS = 5
"""So many coefficients are told, the largest ones."""

UNNAMED = ("negative", "positive")
"""The names of labels that nobody has named."""


def facts(found: Answer) -> list[str]:
    """What a reader has to know of the data before the answer."""
    problem, kind, drawn = found.problem, found.problem.kind(found.measured.average), list[str]()
    origin = problem.origin or Origin()
    # That all rows are one set is what a reader takes for granted.
    sets = [f"{kind[0].upper()}{kind[1:]}."] if problem.many or problem.groups is not None else []
    if origin.drawn:
        saved = " The saved model is fitted to these rows." if found.saved else ""
        drawn = [f"Compared on {len(problem.y):,} of {origin.rows:,} rows, drawn at random ({origin.drawn}).{saved}"]
    return [*([] if origin.file else [problem.about]), *drawn, labels(problem), *sets]


def labels(problem: Problem) -> str:
    """Which label is the positive one and how many rows have it; of a label matrix the shares of the labels."""
    n = len(problem.y)
    if problem.many:
        means = problem.y.mean(axis=0)
        shares = [f"{name} {percent(share)}" for name, share in zip(problem.classes, means, strict=True)]
        rest = [f"{len(shares) - MOST_LABELS} more"] if len(shares) > MOST_LABELS else []
        return f"Shares of the rows that have a label: {listed([*shares[:MOST_LABELS], *rest])}."
    count, origin = int(problem.y.sum()), problem.origin or Origin()
    share = float(np.average(problem.y.ravel(), weights=problem.weights))
    rows = f"{count:,} of {n:,} rows ({percent(share)}{'' if problem.weights is None else ' of the file'})."
    if tuple(problem.classes) == UNNAMED:
        return f"Positive are {rows}"
    other, positive = problem.classes
    name = f"{origin.target} = " if origin.target else ""
    default = f" It was taken by default; for the other one give --positive {quote(other)}."
    return f"Positive is {name}{positive}: {rows}{default if origin.by_default else ''}"


def dates(found: Answer) -> list[str]:
    """A warning where folds are random and a column is a date; nothing where later rows judge, or further ones."""
    names = [column.name for column in found.problem.columns if isinstance(column, Date) and not column.clock]
    if not names or not np.isnan(found.rows[0].test) or found.problem.times is not None:
        return []
    return [
        f"Dates are features like others here, and folds are random: {listed([repr(name) for name in names])}. If new "
        f"rows come later, let later rows judge (--time-column {quote(names[0])}), or leave dates out (--drop "
        f"{quote(','.join(names))})."
    ]


def data_of(problem: Problem) -> dict[str, Any]:
    """The data of a problem for results.json: its file and rows, its target, and what is positive."""
    origin = problem.origin or Origin(rows=len(problem.y))
    found = {"file": origin.file, "rows": len(problem.y), "rows_of_file": origin.rows, "target": origin.target}
    if problem.many:
        return {**found, "label_shares": dict(zip(problem.classes, problem.y.mean(axis=0).tolist(), strict=True))}
    positive = {"positive": problem.classes[1], "positive_by_default": origin.by_default}
    return {**found, **positive, "positive_rows": int(problem.y.sum())}


def details(found: Answer) -> list[str]:
    """The details: the threshold, the coefficients, the saved file, and what was left out."""
    sentences, winner, flat = list[str](), found.winner, found.winner.flat
    if flat is not None and threshold_text(flat.low) != threshold_text(flat.high):
        kept = "" if found.floored is None else f" and the {found.floored.floor.kind} is kept"
        sentences.append(
            f"From the threshold {threshold_text(flat.low)} to {threshold_text(flat.high)}, {found.measured.title} is "
            f"at most {figure(flat.tolerance)} worse{kept}, out of fold on all rows."
        )
    if winner.coefficients:
        largest = sorted(winner.coefficients.items(), key=lambda pair: -abs(pair[1]))[:COEFFICIENTS]
        shown = ", ".join(f"{name} {value:+.2f}" for name, value in largest)
        sentences.append(f"Largest coefficients, for features of standard deviation 1: {shown}.")
    if found.saved:
        # Labels keep the columns that are ids.
        ids = (found.problem.origin or Origin()).ids
        keep = f" --keep {quote(','.join(ids))}" if ids else ""
        sentences.append(f"Saved in {found.saved}. Next: setwise predict {found.saved} new.csv{keep} --out labels.csv")
    return [*sentences, *found.problem.notes, *found.notes]


def columns(problem: Problem) -> list[str]:
    """The columns of a table by their kinds; nothing for what is no table."""
    kinds: dict[str, dict[str, None]] = {}
    for column in problem.columns:
        kinds.setdefault(column.kind, {})[column.source] = None
    return [f"Columns: {'; '.join(f'{kind} {listed([*names])}' for kind, names in kinds.items())}."] if kinds else []


def refusals(found: Answer) -> list[str]:
    """What was refused, and why; what could never fit this kind of data is not missed, and not listed."""
    sentences = list[str]()
    for row in found.rows:
        if row.refusal and row.strategy not in foreign(found.problem, found.measured):
            # A reader knows a strategy by its title, not by its name.
            refused = row.refusal.rstrip(".").replace(f"{row.strategy} refuses ", "not for ", 1)
            sentences.append(f"Left out: {WAYS[row.strategy].title}, {WAYS[row.strategy].needs or refused}.")
    return list(dict.fromkeys(sentences))


def foreign(problem: Problem, measured: NamedLoss) -> tuple[str, ...]:
    """The strategies that are made for other kinds of data or of measures."""
    if measured.orders:
        return tuple(TRIED)
    task = rows_of(problem, measured).task
    by_costs = isinstance(measured.loss, RowCosts)
    # Weights by costs are for costs alone, which need not be asked of it.
    return tuple(n for n, kind in TRIED.items() if (not by_costs and n == "cost_weight") or kind().refuses_data(task))


def on_other_rows(found: Answer) -> list[str]:
    """What the recommendation reaches on the rows of a file that are not in its sample; nothing without them."""
    held, key, first = found.others, found.winner.key, found.reference.key
    if held is None:
        return []
    if held.refusal:
        return [f"On the other rows of {found.problem.name} nothing was judged: {held.refusal}"]
    where = f"On the other {held.count:,} rows of {found.problem.name}"
    if found.problem.weights is not None:
        where = f"On all {held.count:,} rows of {found.problem.name}, each judged by models that did not see it"
    gain = "" if key == first or first not in held.losses else signed(held.losses[first] - held.losses[key])
    return [_on_further_rows(found, where, held.losses[key], gain, held.reached)]


def _on_further_rows(found: Answer, where: str, loss: float, gain: str, reached: Mapping[Key, FloorShares]) -> str:
    """What the recommendation reaches on rows that no fit has seen, with its ``gain`` there in words, or ""."""
    words, key = f"{where}: {found.measured.title} {figure(found.measured.shown(loss))}", found.winner.key
    if gain and found.stands:
        words += f", {gain} over {way(found.reference.key)}"
    if found.plan.floor is not None and key in reached:
        verdict = "keeps" if reached[key].kept else "breaks"
        words += f", with {shares_text(found.plan.floor, reached[key])}, which {verdict} the {found.plan.floor.kind}"
    return f"{words}."


USUAL = 0.5
"""The threshold of probabilities that classifiers have by themselves."""


def headline(found: Answer) -> dict[str, list[str]]:
    """The answer under its titles, in the order of a reader's questions; a title with nothing to say is left out."""
    told = {
        "DATA": [*(finding.sentence for finding in found.problem.findings), *dates(found)],
        "WHAT TO DO": what_to_do(found),
        "EXPECT": [] if found.floored is None else expected(found, found.floored),
        "HOW MUCH": how_much(found),
        "HOW SURE": how_sure(found),
        "WHY": why(found),
    }
    return {title: sentences for title, sentences in told.items() if sentences}


def heading(found: Answer) -> str:
    """The data and the measure, with the floors that it is judged under."""
    floor = "" if found.plan.floor is None else f" at {found.plan.floor.words}"
    return f"{found.problem.name}: {found.measured.title}{floor}"


def what_to_do(found: Answer) -> list[str]:
    """The verdict, and where it is to stay, what the best other way gains and which gain these rows could show."""
    if found.changes:
        return [f"Change to {_recommended(found)}."]
    move = "order rows by its probability" if found.measured.orders else _move(found)
    stay, other = f"Stay with {base_model(found.reference.base).title}; {move}.", found.best_other
    if other is None:
        return [stay, "There is no other way to compare it with."]
    gain = found.paired(found.reference.outer, other.outer)
    # Folds that choose the reference show nothing of what could be seen, so the wider one of both intervals tells it.
    widths = [high - low for low, high in (found.gain.interval(), gain.interval())]
    return [
        stay,
        f"No other way beats it clearly: the best by the training rows, {way(other.key)}, gains {_gained(gain)}. "
        f"On {len(found.problem.y):,} rows a gain below {figure(max(widths) / 2.0)} cannot be shown.",
    ]


def _gained(part: PairedDifference, over: str = "") -> str:
    """A gain ``over`` something with its interval, which would say nothing where all folds have the same."""
    if part.error == 0.0:
        return f"{signed(part.mean)}{over} in every fold"
    return f"{signed(part.mean)}{over} (95 % interval {between(*part.interval())})"


def how_much(found: Answer) -> list[str]:
    """The measure of the recommendation, on the folds that judge and on further rows."""
    shown, instead = found.measured.shown, ""
    if found.changes and found.stands:
        instead = f" instead of {figure(shown(found.reference.mean))}"
    reached = float(found.own.mean()) if found.changes else found.reference.mean
    # What is recommended may be another way than those that folds chose.
    whose = f"what {len(found.own)} folds chose" if found.changes and found.repeated else f"{len(found.own)} folds"
    unseen = "choice" if found.repeated else "models"
    return [
        f"{found.measured.title} {figure(shown(reached))}{instead} ({found.measured.better}), the mean of {whose} on "
        f"rows that the {unseen} did not see.",
        *([] if found.floored is None else floor_gain(found, found.floored)),
        *in_money(found),
        *on_test_file(found),
        *on_other_rows(found),
    ]


def in_money(found: Answer) -> list[str]:
    """What the cells of the confusion matrix cost in 1,000 rows, by labels out of fold; nothing without costs."""
    labels, costs, problem = found.winner.labels, found.measured.on(found.problem.X), found.problem
    if not isinstance(costs, RowCosts) or labels is None:
        return []
    truth, n = problem.y.ravel() == 1, len(problem.y)
    paid = np.where(labels, *reversed(costs.of_labels(truth)))
    cells = {"hits": truth & labels, "alarms": ~truth & labels, "misses": truth & ~labels, "right negatives": None}
    told = list[str]()
    for name, cell in cells.items():
        rows = ~truth & ~labels if cell is None else cell
        if paid[rows].any():
            told.append(f"{figure(1000.0 * rows.sum() / n)} {name} cost {figure(float(paid[rows].sum()))}")
    return [f"Of 1,000 rows, out of fold: {listed(told)}."] if told else []


def on_test_file(found: Answer) -> list[str]:
    """What the recommendation reaches on the rows of ``--test``, and what it gains there; nothing without them."""
    loss = next((row.test for row in found.rows if row.key == found.winner.key), np.nan)
    if np.isnan(loss):
        return []
    gain, reached = "", {} if found.floored is None else found.floored.test
    if found.test_gain is not None:
        mean, low, high = found.test_gain
        gain = f"{signed(mean)} ({between(low, high)})"
    return [
        _on_further_rows(found, "On the rows of the test file", loss, gain, reached),
        *(f"In the test file: {sentence}" for sentence in found.test_differs),
    ]


def how_sure(found: Answer) -> list[str]:
    """What the folds that judge chose, and the gain of that choice with its interval."""
    # Under floors 0.5 is shown, but it is never a choice.
    ways = sum(row.usable and (found.floored is None or row.key != PLAIN) for row in found.rows)
    reference, folds = way(found.reference.key), len(found.choices)
    if ways == 1:
        return [f"Nothing was chosen: {reference} is the only way that was tried."]
    votes = listed([f"{way(key)} ({count} of {folds})" for key, count in Counter(found.choices).most_common()])
    chosen = f"the folds chose {votes}" if found.repeated else f"the choice is {way(found.chosen)}"
    sentences = [f"Among {ways} ways {chosen}."]
    if found.stands and set(found.choices) != {found.reference.key}:
        sentences.append(f"This choice gains {_gained(found.gain, f' over {reference}')}.")
    if not found.repeated:
        sentences.append("The budget had no room to repeat the choice in outer folds: on new rows it may gain less.")
    return sentences


def why(found: Answer) -> list[str]:
    """The parts of the gain over logistic regression at 0.5; under floors why there is none, if there is none."""
    if found.floored is not None:
        floor = found.floored.floor.words
        return [] if found.stands else [f"Logistic regression keeps {floor} at no threshold, so no gain is reported."]
    by = {
        "threshold": "the threshold of logistic regression: a tuned one instead of 0.5",
        "base": "the base model: the chosen one instead of logistic regression",
        "strategy": "the rule: the chosen one instead of a tuned threshold",
    }
    return [f"{_gained(part)} by {by[name]}." for name, part in found.parts.items()]


def _recommended(found: Answer) -> str:
    """The recommended way with its threshold and its weights."""
    text, winner = way(found.winner.key), found.winner
    if found.measured.orders:
        return f"{base_model(winner.key[0]).title}, and order rows by their scores"
    if winner.weight != 1.0:
        text += f", with a weight of {winner.weight:.2g} for each positive row"
    if winner.threshold is None:
        return text
    return f"{text}: {_positive_where(found)}"


def _positive_where(found: Answer) -> str:
    """Where a row is positive, in the units of the model."""
    winner, unit = found.winner, found.winner.unit
    if np.ndim(winner.threshold):
        each = [f"{name} {threshold_text(t)}" for name, t in zip(found.problem.classes, winner.threshold, strict=True)]
        return f"a label is positive where its {unit} is at least its threshold, {listed(each)}"
    if np.isinf(winner.threshold):
        return "predict no positive at all" if winner.threshold > 0 else "predict every row positive"
    what = "label" if found.problem.many else "row"
    return f"a {what} is positive where its {unit} is at least {threshold_text(winner.threshold)}"


def _move(found: Answer) -> str:
    """What to do with the threshold of logistic regression."""
    winner, flat = found.winner, found.winner.flat
    if np.isinf(winner.threshold):
        return _positive_where(found)
    at = threshold_text(winner.threshold)
    # Under floors what is to be expected is said of the threshold that is saved, so no other one is proposed.
    if found.floored is None and flat is not None and winner.probability and flat.low <= USUAL <= flat.high:
        return f"its threshold may stay at {USUAL}, which is at most {figure(flat.tolerance)} worse than the tuned {at}"
    return f"move its threshold to {at}"


def table(found: Answer) -> str:
    """The mean of the measure on the outer folds ± its standard error, for all strategies and base models."""
    bases, ways = ways_by_strategy(found)
    cells = [[cell(found, row) for row in rows] for rows in ways.values()]
    marks = np.array([[(base, strategy) == found.winner.key for base in bases] for strategy in ways])
    return grid([WAYS[name].title for name in ways], [base_model(base).title for base in bases], cells, marks)


def legend(found: Answer) -> str:
    """What the table holds."""
    held = chain(*ways_by_strategy(found)[1].values())
    kind = "" if found.plan.floor is None else found.plan.floor.kind
    broken = f"; what stands in brackets breaks the {kind}" if any(breaks(found, row) for row in held) else ""
    mean = f"{found.measured.title}, mean ± standard error of the folds"
    return f"{mean} ({found.measured.better}; the star is recommended{broken}):"


def breaks(found: Answer, row: CandidateResult | None) -> bool:
    """Whether a way breaks the floors on all rows."""
    return row is not None and row.usable and found.floored is not None and row.key not in found.floored.able


def ways_by_strategy(found: Answer) -> tuple[list[str], dict[str, list[CandidateResult | None]]]:
    """The base models of which there are figures, and for each such strategy its rows over them."""
    usable, rows = [row for row in found.rows if row.usable], {row.key: row for row in found.rows}
    bases, strategies = (list(dict.fromkeys(row.key[i] for row in usable)) for i in (0, 1))
    return bases, {strategy: [rows.get((base, strategy)) for base in bases] for strategy in strategies}


def cell(found: Answer, row: CandidateResult | None) -> str:
    """The mean of the measure ± its standard error, in brackets where it breaks a floor; a dash where there is none."""
    if row is None or not row.usable:
        return "-"
    error = found.paired(row.outer, np.zeros(len(row.outer))).error
    text = f"{figure(found.measured.shown(row.mean))} ± {figure(error)}"
    return f"({text})" if breaks(found, row) else text
