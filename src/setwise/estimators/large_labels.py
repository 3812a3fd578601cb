"""The loss of labels that are predicted in spaces that are too large to list."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import Bools, Ints, Values
from setwise.core.loss import Loss
from setwise.core.pages import LABEL_SPACES
from setwise.core.risk import Features
from setwise.core.single_labels import FlipCosts, Flips
from setwise.core.structure import Structure
from setwise.inference.auto import Auto
from setwise.spaces.large_space import Scored

LABELS = 100
"""So many labels of an input with scores above 0 are looked at where no other number is given."""


def mean_loss(loss: Loss, layout: Batch, scores: Values) -> float:
    """The mean loss of the labels with scores above 0; where costs are not 0 and 1, of 100 for each input at most."""
    if not isinstance(layout, Flips):
        return float(loss.values(layout, scores > 0.0).mean())
    structure = loss.structure(layout)
    costs = structure.terms[0]
    if isinstance(costs, FlipCosts) and costs.binary:
        # A label that costs 1 is above 0 and wrong where the hinge is above 1.
        wrong = Auto().prepare(structure, slack=True).maximize(scores).values > costs.factor * (1.0 + 1e-12)
        return costs.factor * float(np.mean(wrong | _misses(layout, scores)))
    found = Auto().prepare(Structure(layout.to_predict())).above(scores, 0.0, LABELS)
    widths = layout.sizes.tolist()
    rows = [
        np.array([one.labels for one in row], np.int64).reshape(-1, w) - 1 for row, w in zip(found, widths, strict=True)
    ]
    return _mean_of_lists(loss, layout, rows)


def _misses(layout: Flips, scores: Values) -> Bools:
    """Whether a right label of each input is not above 0, (n,)."""
    own = np.split(scores, layout.score_offsets[1:-1])
    found = [
        bool((layout.label_scores(i, part, rows) <= 0.0).any()) if len(rows) else False
        for i, (part, rows) in enumerate(zip(own, layout.truths, strict=True))
    ]
    return np.array(found)


def mean_loss_of_none(loss: Loss, layout: Batch) -> float:
    """The mean loss where no label is predicted."""
    if not isinstance(layout, Flips):
        return float(loss.values(layout, np.zeros(layout.total, dtype=bool)).mean())
    return _mean_of_lists(loss, layout, [np.zeros((0, int(width)), np.int64) for width in layout.sizes])


def _mean_of_lists(loss: Loss, layout: Flips, predicted: Sequence[Ints]) -> float:
    """The mean loss of lists of labels, (m, width) each."""
    term = loss.structure(layout).terms[0]
    assert isinstance(term, FlipCosts)
    return float(np.mean([_largest(layout, term, i, labels) for i, labels in enumerate(predicted)]))


def _largest(batch: Flips, costs: FlipCosts, i: int, labels: Ints) -> float:
    """The largest cost of a label of input i that is right or predicted, but not both."""
    right, found = batch.truths[i], {row.tobytes() for row in labels}
    known = {row.tobytes() for row in right}
    missed = [row for row in right if row.tobytes() not in found]
    wrong = np.array([*missed, *(row for row in labels if row.tobytes() not in known)], np.int64)
    if not len(wrong):
        return 0.0
    return float(costs.factor * costs.of(batch, i, wrong).max())


def right_pairs(layout: Batch, features: Features) -> Values:
    """The features psi(x_i, y) of every input with each of its right labels, (pairs, d)."""
    found = []
    for i in range(len(layout)):
        one = np.array([i])
        part = layout.take(one)
        if isinstance(part, Flips):
            rows = [part.indicators((label + 1).ravel()) for label in part.truths[0]]
        else:
            rows = list(np.eye(part.total)[part.truth])
        found += [features.pullback(row, one) for row in rows]
    return np.array(found).reshape(-1, features.size)


def lowered(layout: Batch, scores: Values, threshold: float) -> Values:
    """Scores by which each label has its score less ``threshold``."""
    if not isinstance(layout, Flips):
        return scores - threshold
    # The last score of an input is that of the constant, which all its labels have.
    lower = scores.copy()
    lower[layout.score_offsets[1:] - 1] -= threshold
    return lower


def named(found: list[list[Scored]]) -> list[list[Any]]:
    """The labels without their scores."""
    return [[label for label, _ in row] for row in found]


def warn_of_full_lists() -> None:
    """Warn that there are more labels than were asked for."""
    warnings.warn(
        f"more than {LABELS} labels of an input have scores above 0, and the best {LABELS} are returned: give "
        f"max_labels to see more.{LABEL_SPACES.see}",
        UserWarning,
        stacklevel=3,
    )
