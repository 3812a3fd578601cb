"""How a denoised image is decided from its distribution: probabilities of pixels, and labels."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import DENOISER
from setwise.decisions import least_expected_loss, least_expected_loss_of_samples
from setwise.estimators.binary_images import as_images
from setwise.kernels.sampling import LOGISTIC
from setwise.losses import as_loss
from setwise.probabilistic import LogSupermodular, sample
from setwise.probabilistic.perturbations import perturbed, perturbed_labelings


class Numbered(NamedTuple):
    """A distribution of an image, and the number of its noise."""

    number: int
    model: LogSupermodular


def numbered(X: Any, models: list[LogSupermodular], seen: Bools) -> list[Numbered]:
    """The distributions with numbers that are functions of what was ``seen`` of images: equal ones have equal noise.

    ``seen`` (p,), or (1,), marks the pixels whose observations have a weight.
    """
    images = [np.where(seen, one.ravel(), -1).astype(np.int8).tobytes() for one in as_images(X, "X", unknown=True)]
    numbers = [int.from_bytes(blake2b(one, digest_size=7).digest(), "little") for one in images]
    return [Numbered(number, model) for number, model in zip(numbers, models, strict=True)]


def loss_of(decode: str | Loss) -> Loss | None:
    """The loss of which a decision is; None for the mean and for the most probable image."""
    if isinstance(decode, str) and decode in ("mean", "max"):
        return None
    loss = as_loss(decode)
    if loss.reads != "labels":
        raise Refusal(f"decode refuses {loss!r}: it evaluates a ranking, and no labels of an image.", DENOISER)
    return loss


@final
@dataclass(frozen=True, eq=False)
class Restoration:
    """Probabilities and labels of images, by ``decode``, ``draws`` and ``samples`` of the estimator.

    Parameters
    ----------
    decode : ``"mean"``, ``"max"``, or a loss or its name
    draws : ``"independent"``, ``"perturbed"`` or ``"exact"``
    samples : the number of labelings that are drawn for an image
    seed : that of training, from whose noise this differs
    """

    decode: str | Loss
    draws: str
    samples: int
    seed: int

    def probabilities(self, image: Numbered) -> Values:
        """The probability of label 1 of each pixel, (p,)."""
        if self.draws == "exact":
            return np.asarray(self.drawn(image).mean(axis=0))
        count, zero = self.samples + self.samples % 2, np.zeros(image.model.total)
        found = perturbed(image.model, count, LOGISTIC, np.uint64(self.seed + 1), zero, image.number)
        return np.asarray(found.ones / count)

    def drawn(self, image: Numbered) -> Bools:
        """Labelings of an image, (m, p)."""
        if self.draws == "perturbed":
            count = self.samples + self.samples % 2
            return perturbed_labelings(image.model, count, np.uint64(self.seed + 1), image.number)
        try:
            seed = np.random.default_rng([self.seed, 2, image.number])
            return sample(image.model, self.samples, random_state=seed).labels
        except Refusal as error:
            raise Refusal(
                "draws='exact' refuses this image: the chains of exact samples have not met, for its pixels hold on to "
                "each other too much. Use draws='perturbed'.",
                DENOISER,
            ) from error

    def labels(self, image: Numbered) -> NDArray[np.bool_]:
        """The decision, (p,)."""
        loss = loss_of(self.decode)
        if loss is None and self.decode == "max":
            return image.model.minimum().labels
        if loss is None:
            return np.asarray(self.probabilities(image) > 0.5)
        if self.draws == "independent":
            return np.asarray(least_expected_loss(self.probabilities(image), loss).labels)
        return np.asarray(least_expected_loss_of_samples(self.drawn(image), loss).labels)
