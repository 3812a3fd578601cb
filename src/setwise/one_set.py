"""Inference for one set: the labeling that maximizes loss and score together, and max-marginals."""

from typing import Any

from numpy.typing import ArrayLike, NDArray

from setwise.core.batch import Batch, Classes, Sets
from setwise.core.checks import Values, as_areas, as_array, as_count, as_flag, as_scores
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer, Solution, check_inference
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.core.pages import ONE_SET
from setwise.inference import Auto
from setwise.losses import as_loss
from setwise.losses.combinations import AreaWeightedLoss


def loss_augmented_inference(
    loss: Loss | str,
    y: ArrayLike,
    scores: ArrayLike,
    weights: ArrayLike | None = None,
    slack: bool = False,
    inference: Inference | None = None,
) -> Solution:
    """``max over yhat of loss(y, yhat) + <scores, yhat>``; with ``slack`` ``loss(y, yhat) (1 + <scores, yhat - y>)``.

    For a loss of k classes, as ``MeanOverClasses("jaccard")``, the score of a labeling is ``sum_i scores[i, yhat_i]``.
    :class:`setwise.inference.Auto` chooses the method; for Jaccard and F_beta it takes O(p log p). If the method misses
    the maximum or cannot prove it, the answer has ``exact`` False, and ``bound`` is a true upper bound.

    The maximum without ``slack`` is that of margin rescaling (LH Eq. 21), with it that of slack rescaling (LH Eq. 22).

    Parameters
    ----------
    loss : any loss of labels, or the name of one
    y : (p,) in 0/1, or in 0..k-1
    scores : (p,) finite, or (p, k)
    weights : (p,) areas of the decisions, above 0, which replace counts (DD 4.1). Only quotients of counts take them
    slack : whether the loss multiplies the score, as in slack rescaling
    inference : None chooses by the loss; an object forces one

    Returns
    -------
    Solution
        The labels (p,), the value, an upper bound of the maximum, whether both are equal, and the method in words

    Raises
    ------
    Refusal : a ValueError for losses of a ranking, weights of other losses, and methods that do not take the loss
    ValueError : for labels, scores and weights that do not fit together, and names of no loss
    TypeError : for a loss, a method or a flag of another kind

    Examples
    --------
    One positive of three: predicting the second decision too costs 1/2 in Jaccard and adds 0.2 to the score.

    >>> from setwise import loss_augmented_inference
    >>> found = loss_augmented_inference("jaccard", [1, 0, 0], [0.5, 0.2, -2.0])
    >>> found.labels.astype(int).tolist(), round(found.value, 2), found.exact
    ([1, 1, 0], 1.2, True)
    >>> round(0.5 + 0.5 + 0.2, 2)
    1.2
    """
    maximizer, s, base = _prepare(as_loss(loss), y, scores, weights, slack, inference)
    found = maximizer.maximize(s)
    # A maximizer works relative to the target, whose score is added to its values.
    shift = 0.0 if slack else float(base[0])
    return Solution(
        labels=found.labels,
        value=float(found.values[0]) + shift,
        bound=float(found.bounds[0]) + shift,
        exact=bool(found.exact[0]),
        status=f"{type(maximizer.method).__name__}: {'exact' if found.exact[0] else 'bounded'}",
    )


def max_marginals(loss: Loss | str, y: ArrayLike, scores: ArrayLike, inference: Inference | None = None) -> Any:
    """``M[i, v] = max over yhat with yhat_i = v of loss(y, yhat) + <scores, yhat>`` for all i, (p, 2) or (p, k).

    The message of HOL from the loss to decision i (Eq. 4) leaves out the score of the decision itself:
    ``M[i, v] - scores[i] v``. For Jaccard and other quotients of counts all entries take O(p) after a sort, see
    :class:`setwise.inference.CountSearch`. A loss without such a structure takes one maximization for each entry. An
    entry that no allowed labeling has is -inf.

    Parameters
    ----------
    loss : any loss of labels, or the name of one
    y : (p,) in 0/1, or in 0..k-1
    scores : (p,) finite, or (p, k)
    inference : None chooses by the loss; an object forces one

    Returns
    -------
    M : (p, 2) or (p, k), the max-marginals

    Raises
    ------
    Refusal : a ValueError for losses of a ranking, and methods that do not take the loss
    ValueError : for labels and scores that do not fit together, and names of no loss
    TypeError : for a loss or a method of another kind

    Examples
    --------
    With the first decision at 0, a mistake, the best second one is 1: no mistake, and the score 2.

    >>> from setwise import max_marginals
    >>> max_marginals("hamming", [1, 1], [0.5, 2.0]).tolist()
    [[3.0, 2.5], [2.0, 3.0]]
    """
    maximizer, s, base = _prepare(as_loss(loss), y, scores, None, False, inference)
    return maximizer.max_marginals(s, base)


def _prepare(
    loss: Loss, y: ArrayLike, scores: ArrayLike, weights: ArrayLike | None, slack: bool, inference: Inference | None
) -> tuple[Maximizer, NDArray[Any], Values]:
    """The method bound to the set, the flat scores, and the score of the target, (1,)."""
    check_inference(inference)
    as_flag(slack, "slack")
    if loss.reads == "scores" and not isinstance(loss, CountLoss):
        raise Refusal(f"inference for one set refuses {loss!r}: it reads a ranking. Use MarginRescaling.", ONE_SET)
    s = as_array(scores, "scores")
    # The shape of the scores says how many labels a decision has.
    if s.ndim == 2:
        batch: Batch = Classes.single(y, as_count(s.shape[1], "the number of columns of scores", low=2), "y")
        if len(s) != batch.total:
            raise ValueError(f"scores must have {batch.total} rows, one for each label in y; got shape {s.shape}.")
        s = s.ravel()
    else:
        batch = Sets.single(y, "y")
    if weights is not None:
        loss = _by_area(loss, as_areas(weights, "weights"))
    bound_loss = loss.bind(batch)
    maximizer = (inference or Auto()).prepare(bound_loss, slack)
    # A loss may have bound itself to a batch of its own, so the bound loss says how many scores there are.
    flat = as_scores(s, bound_loss.batch.n_scores)
    return maximizer, flat, bound_loss.batch.at_target(flat)


def _by_area(loss: Loss, areas: Values) -> Loss:
    """The loss, or each loss of a sum, of areas instead of counts."""
    if isinstance(loss, Combination):
        return Combination.of([(factor, _by_area(part, areas)) for factor, part in loss.parts])
    if not isinstance(loss, CountLoss):
        raise Refusal(
            f"weights refuse {loss!r}: it is not a quotient of counts. Give the loss its own weights.", ONE_SET
        )
    return AreaWeightedLoss(loss, areas)
