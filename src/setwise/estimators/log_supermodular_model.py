"""LogSupermodularModel: the distribution of binary images or rows whose labels attract each other.

Mean log-likelihoods, in which sums over all labelings occur, are estimated, with intervals that are certain.
"""

import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from setwise.core.checks import Bools, Ints, Values, as_array, as_count, as_kind, as_number, shown
from setwise.core.pages import AFTER_A_FIT
from setwise.estimators.base import VersionedEstimator, threads, with_parameters
from setwise.kernels.threads import map_units, thread_limit
from setwise.probabilistic import (
    BaseFunction,
    Cut,
    LogSupermodularDistribution,
    l_field,
    logistic,
    mean_field,
    sample,
    superdifferential,
    tree_reweighted,
)
from setwise.probabilistic.base_functions import as_rows
from setwise.probabilistic.training import LearningResult, Rates, Weights, joint, learn
from setwise.probabilistic.variational_bounds import EPSILON

Images = list[NDArray[np.int8]]


def as_images(images: Any, name: str, unknown: bool = False) -> Images:
    """Check images (n, h, w), or a list of (h, w), of 0 and 1, and -1 for unknown pixels where that is allowed."""
    if isinstance(images, str | bytes) or not isinstance(images, Iterable):
        raise TypeError(f"{name} must be an array (n, h, w) or a list of images (h, w); got {shown(images)}.")
    found = [as_array(one, name) for one in images]
    if not found:
        raise ValueError(f"{name} must hold an image or more; got none.")
    allowed = (-1, 0, 1) if unknown else (0, 1)
    out = []
    for one in found:
        if one.ndim != 2 or one.size == 0:
            raise ValueError(f"{name} must be images of shape (h, w), none of them empty; got shape {one.shape}.")
        if one.dtype.kind not in "biuf" or not np.isin(one, allowed).all():
            also = ", or -1 for unknown pixels" if unknown else ""
            raise ValueError(f"{name} must hold 0 and 1{also}; got {shown(one.tolist())}.")
        out.append(one.astype(np.int8))
    return out


def as_pair(X: Any, y: Any) -> tuple[Images, Images]:
    """Check noisy images and clean ones of the same shapes; -1 stands for unknown pixels of both."""
    noisy, clean = as_images(X, "X", unknown=True), as_images(y, "y", unknown=True)
    if [one.shape for one in clean] != [one.shape for one in noisy]:
        got = shown([one.shape for one in clean])
        raise ValueError(f"y must be images of the same shapes as those of X; got shapes {got}.")
    return noisy, clean


def by_shape(images: Images) -> dict[tuple[int, int], Ints]:
    """The places of the images of each shape."""
    shapes: dict[tuple[int, int], list[int]] = {}
    for i, one in enumerate(images):
        shapes.setdefault((one.shape[0], one.shape[1]), []).append(i)
    return {shape: np.array(places) for shape, places in shapes.items()}


def flat(images: Images, places: Ints) -> NDArray[np.float64]:
    """The chosen images of one shape as rows, (n, pixels)."""
    return np.stack([images[i].ravel() for i in places]).astype(np.float64)


def grid_cuts(shape: tuple[int, ...]) -> list[Cut]:
    """The cut of the edges of an image (h, w) to the right, and that of those downwards."""
    return [Cut.grid(shape[0], shape[1], direction) for direction in ((0, 1), (1, 0))]


def as_two(value: Any, name: str) -> tuple[float, float]:
    """Two numbers of 0 or above, from one number or two."""
    both = value if isinstance(value, tuple) else (value, value)
    if len(both) != 2:
        raise ValueError(f"{name} must be a number, or two, of 0 or above; got {shown(value)}.")
    return as_number(both[0], name, low=0.0), as_number(both[1], name, low=0.0)


def rates_of(model: Any, size: float = 1.0) -> Rates:
    """How the parameters of ``model`` ask to learn, for observations of a mean size."""
    ridges, (of_bias, of_coupling) = as_two(model.ridge, "ridge"), as_two(model.step, "step")
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    # The factor of many weights moves as these would move alone.
    return Rates(model.steps, (of_bias, of_coupling / size, of_coupling), ridges, seed)


LEVEL, STEPS = 0.95, 15
"""The level of intervals, and the steps of the upper bound by trees, which gains little from more."""


