"""A user's own set function of the mistakes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Values, shown
from setwise.core.enumerate import search_shapes
from setwise.core.exceptions import BrokenPromise, Refusal
from setwise.core.loss import Loss
from setwise.core.pages import FUNCTION_OF_MISTAKES
from setwise.core.structure import Structure
from setwise.core.terms import SHAPES, Mistakes, SetFunction, Trait
from setwise.losses.functions import check_function
from setwise.losses.promises import as_promises, broken_promise

TRIED_SETS = 4
TRIED_CALLS = 2000
"""Promises are checked on TRIED_SETS sets of a batch, with about TRIED_CALLS calls of f for each of two masks."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class SetFunctionLoss(Loss):
    """``f(y_true, mistakes)`` for any Python function ``f``; each gain costs one call of ``f``.

    Its range is that of f. Where a function of the counts or of the number of mistakes will do,
    :class:`CountFunctionLoss` and :class:`Cardinality` are far faster.

    Source: LH Eq. 9 for losses as set functions of the mistakes. The checks of promises are setwise's own.

    Parameters
    ----------
    f : takes ``y_true`` and ``mistakes``, both bool of shape (p,), and returns a finite number >= 0
    promises : traits that hold for every ground truth, e.g. ``(Trait.SUBMODULAR, Trait.INCREASING)``. They are checked
        on a few random sets of mistakes whenever the loss is bound; :func:`setwise.describe` checks more of them.
        ``Trait.MODULAR`` includes the promises of being submodular and supermodular. ``Trait.COUNTS`` and
        ``Trait.CARDINALITY`` are not accepted: use ``CountFunctionLoss`` or ``Cardinality``

    Raises
    ------
    BrokenPromise : when the loss is bound to sets, if a promise fails on one of the sets of mistakes that are tried
    Refusal : for decisions with more than two labels
    TypeError : if f is no function of two arguments, or promises are no traits
    ValueError : if another trait is promised, or f returns anything but one finite number >= 0

    Examples
    --------
    >>> from setwise.losses import SetFunctionLoss
    >>> def spoiled_pairs(y_true, mistakes):
    ...     return mistakes.reshape(-1, 2).any(axis=1).sum()
    >>> loss = SetFunctionLoss(spoiled_pairs)
    >>> # Two mistakes in one pair, and in two.
    >>> loss([1, 0, 0, 0], [0, 1, 0, 0]), loss([1, 0, 0, 0], [0, 0, 1, 0])
    (1.0, 2.0)
    """

    f: Callable[[Bools, Bools], float]
    promises: Iterable[Trait] = ()

    name: ClassVar[str] = "set_function"

    def __post_init__(self) -> None:
        check_function(self.f, "y_true, mistakes")
        allowed = frozenset(SHAPES) | {Trait.LABEL_FREE}
        object.__setattr__(self, "promises", as_promises(self.promises, allowed))

    @classmethod
    def examples(cls, p: int) -> "list[SetFunctionLoss]":
        return [
            SetFunctionLoss(_root_of_mistakes, (Trait.INCREASING, Trait.SUBMODULAR)),
            SetFunctionLoss(_root_of_mistakes),
            SetFunctionLoss(_half_a_mistake, [Trait.MODULAR, Trait.INCREASING]),
        ]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset(self.promises)

    def bind(self, batch: Sets) -> Structure:
        if not isinstance(batch, Sets):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: f is a function of binary decisions.", FUNCTION_OF_MISTAKES
            )
        term = SetFunction(self._values, self.traits)
        promised = self.traits & set(SHAPES)
        if promised:
            self._check_promises(term, batch, promised)
        none = np.zeros(batch.total, dtype=bool)
        if Trait.MODULAR in promised and not self._values(batch, none).any():
            # The costs of a modular function are its gains at no mistake: one call for each decision.
            return Structure(batch, (Mistakes(term.marginals(batch, batch.truth)),))
        return Structure(batch, (term,))

    def _check_promises(self, term: SetFunction, batch: Sets, promised: frozenset[Trait]) -> None:
        """Raise BrokenPromise if a random search finds a violation, by about 4,000 calls of f for each set it tries."""
        # The sets are spread over the batch; a set of many decisions is given fewer pairs of masks.
        for i in np.unique(np.linspace(0, len(batch) - 1, TRIED_SETS).astype(int)):
            y = batch.truth[batch.offsets[i] : batch.offsets[i + 1]]
            rows = Sets.rows(np.broadcast_to(y, (int(np.clip(TRIED_CALLS // (2 * len(y)), 4, 64)), len(y))))
            broken = promised - search_shapes(Structure(rows, (term,)), np.random.default_rng(0)).unviolated
            if broken:
                raise BrokenPromise(broken_promise(self, broken))

    def _values(self, sets: Sets, mistakes: Bools) -> Values:
        # A function that writes into its arguments must not change the sets.
        truth = sets.truth.view()
        truth.setflags(write=False)
        return np.array([self._call(truth[a:b], mistakes[a:b]) for a, b in pairwise(sets.offsets)])

    def _call(self, y: Bools, mistakes: Bools) -> float:
        found = self.f(y, mistakes.copy())
        if np.ndim(found) or np.asarray(found).dtype.kind not in "biuf":
            raise ValueError(f"f must return one finite number >= 0; got {shown(found)}.")
        value = float(found)
        if not 0.0 <= value < np.inf:
            wrong = np.flatnonzero(mistakes).tolist()
            raise ValueError(f"f must return a finite number >= 0; got {value!r} for the mistakes {shown(wrong)}.")
        return value

    def __repr__(self) -> str:
        return f"SetFunctionLoss({getattr(self.f, '__name__', type(self.f).__name__)})"


def _root_of_mistakes(y: Bools, mistakes: Bools) -> float:
    """An increasing and submodular example."""
    return float(np.sqrt(mistakes.sum() + (mistakes & y).sum()))


def _half_a_mistake(y: Bools, mistakes: Bools) -> float:
    """A modular example."""
    return 0.5 * float(mistakes.sum())
