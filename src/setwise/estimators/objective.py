"""The objective of an estimator: the loss that fits a target, its surrogate, the weights of classes, and the learner.

Losses of areas have the labels of nodes.
"""

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight

from setwise.core.batch import Batch
from setwise.core.checks import Ints, Values, as_number
from setwise.core.exceptions import Refusal
from setwise.core.learner import Learner
from setwise.core.loss import Loss
from setwise.core.pages import MORE_CLASSES, SETS, WEIGHTS
from setwise.core.surrogate import Surrogate
from setwise.core.terms import Trait
from setwise.estimators.sets import Grouping
from setwise.learners import LEARNERS, NRBM, ConvexConcaveProcedure, OneSlack
from setwise.losses.combinations import AreaWeightedLoss, MeanOverClasses, OneClass, with_class_weights
from setwise.losses.label_sets import MaxLoss
from setwise.surrogates import SURROGATES
from setwise.surrogates.lovasz_hinge import LovaszHinge
from setwise.surrogates.ramp import Ramp
from setwise.surrogates.rescaling import MarginRescaling


def loss_for(loss: Loss, grouping: Grouping, pos_label: Any) -> Loss:
    """The loss for the classes of a target.

    For k > 2 classes it is the loss of ``pos_label`` against the rest, or the mean over the classes. A loss of k
    classes stays as it is, and so does a loss that does not tell labels apart. Functions of a user get the two labels.
    """
    if grouping.layout == "vector" and len(grouping.classes) == 2:
        loss = loss.for_labels(tuple(grouping.classes.tolist()))
    if loss.of_one_batch(grouping.batch) and grouping.order is not None and (np.diff(grouping.order) < 0).any():
        raise Refusal(
            f"groups must keep the order for {loss!r}, which numbers the decisions: put the rows of a group next to "
            "each other.",
            SETS,
        )
    if grouping.layout != "classes" or loss.reads == "classes":
        return loss
    if loss.reads == "scores":
        raise Refusal(f"{loss!r} refuses {len(grouping.classes)} classes: it ranks positives. Use two.", MORE_CLASSES)
    if pos_label is not None:
        return OneClass(loss, grouping.classes.tolist().index(pos_label))
    return loss if Trait.LABEL_FREE in loss.traits else MeanOverClasses(loss)


def sees_places(surrogate: str | Surrogate, *losses: Loss) -> bool:
    """Whether the order of the rows of a set may matter to one of the losses, or to a surrogate that brings its own."""
    own = () if isinstance(surrogate, str) else (getattr(surrogate, "loss", None),)
    inner = (loss.loss if isinstance(loss, MeanOverClasses | OneClass) else loss for loss in (*losses, *own))
    return not all(
        (isinstance(loss, MaxLoss) and loss.costs is None)
        or (isinstance(loss, Loss) and (loss.reads == "scores" or Trait.COUNTS in loss.traits))
        for loss in inner
    )


def train_loss(surrogate: str | Surrogate, loss: Loss, weights: tuple[float, float] | None) -> Loss:
    """The loss with weighted classes; a surrogate object brings its own loss, which is not changed."""
    if weights is None:
        return loss
    if not isinstance(surrogate, str):
        raise Refusal(
            "class_weight refuses a surrogate object, which brings its own loss. Weight that loss instead.", WEIGHTS
        )
    return with_class_weights(loss, *weights)


def named_surrogate(name: str, loss: Loss, grouping: Grouping) -> Surrogate:
    """The surrogate of this name; the ramp is scaled by the sizes of the sets."""
    if name in ("lovasz", "slack") and grouping.layout == "classes":
        raise Refusal(
            "Only binary classification is supported. The type of the target is multiclass, with "
            f"{len(grouping.classes)} classes: use surrogate='margin' in place of {name!r}.",
            MORE_CLASSES,
        )
    return plain_surrogate(name, loss)


def plain_surrogate(name: str, loss: Loss) -> Surrogate:
    """The surrogate of this name for binary decisions."""
    if name == Ramp.name:
        return Ramp(loss, scale="size")
    found: Surrogate = SURROGATES[name](loss)  # type: ignore[call-arg]
    return found


def convex_surrogate(loss: Loss, grouping: Grouping) -> Surrogate:
    """The Lovász hinge of a submodular loss of binary decisions, otherwise margin rescaling by the size of the sets."""
    # The bound loss knows more than its promises: the tables of small sets may show that it is submodular.
    submodular = grouping.layout != "classes" and loss.reads == "labels"
    if submodular and Trait.SUBMODULAR in loss.bind(grouping.batch).traits:
        return LovaszHinge(loss)
    return MarginRescaling(loss, scale="size")


