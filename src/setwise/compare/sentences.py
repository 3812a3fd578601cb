"""An answer in words: what to do, what to expect, how much it gains, how sure that is, and why."""

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from shlex import quote
from typing import Any

import numpy as np

from setwise.compare.answer import Answer, CandidateResult, PairedDifference
from setwise.compare.fits import rows_of
from setwise.compare.floor_sentences import expected, floor_gain, floor_reference, shares_text
from setwise.compare.plan import FIRST, PLAIN, Key, NamedLoss, base_model
from setwise.compare.problem import Origin, Problem
from setwise.compare.text import between, figure, grid, listed, percent, signed, threshold_text
from setwise.datasets.columns import Date, Number, Truth
from setwise.estimators.selection import STRATEGIES, Strategy
from setwise.estimators.selection.floors import FloorShares
from setwise.estimators.selection.strategies import ScoreOrder

WAYS: Mapping[str, type[Strategy]] = {**STRATEGIES, ScoreOrder.name: ScoreOrder}
"""The classes of strategies by their short names; each has its own words."""


def strategy_title(strategy: str) -> str:
    """The name of a strategy in a table."""
    return WAYS[strategy].title or strategy.replace("_", " ")


def way(key: Key) -> str:
    """The words for a way, as ``boosted trees with a tuned threshold``."""
    base, strategy = key
    return f"{base_model(base).title} {WAYS[strategy].phrase or f'with {strategy_title(strategy)}'}"


MOST_LABELS = 6
"""So many labels of a matrix are named with their shares; all of them are in results.json."""

COEFFICIENTS = 5
"""So many coefficients are told, the largest ones."""

UNNAMED = ("negative", "positive")
"""The names of labels that nobody has named."""


def facts(found: Answer) -> list[str]:
    """What a reader has to know of the data before the answer."""
    problem, kind = found.problem, found.problem.kind(found.measured.average)
    of_file = problem.origin is not None and problem.origin.file
    # That all rows are one set is what a reader takes for granted.
    sets = [f"{kind[0].upper()}{kind[1:]}."] if problem.many or problem.groups is not None else []
    return [*([] if of_file else [problem.about]), *rows_compared(found), labels(problem), *sets]


def rows_compared(found: Answer) -> list[str]:
    """On how many rows of how many ways are compared, and why, where these are not all; and what is saved."""
    problem, origin = found.problem, found.problem.origin
    if origin is None or not origin.drawn:
        return []
    how = "drawn at random" if problem.groups is None else "in whole groups drawn at random"
    why = listed(list(dict.fromkeys(origin.drawn)))
    rest = "" if found.others is None else " The recommendation is judged on all others too."
    saved = " The saved model is fitted to these rows." if found.saved else ""
    return [f"Compared on {len(problem.y):,} of {origin.rows:,} rows, {how} ({why}).{saved}{rest}"]


def labels(problem: Problem) -> str:
    """Which label is the positive one and how many rows have it; of a label matrix the shares of the labels."""
    n = len(problem.y)
    if problem.many:
        shares = [
            f"{name} {percent(share)}" for name, share in zip(problem.classes, problem.y.mean(axis=0), strict=True)
        ]
        rest = [f"{len(shares) - MOST_LABELS} more"] if len(shares) > MOST_LABELS else []
        return f"Shares of the rows that have a label: {listed([*shares[:MOST_LABELS], *rest])}."
    count, origin = int(problem.y.sum()), problem.origin
    rows = f"{count:,} of {n:,} rows ({percent(count / n)})"
    if tuple(problem.classes) == UNNAMED:
        return f"Positive are {rows}."
    other, positive = problem.classes
    name = f"{origin.target} = " if origin is not None and origin.target else ""
    if origin is None or not origin.by_default:
        return f"Positive is {name}{positive}: {rows}."
    more = ", and is the more frequent one" if 2 * count > n else ""
    return (
        f"Positive is {name}{positive}: {rows}. It was taken by default, as the later of {other!r} and {positive!r}"
        f"{more}; for the other one give --positive {quote(other)}."
    )


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
        shares = problem.y.mean(axis=0).tolist()
        return {**found, "label_shares": dict(zip(problem.classes, shares, strict=True))}
    positive = {"positive": problem.classes[1], "positive_by_default": origin.by_default}
    return {**found, **positive, "positive_rows": int(problem.y.sum())}


