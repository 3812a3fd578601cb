"""Sentences on the rows of a file that are not in the sample on which ways were compared."""

import numpy as np

from setwise.compare.answer import Answer
from setwise.compare.figures import figure, signed
from setwise.compare.plan import FIRST, Key
from setwise.compare.text import grid
from setwise.datasets.columns import Numbers, Truth

LINEAR = ("as_it_is", "threshold", "ramp")
"""The levers that leave a linear function of the features over logistic regression."""


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


def other_table(found: Answer, names: dict[Key, str], bold: bool) -> str:
    """A table of these figures for a terminal; ``names`` are the words for the ways."""
    cells = cells_of(found)
    marks = np.array([[key == found.winner.key] for key in cells])
    return grid(
        [names[key] for key in cells], [f"on {rows_text(found)}"], [[cell] for cell in cells.values()], marks, bold
    )


def train_on_all(found: Answer) -> list[str]:
    """That all rows of the file train a linear model for one set, where this is what is recommended and possible."""
    problem, (base, lever) = found.problem, found.winner.key
    one_set = problem.groups is None and not problem.many
    plain = all(isinstance(column, Numbers | Truth) for column in problem.columns) and not problem.has_gaps
    if found.others is None or base != FIRST or lever not in LINEAR or not one_set or not plain or found.floored:
        return []
    rows = found.others.count + len(problem.y)
    return [
        f"FileClassifier trains a linear model for {found.measured.title} on all {rows:,} rows of {found.others.file}."
    ]