def may_ramp(loss: Loss, grouping: Grouping) -> bool:
    """Whether ``"auto"`` may take the ramp for this target: the loss reads labels, and some inference takes it."""
    if loss.reads == "scores":
        return False
    try:
        named_surrogate(Ramp.name, loss, grouping).on(grouping.batch)
    except Refusal:
        return False
    return True


def class_weights(class_weight: Any, grouping: Grouping, target: NDArray[Any]) -> tuple[float, float] | None:
    """The weights of a negative and of a positive decision; None if both weights are 1."""
    if class_weight is None:
        return None
    if grouping.layout == "classes":
        raise Refusal("class_weight refuses more than two classes: weight the decisions in the loss instead.", WEIGHTS)
    # The labels inside a label matrix are 0 and 1, whatever its columns are called.
    classes = np.array([0, 1]) if grouping.is_matrix else grouping.classes
    if isinstance(class_weight, dict) and not set(class_weight) <= set(classes.tolist()):
        odd = next(c for c in class_weight if c not in classes.tolist())
        raise ValueError(f"class_weight must weigh the classes {classes.tolist()}; got {odd!r}.")
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            as_number(weight, f"class_weight[{label!r}]", low=0.0, high=1e100, open_low=True)
    # scikit-learn asks for sorted classes, but the positive class comes last here.
    found = compute_class_weight(class_weight, classes=np.unique(classes), y=np.ravel(target))
    weights = dict(zip(np.unique(classes).tolist(), found.tolist(), strict=True))
    return weights[classes.tolist()[0]], weights[classes.tolist()[1]]


RAMP, SCALED, OTHERS = 0.1, 300.0, 30.0
"""Values of C="auto": of the ramp as a factor of ``n^2 / d^1.5``, of margin rescaling by size, and of the others."""

LARGEST = 1e6
"""The largest default of the ramp; no data was tried on which a larger C is better."""


def default_c(surrogate: Surrogate, rows: int, features: int) -> float:
    """The weight of the mean risk that ``C="auto"`` stands for; the ramp may go the farther, the more rows there are.

    How far it is below the best of a grid, ``benchmarks/default_c.py`` measures.
    """
    if isinstance(surrogate, Ramp):
        return min(RAMP * rows**2 / (features * sqrt(features)), LARGEST)
    return SCALED if isinstance(surrogate, MarginRescaling) and surrogate.scale == "size" else OTHERS


def learner_for(
    model: Any, surrogate: Surrogate, convex: bool, usual: float, descent: type[Learner] = NRBM
) -> Learner | None:
    """The learner that the parameters of ``model`` name, for a risk that is convex or not; an object keeps its own.

    There is none with C = 0, where nothing is learned. ``"auto"`` is OneSlack for convex risks and ``descent`` for
    others. Where the ramp was not asked for, as under ``surrogate="auto"``, the learner that was named minimizes the
    majorants of ConvexConcaveProcedure. ``usual`` is what ``C="auto"`` stands for.
    """
    if not isinstance(model.learner, str):
        found: Learner = model.learner
        return found
    C = usual if model.C == "auto" else model.C
    if C == 0:
        return None
    common: dict[str, Any] = {"C": C, "tol": model.tol, "max_iter": int(model.max_iter)}
    kind: Any = LEARNERS.get(model.learner, OneSlack if convex else descent)
    if not convex and kind.needs_convex and model.surrogate == "auto":
        common["inner"] = kind.name
        kind = ConvexConcaveProcedure
    if "random_state" in kind.__dataclass_fields__ and model.random_state is not None:
        common["random_state"] = int(check_random_state(model.random_state).randint(2**31 - 1))
    learner: Learner = kind(**common)
    return learner


def with_areas(loss: Loss, areas: Values | None) -> Loss:
    """The loss of areas in place of counts, for the labels of one batch, whose ``areas`` they are; None leaves it."""
    if areas is None:
        return loss
    if isinstance(loss, MeanOverClasses | OneClass):
        return replace(loss, loss=with_areas(loss.loss, areas))
    return AreaWeightedLoss(loss, areas)


def part_of(loss: Loss, batch: Batch, parts: Ints) -> Loss:
    """The loss for the chosen sets of its batch."""
    if isinstance(loss, MeanOverClasses | OneClass):
        return replace(loss, loss=part_of(loss.loss, batch, parts))
    if isinstance(loss, AreaWeightedLoss) and len(loss.areas) == batch.total:
        return AreaWeightedLoss(loss.loss, loss.areas[batch.decisions(parts)])
    return loss