def details(found: Answer) -> list[str]:
    """The details: the threshold, the constant, the coefficients, the saved file, and what was left out."""
    sentences, winner, constants = _range(found), found.winner, found.plan.grid
    if winner.constant is not None:
        # The upper end of the grid is worth a word; the lower end is nearly a constant model.
        end = ", the largest that was tried" if len(constants) > 1 and winner.constant == max(constants) else ""
        tried = ", ".join(f"{c:g}" for c in constants)
        sentences.append(f"C of {base_model(winner.key[0]).title}: {winner.constant:g}, from {tried}{end}.")
    if winner.coefficients:
        largest = sorted(winner.coefficients.items(), key=lambda pair: -abs(pair[1]))
        shown = ", ".join(f"{name} {value:+.2f}" for name, value in largest[:COEFFICIENTS])
        rest = len(largest) - COEFFICIENTS
        more = f"; {rest} smaller ones are in results.json" if rest > 0 else ""
        sentences.append(f"Coefficients, for features of standard deviation 1: {shown}{more}.")
    return [*sentences, *_saved(found), *found.problem.notes, *found.notes]


def _range(found: Answer) -> list[str]:
    """The thresholds that are nearly as good."""
    flat = found.winner.flat
    if flat is None or flat.low >= flat.high:
        return []
    low, high = threshold_text(flat.low), threshold_text(flat.high)
    if low == high:
        low, high = f"{flat.low:.4g}", f"{flat.high:.4g}"
    return [
        f"From the threshold {low} to {high}, {found.measured.title} is at most {figure(flat.tolerance)} "
        f"worse{'' if found.floored is None else ' and the floor is kept'}, out of fold on all rows."
    ]


def columns(problem: Problem) -> list[str]:
    """The columns of a table by their kinds; nothing for what is no table."""
    kinds: dict[str, dict[str, None]] = {}
    for column in problem.columns:
        kinds.setdefault(column.kind, {})[column.source] = None
    return [f"Columns: {'; '.join(f'{kind} {listed([*names])}' for kind, names in kinds.items())}."] if kinds else []


def _saved(found: Answer) -> list[str]:
    """Where the model is saved, and the command that reads it; it keeps the columns that are ids."""
    if not found.saved:
        return []
    ids = () if found.problem.origin is None else found.problem.origin.ids
    keep = f" --keep {quote(','.join(ids))}" if ids else ""
    return [f"Saved in {found.saved}. Next: setwise predict {found.saved} new.csv{keep} --out labels.csv"]


def refusals(found: Answer) -> list[str]:
    """What was refused, each reason once; what could never fit this kind of data is not missed, and not listed."""
    reasons: dict[str, list[str]] = {}
    for row in found.rows:
        if row.refusal and row.strategy not in foreign(found.problem, found.measured):
            # A reader knows a strategy by its title, not by its name.
            refused = row.refusal.rstrip(".").replace(f"{row.strategy} refuses ", "not for ", 1)
            reason = WAYS[row.strategy].needs or refused
            reasons.setdefault(reason, []).append(strategy_title(row.strategy))
    return [f"Left out: {listed(list(dict.fromkeys(names)))}, {reason}." for reason, names in reasons.items()]


def foreign(problem: Problem, measured: NamedLoss) -> tuple[str, ...]:
    """The strategies that are made for other kinds of data or of measures."""
    if measured.orders:
        return tuple(STRATEGIES)
    task = rows_of(problem, measured).task
    return tuple(name for name, kind in STRATEGIES.items() if kind().refuses_data(task))


def on_other_rows(found: Answer) -> list[str]:
    """What the recommendation reaches on the rows of a file that are not in its sample; nothing without them."""
    held, key, first = found.others, found.winner.key, found.reference.key
    if held is None:
        return []
    where = f"On the other {held.count:,} rows"
    if held.refusal:
        return [f"{where} nothing was judged: {held.refusal}"]
    gain = "" if key == first or first not in held.losses else signed(held.losses[first] - held.losses[key])
    return [_on_further_rows(found, f"{where} of {found.problem.name}", held.losses[key], gain, held.reached)]


