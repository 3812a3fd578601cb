"""Thresholds of the columns of a label matrix for the mean loss of its rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from setwise.core.checks import Bools, Ints, Values
from setwise.core.counts import Counts
from setwise.core.loss import Loss
from setwise.core.structure import Structure
from setwise.decisions.columns import LARGEST_ROUNDS, Columns
from setwise.decisions.sweep import bound, sweep_all
from setwise.kernels.thresholds import EQUAL

LARGEST_TABLE = 1 << 21
"""The losses of rows are read from a table if it has at most so many values."""


def best_of_rows(columns: Columns, loss: Loss) -> tuple[Values, float, bool]:
    """Thresholds that no change of a single one makes better, the mean loss of the rows, and whether it is the least.

    The best common threshold is the start. Then each column in turn is swept while the others stay.
    """
    n, p = columns.shape
    structure = bound(loss, columns.rows, "label_thresholds")
    common = sweep_all(structure, columns.scores.ravel()).best()[0]
    thresholds, value = np.full(p, common.threshold), common.loss
    rows = row_losses(structure, columns.labels(thresholds))
    for _ in range(LARGEST_ROUNDS if p > 1 else 0):
        before = value
        for c in range(p):
            order = columns.order.segment(c)
            without, within = rows.pair(c)
            # A decision that is predicted too changes the loss of its own row alone.
            start = np.array([without.mean()])
            losses = start[0] + np.cumsum((within - without)[order.items - c * n]) / n
            cut = order.best(losses, start)
            lower = float(order.at(losses, start, cut)[0])
            if lower < value - EQUAL * abs(value):
                thresholds[c], value = order.between(cut)[0], lower
                rows = rows.changed(c, columns.scores[:, c] >= thresholds[c])
        if value >= before:
            break
    # A sum of costs of single decisions is a sum over columns, and each of them was given its best threshold.
    exact = p == 1 or not structure.split()[1].terms
    return thresholds, float(structure.values(columns.labels(thresholds).ravel()).mean()), exact


class RowLosses(ABC):
    """The losses of the rows of a label matrix at a labeling, as one of its columns changes."""

    @abstractmethod
    def pair(self, c: int) -> tuple[Values, Values]:
        """The losses of all rows if column c is predicted nowhere, and if it is predicted everywhere, (n,) each."""

    @abstractmethod
    def changed(self, c: int, labels: Bools) -> "RowLosses":
        """The same with other labels (n,) in column c."""


def row_losses(structure: Structure, labels: Bools) -> RowLosses:
    """The rows of a structure at a labeling (n, p), in the form that is the fastest for their loss."""
    counts = structure.counts
    if counts is None or counts.areas is not None:
        return AnyRows(structure, labels)
    first, table = _table(counts)
    if not len(table):
        return AnyRows(structure, labels)
    truth = np.asarray(structure.batch.labels).reshape(labels.shape).T
    width = counts.N.astype(np.int64) + 1
    steps, chosen = np.where(truth == 1, -width, 1 * (truth == 0)), np.ascontiguousarray(labels.T)
    missed = width * ((truth == 1).sum(axis=0))
    return TabledRows(table, first + missed + (steps * chosen).sum(axis=0), steps, chosen)


def _table(counts: Counts) -> tuple[Ints, Values]:
    """The place of ``fn = fp = 0`` of each row, (n,), in a table of all values of the loss; none if it is too large.

    Rows with the same P and N share a part of the table, in which ``fn`` goes down and ``fp`` across.
    """
    P, N = counts.P.astype(np.int64), counts.N.astype(np.int64)
    _, rows, kinds = np.unique(P * (N.max() + 1) + N, return_index=True, return_inverse=True)
    sizes = (P[rows] + 1) * (N[rows] + 1)
    shared = counts.linear is None or (counts.linear == counts.linear[rows][kinds]).all()
    if not shared or sizes.sum() > LARGEST_TABLE:
        return np.zeros(0, np.int64), np.zeros(0)
    firsts = np.cumsum(sizes) - sizes
    owners = np.repeat(np.arange(len(rows)), sizes)
    fn, fp = np.divmod(np.arange(len(owners)) - firsts[owners], N[rows][owners] + 1)
    return firsts[kinds], counts.of(fn.astype(np.float64), fp.astype(np.float64), rows[owners])


@final
@dataclass(frozen=True, eq=False)
class TabledRows(RowLosses):
    """Rows whose loss is a function of counts, given as a table; a column costs O(n).

    Parameters
    ----------
    table : the values of the loss
    places : (n,) the place of each row in the table
    steps : (p, n) by how much the place changes when a decision is predicted
    labels : (p, n) the labeling
    """

    table: Values
    places: Ints
    steps: Ints
    labels: Bools

    def pair(self, c: int) -> tuple[Values, Values]:
        none = self.places - self.steps[c] * self.labels[c]
        return self.table[none], self.table[none + self.steps[c]]

    def changed(self, c: int, labels: Bools) -> "TabledRows":
        more, whole = labels.astype(np.int64) - self.labels[c], self.labels.copy()
        whole[c] = labels
        return replace(self, places=self.places + more * self.steps[c], labels=whole)


@final
@dataclass(frozen=True, eq=False)
class AnyRows(RowLosses):
    """Rows of any loss, which is evaluated anew: a column costs O(n p) or more."""

    structure: Structure
    labels: Bools

    def pair(self, c: int) -> tuple[Values, Values]:
        none, every = self.labels.copy(), self.labels.copy()
        none[:, c], every[:, c] = False, True
        return self.structure.values(none.ravel()), self.structure.values(every.ravel())

    def changed(self, c: int, labels: Bools) -> "AnyRows":
        whole = self.labels.copy()
        whole[:, c] = labels
        return replace(self, labels=whole)
