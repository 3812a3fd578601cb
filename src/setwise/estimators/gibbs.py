"""The generalization bound of maximum-margin multi-label prediction, with its terms."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Values, as_flag, as_kind, as_number
from setwise.core.exceptions import Refusal
from setwise.core.pages import NEW_ROWS
from setwise.estimators.label_predictor import LinearLabelPredictor
from setwise.losses import MaxLoss
from setwise.losses.label_sets import bound_costs


@final
@dataclass(frozen=True)
class GibbsBound:
    """``value = margin_loss + tail + deviation``, a bound of the expected max loss of random weights.

    Attributes
    ----------
    margin_loss : ``(1 / n) sum_i max_y lambda(Y_i, y) [v_y a f(x_i, y) < 1]``
    tail : ``Lambda t / n``, for ``t = |a w|^2``; with the margin loss it bounds the training loss of the random weights
    deviation : ``Lambda sqrt((s^2 t ln(r n / t) + ln(n / sigma)) / (2 (n - 1)))``; nan where t is r n or more
    scale : a, by which the weights w were multiplied
    center : the random weights are N(center w, I), for ``a sqrt(2 s^2 ln(r n / t))``; nan where t is r n or more
    squared_norm : t
    length, labels, rows, largest, sigma : s, r, n, Lambda and sigma

    Examples
    --------
    >>> from setwise import MultilabelStructuredPredictor, gibbs_bound
    >>> from setwise.spaces import FiniteSpace
    >>> X, Y = [[-1.0], [1.0]], [[], ["warm"]]
    >>> bound = gibbs_bound(MultilabelStructuredPredictor(FiniteSpace(["warm"])).fit(X, Y), X, Y)
    >>> bound.rows, bound.vacuous  # two rows prove nothing
    (2, True)
    """

    margin_loss: float
    tail: float
    deviation: float
    scale: float
    center: float
    squared_norm: float
    length: float
    labels: int
    rows: int
    largest: float
    sigma: float

    @property
    def value(self) -> float:
        """The bound; inf where the theorem says nothing, because t is r n or more."""
        total = self.margin_loss + self.tail + self.deviation
        return float("inf") if np.isnan(total) else total

    @property
    def vacuous(self) -> bool:
        """Whether the bound is at least Lambda, which no loss exceeds."""
        return not self.value < self.largest


def gibbs_bound(
    model: LinearLabelPredictor, X: Any, Y: Any, sigma: float = 0.05, largest: float | None = None, rescale: bool = True
) -> GibbsBound:
    """``l + Lambda (t / n + sqrt((s^2 t ln(r n / t) + ln(n / sigma)) / (2 (n - 1))))``, Theorem 1 of MLSP.

    With a probability of at least 1 - sigma over the n training rows, for all weights w at once, it is not below the
    expected max loss of weights drawn from N(mu a w, I) for new rows, where ``t = |a w|^2`` and
    ``mu^2 = 2 s^2 ln(r n / t)``.
    l is the share of rows with a label of margin below 1, each times the largest cost of such a label
    (:class:`GibbsBound`). It says nothing of the weights w themselves, whose predictions are those of the mean.

    A positive scale a leaves the predictions as they are, so the least bound over all a is given. As a grows, l falls
    in steps, at the reciprocals of the margins. The rest is concave in t, so the least bound is at such a step, or at
    a = 0.

    Three notes on Eq. 9 of the paper. It lacks the factor Lambda, and without it fails for Lambda above 1: costs that
    are doubled double the loss. Its s need be no more than the longest feature vector of the training rows: only their
    scores are compared with the noise, and the rest of the proof holds for all distributions of weights at once. And
    half of t / n would do, for a normal variable is above its mean by z or more with a probability of at most
    exp(-z^2 / 2) / 2; the printed term is kept.

    Parameters
    ----------
    model : a fitted linear predictor of sets of labels whose loss is a MaxLoss, with any weights
    X, Y : the training rows (n, d), two or more, and their sets of labels: n collections of labels, or (n, p) of 0
        and 1
    sigma : the probability that the bound fails, above 0 and below 1
    largest : Lambda, which no cost exceeds for any set; None takes the largest one where costs do not depend on the set
    rescale : False keeps a = 1

    Returns
    -------
    GibbsBound
        The bound and its terms; :attr:`GibbsBound.vacuous` says whether it promises nothing

    Raises
    ------
    Refusal : a ValueError for a kernel and for a loss that is no max loss
    ValueError : for rows and sets that do not fit together, fewer than two rows, and numbers out of range
    TypeError : for a model of another kind
    NotFittedError : for a model that was not fitted

    Examples
    --------
    >>> from setwise import MultilabelStructuredPredictor, gibbs_bound
    >>> from setwise.spaces import FiniteSpace
    >>> X = np.sign(np.random.default_rng(0).standard_normal((2000, 1)))
    >>> Y = [["warm"] if x > 0 else [] for x in X[:, 0]]
    >>> bound = gibbs_bound(MultilabelStructuredPredictor(FiniteSpace(["warm"])).fit(X, Y), X, Y)
    >>> bound.margin_loss, round(bound.value, 2)
    (0.0, 0.08)
    """
    as_kind(model, "model", LinearLabelPredictor, "MultilabelStructuredPredictor(space).fit(X, Y)")
    sigma = as_number(sigma, "sigma", low=0.0, high=1.0, open_low=True, open_high=True)
    as_flag(rescale, "rescale")
    model._refuse_legal_sets("gibbs_bound")
    scores = model.decision_function(X)
    if model._model.basis is not None:
        raise Refusal(
            f"gibbs_bound refuses kernel={model.kernel!r}: its features are chosen by the training rows, and the bound "
            "is one of features that are fixed before. Use kernel='linear'.",
            NEW_ROWS,
        )
    features = model._features(X)
    truth = model._truth(Y, len(scores))
    if len(truth) < 2:
        raise ValueError(f"X must hold two rows or more; got {len(truth)}.")
    if not isinstance(model.loss_, MaxLoss):
        raise Refusal(
            f"gibbs_bound refuses {model.loss_!r}: the bound is one of the max loss. Train with MaxLoss.", NEW_ROWS
        )
    costs = bound_costs(model.loss_.costs, Sets.rows(truth)).reshape(truth.shape)
    found = _largest(largest, model.loss_, costs)
    square, length = float(model._weights @ model._weights), float(features.row_lengths.max())
    problem = _BoundOfMargin(np.where(truth, scores, -scores), costs, square, length, found, sigma)
    return problem.at(problem.best() if rescale else 1.0)


def _largest(given: float | None, loss: MaxLoss, costs: Values) -> float:
    """Lambda, which must be known for all sets, those that no training row has included."""
    if given is not None:
        found = as_number(given, "largest", low=0.0)
        if costs.max() > found:
            raise ValueError(f"largest must be at least the largest cost, {costs.max():.6g}; got {found:.6g}.")
        return found
    if callable(loss.costs):
        raise ValueError("largest must be given where costs depend on the set; got None.")
    return float(costs.max())


@final
@dataclass(frozen=True, eq=False)
class _BoundOfMargin:
    """The bound as a function of the least margin that counts as one, 1 / a.

    Attributes
    ----------
    margins, costs : (n, p) ``v_y f(x_i, y)`` and ``lambda(Y_i, y)``
    square, length, largest, sigma : |w|^2, s, Lambda and sigma
    """

    margins: Values
    costs: Values
    square: float
    length: float
    largest: float
    sigma: float

    def best(self) -> float:
        """The margin 1 / a of least bound; inf for a = 0."""
        n, order = len(self.margins), np.argsort(self.margins, axis=1)
        m = np.take_along_axis(self.margins, order, axis=1)
        worst = np.maximum.accumulate(np.take_along_axis(self.costs, order, axis=1), axis=1)
        # Once the label of a row that has the k-th margin is right by 1, the k - 1 labels before it are left.
        drops = np.diff(worst, axis=1, prepend=0.0)
        steps, places = np.unique(-m[m > 0.0], return_inverse=True)
        fallen = np.cumsum(np.bincount(places, drops[m > 0.0], minlength=len(steps)))
        losses = np.append(worst[:, -1].sum(), worst[:, -1].sum() - fallen) / n
        thresholds = np.append(np.inf, -steps)
        return float(thresholds[np.nanargmin(losses + sum(self.rest(thresholds)))])

    def rest(self, threshold: Any) -> tuple[Any, Any]:
        """The tail and the deviation."""
        n, p = self.margins.shape
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            t = self.square / np.square(threshold)
            inside = t < p * n
            entropy = np.where(t > 0.0, t * np.log(p * n / np.where(inside & (t > 0.0), t, 1.0)), 0.0)
            deviation = np.sqrt((self.length**2 * entropy + np.log(n / self.sigma)) / (2 * (n - 1)))
        return self.largest * t / n, self.largest * np.where(inside, deviation, np.nan)

    def at(self, threshold: float) -> GibbsBound:
        """The bound at one scale."""
        n, p = self.margins.shape
        tail, deviation = (float(term) for term in self.rest(threshold))
        scale, t = 1.0 / threshold, self.square / threshold**2
        loss = float(np.where(self.margins < threshold, self.costs, 0.0).max(axis=1).mean())
        center = 0.0 if t == 0.0 else np.nan
        if 0.0 < t < p * n:
            center = scale * self.length * np.sqrt(2.0 * np.log(p * n / t))
        terms = (loss, tail, deviation, scale, float(center), t)
        return GibbsBound(*terms, self.length, p, n, self.largest, self.sigma)
