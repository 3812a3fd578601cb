"""Where a fit of rows in several places starts: logistic regression with the best threshold for the loss."""

from contextlib import suppress
from typing import final

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.checks import Bools, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.risk import Risk
from setwise.estimators.placed.threshold import best_threshold_of
from setwise.estimators.set_training import refuse_tiny, scaled
from setwise.models import RowBlock
from setwise.risks.distributed_risk import tree_sum
from setwise.risks.places import Kept, Places

STEPS = 100
"""The most steps of logistic regression: it is a start, and no more, so it need not converge."""


@final
class PlacedLogistic:
    """``sum log(1 + exp(-t f(x))) + 0.5 |coef|^2`` over scaled features, as weights for features that are not scaled.

    It is minimized by L-BFGS; each step is one pass over the rows at all places.

    Parameters
    ----------
    places, rows, truth : the :class:`~setwise.models.RowBlock` and the labels of each place
    intercept : the value of the constant feature, 0 for none

    Attributes
    ----------
    w : (d,) the best weights so far, with that of the constant feature last; None before the first step
    """

    def __init__(self, places: Places, rows: Kept, truth: Kept, intercept: float) -> None:
        self.places, self.rows, self.truth, self.intercept = places, rows, truth, intercept
        self.w: Values | None = None

    def fit(self) -> None:
        """Find the weights."""
        self.mean, self.scale = self._moments()

        def step(scaled: Values) -> None:
            self.w = self._plain(scaled)

        begin = np.zeros(len(self.scale) + bool(self.intercept))
        found = minimize(self._objective, begin, jac=True, method="L-BFGS-B", callback=step, options={"maxiter": STEPS})
        self.w = self._plain(found.x)
        refuse_tiny(self.w, float(np.array(self.places.tell(RowBlock.extent, self.rows))[:, 0].max()))

    def _moments(self) -> tuple[Values, Values]:
        """The means and deviations by which features are scaled; without an intercept they are not centered."""
        sums = tree_sum(self.places.tell(RowBlock.moments, self.rows))
        n, first, second = sums[0], sums[1 : len(sums) // 2 + 1], sums[len(sums) // 2 + 1 :]
        # Rounding may make a variance negative; a constant feature keeps its size.
        spread = np.sqrt(np.maximum(second / n - (first / n) ** 2, 0.0))
        scale = np.where(spread > 1e-12 * np.sqrt(second / n), spread, 1.0)
        return first / n if self.intercept else np.zeros_like(first), scale

    def _plain(self, scaled: Values) -> Values:
        """The weights of features as they are."""
        coef = scaled[: len(self.scale)] / self.scale
        return np.append(coef, (scaled[-1] - coef @ self.mean) / self.intercept) if self.intercept else coef

    def _objective(self, scaled: Values) -> tuple[float, Values]:
        """The objective and its gradient."""
        parts = self.places.tell(_log_loss, self.rows, self.truth, self._plain(scaled))
        value, slope = float(tree_sum([part[0] for part in parts])), tree_sum([part[1] for part in parts])
        coef, d = scaled.copy(), len(self.scale)
        gradient = slope[:d] / self.scale
        if self.intercept:
            total = slope[-1] / self.intercept
            gradient, coef[-1] = np.append(gradient - total * self.mean / self.scale, total), 0.0
        return value + 0.5 * float(coef @ coef), gradient + coef

    def at_threshold(self, loss: Loss) -> tuple[Values, float]:
        """The weights of :meth:`fit` with the best threshold of all rows for the loss, and the mean size of the scores.

        Without a constant feature, and for losses whose threshold needs all scores in one place, it is 0.
        """
        assert self.w is not None
        w, scores = self.w.copy(), self.places.keep(RowBlock.scores, self.rows, self.w)
        shift = 0.0
        if self.intercept and loss.reads == "labels":
            with suppress(Refusal):
                best = best_threshold_of(self.places, scores, self.truth, loss).threshold
                ends = np.array(self.places.tell(_ends, scores))
                low, high = ends[:, 0].min(), ends[:, 1].max()
                # A threshold that predicts none or all is put beyond the scores by their spread.
                spread = max(high - low, 1.0)
                shift = float(np.clip(best, low - spread, high + spread))
            w[-1] -= shift / self.intercept
            self.w = w
        sizes = np.sum(self.places.tell(_sizes, scores, shift), axis=0)
        return w, float(sizes[0] / sizes[1])


def start_of(logistic: PlacedLogistic, risk: Risk, loss: Loss, kept: OpenCheckpoint | None) -> Values:
    """The weights of logistic regression at its best threshold, at a scale that suits the risk.

    A checkpoint keeps them when they are found. A start that was not finished begins anew, so that it ends with the
    same bits as one that was never interrupted: L-BFGS remembers more than its last step.
    """
    if kept is not None and "w" in kept.arrays:
        return kept.numbers("w", (risk.size,))
    logistic.fit()
    w = scaled(risk, *logistic.at_threshold(loss))
    if kept is not None:
        kept.put({"w": w})
        kept.write()
    return w


def _log_loss(rows: RowBlock, truth: Bools, w: Values) -> tuple[float, Values]:
    """The sum of the log-losses and its gradient by the weights."""
    signed = rows.scores(w) * (1 - 2.0 * truth)
    return float(np.logaddexp(0.0, signed).sum()), rows.pullback(expit(signed) * (1 - 2.0 * truth))


def _ends(scores: Values) -> tuple[float, float]:
    return (float(scores.min()), float(scores.max())) if len(scores) else (np.inf, -np.inf)


def _sizes(scores: Values, shift: float) -> tuple[float, int]:
    """The sum of the sizes of scores less a threshold, and how many there are."""
    return float(np.abs(scores - shift).sum()), len(scores)
