"""Pictures of a choice: what each candidate gains over the first one, and the loss over thresholds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from setwise.core.batch import Sets
from setwise.core.checks import (
    Values,
    as_array,
    as_choice,
    as_count,
    as_kind,
    as_labels,
    as_mapping,
    as_names,
    as_reals,
    as_scores,
    as_text,
    shown,
)
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import STRATEGIES
from setwise.decisions import BootstrapThreshold
from setwise.decisions.resampling import bootstrap_curve
from setwise.decisions.task import Task, compared
from setwise.decisions.thresholds import as_sets
from setwise.losses import as_loss
from setwise.plotting.axes import panel, tidy
from setwise.plotting.colors import BLUE, GRAY, ORANGE, RED


@final
class CandidatesDisplay:
    """The paired gain ``loss of the first candidate - loss`` of each candidate, and its standard error.

    Make one by :meth:`from_estimator` or :meth:`from_predictions`, which draw at once.

    Parameters
    ----------
    names : m names, the reference first
    losses, errors : (m,) the mean losses and their standard errors
    gains, gain_errors : (m,) the paired gains over the first candidate, and their standard errors
    chosen : the name of the one to mark, or None

    Attributes
    ----------
    ax_, figure_ : the axes and the figure of the last :meth:`plot`

    Raises
    ------
    ValueError : for arrays that have not one finite number for each name, and a chosen name that is none of them
    TypeError : for names that are no texts
    Refusal : a ValueError by :meth:`from_predictions`, for losses that do not judge labels

    Examples
    --------
    >>> from setwise.plotting import CandidatesDisplay
    >>> guesses = {"at 0.5": [0, 0, 0, 0, 0, 1], "tuned": [1, 1, 0, 1, 0, 1]}
    >>> display = CandidatesDisplay.from_predictions([1, 1, 0, 0, 0, 1], guesses, "f1")
    >>> display.gains.round(3).tolist()  # F1 rises from 1/2 to 6/7
    [0.0, 0.357]
    >>> display.figure_.savefig("candidates.png")
    """

    def __init__(
        self,
        names: Any,
        losses: ArrayLike,
        errors: ArrayLike,
        gains: ArrayLike,
        gain_errors: ArrayLike,
        chosen: str | None = None,
    ) -> None:
        self.names = as_names(names, "names")
        size = (len(self.names),)
        self.losses, self.errors = as_reals(losses, "losses", size), as_reals(errors, "errors", size)
        self.gains, self.gain_errors = as_reals(gains, "gains", size), as_reals(gain_errors, "gain_errors", size)
        self.chosen = None if chosen is None else as_choice(chosen, "chosen", self.names)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """The candidates of a fitted :class:`~setwise.MeasureClassifier`; those that were refused are left out."""
        candidates = getattr(estimator, "candidates_", None)
        if candidates is None or isinstance(estimator, type):
            raise ValueError(f"estimator must be a fitted MeasureClassifier; got {shown(estimator)}.")
        tried = [candidate for candidate in candidates if not candidate.refusal]
        names = ("strategy", "loss", "error", "gain", "gain_error")
        strategies, losses, errors, gains, gain_errors = ([getattr(one, name) for one in tried] for name in names)
        chosen = next(candidate.strategy for candidate in tried if candidate.chosen)
        return cls(strategies, losses, errors, gains, gain_errors, chosen).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        predictions: Mapping[str, ArrayLike],
        loss: Loss | str,
        *,
        groups: ArrayLike | None = None,
        average: str = "samples",
        seed: int = 0,
        ax: Axes | None = None,
    ) -> Self:
        """The candidates with these predicted labels for the same rows; the first one is the reference.

        Parameters
        ----------
        y_true : (n,) or (n, p) labels 0 and 1
        predictions : labels of the same shape, by the name of the candidate
        loss : a loss of labels, or its name
        groups : (n,) the numbers 0, 1, 2, ... of the sets of the rows, for y_true (n,)
        average : what a set is in a label matrix: ``"samples"``, ``"macro"`` or ``"micro"``
        seed : of the bootstrap
        ax : the axes to draw in; None makes a figure
        """
        measure = as_loss(loss)
        if measure.reads != "labels":
            raise Refusal(
                f"CandidatesDisplay refuses {measure!r}: it judges {measure.reads}, not labels. Give a loss of labels.",
                STRATEGIES,
            )
        truth = _as_matrix(y_true, "y_true")
        given = as_mapping(predictions, "predictions", "the labels of a candidate")
        labels = {name: _as_matrix(values, "predictions", truth.shape) for name, values in given.items()}
        as_choice(average, "average", ("samples", "macro", "micro"))
        task = Task(truth, measure, None if groups is None else _as_groups(groups, truth), average)  # type: ignore[arg-type]
        found = compared(task, list(labels.values()), as_count(seed, "seed", low=0))
        return cls(list(labels), found.losses, found.errors, found.gains, found.gain_errors).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the gains, the best one on top, in ``ax`` or in a figure of its own."""
        if ax is not None:
            as_kind(ax, "ax", Axes, "figure.add_subplot()")
        else:
            _, ax = panel(7.2, 1.2 + 0.42 * len(self.names))
        order = np.argsort(self.gains, kind="stable")
        for place, i in enumerate(order):
            color = ORANGE if self.names[i] == self.chosen else BLUE if i else GRAY
            ax.errorbar(self.gains[i], place, xerr=self.gain_errors[i], fmt="o", color=color, capsize=3, markersize=6)
            text = f"{self.losses[i]:.3f} ± {self.errors[i]:.3f}"
            ax.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=GRAY)
        ax.axvline(0.0, color=GRAY, linewidth=0.9, linestyle=(0, (2, 2)))
        labels = [f"{name} (chosen)" if name == self.chosen else name for name in self.names]
        ax.set_yticks(range(len(order)), [labels[i] for i in order])
        ax.set_ylim(-0.6, len(order) - 0.4)
        tidy(ax, f"gain in loss over {self.names[0]}, ± 1 standard error", "")
        ax.annotate("loss", (1.01, 1.0), xycoords="axes fraction", va="bottom", fontsize=9, color=GRAY)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _as_matrix(values: Any, name: str, shape: tuple[int, ...] | None = None) -> Any:
    """Labels 0 and 1 as bool, (n,) or (n, p)."""
    given = as_array(values, name)
    if given.ndim not in (1, 2) or not given.size or (shape is not None and given.shape != shape):
        wanted = "(n,) or (n, p)" if shape is None else f"{shape}, that of y_true"
        raise ValueError(f"{name} must have shape {wanted}; got {given.shape}.")
    return as_labels(given.ravel(), name).reshape(given.shape)


