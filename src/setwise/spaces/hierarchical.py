"""Precision, recall and F1 of sets of nodes together with their ancestors, as HiClass defines them."""

from typing import Any

import numpy as np

from setwise.core.checks import as_kind
from setwise.spaces.hierarchy import Hierarchy


def hierarchical_precision(hierarchy: Hierarchy, Y: Any, predictions: Any) -> float:
    """``sum_i |alpha_i and beta_i| / sum_i |alpha_i|``: alpha are the predicted nodes, beta the true ones.

    Both sets are taken with all ancestors of their nodes. It is 0 where nothing is predicted for any row, where HiClass
    divides by zero.

    Source: Silla and Freitas (2011); the micro average of HiClass.

    Parameters
    ----------
    hierarchy : the nodes
    Y, predictions : the true and the predicted nodes of n rows: n collections of nodes, or (n, p) of 0 and 1

    Returns
    -------
    float
        The precision, in [0, 1].

    Raises
    ------
    TypeError : if hierarchy is no :class:`Hierarchy`
    ValueError : for nodes that the hierarchy does not have, or predictions of another number of rows

    Examples
    --------
    >>> from setwise.spaces import Hierarchy, hierarchical_precision
    >>> animals = Hierarchy({"cat": "animal", "dog": "animal"})
    >>> # Of dog and animal, animal is right.
    >>> hierarchical_precision(animals, [["cat"]], [["dog"]])
    0.5
    """
    both, predicted, _ = _totals(hierarchy, Y, predictions)
    return both / predicted if predicted else 0.0


def hierarchical_recall(hierarchy: Hierarchy, Y: Any, predictions: Any) -> float:
    """``sum_i |alpha_i and beta_i| / sum_i |beta_i|``, with ancestors; 0 where no node is true in any row.

    Source: Silla and Freitas (2011); the micro average of HiClass.

    Parameters
    ----------
    hierarchy : the nodes
    Y, predictions : the true and the predicted nodes of n rows: n collections of nodes, or (n, p) of 0 and 1

    Returns
    -------
    float
        The recall, in [0, 1].

    Raises
    ------
    TypeError : if hierarchy is no :class:`Hierarchy`
    ValueError : for nodes that the hierarchy does not have, or predictions of another number of rows

    Examples
    --------
    >>> from setwise.spaces import Hierarchy, hierarchical_recall
    >>> animals = Hierarchy({"cat": "animal", "dog": "animal"})
    >>> # Of cat and animal, animal is found.
    >>> hierarchical_recall(animals, [["cat"]], [["animal"]])
    0.5
    """
    both, _, true = _totals(hierarchy, Y, predictions)
    return both / true if true else 0.0


def hierarchical_f1(hierarchy: Hierarchy, Y: Any, predictions: Any) -> float:
    """``2 sum_i |alpha_i and beta_i| / (sum_i |alpha_i| + sum_i |beta_i|)``, with ancestors.

    It is the harmonic mean of hierarchical precision and recall, and 0 where no node is true or predicted in any row.

    Source: Silla and Freitas (2011); the micro average of HiClass.

    Parameters
    ----------
    hierarchy : the nodes
    Y, predictions : the true and the predicted nodes of n rows: n collections of nodes, or (n, p) of 0 and 1

    Returns
    -------
    float
        F1, in [0, 1].

    Raises
    ------
    TypeError : if hierarchy is no :class:`Hierarchy`
    ValueError : for nodes that the hierarchy does not have, or predictions of another number of rows

    Examples
    --------
    >>> from setwise.spaces import Hierarchy, hierarchical_f1
    >>> animals = Hierarchy({"cat": "animal", "dog": "animal"})
    >>> # 2 * (2 + 1) / (4 + 4).
    >>> hierarchical_f1(animals, [["cat"], ["dog"]], [["cat"], ["cat"]])
    0.75
    """
    both, predicted, true = _totals(hierarchy, Y, predictions)
    return 2.0 * both / (predicted + true) if predicted + true else 0.0


def _totals(hierarchy: Hierarchy, Y: Any, predictions: Any) -> tuple[int, int, int]:
    """The numbers of nodes that are true and predicted, predicted, and true, with ancestors, in all rows."""
    as_kind(hierarchy, "hierarchy", Hierarchy, "Hierarchy({'cat': 'animal'})")
    true = hierarchy.closed(Y)
    predicted = hierarchy.closed(hierarchy.encode(predictions, "predictions"))
    if len(true) != len(predicted):
        raise ValueError(f"predictions must be those of {len(true)} rows; got {len(predicted)}.")
    return int(np.count_nonzero(true & predicted)), int(predicted.sum()), int(true.sum())
