"""Exact samples of log-supermodular distributions."""

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Ints, Values, as_count, as_kind
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.core.pages import DISTRIBUTIONS
from setwise.inference.max_flow import wirings
from setwise.kernels.networks import Lattice
from setwise.kernels.sampling import MOST, continued, couple, thresholds
from setwise.kernels.threads import map_units
from setwise.probabilistic.log_supermodular_distribution import LogSupermodularDistribution
from setwise.probabilistic.perturbations import seed_of
from setwise.probabilistic.variational_bounds import EXAMPLE

FIRST = 4
"""Samples whose sweeps tell where the chains of all others begin."""


class Samples(NamedTuple):
    """Exact samples, and the number of sweeps that proved each independent one of them.

    Attributes
    ----------
    labels : (n, p) bool
    sweeps : (chains,) the first four are powers of two; the chains of the others begin where the fastest of these did

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, sample
    >>> drawn = sample(LogSupermodularDistribution([Cut.grid(4, 4)]), 100, random_state=0)
    >>> drawn.labels.shape, drawn.sweeps.shape, drawn.marginals.shape
    ((100, 16), (100,), (16,))
    """

    labels: Bools
    sweeps: Ints

    @property
    def marginals(self) -> Values:
        """The share of samples in which each label is 1, (p,)."""
        return np.asarray(self.labels.mean(axis=0))


@final
class Coupling:
    """Draws exact samples of cuts of one graph, and of a concave function of the number of ones, again and again.

    Parameters
    ----------
    graphs : the graph
    p : the number of labels
    """

    def __init__(self, graphs: Graphs, p: int) -> None:
        (self._wires,) = wirings(graphs, p)
        network = self._wires.network
        if isinstance(network, Lattice):
            self._width, arcs = len(network.shifts), len(network.shifts) * (p + 2 * network.pad)
        else:
            self._width, arcs = int(np.bincount(graphs.edges.ravel(), minlength=p).max()), 2 * len(graphs.edges)
        self._p, self._weights = p, np.zeros(arcs)
        self._table = np.zeros(p << self._width if self._width <= MOST else 0, np.int64)
        self._unary, self._gains = np.zeros(p), np.zeros(0)

    def place(self, unary: Values, weights: Values, gains: Values) -> None:
        """Take other unary numbers (p,), weights of the edges, and gains of the number of ones, (p,) or none."""
        self._wires.place(weights, self._weights)
        self._unary, self._gains = unary, gains
        if self._by_table:
            thresholds(self._wires.network, self._weights, unary, self._width, self._table)

    @property
    def _by_table(self) -> bool:
        return len(self._table) > 0 and len(self._gains) == 0

    def draw(
        self, seed: np.uint64, unit: int, start: int, budget: int, more: int = 0, gap: int = 1
    ) -> tuple[int, NDArray[np.int8]]:
        """The sweeps that proved a sample, -1 if ``budget`` is not enough, and the sample and ``more``, (1 + more, p).

        ``more`` samples continue the first one, with ``gap`` Gibbs sweeps from each to the next.
        """
        network = self._wires.network
        table = self._table if self._by_table else self._table[:0]
        model = network, self._weights, self._unary, self._gains, table, self._width, seed
        rows = np.empty((1 + more, self._p + 2 * network.pad), np.int8)
        labels = rows[0]
        # One beginning a call, so that Ctrl-C is heard between them.
        sweeps = -1
        while sweeps < 0 and start <= budget:
            sweeps = couple(*model, 2 * unit, start, start, labels)
            start *= 2
        if more and sweeps > 0:
            # Coupling has the even units, so that no number is used twice.
            continued(*model, 2 * unit + 1, gap, rows)
        return int(sweeps), rows[:, network.pad :][:, : self._p]


def sample(
    model: LogSupermodularDistribution,
    size: int = 1,
    *,
    chains: int | None = None,
    gap: int = 10,
    budget: int = 1 << 14,
    random_state: int | np.random.Generator | None = None,
) -> Samples:
    """Labels drawn from ``exp(-f(y)) / Z`` itself, by coupling from the past (Propp and Wilson 1996).

    A Gibbs sweep of a submodular f keeps the order of labelings, so two chains from the smallest and the largest
    labeling enclose all others. Where they meet, the labels are an exact sample, which is a proof and no diagnosis.

    Parameters
    ----------
    model : a distribution of cuts and concave functions of the size
    size : the number of samples
    chains : how many of them are independent; None makes all of them so. Each is continued by Gibbs sweeps to about
        ``size / chains`` samples. They are exact too, as a sweep keeps the distribution, and cost less, but those of a
        chain depend on each other
    gap : the number of sweeps between two samples of a chain
    budget : the most sweeps that a chain may take for a sample
    random_state : seed, int, numpy Generator or None; threads do not change the result

    Returns
    -------
    samples : ``size`` labelings, with the sweeps that proved them and their marginals

    Raises
    ------
    ValueError, TypeError : for anything but a model, numbers below 1, and seeds other than these
    Refusal : where the chains do not meet within the budget, and for other terms

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, exact, sample
    >>> model = LogSupermodularDistribution([Cut.grid(3, 3)], unary=np.linspace(-1, 1, 9))
    >>> drawn = sample(model, 2000, random_state=0)
    >>> bool(np.abs(drawn.marginals - exact(model).marginals).max() < 0.05)
    True
    """
    as_kind(model, "model", LogSupermodularDistribution, EXAMPLE)
    as_count(size, "size")
    as_count(budget, "budget")
    as_count(gap, "gap")
    count = size if chains is None else min(as_count(chains, "chains"), size)
    if model.table is None:
        raise Refusal(
            f"sample refuses {model!r}: it draws only from cuts and concave functions of the size.", DISTRIBUTIONS
        )
    seed, coupling = seed_of(random_state), Coupling(model.cuts.graphs, model.total)
    coupling.place(model.scores, model.cuts.weights, np.diff(model.table) if model.table.any() else np.zeros(0))
    labels, start, failed = np.zeros((size, model.total), np.int8), 1, False
    ends = np.arange(count + 1) * size // count

    def draw(i: int) -> int:
        nonlocal failed
        if failed:
            return -1  # one that does not meet is enough to refuse all
        mine = slice(ends[i], ends[i + 1])
        sweeps, labels[mine] = coupling.draw(seed, i, start, budget, int(ends[i + 1] - ends[i]) - 1, gap)
        failed = sweeps < 0
        return sweeps

    sweeps = np.array(map_units(draw, range(min(count, FIRST))))
    start = int(sweeps.min())
    if start > 0:
        sweeps = np.append(sweeps, map_units(draw, range(FIRST, count))).astype(np.int64)
    if (sweeps < 0).any():
        raise Refusal(
            f"sample refuses {model!r}: its chains have not met within budget={budget} sweeps, because the labels are "
            "coupled too strongly. Raise the budget, or use logistic.",
            DISTRIBUTIONS,
        )
    return Samples(labels == 1, sweeps)
