"""BinaryDenoiser: binary images whose pixels were flipped, restored by a log-supermodular distribution.

The share of flipped pixels is given, counted in pairs of images, or estimated. Images are decided by the probabilities
of pixels, or as the most probable labeling.
"""

from collections.abc import Callable
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from setwise.core.checks import Bools, Values, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import DENOISER
from setwise.decisions import least_expected_loss, least_expected_loss_of_samples
from setwise.estimators.base import Names, VersionedEstimator, threads, with_parameters
from setwise.estimators.log_supermodular_model import (
    LEARNING,
    Images,
    LikelihoodTerm,
    LogLikelihood,
    as_images,
    as_pair,
    by_shape,
    estimated,
    flat,
    given_labels,
    grid_cuts,
    pass_on_interrupt,
    rates_of,
)
from setwise.kernels.sampling import LOGISTIC
from setwise.kernels.threads import map_units, thread_limit
from setwise.losses import as_loss, plain_losses
from setwise.probabilistic import LogSupermodularDistribution, sample
from setwise.probabilistic.perturbations import perturbed, perturbed_labelings
from setwise.probabilistic.training import CutLabelings, Weights, learn
from setwise.probabilistic.variational_bounds import EPSILON


def observed(x: NDArray[Any]) -> Values:
    """1 for pixels seen as 1, -1 for those seen as 0, and 0 for those that were not seen."""
    return np.where(x < 0, 0.0, 2.0 * x - 1.0)


def log_odds(pi: Any) -> Any:
    """``c = log((1 - pi) / pi)``, the weight of an observation, of a number or of each number of an array."""
    # The quotient of the two would overflow for the least numbers.
    return np.log1p(-pi) - np.log(pi)


def noise_part(x: NDArray[np.int8], weights: Values, seen: NDArray[np.bool_]) -> LikelihoodTerm:
    """``log p(x | y)`` less ``<q, y>``, q the weighted observations, by the noise that belongs to these weights (p,).

    What is not seen, by -1 or by a share of one half, adds nothing.
    """
    kept = (x.ravel() >= 0) & seen
    terms = np.where(kept, np.where(x.ravel() == 1, -weights, 0.0) - np.logaddexp(0.0, -weights), 0.0)
    return LikelihoodTerm(float(terms.sum()), EPSILON * (len(terms) + 4) * float(np.abs(terms).sum()))


def known_share(noisy: Images, clean: Images | None) -> float:
    """The share of flipped pixels among those that are both seen and known, at most one half; for ``noise="known"``."""
    if clean is None:
        raise Refusal(
            "noise='known' refuses noisy images alone: pass the share of flipped pixels, or 'learned'.", DENOISER
        )
    both = [(x >= 0) & (y >= 0) for x, y in zip(noisy, clean, strict=True)]
    seen = sum(int(one.sum()) for one in both)
    if not seen and any((y < 0).any() for y in clean):
        raise Refusal(
            "noise='known' refuses images without a pixel that is both seen in X and known in y: pass the share of "
            "flipped pixels, or 'learned'.",
            DENOISER,
        )
    wrong = sum(int((one & (x != y)).sum()) for one, x, y in zip(both, noisy, clean, strict=True))
    # One pixel more of each kind keeps c finite where no pixel is flipped, or none is seen.
    return min((wrong + 1.0) / (seen + 2.0), 0.5)


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


class ImageDistribution(NamedTuple):
    """A distribution of an image, and the number of its noise."""

    number: int
    model: LogSupermodularDistribution


def numbered(X: Any, models: list[LogSupermodularDistribution], seen: Bools) -> list[ImageDistribution]:
    """The distributions with numbers that are functions of what was ``seen`` of images: equal ones have equal noise.

    ``seen`` (p,), or (1,), marks the pixels whose observations have a weight.
    """
    images = [np.where(seen, one.ravel(), -1).astype(np.int8).tobytes() for one in as_images(X, "X", unknown=True)]
    numbers = [int.from_bytes(blake2b(one, digest_size=7).digest(), "little") for one in images]
    return [ImageDistribution(number, model) for number, model in zip(numbers, models, strict=True)]