def _on_further_rows(found: Answer, where: str, loss: float, gain: str, reached: Mapping[Key, FloorShares]) -> str:
    """What the recommendation reaches on rows that no fit has seen, with its ``gain`` there in words, or ""."""
    words, key = f"{where}: {found.measured.title} {figure(found.measured.shown(loss))}", found.winner.key
    if gain and found.stands:
        words += f", {gain} over {way(found.reference.key)}"
    if found.plan.floor is not None and key in reached:
        verdict = "keeps" if reached[key].kept else "breaks"
        words += f", with {shares_text(found.plan.floor, reached[key])}, which {verdict} the floor"
    return f"{words}."


def train_on_all(found: Answer) -> list[str]:
    """That all rows of the file train a linear model for one set, where this is what is recommended and possible."""
    problem, (base, strategy) = found.problem, found.winner.key
    one_set = problem.groups is None and not problem.many
    plain = all(isinstance(column, Number | Truth) for column in problem.columns) and not problem.has_gaps
    if found.others is None or base != FIRST or not WAYS[strategy].linear or not one_set or not plain or found.floored:
        return []
    rows = f"all {found.others.count + len(problem.y):,} rows of {problem.name}"
    return [f"FileClassifier trains a linear model for {found.measured.title} on {rows}."]


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
    """The verdict in a sentence or two, and where rows of a file were left out, how to train on all of them."""
    return [*_verdict(found), *train_on_all(found)]


def _verdict(found: Answer) -> list[str]:
    first = base_model(found.reference.base).title
    if found.changes:
        return [f"Change to {_recommended(found)}."]
    stay = f"Stay with {first}; {'order rows by its probability' if found.measured.orders else _move(found)}."
    other, power, whose = found.best_other, found.gain, "a gain of the choice"
    if other is None and power.error == 0.0:
        return [stay, "Nothing else was tried."]
    about, clearly = "", " clearly" if found.chosen != found.reference.key else ""
    if other is not None:
        gain = found.paired(found.reference.outer, other.outer)
        low, high = gain.interval()
        clearly = " clearly" if low > 0 else clearly
        about = (
            f": the best other way by the training rows, {way(other.key)}, gains {signed(gain.mean)} on rows that it "
            f"did not see, interval {between(low, high)}"
        )
        # Where every fold has chosen the reference, the other way tells how much could be seen.
        power, whose = (gain, "a gain") if power.error == 0.0 else (power, whose)
    low, high = power.interval()
    rows = f"on {len(found.problem.y):,} rows {whose} below {figure((high - low) / 2.0)} cannot be shown."
    return [stay, f"Nothing is shown to beat it{clearly}{about}; {rows}"]


def how_much(found: Answer) -> list[str]:
    """The measure of the recommendation and its gain, on the folds that judge and on further rows."""
    shown, after, instead, gain = found.measured.shown, found.reference.mean, "", ""
    if found.changes:
        after = float(found.own.mean())
    if found.changes and found.stands:
        instead = f" instead of {figure(shown(found.reference.mean))}"
        gain = f": {signed(found.gain.mean)} over {way(found.reference.key)},"
    unseen = "choice" if found.repeated else "models"
    return [
        f"{found.measured.title} {figure(shown(after))}{instead} ({found.measured.better}){gain} on rows that the "
        f"{unseen} did not see, the mean of {len(found.own)} {kind_of_folds(found)}.",
        *([] if found.floored is None else floor_gain(found, found.floored)),
        *on_test_file(found),
        *on_other_rows(found),
    ]