class LogLikelihood(NamedTuple):
    """A mean log-likelihood per label, of the labels it was asked of.

    Attributes
    ----------
    value : an estimate, in which ``A_logistic``, the mean of perturbed maxima, stands for each sum over all labelings.
        One sum makes it an estimate of a lower bound of the log-likelihood; a difference of two sums bounds nothing
    interval : at 95 %, by Student's t: repeated with other noise, 95 of 100 such intervals hold what the value
        estimates. The labels are given, so it says nothing of others, nor how far ``A_logistic`` is from the sum
    error : the standard error of the value, by the same noise
    certain : the log-likelihood itself lies between these two, by mean field below and trees above each sum of cuts; by
        the superdifferential and L-Field where these do not apply
    """

    value: float
    interval: tuple[float, float]
    error: float
    certain: tuple[float, float]


class Sum(NamedTuple):
    """What is known of ``A(f) = log sum_y exp(-f(y))``.

    Attributes
    ----------
    value, error, freedom : an estimate of ``A_logistic``, its standard error, and the degrees of freedom of this
    low, high : certain bounds of A(f)
    """

    value: float
    error: float
    freedom: int
    low: float
    high: float


class LikelihoodTerm(NamedTuple):
    """A number of the log-likelihood that needs no sum, and how far rounding may have moved it."""

    value: float
    slip: float