def _as_groups(groups: Any, truth: Any) -> Any:
    if truth.ndim == 2:
        raise ValueError("groups must be None for a label matrix: average says what a set is there.")
    given = as_array(groups, "groups")
    if given.shape != truth.shape or given.dtype.kind not in "iu" or given.min() < 0:
        raise ValueError(f"groups must be whole numbers 0, 1, 2, ... of shape {truth.shape}; got {shown(groups)}.")
    return np.unique(given, return_inverse=True)[1]


POINTS = 600
"""The number of thresholds at which the loss is drawn."""

RESPONSES: dict[str, tuple[str, ...]] = {
    "auto": ("predict_proba", "decision_function"),
    "predict_proba": ("predict_proba",),
    "decision_function": ("decision_function",),
}
"""The methods of an estimator that give scores, in the order in which they are asked."""


@dataclass(eq=False, repr=False)
class ThresholdDisplay:
    """The loss at all thresholds, the best threshold, the range with the same loss, and bootstrap intervals.

    Make one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    thresholds, losses : (c,) the curve
    low, high : (c,) quantiles of the loss of resamples
    bootstrap : the best threshold with its intervals
    loss_name : the name of the vertical axis

    Attributes
    ----------
    ax_, figure_ : the axes and the figure, once drawn
    line_, band_, best_, flat_, interval_ : the curve, its band, the best threshold, the range of thresholds of the same
        loss, and the interval of the threshold; None where there is nothing finite to draw

    Raises
    ------
    ValueError : by :meth:`from_estimator` and :meth:`from_predictions`, for labels and scores that do not fit together
    Refusal : a ValueError by the same, for losses without a threshold, as those of a ranking
    TypeError : by the same, for a loss, numbers or axes of another kind

    Examples
    --------
    >>> from setwise.plotting import ThresholdDisplay
    >>> scores = [0.9, 0.8, 0.6, 0.3, 0.2, 0.1]
    >>> display = ThresholdDisplay.from_predictions([1, 1, 0, 1, 0, 0], scores, loss="f1")
    >>> display.bootstrap.best.threshold
    0.25
    >>> display.figure_.savefig("thresholds.png")
    """

    thresholds: Values
    losses: Values
    low: Values
    high: Values
    bootstrap: BootstrapThreshold
    loss_name: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        loss: Loss | str = "f1",
        response_method: str = "auto",
        pos_label: Any = None,
        n_resamples: int = 200,
        confidence: float = 0.95,
        random_state: int | np.random.Generator | None = 0,
        ax: Axes | None = None,
        title: str = "",
    ) -> Self:
        """Draw the loss of a fitted classifier of two classes on rows that it was not trained on.

        Parameters
        ----------
        estimator : fitted, with ``predict_proba`` or ``decision_function`` and two ``classes_``
        X, y : rows and their labels
        loss : any loss of labels, or its name
        response_method : "auto" asks for ``predict_proba``, then for ``decision_function``
        pos_label : the positive class; None takes the last of ``classes_``
        n_resamples, confidence, random_state : as in :func:`setwise.decisions.bootstrap_threshold`
        ax : where to draw; None makes a figure
        title : the title of the picture
        """
        truth, scores = responses(estimator, X, y, response_method, pos_label)
        return cls.from_predictions(
            truth, scores, loss=loss, n_resamples=n_resamples, confidence=confidence, random_state=random_state, ax=ax,
            title=title,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike | Sets,
        scores: ArrayLike,
        *,
        loss: Loss | str = "f1",
        pos_label: Any = None,
        n_resamples: int = 200,
        confidence: float = 0.95,
        random_state: int | np.random.Generator | None = 0,
        ax: Axes | None = None,
        title: str = "",
    ) -> Self:
        """Draw the loss of labels, (p,), or of a batch of sets, for scores.

        Labels are 0 and 1, or two others of which ``pos_label`` is the positive one; the larger a score, the more
        likely this one. The other parameters are those of :meth:`from_estimator`.
        """
        if pos_label is not None:
            y = positives(y, pos_label)
        as_count(n_resamples, "n_resamples")
        sets = as_sets(y)
        known = as_scores(scores, sets.total)
        # A few outermost scores would leave no room for the others.
        low, high = np.percentile(known, [0.5, 99.5])
        pad = 0.04 * (high - low) or 1.0
        at = np.linspace(low - pad, high + pad, POINTS)
        curve = bootstrap_curve(sets, known, loss, at, n_resamples, confidence, random_state)
        name = f"loss: {loss if isinstance(loss, str) else repr(loss)}"
        display = cls(at, curve.losses, curve.low, curve.high, curve.bootstrap, name)
        return display.plot(ax, title=title)

    def plot(self, ax: Axes | None = None, *, title: str = "") -> Self:
        """Draw on ``ax``, or on a new figure, which is in ``figure_``."""
        if ax is None:
            _, ax = panel(7.2, 4.2)
        self.ax_ = as_kind(ax, "ax", Axes, "figure.add_subplot()")
        self.figure_, best = ax.figure, self.bootstrap.best
        as_text(title, "title")
        self.band_ = ax.fill_between(
            self.thresholds, self.low, self.high, color=BLUE, alpha=0.15, linewidth=0, label="loss of resamples"
        )
        (self.line_,) = ax.plot(self.thresholds, self.losses, color=BLUE, linewidth=1.8, label="loss")
        low, high = self.thresholds[0], self.thresholds[-1]
        self.interval_ = self._span(ax, *self.bootstrap.interval, ORANGE, 0.18, "interval of the threshold")
        self.flat_ = self._span(ax, best.low, best.high, GRAY, 0.35, "thresholds of the same loss")
        self.best_ = None
        if np.isfinite(best.threshold):
            words = f"best threshold {best.threshold:.4g}, loss {best.loss:.4g}"
            self.best_ = ax.axvline(best.threshold, color=RED, linewidth=1.4, label=words)
            low, high = min(low, best.threshold), max(high, best.threshold)
        else:
            what = "none" if best.threshold > 0 else "all"
            (self.best_,) = ax.plot([], [], color=RED, label=f"predicting {what} is best, loss {best.loss:.4g}")
        ax.set_xlim(low, high)
        tidy(ax, "threshold: scores from here on are predicted positive", self.loss_name, title)
        ax.legend(frameon=False, fontsize=9)
        return self

    def _span(self, ax: Axes, low: float, high: float, color: str, alpha: float, label: str) -> Any:
        """A vertical band between two thresholds, which ends at the sides of the picture."""
        first, last = max(low, float(self.thresholds[0])), min(high, float(self.thresholds[-1]))
        return ax.axvspan(first, last, color=color, alpha=alpha, linewidth=0, label=label) if first <= last else None


