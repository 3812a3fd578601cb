"""Perturbed Fenchel-Young losses against PyEPO 2.2 with its own noise: ``python benchmarks/pyepo_peer.py``.

*Problem.* A grid of 50 x 50 labels: scores t of the nodes, and couplings of neighbors, of the posterior of
``perturbed_cuts.py``. Behind PyEPO's ``optModel`` the objective is linear in the labels and in the edges that join
different ones. The costs of the labels are predicted; those of the edges are fixed, which PyEPO leaves unperturbed.

*Noise.* ``perturbedFenchelYoung`` draws 100 Gaussian samples of all variables. They are drawn again with its seed, and
the part of the labels is handed to ``perturbed_maxima``. Values and gradients are compared; PyEPO computes in float32.

*Seconds.* One value with its gradient, the medians of turns, on one thread. What solves the problem behind
``optModel`` is not PyEPO's: PyMaxflow with a new graph for each sample; our own minimum cut; and the linear program, by
HiGHS, which is what a user without cuts would write (3 samples, scaled to 100). Ours takes the noise that was drawn;
"drawn" draws its own Gaussian noise besides, in pairs.
"""

# The names are those of PyEPO.
# ruff: noqa: N802, N815

import numpy as np
import torch
from pyepo import EPO
from pyepo.func import perturbedFenchelYoung
from pyepo.model.opt import optModel
from scipy.optimize import linprog
from scipy.sparse import coo_array, eye_array, hstack, vstack

from perturbed_cuts import PyMaxflowModel, instance, maxflow
from setwise.kernels.sampling import GAUSSIAN
from setwise.probabilistic import LogSupermodularDistribution, perturbed_maxima
from setwise.probabilistic.perturbations import perturbed, seed_of
from timing import race, table

SAMPLES, SEED = 100, 135


class CutSolver:
    """Our minimum cut."""

    def __init__(self, model: LogSupermodularDistribution) -> None:
        self.model = model

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """The best labels."""
        return self.model.minimizer(scores).labels


class PyMaxflowSolver:
    """PyMaxflow with a new graph."""

    def __init__(self, model: LogSupermodularDistribution) -> None:
        self.peer = PyMaxflowModel(model)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """The best labels."""
        made, nodes = self.peer.graph(scores)
        made.maxflow()
        return ~made.get_grid_segments(nodes)


class LinearProgramSolver:
    """The linear program ``min <w, x> - <s, y>`` over ``x_e >= |y_a - y_b|``, ``0 <= y <= 1``, by HiGHS."""

    def __init__(self, model: LogSupermodularDistribution) -> None:
        self.weights, edges = model.pairwise.weights, model.pairwise.edges
        m = len(edges)
        rows = np.arange(m)
        ends = coo_array((np.ones(2 * m), (np.r_[rows, rows], edges.T.ravel())), (m, model.total)).tocsr()
        ends.data[:] = np.where(ends.indices == np.repeat(edges[:, 0], 2), 1.0, -1.0)
        self.A = vstack([hstack([ends, -eye_array(m)]), hstack([-ends, -eye_array(m)])]).tocsr()

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """The best labels."""
        costs = np.concatenate([-scores, self.weights])
        found = linprog(costs, self.A, np.zeros(self.A.shape[0]), bounds=(0.0, 1.0), method="highs")
        return found.x[: len(scores)] > 0.5


class GridLabelings(optModel):
    """The labels of a grid and its edges, with any solver."""

    modelSense = EPO.MAXIMIZE

    def __init__(self, model: LogSupermodularDistribution, solver) -> None:
        self.edges, self.p, self.solver = model.pairwise.edges, model.total, solver
        self.fixed = torch.tensor(-model.pairwise.weights, dtype=torch.float32)
        super().__init__()

    def _getModel(self):
        return None, list(range(self.p + len(self.edges)))

    @property
    def c_pred_index(self):
        """Which costs are predicted."""
        return np.arange(self.p)

    def _fullCost(self, pred_cost):
        return torch.cat([pred_cost, self.fixed.expand(len(pred_cost), -1)], dim=1)

    def setObj(self, c) -> None:
        """The costs of all variables."""
        self.costs = np.asarray(c, dtype=np.float64)

    def whole(self, labels: np.ndarray) -> np.ndarray:
        """The labels with the edges that join different ones."""
        return np.concatenate([labels, labels[self.edges[:, 0]] != labels[self.edges[:, 1]]]).astype(np.float64)

    def solve(self):
        """The best variables and their value."""
        found = self.whole(self.solver(self.costs[: self.p]))
        return found, float(self.costs @ found)


def theirs(model: LogSupermodularDistribution, labels: np.ndarray, solver, samples: int):
    """PyEPO's value and gradient by t, as a function without arguments."""
    grid = GridLabelings(model, solver)
    target = torch.tensor(grid.whole(labels), dtype=torch.float32)[None]

    def run() -> tuple[float, np.ndarray]:
        loss = perturbedFenchelYoung(grid, n_samples=samples, sigma=1.0, seed=SEED)
        t = torch.tensor(model.unary, dtype=torch.float32)[None].requires_grad_()
        value = loss(t, target)
        value.backward()
        return float(value.detach()), t.grad.numpy()[0]

    return run


def noise_of_theirs(model: LogSupermodularDistribution, samples: int) -> np.ndarray:
    """The noise that PyEPO draws with its seed, for the labels."""
    size = model.total + len(model.pairwise.edges)
    drawn = torch.randn((1, samples, size), generator=torch.Generator().manual_seed(SEED), dtype=torch.float32)
    return drawn[0, :, : model.total].double().numpy()


def main() -> None:
    torch.set_num_threads(1)
    model = instance("posterior", 50)
    labels = model.unary > 0
    noise, cost = noise_of_theirs(model, SAMPLES), float(model.values(labels[None])[0])

    def ours() -> tuple[float, np.ndarray]:
        found = perturbed_maxima(model, noise)
        return found.values.mean() + cost, found.marginals - labels

    ways = {"ours, given noise": ours}
    ways["ours, drawn"] = lambda: perturbed(model, SAMPLES, GAUSSIAN, seed_of(0), np.zeros(model.total))
    ways["PyEPO, our minimum cut"] = theirs(model, labels, CutSolver(model), SAMPLES)
    if maxflow is not None:
        ways["PyEPO, PyMaxflow"] = theirs(model, labels, PyMaxflowSolver(model), SAMPLES)
    seconds = race(ways, 15)
    program = theirs(model, labels, LinearProgramSolver(model), 3)
    seconds["PyEPO, linear program"] = race({"": program}, 1)[""] * SAMPLES / 3
    rows = [["", "ms", "times ours", "value off by", "gradient off by"]]
    value, gradient = ours()
    for name, took in seconds.items():
        off = ["", ""]
        if name in ways and name.startswith("PyEPO"):
            found = ways[name]()
            off = [f"{abs(found[0] - value) / abs(value):.1e}", f"{np.abs(found[1] - gradient).max():.1e}"]
        rows.append([name, f"{1e3 * took:.1f}", f"{took / seconds['ours, given noise']:.1f}", *off])
    table(rows)


if __name__ == "__main__":
    main()
