"""A picture of candidates: what each gains over the first one, with its standard error."""

from collections.abc import Mapping
from typing import Any, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from setwise.core.checks import as_array, as_choice, as_count, as_kind, as_labels, as_mapping, as_names, as_reals, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LEVERS
from setwise.decisions.task import Task, replicated_losses
from setwise.losses import as_loss
from setwise.plotting.style import BLUE, GRAY, ORANGE, tidy

REPLICATES = 400


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
        return cls(
            [c.lever for c in tried],
            [c.loss for c in tried],
            [c.error for c in tried],
            [c.gain for c in tried],
            [c.gain_error for c in tried],
            next(c.lever for c in tried if c.chosen),
        ).plot(ax)

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
                LEVERS,
            )
        truth = _as_matrix(y_true, "y_true")
        given = as_mapping(predictions, "predictions", "the labels of a candidate")
        labels = {name: _as_matrix(values, "predictions", truth.shape) for name, values in given.items()}
        as_choice(average, "average", ("samples", "macro", "micro"))
        task = Task(truth, measure, None if groups is None else _as_groups(groups, truth), average)  # type: ignore[arg-type]
        losses = np.array([task.mean_loss(guess) for guess in labels.values()])
        drawn = replicated_losses(task, list(labels.values()), REPLICATES, as_count(seed, "seed", low=0))
        gains = drawn[:, :1] - drawn
        errors, gain_errors = drawn.std(axis=0, ddof=1), gains.std(axis=0, ddof=1)
        return cls(list(labels), losses, errors, losses[0] - losses, gain_errors).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the gains, the best one on top, in ``ax`` or in a figure of its own."""
        if ax is not None:
            as_kind(ax, "ax", Axes, "figure.add_subplot()")
        else:
            ax = Figure(figsize=(7.2, 1.2 + 0.42 * len(self.names)), layout="constrained").add_subplot()
        order = np.argsort(self.gains, kind="stable")
        for place, i in enumerate(order):
            color = ORANGE if self.names[i] == self.chosen else BLUE if i else GRAY
            ax.errorbar(self.gains[i], place, xerr=self.gain_errors[i], fmt="o", color=color, capsize=3, markersize=6)
            text = f"{self.losses[i]:.3f} ± {self.errors[i]:.3f}"
            ax.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=GRAY)
        ax.axvline(0.0, color=GRAY, linewidth=0.9, linestyle=(0, (2, 2)))
        ax.set_yticks(range(len(order)), [self._label(i) for i in order])
        ax.set_ylim(-0.6, len(order) - 0.4)
        tidy(ax, f"gain in loss over {self.names[0]}, ± 1 standard error", "")
        ax.annotate("loss", (1.01, 1.0), xycoords="axes fraction", va="bottom", fontsize=9, color=GRAY)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _label(self, i: int) -> str:
        return f"{self.names[i]} (chosen)" if self.names[i] == self.chosen else self.names[i]


def _as_matrix(values: Any, name: str, shape: tuple[int, ...] | None = None) -> Any:
    """Labels 0 and 1 as bool, (n,) or (n, p)."""
    given = as_array(values, name)
    if given.ndim not in (1, 2) or not given.size or (shape is not None and given.shape != shape):
        wanted = "(n,) or (n, p)" if shape is None else f"{shape}, that of y_true"
        raise ValueError(f"{name} must have shape {wanted}; got {given.shape}.")
    return as_labels(given.ravel(), name).reshape(given.shape)


def _as_groups(groups: Any, truth: Any) -> Any:
    if truth.ndim == 2:
        raise ValueError("groups must be None for a label matrix: what is a set there, average says.")
    given = as_array(groups, "groups")
    if given.shape != truth.shape or given.dtype.kind not in "iu" or given.min() < 0:
        raise ValueError(f"groups must be whole numbers 0, 1, 2, ... of shape {truth.shape}; got {shown(groups)}.")
    return np.unique(given, return_inverse=True)[1]