def positives(y: Any, pos_label: Any) -> NDArray[np.bool_]:
    """Whether each label is the positive one, (p,)."""
    if isinstance(y, Sets):
        raise TypeError("pos_label is for labels (p,); a batch of sets knows its positives.")
    truth = as_array(y, "y")
    found = np.unique(truth).tolist() if truth.dtype.kind in "biufUS" else list(dict.fromkeys(truth.ravel().tolist()))
    if truth.ndim != 1 or not 1 <= len(found) <= 2:
        raise ValueError(f"y must hold the labels (p,) of two classes; got {shown(y)}.")
    # All labels may be of the other class, which then says nothing of the name of this one.
    if np.ndim(pos_label) or (pos_label not in found and len(found) != 1):
        raise ValueError(f"pos_label must be one of {shown(found)}; got {shown(pos_label)}.")
    return np.array([one == pos_label for one in truth.tolist()], dtype=np.bool_)


def responses(estimator: Any, X: Any, y: Any, method: str, pos_label: Any) -> tuple[NDArray[np.bool_], Values]:
    """Whether each label is positive, and the scores of the positive class, (n,) each."""
    asked = RESPONSES[as_choice(method, "response_method", RESPONSES)]
    found = [one for one in (getattr(estimator, name, None) for name in asked) if one is not None]
    if not found:
        raise ValueError(f"estimator must have {' or '.join(asked)}; got {shown(estimator)}.")
    scores = as_array(found[0](X), "the scores of estimator")
    classes = list(getattr(estimator, "classes_", ()))
    if len(classes) != 2 or scores.ndim > 2:
        raise ValueError(f"estimator must have two classes_, for one threshold; got {shown(classes)}.")
    positive = classes[1] if pos_label is None else pos_label
    if positive not in classes:
        raise ValueError(f"pos_label must be one of {shown(classes)}; got {shown(pos_label)}.")
    truth = as_array(y, "y")
    if truth.shape != (len(scores),) or not np.isin(truth, classes).all():
        raise ValueError(f"y must hold {len(scores)} labels of {shown(classes)}; got {shown(y)}.")
    if scores.ndim == 2:
        return truth == positive, scores[:, classes.index(positive)]
    # A decision function is that of the last class.
    return truth == positive, scores if positive == classes[1] else -scores
