"""An answer in words: what to do, how much it gains, how sure that is, and why; then the table and the details."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from setwise.compare.answer import Answer, Row
from setwise.compare.bases import BASES
from setwise.compare.figures import between, figure, listed, signed, threshold_text
from setwise.compare.floor_words import floor_gain, floor_on_test, floor_reference
from setwise.compare.measures import Measured
from setwise.compare.other_words import on_other_rows, train_on_all
from setwise.compare.paired import Paired
from setwise.compare.plan import PLAIN, Key
from setwise.compare.problem import Problem
from setwise.compare.text import grid

LEVERS: dict[str, tuple[str, str]] = {
    "as_it_is": ("at 0.5", "at 0.5"),
    "threshold": ("tuned threshold", "with a tuned threshold"),
    "label_thresholds": ("threshold for each label", "with a tuned threshold for each label"),
    "class_weight": ("weighted positives", "fitted to weighted positives, with a tuned threshold"),
    "decision": ("least expected loss", "decided by the least expected loss"),
    "stack": ("trained on top", "with a linear model on top that is trained for the measure"),
    "gfm": ("F-maximizer", "decided by the general F-maximizer"),
    "ramp": ("ramp on top", "with a ramp on top that descends from its threshold"),
    "order": ("order of scores", "in the order of its scores"),
}
"""For each lever its name in a table, and the words for it behind the name of a base model."""


USUAL = 0.5
"""The threshold of probabilities that classifiers have by themselves."""

EXPLAINED = {
    "as_it_is": ": what has a probability of at least 0.5 is positive",
    "decision": ": each set gets the labels that lose the least on average, by its calibrated probabilities",
    "gfm": ": each row gets the labels of the greatest expected measure, by models of the number of its labels",
    "ramp": ": a linear function of the features and the log-odds decides, trained for {measure} from the threshold on",
    "stack": ": a linear function of the features and the log-odds decides, trained for {measure}",
}
"""What the levers without a threshold do, behind the words for a way."""


def lever_title(lever: str) -> str:
    """The name of a lever in a table."""
    return LEVERS[lever][0] if lever in LEVERS else lever.replace("_", " ")


def way(key: Key) -> str:
    """The words for a way, as ``boosted trees with a tuned threshold``."""
    base, lever = key
    phrase = LEVERS[lever][1] if lever in LEVERS else f"with {lever.replace('_', ' ')}"
    return f"{BASES[base].title} {phrase}"


def headline(found: Answer) -> dict[str, list[str]]:
    """The answer under its four titles, in the order of a reader's questions."""
    return {
        "WHAT TO DO": what_to_do(found),
        "HOW MUCH": how_much(found),
        "HOW SURE": how_sure(found),
        "WHY": why(found),
    }


def what_to_do(found: Answer) -> list[str]:
    """The verdict in a sentence or two, and where rows of a file were left out, how to train on all of them."""
    return [*_verdict(found), *train_on_all(found)]


def _verdict(found: Answer) -> list[str]:
    first = BASES[found.reference.base].title
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
    verb = "Nothing beats it clearly" if beats or found.chosen != found.reference.key else "Nothing beats it"
    return [
        *sentences,
        f"{verb}: the best other way by the training rows, {way(other.key)}, {signed(gain.mean)}, interval "
        f"{between(*gain.interval())}.",
    ]


def how_much(found: Answer) -> list[str]:
    """The gain of the recommendation, in the measure."""
    title, shown = found.measured.title, found.measured.shown
    if not found.stands:
        after = shown(float(found.own.mean()))
        sentences = [f"{title} {figure(after)} ({found.measured.better}) on rows that the choice did not see."]
    elif found.changes:
        before, after = shown(found.reference.mean), shown(float(found.own.mean()))
        sentences = [
            f"{title} {figure(after)} instead of {figure(before)} ({found.measured.better}): {signed(found.gain.mean)} "
            f"over {way(found.reference.key)}, on rows that the choice did not see."
        ]
    else:
        sentences = [f"{title} {figure(shown(found.reference.mean))} ({found.measured.better}) on rows it did not see."]
        if found.plain is not None:
            gain = found.paired(found.plain.outer, found.reference.outer)
            usual = f"the usual 0.5 ({figure(shown(found.plain.mean))})"
            worse = f"On these rows the tuned threshold is worse than {usual} by {figure(-gain.mean)}."
            sentences.append(
                f"The tuned threshold gains {signed(gain.mean)} over {usual}." if gain.mean >= 0 else worse
            )
    reference = way(found.reference.key)
    return [*sentences, *floor_gain(found), *on_test_file(found), *on_other_rows(found, reference)]


