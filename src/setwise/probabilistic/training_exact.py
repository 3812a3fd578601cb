"""Maximum likelihood itself, by stochastic gradients with exact samples in place of perturbed labelings."""

from collections.abc import Sequence

import numpy as np

from setwise.core.checks import Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import LIKELIHOOD_OF_IMAGES
from setwise.probabilistic.functions import Cut, joined
from setwise.probabilistic.perfect import Coupling
from setwise.probabilistic.training import Learned, Rates, Weights


def learn_exactly(
    cuts: Sequence[Cut],
    labels: Values,
    observed: Values,
    rates: Rates,
    *,
    start: Weights,
    learned: bool = False,
    budget: int = 1 << 14,
) -> Learned:
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
                LIKELIHOOD_OF_IMAGES,
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
    return Learned(Weights(average[:width], float(average[width]), average[width + 1 :]), rates.steps, False)
