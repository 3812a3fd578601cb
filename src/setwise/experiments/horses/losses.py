"""The losses of a network on images, by the names of the ways of training."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from setwise.core.arrays import Values
from setwise.torch import LovaszHingeLoss, MarginRescalingLoss, RampLoss

ImageLoss = Callable[[Tensor, Tensor], Tensor]
"""The mean loss of images: of outputs (N, channels, H, W) and masks (N, H, W) bool."""


Scores = Callable[[Values, bool], Values]
"""Scores of pixels (n, H, W) of outputs (n, channels, H, W); the most exact ones, or those that are found fast."""


def logits(outputs: Values, exact: bool) -> Values:
    """The only channel."""
    return outputs[:, 0]


@final
@dataclass(frozen=True)
class Way:
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


def _plain(loss: nn.Module) -> ImageLoss:
    """A loss of logits."""

    def value(outputs: Tensor, masks: Tensor) -> Tensor:
        found: Tensor = loss(outputs[:, 0], masks)
        return found

    return value


def ways() -> dict[str, Way]:
    """All ways of training by their names."""
    options: dict[str, Any] = {"per_image": True}
    hinge = _plain(LovaszHingeLoss("jaccard", **options))
    margin = _plain(MarginRescalingLoss("jaccard", scale="size", **options))
    ramp = _plain(RampLoss("jaccard", scale="size", **options))

    def both(outputs: Tensor, masks: Tensor) -> Tensor:
        return cross_entropy(outputs, masks) + hinge(outputs, masks)

    return {
        "cross-entropy": Way(cross_entropy, cross_entropy),
        "Dice": Way(soft_dice, soft_dice),
        "Lovász hinge": Way(hinge, hinge),
        "Lovász after cross-entropy": Way(cross_entropy, hinge),
        "Lovász + cross-entropy": Way(both, both),
        "Jaccard margin": Way(margin, margin),
        "Jaccard ramp": Way(ramp, ramp),
    }
