"""Perturbed Fenchel-Young losses of PyEPO with its own noise, where it is installed."""

# The names are those of PyEPO.
# ruff: noqa: N802, N815

import numpy as np
import pytest

from setwise.core.enumerate import subsets
from setwise.probabilistic import Cut, LogSupermodularDistribution, perturbed_maxima

pytestmark = pytest.mark.filterwarnings("ignore")


def grid_of(model):
    """The labels of a small grid and its edges behind ``optModel``, by enumeration; the costs of edges are fixed."""
    EPO = pytest.importorskip("pyepo").EPO
    import torch
    from pyepo.model.opt import optModel

    edges = model.pairwise.edges
    rows = subsets(model.total)
    rows = np.hstack([rows, rows[:, edges[:, 0]] != rows[:, edges[:, 1]]]).astype(np.float64)

    class GridMaximum(optModel):
        modelSense = EPO.MAXIMIZE

        def _getModel(self):
            return None, list(range(rows.shape[1]))

        @property
        def c_pred_index(self):
            return np.arange(model.total)

        def _fullCost(self, pred_cost):
            fixed = torch.tensor(-model.pairwise.weights, dtype=pred_cost.dtype)
            return torch.cat([pred_cost, fixed.expand(len(pred_cost), -1)], dim=1)

        def setObj(self, c):
            self.values = rows @ np.asarray(c, dtype=np.float64)

        def solve(self):
            best = self.values.argmax()
            return rows[best], float(self.values[best])

    return GridMaximum(), rows


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_value_and_gradient_are_those_of_pyepo(sigma):
    pytest.importorskip("pyepo")
    import torch
    from pyepo.func import perturbedFenchelYoung

    rng = np.random.default_rng(0)
    model = LogSupermodularDistribution([Cut.grid(3, 4)], rng.standard_normal(12), [0.6])
    grid, rows = grid_of(model)
    target = rows[1234]
    loss = perturbedFenchelYoung(grid, n_samples=50, sigma=sigma, seed=7)
    t = torch.tensor(model.unary, dtype=torch.float32)[None].requires_grad_()
    value = loss(t, torch.tensor(target, dtype=torch.float32)[None])
    value.backward()
    generator = torch.Generator().manual_seed(7)
    noise = sigma * torch.randn((1, 50, rows.shape[1]), generator=generator)[0, :, :12].numpy()
    found = perturbed_maxima(model, noise)
    labels = target[:12] > 0
    assert found.values.mean() + model.values(labels[None])[0] == pytest.approx(float(value.detach()), rel=1e-5)
    np.testing.assert_allclose(found.marginals - labels, t.grad.numpy()[0], atol=1e-5)
    assert np.abs(found.marginals - labels).max() > 0.1
