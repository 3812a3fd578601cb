"""Log-supermodular distributions of binary labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values, as_array, as_kind, as_number, as_point, shown
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.core.pages import DISTRIBUTIONS
from setwise.inference.max_flow import wirings
from setwise.kernels.max_flow import arcs_of
from setwise.kernels.networks import Arcs, Lattice
from setwise.probabilistic.base_functions import (
    BaseFunction,
    ConcaveSizeFunction,
    Cut,
    ModularFunction,
    as_rows,
    as_sizes,
    joined,
)
from setwise.probabilistic.minimizers import Minimizer, Minimum, Oracle, minimizer_of


class CutGraph(NamedTuple):
    """All cuts of a distribution as one graph, with the weights (m,) of its edges, 0 or above."""

    graphs: Graphs
    weights: Values

    @property
    def edges(self) -> Ints:
        """The two ends of each edge, (m, 2)."""
        return self.graphs.edges

    @property
    def active(self) -> tuple[Ints, Values]:
        """The edges whose weights are above 0, and these."""
        kept = self.weights > 0.0
        return self.edges[kept], self.weights[kept]


@final
@dataclass(frozen=True, eq=False)
class LogSupermodularDistribution:
    """``p(y) = exp(-f(y)) / Z`` with ``f(y) = sum_k alpha_k f_k(y) - <t, y>``, f_k submodular and alpha >= 0 (LSM 4).

    Labels that agree are more probable: f is submodular, and p is log-supermodular. All base functions vanish at 0, so
    f does; what conditioning adds to f stands apart in ``constant``.

    Parameters
    ----------
    terms : the base functions f_k, one or more: ``Cut``, ``ConcaveSizeFunction``, ``ModularFunction``,
        ``CallableSetFunction``
    unary : t, (p,) finite; None takes 0
    weights : alpha, (K,) finite, 0 or above; None takes 1 for each
    constant : f(0), in the unit of f (nats), in a larger distribution, from which this one was made by conditioning

    Raises
    ------
    ValueError, TypeError : for shapes, types and values other than these
    OverflowError : for numbers whose sums leave float64
    Refusal : for weights below 0

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution
    >>> model = LogSupermodularDistribution([Cut.grid(1, 3)], unary=[2.0, -1.0, 1.0], weights=[0.4])
    >>> model.values([[1, 0, 1], [1, 1, 1]]).round(1)  # two edges are cut: 2 * 0.4 - 3, and none: -2
    array([-2.2, -2. ])
    >>> model.minimum().labels.tolist()  # the most probable labels
    [True, False, True]
    """

    terms: Any
    unary: Any = None
    weights: Any = None
    constant: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.terms, BaseFunction) or not isinstance(self.terms, Iterable):
            raise TypeError(
                f"terms must be a list of base functions, such as [Cut.grid(5, 5)]; got {shown(self.terms)}."
            )
        terms = tuple(as_kind(one, "terms", BaseFunction, "Cut.grid(5, 5)") for one in self.terms)
        sizes = {one.total for one in terms}
        if len(sizes) != 1:
            raise ValueError(f"terms must be functions of equally many labels; got {sorted(sizes)}.")
        p = sizes.pop()
        unary = np.zeros(p) if self.unary is None else as_sizes(self.unary, p, "unary")
        weights = np.ones(len(terms)) if self.weights is None else as_sizes(self.weights, len(terms), "weights")
        if (weights < 0).any():
            raise Refusal(
                f"LogSupermodularDistribution refuses weights below 0; got {weights.min():.4g}: "
                "f would not be submodular.",
                DISTRIBUTIONS,
            )
        constant = as_number(self.constant, "constant")
        self.__dict__.update(terms=terms, unary=unary.copy(), weights=weights.copy(), constant=constant)

    @property
    def total(self) -> int:
        """p, the number of labels."""
        return len(self.unary)

    def __repr__(self) -> str:
        kinds = ", ".join(type(one).__name__ for one in self.terms)
        return f"LogSupermodularDistribution({self.total} labels, {kinds})"

    def values(self, labels: ArrayLike) -> Values:
        """The value f of each row of ``labels`` (n, p), (n,), without the constant."""
        rows = as_rows(labels, self.total)
        out = -(rows @ self.unary)
        for weight, term in zip(self.weights, self.terms, strict=True):
            out += weight * term.values(rows)
        return np.asarray(out)

    def base_values(self, labels: ArrayLike) -> Values:
        """``f_k`` of each row of ``labels`` (n, p), (n, K)."""
        rows = as_rows(labels, self.total)
        return np.stack([term.values(rows) for term in self.terms], axis=1)

    def gains(self, order: Ints) -> Values:
        """What each label adds to f where the labels become 1 in the given order, a permutation of 0..p-1, (p,)."""
        out = -self.unary[order]
        for weight, term in zip(self.weights, self.terms, strict=True):
            if weight > 0.0:
                out = out + weight * term.gains(order)
        return np.asarray(out)

    def extension(self, x: ArrayLike) -> tuple[float, Values]:
        """The Lovász extension of f at x (p,), ``max over s in B(f) of <s, x>``, and the s that attains it, (p,).

        It is f at labels, convex, and linear where the order of x does not change; s is a subgradient. O(p log p) and
        the gains of the terms.
        """
        point = as_point(x, self.total, "x")
        order = np.argsort(-point, kind="stable")
        base = np.empty(self.total)
        base[order] = self.gains(order)
        return float(base @ point), base

    def condition(self, fixed: ArrayLike) -> "LogSupermodularDistribution":
        """The distribution of the labels that are -1 in ``fixed`` (p,), given that the others are 0 and 1 as it says.

        Its f is ``f(A + y) - f(A)``, where A are the labels that are fixed to 1, and its constant is f(A) and that of
        this one.
        """
        given = as_array(fixed, "fixed")
        if given.shape != (self.total,) or given.dtype.kind not in "iuf" or not np.isin(given, (-1, 0, 1)).all():
            raise ValueError(f"fixed must be {self.total} numbers of -1, 0 and 1; got {shown(fixed)}.")
        labels = given.astype(np.int8)
        if not (labels < 0).any():
            raise ValueError("fixed must leave a label free: -1 marks those that are.")
        parts = [term.condition(labels) for term in self.terms]
        unary, constant = self.unary[labels < 0], self.constant - float(self.unary @ (labels == 1))
        for weight, part in zip(self.weights, parts, strict=True):
            unary, constant = unary - weight * part.linear, constant + float(weight) * part.constant
        return LogSupermodularDistribution([part.function for part in parts], unary, self.weights, constant)

    def with_unary(self, unary: Values) -> "LogSupermodularDistribution":
        """The same with other numbers t."""
        return LogSupermodularDistribution(self.terms, unary, self.weights, self.constant)

    @cached_property
    def scores(self) -> Values:
        """What each label of 1 takes off f alone: t, less the modular terms, (p,)."""
        out = self.unary.copy()
        for weight, one in zip(self.weights, self.terms, strict=True):
            if isinstance(one, ModularFunction):
                out -= weight * one.slopes
        return np.asarray(out)

    @cached_property
    def pairwise(self) -> CutGraph | None:
        """All terms that are not modular as one cut; None where one of them is no cut."""
        active = [one for w, one in zip(self.weights, self.terms, strict=True) if w > 0.0]
        if not all(isinstance(one, Cut | ModularFunction) for one in active):
            return None
        return self.cuts

    @cached_property
    def table(self) -> Values | None:
        """The sum of all concave functions of the size, (p + 1,); None where a term is none of those."""
        out = np.zeros(self.total + 1)
        for weight, term in zip(self.weights, self.terms, strict=True):
            if weight > 0.0 and not isinstance(term, Cut | ModularFunction):
                if not isinstance(term, ConcaveSizeFunction):
                    return None
                out += weight * term.table
        return out

    @cached_property
    def cuts(self) -> CutGraph:
        """The cuts among the terms as one."""
        found = [(w, one) for w, one in zip(self.weights, self.terms, strict=True) if isinstance(one, Cut) and w > 0.0]
        return CutGraph(*joined(self.total, [one for _, one in found], np.array([w for w, _ in found])))

    @cached_property
    def wired(self) -> tuple[Arcs | Lattice, Values]:
        """The network of the cuts among the terms, and the capacities of its arcs."""
        (wires,) = wirings(self.cuts.graphs, self.total)
        capacities = np.zeros(arcs_of(wires.network, self.total))
        wires.place(self.cuts.weights, capacities)
        return wires.network, capacities

    @cached_property
    def minimizer(self) -> Minimizer:
        """Minimizes f with other numbers in place of ``scores``, again and again."""
        return minimizer_of(self.cuts.graphs, self.cuts.weights, self.table, self.oracle, self.scores)

    def minimum(self) -> Minimum:
        """The most probable labels, the least value of f, and a lower bound of it, which says how exact they are."""
        return self.minimizer(self.scores)

    def max_marginals(self) -> Values:
        """``max -f(y)`` over the labelings in which each label is 0, and over those in which it is 1, (p, 2).

        They differ by how much more probable the best labeling with a label is than the best one without it. One
        minimum cut and a short search for each label where all terms are cuts, else p minimizations.
        """
        first, last = self.singles
        return -self.minimizer.forced(self.scores, 1.0 + np.maximum(np.abs(first), np.abs(last)))

    def turns(self, labels: Bools) -> Values:
        """What f gains if each label is flipped alone, ``f(y ^ e_i) - f(y)`` at y = ``labels`` (p,) of bool, (p,)."""
        out = np.where(labels, self.unary, -self.unary)
        for weight, term in zip(self.weights, self.terms, strict=True):
            out = out + weight * term.turns(labels)
        return np.asarray(out)

    @property
    def largest(self) -> float:
        """An upper bound of the sum of the absolute values of the terms of f, for all labelings."""
        parts = [weight * term.largest for weight, term in zip(self.weights, self.terms, strict=True)]
        return float(np.abs(self.scores).sum()) + float(sum(parts))

    def oracle(self) -> Oracle:
        """The function f by what each label adds to it."""
        return Oracle(self.gains, *self.singles)

    @cached_property
    def singles(self) -> tuple[Values, Values]:
        """What each label adds to f where all others are 0, and where all others are 1, (p,) each."""
        none = np.zeros(self.total, dtype=bool)
        return self.turns(none), -self.turns(~none)