def loss_of(decode: str | Loss) -> Loss | None:
    """The loss of which a decision is; None for the mean and for the most probable image."""
    if isinstance(decode, str) and decode in ("mean", "max"):
        return None
    loss = as_loss(decode)
    if loss.reads != "labels":
        raise Refusal(f"decode refuses {loss!r}: it reads a ranking, not labels of an image.", DENOISER)
    return loss


FIRST_GUESS = 1.0
"""The weight of an observation with which learning begins, that of a quarter of the pixels flipped."""

MOST = 20
"""At most so many times the samples of an image are drawn for the sum that all images share."""


@final
@with_parameters
class BinaryDenoiser(TransformerMixin, VersionedEstimator):
    """``p(y | x) ~ exp(sum_d (b_d + c (2 x_d - 1)) y_d - sum_k alpha_k (cut of direction k))``, learned by likelihood.

    A pixel of a clean image y is seen flipped in x with probability pi, so ``c = log((1 - pi) / pi)`` (LSM 4.3). With
    clean images beside the noisy ones the conditional likelihood is maximized, without them that of the noisy images
    alone, and where some pixels of the clean images are known that of the noisy images and these (LSM 4.4). The
    intractable sum over images is bounded by perturb-and-MAP with logistic noise; each step of training is one image,
    fresh noise, and one minimum cut, or two where clean pixels are not known.

    Parameters
    ----------
    noise : pi, the share of pixels that are flipped, above 0 and below .5; or that of each pixel, an array of the shape
        (h, w) of all images, of numbers above 0 and at most .5, which is a pixel not seen; ``"known"`` counts it where
        noisy and clean pixels are known; ``"learned"`` finds it with all other weights
    decode : what :meth:`transform` returns: ``"mean"`` for pixels of probability above one half, ``"max"`` for the most
        probable image, or a loss or its name for the labels of least expected loss
    draws : what expected losses are of: ``"independent"`` for independent pixels, whose probabilities are their shares
        of perturbed images; ``"perturbed"`` for whole perturbed images, which are labelings of the perturb-and-MAP
        model and no samples of p; or ``"exact"`` for exact samples of p, of which probabilities are then shares too,
        and which are refused where they take too long
    bias : ``"pixel"`` for a bias of each pixel, or ``"shared"`` for one of all, which knows images of any size
    observation : ``"known"`` for the c that belongs to pi, or ``"learned"`` for another one, which starts there, where
        there are whole clean images
    steps : the number of steps of training
    ridge : the regularizers of biases and of alpha, ``0.5 ridge |.|^2`` beside the mean log-likelihood of an image; one
        number of at least 0, or two
    step : the lengths of the first steps of biases, and of alpha and c, that AdaGrad shortens; above 0, one
        number or two
    samples : the number of perturbed images, or of exact samples, for an image to restore. Their noise is a function of
        the seed and of the image, so that the place of an image in X does not matter
    random_state : seed of the noise and of the order of the images
    n_jobs : the number of threads that share the images to restore; results do not depend on it

    Attributes
    ----------
    bias_ : (h, w), or one number
    observation_ : c; where pi is an array, the factor of its c of each pixel, which starts at 1
    coupling_ : alpha, (2,), of neighbors to the right and below
    noise_ : pi, that of c where it was learned; an array where one was given
    n_iter_ : the number of steps

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and images that are not 0 and 1 or of other shapes
    Refusal : a ValueError by ``fit``, where noise, bias, draws and images do not fit each other
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    Bars of three rows, in which a fifth of the pixels is flipped; about half of these are put right:

    >>> from setwise import BinaryDenoiser
    >>> clean = np.zeros((10, 8, 8), dtype=int)
    >>> for i in range(10):
    ...     clean[i, i % 6 : i % 6 + 3] = 1
    >>> noisy = clean ^ (np.random.default_rng(0).random(clean.shape) < 0.2)
    >>> model = BinaryDenoiser(0.2, bias="shared", steps=300, samples=20, random_state=0).fit(noisy[:5], clean[:5])
    >>> found = model.transform(noisy[5:])
    >>> round(float(np.mean(noisy[5:] != clean[5:])), 2), round(float(np.mean(found != clean[5:])), 1)
    (0.2, 0.1)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "noise": [Names({"known", "learned"}), Interval(Real, 0.0, 0.5, closed="neither"), "array-like"],
        "decode": [Names({"mean", "max", *plain_losses()}), Loss],
        "bias": [Names({"pixel", "shared"})],
        "observation": [Names({"known", "learned"})],
        "draws": [Names({"independent", "perturbed", "exact"})],
        "samples": [Interval(Integral, 2, None, closed="left")],
    } | LEARNING

    noise: Any = "known"
    decode: str | Loss = "mean"
    bias: str = "pixel"
    observation: str = "known"
    steps: int = 3000
    ridge: float | tuple[float, float] = 1e-3
    samples: int = 100
    random_state: Any = None
    n_jobs: int | None = None
    draws: str = "independent"
    step: float | tuple[float, float] = 0.1

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from noisy images, and from the clean ones where they are known.

        After Ctrl-C the weights so far are stored, a warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : (n, h, w), or a list of images (h, w), of 0 and 1, and -1 for pixels that were not seen
        y : clean images of the same shapes, of 0 and 1, and -1 for pixels that are not known; an image of -1 is known
            from X alone. None where none is known

        Returns
        -------
        self : the fitted denoiser

        Raises
        ------
        ValueError : for parameters out of range, and images that are not 0 and 1 or of other shapes
        Refusal : a ValueError, where noise, bias, observation, decode and images do not fit each other
        TypeError : for anything but an array or a list of images
        """
        self._validate_params()
        threads(self.n_jobs)
        noisy, clean = (as_images(X, "X", unknown=True), None) if y is None else as_pair(X, y)
        hidden = clean is None or any((one < 0).any() for one in clean)
        shapes = by_shape(noisy)
        if self.bias == "pixel" and len(shapes) > 1:
            raise Refusal(f"bias='pixel' refuses images of {len(shapes)} shapes: use bias='shared'.", DENOISER)
        pi, learned = self._noise_of(noisy, clean, hidden)
        loss_of(self.decode)
        (shape, _), *_ = shapes.items()
        each = isinstance(pi, np.ndarray)
        weight = log_odds(pi).ravel() if each else np.ones(1)
        groups = []
        for one, places in shapes.items():
            known = None if clean is None else flat(clean, places)
            groups.append(CutLabelings(grid_cuts(one), known, weight * observed(flat(noisy, places))))
        size = 1 if self.bias == "shared" else shape[0] * shape[1]
        first = FIRST_GUESS if pi is None else 1.0 if each else float(log_odds(pi))
        start = Weights(np.zeros(size), first, np.zeros(2))
        # The mean weight of the pixels that are seen; 1 where none is.
        rates = rates_of(self, float(weight[weight > 0.0].mean()) if (weight > 0.0).any() else 1.0)
        found = learn(groups, rates, start=start, hidden=hidden, learned=learned)
        weights = found.weights
        self._shape = None if self.bias == "shared" and not each else shape
        self._seed, self._weight = rates.seed, weight
        self.bias_ = float(weights.unary[0]) if self.bias == "shared" else weights.unary.reshape(shape)
        self.observation_, self.coupling_, self.n_iter_ = weights.observation, weights.couplings, found.steps
        # Where c is learned from clean images it need not be that of the noise.
        of_weight = float(np.exp(-np.logaddexp(0.0, weights.observation)))
        self.noise_ = of_weight if pi is None else pi
        pass_on_interrupt(self, found)
        return self

    def predict_marginals(self, X: Any) -> list[Values]:
        """The probability of label 1 of each pixel: the share of drawn labelings in which the pixel is 1.

        Parameters
        ----------
        X : (n, h, w), or a list of n images (h, w), of 0 and 1, and -1 for pixels that were not seen; of the shape of
            those in ``fit`` where biases or noise belong to single pixels

        Returns
        -------
        probabilities : a list of n arrays (h, w)

        Raises
        ------
        ValueError : for images that are not 0, 1 and -1, or of another shape than in ``fit`` where that is fixed
        Refusal : a ValueError, where ``draws="exact"`` takes too long
        TypeError : for anything but an array or a list of images
        NotFittedError : before ``fit``
        """
        return self._of_images(self._probabilities, X)

    def transform(self, X: Any) -> Any:
        """The restored images, decided as ``decode`` says.

        Parameters
        ----------
        X : (n, h, w), or a list of n images (h, w), of 0 and 1, and -1 for pixels that were not seen; of the shape of
            those in ``fit`` where biases or noise belong to single pixels

        Returns
        -------
        images : int8 of 0 and 1, an array (n, h, w) where X is one, else a list of n arrays (h, w)

        Raises
        ------
        ValueError : for images that are not 0, 1 and -1, or of another shape than in ``fit`` where that is fixed
        Refusal : a ValueError, where ``draws="exact"`` takes too long, and for a ``decode`` that reads no labels
        TypeError : for anything but an array or a list of images
        NotFittedError : before ``fit``
        """
        out = [one.astype(np.int8) for one in self._of_images(self._decided, X)]
        return np.stack(out) if isinstance(X, np.ndarray) else out

    def log_likelihood(self, X: Any, y: Any = None) -> LogLikelihood:
        """The mean log-likelihood per pixel that :meth:`fit` maximizes: an estimate, and an interval sure to hold it.

        Where all of y is known it is ``log p(y | x)``, and a lower bound of it is estimated. Else it is that of x and
        of what is known of y, by the noise that belongs to c. Pixels that are not seen or not known count as pixels.

        Parameters
        ----------
        X : (n, h, w), or a list of n images (h, w), of 0 and 1, and -1 for pixels that were not seen; of the shape of
            those in ``fit`` where biases or noise belong to single pixels
        y : clean images of the same shapes, of 0 and 1, and -1 for pixels that are not known; None where none is known

        Returns
        -------
        LogLikelihood
            The estimate ``value`` with its ``interval`` and ``error``, and the ``certain`` interval, in nats

        Raises
        ------
        ValueError : for images that are not 0, 1 and -1, or of shapes that do not fit
        TypeError : for anything but an array or a list of images
        NotFittedError : before ``fit``
        """
        noisy, clean = (as_images(X, "X", unknown=True), None) if y is None else as_pair(X, y)
        models, _ = self._models(noisy)
        labels = [np.full(x.size, -1) for x in noisy] if clean is None else [one.ravel() for one in clean]
        found = [given_labels(model, one) for model, one in zip(models, labels, strict=True)]
        parts = [part for part, _ in found]
        if all((one >= 0).all() for one in labels):
            wanted = [(-1.0, model, self.samples) for model in models]
        else:
            wanted = [(1.0, rest, self.samples) for _, rest in found if rest is not None]
            parts += [noise_part(x, self.observation_ * self._weight, self._weight > 0.0) for x in noisy]
            for places in by_shape(noisy).values():
                n, bias = len(places), np.broadcast_to(np.ravel(self.bias_), models[places[0]].total)
                # Its error counts for each image, so it is worth more samples.
                wanted.append((-float(n), models[places[0]].with_unary(bias), self.samples * min(n, MOST)))
        with thread_limit(threads(self.n_jobs)):
            return estimated(parts, wanted, self._seed, sum(x.size for x in noisy))

    def score(self, X: Any, y: Any = None) -> float:
        """The share of known pixels that are restored correctly, over all images; without y the log-likelihood of X.

        The log-likelihood is the estimate of :meth:`log_likelihood` for the noisy images alone.

        Parameters
        ----------
        X : (n, h, w), or a list of n images (h, w), of 0 and 1, and -1 for pixels that were not seen; of the shape of
            those in ``fit`` where biases or noise belong to single pixels
        y : clean images of the same shapes, of 0 and 1, and -1 for pixels that are not known; None where none is known

        Returns
        -------
        score : a share from 0 to 1; without y a mean log-likelihood per pixel, in nats

        Raises
        ------
        ValueError : for images that are not 0, 1 and -1, or of shapes that do not fit, and for y without a known pixel
        Refusal : a ValueError, where :meth:`transform` refuses
        TypeError : for anything but an array or a list of images
        NotFittedError : before ``fit``
        """
        if y is None:
            return self.log_likelihood(X).value
        noisy, clean = as_pair(X, y)
        known = sum(int((one >= 0).sum()) for one in clean)
        if not known:
            raise ValueError("y must hold a pixel or more that is known; got -1 alone.")
        found = self.transform(noisy)
        return sum(int((np.asarray(a) == b).sum()) for a, b in zip(found, clean, strict=True)) / known

    def _noise_of(self, noisy: Images, clean: Images | None, hidden: bool) -> tuple[float | Values | None, bool]:
        """The share of flipped pixels, None if it is not known, and whether c is learned."""
        if not isinstance(self.noise, str):
            pi = float(self.noise) if isinstance(self.noise, Real) else as_shares(self.noise, noisy)
        elif self.noise == "learned":
            return None, True
        else:
            pi = known_share(noisy, clean)
        learned = self.observation == "learned" and clean is not None
        if learned and hidden:
            raise Refusal(
                "observation='learned' refuses clean images with unknown pixels: the noise is then a part of "
                "the likelihood, so use noise='learned'.",
                DENOISER,
            )
        return pi, learned

    def _models(self, X: Any) -> tuple[list[LogSupermodularDistribution], list[tuple[int, ...]]]:
        """The distribution of the clean image of each noisy one."""
        check_is_fitted(self)
        self._validate_params()
        noisy = as_images(X, "X", unknown=True)
        for one in noisy:
            if self._shape is not None and one.shape != self._shape:
                raise ValueError(f"X must be images of shape {self._shape}, as in fit; got shape {one.shape}.")
        terms = {one.shape: grid_cuts(one.shape) for one in noisy}
        return [
            LogSupermodularDistribution(
                terms[one.shape],
                np.ravel(self.bias_) + self.observation_ * (self._weight * observed(one.astype(np.float64).ravel())),
                self.coupling_,
            )
            for one in noisy
        ], [one.shape for one in noisy]

    def _of_images(self, function: Callable[[ImageDistribution], NDArray[Any]], X: Any) -> list[NDArray[Any]]:
        """What a function of the distribution of an image (p,) gives for each image, in the shape of the image."""
        models, shapes = self._models(X)
        with thread_limit(threads(self.n_jobs)):
            found = map_units(function, numbered(X, models, self._weight > 0.0))
        return [one.reshape(shape) for one, shape in zip(found, shapes, strict=True)]

    def _probabilities(self, image: ImageDistribution) -> Values:
        """The probability of label 1 of each pixel, (p,)."""
        if self.draws == "exact":
            return np.asarray(self._drawn(image).mean(axis=0))
        count, zero = self.samples + self.samples % 2, np.zeros(image.model.total)
        # The noise is another one than that of training.
        found = perturbed(image.model, count, LOGISTIC, np.uint64(self._seed + 1), zero, image.number)
        return np.asarray(found.ones / count)

    def _drawn(self, image: ImageDistribution) -> Bools:
        """Labelings of an image, (m, p)."""
        if self.draws == "perturbed":
            count = self.samples + self.samples % 2
            return perturbed_labelings(image.model, count, np.uint64(self._seed + 1), image.number)
        try:
            seed = np.random.default_rng([self._seed, 2, image.number])
            return sample(image.model, self.samples, random_state=seed).labels
        except Refusal as error:
            raise Refusal(
                "draws='exact' refuses this image: the chains of exact samples have not met, because its pixels are "
                "coupled too strongly. Use draws='perturbed'.",
                DENOISER,
            ) from error

    def _decided(self, image: ImageDistribution) -> Bools:
        """The labels that ``decode`` asks for, (p,)."""
        loss = loss_of(self.decode)
        if loss is None and self.decode == "max":
            return image.model.minimum().labels
        if loss is None:
            return np.asarray(self._probabilities(image) > 0.5)
        if self.draws == "independent":
            return np.asarray(least_expected_loss(self._probabilities(image), loss).labels)
        return np.asarray(least_expected_loss_of_samples(self._drawn(image), loss).labels)
