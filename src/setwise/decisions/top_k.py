"""Exactly k labels in each row, from probabilities: for precision at k, macro recall and macro F1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import csr_array, issparse

from setwise.core.checks import Ints, Values, as_choice, as_count, as_reals, shown
from setwise.kernels.top_k import climb_macro_f1, largest_of_rows

MEASURES = ("precision", "macro_f1", "macro_recall")

LARGEST_ROUNDS = 100
"""All rows are decided anew at most so often; macro F1 grows in each round but the last."""


@final
@dataclass(frozen=True, eq=False)
class TopLabels:
    """Exactly k labels of each row.

    Attributes
    ----------
    labels : (n, k) int64, the columns of the labels of each row, which rise
    value : the measure that is expected
    exact : whether no other labels have a larger value

    Examples
    --------
    >>> from setwise.decisions import top_k_labels
    >>> found = top_k_labels([[0.9, 0.2, 0.4], [0.3, 0.8, 0.7]], 2)
    >>> found.labels.tolist(), round(found.value, 2)
    ([[0, 2], [1, 2]], 0.7)
    """

    labels: Ints
    value: float
    exact: bool


def top_k_labels(probabilities: Any, k: int, measure: str = "precision") -> TopLabels:
    """``argmax over labelings y with k labels in each row of the measure at the expected counts``.

    With probabilities q, the expected counts of column j are ``tp_j = sum_i y_ij q_ij``, ``P_j = sum_i q_ij`` and
    ``n_j = sum_i y_ij``.

    - ``"precision"``: ``sum_j tp_j / (n k)``, precision at k. The k most probable labels of each row; exact.
    - ``"macro_recall"``: ``mean_j tp_j / P_j``. The k largest ``q_ij / P_j`` of each row; exact.
    - ``"macro_f1"``: ``mean_j 2 tp_j / (n_j + P_j)``. From the k most probable labels on, each row in turn gets the k
      labels that are best while the other rows stay, until nothing changes (block coordinate ascent, Schultheis et al.
      2023). No change of a single row makes it larger, but other labelings may.

    A quotient that is 0/0 is 0. A round takes O(m k) for m stored probabilities.

    Parameters
    ----------
    probabilities : (n, p) in [0, 1], dense or sparse. Only entries that are stored in a sparse matrix can be predicted,
        so each row must store k or more
    k : the number of labels of each row
    measure : "precision", "macro_f1" or "macro_recall"

    Returns
    -------
    TopLabels
        The labels (n, k), the measure, and whether no others have a larger one

    Raises
    ------
    ValueError, TypeError : for probabilities, a number and a measure that do not fit

    Examples
    --------
    >>> from setwise.decisions import top_k_labels
    >>> q = [[0.9, 0.2, 0.0], [0.8, 0.5, 0.1], [0.8, 0.4, 0.3]]
    >>> top_k_labels(q, 1).labels.ravel().tolist()
    [0, 0, 0]
    >>> found = top_k_labels(q, 1, "macro_f1")
    >>> found.labels.ravel().tolist(), round(found.value, 2)
    ([0, 1, 2], 0.47)
    """
    as_choice(measure, "measure", MEASURES)
    values, columns, offsets, p = _stored(probabilities)
    as_count(k, "k")
    sizes = np.diff(offsets)
    if (sizes < k).any():
        row = int(np.argmax(sizes < k))
        raise ValueError(
            f"k must be at most the number of probabilities of each row; got {k}, and {sizes[row]} in row {row}."
        )
    n, positives = len(sizes), np.bincount(columns, values, p)
    weights = values / np.where(positives > 0, positives, 1.0)[columns] if measure == "macro_recall" else values
    chosen, exact = np.asarray(largest_of_rows(weights, offsets, k)), measure != "macro_f1"
    if not exact:
        predicted = columns[chosen.ravel()]
        tp, size = np.bincount(predicted, values[chosen.ravel()], p), np.bincount(predicted, minlength=p).astype(float)
        climb_macro_f1(values, columns, offsets, positives, chosen, tp, size, LARGEST_ROUNDS)
    places = chosen.ravel()
    if measure == "macro_f1":
        # The sums are made anew, since those of the ascent have gathered rounding.
        total = positives + np.bincount(columns[places], minlength=p)
        value = float(np.mean(2.0 * np.bincount(columns[places], values[places], p) / np.where(total > 0, total, 1.0)))
    else:
        value = float(weights[places].sum() / (p if measure == "macro_recall" else n * k))
    return TopLabels(np.sort(columns[chosen], axis=1), value, exact)


def _stored(probabilities: Any) -> tuple[Values, Ints, Ints, int]:
    """The stored probabilities, row by row, their columns, the offsets of the rows, and the number of columns."""
    if issparse(probabilities):
        matrix = csr_array(probabilities, copy=True)
        matrix.sum_duplicates()
        values, shape = as_reals(matrix.data, "probabilities"), matrix.shape
        columns, offsets = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    else:
        dense = as_reals(probabilities, "probabilities")
        values, shape = dense.ravel(), dense.shape
        n, p = shape if dense.ndim == 2 else (0, 0)
        columns, offsets = np.tile(np.arange(p), n), p * np.arange(n + 1)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"probabilities must have shape (n, p), both at least 1; got shape {shape}.")
    if len(values) and not 0.0 <= values.min() <= values.max() <= 1.0:
        wrong = values[(values < 0.0) | (values > 1.0)][0]
        raise ValueError(f"probabilities must be in [0, 1]; got {shown(float(wrong))}.")
    return values, columns, offsets, shape[1]
