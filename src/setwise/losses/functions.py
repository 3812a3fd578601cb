"""Losses that a user writes: a function of the counts, or a set function of the mistakes, and what they promise."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Values, as_array, shown
from setwise.core.counts import Formula
from setwise.core.enumerate import search_shapes, shapes_of_table
from setwise.core.exceptions import BrokenPromise, Refusal
from setwise.core.loss import CountLoss, Loss
from setwise.core.pages import FUNCTION_OF_MISTAKES
from setwise.core.terms import CURVATURES, SHAPES, Mistakes, SetFunction, Trait


def check_function(f: object, *signatures: str) -> None:
    """Raise TypeError if ``f`` does not take the arguments of any of the signatures, which are written ``"fn, fp"``."""
    wanted = " or ".join(f"({signature})" for signature in signatures)
    if not callable(f):
        raise TypeError(f"f must be a function of {wanted}; got {shown(f)}.")
    if not any(takes(f, signature.count(",") + 1) for signature in signatures):
        raise TypeError(f"f must be a function of {wanted}; got {shown(f)}, which takes {inspect.signature(f)}.")


def takes(f: Callable[..., Any], number: int) -> bool:
    """Whether f takes ``number`` arguments by position; True if Python cannot tell."""
    # Some functions written in C have no signature that Python can read.
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(number))
    except TypeError:
        return False
    return True


def as_promises(promises: object, allowed: frozenset[Trait]) -> frozenset[Trait]:
    """The traits in ``promises``, all of which must be ``allowed``, with those that follow from them."""
    # A single trait is taken for a list of one.
    if isinstance(promises, Trait):
        promises = (promises,)
    if isinstance(promises, str) or not isinstance(promises, Iterable):
        raise TypeError(f"promises must be traits, as [Trait.INCREASING]; got {promises!r}.")
    found = list(promises)
    for trait in found:
        if not isinstance(trait, Trait) or trait not in allowed:
            names = ", ".join(t.name for t in Trait if t in allowed)
            raise ValueError(f"promises must be among the traits {names}; got {trait!r}.")
    kept = frozenset(found)
    # A function is modular exactly if it is submodular and supermodular.
    if {Trait.SUBMODULAR, Trait.SUPERMODULAR} <= kept:
        kept |= {Trait.MODULAR}
    return kept | CURVATURES if Trait.MODULAR in kept else kept


def broken_promise(loss: object, broken: frozenset[Trait]) -> str:
    """The sentence that says which promises do not hold."""
    words = " and ".join(trait.name.lower() for trait in SHAPES if trait in broken)
    return f"{loss!r} breaks its promise: on these sets it is not {words}. Leave that promise out."


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

    def _bind(self, batch: Sets) -> BoundLoss:
        seen, whole = self.shapes(batch.count(1), batch.count(0))
        promised = frozenset(self.promises)
        if not promised <= seen:
            raise BrokenPromise(broken_promise(self, promised - seen))
        # A trait that no cell violates holds for these sets without a promise, and inference may use it.
        if whole and seen > promised:
            return replace(self, promises=seen)._bind(batch)
        return super()._bind(batch)

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

    def _bind(self, batch: Sets) -> BoundLoss:
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
            return BoundLoss(batch, (Mistakes(term.marginals(batch, batch.truth)),))
        return BoundLoss(batch, (term,))

    def _check_promises(self, term: SetFunction, batch: Sets, promised: frozenset[Trait]) -> None:
        """Raise BrokenPromise if a random search finds a violation, by about 4,000 calls of f for each set it tries."""
        # The sets are spread over the batch; a set of many decisions is given fewer pairs of masks.
        for i in np.unique(np.linspace(0, len(batch) - 1, TRIED_SETS).astype(int)):
            y = batch.truth[batch.offsets[i] : batch.offsets[i + 1]]
            rows = Sets.rows(np.broadcast_to(y, (int(np.clip(TRIED_CALLS // (2 * len(y)), 4, 64)), len(y))))
            broken = promised - search_shapes(BoundLoss(rows, (term,)), np.random.default_rng(0)).unviolated
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


def check_weights(weights: ArrayLike | None, batch: Batch, loss: object) -> None:
    """Raise ValueError for sets whose number of decisions is not the number of weights."""
    if weights is not None and (batch.sizes != np.size(weights)).any():
        odd = batch.sizes[batch.sizes != np.size(weights)][0]
        raise ValueError(f"{loss!r} has {np.size(weights)} weights, one for each place; got a set of {odd} decisions.")


def weights_repr(weights: ArrayLike | None) -> str:
    """The first six weights as text."""
    if weights is None:
        return ""
    shown = [f"{w:g}" for w in np.asarray(weights)[:6]]
    return "weights=[" + ", ".join(shown + ["..."] * (np.size(weights) > 6)) + "]"


def example_weights(p: int) -> Values:
    """Weights (p,) in (0, 1] for examples, the same in every run."""
    # The number of decisions is the seed, so that examples need no state.
    return 0.1 + 0.9 * np.random.default_rng(p).random(p)
