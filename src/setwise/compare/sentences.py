"""An answer in words: what to do, what to expect, how much it gains, how sure that is, and why."""

from collections import Counter
from collections.abc import Mapping
from shlex import quote
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from setwise.compare.answer import Answer, CandidateResult, PairedDifference
from setwise.compare.fits import rows_of
from setwise.compare.floor_sentences import expected, floor_gain, floor_warnings, price, shares_text
from setwise.compare.plan import OF_CLASSES, PLAIN, REFERENCE, TRIED, Key, NamedLoss, base_model
from setwise.compare.problem import Origin, Problem
from setwise.compare.similar import FEWEST, FEWEST_OF_LABEL, are_few
from setwise.compare.text import between, figure, grid, listed, percent, threshold_text
from setwise.core.checks import Ints, Values
from setwise.datasets.columns import Date
from setwise.estimators.selection import Strategy
from setwise.estimators.selection.choice import BY_COSTS
from setwise.estimators.selection.floors import FlooredThreshold, FloorShares
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
    if problem.many or problem.several:
        means = problem.each(problem.y.ravel() if problem.several else problem.y).mean(axis=0)
        form = "{} {}" if problem.many else "{} ({})"
        shares = [form.format(name, percent(share)) for name, share in zip(problem.classes, means, strict=True)]
        rest = [f"{len(shares) - MOST_LABELS} more"] if len(shares) > MOST_LABELS else []
        what = "Shares of the rows that have a label" if problem.many else f"The {n:,} rows have {len(means)} classes"
        return f"{what}: {listed([*shares[:MOST_LABELS], *rest])}."
    count, origin = int(problem.y.sum()), problem.origin or Origin()
    share = float(np.average(problem.y.ravel(), weights=problem.weights))
    rows = f"{count:,} of {n:,} rows ({percent(share)}{'' if problem.weights is None else ' of the file'})."
    if tuple(problem.classes) == UNNAMED:
        return f"Positive are {rows}"
    other, positive = problem.classes
    name = f"{origin.target} = " if origin.target else ""
    default = f" This is the default; change it with --positive {quote(other)}."
    return f"Positive is {name}{positive}: {rows}{default if origin.by_default else ''}"


def dates(found: Answer) -> list[str]:
    """A warning where folds are random and a column is a date; nothing where later rows judge, or further ones."""
    names = [column.name for column in found.problem.columns if isinstance(column, Date) and not column.clock]
    if not names or not np.isnan(found.rows[0].test) or found.problem.times is not None:
        return []
    begin = f"Dates are features like others here, and folds are random: {listed(list(map(repr, names)))}."
    let = f"let later rows judge (--time-column {quote(names[0])})"
    return [f"{begin} If new rows come later, {let}, or leave dates out (--drop {quote(','.join(names))})."]


def data_of(problem: Problem) -> dict[str, Any]:
    """The data of a problem for results.json: its file and rows, its target, and what is positive."""
    origin = problem.origin or Origin(rows=len(problem.y))
    found = {"file": origin.file, "rows": len(problem.y), "rows_of_file": origin.rows, "target": origin.target}
    if problem.several:
        return {**found, "class_rows": dict(zip(problem.classes, np.bincount(problem.y.ravel()).tolist(), strict=True))}
    if problem.many:
        return {**found, "label_shares": dict(zip(problem.classes, problem.y.mean(axis=0).tolist(), strict=True))}
    positive = {"positive": problem.classes[1], "positive_by_default": origin.by_default}
    return {**found, **positive, "positive_rows": int(problem.y.sum())}


