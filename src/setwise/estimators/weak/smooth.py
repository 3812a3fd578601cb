"""Descent on ``0.5 |w|^2 + weight * risk(w)`` by L-BFGS, for risks with a gradient."""

from typing import Any, final

import numpy as np
from scipy.optimize import minimize

from setwise.core.checks import Values
from setwise.core.learner import plain_interrupts
from setwise.core.risk import Risk
from setwise.estimators.weak.problem import LinearModel, Settings

CONSTANT = 1e-4
"""The square of the constant counts so much beside those of the other weights: it is bounded, and hardly shrunk."""

GRADIENT = 1e-10
"""Descent also ends where no slope is larger than this share of the objective at the start."""


@final
class _Objective:
    """The objective and its gradient; it keeps the best point that was seen."""

    def __init__(self, risk: Risk, weight: float, settings: Settings) -> None:
        self.risk, self.weight, self.watch = risk, weight, settings.watch
        self.ridge = np.append(np.ones(risk.size - 1), CONSTANT)
        self.best: Values | None = None
        self.least, self.steps = np.inf, 0
        # L-BFGS compares its progress with 1, so it sees the objective in units of that of its start.
        self.unit = 0.0

    def __call__(self, w: Values) -> tuple[float, Values]:
        with plain_interrupts():
            cut = self.risk.cut(w)
        value = 0.5 * float(self.ridge @ (w * w)) + self.weight * cut.value
        if value < self.least:
            self.best, self.least = w.copy(), value
        self.unit = self.unit or max(abs(value), np.finfo(np.float64).tiny)
        return value / self.unit, (self.ridge * w + self.weight * cut.slope) / self.unit

    def step(self, _: Any) -> None:
        """One step of the descent is done."""
        self.steps += 1
        self.watch.step(self.least, self.steps)


def descend(risk: Risk, start: Values, settings: Settings) -> LinearModel:
    """The weights where L-BFGS ends that begins at ``start``, (size,); the best so far after Ctrl-C.

    The weight of the risk is C times the number of bags, so that C weighs their sum. The last weight is that of the
    constant feature, which is hardly regularized. On a risk that is not convex this is a local minimum.
    """
    objective = _Objective(risk, settings.C * risk.n_parts, settings)
    options = {"maxiter": settings.max_iter, "ftol": settings.tol, "gtol": GRADIENT, "maxcor": 20}
    status, words = "converged", f"descent ended within tol={settings.tol:g}"
    try:
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options, callback=objective.step)
        if found.status == 1:
            status, words = "max_iter", f"stopped after max_iter={settings.max_iter} steps"
    except KeyboardInterrupt:
        status, words = "interrupted", "interrupted; these are the best weights so far"
    settings.watch.close()
    best = start if objective.best is None else objective.best
    return LinearModel(best, status, words, objective.least, objective.steps)
