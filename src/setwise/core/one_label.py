"""Losses of binary decisions become losses of decisions with k labels: one label is set against all others."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.batch import Batch
from setwise.core.bends import Bend
from setwise.core.counts import Ceiling, Counts, Formula
from setwise.core.set_function import SetFunction
from setwise.core.sets import Orders, Sets
from setwise.core.structure import Structure
from setwise.core.terms import Term
from setwise.core.traits import SHAPES, Trait
from setwise.kernels.segments import segment_sums


def binary_view(batch: Batch, label: int | None) -> Sets:
    """The binary decisions "is this ``label``?"; with None "is this label right?", whose true answer is always yes."""
    truth = batch.seen(label, batch.labels)
    return Sets(truth if batch.known is None else np.where(batch.known, truth, -1).astype(np.int8), batch.offsets)


def lift(batch: Batch, label: int | None, structure: Structure) -> Structure:
    """The structure of ``batch`` for a structure bound to its binary view; the modular part becomes label costs.

    With label costs, decisions with k labels are maximized one by one where the loss is modular.
    """
    costs, rest = structure.split()
    terms: tuple[Term, ...] = (OneLabel(label, rest),) if rest.terms else ()
    if costs is not None:
        # A label has a cost where its answer to the binary question differs from the true answer.
        answers = [batch.seen(label, np.full(batch.total, v)) for v in range(batch.n_labels)]
        differs = np.stack(answers, axis=1) != batch.seen(label, batch.labels)[:, None]
        if batch.known is not None:
            # An unknown label has no true answer, and costs nothing.
            differs &= batch.known[:, None]
        terms = (LabelCosts(np.where(differs, costs[:, None], 0.0)), *terms)
    return Structure(batch, terms, structure.source)


def flipped(sets: Sets) -> Sets:
    """The same binary decisions with the two labels exchanged."""
    return Sets(
        np.where(sets.labels == -1, -1, 1 - sets.truth).astype(np.int8) if sets.known is not None else ~sets.truth,
        sets.offsets,
        totals=None if sets.totals is None else sets.totals[:, ::-1],
    )


def flip_back(sets: Sets, structure: Structure) -> Structure:
    """The structure of ``sets`` for a structure bound to their :func:`flipped` sets.

    A false negative of the sets is a false positive of the flipped sets, so the two counts are exchanged.
    """
    terms: list[Term] = []
    for term in structure.terms:
        if isinstance(term, Counts):
            # The columns are the coefficients of 1, fn and fp.
            exchanged = (
                None if term.quotient is None else (term.quotient[0][:, [0, 2, 1]], term.quotient[1][:, [0, 2, 1]])
            )
            formulas = tuple((c, _exchanged(f)) for c, f in term.formulas)
            ceilings, bends = term.ceilings, term.bends
            terms.append(
                replace(
                    term,
                    formulas=formulas,
                    P=term.N,
                    N=term.P,
                    quotient=exchanged,
                    ceilings=None if ceilings is None else tuple((c, _exchanged_ceiling(f)) for c, f in ceilings),
                    bends=None if bends is None else tuple((c, _exchanged_bend(f)) for c, f in bends),
                )
            )
        elif isinstance(term, SetFunction):
            terms.append(_flipped_function(term))
        else:
            # Other terms see which decisions are wrong, and these are the same for both.
            terms.append(term)
    return Structure(sets, tuple(terms), structure.source)


def _exchanged(f: Formula) -> Formula:
    """The formula with the two classes exchanged."""
    return lambda fn, fp, P, N: f(fp, fn, N, P)


def _exchanged_ceiling(most: Ceiling) -> Ceiling:
    """The bound of the formula with the two classes exchanged."""
    return lambda fn, last_fn, fp, last_fp, P, N: most(fp, last_fp, fn, last_fn, N, P)


def _exchanged_bend(bend: Bend) -> Bend:
    """The bounds on differences of the formula with the two classes exchanged."""

    def exchanged(
        fn: Values, last_fn: Values, fp: Values, last_fp: Values, P: Values, N: Values
    ) -> tuple[Values, Values, Values]:
        along_fn, along_fp, mixed = bend(fp, last_fp, fn, last_fn, N, P)
        return along_fp, along_fn, mixed

    return exchanged


def _flipped_function(term: SetFunction) -> SetFunction:
    """The set function of the same mistakes, computed on the flipped sets."""
    value, gain, marginal = term.value, term.gain, term.marginal

    def flipped_gain(sets: Sets, orders: Orders) -> Values:
        assert gain is not None
        return gain(flipped(sets), Orders(orders.items, ~orders.labels, orders.offsets))

    def flipped_marginal(sets: Sets, mistakes: Bools) -> Values:
        assert marginal is not None
        return marginal(flipped(sets), mistakes)

    return replace(
        term,
        value=lambda sets, mistakes: value(flipped(sets), mistakes),
        gain=None if gain is None else flipped_gain,
        marginal=None if marginal is None else flipped_marginal,
    )


@final
@dataclass(frozen=True, eq=False)
class LabelCosts(Term):
    """``sum_i costs[i, y_i]``: each label of each decision has a cost of its own; ``costs`` (total, k)."""

    costs: Values

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset(SHAPES)

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return segment_sums(np.take_along_axis(self.costs, labels[:, None], axis=1)[:, 0], batch.offsets)

    def scaled(self, factor: float) -> "LabelCosts":
        return LabelCosts(factor * self.costs)

    def merged(self, other: Term) -> Term | None:
        return LabelCosts(self.costs + other.costs) if isinstance(other, LabelCosts) else None

    def take(self, batch: Batch, parts: Ints) -> "LabelCosts":
        return LabelCosts(self.costs[batch.decisions(parts)])

    def zero(self, batch: Batch) -> "LabelCosts":
        return LabelCosts(np.where(self.costs > 0, -np.inf, 0.0))


@final
@dataclass(frozen=True, eq=False)
class OneLabel(Term):
    """``l(y == label)``: the value of a structure l of the binary decisions "is this ``label``?".

    With ``label`` None the decisions are "is this label right?". ``structure`` is bound to the binary view of the
    batch, see :func:`binary_view`.
    """

    label: int | None
    structure: Structure

    @property
    def traits(self) -> frozenset[Trait]:
        return self.structure.traits

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return self.structure.values(batch.seen(self.label, labels))

    def scaled(self, factor: float) -> "OneLabel":
        return OneLabel(self.label, factor * self.structure)

    def merged(self, other: Term) -> Term | None:
        if not isinstance(other, OneLabel) or other.label != self.label:
            return None
        # Both views are equal, but Structure adds only those of one batch object.
        return OneLabel(self.label, Structure(self.structure.batch, other.structure.terms) + self.structure)

    def take(self, batch: Batch, parts: Ints) -> "OneLabel":
        return OneLabel(self.label, self.structure.take(parts))

    def allowed(self, batch: Batch) -> "OneLabel | None":
        inner = self.structure.allowed()
        return OneLabel(self.label, inner) if inner.terms else None

    def zero(self, batch: Batch) -> "OneLabel":
        return OneLabel(self.label, self.structure.zero())
