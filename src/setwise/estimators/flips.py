"""The share of flipped pixels: checked, counted in pairs of images, and as the weight of an observation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Values, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.pages import DENOISER
from setwise.estimators.binary_images import Images
from setwise.estimators.log_likelihood import Part
from setwise.probabilistic.variational_bounds import EPSILON


def observed(x: NDArray[Any]) -> Values:
    """1 for pixels seen as 1, -1 for those seen as 0, and 0 for those that were not seen."""
    return np.where(x < 0, 0.0, 2.0 * x - 1.0)


def log_odds(pi: Any) -> Any:
    """``c = log((1 - pi) / pi)``, the weight of an observation, of a number or of each number of an array."""
    # The quotient of the two would overflow for the least numbers.
    return np.log1p(-pi) - np.log(pi)


def noise_part(x: NDArray[np.int8], weights: Values, seen: NDArray[np.bool_]) -> Part:
    """``log p(x | y)`` less ``<q, y>``, q the weighted observations, by the noise that belongs to these weights (p,).

    What is not seen, by -1 or by a share of one half, adds nothing.
    """
    kept = (x.ravel() >= 0) & seen
    terms = np.where(kept, np.where(x.ravel() == 1, -weights, 0.0) - np.logaddexp(0.0, -weights), 0.0)
    return Part(float(terms.sum()), EPSILON * (len(terms) + 4) * float(np.abs(terms).sum()))


def counted_share(noisy: Images, clean: Images) -> float:
    """The share of flipped pixels among those that are both seen and known, at most one half."""
    both = [(x >= 0) & (y >= 0) for x, y in zip(noisy, clean, strict=True)]
    seen = sum(int(one.sum()) for one in both)
    wrong = sum(int((one & (x != y)).sum()) for one, x, y in zip(both, noisy, clean, strict=True))
    # One pixel more of each kind keeps c finite where no pixel is flipped, or none is seen.
    return min((wrong + 1.0) / (seen + 2.0), 0.5)


def known_share(noisy: Images, clean: Images | None) -> float:
    """The share of flipped pixels of ``noise="known"``, which needs pixels whose clean value is known."""
    if clean is None:
        raise Refusal(
            "noise='known' refuses noisy images alone: pass the share of flipped pixels, or 'learned'.", DENOISER
        )
    if any((y < 0).any() for y in clean) and not any(
        ((x >= 0) & (y >= 0)).any() for x, y in zip(noisy, clean, strict=True)
    ):
        raise Refusal(
            "noise='known' refuses images of which no pixel is both seen in X and known in y: pass the share of "
            "flipped pixels, or 'learned'.",
            DENOISER,
        )
    return counted_share(noisy, clean)


def as_shares(noise: Any, images: Images) -> Values:
    """Check the shares of flipped pixels of an image (h, w), whose shape all images must have."""
    pi = as_reals(noise, "noise")
    shapes = sorted({one.shape for one in images})
    if shapes != [pi.shape]:
        raise ValueError(
            f"noise must be a number, or an array of the one shape of all images; got shape {pi.shape} for {shapes}."
        )
    if not ((pi > 0.0) & (pi <= 0.5)).all():
        raise ValueError(
            f"noise must hold numbers above 0 and at most .5, which is a pixel not seen; got {pi.min():.4g} to "
            f"{pi.max():.4g}."
        )
    return pi