def sum_of(model: LogSupermodularDistribution, samples: int, seed: int) -> Sum:
    """The estimate by perturbed labelings, and the bounds by independent labels and by trees."""
    found, freedom = logistic(model, samples, level=LEVEL, random_state=seed), max((samples + 1) // 2 - 1, 1)
    width = max(found.interval[1] - found.value, found.value - found.interval[0])
    error = width / float(student.ppf(0.5 + 0.5 * LEVEL, freedom))
    low = superdifferential(model) if model.table is None else mean_field(model)
    high = l_field(model) if model.pairwise is None else tree_reweighted(model, STEPS)
    return Sum(found.value, error, freedom, low.value, high.value)


def part_of(model: LogSupermodularDistribution, labels: Bools) -> LikelihoodTerm:
    """``-f(labels)``."""
    return LikelihoodTerm(-float(model.values(labels)[0]), EPSILON * model.largest * (model.total + 4))


def given_labels(
    model: LogSupermodularDistribution, labels: Values
) -> tuple[LikelihoodTerm, LogSupermodularDistribution | None]:
    """``log sum exp(-f(y))`` over the labelings that agree with ``labels`` (p,), -1 for those that are free.

    It is the number and ``A`` of the distribution of the free labels, None where none is free.
    """
    if (labels >= 0).all():
        return part_of(model, labels > 0.5), None
    if (labels < 0).all():
        return LikelihoodTerm(0.0, 0.0), model
    rest = model.condition(labels.astype(np.int8))
    return LikelihoodTerm(-rest.constant, part_of(model, labels > 0.5).slip), rest


def estimated(
    parts: Sequence[LikelihoodTerm],
    wanted: Sequence[tuple[float, LogSupermodularDistribution, int]],
    seed: int,
    total: int,
) -> LogLikelihood:
    """The mean over labels of the parts and of sums: factors, distributions and numbers of samples, with new noise."""
    # Training and marginals draw from the seed itself and from the next one.
    seeds = np.random.default_rng([seed, 1]).integers(2**62, size=len(wanted)).tolist()
    sums = map_units(lambda k: sum_of(wanted[k][1], wanted[k][2], seeds[k]), range(len(wanted)))
    return mean_of(parts, [(one[0], found) for one, found in zip(wanted, sums, strict=True)], total)


def mean_of(parts: Sequence[LikelihoodTerm], sums: Sequence[tuple[float, Sum]], total: int) -> LogLikelihood:
    """``(sum of the parts + sum_k factor_k A_k) / total``, where the noise of the sums is independent."""
    fixed, slip = sum(one.value for one in parts), sum(one.slip for one in parts)
    sizes = sum(abs(one.value) for one in parts) + sum(abs(k) * max(abs(a.low), abs(a.high)) for k, a in sums)
    slip += EPSILON * (len(parts) + len(sums)) * sizes
    value = fixed + sum(k * a.value for k, a in sums)
    squares = [(k * a.error) ** 2 for k, a in sums]
    variance, width = sum(squares), 0.0
    if np.isinf(variance):
        width = np.inf
    elif variance > 0.0:
        # The degrees of freedom of a sum of independent estimates (Welch 1947).
        shares = sum((square / variance) ** 2 / a.freedom for square, (_, a) in zip(squares, sums, strict=True))
        freedom = 1.0 / shares
        width = float(np.sqrt(variance) * student.ppf(0.5 + 0.5 * LEVEL, freedom))
    low = float(fixed - slip + sum(k * (a.low if k > 0 else a.high) for k, a in sums))
    high = float(fixed + slip + sum(k * (a.high if k > 0 else a.low) for k, a in sums))
    interval, error = ((value - width) / total, (value + width) / total), float(np.sqrt(variance)) / total
    return LogLikelihood(value / total, interval, error, (low / total, high / total))


LEARNING: dict[str, Any] = {
    "steps": [Interval(Integral, 1, None, closed="left")],
    "ridge": [Interval(Real, 0.0, None, closed="left"), tuple],
    "step": [Interval(Real, 0.0, None, closed="neither"), tuple],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}
"""The values of the parameters of learning by likelihood."""


def pass_on_interrupt(model: Any, found: LearningResult) -> None:
    """Raise KeyboardInterrupt after a fit that Ctrl-C has ended, with a warning."""
    if found.interrupted:
        words = f"{type(model).__name__} was interrupted after {found.steps} steps."
        warnings.warn(words + AFTER_A_FIT.see, RuntimeWarning, stacklevel=3)
        raise KeyboardInterrupt


@final
@with_parameters
class LogSupermodularModel(DensityMixin, VersionedEstimator):
    """``p(y) ~ exp(<t, y> - sum_k alpha_k f_k(y))`` of rows or images y of 0 and 1, learned by likelihood (LSM 4.2).

    The sum over all labelings is bounded by perturb-and-MAP with logistic noise, and so is the likelihood. A step of
    training is fresh noise and one minimization, however many rows there are: all that it needs of them are the means
    of y and of ``f_k(y)``. It is a cut; with a concave function of the size beside cuts it takes the cuts for all
    biases, and with a set function a min-norm point, which is for few labels. What is reported of the model comes from
    noise that training has not seen.

    Parameters
    ----------
    terms : the base functions f_k, a list of :class:`setwise.probabilistic.Cut`, ``ConcaveSizeFunction``,
        ``CallableSetFunction``; None takes the edges of an image to the right and downwards, with a weight for each of
        these two directions
    steps : the number of steps of training
    ridge : the regularizers of t and of alpha, ``0.5 ridge |.|^2`` beside the mean log-likelihood of a row; one number
        of at least 0, or two
    step : the lengths of the first steps of t and of alpha, that AdaGrad shortens; above 0, one number or two
    samples : the number of perturbed labelings of which a report is the mean
    random_state : seed of the noise
    n_jobs : the number of threads of reports; results do not depend on it

    Attributes
    ----------
    bias_ : t, of the shape of a row or an image
    coupling_ : alpha, (K,)
    model_ : the distribution, a :class:`setwise.probabilistic.LogSupermodularDistribution`
    n_iter_ : the number of steps

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, labels that are not 0 and 1, and terms that do not fit
    TypeError : by ``fit``, for terms that are no list of base functions
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from setwise import LogSupermodularModel
    >>> from setwise.probabilistic import Cut
    >>> pairs = [[0, 0], [1, 1]] * 40 + [[0, 1], [1, 0]] * 10  # equal in 80 % of the rows
    >>> model = LogSupermodularModel([Cut(2, [[0, 1]])], steps=300, samples=100, random_state=0).fit(pairs)
    >>> bool(model.coupling_[0] > 0), model.score([[0, 0], [1, 1]]) > model.score([[0, 1], [1, 0]])
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "terms": "no_validation",
        "samples": [Interval(Integral, 4, None, closed="left")],
    } | LEARNING

    terms: Any = None
    steps: int = 3000
    ridge: float | tuple[float, float] = 1e-3
    samples: int = 1000
    random_state: Any = None
    n_jobs: int | None = None
    step: float | tuple[float, float] = 0.1

    def fit(self, Y: Any, y: None = None) -> Self:
        """Learn from rows or images.

        After Ctrl-C the weights so far are stored, a warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        Y : rows (n, p), or images (n, h, w) of one shape, of 0 and 1
        y : not read

        Returns
        -------
        self : the fitted model

        Raises
        ------
        ValueError : for parameters out of range, labels that are not 0 and 1, and terms that do not fit
        TypeError : for terms that are no list of base functions, and Y that is neither rows nor images
        """
        self._validate_params()
        threads(self.n_jobs)
        rows, shape = self._rows(Y)
        terms = self._terms(shape, rows.shape[1])
        start = Weights(np.zeros(rows.shape[1]), 0.0, np.zeros(len(terms)))
        rates = rates_of(self)
        found = learn([joint(terms, rows)], rates, start=start)
        self._shape, self._seed, self.n_iter_ = shape, rates.seed, found.steps
        self.bias_, self.coupling_ = found.weights.unary.reshape(shape), found.weights.couplings
        self.model_ = LogSupermodularDistribution(terms, found.weights.unary, found.weights.couplings)
        pass_on_interrupt(self, found)
        return self

    def log_likelihood(self, Y: Any) -> LogLikelihood:
        """The mean log-likelihood of Y per label: an estimate of a lower bound, and an interval sure to hold it.

        Parameters
        ----------
        Y : rows (n, p), or images (n, h, w), of 0 and 1, of the shape of those in ``fit``

        Returns
        -------
        LogLikelihood
            The estimate ``value`` with its ``interval`` and ``error``, and the ``certain`` interval, in nats

        Raises
        ------
        ValueError : for labels that are not 0 and 1, or of another shape than in ``fit``
        TypeError : for Y that is neither rows nor images
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        rows, shape = self._rows(Y)
        if shape != self._shape:
            raise ValueError(f"Y must hold labels of shape {self._shape}, as in fit; got shape {shape}.")
        with thread_limit(threads(self.n_jobs)):
            found = sum_of(self.model_, self.samples, self._seed + 2**31)
        mean = LikelihoodTerm(-float(self.model_.values(rows).mean()), part_of(self.model_, rows[0]).slip)
        return mean_of([mean], [(-1.0, found)], rows.shape[1])

    def score(self, Y: Any, y: None = None) -> float:
        """The mean log-likelihood of Y per label, estimated; :meth:`log_likelihood` returns its standard error too.

        Parameters
        ----------
        Y : rows (n, p), or images (n, h, w), of 0 and 1, of the shape of those in ``fit``
        y : not read

        Returns
        -------
        score : a mean log-likelihood per label, in nats

        Raises
        ------
        ValueError, TypeError : for labels that :meth:`log_likelihood` refuses
        NotFittedError : before ``fit``
        """
        return self.log_likelihood(Y).value

    def predict_marginals(self) -> Values:
        """The probability of label 1 of each label: the share of perturbed labelings in which it is 1.

        Returns
        -------
        probabilities : (p,), or (h, w) for images

        Raises
        ------
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        # The noise is one that training has not seen.
        with thread_limit(threads(self.n_jobs)):
            found = logistic(self.model_, self.samples, random_state=self._seed + 2**31)
        return np.asarray(found.marginals.reshape(self._shape))

    def sample(self, size: int = 1, random_state: Any = None) -> NDArray[np.int8]:
        """Exact samples of the model, by coupling from the past.

        Parameters
        ----------
        size : the number of samples, 1 or more
        random_state : None, a whole number, a Generator of NumPy, or a RandomState

        Returns
        -------
        samples : (size, p), or (size, h, w) for images, int8 of 0 and 1

        Raises
        ------
        Refusal : a ValueError, where the chains do not meet within their budget, and for terms without such chains
        ValueError, TypeError : for a size or a seed of another kind
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        as_count(size, "size")
        # scikit-learn's kind of random state is taken too.
        legacy = isinstance(random_state, np.random.RandomState)
        seed = int(random_state.randint(2**31 - 1)) if legacy else random_state
        with thread_limit(threads(self.n_jobs)):
            found = sample(self.model_, size, random_state=seed)
        return found.labels.reshape(size, *self._shape).astype(np.int8)

    def _rows(self, Y: Any) -> tuple[Bools, tuple[int, ...]]:
        """The labels as rows, and the shape of each."""
        if not isinstance(Y, Iterable) or isinstance(Y, str | bytes):
            raise TypeError(f"Y must be rows (n, p) or images (n, h, w); got {shown(Y)}.")
        given = as_array(Y, "Y")
        if given.ndim == 2 and given.size:
            return as_rows(given, given.shape[1], "Y"), (given.shape[1],)
        images = as_images(Y, "Y")
        shapes = {one.shape for one in images}
        if len(shapes) > 1:
            raise ValueError(f"Y must be images of one shape; got {sorted(shapes)}.")
        return np.stack([one.ravel() for one in images]) == 1, images[0].shape

    def _terms(self, shape: tuple[int, ...], p: int) -> list[Any]:
        if self.terms is None:
            if len(shape) != 2:
                raise ValueError("terms must be given for rows: a list as [Cut(p, edges)]. Images have their grid.")
            return list(grid_cuts(shape))
        if isinstance(self.terms, BaseFunction | str | bytes) or not isinstance(self.terms, Iterable):
            raise TypeError(
                f"terms must be a list of base functions, such as [Cut(p, edges)]; got {shown(self.terms)}."
            )
        terms = [as_kind(one, "terms", BaseFunction, "Cut(p, edges)") for one in self.terms]
        if not terms or any(one.total != p for one in terms):
            raise ValueError(f"terms must be one base function or more, of {p} labels each.")
        return terms
