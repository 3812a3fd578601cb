"""The zero-one loss on networks: the best labeling, or the second best where the best one is the truth."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Floats, Values
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes, Trait
from setwise.inference.max_flow import MaxFlow, unfit_for_graphs
from setwise.kernels.segments import count_true


@final
@dataclass(frozen=True)
class SecondBest(Inference):
    """``max_y c [y is not the truth] + l(y) + <s, phi(y)>`` on networks whose edges have scores of 0 or above.

    This is the constant margin (HOL Eq. 1), the zero-one loss times c, with a sum l of costs of single mistakes if
    there is one. The labeling of greatest ``l(y) + <s, phi(y)>`` is a minimum cut. It is the answer unless it is the
    truth. Then the best rival has some label wrong, so it is the best of all max-marginals of single wrong labels. They
    come from one further cut for each node, and each cut begins with the last one. Exact. Labels that are not known are
    no mistakes.

    Raises
    ------
    ValueError : from its maximizers, for scores of edges below 0
    Refusal : from :meth:`prepare`, for batches other than ``Graphs``, losses that are not the zero-one loss with costs
        of mistakes, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import SecondBest
    >>> from setwise.losses import ZeroOne
    >>> image = Graphs.images([np.array([[True, True, False]])])
    >>> found = SecondBest().prepare(ZeroOne().structure(image)).maximize([2.0, 0.75, -2.0, 0.5, 0.5])
    >>> print(found.labels, found.values)  # the truth scores 3.25, its best rival 2.5 and wins 1 for being wrong
    [ True False False] [0.25]
    """

    name: ClassVar[str] = "second_best"
    about: ClassVar[str] = "the best labeling of a network that is not the true one"

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit_for_graphs(self, structure, slack)
        if why is not None:
            return why
        if margins(structure) is None:
            return f"SecondBest refuses {structure!r}: not all labelings with a mistake cost the same. Use Auto()."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _SecondBest(self, structure)


def margins(structure: Structure) -> Values | None:
    """What the first mistake of each set costs, (n,), where no further one costs more; None for other losses."""
    terms = structure.split()[1].terms
    if len(terms) != 1 or not isinstance(terms[0], Counts):
        return None
    counts = terms[0]
    kinds = {Trait.INCREASING, Trait.SUBMODULAR, Trait.CARDINALITY}
    if not kinds <= counts.traits or counts.predicted is not None or counts.areas is not None:
        return None
    # The gains of a submodular function of the number of mistakes fall, so if the second is 0, all others are.
    P, N, none = counts.P, counts.N, np.zeros(len(counts.P))
    first = np.where(P > 0, counts.of(np.minimum(P, 1.0), none), counts.of(none, np.minimum(N, 1.0)))
    fn = np.minimum(P, 2.0)
    second = counts.of(fn, np.minimum(N, 2.0 - fn))
    return first - counts.origin if (second <= first).all() else None


@final
class _SecondBest(Maximizer):
    def __init__(self, method: SecondBest, structure: Structure) -> None:
        self.method, self.structure, self.slack = method, structure, False
        costs = structure.split()[0]
        modular = () if costs is None else (Mistakes(costs),)
        self._cut = MaxFlow().prepare(Structure(structure.batch, modular))
        margin = margins(structure)
        assert margin is not None
        self._margins, self._rest = margin, structure.split()[1]
        self._units: dict[int, Maximizer] = {}

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch, found = self.structure.batch, self._cut.solve(scores, tol)
        right = count_true(batch.mistakes(found.labels), batch.offsets) == 0
        labels, bounds = found.labels.copy(), found.bounds + self._rest.values(found.labels)
        for i in np.flatnonzero(right):
            part = np.array([i])
            if i not in self._units:
                self._units[int(i)] = self._cut.take(part)
            own = scores[batch.score_offsets[i] : batch.score_offsets[i + 1]]
            rival = _rival(self._units[int(i)], own)
            if rival is None:
                continue
            bounds[i] = max(bounds[i], float(rival.bounds[0] + self._margins[i]))
            if rival.values[0] + self._margins[i] > found.values[i]:
                labels[batch.decisions(part)] = rival.labels
        return self.solved(scores, labels, bounds)


def _rival(cut: Maximizer, scores: Floats) -> Solutions | None:
    """The best labeling of one set with a mistake; None where none is allowed."""
    batch = cut.structure.batch
    other = np.where(batch.truth, 0, 1)
    wrong = cut.max_marginals(scores)[np.arange(batch.total), other]
    wrong = wrong if batch.known is None else np.where(batch.known, wrong, -np.inf)
    node = int(wrong.argmax())
    if wrong[node] == -np.inf:
        return None
    forced = np.full(batch.total, -1)
    forced[node] = other[node]
    return cut.best(scores, forced)
