"""A user's own function of the counts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Values, as_array
from setwise.core.counts import Formula
from setwise.core.enumerate import shapes_of_table
from setwise.core.exceptions import BrokenPromise
from setwise.core.loss import CountLoss
from setwise.core.structure import Structure
from setwise.core.terms import SHAPES, Trait
from setwise.losses.functions import check_function, takes
from setwise.losses.promises import as_promises, broken_promise

WORDS_ON_ARRAYS = ("truth value", "arrays can be converted", "scalar arrays")
"""Parts of the messages of NumPy where Python's ``if``, ``min``, ``float`` or ``range`` is applied to an array."""

CHECKED_CELLS = 1 << 20
"""The tables of all distinct sizes of a batch are checked whole if they have at most this number of cells together."""

CORNERS = 16
"""Otherwise the corners of at most this number of tables are checked, with ``CHECKED_CELLS`` cells together."""


@final
@dataclass(frozen=True, repr=False, eq=False)
class CountFunctionLoss(CountLoss):
    """``f(fn, fp, P, N)`` or ``f(fn, fp)`` for any vectorized function f of the counts of a set.

    The counts are the numbers of false negatives, false positives, positives and negatives; the range is that of f. The
    traits of the shape are read off the tables of all possible counts if these tables are small. If they are large, the
    loss has the promised traits, and corners of the tables are checked.

    Source: Joachims (2005), who trains for functions of the contingency table. The checks of promises are new here.

    Parameters
    ----------
    f : takes float64 arrays that broadcast, 0 <= fn <= P and 0 <= fp <= N, and returns finite numbers >= 0
    promises : those of ``Trait.INCREASING``, ``Trait.SUBMODULAR``, ``Trait.SUPERMODULAR`` and ``Trait.MODULAR`` that
        hold for every ground truth. With ``Trait.INCREASING`` inference can skip parts of large tables

    Raises
    ------
    BrokenPromise : when the loss is bound to sets, if a cell of a table contradicts a promise
    TypeError : if f is no function of two or four arguments, or promises are no traits
    ValueError : if another trait is promised, or f returns anything but finite numbers >= 0 in the shape of its counts

    Examples
    --------
    >>> from setwise.losses import CountFunctionLoss
    >>> # A miss costs five false alarms.
    >>> loss = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20))
    >>> loss([1, 1, 0, 0, 0], [1, 0, 1, 1, 1])
    8.0
    """

    f: Callable[..., Values]
    promises: Iterable[Trait] = ()

    name: ClassVar[str] = "count_function"

    def __post_init__(self) -> None:
        check_function(self.f, "fn, fp, P, N", "fn, fp")
        object.__setattr__(self, "promises", as_promises(self.promises, frozenset(SHAPES)))

    @classmethod
    def examples(cls, p: int) -> "list[CountFunctionLoss]":
        return [
            CountFunctionLoss(_misses_squared, (Trait.INCREASING, Trait.SUPERMODULAR)),
            CountFunctionLoss(_misses_squared),
            CountFunctionLoss(_waves),
        ]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset(self.promises) | {Trait.COUNTS}

    @cached_property
    def _takes_all(self) -> bool:
        # A function that takes either number of arguments is given all four.
        return takes(self.f, 4)

    @property
    def formula(self) -> Formula:
        return self._unchecked

    def _unchecked(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """What f returns."""
        return self.f(fn, fp, P, N) if self._takes_all else self.f(fn, fp)

    def bind(self, batch: Sets) -> Structure:
        seen, whole = self.shapes(batch.count(1), batch.count(0))
        promised = frozenset(self.promises)
        if not promised <= seen:
            raise BrokenPromise(broken_promise(self, promised - seen))
        # A trait that no cell violates holds for these sets without a promise, and inference may use it.
        if whole and seen > promised:
            return replace(self, promises=seen).bind(batch)
        return super().bind(batch)

    def shapes(self, P: Values, N: Values) -> tuple[frozenset[Trait], bool]:
        """The traits that no checked cell violates at P positives and N negatives, and whether all cells were checked.

        If the tables are too large, a few of them are checked at the corner where the counts of mistakes are small.
        """
        # Sets with the same P and N share a table.
        sizes = np.unique(np.stack([P, N]), axis=1).T
        whole = bool(((sizes[:, 0] + 1) * (sizes[:, 1] + 1)).sum() <= CHECKED_CELLS)
        if not whole:
            # The sizes are sorted, so equal steps take small and large sets.
            sizes = sizes[:: -(-len(sizes) // CORNERS)]
        side = np.inf if whole else np.sqrt(CHECKED_CELLS / CORNERS) - 1
        found = frozenset(SHAPES)
        for p, n in sizes:
            fn, fp = np.meshgrid(np.arange(min(p, side) + 1), np.arange(min(n, side) + 1), indexing="ij")
            found &= shapes_of_table(self.of_counts(fn, fp, np.full_like(fn, p), np.full_like(fn, n)))
        return found, whole

    def __repr__(self) -> str:
        promises = "".join(f", {t.name}" for t in SHAPES if t in self.traits)
        return f"CountFunctionLoss({getattr(self.f, '__name__', type(self.f).__name__)}{promises})"

    @property
    def diluted(self) -> bool | None:
        """True for functions of fn and fp alone, which do not see right decisions."""
        return None if self._takes_all else True

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        shape = np.broadcast_shapes(*(np.shape(c) for c in (fn, fp, P, N)))
        try:
            found = self._unchecked(fn, fp, P, N)
        except (TypeError, ValueError) as error:
            # An error that is not about arrays comes from f itself, and says more than a new sentence could.
            if not any(words in str(error) for words in WORDS_ON_ARRAYS):
                raise
            raise ValueError(
                f"f of {self!r} must take arrays: write np.where for if, np.minimum for min, np.maximum for max, and "
                "np.sqrt for math.sqrt."
            ) from None
        values = as_array(found, "what f returns")
        # A formula of some of the counts alone, as 5 * fn, is the same along the others.
        if values.ndim == len(shape) > 0 and all(a in (1, b) for a, b in zip(values.shape, shape, strict=True)):
            values = np.broadcast_to(values, shape)
        if values.shape != shape or values.dtype.kind not in "biuf":
            raise ValueError(
                f"f must return real numbers of shape {shape}, one for each of its counts; got {values.dtype} of shape "
                f"{values.shape}. Write it with NumPy functions of arrays, as np.where for if."
            )
        values = values.astype(np.float64)
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ValueError(
                f"f must return finite numbers >= 0; got {values[~(values >= 0) | np.isinf(values)][:3].tolist()}."
            )
        return values


def _misses_squared(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    """An increasing and supermodular example."""
    # The last term gives the result the shape to which all four arguments broadcast.
    return fn**2 + 0.5 * fp + 0.0 * (P + N)


def _waves(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    """An example that is neither increasing nor submodular nor supermodular."""
    return np.abs(np.sin(3.1 * fn + fp**2)) + 0.0 * (P + N)
