"""What inference may know of a loss on counts beyond its values: the promises that make a search fast."""

from functools import lru_cache

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Loss, Scaled, Sum, Values
from setwise.core.sets import Bools, Ints, Sets
from setwise.core.traits import Trait
from setwise.kernels.quotients import step_caps

Quotient = tuple[Values, Values, Values]

SMALL_TABLE = 512
CHECKED_TABLE = 1 << 22


def doubt(loss: Loss, sets: Sets, quotient: Quotient | None, slack: bool = False) -> tuple[float, Values | None]:
    """Floor and caps (2n,) of the margins in doubt: best labelings of an increasing loss need no other choices.

    A decision with a margin <= 0 costs nothing and is always a mistake. One whose margin no gain can pay never is.
    """
    if Trait.INCREASING not in loss.traits:
        return -np.inf, None
    if slack:
        return 0.0, None
    P, N = sets.positives.astype(np.float64), sets.negatives.astype(np.float64)
    none = np.zeros(len(sets))
    whole = np.repeat(loss.of_counts(P, N, P, N) - loss.of_counts(none, none, P, N), 2)
    return 0.0, whole if quotient is None else np.minimum(whole, step_caps(quotient[0], quotient[1], P, N))


def quotient_of(loss: Loss, sets: Sets) -> Quotient | None:
    """Coefficients (n, 3) of numerator and denominator and the value (n,) of no mistake; None where there are none."""
    factor = 1.0
    while isinstance(loss, Scaled):
        factor, loss = factor * loss.factor, loss.loss
    if not isinstance(loss, CountBased) or Trait.INCREASING not in loss.traits:
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


def monge_tables(loss: Loss, sets: Sets, cells: Ints) -> Bools:
    """Which sets have a Monge table, (n,); small ones, by their number of ``cells`` (n,), are not asked."""
    out = np.zeros(len(sets), dtype=bool)
    asked = np.flatnonzero(cells > SMALL_TABLE)
    if len(asked):
        pairs, which = np.unique(np.stack([sets.positives, sets.negatives])[:, asked], axis=1, return_inverse=True)
        out[asked] = np.array([is_monge(loss, int(P), int(N)) for P, N in pairs.T])[which.ravel()]
    return out


def is_monge(loss: Loss, P: int, N: int) -> bool:
    """Whether ``f(fn+1, fp+1) - f(fn+1, fp) - f(fn, fp+1) + f(fn, fp) <= 0`` on the whole table (P+1) x (N+1).

    Then the best fp never rises with fn. The loss is taken at its word where it gives one. Otherwise all mixed
    differences are looked at, once for each (loss, P, N), in tables of up to 4 million cells; larger ones do not count
    as Monge.
    """
    if isinstance(loss, Scaled):
        return is_monge(loss.loss, P, N)
    if isinstance(loss, Sum) and is_monge(loss.first, P, N) and is_monge(loss.second, P, N):
        return True
    promise = loss.monge(P, N) if isinstance(loss, CountBased) else None
    return _falls(loss, P, N) if promise is None else promise


@lru_cache(maxsize=1024)
def _falls(loss: Loss, P: int, N: int) -> bool:
    if (P + 1) * (N + 1) > CHECKED_TABLE or Trait.COUNTS not in loss.traits:
        return False
    fn, fp = np.arange(P + 1.0)[:, None], np.arange(N + 1.0)
    values = loss.of_counts(fn, fp, np.asarray(float(P)), np.asarray(float(N)))
    table = np.broadcast_to(values, (P + 1, N + 1))
    mixed = np.diff(np.diff(table, axis=0), axis=1)
    return bool((mixed <= 8 * np.finfo(float).eps * np.abs(table).max()).all())
