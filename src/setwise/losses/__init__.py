"""Losses: each file holds one formula, and each loss is callable and says what it promises.

Most losses read labels and are set functions of the wrong decisions; losses of a ranking read the order of the scores.
Every loss in this folder is registered when the folder is imported: ``LOSSES`` maps the short names to the classes.
"""

from dataclasses import fields
from typing import Any

from setwise.core.checks import shown
from setwise.core.loss import Loss
from setwise.core.registry import discover
from setwise.core.single_labels import EqualCosts, GivenCosts, NearestHammingCosts
from setwise.core.terms import Trait
from setwise.losses.cost_matrix import CostMatrix
from setwise.losses.label_sets import NearestCosts
from setwise.losses.names import forms, is_needed, loss_of, loss_of_function, losses_of
from setwise.losses.row_costs import savings_score

LOSSES = discover(__name__, Loss)  # type: ignore[type-abstract]
"""All classes of losses by their short names.

>>> from setwise.losses import LOSSES
>>> LOSSES["auc"].__name__, LOSSES["jaccard"]()([1, 1, 0], [1, 0, 0])
('RocArea', 0.5)
"""

# Each class can be imported from here by its own name.
globals().update({kind.__name__: kind for kind in LOSSES.values()})

__all__ = [
    "LOSSES", "CostMatrix", "EqualCosts", "GivenCosts", "Loss", "NearestCosts", "NearestHammingCosts", "Trait",
    "as_loss", "loss_forms", "parse_losses", "plain_losses", "savings_score",
    *(kind.__name__ for kind in LOSSES.values()),
]  # fmt: skip

_PLAIN = {name: kind for name, kind in LOSSES.items() if not any(map(is_needed, fields(kind)))}  # type: ignore[arg-type]


def plain_losses() -> dict[str, type[Loss]]:
    """The classes of the losses that need no parameters, by their short names.

    Source: this library.

    Returns
    -------
    dict[str, type[Loss]]
        Those of ``LOSSES`` whose name alone makes a loss.

    Examples
    --------
    >>> from setwise.losses import plain_losses
    >>> plain = plain_losses()
    >>> plain["jaccard"].__name__, "capped" in plain
    ('Jaccard', False)
    """
    return dict(_PLAIN)


def parse_losses(text: str) -> dict[str, Loss]:
    """The losses that a text names, separated by commas, by what the text calls each of them.

    Parameters follow a name after colons, in the order of :func:`loss_forms` or by name, and losses may be added up.
    ``setwise compare`` reads the measures of its command line so.

    Source: this library.

    Parameters
    ----------
    text : as ``"f1,fbeta:2,tversky:beta=0.7,jaccard+0.5*hamming"``; letters of any case

    Returns
    -------
    dict[str, Loss]
        The losses by their texts, in order.

    Raises
    ------
    TypeError : for anything but text
    ValueError : with one sentence, for a name that no loss has, or for parameters that it does not take

    Examples
    --------
    >>> from setwise.losses import parse_losses
    >>> parse_losses("fbeta:2, jaccard+0.5*hamming")
    {'fbeta:2': FBeta(beta=2.0, zero_division=1.0),
     'jaccard+0.5*hamming': Jaccard(empty='perfect') + 0.5 * Hamming()}
    """
    return losses_of(text, LOSSES)


def loss_forms() -> dict[str, str]:
    """How :func:`parse_losses` writes each loss, by its short name.

    Losses that need functions or arrays are not among them. Optional parameters are in brackets.

    Source: this library.

    Returns
    -------
    dict[str, str]
        The forms by the short names.

    Examples
    --------
    >>> from setwise.losses import loss_forms
    >>> forms = loss_forms()
    >>> forms["recall_at_k"], "capped" in forms
    ('recall_at_k:k[:zero_division]', False)
    """
    return forms(LOSSES)


def as_loss(loss: object) -> Loss:
    """The loss itself, or that of a text, as ``"fbeta:2"``, of a metric or scorer, or of a function of labels.

    Texts are those of :func:`parse_losses`, of one loss. The names, functions and scorers of scikit-learn stand for one
    minus their value: ``"accuracy"``, ``"roc_auc"``, ``f1_score``, ``make_scorer(fbeta_score, beta=2)``. A function
    ``f(y_true, y_pred)`` of yours is a cost, of which less is better, and ``make_scorer(f)`` a gain; both are a
    :class:`MetricLoss`.

    Source: this library.

    Parameters
    ----------
    loss : a loss, a text, a metric or scorer of scikit-learn, or a function of (y_true, y_pred)

    Returns
    -------
    Loss
        The loss.

    Raises
    ------
    TypeError : for anything else
    ValueError : with one sentence, for a name that no loss has, for parameters that it does not take, and for scorers
        that do not judge labels

    Examples
    --------
    >>> from setwise.losses import as_loss
    >>> as_loss("f1"), as_loss("accuracy"), as_loss(lambda y_true, y_pred: (y_true != y_pred).sum())
    (FBeta(beta=1.0, zero_division=1.0), ErrorRate(), MetricLoss(<lambda>))
    """
    if isinstance(loss, Loss):
        return loss
    found = loss if isinstance(loss, str) else loss_of_function(loss)
    if found is None:
        raise TypeError(f"loss must be a loss or its name, such as Jaccard() or 'jaccard'; got {shown(loss)}.")
    if isinstance(found, Loss):
        return found
    return _PLAIN[found]() if found in _PLAIN else loss_of(found.lower(), LOSSES)


def __getattr__(name: str) -> Any:
    # All names exist after the import; this function tells type checkers that there are more than they see.
    raise AttributeError(f"module 'setwise.losses' has no attribute {name!r}")
