"""An answer in words: what to do, what to expect under floors, how much it gains, how sure that is, and why."""

from collections import Counter

import numpy as np

from setwise.compare.answer import Answer
from setwise.compare.bases import BASES
from setwise.compare.figures import between, figure, listed, signed, threshold_text
from setwise.compare.floor_words import expected, floor_gain, floor_on_test, floor_reference
from setwise.compare.other_words import on_other_rows, train_on_all
from setwise.compare.paired import Paired
from setwise.compare.plan import PLAIN
from setwise.compare.way_words import EXPLAINED, way

USUAL = 0.5
"""The threshold of probabilities that classifiers have by themselves."""


def headline(found: Answer) -> dict[str, list[str]]:
    """The answer under its four titles, in the order of a reader's questions; under floors there are five."""
    return {
        "WHAT TO DO": what_to_do(found),
        **({} if found.floored is None else {"EXPECT": expected(found)}),
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
        f"{verb}: the best other way by the training rows, {way(other.key)}, gains {signed(gain.mean)} on rows that it "
        f"did not see, interval {between(*gain.interval())}.",
    ]


def how_much(found: Answer) -> list[str]:
    """The gain of the recommendation, in the measure."""
    title, shown = found.measured.title, found.measured.shown
    better, folds = found.measured.better, f"the mean of {len(found.own)} outer folds"
    if not found.stands:
        after = shown(float(found.own.mean()))
        sentences = [f"{title} {figure(after)} ({better}) on rows that the choice did not see, {folds}."]
    elif found.changes:
        before, after = shown(found.reference.mean), shown(float(found.own.mean()))
        sentences = [
            f"{title} {figure(after)} instead of {figure(before)} ({better}): {signed(found.gain.mean)} over "
            f"{way(found.reference.key)}, on rows that the choice did not see, {folds}."
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


def is_nothing(part: Paired) -> bool:
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
        elif is_nothing(part):
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
    flat, plain = found.winner.flat, found.plain
    # Under floors what is to be expected is said of the threshold that is saved, so no other one is proposed.
    if found.floored is None and flat is not None and found.winner.probability and flat.low <= USUAL <= flat.high:
        tuned = f"than the tuned {threshold_text(threshold)}"
        if plain is not None and plain.mean < found.reference.mean:
            return f"its threshold may stay at {USUAL}, which is no worse {tuned}"
        return f"its threshold may stay at {USUAL}, which is at most {figure(flat.tolerance)} worse {tuned}"
    return f"move its threshold to {threshold_text(threshold)}"
