"""The cost of getting one label of a set wrong, given which labels are true: lambda(Y, y) of MLSP."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import Bools, Values, as_number, as_reals, as_weights, shown
from setwise.core.exceptions import Refusal
from setwise.core.pages import LABEL_COSTS
from setwise.core.single_labels import EqualCosts, FlipCosts, Flips
from setwise.losses.weights import check_weights, weights_repr

LabelCosts = Callable[[Bools], Any]


def as_label_costs(costs: Any) -> Any:
    """Check costs: None, numbers (p,) of 0 or above, a function of the truth (p,) that returns such numbers, or a term.

    A term is one of :mod:`setwise.core.single_labels`, for labels that are too many to list.
    """
    return costs if costs is None or callable(costs) or isinstance(costs, FlipCosts) else as_weights(costs, "costs")


def check_label_costs(costs: Any, batch: Batch, loss: object) -> None:
    """Refuse costs that are not those of the labels of a batch, and sets of another length than the costs."""
    if isinstance(batch, Flips):
        if costs is not None and not isinstance(costs, FlipCosts):
            raise Refusal(
                f"{loss!r} refuses {type(batch).__name__}, whose labels are too many to list. Use costs of single "
                "labels, as MaxLoss(GivenCosts(function, most)).",
                LABEL_COSTS,
            )
    elif isinstance(costs, FlipCosts):
        raise Refusal(
            f"{loss!r} refuses {type(batch).__name__}, whose labels are listed. Use numbers for costs, or a function.",
            LABEL_COSTS,
        )
    elif costs is not None and not callable(costs):
        check_weights(costs, batch, loss)


def flip_costs(costs: Any) -> FlipCosts:
    """The costs of the labels of a large space; None stands for 1."""
    return EqualCosts() if costs is None else costs


def bound_costs(costs: Any, batch: Batch) -> Values:
    """The cost of each decision of a batch, (total,)."""
    if costs is None:
        return np.ones(batch.total)
    if not callable(costs):
        return np.asarray(np.asarray(costs)[batch.places])
    truth = batch.truth.view()
    truth.setflags(write=False)
    found = [as_reals(costs(truth[a:b]), "costs(truth)", (b - a,)) for a, b in pairwise(batch.offsets.tolist())]
    flat = np.concatenate(found)
    if (flat < 0).any():
        raise ValueError(f"costs(truth) must be {batch.sizes[0]} numbers of 0 or above; got {shown(flat.min())}.")
    return flat


def costs_repr(costs: Any) -> str:
    """Costs as text."""
    if isinstance(costs, FlipCosts):
        return repr(costs)
    if callable(costs):
        return str(getattr(costs, "__name__", type(costs).__name__))
    return weights_repr(costs).replace("weights", "costs")


@final
@dataclass(frozen=True, eq=False)
class Nearest:
    """``lambda(Y, y) = min over true labels of distances[true, y]`` where y is false, ``missed`` where it is true.

    A false label costs ``missed`` too where no label is true. MLSP 5.2 has distances of 0 between boxes that overlap
    by half and 1 between others; a hierarchy has the lengths of paths. It is given as ``costs`` to
    :class:`setwise.losses.MaxLoss` and :class:`setwise.losses.SumLoss`.

    Source: MLSP 3 and 5.2.

    Parameters
    ----------
    distances : (p, p) of 0 or above
    missed : the cost of a true label that is not predicted, 0 or above

    Raises
    ------
    TypeError : if missed is no number
    ValueError : if distances are not square or negative, or not those of the labels of a set, or missed is negative

    Examples
    --------
    >>> from setwise.losses import MaxLoss, Nearest
    >>> costs = Nearest([[0, 1, 2], [1, 0, 1], [2, 1, 0]], missed=5.0)
    >>> costs(np.array([True, False, False])).tolist()  # label 0 is true
    [5.0, 1.0, 2.0]
    >>> # Labels 1 and 2 are false; the worse one counts.
    >>> MaxLoss(costs)([1, 0, 0], [1, 1, 1])
    2.0
    """

    distances: Any
    missed: float = 1.0

    def __post_init__(self) -> None:
        distances = as_reals(self.distances, "distances")
        if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
            raise ValueError(f"distances must have shape (p, p); got shape {distances.shape}.")
        if (distances < 0).any():
            raise ValueError(f"distances must be 0 or above; got {distances.min():.4g}.")
        object.__setattr__(self, "distances", distances)
        as_number(self.missed, "missed", low=0.0)

    def __call__(self, truth: Bools) -> Values:
        """The cost of each label, (p,)."""
        if len(truth) != len(self.distances):
            raise ValueError(f"distances must be those of {len(truth)} labels; got {len(self.distances)}.")
        if not truth.any():
            return np.full(len(truth), self.missed)
        return np.where(truth, self.missed, self.distances[truth].min(axis=0))