def details(found: Answer) -> list[str]:
    """The details: the coefficients, the saved file, and what was left out."""
    sentences, winner = list[str](), found.winner
    if winner.coefficients:
        largest = sorted(winner.coefficients.items(), key=lambda pair: -abs(pair[1]))[:COEFFICIENTS]
        shown = ", ".join(f"{name} {value:+.2f}" for name, value in largest)
        sentences.append(f"Largest coefficients, for features of standard deviation 1: {shown}.")
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
    others = {name for name in TRIED if (name in OF_CLASSES) != bool(task.classes)}
    # Weights by costs are for costs alone, which need not be asked of it.
    others |= set() if isinstance(measured.loss, RowCosts) else {"cost_weight"}
    return tuple(name for name, kind in TRIED.items() if name in others or kind().refuses_data(task))


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
    gain = "" if key == first or first not in held.losses else amount(held.losses[first] - held.losses[key])
    return [_on_further_rows(found, where, held.losses[key], gain, held.reached)]


def _on_further_rows(found: Answer, where: str, loss: float, gain: str, reached: Mapping[Key, FloorShares]) -> str:
    """What the recommendation reaches on rows that no fit has seen, with its ``gain`` there in words, or ""."""
    words, key = f"{where}: {found.measured.title} {figure(found.measured.shown(loss))}", found.winner.key
    if gain and found.stands:
        words += f", {gain} than {way(found.reference.key)}"
    if found.plan.floor is not None and key in reached:
        verdict = "keeps" if reached[key].kept else "breaks"
        words += f", with {shares_text(found.plan.floor, reached[key])}, which {verdict} the {found.plan.floor.kind}"
    return f"{words}."


USUAL = 0.5
"""The threshold of probabilities that classifiers have by themselves."""

NOT_REPEATED = (
    "The figures may be too good: there was no time to repeat the choice in enough outer folds, so they are from rows "
    "that it has seen."
)


def verdict(found: Answer) -> str:
    """What to do, in at most twelve words."""
    winner, stay = found.winner, f"Stay with {base_model(found.reference.base).title}"
    if suspicious(found) if found.changes else _hardly_wrong(found):
        then = f"change to {base_model(winner.key[0]).title}" if found.changes else f"s{stay[1:]}"
        return f"Check the data first (see below); then {then}."
    if found.changes:
        at = winner.threshold
        if winner.key[1] == FlooredThreshold.name and winner.weight == 1.0 and at not in (None, np.inf, -np.inf):
            return f"Change to {base_model(winner.key[0]).title} with the threshold {threshold_text(at)}."
        return f"Change to {way(winner.key)}."
    if by_costs(found):
        return f"{stay}, and decide each row by its costs."
    if winner.threshold is not None and np.isinf(winner.threshold):
        return f"{stay}, but {'predict no positive' if winner.threshold > 0 else 'predict every row positive'}."
    if moves(found):
        return f"{stay}, but move its threshold to {threshold_text(winner.threshold)}."
    others = any(row.usable and row.key != PLAIN for row in found.rows[1:])
    return f"{stay}. Nothing {'we tried is clearly better' if others else 'else was tried'}."


def by_costs(found: Answer) -> bool:
    """Whether the advice is to stay with logistic regression, which decides each row by its own costs."""
    return found.reference.strategy == BY_COSTS and not found.changes


def suspicious(found: Answer) -> bool:
    """Whether a column may give the label away, or rows are known from similar ones."""
    told = any(
        one.kind == "similar" or (one.kind == "label" and one.action == "none") for one in found.problem.findings
    )
    return told or _hardly_wrong(found)


def _hardly_wrong(found: Answer) -> bool:
    """Whether nearly all rows are labeled right out of fold, which real data seldom allow."""
    table = confusion(found)
    return table is not None and bool(table.sum() - np.trace(table) <= PERFECT * table.sum(axis=1).min())


def moves(found: Answer) -> bool:
    """Whether logistic regression should have another threshold than 0.5, where the advice is to stay with it."""
    winner, flat, plain = found.winner, found.winner.flat, found.plain
    # Under floors what is to be expected is said of the threshold that is saved, so no other one is proposed.
    is_flat = winner.probability and found.floored is None and flat is not None and flat.low <= USUAL <= flat.high
    gains = plain is None or plain.mean > found.reference.mean + 1e-12
    return gains and not is_flat and winner.threshold is not None


