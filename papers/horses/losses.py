"""The losses of a network on images, by the names of the ways of training."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from scipy.special import logit
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from setwise.core.checks import Values
from setwise.core.networks import Graphs
from setwise.inference.cuts import flips
from setwise.torch import (
    GridCriterion,
    LogSupermodularLoss,
    LovaszHingeLoss,
    MarginRescalingLoss,
    MaxMarginMRFLoss,
    RampLoss,
    marginals,
    most_probable,
)

SAMPLES, CUTS = 4, 64
"""Perturbed cuts of an image in a step of training, and for its marginals."""

ImageLoss = Callable[[Tensor, Tensor], Tensor]
"""The mean loss of images: of outputs (N, channels, H, W) and masks (N, H, W) bool."""


Scores = Callable[[Values, bool], Values]
"""Scores of pixels (n, H, W) of outputs (n, channels, H, W); the most exact ones, or those that are found fast."""


def logits(outputs: Values, exact: bool) -> Values:
    """The only channel."""
    return outputs[:, 0]


@final
@dataclass(frozen=True)
class TrainingWay:
    """What is minimized in the first and in the second half of the epochs, and which scores pixels have.

    A pixel is positive where its score is above 0, and the sigmoid of the score stands for its probability.
    """

    first: ImageLoss
    second: ImageLoss
    channels: int = 1
    scores: Scores = logits


def cross_entropy(outputs: Tensor, masks: Tensor) -> Tensor:
    """``mean over pixels of log(1 + exp(-s (2y - 1)))``."""
    return binary_cross_entropy_with_logits(outputs[:, 0], masks.to(outputs.dtype))


def soft_dice(outputs: Tensor, masks: Tensor) -> Tensor:
    """``1 - (2 sum q y + 1) / (sum q + sum y + 1)`` of each image, q the sigmoid of its logits."""
    q, y = outputs[:, 0].sigmoid().flatten(1), masks.to(outputs.dtype).flatten(1)
    return (1.0 - (2.0 * (q * y).sum(dim=1) + 1.0) / (q.sum(dim=1) + y.sum(dim=1) + 1.0)).mean()


def potentials(outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Logits (N, H, W), and weights (N, 2, H, W) of the edges to the right and down, which are not negative."""
    return outputs[:, 0], softplus(outputs[:, 1:])


def turning(outputs: Values, exact: bool) -> Values:
    """``-b``, b being the bias at which a pixel turns positive in the labeling of greatest score; or its sign."""
    unary, coupling = (part.numpy() for part in potentials(torch.from_numpy(outputs)))
    if not exact:
        return _sign(outputs)
    graphs = Graphs.images(np.zeros(unary.shape, dtype=bool))
    right, down = coupling[:, 0, :, :-1], coupling[:, 1, :-1]
    rows = [part.reshape(len(unary), -1) for part in (unary, right, down)]
    return -flips(graphs, np.concatenate(rows, axis=1).ravel()).reshape(unary.shape)


def log_odds(outputs: Values, exact: bool) -> Values:
    """The logits of marginals, for which half a cut is added to each label; or the sign of the exact cut."""
    if not exact:
        return _sign(outputs)
    shares = marginals(*potentials(torch.from_numpy(outputs)), CUTS, random_state=0).numpy()
    return np.asarray(logit((CUTS * shares + 0.5) / (CUTS + 1.0)))


def _sign(outputs: Values) -> Values:
    """1 where pixels are positive in the labeling of greatest score, and -1 elsewhere."""
    positive = most_probable(*potentials(torch.from_numpy(outputs))).numpy()
    return np.where(positive, 1.0, -1.0)


def _grid(loss: GridCriterion) -> ImageLoss:
    """A loss of logits and couplings."""

    def value(outputs: Tensor, masks: Tensor) -> Tensor:
        found: Tensor = loss(*potentials(outputs), masks)
        return found

    return value


def _plain(loss: nn.Module) -> ImageLoss:
    """A loss of logits."""

    def value(outputs: Tensor, masks: Tensor) -> Tensor:
        found: Tensor = loss(outputs[:, 0], masks)
        return found

    return value


def ways(seed: int) -> dict[str, TrainingWay]:
    """All ways of training by their names; the seed is that of the noise of perturbed cuts."""
    options: dict[str, Any] = {"per_image": True}
    hinge = _plain(LovaszHingeLoss("jaccard", **options))
    margin = _plain(MarginRescalingLoss("jaccard", scale="size", **options))
    ramp = _plain(RampLoss("jaccard", scale="size", **options))

    network = _grid(MaxMarginMRFLoss("error_rate", scale="size"))
    likelihood = _grid(LogSupermodularLoss(SAMPLES, random_state=torch.Generator().manual_seed(seed)))

    def both(outputs: Tensor, masks: Tensor) -> Tensor:
        return cross_entropy(outputs, masks) + hinge(outputs, masks)

    return {
        "cross-entropy": TrainingWay(cross_entropy, cross_entropy),
        "Dice": TrainingWay(soft_dice, soft_dice),
        "Lovász hinge": TrainingWay(hinge, hinge),
        "Lovász after cross-entropy": TrainingWay(cross_entropy, hinge),
        "Lovász + cross-entropy": TrainingWay(both, both),
        "Jaccard margin": TrainingWay(margin, margin),
        "Jaccard ramp": TrainingWay(ramp, ramp),
        "max-margin MRF": TrainingWay(network, network, 3, turning),
        "log-supermodular": TrainingWay(likelihood, likelihood, 3, log_odds),
    }
