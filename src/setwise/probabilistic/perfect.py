"""Exact samples of log-supermodular distributions."""

from typing import NamedTuple

import numpy as np

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.checks import as_count, as_kind
from setwise.core.refusal import Refusal
from setwise.kernels.coupling import couple
from setwise.kernels.networks import arcs
from setwise.kernels.threads import map_units
from setwise.probabilistic.bounds.l_field import EXAMPLE
from setwise.probabilistic.log_supermodular import LogSupermodular
from setwise.probabilistic.noise import seed_of


class Samples(NamedTuple):
    """Exact samples: ``labels`` (n, p), and the number of sweeps that proved each of them, (n,)."""

    labels: Bools
    sweeps: Ints

    @property
    def marginals(self) -> Values:
        """The share of samples in which each label is 1, (p,)."""
        return np.asarray(self.labels.mean(axis=0))


def sample(
    model: LogSupermodular,
    size: int = 1,
    *,
    budget: int = 1 << 14,
    random_state: int | np.random.Generator | None = None,
) -> Samples:
    """Independent labels drawn from ``exp(-f(y)) / Z`` itself, by coupling from the past (Propp and Wilson 1996).

    A Gibbs sweep of a submodular f keeps the order of labelings, so two chains from the smallest and the largest
    labeling enclose all others. Where they meet, the labels are an exact sample, which is a proof and no diagnosis.

    Parameters
    ----------
    model : a distribution of cuts and concave functions of the size
    size : the number of samples
    budget : the most sweeps that a chain may take for a sample
    random_state : seed, int, numpy Generator or None; threads do not change the result

    Raises
    ------
    Refusal : where the chains do not meet within the budget, and for other terms
    """
    as_kind(model, "model", LogSupermodular, EXAMPLE)
    as_count(size, "size")
    as_count(budget, "budget")
    if model.table is None:
        raise Refusal(f"sample refuses {model!r}: it draws from cuts and concave functions of the size alone.")
    seed, (edges, cuts) = seed_of(random_state), model.cuts.active
    network, places = arcs(edges, model.total)
    weights = np.zeros(len(network.heads))
    weights[places] = cuts[:, None]
    gains = np.diff(model.table) if model.table.any() else np.zeros(0)
    labels = np.zeros((size, model.total), np.int8)

    def draw(i: int) -> int:
        return int(couple(network, weights, model.scores, gains, seed, i, budget, labels[i]))

    sweeps = np.array(map_units(draw, range(size)))
    if (sweeps < 0).any():
        raise Refusal(
            f"sample refuses {model!r}: its chains have not met within budget={budget} sweeps, for the labels hold on "
            "to each other too much. Raise the budget, or use logistic."
        )
    return Samples(labels == 1, sweeps)