def number(found: Answer) -> tuple[str, str]:
    """The measure of what is recommended, and what it was before."""
    shown, drawn = found.measured.shown, comparison(found)
    reached = float(found.own.mean()) if found.changes else found.reference.mean
    is_new = drawn is not None and drawn[2].startswith("That ") and drawn[0].mean > 0.0
    before = f"instead of {figure(shown(reached + drawn[0].mean))} " if drawn and is_new else ""
    return f"{found.measured.title} {figure(shown(reached))}", f"{before}({found.measured.better})"


def comparison(found: Answer) -> tuple[PairedDifference, Values, str] | None:
    """The gain behind the verdict, the gains of the folds, and a sentence; None where there is nothing to compare."""
    first, other, plain = found.reference, found.best_other, found.plain
    if found.changes and found.stands:
        before, after, what, than = first.outer, found.own, "That", f" than {way(first.key)}"
    elif moves(found) and plain is not None:
        before, after, what, than = plain.outer, first.outer, "That", " than at 0.5"
    elif by_costs(found):
        before, after, what, than = found.row(REFERENCE).outer, first.outer, "That", " than with a tuned threshold"
    elif found.stands and other is not None:
        before, after, what, than = first.outer, other.outer, f"The best alternative, {way(other.key)},", ""
    else:
        return None
    gain = found.paired(before, after)
    low, high = gain.interval()
    chance = ", which may be chance" if low <= 0.0 <= high and gain.error > 0.0 else ""
    return gain, before - after, f"{what} is {better(gain, than)}{chance}."


PERFECT = 0.02
"""Up to so many mistakes, as a share of the rarer label, are suspicious of a leak."""


def warnings(found: Answer) -> list[str]:
    """What matters for trust in the answer, a short sentence each; the details have it in full."""
    notes, kinds = [*found.problem.notes, *found.notes], dict[tuple[str, str], list[str]]()
    for one in found.problem.findings:
        asks = one.action == "none" and " --" in one.sentence
        kinds.setdefault((one.kind, one.action), []).append(one.sentence.rstrip(".") if asks else _begin(one.sentence))
    said = []
    for (_, action), same in kinds.items():
        done = f" ({action})" if action in ("left out", "kept together") else ""
        said.append(f"{same[0]}{done}{f', and {len(same) - 1} more' if same[1:] else ''}")
    asked = [note.rstrip(".") for note in notes if " write " in note]
    said += [f"(1 of {len(asked)}) {asked[0]}" if asked[1:] else asked[0]] if asked else []
    said += [] if found.floored is None else floor_warnings(found, found.floored)
    if _hardly_wrong(found):
        said.append("Hardly a mistake out of fold. Check that no column is known only after the label")
    # What stands in lines that were not read is not in the figures.
    further = [] if found.repeated else [NOT_REPEATED.partition(",")[0]]
    further += [note for note in notes if "Left out to " in note or " lines of " in note]
    further += [*dates(found), *found.test_differs[:1]]
    told = found.problem.many or found.problem.groups is not None or found.problem.times is not None
    if found.changes and not told and are_few(found.problem.y.ravel()):
        further.append(f"Copies with changes are not looked for below {FEWEST} rows, or {FEWEST_OF_LABEL} of a label")
    return [f"{one}." for one in (*said, *map(_begin, further))]


def _begin(text: str) -> str:
    """The first sentence of a text, without its point."""
    return text.split(". ")[0].rstrip(".")


def confusion(found: Answer, weights: Values | None = None) -> Values | None:
    """The rows of each class that are called each class, out of fold, (k, k); None where no labels are known."""
    if found.winner.labels is None or found.measured.orders:
        return None
    called = np.ravel(found.winner.labels).astype(np.int64)
    classes = range(found.problem.several or 2)
    return np.asarray(
        confusion_matrix(found.problem.y.ravel(), called, labels=classes, sample_weight=weights), dtype=np.float64
    )


