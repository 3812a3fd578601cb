"""The best bias of networks on graphs that are held out of training."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from setwise.core.batch import Sets
from setwise.core.checks import Values
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.core.pages import GRAPH_CLASSIFIER
from setwise.decisions import best_threshold
from setwise.estimators.network_problem import NetworkProblem
from setwise.estimators.networks import Networks, join, known
from setwise.estimators.splits import FOLDS
from setwise.estimators.vacuous import VacuousBoundWarning
from setwise.inference.cuts import flips
from setwise.models import GraphModel


def held_out_bias(model: Any, problem: NetworkProblem, networks: Networks, labels: list[NDArray[Any]]) -> float:
    """What is to be subtracted from the bias, for the least loss on graphs that models like ``model`` have not seen.

    There are 5 folds of sets, or fewer where there are fewer sets; a single set is parted into its graphs. Each node of
    a held-out graph turns positive at one bias (:func:`setwise.inference.cuts.flips`), so the best of all biases
    is a best threshold.
    """
    owners = networks.owners if len(networks.batch) > 1 else np.arange(len(networks.graphs))
    units = int(owners.max()) + 1
    if units < 2:
        raise Refusal(
            "threshold='exact' refuses a single graph: it holds graphs out, and needs two at least.", GRAPH_CLASSIFIER
        )
    names = [labels[i] for i in networks.order]
    turned = np.empty(networks.batch.total)
    for k in range(min(FOLDS, units)):
        held = owners % min(FOLDS, units) == k
        one = clone(model).set_params(verbose=0, warm_start=False)
        with warnings.catch_warnings():
            # The fit on all graphs has warned of the same.
            for kind in (VacuousBoundWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", kind)
            kept = np.flatnonzero(~held)
            seen = np.concatenate([names[i][known(names[i])] for i in kept])
            if len(np.unique(seen)) < 2:
                raise Refusal(
                    "threshold='exact' holds graphs out, and the others have one label alone. Use threshold='zero'.",
                    GRAPH_CLASSIFIER,
                )
            one._fit([networks.graphs[i] for i in kept], [names[i] for i in kept], networks.owners[kept], 0.0)
        at = np.flatnonzero(held[np.repeat(np.arange(len(held)), np.diff(networks.node_offsets))])
        turned[at] = _turned(one, [networks.graphs[i] for i in np.flatnonzero(held)])
    assert isinstance(networks.sets, Sets)
    found = best_threshold(networks.sets, -turned, problem.loss).threshold
    spread = max(float(np.ptp(turned)), 1.0)
    return float(np.clip(found, -turned.max() - spread, -turned.min() + spread))


def _turned(model: Any, graphs: list[Any]) -> Values:
    """The bias at which each node of the graphs turns positive, on top of that of the model."""
    networks = join(tuple(graphs), None, None)
    w = np.concatenate([model.coef_[0], model.intercept_, model.edge_coef_])
    assert isinstance(networks.batch, Graphs)
    return flips(networks.batch, GraphModel(networks.X, networks.Z, networks.batch).scores(w))
