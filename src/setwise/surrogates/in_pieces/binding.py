"""Losses of counts bound to a set of which only the numbers of positives and negatives are known."""

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import as_count
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import PLACES_REFUSE
from setwise.core.structure import Structure
from setwise.core.terms import Trait
from setwise.surrogates.in_pieces.bounds import CountBound


def bound_of_counts(loss: Loss, negatives: int, positives: int) -> CountBound:
    """The loss as a function of counts of a set with these numbers of negatives and positives, with its bounds.

    Raises
    ------
    Refusal : for a loss that is no function of (fn, fp, P, N), fixes the number predicted, or has no bound
    """
    term = structure_of_totals(loss, negatives, positives)[1]
    if term.bends is None and not term.bounded:
        raise Refusal(
            f"{loss!r} refuses pieces of a set: nothing bounds it. Promise Trait.INCREASING if it holds.", PLACES_REFUSE
        )
    return CountBound(term)


def structure_of_totals(loss: Loss, negatives: int, positives: int) -> tuple[Structure, Counts]:
    """The loss bound to a set with these numbers of negatives and positives, and the same as a function of counts.

    Raises
    ------
    Refusal : for a loss that is no function of (fn, fp, P, N), or fixes the number predicted
    """
    for name, count in (("negatives", negatives), ("positives", positives)):
        as_count(count, name, low=0)
    if negatives + positives == 0:
        raise ValueError("negatives and positives must not both be 0.")
    if Trait.COUNTS not in loss.traits:
        raise Refusal(f"{loss!r} refuses pieces of a set: it does not promise Trait.COUNTS.", PLACES_REFUSE)
    # A few decisions stand for all of them: a piece of a set knows the totals of the whole. A loss that takes both
    # numbers of decisions takes any.
    batches = [_stand_in(negatives, positives, most) for most in (1, 2)]
    try:
        for batch in batches:
            loss.check(batch)
    except ValueError as error:
        raise Refusal(
            f"{loss!r} refuses pieces of a set: it asks for a number of decisions in each batch.", PLACES_REFUSE
        ) from error
    structures = [loss.structure(batch) for batch in batches]
    term, other = (structure.counts for structure in structures)
    fn, fp = np.array([0.0, positives > 0, 0.0, positives]), np.array([0.0, 0.0, negatives > 0, negatives])
    # A loss that counts the decisions of the batch itself would differ.
    if term is None or term.areas is not None or other is None or (term.of(fn, fp) != other.of(fn, fp)).any():
        raise Refusal(f"{loss!r} refuses pieces of a set: it is not a function of (fn, fp, P, N).", PLACES_REFUSE)
    if term.predicted is not None:
        raise Refusal(f"{loss!r} refuses pieces of a set: it fixes the number of predicted positives.", PLACES_REFUSE)
    return structures[0], term


def _stand_in(negatives: int, positives: int, most: int) -> Sets:
    """A piece of the set, of at most so many decisions of each class."""
    labels = np.repeat([False, True], [min(negatives, most), min(positives, most)])
    totals = np.array([[negatives, positives]], dtype=np.float64)
    return Sets(labels, np.array([0, len(labels)], dtype=np.int64), totals=totals)
