"""Maximum likelihood by stochastic gradients, with fresh noise at every step (LSM 4.2 to 4.4)."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Ints, Values
from setwise.core.learner import plain_interrupts
from setwise.kernels.max_flow import new_forest
from setwise.kernels.sampling import LOGISTIC, LabelingData, State, StepPlan, descend, move
from setwise.probabilistic.base_functions import BaseFunction, Cut, wiring_of
from setwise.probabilistic.log_supermodular_distribution import LogSupermodularDistribution
from setwise.probabilistic.perturbations import noise_of

CHUNK = 100
"""Steps between two looks at the clock and at Ctrl-C."""


class Weights(NamedTuple):
    """The weights of a model of images.

    Attributes
    ----------
    unary : t, (p,), or (1,) where all labels have the same
    observation : c, what an observed label of 1 adds to its unary term, and one of 0 takes off
    couplings : alpha, (K,)
    """

    unary: Values
    observation: float
    couplings: Values


class Rates(NamedTuple):
    """How the weights are learned.

    Attributes
    ----------
    steps : their number
    lengths : of the first steps of t, c and alpha
    ridges : the regularizers of t and alpha, ``0.5 ridge |.|^2`` for the mean likelihood of a labeling
    seed : of the order of the labelings and of the noise
    adaptive : whether each number has steps of its own length, by its gradients so far (AdaGrad); else the lengths fall
        with the root of the number of steps, ``length / sqrt(h)`` (LSM 4.2)
    """

    steps: int = 3000
    lengths: tuple[float, float, float] = (0.1, 0.1, 0.1)
    ridges: tuple[float, float] = (1e-3, 1e-3)
    seed: int = 0
    adaptive: bool = True


class LearningResult(NamedTuple):
    """The average of the weights, the steps that were made, and whether Ctrl-C ended them."""

    weights: Weights
    steps: int
    interrupted: bool


@final
class CutLabelings:
    """Labelings with the same cuts as base functions, ready to be learned from.

    Parameters
    ----------
    cuts : the K base functions
    labels : (n, p) of 0 and 1, or their means; -1 for hidden ones, None where all are
    observed : (n, p) from -1 to 1: what each label was seen as, 0 where it was not seen; None where nothing was
    """

    def __init__(self, cuts: Sequence[Cut], labels: Values | None, observed: Values | None) -> None:
        given = labels if labels is not None else observed
        assert given is not None
        n, p = given.shape
        wiring = wiring_of(cuts, p)
        assert wiring is not None
        self.network, self.forest = wiring.network, new_forest(wiring.network, p)
        known = np.full((n, p), -1.0) if labels is None else labels
        functions = np.stack([one.values(known > 0.5) for one in cuts], axis=1)
        self.data = LabelingData(
            np.zeros((n, p)) if observed is None else observed, known, functions, wiring.capacities
        )

    @classmethod
    def joint(cls, cuts: Sequence[Cut], rows: Bools) -> "CutLabelings":
        """All rows as one labeling of their means: what the joint likelihood needs of them (LSM Eq. 5)."""
        made = cls(cuts, rows.mean(axis=0)[None], None)
        means = np.array([[float(one.values(rows).mean()) for one in cuts]])
        made.data = made.data._replace(functions=means)
        return made

    def __len__(self) -> int:
        """The number of labelings."""
        return len(self.data.labels)

    def descend(self, plan: StepPlan, order: Ints, first: int, state: State) -> None:
        """Make the steps ``first``, ``first + 1``, .. with the labelings ``order``."""
        descend(self.network, self.forest, self.data, plan, order, first, state)


@final
class GeneralLabelings:
    """Labelings with any base functions, whose maxima are found one by one; no label is hidden.

    Parameters
    ----------
    terms : the K base functions
    rows : (n, p) labels; all of them are one labeling of their means, as the joint likelihood needs them (LSM Eq. 5)
    """

    def __init__(self, terms: Sequence[BaseFunction], rows: Bools) -> None:
        self.terms = terms
        means = np.array([[float(one.values(rows).mean()) for one in terms]])
        p = rows.shape[1]
        self.data = LabelingData(np.zeros((1, p)), rows.mean(axis=0)[None], means, np.zeros((len(terms), 0)))

    def __len__(self) -> int:
        """The number of labelings."""
        return len(self.data.labels)

    def descend(self, plan: StepPlan, order: Ints, first: int, state: State) -> None:
        """Make the steps ``first``, ``first + 1``, .. with the labelings ``order``."""
        p = self.data.labels.shape[1]
        for h, i in enumerate(order.tolist(), first):
            unary = np.broadcast_to(state.unary[0], (p,))
            z = noise_of(plan.kind, plan.seed, 2 * i, h, 1, p, False)[0]
            model = LogSupermodularDistribution(self.terms, unary + z, state.weights[0])
            labels = model.minimum().labels
            functions = model.base_values(labels)[0]
            move(self.data, plan, i, h, labels * 1.0, functions, self.data.labels[i], self.data.functions[i], state)


Group = CutLabelings | GeneralLabelings


def joint(terms: Sequence[BaseFunction], rows: Bools) -> Group:
    """All rows as one labeling, for the joint likelihood; cuts alone are minimized inside the kernel of the steps."""
    cuts = [one for one in terms if isinstance(one, Cut)]
    return CutLabelings.joint(cuts, rows) if len(cuts) == len(terms) else GeneralLabelings(terms, rows)


def learn(
    groups: Sequence[Group],
    rates: Rates,
    *,
    start: Weights,
    hidden: bool = False,
    learned: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> LearningResult:
    """The average of the weights over ``rates.steps`` stochastic gradient steps, later ones weighing more.

    Parameters
    ----------
    groups : labelings; those of one size and kind are a group, and unary terms of one for each label need a single one
    rates : the steps
    start : the weights to begin with
    hidden : whether the likelihood is that of the observations and of the labels that are known (LSM 4.4); else it is
        that of the labels given the observations
    learned : whether the weight of the observations moves
    advance : called with the number of steps done, now and then
    """
    unary, observation, couplings = (
        np.stack([one, one, np.zeros(len(one))])
        for one in (np.array(start.unary, float), np.array([start.observation]), np.array(start.couplings, float))
    )
    state, interrupted = State(unary, observation, couplings, np.zeros(1, np.int64)), False
    owners, places = _order(groups, rates)
    lengths, ridges = np.array(rates.lengths), np.array(rates.ridges)
    plan = StepPlan(LOGISTIC, np.uint64(rates.seed), hidden, learned, lengths, ridges, rates.adaptive)
    try:
        for first, last in _runs(owners):
            with plain_interrupts():
                groups[owners[first]].descend(plan, places[first:last], first, state)
            advance(last)
    except KeyboardInterrupt:
        interrupted = True
        if not state.done[0]:
            raise  # there are no weights to keep
    done = int(state.done[0])
    return LearningResult(Weights(state.unary[1], float(state.observation[1, 0]), state.weights[1]), done, interrupted)


def _order(groups: Sequence[Group], rates: Rates) -> tuple[Ints, Ints]:
    """The group of each step and its labeling there: all labelings in random order, again and again."""
    owner = np.repeat(np.arange(len(groups)), [len(one) for one in groups])
    place = np.concatenate([np.arange(len(one)) for one in groups])
    rng, passes = np.random.default_rng(rates.seed), -(-rates.steps // len(owner))
    order = np.concatenate([rng.permutation(len(owner)) for _ in range(passes)])[: rates.steps]
    return owner[order], place[order]


def _runs(owners: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Steps of one group that follow each other, at most ``CHUNK`` of them."""
    ends = [0]
    for h in range(1, len(owners) + 1):
        if h == len(owners) or owners[h] != owners[h - 1] or h - ends[-1] >= CHUNK:
            ends.append(h)
    return list(pairwise(ends))
