"""Other ways to learn the weights of denoised silhouettes, and what is decided from exact samples of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from papers.lsm_images import Binary
from setwise.core.exceptions import Refusal
from setwise.core.pages import Page
from setwise.decisions import least_expected_loss, least_expected_loss_of_samples
from setwise.estimators.log_supermodular_model import grid_cuts
from setwise.probabilistic import Cut, LogSupermodularDistribution, logistic, sample
from setwise.probabilistic.base_functions import joined
from setwise.probabilistic.sampling import Coupling
from setwise.probabilistic.training import LearningResult, Rates, Weights

Values = NDArray[np.float64]
SAMPLES, CHAINS = 100, 10
"""Samples of an image, and how many of the exact ones are independent; the others continue these."""

DECIDED = ("jaccard", "f1")
"""The losses whose expectation is made least."""

PAGE = Page("The likelihood of images", "guide/probabilities#the-likelihood-of-images")
"""Where the guide says how such models are learned."""


class NoisyPosterior(NamedTuple):
    """What is known of noisy images.

    Attributes
    ----------
    q : (n, h, w) the mean-marginals
    exact : the share of the images that were sampled exactly
    decisions : the images of least expected loss of the samples, for each of the losses
    """

    q: Values
    exact: float
    decisions: tuple[Binary, ...]


def observed(noisy: Binary) -> Values:
    """The images as rows of -1 and 1."""
    return 2.0 * noisy.reshape(len(noisy), -1).astype(np.float64) - 1.0


def pseudo_likelihood(noisy: Binary, clean: Binary, ridge: tuple[float, float]) -> Weights:
    """The weights of greatest pseudo-likelihood: each pixel given its neighbors and what it was seen as (Besag 1975).

    A logistic regression of all pixels of all images, with couplings and the weight of the observation not below 0.
    Pixels of one place with the same neighbors and the same observation are counted together.
    """
    n, h, w = clean.shape
    p, s = h * w, 2 * clean.astype(np.int64) - 1
    across, down = np.zeros(s.shape, np.int64), np.zeros(s.shape, np.int64)
    across[:, :, 1:] += s[:, :, :-1]
    across[:, :, :-1] += s[:, :, 1:]
    down[:, 1:] += s[:, :-1]
    down[:, :-1] += s[:, 1:]
    place = np.broadcast_to(np.arange(p).reshape(h, w), s.shape)
    rows = np.stack([place, 2 * noisy.astype(np.int64) - 1, across, down], axis=-1).reshape(-1, 4)
    (kinds, which, counts) = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    at, features = kinds[:, 0], kinds[:, 1:].astype(np.float64)
    ones = np.bincount(which.ravel(), clean.ravel(), len(kinds))
    ridges = np.concatenate([np.full(p, ridge[0]), [0.0], np.full(2, ridge[1])])

    def loss(x: Values) -> tuple[float, Values]:
        field = x[at] + features @ x[p:]
        away = (counts / (1.0 + np.exp(-field)) - ones) / n
        value = float((counts * np.logaddexp(0.0, field) - ones * field).sum()) / n + 0.5 * float(ridges @ x**2)
        return value, np.concatenate([np.bincount(at, away, p), away @ features]) + ridges * x

    bounds = [(None, None)] * p + [(0.0, None)] * 3
    options = {"maxiter": 1000, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-6}
    x = minimize(loss, np.zeros(p + 3), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return Weights(x[:p], float(x[p]), x[p + 1 :])


def exact_likelihood(noisy: Binary, clean: Binary, ridge: tuple[float, float], start: float, steps: int) -> Weights:
    """The weights of greatest likelihood by exact samples; the weight of the observation begins with ``start``."""
    shape = clean.shape[1:]
    labels, size = clean.reshape(len(clean), -1).astype(np.float64), clean[0].size
    first = Weights(np.zeros(size), start, np.zeros(2))
    rates = Rates(steps=steps, ridges=ridge, seed=0)
    return learn_exactly(grid_cuts(shape), labels, observed(noisy), rates, start=first, learned=True).weights


def learn_exactly(
    cuts: Sequence[Cut],
    labels: Values,
    observed: Values,
    rates: Rates,
    *,
    start: Weights,
    learned: bool = False,
    budget: int = 1 << 14,
) -> LearningResult:
    """The average of the weights over stochastic gradient steps of the likelihood, later ones weighing more.

    The gradient of ``log p(y | x)`` by the scores is ``phi(y) - E phi``. A step takes one labeling in random order, and
    in place of the mean a sample of ``p(. | x)``, drawn by coupling from the past with the weights of the moment. So
    its gradient is that of the likelihood in the mean, where a perturbed labeling has that of a bound. The steps are
    those of :func:`setwise.probabilistic.training.learn`: AdaGrad, c and alpha not below 0.

    Parameters
    ----------
    cuts : the K base functions
    labels : (n, p) of 0 and 1
    observed : (n, p) from -1 to 1: what each label was seen as, 0 where it was not seen
    rates : the steps
    start : the weights to begin with
    learned : whether the weight of the observations moves
    budget : the most sweeps that a chain may take for a sample

    Raises
    ------
    Refusal : where the chains of a step do not meet within the budget
    """
    (n, p), K = labels.shape, len(cuts)
    ways = [joined(p, cuts, one) for one in np.eye(K)]
    directions = np.stack([weights for _, weights in ways])
    coupling, rng = Coupling(ways[0][0], p), np.random.default_rng(rates.seed)
    truth = np.stack([one.values(labels > 0.5) for one in cuts], axis=1)
    first = np.atleast_1d(start.unary)
    width, (t, alpha) = len(first), rates.ridges
    x = np.concatenate([first, [start.observation], start.couplings]).astype(np.float64)
    lengths, ridges = np.repeat(rates.lengths, (width, 1, K)), np.repeat([t, 0.0, alpha], (width, 1, K))
    lengths[width] *= learned
    average, squares, sweeps = x.copy(), np.full(len(x), np.finfo(float).tiny), 1
    passes = -(-rates.steps // n)
    for h, i in enumerate(np.concatenate([rng.permutation(n) for _ in range(passes)])[: rates.steps]):
        coupling.place(x[:width] + x[width] * observed[i], x[width + 1 :] @ directions, np.zeros(0))
        # The sample does not depend on where its chains begin; half of the last sweeps are often enough.
        sweeps, (found,) = coupling.draw(np.uint64(rates.seed), h, max(sweeps // 2, 1), budget)
        if sweeps < 0:
            raise Refusal(
                f"learn_exactly refuses these labels: at step {h} the chains have not met within budget={budget} "
                "sweeps. Raise the budget or the regularizers, or use learn.",
                PAGE,
            )
        away = found - labels[i]
        functions = np.array([one.values(found[None] == 1)[0] for one in cuts])
        gradient = np.concatenate(
            [away if width > 1 else [away.sum()], [observed[i] @ away], truth[i] - functions]
        ) + ridges * x  # fmt: skip
        squares += gradient**2
        x -= lengths * gradient / np.sqrt(squares)
        x[width:] = np.maximum(x[width:], 0.0)
        average += 2.0 / (h + 2.0) * (x - average)
    return LearningResult(Weights(average[:width], float(average[width]), average[width + 1 :]), rates.steps, False)


def distributions(weights: Weights, noisy: Binary) -> list[LogSupermodularDistribution]:
    """The distribution of the clean image of each noisy one."""
    cuts = grid_cuts(noisy.shape[1:])
    return [
        LogSupermodularDistribution(cuts, weights.unary + weights.observation * seen, weights.couplings)
        for seen in observed(noisy)
    ]


def most_probable(weights: Weights, noisy: Binary) -> Binary:
    """The most probable image of each noisy one."""
    return (
        np.stack([one.minimum().labels for one in distributions(weights, noisy)]).reshape(noisy.shape).astype(np.int8)
    )


def perturbed_marginals(weights: Weights, noisy: Binary) -> Values:
    """The mean-marginals of perturbed images."""
    found = [
        logistic(one, SAMPLES, control=False, random_state=i).marginals
        for i, one in enumerate(distributions(weights, noisy))
    ]
    return np.stack(found).reshape(noisy.shape)


def decided(q: Values, loss: str) -> Binary:
    """The images of least expected loss where pixels are independent with the probabilities q (n, h, w)."""
    return least_expected_loss(q.reshape(len(q), -1), loss).labels.reshape(q.shape).astype(np.int8)


def sampled(weights: Weights, noisy: Binary, budget: int, losses: tuple[str, ...] = ()) -> NoisyPosterior:
    """The mean-marginals of exact samples, and the decisions from samples.

    An image one of whose samples would need more than ``budget`` sweeps has the marginals of perturbed images, and
    decisions from these.
    """
    q, exact = np.empty(noisy.shape), 0
    decisions = np.zeros((len(losses), *noisy.shape), np.int8)
    for i, model in enumerate(distributions(weights, noisy)):
        try:
            drawn = sample(model, SAMPLES, chains=CHAINS, budget=budget, random_state=i).labels
        except Refusal:
            q[i] = logistic(model, SAMPLES, control=False, random_state=i).marginals.reshape(q[i].shape)
            for k, loss in enumerate(losses):
                decisions[k, i] = decided(q[i : i + 1], loss)[0]
            continue
        exact, q[i] = exact + 1, drawn.mean(axis=0).reshape(q[i].shape)
        # A pixel that is in no sample lowers neither loss, and most are in none.
        some = drawn.any(axis=0)
        for k, loss in enumerate(losses):
            if some.any():
                labels = least_expected_loss_of_samples(drawn[:, some], loss).labels
                decisions[k, i, some.reshape(q[i].shape)] = labels
    return NoisyPosterior(q, exact / len(noisy), tuple(decisions))
