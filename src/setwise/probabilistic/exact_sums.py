"""The logarithm of the sum over all labelings, and the probabilities of single labels, exactly.

Of pairwise networks one label after another is summed out.
"""

from typing import NamedTuple, final

import numpy as np
from scipy.special import logsumexp

from setwise.core.checks import Ints, Values, as_count, as_kind
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.core.pages import DISTRIBUTIONS
from setwise.probabilistic.log_supermodular_distribution import LogSupermodularDistribution
from setwise.probabilistic.variational_bounds import EXAMPLE, LogPartition, certain

Scope = tuple[int, ...]


class TableFactor(NamedTuple):
    """A function of some labels: ``table`` has one axis of length 2 for each label of ``scope``."""

    scope: Scope
    table: Values


def min_fill(edges: Ints, p: int, most: int) -> tuple[list[int], int]:
    """An order of elimination, the label that joins the fewest others first, and its width.

    The width is the largest number of labels on which an eliminated one depends. The search ends where it exceeds
    ``most``; the order is then not complete.
    """
    near: list[set[int]] = [set() for _ in range(p)]
    for a, b in edges.tolist():
        near[a].add(b)
        near[b].add(a)
    left, order, width = set(range(p)), list[int](), 0
    fill = {i: _fill(near, i) for i in left}
    while left:
        best = min(left, key=lambda i: (fill[i], len(near[i]), i))
        around = near[best]
        width = max(width, len(around))
        if width > most:
            break
        order.append(best)
        left.remove(best)
        changed = set(around)
        for i in around:
            near[i].discard(best)
            # What an edge among the neighbors changes is the fill of all that see both of its ends.
            changed |= near[i]
            near[i] |= around - {i, best}
        for i in changed & left:
            fill[i] = _fill(near, i)
    return order, width


def _fill(near: list[set[int]], i: int) -> int:
    """The number of edges that are missing among the neighbors of a label."""
    around = list(near[i])
    return sum(b not in near[a] for k, a in enumerate(around) for b in around[:k])


@final
class Elimination:
    """``log sum_y exp(sum of factors)`` and the probabilities of label 1, by one bucket for each label.

    The bucket of a label holds all factors that know it when it is eliminated; their sum over it is a message, a factor
    of the labels that are left. Time and memory are ``O(p 2^width)``.
    """

    def __init__(self, factors: list[TableFactor], order: list[int]) -> None:
        self._order, self._place = order, {label: k for k, label in enumerate(order)}
        # The factors of each bucket, with the label whose message they are, if they are one.
        self._buckets: list[list[tuple[TableFactor, int | None]]] = [[] for _ in order]
        for factor in factors:
            self._put(factor)
        self.log_z = 0.0
        for k in range(len(order)):
            whole = self._whole(k)
            # The label that is eliminated is the first axis.
            message = TableFactor(whole.scope[1:], np.logaddexp(whole.table[0], whole.table[1]))
            if message.scope:
                self._put(message, k)
            else:
                self.log_z += float(message.table)

    def marginals(self) -> Values:
        """The probabilities of label 1, by the way back through all buckets."""
        out, above = np.empty(len(self._order)), dict[int, Values]()
        for k in reversed(range(len(self._order))):
            scope, table = self._whole(k)
            if len(scope) > 1:
                table = table + above.pop(k)
            for factor, source in self._buckets[k]:
                if source is not None:
                    # What all other factors say of the labels of a message.
                    above[source] = _summed(TableFactor(scope, table), factor.scope) - factor.table
            whole = np.logaddexp.reduce(table.reshape(2, -1), axis=1)
            out[self._order[k]] = float(np.exp(whole[1] - np.logaddexp(*whole)))
        return out

    def _put(self, factor: TableFactor, source: int | None = None) -> None:
        """Into the bucket of its label that is eliminated first."""
        self._buckets[min(self._place[i] for i in factor.scope)].append((factor, source))

    def _whole(self, k: int) -> TableFactor:
        """The sum of a bucket; its labels are in the order of elimination."""
        labels = {i for factor, _ in self._buckets[k] for i in factor.scope}
        scope = tuple(sorted(labels, key=self._place.__getitem__))
        table = np.zeros((2,) * len(scope))
        for factor, _ in self._buckets[k]:
            table += self._spread(factor, scope)
        return TableFactor(scope, table)

    def _spread(self, factor: TableFactor, scope: Scope) -> Values:
        """The table of a factor with an axis for each label of a larger scope."""
        order = np.argsort([self._place[i] for i in factor.scope])
        shape = tuple(2 if i in factor.scope else 1 for i in scope)
        return factor.table.transpose(order).reshape(shape)


