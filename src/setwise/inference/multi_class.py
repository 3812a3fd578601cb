"""Loss-augmented inference where a decision has one of k labels (DD Algorithm 1)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.inference import Problem, Solution
from setwise.core.loss import Loss, Values
from setwise.core.ranking import RankLoss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.inference.default import default_inference

Labels = NDArray[np.int64]


def multi_class_inference(loss: Loss, y: ArrayLike, scores: ArrayLike, positive: int) -> Solution:
    """``max over yhat of loss([y = positive], [yhat = positive]) + sum_i scores[i, yhat_i]`` (DD Algorithm 1), O(pk)
    more.

    A decision that is not ``positive`` takes the best of its other labels, so the problem is one of binary decisions
    with the scores ``scores[i, positive] - max of the others``; as exact as the inference for those.

    Parameters
    ----------
    loss : any loss of mistakes
    y : (p,) labels in 0..k-1
    scores : (p, k) finite, k >= 2
    positive : the label that the loss is about
    """
    truth, s = _check(loss, y, scores)
    if not 0 <= positive < s.shape[1]:
        raise ValueError(f"positive must be one of the labels 0..{s.shape[1] - 1}; got {positive}.")
    others = np.where(np.arange(s.shape[1]) == positive, -np.inf, s)
    instead = others.argmax(axis=1)
    base = others.max(axis=1)
    labels, value, bound = _binary(loss, truth == positive, s[:, positive] - base)
    constant = float(base.sum())
    return Solution(
        np.where(labels, positive, instead),
        value + constant,
        bound + constant,
        bound <= value,
        "one label against the rest",
    )


def mean_over_classes(loss: Loss, y: ArrayLike, scores: ArrayLike, tol: float = 1e-6, max_iter: int = 200) -> Solution:
    """``max over yhat of (1/k) sum_c loss([y = c], [yhat = c]) + sum_i scores[i, yhat_i]``, as for the mean Jaccard
    of k classes.

    The classes are decoupled by one multiplier for each decision, ``sum_i m_i (1 - sum_c [yhat_i = c])``: every m
    gives a bound, the sum of k binary problems. Polyak subgradient steps lower it; every iterate is rounded to a
    labeling by the score and the classes that ask for it. What is left is ``bound - value``, and ``exact`` says if it
    is nothing.

    Parameters
    ----------
    loss : any loss of mistakes, the same for each class
    y : (p,) labels in 0..k-1
    scores : (p, k) finite, k >= 2
    tol : stop when ``bound - value`` is at most this part of the bound's size
    max_iter : subgradient steps at most
    """
    truth, s = _check(loss, y, scores)
    if loss.tied:
        raise Refusal(f"mean_over_classes refuses {loss!r}: it ties the number of predicted positives of each class.")
    k = s.shape[1]
    targets = [truth == c for c in range(k)]
    m = s.max(axis=1)
    value, bound, best, pace = -np.inf, np.inf, truth, 1.0
    for _ in range(max_iter):
        asked = np.zeros_like(s, dtype=bool)
        dual = float(m.sum())
        for c, target in enumerate(targets):
            asked[:, c], _, upper = _binary(loss, target, k * (s[:, c] - m))
            dual += upper / k
        pace = pace if dual < bound else 0.7 * pace
        bound = min(bound, dual)
        for guess in (_round(s, asked, m), s.argmax(axis=1)):
            reached = _objective(loss, targets, s, guess)
            if reached > value:
                value, best = reached, guess
        slope = 1.0 - asked.sum(axis=1)
        if bound - value <= tol * (1.0 + abs(bound)) or not slope.any():
            break
        m = m - pace * (dual - value) / float(slope @ slope) * slope
    exact = bound - value <= 1e-9 * (1.0 + abs(bound))
    return Solution(best, value, max(bound, value), exact, "decoupled classes: " + ("exact" if exact else "bounded"))


def _check(loss: Loss, y: ArrayLike, scores: ArrayLike) -> tuple[Labels, Values]:
    if isinstance(loss, RankLoss):
        raise Refusal(f"multi-class inference refuses {loss!r}: it judges a ranking. Use MarginRescaling.")
    truth, s = np.asarray(y), np.asarray(scores, dtype=np.float64)
    if s.ndim != 2 or s.shape[0] == 0 or s.shape[1] < 2:
        raise ValueError(f"scores must have shape (p, k) with p >= 1 and k >= 2; got shape {s.shape}.")
    if not np.isfinite(s).all():
        raise ValueError("scores must be finite; got NaN or inf.")
    if truth.shape != s.shape[:1] or truth.dtype.kind not in "iu" or truth.min() < 0 or truth.max() >= s.shape[1]:
        raise ValueError(
            f"y must hold {s.shape[0]} labels in 0..{s.shape[1] - 1}; got shape {truth.shape}, {truth.dtype}."
        )
    return truth.astype(np.int64), s


def _binary(loss: Loss, target: NDArray[np.bool_], scores: Values) -> tuple[NDArray[np.bool_], float, float]:
    """Labels, value and bound of ``max over x of loss(target, x) + <scores, x>``."""
    sets = Sets.single(target)
    loss.check(sets)
    problem = Problem(loss, sets, scores)
    found = default_inference(problem).maximize(problem)
    base = float(scores[target].sum())
    return found.mistakes ^ target, float(found.values[0]) + base, float(found.bounds[0]) + base


def _round(s: Values, asked: NDArray[np.bool_], m: Values) -> Labels:
    """The best scored of the classes that ask for a decision, or of all where none does."""
    wanted = np.where(asked.any(axis=1, keepdims=True), asked, True)
    return np.where(wanted, s - m[:, None], -np.inf).argmax(axis=1)


def _objective(loss: Loss, targets: list[NDArray[np.bool_]], s: Values, guess: Labels) -> float:
    sets: list[Any] = [Sets.single(target) for target in targets]
    losses = [
        float(loss.values(one, target != (guess == c))[0])
        for c, (one, target) in enumerate(zip(sets, targets, strict=True))
    ]
    return float(np.mean(losses)) + float(s[np.arange(len(guess)), guess].sum())
