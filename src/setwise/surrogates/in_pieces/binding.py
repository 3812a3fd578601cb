"""Losses of counts bound to a set of which only the numbers of positives and negatives are known."""

import numpy as np

from setwise.core.checks import as_count
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.traits import Trait
from setwise.surrogates.in_pieces.bounds import CountBound


def bound_of_counts(loss: Loss, negatives: int, positives: int) -> CountBound:
    """The loss as a function of counts of a set with these numbers of negatives and positives, with its bounds.

    Raises
    ------
    Refusal : for a loss that is no function of (fn, fp, P, N), fixes the number predicted, or has no bound
    """
    for name, count in (("negatives", negatives), ("positives", positives)):
        as_count(count, name, low=0)
    if negatives + positives == 0:
        raise ValueError("negatives and positives must not both be 0.")
    if Trait.COUNTS not in loss.traits:
        raise Refusal(f"{loss!r} refuses pieces of a set: it does not promise Trait.COUNTS.")
    # A few decisions stand for all of them: a piece of a set knows the totals of the whole. A loss that takes both
    # numbers of decisions takes any.
    batches = [_stand_in(negatives, positives, most) for most in (1, 2)]
    try:
        for batch in batches:
            loss.check(batch)
    except ValueError as error:
        raise Refusal(f"{loss!r} refuses pieces of a set: it asks for a number of decisions in each batch.") from error
    term = loss.structure(batches[0]).counts
    if term is None or term.areas is not None:
        raise Refusal(f"{loss!r} refuses pieces of a set: it is not a function of (fn, fp, P, N).")
    if term.predicted is not None:
        raise Refusal(f"{loss!r} refuses pieces of a set: it fixes the number of predicted positives.")
    if term.bends is None and not term.bounded:
        raise Refusal(f"{loss!r} refuses pieces of a set: nothing bounds it. Promise Trait.INCREASING if it holds.")
    return CountBound(term)


def _stand_in(negatives: int, positives: int, most: int) -> Sets:
    """A piece of the set, of at most so many decisions of each class."""
    labels = np.repeat([False, True], [min(negatives, most), min(positives, most)])
    totals = np.array([[negatives, positives]], dtype=np.float64)
    return Sets(labels, np.array([0, len(labels)], dtype=np.int64), totals=totals)
