"""Labelings of networks by Lawler's list of the best ones, over any exact inference."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.checks import Ints, Values, as_count, as_kind
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer
from setwise.core.network_labelings import Labelings
from setwise.core.pages import EXACT_SEARCHES
from setwise.core.structure import Structure
from setwise.inference.single_labels import Falling, RankedMaximizer, farther, unfit_for_flips


@final
@dataclass(frozen=True)
class ByNetworks(Inference):
    """The worst labeling of each network, or none: ``max lambda (1 - v f)``, or ``lambda - v f``; the K best of them.

    The best labelings come from ``inner`` by the partition of Lawler (1972), p k of its searches for each one. They
    settle equal costs after ``|Y| + 1`` of them, and under margin rescaling Hamming costs to one right labeling at
    once. Otherwise it goes down the list until no other labeling can be worse. After ``limit`` of them it answers with
    a bound.

    Parameters
    ----------
    inner : an exact method for the scores of the networks
    limit : so many labelings are looked at for an input and a call, at most

    Raises
    ------
    TypeError : for an ``inner`` that is no inference, and a ``limit`` that is no whole number
    ValueError : for a ``limit`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``Labelings``, losses that are not one cost of single labels,
        and where ``inner`` refuses the network; from its maximizers, where ``inner`` finds a labeling that it cannot
        certify

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.core.network_labelings import Labelings
    >>> from setwise.inference import Auto, ByNetworks
    >>> from setwise.losses import MaxLoss
    >>> pair = Graphs(np.array([False, False]), np.array([0, 2]), np.array([[0, 1]]))
    >>> batch = Labelings(pair, truths=[[[1, 1]]])
    >>> maximizer = ByNetworks(Auto()).prepare(MaxLoss().structure(batch), slack=True)
    >>> found = maximizer.maximize([0.5, -1.0, 1.0, 0.0])  # the labeling (0, 0) has f = 1: 1 + 1
    >>> print(found.labels - 1, found.values)
    [0 0] [2.]
    """

    inner: Inference
    limit: int = 1000

    name: ClassVar[str] = "by_networks"
    about: ClassVar[str] = "the best labelings of a network, one after another"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_kind(self.inner, "inner", Inference, "setwise.inference.Auto()")
        as_count(self.limit, "limit")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit_for_flips(self, structure, Labelings)
        return why if why is not None else self.inner.refuses(_scored(structure))

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _ByNetworks(self, structure, slack, self.limit)


def _scored(structure: Structure) -> Structure:
    """The networks without a loss, so that their labelings have their scores alone."""
    batch: Any = structure.batch
    return Structure(batch.networks, (), "the score of a network")


@final
class _ByNetworks(RankedMaximizer):
    def __init__(self, method: ByNetworks, structure: Structure, slack: bool, limit: int) -> None:
        super().__init__(method, structure, slack, limit)
        self._inner = method.inner.prepare(_scored(structure))

    def falling(self, i: int, scores: Values, weights: Values | None = None, many: int = 1) -> Falling:
        inner, truths = self._inner.take(np.array([i])), self.flips.truths[i]
        moved = scores[:-1] if weights is None else _moved(inner.structure.batch, scores[:-1], truths, weights)
        for solution in inner._ranked(moved)[0]:
            if not solution.exact:
                raise Refusal(
                    f"ByNetworks refuses these scores: {type(inner.method).__name__} bounds the best labeling of a "
                    "network, and does not find it. Use trees, or two labels with attracting edges.",
                    EXACT_SEARCHES,
                )
            label = np.asarray(solution.labels, np.int64)
            f = float(self.flips.label_scores(i, scores, label[None])[0])
            yield f + (0.0 if weights is None else float(weights @ (label != truths).mean(axis=1))), label


def _moved(network: Any, scores: Values, truths: Ints, weights: Values) -> Values:
    """The scores of a network whose nodes gain by each right labeling from which they differ, but for a constant."""
    gains = farther(np.zeros((network.total, network.n_labels)), truths, weights)
    # A label without a score stays at 0, so the others gain what is left over it.
    gains -= np.where(network.unary[:, :1] < 0, gains[:, :1], 0.0)
    out, scored = scores.copy(), network.unary >= 0
    out[network.unary[scored]] += gains[scored]
    return out
