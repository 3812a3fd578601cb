"""The reference of the hinges of sets of labels: a quadratic program with all constraints listed."""

import numpy as np
import piqp


def solved(d, rows, bounds, costs):
    """The minimizer and the minimum of ``0.5 |w|^2 + <costs, xi>`` with ``rows @ (w, xi) <= bounds`` and xi >= 0."""
    k = len(costs)
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    P, c = np.diag(np.r_[np.ones(d), np.zeros(k)]), np.r_[np.zeros(d), costs]
    low = np.r_[np.full(d, -np.inf), np.zeros(k)]
    solver.setup(P, c, None, None, np.array(rows), None, np.array(bounds), low, None)
    solver.solve()
    v = solver.result.x
    return v, float(0.5 * v @ P @ v + c @ v)