def thousand(table: Values) -> Ints:
    """The cells of a confusion matrix in 1,000 rows: whole numbers that add up to 1,000, each off by less than 1."""
    exact = 1000.0 * table / table.sum()
    whole: Ints = np.floor(exact).astype(np.int64)
    largest = np.argsort((whole - exact).ravel(), kind="stable")
    whole.flat[largest[: 1000 - whole.sum()]] += 1
    return whole


def of_thousand(table: Values, problem: Problem) -> list[str]:
    """What is right and wrong in 1,000 rows, from a confusion matrix."""
    rows, classes = thousand(table), problem.classes
    if not problem.several:
        (_, false), (missed, hits) = rows.tolist()
        told = f"Of 1,000 {'labels' if problem.many else 'rows'} {hits + missed} are positive"
        return [f"{told}: {hits} are found and {missed} missed. {false} others are called positive."]
    wrong = rows - np.diag(np.diag(rows))
    pairs = [(int(wrong[i, j]), classes[i], classes[j]) for i, j in np.argwhere(wrong > 0).tolist()]
    most = [f"{true} called {called} ({n})" for n, true, called in sorted(pairs, key=lambda one: -one[0])]
    told = f"Of 1,000 rows {np.trace(rows)} are right."
    return [f"{told} Most frequent mistakes: {listed(most[:MISTAKES])}." if most else told]


MISTAKES = 3
"""So many kinds of mistakes among several classes are told; all of them are in the table of the report."""


def figures(found: Answer) -> list[str]:
    """What is reached on further rows, in 1,000 rows and at other thresholds, and how good the probabilities are."""
    winner, curve, paid = found.winner, found.curves.get(found.winner.key[0]), in_money(found)
    # Labels keep the columns that are ids.
    ids = (found.problem.origin or Origin()).ids
    keep = f" --keep {quote(','.join(ids))}" if ids else ""
    following = f"setwise predict {found.saved} new.csv{keep} --out labels.csv"
    saved = [f"Saved in {found.saved}. Next: {following}"] if found.saved else []
    told = [*ahead(found), *power(found), *saved, *on_test_file(found)[:1], *on_other_rows(found), *paid]
    if found.floored is not None:
        told += [*expected(found, found.floored), *price(found, found.floored)]
    elif not paid and (table := confusion(found, found.problem.weights)) is not None:
        told += of_thousand(table, found.problem)
    told += [] if winner.threshold is None else [_positive_where(found)]
    if curve is not None and curve.bins is not None:
        off = figure(float(curve.bins[2] @ np.abs(curve.bins[0] - curve.bins[1])))
        told.append(f"Probabilities of {base_model(winner.key[0]).title} are off by {off} on average.")
    return told


def headline(found: Answer) -> dict[str, list[str]]:
    """The details under their titles; a title with nothing to say is left out."""
    told = {
        "DATA": [*(finding.sentence for finding in found.problem.findings), *dates(found)],
        "TEST FILE": on_test_file(found)[1:],
        "FLOOR": [] if found.floored is None else floor_gain(found, found.floored),
        "HOW SURE": how_sure(found),
        "WHY": why(found),
    }
    return {title: sentences for title, sentences in told.items() if sentences}


def heading(found: Answer) -> str:
    """The data and the measure, with the floors that it is judged under."""
    floor = "" if found.plan.floor is None else f" at {found.plan.floor.words}"
    return f"{found.problem.name}: {found.measured.title}{floor}"


def better(part: PairedDifference, than: str = "") -> str:
    """How much better or worse ``than`` something, with the interval, which says nothing where all folds agree."""
    if part.error == 0.0:
        return f"{amount(part.mean)}{than} in every fold"
    return f"{amount(part.mean)}{than} (95 % interval {between(*part.interval())})"


def amount(gain: float) -> str:
    """A gain in words, as ``.016 better``, ``.001 worse`` or ``no better``."""
    return "no better" if abs(gain) < 5e-4 else f"{figure(abs(gain))} {'better' if gain > 0 else 'worse'}"


