"""The likelihood as a surrogate without a loss: ``A(s) - <s, phi(y)>``, with a bound in place of A (LSM 4).

Of noisy observations alone it is a difference of two convex functions (LSM 4.4).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import Floats, Ints, Values, as_count, as_kind
from setwise.core.exceptions import Refusal
from setwise.core.pages import LIKELIHOOD
from setwise.core.surrogate import Difference, Evaluation, Evaluator, Surrogate
from setwise.probabilistic.base_functions import ModularFunction
from setwise.probabilistic.energies import Energies, MeanMaxima, Source, mean_maxima_of
from setwise.probabilistic.log_supermodular_distribution import LogSupermodularDistribution
from setwise.probabilistic.perturbations import kind_of, seed_of
from setwise.probabilistic.variational_bounds import entropy, l_field

Known = TypeVar("Known", bound=Batch)


def check_known(batch: Known) -> Known:
    """The batch, whose labels must be known, or whose target must be given."""
    if batch.known is not None and not (isinstance(batch, Energies) and batch.given):
        raise Refusal(
            f"The likelihood refuses unknown labels, in {type(batch).__name__}: its target is a labeling. "
            "Use Energies.hidden, or leave them out.",
            LIKELIHOOD,
        )
    return batch


@final
class PerturbedPartition(Evaluator):
    """``mean over z of max_y [<z, y> + <s, phi(y)>] - <s, target>``, with frozen noise z. Convex.

    The gradient is ``mean phi - target``. Noise is a function of (seed, set, sample), so that parts, threads and order
    change nothing.

    Parameters
    ----------
    maxima : the maximization
    source : of the noise
    """

    def __init__(self, maxima: MeanMaxima, source: Source) -> None:
        self.maxima, self.source, self.batch = maxima, source, maxima.batch
        # The target is a mean of labelings, of which the maximum is one, and noise in pairs is 0 in the mean.
        self.floor = 0.0

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        found, base = self.maxima.means(scores, self.source, tol), self.batch.at_target(scores)
        gradient = (found.phi - self.batch.target).astype(scores.dtype, copy=False)
        return Evaluation(found.values - base, gradient, found.upper - base, found.exact)

    def take(self, parts: Ints) -> "PerturbedPartition":
        return PerturbedPartition(self.maxima.take(parts), self.source._replace(units=self.source.units[parts]))

    def redrawn(self, seed: int) -> "PerturbedPartition":
        return PerturbedPartition(self.maxima, self.source._replace(seed=seed_of(seed, "seed")))

    def __repr__(self) -> str:
        return f"the perturbed likelihood of {type(self.batch).__name__}"


@dataclass(frozen=True, eq=False)
class PerturbedLikelihood(Surrogate):
    """``A_logistic(s) - <s, phi(y)>``, an upper bound of ``-log p(y)`` in expectation, with frozen noise (LSM Eq. 5).

    Over all noise it is not below the negative log-likelihood (LSM Prop. 1). With frozen noise it is a function, of
    which learners certify the minimum; with few samples training overfits the noise, and the value is too low.
    Report ``redrawn`` values.

    Parameters
    ----------
    samples : of each set, 2 or more; an odd number is raised by one, for samples come in pairs of opposite noise
    noise : ``"logistic"``; or ``"gaussian"``, which bounds nothing
    random_state : seed, int, numpy Generator or None

    Raises
    ------
    ValueError, TypeError : for samples, noise and seeds other than these; from :meth:`on` for anything but a batch
    Refusal : from :meth:`on`, for labels that are not known

    Examples
    --------
    >>> from setwise.probabilistic import Cut, Energies, PerturbedLikelihood, exact
    >>> batch, s = Energies([[Cut.grid(1, 2)]], np.array([True, False]), np.array([0, 2])), np.array([1.0, 0.0, 0.5])
    >>> bound = PerturbedLikelihood(samples=2000).on(batch)(s).values[0]
    >>> truth = exact(batch.model(0, s)).value - batch.target @ s
    >>> print(round(truth, 2), bool(truth < bound < truth + 0.2))  # -log p(y), and its bound
    1.29 True
    """

    samples: int = 20
    noise: str = "logistic"
    random_state: int | np.random.Generator | None = 0

    name: ClassVar[str] = "perturbed_likelihood"

    def __post_init__(self) -> None:
        as_count(self.samples, "samples", low=2)
        kind_of(self.noise)
        object.__setattr__(self, "_seed", seed_of(self.random_state))

    def source(self, batch: Batch) -> Source:
        """The noise of the sets of a batch."""
        seed: np.uint64 = self.__dict__["_seed"]
        return Source(kind_of(self.noise), seed, np.arange(len(batch)), self.samples + self.samples % 2)

    def on(self, batch: Any) -> Evaluator:
        check_known(as_kind(batch, "batch", Batch, "Energies.joint([Cut.grid(5, 5)], rows)"))
        return PerturbedPartition(mean_maxima_of(batch), self.source(batch))


@final
@dataclass(frozen=True)
class LFieldLikelihood(Surrogate):
    """``A_L-Field(s) - <s, phi(y)>`` for ``Energies``, an upper bound of the negative log-likelihood (LSM 4.1). Convex.

    ``A_L-Field = max_m H(m) - f(m)``, f being its Lovász extension, so that every m gives a plane. With unary scores
    that are free, weights of base functions of 0 minimize it (LSM 4.1): it learns no couplings.

    Raises
    ------
    TypeError : from :meth:`on`, for anything but ``Energies``
    Refusal : from :meth:`on`, for labels that are not known

    Examples
    --------
    >>> from setwise.probabilistic import Cut, Energies, LFieldLikelihood
    >>> batch = Energies([[Cut.grid(1, 2)]], np.array([True, False]), np.array([0, 2]))
    >>> found = LFieldLikelihood().on(batch)(np.array([1.0, 0.0, 0.5]))  # -log p(y) is 1.29
    >>> found.values.round(2), found.gradient.round(2)
    (array([1.45]), array([-0.38,  0.62,  1.  ]))
    """

    name: ClassVar[str] = "l_field_likelihood"

    def on(self, batch: Any) -> Evaluator:
        return _LField(check_known(as_kind(batch, "batch", Energies, "Energies.joint([Cut.grid(5, 5)], rows)")))


@final
class _LField(Evaluator):
    batch: Energies

    def __init__(self, batch: Energies) -> None:
        self.batch, self.floor = batch, 0.0

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        base, n = self.batch.at_target(scores), len(self.batch)
        values, upper, gradient = np.empty(n), np.empty(n), np.empty(self.batch.n_scores)
        for i in range(n):
            model = self.batch.model(i, scores)
            found = l_field(model)
            plane = np.concatenate([found.marginals, -_extensions(model, found.marginals)])
            own = slice(self.batch.score_offsets[i], self.batch.score_offsets[i + 1])
            values[i] = entropy(found.marginals) + float(plane @ scores[own])
            upper[i], gradient[own] = max(found.value, values[i]), plane
        exact = upper - values <= tol
        gradient = (gradient - self.batch.target).astype(scores.dtype, copy=False)
        return Evaluation(values - base, gradient, upper - base, exact)

    def take(self, parts: Ints) -> "_LField":
        return _LField(self.batch.take(parts))

    def __repr__(self) -> str:
        return "the L-Field likelihood of Energies"


def _extensions(model: LogSupermodularDistribution, m: Values) -> Values:
    """The Lovász extension of each base function at m, (K,)."""
    order = np.argsort(-m, kind="stable")
    return np.array([one.gains(order) @ m[order] for one in model.terms])


EXAMPLE = "Energies.hidden([Cut.grid(5, 5)], observed)"


@final
@dataclass(frozen=True, eq=False)
class HiddenLikelihood(PerturbedLikelihood):
    """``-log p(x) = A(t) + sum_d log(1 + exp(c q_d)) - A(t + c q)`` of observations of hidden labels (LSM 4.4).

    A label y_d is seen with ``p(x_d | y_d) ~ exp(c q_d y_d)``: for q of -1 and 1 it is seen flipped with the
    probability ``1 / (1 + exp(c))``. Both A are the bound by perturb-and-MAP with the same frozen noise, so that this
    is an estimate of -log p, and neither above nor below it. It is a difference of convex functions of t, alpha and c.
    :class:`setwise.learners.ConvexConcaveProcedure` descends on it; that is expectation maximization, whose
    expectations are means over perturbed labelings. The weight c is learned, or fixed by the base of the model.

    Parameters
    ----------
    samples, noise, random_state : as in :class:`PerturbedLikelihood`

    Raises
    ------
    ValueError, TypeError : for samples, noise and seeds other than these
    Refusal : from :meth:`on`, for ``Energies`` without observations

    Examples
    --------
    >>> from setwise.probabilistic import Cut, Energies, HiddenLikelihood
    >>> seen = np.array([[1.0] * 5, [-1.0] * 5])  # in each of two rows the five labels agree
    >>> value = HiddenLikelihood(samples=200).on(Energies.hidden([Cut.grid(1, 5)], seen))
    >>> for alpha in (0.0, 1.0):  # about 10 log 2, and less: labels that attract each other are seen to agree
    ...     row = [0.0] * 5 + [alpha, 2.0]  # t, the weight of the cut, and c
    ...     print(round(value(row + row).values.sum(), 1))
    6.9
    5.6
    """

    name: ClassVar[str] = "hidden_likelihood"

    def on(self, batch: Any) -> Evaluator:
        as_kind(batch, "batch", Energies, EXAMPLE)
        if not all(isinstance(each[-1], ModularFunction) for each in batch.terms) or batch.target.any():
            raise Refusal(
                f"HiddenLikelihood refuses these Energies: they hold no observations. Use {EXAMPLE}.", LIKELIHOOD
            )
        with_labels = super().on(batch)
        return Difference(_UnobservedPartition(with_labels, batch), with_labels)


@final
class _UnobservedPartition(Evaluator):
    """``A(t) + sum_d log(1 + exp(c q_d))``: the observations do not act on the labels. Convex."""

    batch: Energies

    def __init__(self, bound: Evaluator, batch: Energies) -> None:
        self.bound, self.batch, self.floor = bound, batch, 0.0
        self._observed = [-each[-1].slopes for each in batch.terms if isinstance(each[-1], ModularFunction)]

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        batch, last = self.batch, self.batch.term_places[:, -1]
        c, without = scores[last].astype(np.float64), np.array(scores)
        without[last] = 0.0
        found = self.bound.evaluate(without, tol)
        q = np.concatenate(self._observed)
        weighted = np.repeat(c, batch.sizes) * q
        more = np.add.reduceat(np.logaddexp(0.0, weighted), batch.offsets[:-1])
        gradient = np.array(found.gradient)
        gradient[last] = np.add.reduceat(q * (0.5 + 0.5 * np.tanh(0.5 * weighted)), batch.offsets[:-1])
        return Evaluation(found.values + more, gradient, found.upper + more, found.exact)

    def take(self, parts: Ints) -> "_UnobservedPartition":
        return _UnobservedPartition(self.bound.take(parts), self.batch.take(parts))

    def redrawn(self, seed: int) -> "_UnobservedPartition":
        return _UnobservedPartition(self.bound.redrawn(seed), self.batch)

    def __repr__(self) -> str:
        return f"{self.bound!r} without observations"
