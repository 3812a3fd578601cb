"""What inference may know of a loss on counts beyond its values: the promises that make a search fast."""

from functools import lru_cache

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Loss, Scaled, Sum, Values
from setwise.core.sets import Sets
from setwise.core.traits import Trait
from setwise.kernels.quotients import step_caps

Quotient = tuple[Values, Values, Values]

CHECKED_CELLS = 1 << 22


def doubt(loss: Loss, sets: Sets, quotient: Quotient | None, slack: bool = False) -> tuple[float, Values | None]:
    """Floor and caps (2n,) of the margins in doubt: best labelings of an increasing loss need no other choices.

    A decision with a margin <= 0 costs nothing and is always a mistake; one whose margin no gain of the loss can pay never is.
    """
    if Trait.INCREASING not in loss.traits:
        return -np.inf, None
    if slack:
        return 0.0, None
    P, N = sets.positives.astype(np.float64), sets.negatives.astype(np.float64)
    if quotient is not None:
        return 0.0, step_caps(quotient[0], quotient[1], P, N)
    none = np.zeros(len(sets))
    return 0.0, np.repeat(loss.of_counts(P, N, P, N) - loss.of_counts(none, none, P, N), 2)


def quotient_of(loss: Loss, sets: Sets) -> Quotient | None:
    """Coefficients (n, 3) of numerator and denominator and the value (n,) of no mistakes, or None where the loss has none."""
    factor = 1.0
    while isinstance(loss, Scaled):
        factor, loss = factor * loss.factor, loss.loss
    if not isinstance(loss, CountBased):
        return None
    P, N = sets.positives.astype(np.float64), sets.negatives.astype(np.float64)
    found = loss.quotient(P, N)
    if found is None:
        return None
    return factor * found[0], found[1], factor * loss.at_none(sets)


def predicted_of(loss: Loss, sets: Sets) -> Values | None:
    """How many decisions must be predicted positive, (n,); None where any number may."""
    while isinstance(loss, Scaled):
        loss = loss.loss
    if not isinstance(loss, CountBased):
        return None
    return loss.predicted(sets.positives.astype(np.float64), sets.negatives.astype(np.float64))


def is_monge(loss: Loss, P: int, N: int) -> bool:
    """Whether ``f(fn+1, fp+1) - f(fn+1, fp) - f(fn, fp+1) + f(fn, fp) <= 0`` on the whole table (P+1, N+1).

    Then the best fp never rises with fn. The word of the loss where it gives one, else every 2 x 2 block is looked at, up to
    4 million of them, once for each (loss, P, N); larger tables count as not Monge.
    """
    if isinstance(loss, Scaled):
        return is_monge(loss.loss, P, N)
    if isinstance(loss, Sum) and is_monge(loss.first, P, N) and is_monge(loss.second, P, N):
        return True
    promise = loss.monge(P, N) if isinstance(loss, CountBased) else None
    return _falls(loss, P, N) if promise is None else promise


@lru_cache(maxsize=1024)
def _falls(loss: Loss, P: int, N: int) -> bool:
    if (P + 1) * (N + 1) > CHECKED_CELLS:
        return False
    if Trait.COUNTS not in loss.traits:
        return False
    p, n = np.asarray(float(P)), np.asarray(float(N))
    fn, fp = np.arange(P + 1.0)[:, None], np.arange(N + 1.0)
    table = np.broadcast_to(loss.of_counts(fn, fp, p, n), (P + 1, N + 1))
    mixed = np.diff(np.diff(table, axis=0), axis=1)
    return bool((mixed <= 8 * np.finfo(float).eps * np.abs(table).max()).all())
