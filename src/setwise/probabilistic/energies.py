"""Batches of labelings whose scores are unary terms and the weights of base functions."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.batch import Batch, segments
from setwise.core.checks import as_kind, as_offsets, as_reals, shown
from setwise.core.sets import as_truth
from setwise.probabilistic.functions import BaseFunction, as_rows
from setwise.probabilistic.log_supermodular import LogSupermodular

Terms = tuple[BaseFunction, ...]


@final
class Energies(Batch):
    """``n`` sets of binary decisions with the scores ``[t | alpha]`` and ``phi(y) = [y | -f_1(y) .. -f_K(y)]``.

    The score of a labeling is ``<t, y> - sum_k alpha_k f_k(y) = -f(y)``, the logarithm of its probability but for a
    constant. Scores of base functions must be 0 or above.

    Parameters
    ----------
    terms : for each set the K base functions of its decisions, all sets with as many of them
    labels : (total,) of 0 and 1, or -1 where a label is unknown
    offsets : (n + 1,) int64; set i owns the decisions ``offsets[i]:offsets[i + 1]``
    target : (n_scores,) what labelings are compared with; None takes phi of the labels. The mean of phi over many
        labelings makes one set of all of them
    """

    def __init__(
        self, terms: Sequence[Sequence[BaseFunction]], labels: ArrayLike, offsets: Ints, target: Values | None = None
    ) -> None:
        self.labels: NDArray[Any] = as_truth(labels)
        self.offsets = as_offsets(offsets, len(self.labels))
        self.terms: tuple[Terms, ...] = tuple(
            tuple(as_kind(one, "terms", BaseFunction, "Cut.grid(5, 5)") for one in each) for each in terms
        )
        if len(self.terms) != len(self) or len({len(each) for each in self.terms}) != 1:
            counts = sorted({len(each) for each in self.terms})
            raise ValueError(
                f"terms must be {len(self)} lists of equally many base functions; got {len(self.terms)} with {counts}."
            )
        for i, each in enumerate(self.terms):
            for one in each:
                if one.total != self.sizes[i]:
                    raise ValueError(f"terms must be functions of {self.sizes[i]} labels in set {i}; got {one.total}.")
        if target is not None:
            self.__dict__["target"] = as_reals(target, "target", (self.n_scores,))

    @classmethod
    def joint(cls, terms: Sequence[BaseFunction], rows: ArrayLike) -> "Energies":
        """One set whose target is the mean of phi over the rows (n, p): what the joint likelihood needs of them."""
        functions = list(terms)
        if not functions:
            raise ValueError(f"terms must hold a base function or more; got {shown(terms)}.")
        Y = as_rows(rows, functions[0].total, "rows")
        means = [-float(one.values(Y).mean()) for one in functions]
        ends = np.array([0, functions[0].total])
        return cls([functions], np.full(functions[0].total, -1), ends, np.concatenate([Y.mean(axis=0), means]))

    @property
    def n_labels(self) -> int:
        """The number of labels of a decision: two."""
        return 2

    @property
    def K(self) -> int:  # noqa: N802
        """The number of base functions of a set."""
        return len(self.terms[0])

    @cached_property
    def score_offsets(self) -> Ints:
        """Set ``i`` owns the scores ``score_offsets[i]:score_offsets[i+1]``, (n+1,)."""
        return self.offsets + self.K * np.arange(len(self) + 1)

    @cached_property
    def node_places(self) -> Ints:
        """The position of the unary score of each decision, (total,)."""
        return np.arange(self.total) + self.K * np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def unary(self) -> Ints:
        """The positions of the scores of decisions, (total, 2): they belong to label 1, and label 0 has none."""
        return np.column_stack([np.full(self.total, -1), self.node_places])

    @cached_property
    def term_places(self) -> Ints:
        """The positions of the scores of the base functions, (n, K)."""
        return self.score_offsets[1:, None] - self.K + np.arange(self.K)

    def encode(self, labels: NDArray[Any]) -> Values:
        positive: Bools = np.asarray(labels == 1)
        out = np.empty(self.n_scores)
        out[self.node_places] = positive
        for i, each in enumerate(self.terms):
            row = positive[None, self.offsets[i] : self.offsets[i + 1]]
            out[self.term_places[i]] = [-one.values(row)[0] for one in each]
        return out

    def take(self, parts: Ints) -> "Energies":
        at, scores = self.decisions(parts), segments(parts, self.score_offsets)
        ends = np.concatenate([[0], np.cumsum(self.sizes[parts])])
        return Energies([self.terms[i] for i in parts], self.labels[at], ends, self.target[scores])

    def model(self, i: int, scores: Values) -> LogSupermodular:
        """The distribution of set ``i`` for the scores of the whole batch."""
        unary = scores[self.node_places[self.offsets[i] : self.offsets[i + 1]]]
        return LogSupermodular(self.terms[i], unary, scores[self.term_places[i]])