def ahead(found: Answer) -> list[str]:
    """The best alternative, where the bar compares something else and it is ahead by more than the error."""
    other = found.best_other
    if found.changes or other is None or not found.stands or not (moves(found) or by_costs(found)):
        return []
    gain = found.paired(found.reference.outer, other.outer)
    known = gain.mean > gain.error and gain.interval()[0] <= 0.0
    return [f"Ahead, but not clearly: {way(other.key)}, {better(gain)}."] if known else []


def in_money(found: Answer) -> list[str]:
    """What the cells of the confusion matrix cost in 1,000 rows, by labels out of fold; nothing without costs."""
    costs, labels = found.measured.on(found.problem.X), found.winner.labels
    if not isinstance(costs, RowCosts) or labels is None:
        return []
    truth, called = found.problem.y.ravel() == 1, np.ravel(labels) == 1
    paid = np.where(called, *reversed(costs.of_labels(truth)))
    cells = {"hits": truth & called, "alarms": ~truth & called, "misses": truth & ~called}
    told = [
        f"{figure(1000.0 * rows.mean())} {name} cost {figure(float(paid[rows].sum()))}"
        for name, rows in (cells | {"right negatives": ~truth & ~called}).items()
        if paid[rows].any()
    ]
    # The measure above is that of outer folds, which tune their own.
    by = "rule" if found.winner.threshold is None else "threshold"
    return [f"Of 1,000 rows, with one {by} for all folds: {listed(told)}."] if told else []


def on_test_file(found: Answer) -> list[str]:
    """What the recommendation reaches on the rows of ``--test``, and what it gains there; nothing without them."""
    if np.isnan(found.rows[0].test):
        return []
    loss, reached = found.row(found.winner.key).test, {} if found.floored is None else found.floored.test
    gain = "" if found.test_gain is None else f"{amount(found.test_gain[0])} ({between(*found.test_gain[1:])})"
    first = _on_further_rows(found, "On the rows of the test file", loss, gain, reached)
    return [first, *(f"In the test file: {sentence}" for sentence in found.test_differs)]


def how_sure(found: Answer) -> list[str]:
    """What the folds that judge chose, and the gain of that choice with its interval."""
    # Under floors 0.5 is shown, but it is never a choice.
    ways = sum(row.usable and (found.floored is None or row.key != PLAIN) for row in found.rows)
    reference, folds = way(found.reference.key), len(found.choices)
    if ways == 1:
        return [f"Nothing was chosen: only {reference} was tried."]
    votes = listed([f"{way(key)} ({count} of {folds})" for key, count in Counter(found.choices).most_common()])
    chosen = f"the folds chose {votes}" if found.repeated else f"the choice is {way(found.chosen)}"
    sentences = [f"Of {ways} pairs of a model and a rule, {chosen}."]
    if found.stands and set(found.choices) != {found.reference.key}:
        sentences.append(f"This choice is {better(found.gain, f' than {reference}')}.")
    if not found.changes and (other := found.best_other) is not None:
        gain = found.paired(found.reference.outer, other.outer)
        sentences += [f"The best alternative on the training rows, {way(other.key)}, is {better(gain)}.", *power(found)]
    return sentences if found.repeated else [*sentences, NOT_REPEATED]


def power(found: Answer) -> list[str]:
    """The smallest gain over the reference that these rows could have shown; nothing where one was shown."""
    other = found.best_other
    if found.changes or other is None:
        return []
    # Folds that choose the reference show nothing of what could be seen, so the wider interval tells it.
    gains = (found.gain, found.paired(found.reference.outer, other.outer))
    wide = max(high - low for low, high in (gain.interval() for gain in gains))
    return [f"On {len(found.problem.y):,} rows a gain below {figure(wide / 2.0)} cannot be shown."]