def on_test_file(found: Answer) -> list[str]:
    """What the recommendation reaches on the rows of ``--test``, and what it gains there; nothing without them."""
    loss = next((row.test for row in found.rows if row.key == found.winner.key), np.nan)
    if np.isnan(loss):
        return []
    words = f"On the rows of the test file: {found.measured.title} {figure(found.measured.shown(loss))}"
    if found.test_gain is not None and found.stands:
        gain, low, high = found.test_gain
        words += f", {signed(gain)} over {way(found.reference.key)}, interval {between(low, high)}"
    return [f"{words}{floor_on_test(found)}."]


def how_sure(found: Answer) -> list[str]:
    """The interval of the gain of the repeated choice."""
    # Under floors 0.5 is shown, but it is never a choice.
    ways = sum(row.usable and (found.floored is None or row.key != PLAIN) for row in found.rows)
    folds = len(found.choices)
    kept = Counter(found.choices)
    if ways == 1:
        return [f"Nothing was chosen: {way(found.reference.key)} is the only way that was tried."]
    if set(kept) == {found.reference.key}:
        return [
            f"In all {folds} outer folds the choice among {ways} ways, repeated without the rows it is judged on, fell "
            f"on {way(found.reference.key)}."
        ]
    votes = listed([f"{way(key)} ({count} of {folds})" for key, count in kept.most_common()])
    chosen = _chosen_by(found, kept[found.winner.key])
    if not found.stands:
        return [f"The choice among {ways} ways was repeated in {folds} outer folds. It fell on {votes}.", *chosen]
    repeated = f"{folds} outer folds in each of which it was repeated without the rows it is judged on"
    gains = f"gains {signed(found.gain.mean)}, 95 % interval {between(*found.gain.interval())}, from {repeated}"
    if _is_zero(found.gain):
        gains = f"does no better and no worse than {way(found.reference.key)} in any of {repeated}"
    return [f"The choice among {ways} ways {gains}. It fell on {votes}.", *chosen]


def _is_zero(part: Paired) -> bool:
    """Whether all differences are 0, so that their interval is a point and says nothing."""
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
        return [f"{same} of {whole} outer folds chose {BASES[base].title}, and {kind}."]
    if folds:
        return [f"Only {folds} of {whole} outer folds chose {words}, so the gain is mostly that of other ways."]
    return [
        f"No outer fold chose {words}: it is the choice on all rows, and the gain above is that of the ways that the "
        "folds chose instead."
    ]


def why(found: Answer) -> list[str]:
    """The three parts of the gain over logistic regression at 0.5; under floors the one part over the reference."""
    if not found.stands:
        return [floor_reference(found)]
    explained = {
        "threshold": "the threshold: a tuned one for logistic regression instead of 0.5",
        "base": "the base model: the chosen one instead of logistic regression, both with tuned thresholds",
        "lever": "the measure: the chosen way instead of a tuned threshold over the same base model",
    }
    if found.measured.orders:
        explained["base"] = "the base model: the chosen one instead of logistic regression"
    if found.floored is not None:
        explained["base"] = "the base model: the chosen one instead of logistic regression, both under the floor"
    same = {
        "base": "the base model: every outer fold chose logistic regression",
        "lever": "the measure: every outer fold chose a tuned threshold",
    }
    sentences = []
    # The first place of a key is the base model, the second one the lever.
    kept = {name for i, name in enumerate(same) if {key[i] for key in found.choices} == {found.reference.key[i]}}
    for name, part in found.parts.items():
        if name in kept:
            sentences.append(f"{signed(0.0)} by {same[name]}.")
        elif _is_zero(part):
            sentences.append(f"{signed(0.0)} in every outer fold by {explained[name]}.")
        else:
            sentences.append(f"{signed(part.mean)} ({between(*part.interval())}) by {explained[name]}.")
    if found.changes and found.plain is not None and found.floored is None and len(found.parts) > len(kept) + 1:
        gain = found.paired(found.plain.outer, found.own)
        sentences.append(f"Together {signed(gain.mean)} over logistic regression at 0.5.")
    return sentences


def _recommended(found: Answer) -> str:
    """The recommended way with its threshold and its weights."""
    text, winner = way(found.winner.key), found.winner
    if found.measured.orders:
        return f"{BASES[winner.key[0]].title}, and order rows by their scores"
    if winner.weight != 1.0:
        text += f", with a weight of {winner.weight:.2g} for each positive row"
    if winner.threshold is None:
        return f"{text}{EXPLAINED.get(winner.key[1], '').format(measure=found.measured.title)}"
    return f"{text}: {_positive_where(found)}"


