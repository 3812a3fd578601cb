"""Margin rescaling adds loss and score, slack rescaling multiplies them (LH Eq. 21 and 22); and the hinge of MLSP.

Scores are divided by a scale before they are compared with a loss. The evaluators are support functions.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values, as_areas, as_choice, as_kind, as_number, as_vector, shown
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer, check_inference
from setwise.core.loss import Loss
from setwise.core.pages import HINGE_OF_LABELS, PLACES_REFUSE, WHICH_SURROGATE
from setwise.core.rankings import Rankings
from setwise.core.single_labels import Flips
from setwise.core.surrogate import Difference, Evaluation, Evaluator, PiecedEvaluator, Surrogate
from setwise.core.terms import LargestCost, OneMistake
from setwise.inference.auto import Auto
from setwise.inference.independent_decisions import ByLargest
from setwise.inference.reductions import CachedMaximizer
from setwise.losses import as_loss
from setwise.surrogates.pieces.bins import bound_of_counts
from setwise.surrogates.pieces.lovasz import of_large_set, roc_area_in_pieces
from setwise.surrogates.pieces.margins import CountSearchInPieces


@final
class Support(Evaluator):
    """``max_y l(y) + <s, phi(y) - target> / g``, with the gradient ``(phi(yhat) - target) / g``. Convex.

    This is margin rescaling (LH Eq. 21 with g = 1), a maximum of affine functions of the scores. The value is exact
    where the maximizer is.

    Parameters
    ----------
    maximizer : a method of inference that is bound to l, without slack rescaling
    scale : the number g > 0, or one such number for each set, (n,)

    Raises
    ------
    TypeError : for anything but a maximizer, or a scale that is no number
    ValueError : for a maximizer with slack rescaling, and a scale that is not above 0 or has a different shape

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Auto
    >>> from setwise.losses import Hamming
    >>> from setwise.surrogates import Support
    >>> evaluator = Support(Auto().prepare(Hamming().bind(Sets.single([1, 0]))), scale=2.0)
    >>> found = evaluator([1.0, 1.0])  # both labels wrong: 2 - 1/2 + 1/2
    >>> print(found.values, found.gradient)
    [2.] [-0.5  0.5]
    """

    def __init__(self, maximizer: Maximizer, scale: float | Values = 1.0) -> None:
        as_kind(maximizer, "maximizer", Maximizer, "Auto().prepare(bound_loss)")
        if maximizer.slack:
            raise ValueError(f"maximizer must be prepared without slack; got one of {maximizer.bound_loss!r} with it.")
        self.maximizer, self.batch = maximizer, maximizer.bound_loss.batch
        self.scale = scale if isinstance(scale, float) and 0.0 < scale < np.inf else self._scale(scale)
        # The target is a mean of labelings. Their losses are at least 0 and their scores relative to it are 0 on
        # average, so one of them has a sum of at least 0.
        self.floor = 0.0
        # Scores are divided in their own precision, so the scale is stored in both. A scale of 1 divides nothing.
        self._scales: dict[Any, Floats] = {}
        if not (isinstance(self.scale, float) and self.scale == 1.0):
            # One number serves all scores; a number for each set is repeated for the scores of the set.
            each = np.atleast_1d(self.scale)
            per_score = each if len(each) == 1 else np.repeat(each, np.diff(self.batch.score_offsets))
            self._scales = {np.dtype(kind): per_score.astype(kind) for kind in (np.float32, np.float64)}

    def _scale(self, scale: object) -> float | Values:
        """The scale, checked, where it is not a positive float already."""
        if np.ndim(scale) == 0:  # type: ignore[arg-type]
            return as_number(scale, "scale", low=0.0, open_low=True)
        return as_areas(as_vector(scale, len(self.batch), "scale"), "scale")

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        scale = self._scales.get(scores.dtype)
        found = self.maximizer.solve(scores if scale is None else scores / scale, tol)
        # A maximum has the gradient of the affine function that attains it.
        gradient = self.batch.away(found.labels, scores.dtype)
        if scale is not None:
            gradient = np.divide(gradient, scale, out=gradient)
        return Evaluation(found.values, gradient, found.bounds, found.exact)

    def take(self, parts: Ints) -> "Support":
        scale = self.scale if isinstance(self.scale, float) else self.scale[parts]
        return Support(self.maximizer.take(parts), scale)

    def __repr__(self) -> str:
        return f"margin rescaling of {self.maximizer.bound_loss!r}"


@final
class Slack(Evaluator):
    """``max_y l(y) (1 + <s, phi(y) - target>)``, with the gradient ``l(yhat) (phi(yhat) - target)``. Convex.

    This is slack rescaling (LH Eq. 22).

    Parameters
    ----------
    maximizer : a method of inference that is bound to l, with slack rescaling

    Raises
    ------
    TypeError : for anything but a maximizer
    ValueError : for a maximizer without slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Auto
    >>> from setwise.losses import ZeroOne
    >>> from setwise.surrogates import Slack
    >>> bound_loss = (3.0 * ZeroOne()).bind(Sets.single([1, 0]))
    >>> found = Slack(Auto().prepare(bound_loss, slack=True))([2.0, 0.5])
    >>> print(found.values, found.gradient)  # the negative alone is wrong: 3 (1 + 0.5)
    [4.5] [0. 3.]
    """

    def __init__(self, maximizer: Maximizer) -> None:
        as_kind(maximizer, "maximizer", Maximizer, "Auto().prepare(bound_loss, slack=True)")
        if not maximizer.slack:
            raise ValueError(
                f"maximizer must be prepared with slack=True; got one of {maximizer.bound_loss!r} without."
            )
        self.maximizer, self.batch = maximizer, maximizer.bound_loss.batch
        # The truth has the score of the target and a loss of at least 0, so the maximum is at least 0.
        self.floor = 0.0

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        found = self.maximizer.solve(scores, tol)
        # The loss of the labeling that inference found is the factor of its gradient.
        weight = np.repeat(self.maximizer.bound_loss.values(found.labels), np.diff(self.batch.score_offsets))
        gradient = (weight * self.batch.away(found.labels)).astype(scores.dtype)
        return Evaluation(found.values, gradient, found.bounds, found.exact)

    def take(self, parts: Ints) -> "Slack":
        return Slack(self.maximizer.take(parts))

    def __repr__(self) -> str:
        return f"slack rescaling of {self.maximizer.bound_loss!r}"


@final
@dataclass(frozen=True, eq=False)
class SlackRescaling(Surrogate):
    """``max_y loss(y) (1 + <s, phi(y) - phi(truth)>)``, with phi(y) = y for 0/1 labels (LH Eq. 22).

    The surrogate is convex, and never below the loss of what the scores predict. It is an extension exactly of the
    increasing losses (LH Prop. 1). The table of :class:`setwise.inference.Auto` says for which losses the maximum is
    exact. For the others ``exact`` is False, and ``upper`` is a true upper bound.

    Parameters
    ----------
    loss : any loss of labels, or the name of one
    inference : None chooses by the loss; an object forces one

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text, and for anything but an inference
    ValueError : for a name that no loss has
    Refusal : from :meth:`on`, for losses of a ranking or of a given number predicted, for labels that are not known,
        and where the inference does not fit the loss and the batch

    Examples
    --------
    >>> from setwise.surrogates import SlackRescaling
    >>> found = SlackRescaling("jaccard")([1, 0], [2.0, 0.5])  # the worst labeling is (1, 1): 1/2 (1 + 0.5)
    >>> print(found.value, found.gradient)
    0.75 [0.  0.5]
    """

    loss: Loss
    inference: Inference | None = None

    name: ClassVar[str] = "slack"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        check_inference(self.inference)

    def on(self, batch: Batch) -> Evaluator:
        bound_loss = self.loss.bind(batch)
        # A loss that is bound to another batch has labelings or a target of its own.
        if bound_loss.batch is not batch:
            ranks = isinstance(bound_loss.batch, Rankings)
            why = "it ranks, and has no set of mistakes" if ranks else "the truth is not one of the labelings it takes"
            raise Refusal(f"SlackRescaling refuses {self.loss!r}: {why}. Use surrogate='margin'.", WHICH_SURROGATE)
        if batch.known is not None:
            why = "unknown labels: their scores would multiply the loss"
            raise Refusal(f"SlackRescaling refuses {why}. Use surrogate='margin'.", WHICH_SURROGATE)
        return Slack((self.inference or Auto()).prepare(bound_loss, slack=True))


def check_scale(scale: object) -> None:
    """Refuse what is neither a number above 0 nor the word ``"size"``."""
    if not isinstance(scale, str):
        as_number(scale, "scale", low=0.0, open_low=True)
    elif scale != "size":
        raise ValueError(f"scale must be a number above 0 or 'size'; got {shown(scale)}.")


def scale_for(scale: float | str, batch: Batch) -> float | Values:
    """The number g, or one for each set, (n,): with ``"size"`` its number of decisions, and 1 for rankings."""
    if not isinstance(scale, str):
        return float(scale)
    return 1.0 if isinstance(batch, Rankings) else batch.sizes.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ScaledSurrogate(Surrogate):
    """A surrogate by the maximum of a loss and of scores that are divided by a scale."""

    loss: Loss
    inference: Inference | None = None
    scale: float | str = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        check_inference(self.inference)
        check_scale(self.scale)


@final
@dataclass(frozen=True, eq=False)
class MarginRescaling(ScaledSurrogate):
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
    inference : None chooses by the loss; an object forces one, e.g. ``GreedySearch()`` as in LH 6.1
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

    name: ClassVar[str] = "margin"

    def on(self, batch: Batch) -> Evaluator:
        bound_loss = self.loss.bind(batch)
        method, scale = self.inference or Auto(), scale_for(self.scale, bound_loss.batch)
        worst = Support(method.prepare(bound_loss), scale)
        # If all labels are known, labelings are compared with the truth, and no second maximum is needed.
        if batch.known is None:
            return of_large_set(self, batch, worst)
        # The first maximum goes over all labelings, those without a loss included, so the difference is at least 0.
        return Difference(worst, Support(_completions(method, bound_loss.zero()), scale), floor=0.0)

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


def _completions(method: Inference, least: BoundLoss) -> Maximizer:
    """The maximization over the labelings of least loss, which keeps completions that are not certified."""
    found = (Auto() if method.refuses(least) else method).prepare(least)
    return CachedMaximizer(found) if found.method.approximate else found


Rescaling = Literal["slack", "margin"]


@final
@dataclass(frozen=True, eq=False)
class MultilabelHinge(Surrogate):
    """``max_i costs_i (1 - v_i s_i)``, not below 0, for labels v_i of -1 and 1 (MLSP Eq. 6); or Eq. 7.

    That is slack rescaling of the max loss, over the labelings that differ from the truth in one label at most. It is
    not below the max loss, and not above slack or margin rescaling over all labelings. On labels that are too many to
    list, as those of :class:`setwise.spaces.sequences.Sequences`, inference searches for the worst one.

    Parameters
    ----------
    loss : a :class:`setwise.losses.MaxLoss`
    rescaling : ``"slack"``; or ``"margin"`` for ``max_i costs_i - v_i s_i``, which agrees where all costs are 1

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text
    ValueError : for a name that no loss has, and another rescaling
    Refusal : from :meth:`on`, for losses that single mistakes do not bound, as all but ``MaxLoss``

    Examples
    --------
    >>> from setwise.losses import MaxLoss
    >>> from setwise.surrogates import MultilabelHinge
    >>> found = MultilabelHinge(MaxLoss([1.0, 1.0, 3.0]))([1, 0, 0], [0.5, -2.0, -0.5])
    >>> print(found.value, found.gradient)  # the third label is the worst one: 3 (1 - 0.5)
    1.5 [0. 0. 3.]
    """

    loss: Loss
    rescaling: Rescaling = "slack"

    name: ClassVar[str] = "multilabel_hinge"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        as_choice(self.rescaling, "rescaling", ("slack", "margin"))

    def on(self, batch: Batch) -> Evaluator:
        bound_loss, slack = self.loss.bind(batch), self.rescaling == "slack"
        if isinstance(batch, Flips):
            maximizer = Auto().prepare(bound_loss, slack=slack)
        elif bound_loss.terms and all(isinstance(term, LargestCost) for term in bound_loss.terms):
            single = BoundLoss(bound_loss.batch, (*bound_loss.terms, OneMistake()), self.loss)
            maximizer = ByLargest().prepare(single, slack=slack)
        else:
            raise Refusal(
                f"MultilabelHinge refuses {self.loss!r}: single mistakes do not bound it. Use MaxLoss, or "
                "surrogate='margin'.",
                HINGE_OF_LABELS,
            )
        return Slack(maximizer) if slack else Support(maximizer)