def why(found: Answer) -> list[str]:
    """The parts of the gain over logistic regression at 0.5; under floors why there is none, if there is none."""
    if found.floored is not None:
        floor = found.floored.floor.words
        return [] if found.stands else [f"Logistic regression keeps {floor} at no threshold, so no gain is reported."]
    usual = usual_rule(found)
    by = {
        "threshold": f"{usual[0].upper()}{usual[1:]} instead of 0.5, for logistic regression",
        "base": "The chosen model instead of logistic regression",
        "strategy": f"The chosen rule instead of {usual}",
    }
    return [f"{by[name]}: {better(part)}." for name, part in found.parts.items()]


def usual_rule(found: Answer) -> str:
    """The words for the rule of the reference."""
    if found.measured.classes:
        return "the most probable class"
    return "the costs of each row" if found.reference.strategy == BY_COSTS else "a tuned threshold"


def _positive_where(found: Answer) -> str:
    """Where a row is positive, in the units of the model, and how far the threshold may move."""
    winner, unit, flat = found.winner, found.winner.unit, found.winner.flat
    if np.ndim(winner.threshold):
        each = [f"{name} {threshold_text(t)}" for name, t in zip(found.problem.classes, winner.threshold, strict=True)]
        return f"A label is positive at a {unit} of at least its threshold: {listed(each)}."
    if np.isinf(winner.threshold):
        return f"{'No' if winner.threshold > 0 else 'Every'} row is called positive."
    what, at = "label" if found.problem.many else "row", threshold_text(winner.threshold)
    words = f"A {what} is positive at a {unit} of {at} or more"
    words += "" if winner.weight == 1.0 else f"; each positive row has the weight {winner.weight:.2g} in the fit"
    if flat is None or threshold_text(flat.low) == threshold_text(flat.high):
        return f"{words}."
    kept = "" if found.floored is None else f" and the {found.floored.floor.kind} holds"
    span = f"{threshold_text(flat.low)} to {threshold_text(flat.high)}"
    return f"{words}. From {span} {found.measured.title} is at most {figure(flat.tolerance)} worse{kept}."


def table(found: Answer, most: int | None = None) -> str:
    """The mean of the measure on the outer folds ± its standard error, for all strategies and base models.

    Below the tuned threshold stand its recall and its precision out of fold. Of more than ``most`` lines those of the
    recommendation, the reference, 0.5 and the best alternative are left before others.
    """
    bases, ways = ways_by_strategy(found)
    reached = [found.curves[base].tuned if base in found.curves else None for base in bases]
    if most is not None:
        other = found.best_other
        first = [found.winner.key[1], found.reference.strategy, PLAIN[1], *([other.strategy] if other else [])]
        kept = list(dict.fromkeys(name for name in (*first, *ways) if name in ways))
        ways = {name: ways[name] for name in ways if name in kept[: max(most - 3, 3)]}
    lines = list[tuple[str, list[str], list[bool]]]()
    for name, rows in ways.items():
        marks = [(base, name) == found.winner.key for base in bases]
        lines.append((WAYS[name].title, [cell(found, row) for row in rows], marks))
        tuned = REFERENCE[1] if found.reference.strategy == BY_COSTS else found.reference.strategy
        for k in range(2 if name == tuned and any(one is not None for one in reached) else 0):
            shares = ["-" if one is None else f"{figure(one[k])}{' ' * 7}" for one in reached]
            lines.append((f"  its {('recall', 'precision')[k]}", shares, [False] * len(bases)))
    names, texts, marked = zip(*lines, strict=True)
    return grid(names, [base_model(base).title for base in bases], texts, np.array(marked))


def legend(found: Answer) -> str:
    """What the table holds."""
    kind = "" if found.plan.floor is None else found.plan.floor.kind
    broken = f"; brackets: breaks the {kind}" if any(breaks(found, row) for row in found.rows) else ""
    each = figure(found.measured.shown(float(found.own.mean()))) if found.changes else ""
    told = [one for one in found.rows if one.key == found.winner.key]
    differs = each and told and each != figure(found.measured.shown(told[0].mean))
    chose = f"; {each}: what each fold chose" if differs else ""
    return f"{found.measured.title}, mean ± standard error of the folds (star: recommended{broken}{chose}):"


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