def _summed(factor: TableFactor, scope: Scope) -> Values:
    """The factor, summed over all labels that are not in the scope; both are in the order of elimination."""
    rest = tuple(k for k, i in enumerate(factor.scope) if i not in scope)
    return np.asarray(np.logaddexp.reduce(factor.table, axis=rest) if rest else factor.table)


ENUMERATED = 20
"""Up to so many labels all labelings are listed."""


def exact(model: LogSupermodularDistribution, max_width: int = 21) -> LogPartition:
    """``A(f) = log sum_y exp(-f(y))``, and the marginals ``p(y_i = 1)`` (LSM 2.2).

    Up to 20 labels by enumeration, O(2^p). Otherwise by elimination of one label after another (Dechter 1999), for cuts
    whose graph is narrow: O(p 2^width) in time and memory for the width of the min-fill order, that is 8 bytes times
    ``2^(width + 1)`` for a table.

    Parameters
    ----------
    model : the distribution
    max_width : the largest width that is tried

    Returns
    -------
    bound : A(f) itself but for rounding

    Raises
    ------
    ValueError, TypeError : for anything but a model, and a width below 1
    Refusal : for wider graphs, and for other terms than cuts on more than 20 labels

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, exact
    >>> found = exact(LogSupermodularDistribution([Cut(2, [[0, 1]])], unary=[1.0, 0.0]))
    >>> print(round(found.value, 6), found.marginals.round(3))
    1.626523 [0.731 0.607]
    >>> print(round(np.log(1 + np.exp(1 - 1) + np.exp(0 - 1) + np.exp(1)), 6))  # labels 00, 10, 01 and 11
    1.626523
    """
    as_kind(model, "model", LogSupermodularDistribution, EXAMPLE)
    most = as_count(max_width, "max_width")
    if model.total <= ENUMERATED:
        return _enumerated(model)
    pairs = model.pairwise
    if pairs is None:
        raise Refusal(
            f"exact refuses {model!r}: only cuts are summed exactly beyond {ENUMERATED} labels. Use l_field.",
            DISTRIBUTIONS,
        )
    edges, weights = pairs.active
    order, width = min_fill(edges, model.total, most)
    if width > most:
        raise Refusal(
            f"exact refuses {model!r}: its graph has a width above {most}. Use l_field or tree_reweighted.",
            DISTRIBUTIONS,
        )
    factors = [TableFactor((i,), np.array([0.0, t])) for i, t in enumerate(model.scores.tolist())]
    factors += [
        TableFactor((a, b), np.array([[0.0, -w], [-w, 0.0]]))
        for (a, b), w in zip(edges.tolist(), weights.tolist(), strict=True)
    ]
    found = Elimination(factors, order)
    return certain(found.log_z, "exact", found.marginals())


def _enumerated(model: LogSupermodularDistribution) -> LogPartition:
    """By all labelings, a block after another."""
    p, low = model.total, min(model.total, 12)
    # The first labels change slowest: each block fixes them.
    inner, logs, ones = subsets(low), [], []
    for outer in subsets(p - low) if p > low else [np.zeros(0, dtype=bool)]:
        rows = np.hstack([np.tile(outer, (len(inner), 1)), inner])
        values = -model.values(rows)
        logs.append(float(logsumexp(values)))
        ones.append(np.exp(values - values.max()) @ rows * np.exp(values.max() - logs[-1]))
    total = float(logsumexp(logs))
    return certain(total, "exact", np.exp(np.array(logs) - total) @ np.array(ones))
