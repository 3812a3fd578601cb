"""Scores of any scale as log-odds: the affine map of greatest likelihood of what is known."""

import numpy as np
from scipy.optimize import minimize

from setwise.core.checks import Values
from setwise.estimators.weak.knowledge import Knowledge
from setwise.probabilistic import CountLikelihood


def calibrated(knowledge: Knowledge, scores: Values, *, boundary_stays: bool = False) -> tuple[float, float]:
    """``(a, b)`` of least ``-log Pr(what is known)`` at the log-odds ``a scores + b``, with ``0.01 <= a <= 100``.

    With ``boundary_stays`` b is 0. A small term keeps both finite where bags or rows can be told apart without a
    mistake.
    """
    evaluator = CountLikelihood(knowledge.loss).on(knowledge.sets)
    size = max(float(np.abs(scores).mean()), np.finfo(np.float64).tiny)
    bags = len(knowledge)

    def objective(ab: Values) -> tuple[float, Values]:
        a = np.exp(ab[0])
        found = evaluator(a * scores + ab[1])
        prior = 1e-3 * float((a * size) ** 2 + ab[1] ** 2)
        slope = np.array([a * (found.gradient @ scores) + 2e-3 * (a * size) ** 2, found.gradient.sum() + 2e-3 * ab[1]])
        return (float(found.values.sum()) + prior) / bags, slope / bags

    bounds = [(np.log(0.01), np.log(100.0)), (0.0, 0.0) if boundary_stays else (None, None)]
    found = minimize(objective, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds)
    return float(np.exp(found.x[0])), float(found.x[1])
