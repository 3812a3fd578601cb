"""Sentences of an answer under floors of recall and precision."""

import numpy as np

from setwise.compare.answer import Answer
from setwise.compare.figures import figure, listed
from setwise.compare.floors import Reached
from setwise.compare.plan import PLAIN


def floor_gain(found: Answer) -> list[str]:
    """What the recommendation reaches on all rows and on the outer test parts, and what the usual 0.5 would reach."""
    held, floor = found.floored, found.plan.floor
    if held is None or floor is None:
        return []
    key = found.winner.key
    folds = [reached[key] for reached in held.folds if key in reached]
    kept = sum(reached.kept for reached in folds)
    sentences = [
        f"The threshold keeps {floor.words} out of fold on all rows, with {_shares(found, held.all_rows[key])}.",
        f"On the test parts of the outer folds it has {_means(found, folds)} on average, and {kept} of {len(folds)} of "
        "them kept the floor.",
    ]
    usual = held.all_rows.get(PLAIN)
    if usual is not None:
        verdict = "keeps the floor too" if usual.kept else "breaks the floor"
        sentences.append(f"Logistic regression at the usual 0.5 {verdict}: it has {_shares(found, usual)}.")
    return sentences


def floor_on_test(found: Answer) -> str:
    """What the recommendation reaches on the rows of ``--test``, behind other words; nothing without floors."""
    if found.floored is None or found.winner.key not in found.floored.test:
        return ""
    reached = found.floored.test[found.winner.key]
    return f", with {_shares(found, reached)}, which {'keeps' if reached.kept else 'breaks'} the floor"


def floor_reference(found: Answer) -> str:
    """That logistic regression keeps no floor, and what it reaches at best."""
    assert found.floored is not None
    assert found.plan.floor is not None
    nearest = _shares(found, found.floored.all_rows[found.reference.key])
    return (
        f"Logistic regression keeps {found.plan.floor.words} at no threshold, so that a gain over it would say "
        f"nothing; the threshold that comes nearest has {nearest}."
    )


def _names(found: Answer) -> tuple[str, ...]:
    """The shares to show: those with a floor first, and the other one."""
    assert found.plan.floor is not None
    return tuple(dict.fromkeys([*(floor.measure for floor in found.plan.floor.floors), "recall", "precision"]))


def _shares(found: Answer, reached: Reached) -> str:
    return listed([f"{name} {figure(getattr(reached, name))}" for name in _names(found)])


def _means(found: Answer, folds: list[Reached]) -> str:
    means = {name: float(np.mean([getattr(reached, name) for reached in folds])) for name in _names(found)}
    return listed([f"{name} {figure(mean)}" for name, mean in means.items()])