def _positive_where(found: Answer) -> str:
    """Where a row is positive, in the units of the model."""
    winner, unit = found.winner, "probability" if found.winner.probability else "score"
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
    flat = found.winner.flat
    if flat is not None and found.winner.probability and flat.low <= USUAL <= flat.high:
        less = f"at most {figure(flat.tolerance)} worse than the tuned {threshold_text(threshold)}"
        return f"its threshold may stay at {USUAL}, which is {less}"
    return f"move its threshold to {threshold_text(threshold)}"


def table(found: Answer, bold: bool = False) -> str:
    """The mean of the measure on the outer folds ± its standard error, for all levers and base models."""
    bases, levers = axes_of(found)
    rows = {row.key: row for row in found.rows}
    cells = [[cell(found, rows.get((base, lever))) for base in bases] for lever in levers]
    marks = np.array([[(base, lever) == found.winner.key for base in bases] for lever in levers])
    return grid([lever_title(lever) for lever in levers], [BASES[base].title for base in bases], cells, marks, bold)


def axes_of(found: Answer) -> tuple[list[str], list[str]]:
    """The base models and the levers of which there are figures."""
    usable = [row for row in found.rows if row.usable]
    return list(dict.fromkeys(row.base for row in usable)), list(dict.fromkeys(row.lever for row in usable))


def cell(found: Answer, row: Row | None) -> str:
    """The mean of the measure ± its standard error; a dash where there is none."""
    if row is None or not row.usable:
        return "-"
    error = found.paired(row.outer, np.zeros(len(row.outer))).error
    return f"{figure(found.measured.shown(row.mean))} ± {figure(error)}"


def details(found: Answer) -> list[str]:
    """Sentences on the threshold, the constant, the saved file, and what was left out."""
    sentences, winner = [], found.winner
    if winner.flat is not None and winner.flat.low < winner.flat.high:
        low, high = (threshold_text(end) for end in (winner.flat.low, winner.flat.high))
        if low == high:
            low, high = f"{winner.flat.low:.4g}", f"{winner.flat.high:.4g}"
        sentences.append(
            f"From the threshold {low} to {high}, {found.measured.title} is at most {figure(winner.flat.tolerance)} "
            f"worse{'' if found.floored is None else ' and the floor is kept'}, out of fold on all rows."
        )
    if winner.constant is not None:
        sentences.append(f"C of {BASES[winner.key[0]].title}: {winner.constant:g}, from {_grid(found)}.")
    if winner.coefficients:
        sentences.append(coefficients_text(winner.coefficients))
    if found.saved:
        sentences.append(f"Saved in {found.saved}. Next: setwise predict {found.saved} new.csv --out labels.csv")
    return [*sentences, *found.problem.notes, *found.notes]


def coefficients_text(coefficients: Mapping[str, float], most: int = 10) -> str:
    """The largest coefficients by the names of their features."""
    largest = sorted(coefficients.items(), key=lambda pair: -abs(pair[1]))
    shown = ", ".join(f"{name} {value:+.2f}" for name, value in largest[:most])
    rest = f"; {len(largest) - most} smaller ones are in results.json" if len(largest) > most else ""
    return f"Coefficients, for features of standard deviation 1: {shown}{rest}."


def refusals(found: Answer) -> list[str]:
    """What was refused, each reason once; what could never fit this kind of data is not missed, and not listed."""
    reasons: dict[str, list[str]] = {}
    for row in found.rows:
        if row.refusal and row.lever not in foreign(found.problem, found.measured):
            # A reader knows a lever by its title, not by its name.
            reason = PLAINLY.get(row.lever) or row.refusal.rstrip(".").replace(f"{row.lever} refuses ", "not for ", 1)
            reasons.setdefault(reason, []).append(lever_title(row.lever))
    return [f"Left out: {listed(list(dict.fromkeys(names)))}, {reason}." for reason, names in reasons.items()]


PLAINLY = {
    "ramp": "because it needs a dense table of numbers without too many columns",
    "class_weight": "because this model cannot be fitted to weighted rows here",
}
"""Why a lever that could fit this kind of data did not, for readers who do not know its name."""


def foreign(problem: Problem, measured: Measured) -> tuple[str, ...]:
    """The levers that are made for other kinds of data or of measures."""
    if measured.orders:
        return tuple(name for name in LEVERS if name != "order")
    if problem.many:
        return ("class_weight", *(("gfm", "stack") if measured.average != "samples" else ()))
    return ("gfm", "label_thresholds", *(("stack",) if problem.groups is None else ()))


def _grid(found: Answer) -> str:
    return ", ".join(f"{c:g}" for c in found.plan.grid)
