"""An answer in words: what to do, what to expect, how much it gains, how sure that is, and why."""

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from shlex import quote
from typing import Any

import numpy as np

from setwise.compare.answer import Answer, CandidateResult, PairedDifference
from setwise.compare.fits import rows_of
from setwise.compare.floor_sentences import expected, floor_gain, floor_on_test, floor_reference
from setwise.compare.plan import FIRST, PLAIN, Key, NamedLoss, base_model
from setwise.compare.problem import Origin, Problem
from setwise.compare.text import between, figure, grid, listed, percent, signed, threshold_text
from setwise.datasets.columns import Date, Number, Truth
from setwise.estimators.selection import STRATEGIES, Strategy
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

UNNAMED = ("negative", "positive")
"""The names of labels that nobody has named."""


def facts(found: Answer) -> list[str]:
    """What a reader has to know of the data before the answer."""
    problem = found.problem
    of_file = problem.origin is not None and problem.origin.file
    return [*([] if of_file else [problem.about]), *rows_compared(found), labels(problem)]


def data(found: Answer) -> dict[str, list[str]]:
    """What the audit has found in the table, under its title; nothing where it has found nothing."""
    said = [*(finding.sentence for finding in found.problem.findings), *dates(found)]
    return {"DATA": said} if said else {}


def kind(found: Answer) -> str:
    """What a set is."""
    text = found.problem.kind(found.measured.average)
    return f"{text[0].upper()}{text[1:]}."


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
    later = f"the later of {other!r} and {positive!r}"
    if 2 * count <= n:
        return (
            f"Positive is {name}{positive}: {rows}. It was taken by default, as {later}; for the other one give "
            f"--positive {quote(other)}."
        )
    return (
        f"Positive is {name}{positive}: {rows}. It was taken by default, as {later}, and is the more frequent one. To "
        f"find the rows with {name}{other}, give --positive {quote(other)}."
    )


