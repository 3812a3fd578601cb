"""The network of several cuts, and the capacities of each of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from setwise.core.checks import Values
from setwise.inference.max_flow import wirings
from setwise.kernels.max_flow import arcs_of
from setwise.probabilistic.base_function import BaseFunction
from setwise.probabilistic.functions import Cut, Modular, joined


class Wiring(NamedTuple):
    """The network of the cuts among some base functions, and the capacities of each, (K, arcs); 0 for all others."""

    network: Any
    capacities: Values


def wiring_of(terms: Sequence[BaseFunction], p: int) -> Wiring | None:
    """The cuts among the terms as one network; None if a term is neither a cut nor modular."""
    if not all(isinstance(one, Cut | Modular) for one in terms):
        return None
    cuts = [one for one in terms if isinstance(one, Cut)]
    (wires,) = wirings(joined(p, cuts, np.ones(len(cuts)))[0], p)
    capacities = np.zeros((len(terms), arcs_of(wires.network, p)))
    for row, own in zip(np.flatnonzero([isinstance(one, Cut) for one in terms]), np.eye(len(cuts)), strict=True):
        wires.place(joined(p, cuts, own)[1], capacities[row])
    return Wiring(wires.network, capacities)
