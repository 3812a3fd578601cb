"""Batches of sequences whose labelings are single labels: one wrong labeling of each, or none."""

from typing import Any, final

import numpy as np

from setwise.core.checks import LARGEST_LABEL, Ints, Values, as_array, as_count, shown
from setwise.core.single_labels import Flips


@final
class Sequences(Flips):
    """Labelings ``y`` of n sequences, of which some are right: ``f(y) = sum_t u_t[y_t] + sum_t P[y_t, y_t+1] + c``.

    The scores of a sequence of length T are those of its places, ``u`` (T, k), then those of neighboring labels,
    ``P`` (k, k), then that of the constant, c.

    Parameters
    ----------
    lengths : (n,) the numbers of places, one or more each
    k : the number of labels of a place
    truths : for each sequence its right labelings, (m_i, T_i) whole numbers in 0..k-1, distinct; m_i may be 0. None for
        no right labelings at all, as in batches to predict
    """

    def __init__(self, lengths: Any, k: int, truths: Any = None) -> None:
        self.k = as_count(k, "k", high=LARGEST_LABEL)
        sizes = as_lengths(lengths, "lengths")
        super().__init__(as_truths(truths, len(sizes)), sizes, sizes * k + k * k + 1)

    @property
    def largest(self) -> int:
        return self.k

    def check_labels(self, i: int, labels: Ints, name: str) -> None:
        if labels.min() < 0 or labels.max() >= self.k:
            raise ValueError(f"{name} must hold labels 0..{self.k - 1}; got {shown(labels.tolist())}.")

    def indicators(self, labels: Ints) -> Values:
        out, k = np.zeros(self.n_scores), self.k
        named = np.repeat(self.named(labels), self.sizes)
        first, tables = self.score_offsets[self.owners], self.score_offsets[1:] - 1 - k * k
        at = np.flatnonzero(named)
        out[first[at] + self.places[at] * k + labels[at] - 1] = 1.0
        later = at[self.places[at] > 0]
        np.add.at(out, tables[self.owners[later]] + (labels[later - 1] - 1) * k + labels[later] - 1, 1.0)
        out[self.score_offsets[1:][self.named(labels)] - 1] = 1.0
        return out

    def label_scores(self, i: int, scores: Values, labels: Ints) -> Values:
        unary, pairs, constant = self.parts(i, scores)
        along = unary[np.arange(len(unary)), labels].sum(axis=1)
        return np.asarray(along + pairs[labels[:, :-1], labels[:, 1:]].sum(axis=1) + constant)

    def reach(self, scores: Values) -> Values:
        # A sequence may have the same two neighbors again and again.
        most = super().reach(scores)
        return np.asarray(most * np.maximum(self.sizes - 1, 1))

    def parts(self, i: int, scores: Values) -> tuple[Values, Values, float]:
        """The scores of the places (T, k) of sequence i, those of neighbors (k, k), and that of the constant."""
        k, cut = self.k, int(self.sizes[i]) * self.k
        return scores[:cut].reshape(-1, k), scores[cut:-1].reshape(k, k), float(scores[-1])

    def take(self, parts: Ints) -> "Sequences":
        chosen = self.chosen(parts)
        chosen.k = self.k
        return chosen


def as_lengths(lengths: Any, name: str) -> Ints:
    """Whole numbers, 1 or more each, as int64 (n,), n >= 1."""
    found = as_array(lengths, name)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size or found.min() < 1:
        raise ValueError(f"{name} must be whole numbers from 1 on, one for each input; got {shown(found.tolist())}.")
    return found.astype(np.int64)


def as_truths(truths: Any, n: int) -> list[Any]:
    """One list of right labels for each of n inputs; None stands for none at all."""
    if truths is None:
        return [()] * n
    if not isinstance(truths, list | tuple) or len(truths) != n:
        raise ValueError(f"truths must be a list of {n} arrays of labels, one for each input; got {shown(truths)}.")
    return list(truths)
