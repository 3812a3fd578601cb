"""Batches of networks whose labelings are single labels: one wrong labeling of each, or none."""

from typing import Any, final

import numpy as np

from setwise.core.checks import Ints, Values, as_kind, shown
from setwise.core.label_sequences import as_truths
from setwise.core.networks import Graphs, Network
from setwise.core.single_labels import Flips
from setwise.kernels.segments import segment_sums


@final
class Labelings(Flips):
    """Labelings ``y`` of n networks, of which some are right: ``f(y) = <s, phi(y)> + c``, phi that of the networks.

    The scores of an input are those of its network, then that of the constant, c.

    Parameters
    ----------
    networks : the batch of networks, as :class:`setwise.core.Graphs`; its own labels say nothing
    truths : for each network its right labelings, (m_i, nodes) whole numbers in 0..k-1, distinct; m_i may be 0. None
        for no right labelings at all, as in batches to predict
    """

    def __init__(self, networks: Network, truths: Any = None) -> None:
        self.networks: Network = as_kind(networks, "networks", Network, "Graphs(labels, offsets, edges)")
        super().__init__(as_truths(truths, len(networks)), networks.sizes, np.diff(networks.score_offsets) + 1)

    @property
    def largest(self) -> int:
        return self.networks.n_labels

    def check_labels(self, i: int, labels: Ints, name: str) -> None:
        k = self.networks.n_labels
        if labels.min() < 0 or labels.max() >= k:
            raise ValueError(f"{name} must hold labels 0..{k - 1}; got {shown(labels.tolist())}.")

    def indicators(self, labels: Ints) -> Values:
        named = self.named(labels)
        inner = self.networks.encode(as_labeling(self.networks, np.maximum(labels - 1, 0)))
        inner *= np.repeat(named, np.diff(self.networks.score_offsets))
        # The constant of each input comes behind the scores of its network.
        return np.insert(inner, self.networks.score_offsets[1:], named.astype(np.float64))

    def label_scores(self, i: int, scores: Values, labels: Ints) -> Values:
        if not len(labels):
            return np.zeros(0)
        copies = self.networks.take(np.full(len(labels), i))
        codes = copies.encode(as_labeling(copies, labels.ravel()))
        own: Values = segment_sums(codes * np.tile(scores[:-1], len(labels)), copies.score_offsets)
        return own + float(scores[-1])

    def take(self, parts: Ints) -> "Labelings":
        chosen = self.chosen(parts)
        chosen.networks = self.networks.take(parts)
        return chosen


def as_labeling(networks: Network, labels: Ints) -> Any:
    """Whole numbers as labels of networks, which are truth values where there are two."""
    return labels == 1 if isinstance(networks, Graphs) else labels