def kind_of_folds(found: Answer) -> str:
    """The folds that judge, in words."""
    return "outer folds" if found.repeated else "folds"


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
    kept, folds, reference = Counter(found.choices), len(found.choices), way(found.reference.key)
    gain = f"{signed(found.gain.mean)} over {reference}, 95 % interval {between(*found.gain.interval())}"
    if ways == 1:
        return [f"Nothing was chosen: {reference} is the only way that was tried."]
    if not found.repeated:
        fell = f"It fell on {way(found.chosen)}"
        if found.chosen != found.reference.key and found.stands:
            fell += f", which gains {gain}, on rows that the models did not see; as the best of several on these it may"
            fell += " gain a little less on new rows"
        return [f"The budget had no room to repeat the choice among {ways} ways in outer folds.", f"{fell}."]
    votes = listed([f"{way(key)} ({count} of {folds})" for key, count in kept.most_common()])
    repeated = f"The choice among {ways} ways was repeated in {folds} outer folds without the rows it is judged on."
    gains, few, own = list[str](), list[str](), kept[found.winner.key]
    if found.changes and 2 * own <= folds:
        chose = f"{own or 'None'} of the {folds} outer folds chose what is recommended"
        few = [f"{chose}, so the figures above are mostly those of other ways."]
    if found.stands and is_nothing(found.gain) and set(kept) != {found.reference.key}:
        gains = [f"It gains nothing over {reference} in any fold: other ways gave the same labels, or as good ones."]
    elif found.changes and found.stands:
        gains = [f"It gains {gain}."]
    elif found.stands and not is_nothing(found.gain):
        whole = f"on all rows the choice fell on {way(found.chosen)}"
        gains = [f"To follow it each time would have gained {gain}; {whole}."]
    return [f"{repeated} It fell on {votes}.", *gains, *few]


def is_nothing(part: PairedDifference) -> bool:
    """Whether the differences are 0 in every fold, so that their interval is a point and says nothing."""
    return part.error == 0.0 and abs(part.mean) <= 1e-12


def why(found: Answer) -> list[str]:
    """The parts of the gain over logistic regression at 0.5; under floors why there is none, if there is none."""
    if found.floored is not None:
        return [] if found.stands else [floor_reference(found, found.floored)]
    explained = {
        "threshold": "the threshold: a tuned one for logistic regression instead of 0.5",
        "base": "the base model: the chosen one instead of logistic regression",
        "strategy": "the measure: the chosen way instead of a tuned threshold over the same base model",
    }
    if not found.measured.orders:
        explained["base"] += ", both with tuned thresholds"
    nothing = f"{signed(0.0)} in every {kind_of_folds(found)[:-1]}"
    sentences = [
        f"{nothing if is_nothing(part) else f'{signed(part.mean)} ({between(*part.interval())})'} by {explained[name]}."
        for name, part in found.parts.items()
    ]
    if found.changes and found.plain is not None and sum(not is_nothing(part) for part in found.parts.values()) > 1:
        gain = found.paired(found.plain.outer, found.own)
        sentences.append(f"Together {signed(gain.mean)} over logistic regression at 0.5.")
    return sentences


def _recommended(found: Answer) -> str:
    """The recommended way with its threshold and its weights."""
    text, winner = way(found.winner.key), found.winner
    if found.measured.orders:
        return f"{base_model(winner.key[0]).title}, and order rows by their scores"
    if winner.weight != 1.0:
        text += f", with a weight of {winner.weight:.2g} for each positive row"
    if winner.threshold is None:
        return f"{text}{WAYS[winner.key[1]].ending.format(measure=found.measured.title)}"
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


def table(found: Answer, bold: bool = False) -> str:
    """The mean of the measure on the outer folds ± its standard error, for all strategies and base models."""
    bases, ways = ways_by_strategy(found)
    cells = [[cell(found, row) for row in rows] for rows in ways.values()]
    marks = np.array([[(base, strategy) == found.winner.key for base in bases] for strategy in ways])
    return grid([strategy_title(name) for name in ways], [base_model(base).title for base in bases], cells, marks, bold)


def legend(found: Answer, best: str) -> str:
    """What the table holds, with what ``best`` says of the mark of the recommendation."""
    held = list(chain(*ways_by_strategy(found)[1].values()))
    broken = ["what stands in brackets breaks the floor"] if any(breaks(found, row) for row in held) else []
    none = ["- was not tried"] if any(row is None or not row.usable for row in held) else []
    text = "; ".join([found.measured.better, best, *broken, *none])
    return f"{found.measured.title}, mean ± standard error of the {kind_of_folds(found)} ({text}):"


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
