"""The ramp: margin rescaling, compared with the labeling that is predicted instead of the truth."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Inference, Maximizer
from setwise.core.single_labels import FlipCosts, Flips
from setwise.core.surrogate import Difference, Evaluation, Evaluator, PiecedEvaluator
from setwise.inference.auto import Auto
from setwise.surrogates.pieces.lovasz import of_large_set
from setwise.surrogates.pieces.margins import RampInPieces
from setwise.surrogates.rescaling import MarginRescaling, ScaledSurrogate, Slack, Support, scale_for


@final
@dataclass(frozen=True, eq=False)
class Ramp(ScaledSurrogate):
    """``max_y [loss(y) + <s, phi(y)> / g] - max_y <s, phi(y)> / g`` (Do, Le, Teo, Chapelle and Smola 2008).

    The ramp lies between the loss and margin rescaling: ``loss(yhat) <= ramp <= margin rescaling`` for every labeling
    yhat of largest score. So no labeling is predicted whose loss is above the ramp, not even the empty one.
    The ramp is not convex: it is a difference of two convex functions. :class:`setwise.learners.ConvexConcaveProcedure`
    and :class:`setwise.learners.NRBM` descend on it, and their result depends on the start: begin at logistic
    regression, for example. At scores of exactly 0 many labelings attain the maxima, and the gradient is that of a
    point next to them, on the side of the truth.

    Both maxima go over the labelings that the loss allows: all of them, those with k predicted positives, or rankings.
    Decisions with unknown labels follow their scores in both, and cancel. Where a maximum is only bounded, ``upper`` of
    the evaluation is the bound of the first maximum minus the value of the second, which is exact in general.

    Parameters
    ----------
    loss : any loss, or the name of one
    inference : None chooses by the loss; an object forces one for the first maximum, and for the second if its
        labelings are not independent decisions
    scale : g > 0, or ``"size"`` for the number of decisions of each set, as in
        :class:`setwise.surrogates.MarginRescaling`. The smaller the scores are against the loss, the smoother the ramp
        is; with large scores it comes close to the loss itself, which is flat

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text, and for anything but an inference
    ValueError : for a name that no loss has, and a scale that is neither above 0 nor ``"size"``
    Refusal : from :meth:`on`, where the inference does not fit the loss and the batch

    Examples
    --------
    >>> from setwise.surrogates import MarginRescaling, Ramp
    >>> y, far = [1, 0], [-9.0, -1.0]  # a positive far on the wrong side
    >>> Ramp("jaccard")(y, far).value, MarginRescaling("jaccard")(y, far).value
    (1.0, 10.0)
    """

    name: ClassVar[str] = "ramp"

    def on(self, batch: Batch) -> Evaluator:
        bound_loss = self.loss.bind(batch)
        if isinstance(batch, Flips) and all(isinstance(t, FlipCosts) and t.binary for t in bound_loss.terms):
            return _of_single_labels(bound_loss)
        method, scale = self.inference or Auto(), scale_for(self.scale, bound_loss.batch)
        margin = MarginRescaling(self.loss, self.inference, self.scale)
        worst = of_large_set(margin, batch, Support(method.prepare(bound_loss), scale))
        best = Support(_predictor(method, bound_loss.allowed()), scale)
        # The first maximum goes over the predicted labeling too, whose loss is at least 0.
        return Difference(worst, best, floor=0.0, nudge=_toward_truth(bound_loss.batch, scale))

    def in_pieces(self, negatives: int, positives: int) -> PiecedEvaluator:
        worst = MarginRescaling(self.loss, self.inference, self.scale).in_pieces(negatives, positives)
        scale = float(negatives + positives) if self.scale == "size" else float(self.scale)
        return RampInPieces(worst, scale, NUDGE * scale / max(negatives + positives, 1))


def _of_single_labels(bound_loss: BoundLoss) -> Evaluator:
    """``min(hinge, cost)``, the ramp over single labels that cost the same; others cost nothing and have no effect.

    Over labels of equal cost the hinge is the cost times 1 + m with the margin m of the worst one, and the score of the
    prediction exceeds that of the truth by the cost times m.
    """
    hinge = Slack(Auto().prepare(bound_loss, slack=True))
    cost = sum(term.factor for term in bound_loss.terms if isinstance(term, FlipCosts))
    return Difference(hinge, _ClippedDifference(hinge, cost), floor=0.0)


@final
class _ClippedDifference(Evaluator):
    """``max(0, inner - cost)``, which is convex where ``inner`` is."""

    def __init__(self, inner: Evaluator, cost: float) -> None:
        self.inner, self.batch, self.cost, self.floor = inner, inner.batch, cost, 0.0

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        found = self.inner.evaluate(scores, tol)
        values, upper = (np.maximum(part - self.cost, 0.0) for part in (found.values, found.upper))
        above = np.repeat(found.values > self.cost, np.diff(self.batch.score_offsets))
        return Evaluation(values, np.where(above, found.gradient, 0.0).astype(scores.dtype), upper, found.exact)

    def take(self, parts: Ints) -> "_ClippedDifference":
        return _ClippedDifference(self.inner.take(parts), self.cost)

    def __repr__(self) -> str:
        return f"the excess of {self.inner!r} over {self.cost:g}"


NUDGE = 1e-7
"""All scores of 0 of a set together are moved so far, in units of the scale, before gradients are taken."""


def _toward_truth(batch: Batch, scale: float | Values) -> Values | None:
    """A small score of the right sign for each decision that is known, of sets; None for other batches."""
    if not isinstance(batch, Sets):
        return None
    known = True if batch.known is None else batch.known
    sizes = np.diff(batch.offsets)
    size = np.repeat(np.broadcast_to(NUDGE * np.asarray(scale), len(batch)) / sizes, sizes)
    return np.where(known, np.where(batch.truth, size, -size), 0.0)


def _predictor(method: Inference, allowed: BoundLoss) -> Maximizer:
    """The maximization of the score alone; for independent decisions it is exact, whatever the method is."""
    auto = Auto()
    return (method if auto.refuses(allowed) else auto).prepare(allowed)