def dates(found: Answer) -> list[str]:
    """A warning where folds are random and a column is a date; nothing where later rows judge, or further ones."""
    names = [column.name for column in found.problem.columns if isinstance(column, Date) and not column.clock]
    if not names or not np.isnan(found.rows[0].test) or found.problem.times is not None:
        return []
    one = len(names) == 1
    return [
        f"{listed([repr(name) for name in names])} {'is a date, a feature' if one else 'are dates, features'} like "
        f"others here, and folds are random. If new rows come later, let later rows judge (--time-column "
        f"{quote(names[0])}), or leave {'it' if one else 'them'} out (--drop {quote(','.join(names))})."
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


def in_short(found: Answer) -> list[str]:
    """The details that a terminal shows: the threshold, the largest coefficients, the saved file, what was left out."""
    coefficients = found.winner.coefficients
    largest = coefficients_text(coefficients, 3, "the report") if coefficients else ""
    return [*_range(found), *filter(None, [largest]), *_saved(found), *found.problem.notes, *found.notes]


def details(found: Answer) -> list[str]:
    """All details: the threshold, the constant, the coefficients, the columns, the saved file, what was left out."""
    sentences, winner, constants = _range(found), found.winner, found.plan.grid
    if winner.constant is not None:
        # The upper end of the grid is worth a word; the lower end is nearly a constant model.
        end = ", the largest that was tried" if len(constants) > 1 and winner.constant == max(constants) else ""
        tried = ", ".join(f"{c:g}" for c in constants)
        sentences.append(f"C of {base_model(winner.key[0]).title}: {winner.constant:g}, from {tried}{end}.")
    if winner.coefficients:
        sentences.append(coefficients_text(winner.coefficients))
    return [*sentences, *_columns(found.problem), *_saved(found), *found.problem.notes, *found.notes]


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


def _columns(problem: Problem) -> list[str]:
    """The columns of a table by their kinds."""
    kinds: dict[str, dict[str, None]] = {}
    for column in problem.columns:
        kinds.setdefault(KINDS[column.kind], {})[column.source] = None
    return [f"Columns: {'; '.join(f'{kind} {listed([*names])}' for kind, names in kinds.items())}."] if kinds else []


KINDS = {"number": "numbers", "truth value": "truth values", "date": "dates (as days)", "category": "categories",
         "text": "text"}  # fmt: skip
"""The kinds of columns, of which there are several."""


def _saved(found: Answer) -> list[str]:
    """Where the model is saved, and the command that reads it; it keeps the columns that are ids."""
    if not found.saved:
        return []
    ids = () if found.problem.origin is None else found.problem.origin.ids
    keep = f" --keep {quote(','.join(ids))}" if ids else ""
    return [f"Saved in {found.saved}. Next: setwise predict {found.saved} new.csv{keep} --out labels.csv"]


def coefficients_text(coefficients: Mapping[str, float], most: int = 10, where: str = "results.json") -> str:
    """The largest coefficients by the names of their features."""
    largest = sorted(coefficients.items(), key=lambda pair: -abs(pair[1]))
    shown = ", ".join(f"{name} {value:+.2f}" for name, value in largest[:most])
    rest = f"; {len(largest) - most} smaller ones are in {where}" if len(largest) > most else ""
    return f"Coefficients, for features of standard deviation 1: {shown}{rest}."


def refusals(found: Answer) -> list[str]:
    """What was refused, each reason once; what could never fit this kind of data is not missed, and not listed."""
    reasons: dict[str, list[str]] = {}
    for row in found.rows:
        if row.refusal and row.strategy not in foreign(found.problem, found.measured):
            # A reader knows a strategy by its title, not by its name.
            reason = WAYS[row.strategy].needs or row.refusal.rstrip(".").replace(
                f"{row.strategy} refuses ", "not for ", 1
            )
            reasons.setdefault(reason, []).append(strategy_title(row.strategy))
    return [f"Left out: {listed(list(dict.fromkeys(names)))}, {reason}." for reason, names in reasons.items()]


def foreign(problem: Problem, measured: NamedLoss) -> tuple[str, ...]:
    """The strategies that are made for other kinds of data or of measures."""
    if measured.orders:
        return tuple(STRATEGIES)
    task = rows_of(problem, measured).task
    return tuple(name for name, kind in STRATEGIES.items() if kind().refuses_data(task))


def rows_text(found: Answer) -> str:
    """``the other N rows``; nothing where there are none."""
    return "" if found.others is None else f"the other {found.others.count:,} rows"


def on_other_rows(found: Answer, reference: str) -> list[str]:
    """What the recommendation reaches on the other rows, and what it gains there over the ``reference``, in words."""
    held = found.others
    if held is None:
        return []
    if held.refusal:
        return [f"On {rows_text(found)} nothing was judged: {held.refusal}"]
    loss = held.losses[found.winner.key]
    words = f"On {rows_text(found)} of {held.file}: {found.measured.title} {figure(found.measured.shown(loss))}"
    if found.winner.key != found.reference.key and found.reference.key in held.losses and found.stands:
        words += f", {signed(held.losses[found.reference.key] - loss)} over {reference}"
    if found.winner.key in held.reached:
        reached = held.reached[found.winner.key]
        shares = f"recall {figure(reached.recall)} and precision {figure(reached.precision)}"
        words += f", with {shares}, which {'keeps' if reached.kept else 'breaks'} the floor"
    return [f"{words}."]


def cells_of(found: Answer) -> dict[Key, str]:
    """The measure of each way that was judged on the other rows, exactly: all of them count."""
    losses = {} if found.others is None else found.others.losses
    return {key: figure(found.measured.shown(loss)) for key, loss in losses.items()}


def other_table(found: Answer, bold: bool) -> str:
    """A table of these figures for a terminal."""
    cells = cells_of(found)
    marks = np.array([[key == found.winner.key] for key in cells])
    return grid(list(map(way, cells)), [f"on {rows_text(found)}"], [[cell] for cell in cells.values()], marks, bold)


def train_on_all(found: Answer) -> list[str]:
    """That all rows of the file train a linear model for one set, where this is what is recommended and possible."""
    problem, (base, strategy) = found.problem, found.winner.key
    one_set = problem.groups is None and not problem.many
    plain = all(isinstance(column, Number | Truth) for column in problem.columns) and not problem.has_gaps
    if found.others is None or base != FIRST or not WAYS[strategy].linear or not one_set or not plain or found.floored:
        return []
    rows = found.others.count + len(problem.y)
    return [
        f"FileClassifier trains a linear model for {found.measured.title} on all {rows:,} rows of {found.others.file}."
    ]


USUAL = 0.5
"""The threshold of probabilities that classifiers have by themselves."""


def headline(found: Answer) -> dict[str, list[str]]:
    """The answer under its four titles, in the order of a reader's questions; under floors there are five."""
    return {
        "WHAT TO DO": what_to_do(found),
        **({} if found.floored is None else {"EXPECT": expected(found, found.floored)}),
        "HOW MUCH": how_much(found),
        "HOW SURE": how_sure(found),
        # Under floors the gain has one part only.
        **({"WHY": why(found)} if found.floored is None or not found.stands else {}),
    }


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
    sentences = [f"Stay with {first}, and order rows by its probability."]
    if not found.measured.orders:
        sentences = [f"Stay with {first}; {_move(found)}."]
    other = found.best_other
    if other is None:
        return [*sentences, "Nothing else was tried."]
    gain = found.paired(found.reference.outer, other.outer)
    beats = gain.interval()[0] > 0
    clearly = " clearly" if beats or found.chosen != found.reference.key else ""
    low, high = gain.interval()
    return [
        *sentences,
        f"Nothing is shown to beat it{clearly}: the best other way by the training rows, {way(other.key)}, gains "
        f"{signed(gain.mean)} on rows that it did not see, interval {between(low, high)}; on {len(found.problem.y):,} "
        f"rows a gain below {figure((high - low) / 2.0)} cannot be shown.",
    ]


def how_much(found: Answer) -> list[str]:
    """The gain of the recommendation, in the measure."""
    title, shown = found.measured.title, found.measured.shown
    better, folds = found.measured.better, f"the mean of {len(found.own)} {kind_of_folds(found)}"
    unseen = "on rows that the choice did not see" if found.repeated else "on rows that the models did not see"
    if not found.stands:
        after = shown(float(found.own.mean()))
        sentences = [f"{title} {figure(after)} ({better}) {unseen}, {folds}."]
    elif found.changes:
        before, after = shown(found.reference.mean), shown(float(found.own.mean()))
        sentences = [
            f"{title} {figure(after)} instead of {figure(before)} ({better}): {signed(found.gain.mean)} over "
            f"{way(found.reference.key)}, {unseen}, {folds}."
        ]
    else:
        sentences = [f"{title} {figure(shown(found.reference.mean))} ({better}) on rows it did not see, {folds}."]
        if found.plain is not None:
            gain = found.paired(found.plain.outer, found.reference.outer)
            usual = f"the usual 0.5 ({figure(shown(found.plain.mean))})"
            worse = f"On these rows the tuned threshold is worse than {usual} by {figure(-gain.mean)}."
            sentences.append(
                f"The tuned threshold gains {signed(gain.mean)} over {usual}." if gain.mean >= 0 else worse
            )
    if found.floored is not None:
        sentences += floor_gain(found, found.floored)
    return [*sentences, *on_test_file(found), *on_other_rows(found, way(found.reference.key))]


def kind_of_folds(found: Answer) -> str:
    """The folds that judge, in words."""
    return "outer folds" if found.repeated else "folds"


def on_test_file(found: Answer) -> list[str]:
    """What the recommendation reaches on the rows of ``--test``, and what it gains there; nothing without them."""
    loss = next((row.test for row in found.rows if row.key == found.winner.key), np.nan)
    if np.isnan(loss):
        return []
    words = f"On the rows of the test file: {found.measured.title} {figure(found.measured.shown(loss))}"
    if found.test_gain is not None and found.stands:
        gain, low, high = found.test_gain
        words += f", {signed(gain)} over {way(found.reference.key)}, interval {between(low, high)}"
    if found.floored is not None:
        words += floor_on_test(found.floored, found.winner.key)
    return [f"{words}.", *(f"In the test file: {sentence}" for sentence in found.test_differs)]


def how_sure(found: Answer) -> list[str]:
    """The interval of the gain of the repeated choice; under floors it says where the sureness of the shares stands."""
    if found.floored is None:
        return _choice(found)
    return ["How sure the floor is stands under EXPECT; this is about the choice of the model.", *_choice(found)]


def _choice(found: Answer) -> list[str]:
    # Under floors 0.5 is shown, but it is never a choice.
    ways = sum(row.usable and (found.floored is None or row.key != PLAIN) for row in found.rows)
    folds = len(found.choices)
    kept = Counter(found.choices)
    if ways == 1:
        return [f"Nothing was chosen: {way(found.reference.key)} is the only way that was tried."]
    if not found.repeated:
        return _choice_inside(found, ways)
    if set(kept) == {found.reference.key}:
        return [
            f"In all {folds} outer folds the choice among {ways} ways, repeated without the rows it is judged on, fell "
            f"on {way(found.reference.key)}."
        ]
    votes = listed([f"{way(key)} ({count} of {folds})" for key, count in kept.most_common()])
    chosen, reference = _chosen_by(found, kept[found.winner.key]), way(found.reference.key)
    unseen = f"{folds} outer folds in each of which it was repeated without the rows it is judged on"
    if not found.stands:
        return [f"The choice among {ways} ways was repeated in {folds} outer folds. It fell on {votes}.", *chosen]
    gain, interval = signed(found.gain.mean), between(*found.gain.interval())
    if is_nothing(found.gain):
        gains = f"does no better and no worse than {reference} in any of {unseen}"
        chosen = ["Other ways gave the same labels there, or others that are as good."]
    elif found.changes:
        gains = f"gains {gain}, 95 % interval {interval}, from {unseen}"
    else:
        sure = found.gain.interval()[0] > 0
        stay = f"but on all rows the choice fell on {reference}" if sure else "which is not surely above 0"
        gains = f"was repeated in {folds} outer folds without the rows it is judged on"
        chosen = [
            f"To follow it each time would have gained {gain} over {reference}, 95 % interval {interval}, {stay}."
        ]
    return [f"The choice among {ways} ways {gains}. It fell on {votes}.", *chosen]


def _choice_inside(found: Answer, ways: int) -> list[str]:
    """What is known where the budget had no room for outer folds: the rows that judge the choice were chosen on."""
    sentences = [
        f"The budget had no room to repeat the choice among {ways} ways in outer folds.",
        f"It fell on {way(found.chosen)}.",
    ]
    if found.chosen != found.reference.key and found.stands:
        gain, interval = signed(found.gain.mean), between(*found.gain.interval())
        sentences += [
            f"It gains {gain} over {way(found.reference.key)}, 95 % interval {interval}, on rows that the models did "
            "not see.",
            "It is the best of several on these rows, so on new rows it may gain a little less.",
        ]
    return sentences


def is_nothing(part: PairedDifference) -> bool:
    """Whether the differences are 0 in every fold, so that their interval is a point and says nothing."""
    return part.error == 0.0 and abs(part.mean) <= 1e-12


def _chosen_by(found: Answer, folds: int) -> list[str]:
    """A warning where few outer folds chose what is recommended on all rows; nothing where most of them did."""
    whole, words = len(found.choices), way(found.winner.key)
    if not found.changes or 2 * folds > whole:
        return []
    base = found.winner.key[0]
    same = sum(key[0] == base for key in found.choices)
    if base != found.reference.base and 2 * same > whole:
        kind = f"{folds or 'none'} of them decided as is recommended"
        return [f"{same} of {whole} outer folds chose {base_model(base).title}, and {kind}."]
    if folds:
        return [f"Only {folds} of {whole} outer folds chose {words}, so the gain is mostly that of other ways."]
    return [
        f"No outer fold chose {words}: it is the choice on all rows, and the gain above is that of the ways that the "
        "folds chose instead."
    ]


def why(found: Answer) -> list[str]:
    """The three parts of the gain over logistic regression at 0.5; under floors the one part over the reference."""
    if found.floored is not None:
        return [floor_reference(found.floored, found.reference.key)]
    explained = {
        "threshold": "the threshold: a tuned one for logistic regression instead of 0.5",
        "base": "the base model: the chosen one instead of logistic regression, both with tuned thresholds",
        "strategy": "the measure: the chosen way instead of a tuned threshold over the same base model",
    }
    if found.measured.orders:
        explained["base"] = "the base model: the chosen one instead of logistic regression"
    same = {
        "base": "the base model: every outer fold chose logistic regression",
        "strategy": "the measure: every outer fold chose a tuned threshold",
    }
    if not found.repeated:
        same = {
            "base": "the base model: logistic regression was chosen",
            "strategy": "the measure: a threshold was chosen",
        }
    sentences = []
    # The first place of a key is the base model, the second one the strategy.
    kept = {name for i, name in enumerate(same) if {key[i] for key in found.choices} == {found.reference.key[i]}}
    for name, part in found.parts.items():
        if name in kept:
            sentences.append(f"{signed(0.0)} by {same[name]}.")
        elif is_nothing(part):
            sentences.append(f"{signed(0.0)} in every {kind_of_folds(found)[:-1]} by {explained[name]}.")
        else:
            sentences.append(f"{signed(part.mean)} ({between(*part.interval())}) by {explained[name]}.")
    if found.changes and found.plain is not None and len(found.parts) > len(kept) + 1:
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
    threshold = found.winner.threshold
    if threshold is None:
        return "leave it as it is"
    if np.isinf(threshold):
        return "no threshold is better than to " + ("predict no positive" if threshold > 0 else "predict all positive")
    flat, plain = found.winner.flat, found.plain
    # Under floors what is to be expected is said of the threshold that is saved, so no other one is proposed.
    if found.floored is None and flat is not None and found.winner.probability and flat.low <= USUAL <= flat.high:
        tuned = f"than the tuned {threshold_text(threshold)}"
        if plain is not None and plain.mean < found.reference.mean:
            return f"its threshold may stay at {USUAL}, which is no worse {tuned}"
        return f"its threshold may stay at {USUAL}, which is at most {figure(flat.tolerance)} worse {tuned}"
    return f"move its threshold to {threshold_text(threshold)}"


def table(found: Answer, bold: bool = False) -> str:
    """The mean of the measure on the outer folds ± its standard error, for all strategies and base models."""
    bases, ways = ways_by_strategy(found)
    cells = [[_in_brackets(found, row) for row in rows] for rows in ways.values()]
    marks = np.array([[(base, strategy) == found.winner.key for base in bases] for strategy in ways])
    return grid([strategy_title(name) for name in ways], [base_model(base).title for base in bases], cells, marks, bold)


def legend(found: Answer, best: str) -> str:
    """What a table for a terminal holds, with what ``best`` says of the mark of the recommendation."""
    held = list(chain(*ways_by_strategy(found)[1].values()))
    broken = ["what stands in brackets breaks the floor"] if any(breaks(found, row) for row in held) else []
    none = ["- was not tried"] if any(row is None or not row.usable for row in held) else []
    text = "; ".join([found.measured.better, best, *broken, *none])
    return f"{found.measured.title}, mean ± standard error of the {kind_of_folds(found)} ({text}):"


def breaks(found: Answer, row: CandidateResult | None) -> bool:
    """Whether a way breaks the floors on all rows."""
    return row is not None and row.usable and found.floored is not None and row.key not in found.floored.able


def _in_brackets(found: Answer, row: CandidateResult | None) -> str:
    return f"({cell(found, row)})" if breaks(found, row) else cell(found, row)


def ways_by_strategy(found: Answer) -> tuple[list[str], dict[str, list[CandidateResult | None]]]:
    """The base models of which there are figures, and for each such strategy its rows over them."""
    usable, rows = [row for row in found.rows if row.usable], {row.key: row for row in found.rows}
    bases, strategies = (list(dict.fromkeys(row.key[i] for row in usable)) for i in (0, 1))
    return bases, {strategy: [rows.get((base, strategy)) for base in bases] for strategy in strategies}


def cell(found: Answer, row: CandidateResult | None) -> str:
    """The mean of the measure ± its standard error; a dash where there is none."""
    if row is None or not row.usable:
        return "-"
    error = found.paired(row.outer, np.zeros(len(row.outer))).error
    return f"{figure(found.measured.shown(row.mean))} ± {figure(error)}"
