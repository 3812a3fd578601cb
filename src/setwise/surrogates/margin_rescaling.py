"""Margin rescaling: the loss of a labeling and its score relative to the truth are added (LH Eq. 21)."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.batch import Batch
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer, check_inference
from setwise.core.loss import Loss
from setwise.core.pages import PLACES_REFUSE
from setwise.core.structure import Structure
from setwise.core.surrogate import Difference, Evaluator, PiecedEvaluator, Surrogate
from setwise.inference.auto import Auto
from setwise.inference.reductions import Kept
from setwise.losses import as_loss
from setwise.surrogates.evaluators import Support
from setwise.surrogates.in_pieces.binding import bound_of_counts
from setwise.surrogates.in_pieces.large_set import of_large_set
from setwise.surrogates.in_pieces.margin import CountSearchInPieces
from setwise.surrogates.in_pieces.roc_area import roc_area_in_pieces
from setwise.surrogates.scale import check_scale, scale_for


@final
@dataclass(frozen=True, eq=False)
class MarginRescaling(Surrogate):
    """``max_y loss(y) + <s, phi(y) - phi(truth)> / g``, with phi(y) = y for 0/1 labels (LH Eq. 21, where g = 1).

    The surrogate is convex, and never below the loss of what the scores predict. It is an extension of the loss only
    for increasing losses and a scale g of at most :func:`setwise.surrogates.margin_scale` (LH Prop. 2). The table of
    :class:`setwise.inference.Auto` says for which losses the maximum is exact. For the others it is bounded, and
    ``upper`` of the evaluation is the bound.

    Some losses, as precision at k, are defined only for labelings with k predicted positives. For them the truth is
    replaced by the mean of the best of these labelings, in which a positive counts min(1, k / P) and a negative
    max(0, k - P) / N. If labels are unknown, the truth is replaced by the labeling of the largest score among those
    of least loss, its completion, and the surrogate is a difference of two maxima (HOL 4.1). A completion whose search
    is not exact is kept until one of larger score is found.

    Parameters
    ----------
    loss : any loss, or the name of one. A loss of a ranking is maximized over rankings; a swapped pair of a positive i
        and a negative j loses ``(s_i - s_j) / (P N g)``
    inference : None chooses by the loss; an object forces one, e.g. ``Greedy()`` as in LH 6.1
    scale : g > 0, or ``"size"`` for the number of decisions of each set. The scores of a large set add up while a loss
        like F1 stays below 1, so at g = 1 tiny scores would be enough. ``"size"`` compares the loss with the mean
        score, as SVM^perf does, whose C is the C of setwise divided by 100. For a loss of a ranking ``"size"`` is 1,
        because its score is a mean over pairs already

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text, and for anything but an inference
    ValueError : for a name that no loss has, and a scale that is neither above 0 nor ``"size"``
    Refusal : from :meth:`on`, where the inference does not fit the loss and the batch

    Examples
    --------
    >>> from setwise.surrogates import MarginRescaling
    >>> found = MarginRescaling("jaccard")([1, 0], [2.0, 0.5])  # the worst labeling is (1, 1): 1/2 + 0.5
    >>> print(found.value, found.gradient)
    1.0 [0. 1.]
    >>> print(MarginRescaling("jaccard", scale=2.0)([1, 0], [2.0, 0.5]).value)  # 1/2 + 0.5 / 2
    0.75
    """

    loss: Loss
    inference: Inference | None = None
    scale: float | str = 1.0

    name: ClassVar[str] = "margin"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        check_inference(self.inference)
        check_scale(self.scale)

    def on(self, batch: Batch) -> Evaluator:
        structure = self.loss.structure(batch)
        method, scale = self.inference or Auto(), scale_for(self.scale, structure.batch)
        worst = Support(method.prepare(structure), scale)
        # If all labels are known, labelings are compared with the truth, and no second maximum is needed.
        if batch.known is None:
            return of_large_set(self, batch, worst)
        # The first maximum goes over all labelings, those without a loss included, so the difference is at least 0.
        return Difference(worst, Support(_completions(method, structure.zero()), scale), floor=0.0)

    def in_pieces(self, negatives: int, positives: int) -> PiecedEvaluator:
        """The surrogate of one set in several places, for losses of counts and the ROC area: from histograms of scores.

        Raises
        ------
        Refusal : for losses that are no function of (fn, fp, P, N), or have no bound, and for a given inference
        """
        if self.inference is not None:
            raise Refusal(
                f"{self!r} refuses pieces of a set: its maximum is found from histograms. Leave inference out.",
                PLACES_REFUSE,
            )
        pairs = roc_area_in_pieces(
            self.loss, 1.0 if isinstance(self.scale, str) else float(self.scale), negatives, positives
        )
        if pairs is not None:
            return pairs
        scale = float(negatives + positives) if isinstance(self.scale, str) else float(self.scale)
        bound = bound_of_counts(self.loss, negatives, positives)
        return CountSearchInPieces(bound, negatives, positives, scale)


def _completions(method: Inference, least: Structure) -> Maximizer:
    """The maximization over the labelings of least loss, which keeps completions that are not certified."""
    found = (Auto() if method.refuses(least) else method).prepare(least)
    return Kept(found) if found.method.approximate else found
