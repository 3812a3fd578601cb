"""Losses of counts bound to a set of which only the numbers of positives and negatives are known."""

import numpy as np

from setwise.core.checks import as_count
from setwise.core.counts import Counts
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.structure import Structure
from setwise.core.traits import Trait


def structure_of_totals(loss: Loss, negatives: int, positives: int, asking: str) -> tuple[Structure, Counts]:
    """The loss bound to one set with these numbers of decisions, and the same as one function of its counts.

    ``asking`` is the name of who asks in the sentence of a refusal.
    """
    N, P = as_count(negatives, "negatives", low=0), as_count(positives, "positives", low=0)
    if N + P == 0:
        raise ValueError("negatives and positives must not both be 0: a set has a decision or more.")
    refusal = Refusal(
        f"{asking} refuses {loss!r} of a set in pieces: it is no function of the numbers of mistakes alone. Put the "
        "set in one place, or choose a loss of counts, as Jaccard."
    )
    if Trait.COUNTS not in loss.traits:
        raise refusal
    # What fits or counts the decisions of a small piece, and not of the set, differs between two of them.
    labels = [True] * min(P, 1) + [False] * min(N, 1)
    pieces = [_piece(more, N, P) for more in ([labels] if len(labels) == N + P else [labels, [*labels, P > 1]])]
    try:
        for piece in pieces:
            loss.check(piece)
    except ValueError:
        raise refusal from None
    structures = [loss.structure(piece) for piece in pieces]
    found = [each.counts for each in structures]
    whole = found[0]
    if whole is None or whole.areas is not None or whole.predicted is not None:
        raise refusal
    fn, fp = np.array([0.0, P > 0, 0.0, P]), np.array([0.0, 0.0, N > 0, N])
    if not all(each is not None and np.array_equal(each.of(fn, fp), whole.of(fn, fp)) for each in found):
        raise refusal
    return structures[0], whole


def _piece(labels: list[bool], negatives: int, positives: int) -> Sets:
    """A piece of the set with a few of its decisions."""
    totals = np.array([[negatives, positives]], dtype=np.float64)
    return Sets(np.array(labels), np.array([0, len(labels)]), totals=totals)
