"""Losses that a user writes: of the counts, of the mistakes with what they promise, or of true and predicted labels."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Values, as_array, as_flag, shown
from setwise.core.counts import Formula
from setwise.core.enumerate import search_shapes, shapes_of_table
from setwise.core.exceptions import BrokenPromise, Refusal
from setwise.core.loss import CountLoss, Loss
from setwise.core.pages import FUNCTION_OF_LABELS, FUNCTION_OF_MISTAKES
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
        raise TypeError(f"promises must be traits, such as [Trait.INCREASING]; got {promises!r}.")
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
                f"{values.shape}. Write it with NumPy functions of arrays, such as np.where for if."
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


@final
@dataclass(frozen=True, eq=False, repr=False)
class MetricLoss(Loss):
    """``f(y_true, y_pred)`` for any Python function f, counted from ``f(y_true, y_true)``; one call for each value.

    A plain function stands for this loss wherever a loss is taken, and so does ``make_scorer(f)`` of scikit-learn. The
    loss of a gain is what the labels lose against the true ones, ``f(y_true, y_true) - f(y_true, y_pred)``, and that of
    a cost is ``f(y_true, y_pred) - f(y_true, y_true)``. So f may be negative, as a profit is. ``score`` of estimators
    is f of a gain and -f of a cost, as with scorers of scikit-learn.

    f is called with the rows of folds and bootstrap samples too, so it should read labels alone: costs of single rows
    are :class:`RowCosts`. A threshold takes one call of f for each row, O(n^2) in all. Where f depends on the counts of
    mistakes alone, :class:`CountFunctionLoss` is far faster, and can be trained for. Rows of a set come in their order,
    and rows of unknown label are left out. Weights of rows are refused.

    Source: this library.

    Parameters
    ----------
    f : takes ``y_true`` and ``y_pred`` of shape (p,), which hold ``labels``, and returns one finite number in any unit
    greater_is_better : whether f is a gain, as in ``make_scorer``; by default it is a cost
    from_best : False leaves ``f(y_true, y_true)`` out, so that the loss may be negative; reports print it so
    labels : the negative and the positive label that f gets; None takes the classes of a classifier or a file, and 0
        and 1 elsewhere

    Raises
    ------
    Refusal : for decisions with more than two labels
    TypeError : if f is no function of two arguments, the others are not True or False, or labels are no two labels
    ValueError : if f raises an error, returns anything but one finite number, is better for other labels than for the
        true ones, or does not tell the labels of a classifier apart

    Examples
    --------
    >>> from setwise.decisions import best_threshold
    >>> from setwise.losses import MetricLoss
    >>> def profit(y_true, y_pred):  # a hit earns 9, a call costs 2
    ...     return 9.0 * (y_true & y_pred).sum() - 2.0 * y_pred.sum()
    >>> loss = MetricLoss(profit, greater_is_better=True)
    >>> loss([1, 1, 0, 0], [1, 0, 1, 0])  # a profit of 5 instead of 14
    9.0
    >>> best_threshold([1, 0, 1, 0], [0.9, 0.6, 0.4, 0.1], loss).threshold
    0.25
    """

    f: Callable[..., float]
    greater_is_better: bool = False
    from_best: bool = True
    labels: tuple[Any, Any] | None = None

    name: ClassVar[str] = "metric"
    is_called: ClassVar[bool] = True
    traits = frozenset()

    def __post_init__(self) -> None:
        check_function(self.f, "y_true, y_pred")
        as_flag(self.greater_is_better, "greater_is_better")
        as_flag(self.from_best, "from_best")
        if self.labels is not None and (
            not isinstance(self.labels, tuple) or np.shape(self.labels) != (2,) or self.labels[0] == self.labels[1]
        ):
            raise TypeError(f"labels must be two different labels, (negative, positive); got {shown(self.labels)}.")

    @classmethod
    def examples(cls, p: int) -> "list[MetricLoss]":
        return [MetricLoss(_profit, greater_is_better=True), MetricLoss(_share_wrong)]

    @property
    def reported(self) -> "MetricLoss":
        """Minus f where it is a gain, else f, without the value of the true labels."""
        return replace(self, from_best=False)

    def as_score(self, loss: float, n: float) -> float:
        """Minus the mean loss as it is ``reported``: f where it is a gain, else -f."""
        return -loss

    def for_labels(self, labels: tuple[Any, Any]) -> Loss:
        """The loss where f gets these labels; a loss of counts where f is a metric of scikit-learn with pos_label.

        A loss that was given labels keeps them.
        """
        if self.labels is not None:
            return self
        # The names of losses are known only after all files of this folder are imported.
        from setwise.losses.names import loss_of_label

        found = loss_of_label(self.f, labels)
        if found is not None:
            return found
        bound = replace(self, labels=labels)
        if labels != (0, 1) and bound._is_constant():
            which = f"{labels[0]!r} and {labels[1]!r}"
            raise ValueError(
                f"f must tell the labels {which} apart; {name_of(self.f)} is the same where all are right or wrong."
            )
        return bound

    @property
    def _labels(self) -> tuple[Any, Any]:
        return self.labels or (0, 1)

    def _is_constant(self) -> bool:
        """Whether f is the same for labels that are all right, all wrong, all negative and all positive."""
        y = np.arange(100) % 2 == 1
        try:
            return len({self._call(y, guess) for guess in (y, ~y, y & ~y, y | ~y)}) == 1
        # What is wrong with f is said for the rows of the user.
        except ValueError:
            return False

    def check(self, batch: Batch) -> None:
        from setwise.losses.names import loss_of_label

        loss_of_label(self.f, self._labels)

    def _bind(self, batch: Sets) -> BoundLoss:
        if not isinstance(batch, Sets):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: f is a function of binary decisions.", FUNCTION_OF_LABELS
            )
        # The values of the true labels are asked for once.
        return BoundLoss(batch, (SetFunction(partial(self._values, {}), self.traits),))

    def _values(self, known: dict[bytes, float], sets: Sets, mistakes: Bools) -> Values:
        return np.array([self._loss(known, y, y ^ wrong) for y, wrong in _known(sets, mistakes)])

    def _loss(self, known: dict[bytes, float], y: Bools, guess: Bools) -> float:
        best, value = self._best(known, y), self._call(y, guess)
        # The sums of two calls may be rounded in different ways.
        if value > best + 1e-9 * max(abs(best), abs(value)):
            sign = 1.0 if self.greater_is_better else -1.0
            other = "f, as a cost" if self.greater_is_better else "MetricLoss(f, greater_is_better=True)"
            raise ValueError(
                f"f must be best for the true labels; {self!r} is {sign * value:g} for other labels and "
                f"{sign * best:g} for the true ones. If {'less' if self.greater_is_better else 'more'} is better, give "
                f"{other}."
            )
        return max(best - value, 0.0) if self.from_best else -value

    @cached_property
    def _names(self) -> NDArray[Any]:
        return np.asarray(self._labels)

    def _best(self, known: dict[bytes, float], y: Bools) -> float:
        key = y.tobytes()
        if key not in known:
            known[key] = self._call(y, y)
        return known[key]

    def _call(self, y: Bools, guess: Bools) -> float:
        """What f returns for labels where it is a gain, else minus this; 0 for no labels."""
        if not len(y):
            return 0.0
        called = (
            f"{name_of(self.f)} of {len(y):,} labels with {int(y.sum()):,} positives, {int(guess.sum()):,} predicted"
        )
        try:
            found = self.f(*(self._names[one.astype(np.intp)] for one in (y, guess)))
        except Exception as error:
            raise ValueError(f"{called}, raised {type(error).__name__}: {str(error).rstrip('.')}.") from error
        if np.ndim(found) or np.asarray(found).dtype.kind not in "biuf":
            raise ValueError(
                f"f must return one finite number; got {shown(found)} from {called}. "
                "CountFunctionLoss takes functions of fn and fp."
            )
        if not np.isfinite(found):
            raise ValueError(f"f must return one finite number; got {float(found)} from {called}.")
        return float(found) if self.greater_is_better else -float(found)

    def __repr__(self) -> str:
        return f"MetricLoss({name_of(self.f)}{', greater_is_better=True' if self.greater_is_better else ''})"


def _known(sets: Sets, mistakes: Bools | None = None) -> "Iterable[tuple[Bools, Bools]]":
    """The true labels and the mistakes of each set, without rows of unknown label."""
    wrong = np.zeros(sets.total, dtype=bool) if mistakes is None else mistakes
    for a, b in pairwise(sets.offsets):
        kept = slice(None) if sets.known is None else sets.known[a:b]
        yield sets.truth[a:b][kept], wrong[a:b][kept]


def name_of(f: Any) -> str:
    """The name of a function; of a partial one that of the function inside."""
    return name_of(f.func) if isinstance(f, partial) else str(getattr(f, "__name__", type(f).__name__))


def _profit(y_true: Any, y_pred: Any) -> float:
    """A gain: a hit earns 3, a call costs 1."""
    return float(3.0 * (y_true & y_pred).sum() - y_pred.sum())


def _share_wrong(y_true: Any, y_pred: Any) -> float:
    """A cost."""
    return float(np.mean(y_true != y_pred))


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
