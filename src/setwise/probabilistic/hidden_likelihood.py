"""The likelihood of noisy observations alone, as a difference of two convex functions (LSM 4.4)."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.checks import Floats, Ints, Values, as_kind
from setwise.core.exceptions import Refusal
from setwise.core.pages import LIKELIHOOD
from setwise.core.surrogate import Difference, Evaluation, Evaluator, Surrogate
from setwise.probabilistic.energies import Energies
from setwise.probabilistic.functions import Modular
from setwise.probabilistic.likelihood import PerturbedLikelihood

EXAMPLE = "Energies.hidden([Cut.grid(5, 5)], observed)"


@final
@dataclass(frozen=True, eq=False)
class HiddenLikelihood(Surrogate):
    """``-log p(x) = A(t) + sum_d log(1 + exp(c q_d)) - A(t + c q)`` of observations of hidden labels (LSM 4.4).

    A label y_d is seen with ``p(x_d | y_d) ~ exp(c q_d y_d)``: for q of -1 and 1 it is seen flipped with the
    probability ``1 / (1 + exp(c))``. Both A are the bound by perturb-and-MAP with the same frozen noise, so that this
    is an estimate of -log p, and neither above nor below it. It is a difference of convex functions of t, alpha and c.
    :class:`setwise.learners.ConvexConcave` descends on it; that is expectation maximization, whose expectations are
    means over perturbed labelings. The weight c is learned, or fixed by the base of the model.

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

    samples: int = 20
    noise: str = "logistic"
    random_state: int | np.random.Generator | None = 0

    name: ClassVar[str] = "hidden_likelihood"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bound", PerturbedLikelihood(self.samples, self.noise, self.random_state))

    def on(self, batch: Any) -> Evaluator:
        as_kind(batch, "batch", Energies, EXAMPLE)
        if not all(isinstance(each[-1], Modular) for each in batch.terms) or batch.target.any():
            raise Refusal(
                f"HiddenLikelihood refuses these Energies: they hold no observations. Use {EXAMPLE}.", LIKELIHOOD
            )
        bound: PerturbedLikelihood = self.__dict__["_bound"]
        with_labels = bound.on(batch)
        return Difference(_Unobserved(with_labels, batch), with_labels)


@final
class _Unobserved(Evaluator):
    """``A(t) + sum_d log(1 + exp(c q_d))``: the observations do not act on the labels. Convex."""

    batch: Energies

    def __init__(self, bound: Evaluator, batch: Energies) -> None:
        self.bound, self.batch, self.floor = bound, batch, 0.0
        self._observed = [-each[-1].slopes for each in batch.terms if isinstance(each[-1], Modular)]

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

    def take(self, parts: Ints) -> "_Unobserved":
        return _Unobserved(self.bound.take(parts), self.batch.take(parts))

    def redrawn(self, seed: int) -> "_Unobserved":
        return _Unobserved(self.bound.redrawn(seed), self.batch)

    def __repr__(self) -> str:
        return f"{self.bound!r} without observations"
