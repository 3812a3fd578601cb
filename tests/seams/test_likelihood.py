"""A perturb-and-MAP likelihood with frozen noise: no loss, an optimum below 0, and every learner certifies it."""

import numpy as np
import pytest
from scipy.optimize import minimize

from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.surrogate import Evaluation, Evaluator
from setwise.inference import Auto
from setwise.learners import LEARNERS, Subgradient
from setwise.models import RowModel
from setwise.risks import MeanRisk


class PerturbationEvaluator(Evaluator):
    """``mean over draws z of max_y <s + z, y> - <s, target>``, the noise a function of (seed, set, sample)."""

    def __init__(self, batch, draws=5, seed=0, sets=None):
        self.batch, self.draws, self.seed = batch, draws, seed
        self.sets = np.arange(len(batch)) if sets is None else sets
        self.maximizer = Auto().prepare(BoundLoss(batch))
        sizes = np.diff(batch.offsets)
        noise = [
            [np.random.default_rng([seed, i, m]).logistic(size=p) for m in range(draws)]
            for i, p in zip(self.sets, sizes, strict=True)
        ]
        self.noise = [np.concatenate([one[m] for one in noise]) for m in range(draws)]

    def evaluate(self, scores, tol):
        values, gradient = np.zeros(len(self.batch)), np.zeros(len(scores))
        for z in self.noise:
            found = self.maximizer.solve(scores + z, tol)
            values += (found.values + np.add.reduceat(z * self.batch.target, self.batch.offsets[:-1])) / self.draws
            gradient += self.batch.away(found.labels) / self.draws
        return Evaluation(values, gradient, values, np.ones(len(values), dtype=bool))

    def take(self, parts):
        return PerturbationEvaluator(self.batch.take(parts), self.draws, self.seed, self.sets[parts])

    def redrawn(self, seed):
        return PerturbationEvaluator(self.batch, self.draws, seed)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] > 0.1 * rng.standard_normal(40)
    sets = Sets(y, np.arange(0, 41, 4))
    return MeanRisk(RowModel(X, sets.offsets), PerturbationEvaluator(sets, draws=3, seed=27)), X, y


def test_the_value_is_what_enumeration_says():
    sets = Sets.single([1, 0, 1])
    evaluator, s = PerturbationEvaluator(sets), np.array([0.3, -0.2, 0.5])
    rows = brute.labelings(3, 2)
    truth = np.mean([(rows @ (s + z)).max() for z in evaluator.noise]) - s @ sets.target
    assert evaluator(s).values[0] == pytest.approx(truth)
    step = 1e-6 * np.eye(3)
    slope = [(evaluator(s + e).values[0] - evaluator(s - e).values[0]) / 2e-6 for e in step]
    np.testing.assert_allclose(evaluator(s).gradient, slope, atol=1e-6)


def test_noise_is_a_function_of_seed_set_and_sample(problem):
    risk, _, _ = problem
    w, parts = np.array([0.2, 0.1, 0.3]), np.array([7, 2])
    together, some = risk.cuts(w, np.arange(10)), risk.cuts(w, parts)
    np.testing.assert_allclose(some.values, together.values[parts])
    assert risk.redrawn(27).cut(w).value == risk.cut(w).value
    assert risk.redrawn(28).cut(w).value != risk.cut(w).value


@pytest.mark.draw(4)
@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
def test_every_learner_certifies_the_negative_optimum(problem, make):
    risk, _, _ = problem
    C = 20.0

    def objective(w):
        return 0.5 * w @ w + C * risk.cut(w).value

    search = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 5000}
    best = minimize(objective, [3.0, 0.0, 0.0], method="Nelder-Mead", options=search).fun
    assert best < 0
    tol = 2e-2 if make is Subgradient else 1e-4
    fit = make(C=C, tol=tol, max_iter=3000).minimize(risk)
    assert fit.status == "converged"
    assert fit.lower_bound <= best + 1e-9
    assert fit.objective <= best + 1.1 * tol * abs(best)
