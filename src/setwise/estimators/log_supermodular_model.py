"""LogSupermodularModel: the distribution of binary images or rows whose labels attract each other."""

import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from setwise.core.checks import Bools, Values, as_array, as_count, as_kind, shown
from setwise.core.pages import AFTER_A_FIT
from setwise.estimators.binary_images import as_images, as_two, grid_cuts
from setwise.estimators.log_likelihood import LogLikelihood, Part, mean_of, part_of, sum_of
from setwise.estimators.threads import threads
from setwise.estimators.versioned import Versioned
from setwise.kernels.threads import allowed
from setwise.probabilistic import BaseFunction, LogPartition, LogSupermodular, logistic, sample
from setwise.probabilistic.base_functions import as_rows
from setwise.probabilistic.training import Rates, Weights, joint, learn


@final
class LogSupermodularModel(DensityMixin, Versioned):
    """``p(y) ~ exp(<t, y> - sum_k alpha_k f_k(y))`` of rows or images y of 0 and 1, learned by likelihood (LSM 4.2).

    The sum over all labelings is bounded by perturb-and-MAP with logistic noise, and so is the likelihood. A step of
    training is fresh noise and one minimization, however many rows there are: all that it needs of them are the means
    of y and of ``f_k(y)``. It is a cut; with a concave function of the size beside cuts it takes the cuts for all
    biases, and with a set function a min-norm point, which is for few labels. What is reported of the model comes from
    noise that training has not seen.

    Parameters
    ----------
    terms : the base functions f_k, a list of :class:`setwise.probabilistic.Cut`, ``ConcaveOfSize``, ``SetFunctionOf``;
        None takes the edges of an image to the right and downwards, with a weight for each of these two directions
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
    model_ : the distribution, a :class:`setwise.probabilistic.LogSupermodular`
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
        "steps": [Interval(Integral, 1, None, closed="left")],
        "ridge": [Interval(Real, 0.0, None, closed="left"), tuple],
        "step": [Interval(Real, 0.0, None, closed="neither"), tuple],
        "samples": [Interval(Integral, 4, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        terms: Any = None,
        steps: int = 3000,
        ridge: float | tuple[float, float] = 1e-3,
        samples: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        step: float | tuple[float, float] = 0.1,
    ) -> None:
        self.terms = terms
        self.steps = steps
        self.ridge = ridge
        self.samples = samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.step = step

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
        ridges = as_two(self.ridge, "ridge")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        start = Weights(np.zeros(rows.shape[1]), 0.0, np.zeros(len(terms)))
        of_bias, of_coupling = as_two(self.step, "step")
        rates = Rates(self.steps, (of_bias, of_coupling, of_coupling), ridges, seed)
        found = learn([joint(terms, rows)], rates, start=start)
        self._shape, self._seed, self.n_iter_ = shape, seed, found.steps
        self.bias_, self.coupling_ = found.weights.unary.reshape(shape), found.weights.couplings
        self.model_ = LogSupermodular(terms, found.weights.unary, found.weights.couplings)
        if found.interrupted:
            words = f"LogSupermodularModel was interrupted after {found.steps} steps."
            warnings.warn(words + AFTER_A_FIT.see, RuntimeWarning, stacklevel=2)
            raise KeyboardInterrupt
        return self

    def log_likelihood(self, Y: Any) -> LogLikelihood:
        """The mean log-likelihood of Y per label: an estimate of a lower bound, and a certain interval.

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
        with allowed(threads(self.n_jobs)):
            found = sum_of(self.model_, self.samples, self._seed + 2**31)
        mean = Part(-float(self.model_.values(rows).mean()), part_of(self.model_, rows[0]).slip)
        return mean_of([mean], [(-1.0, found)], rows.shape[1])

    def score(self, Y: Any, y: None = None) -> float:
        """The value of :meth:`log_likelihood`, an estimate, whose error stands there.

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
        """The probability of label 1 of each label: the share of perturbed labelings that have it.

        Returns
        -------
        probabilities : (p,), or (h, w) for images

        Raises
        ------
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        return np.asarray(self._bound().marginals.reshape(self._shape))

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
        with allowed(threads(self.n_jobs)):
            found = sample(self.model_, size, random_state=seed)
        return found.labels.reshape(size, *self._shape).astype(np.int8)

    def _bound(self) -> LogPartition:
        """The bound of the sum over labelings, by noise that training has not seen."""
        with allowed(threads(self.n_jobs)):
            return logistic(self.model_, self.samples, random_state=self._seed + 2**31)

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
            raise TypeError(f"terms must be a list of base functions, as [Cut(p, edges)]; got {shown(self.terms)}.")
        terms = [as_kind(one, "terms", BaseFunction, "Cut(p, edges)") for one in self.terms]
        if not terms or any(one.total != p for one in terms):
            raise ValueError(f"terms must be one base function or more, of {p} labels each.")
        return terms
