"""Steps with exact samples end at the weights of greatest likelihood, found by enumeration."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from papers.lsm_likelihoods import learn_exactly
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.probabilistic import Cut
from setwise.probabilistic.training import CutLabelings, Rates, Weights, learn

GRID = [Cut.grid(2, 3, (0, 1)), Cut.grid(2, 3, (1, 0))]
LISTED = [Cut(6, one.edges) for one in GRID]
ROWS = subsets(6).astype(float)
FUNCTIONS = np.stack([one.values(ROWS > 0.5) for one in GRID], axis=1)


def greatest(labels, observed, width, ridges, c, learned):
    """The weights of greatest likelihood, and the regularized likelihood as a function of all weights."""
    truth = np.stack([one.values(labels > 0.5) for one in GRID], axis=1)

    def loss(x):
        t, alpha = x[:width], x[width + 1 :]
        scores = t + x[width] * observed
        total = logsumexp(scores @ ROWS.T - FUNCTIONS @ alpha, axis=1)
        mean = (total - (scores * labels).sum(axis=1) + truth @ alpha).mean()
        return mean + 0.5 * (ridges[0] * t @ t + ridges[1] * alpha @ alpha)

    bounds = [(None, None)] * width + [(0.0, None) if learned else (c, c)] + [(0.0, None)] * 2
    return minimize(loss, np.append(np.zeros(width), [c, 0.0, 0.0]), bounds=bounds, tol=1e-12).x, loss


@pytest.mark.slow
@pytest.mark.draw(4)
@pytest.mark.parametrize("width", [1, 6])
@pytest.mark.parametrize("learned", [False, True])
def test_learned_weights_are_those_of_greatest_likelihood(width, learned):
    rng = np.random.default_rng(0)
    labels = (rng.random((30, 6)) < 0.5).astype(float)
    labels[:18] = labels[:18, :1]
    observed = (2.0 * labels - 1.0) * np.where(rng.random((30, 6)) < 0.25, -1.0, 1.0)
    observed[rng.random((30, 6)) < 0.2] = 0.0
    ridges = (0.05, 0.02)
    best, loss = greatest(labels, observed, width, ridges, 0.9, learned)
    rates, start = Rates(20_000, (0.2, 0.2, 0.2), ridges, 0), Weights(np.zeros(width), 0.9, np.zeros(2))
    for cuts in (GRID, LISTED) if width == 1 else (GRID,):
        found = learn_exactly(cuts, labels, observed, rates, start=start, learned=learned).weights
        x = np.concatenate([found.unary, [found.observation], found.couplings])
        np.testing.assert_allclose(x, best, atol=0.05)
        assert loss(best) - 1e-9 <= loss(x) < loss(best) + 1e-3
        # Perturbed labelings maximize a bound of the likelihood, whose optimum is elsewhere.
        other = learn([CutLabelings(cuts, labels, observed)], rates, start=start, learned=learned).weights
        assert loss(np.concatenate([other.unary, [other.observation], other.couplings])) > loss(best) + 1e-2


def test_chains_that_do_not_meet_are_refused():
    labels, start = np.ones((2, 144)), Weights(np.zeros(144), 0.0, np.full(2, 3.0))
    cuts = [Cut.grid(12, 12, (0, 1)), Cut.grid(12, 12, (1, 0))]
    with pytest.raises(Refusal, match="at step 0 the chains have not met within budget=32 sweeps. Raise the budget"):
        learn_exactly(cuts, labels, np.zeros((2, 144)), Rates(5), start=start, budget=32)
