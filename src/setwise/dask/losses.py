"""The loss of predictions on the workers of a Dask cluster, and the labeling of least expected loss."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client
from numpy.typing import NDArray

from setwise.core.checks import Values, as_float64, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import PLACES_REFUSE
from setwise.dask.workers import Workers, as_series, cluster, packs_of, partitions, placed_columns
from setwise.decisions.expected_loss import DecisionInPieces
from setwise.distributed.decisions import NAME, as_probabilities, least_of, predicted, ties_of
from setwise.distributed.rows import mean_loss_of
from setwise.estimators.sets import is_missing
from setwise.losses import as_loss


def least_expected_loss(
    probabilities: Any, loss: Loss | str = "f1", tol: float = 1e-3, client: Client | None = None
) -> DecisionInPieces:
    """``argmin over h of E[loss(y, h)]`` for all rows as one set, where ``y_i = 1`` with probability ``q_i``.

    It is :func:`setwise.decisions.least_expected_loss` of the joined vector: the k most probable decisions are
    predicted. The probabilities stay on the workers, which send histograms of them, the distributions of two counts,
    whose length is that of a few standard deviations, and at most some thousand single probabilities; see
    :class:`setwise.decisions.expected_loss_pieces.LeastExpectedLossInPieces`.

    Parameters
    ----------
    probabilities : a Dask array (n,) or series, or a list of delayed flat arrays; in [0, 1]
    loss : an increasing function of the counts of mistakes, or its name
    tol : the gap between the expected loss and its bound at which the search may stop; 0 finds the best
    client : the client of the cluster; None takes the one that was made last, or starts a cluster on this machine for
        the time of the call, and warns of that

    Returns
    -------
    DecisionInPieces : its ``labels`` are a collection of bools of the kind of the probabilities, not computed yet

    Raises
    ------
    Refusal : for other losses
    TypeError : for what is no Dask collection
    ValueError : for what are no probabilities

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from setwise.dask import least_expected_loss
    >>> q = da.from_array(np.array([0.9, 0.6, 0.4, 0.35, 0.1]), chunks=2)
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     found = least_expected_loss(q, "f1", client=client)
    ...     print(found.size, round(found.value, 3), found.labels.compute().tolist())
    3 0.311 [True, True, True, False, False]
    """
    bound, parts = as_loss(loss), partitions(probabilities, NAME, "setwise.decisions.least_expected_loss")
    with cluster(client) as at:
        held = at.compute([delayed(as_probabilities)(part) for part in parts])
        places = Workers(at, len(parts), packs_of(at, held))
        kept = places.hold(held)
        found = least_of(places, kept, bound, tol)
        ties = ties_of(places, kept, found)
    labels = [delayed(predicted)(part, found.threshold, some) for part, some in zip(parts, ties, strict=True)]
    return replace(found, labels=_like(probabilities, labels))


def _like(probabilities: Any, labels: Sequence[Any]) -> Any:
    """The labels of all partitions as a collection of the kind of the probabilities."""
    if isinstance(probabilities, da.Array):
        sizes = probabilities.chunks[0]
        return da.concatenate([da.from_delayed(part, (n,), bool) for part, n in zip(labels, sizes, strict=True)])
    if isinstance(probabilities, list | tuple):
        return list(labels)
    import dask.dataframe as dd
    import pandas as pd

    parts = zip(labels, partitions(probabilities, NAME), strict=True)
    series = [delayed(as_series)(some, part, probabilities.name) for some, part in parts]
    meta = pd.Series([], dtype=bool, name=probabilities.name, index=probabilities._meta.index[:0])
    return dd.from_delayed(series, meta=meta, divisions=probabilities.divisions, verify_meta=False)


def mean_loss(
    y: Any,
    predictions: Any,
    loss: Loss | str = "jaccard",
    groups: Any = None,
    *,
    pos_label: Any = 1,
    client: Client | None = None,
) -> float:
    """The mean of ``loss(y, predictions)`` over sets, exact however their rows are spread over a Dask cluster.

    It is no mean of what partitions or workers would find: a set is one set, and so are its pairs for the ROC area.
    What travels are counts; for the ROC area counts in bins, and scores of bins in which both classes lie; and for
    other rankings the scores of sets that span partitions.

    Parameters
    ----------
    y : the labels (n,), of two kinds at most: a Dask array or series, or a list of delayed arrays
    predictions : (n,) like ``y``: predicted labels for losses of labels, such as F1; scores for rankings, such as the
        ROC area
    loss : a loss, or its name
    groups : the id of the set of each row, (n,); None makes all rows one set
    pos_label : the positive one of the labels
    client : the client of the cluster; None takes the one that was made last, or starts a cluster on this machine for
        the time of the call, and warns of that

    Returns
    -------
    loss : the mean over sets, a number

    Raises
    ------
    Refusal : for a loss of more than two classes, and where a ranking needs too many scores in one place
    TypeError : for what is no Dask collection
    ValueError : for other labels, NaN, inf and gaps, and where the lengths differ

    Examples
    --------
    Two hits, a false alarm and a miss in two partitions, so F1 is 2/3:

    >>> import dask.array as da
    >>> from distributed import Client
    >>> from setwise.dask import mean_loss
    >>> y, guess = (da.from_array(np.array(row), chunks=2) for row in ([1, 1, 0, 1], [1, 1, 1, 0]))
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     print(round(mean_loss(y, guess, "f1", client=client), 3))
    0.333
    """
    bound = as_loss(loss)
    if bound.reads == "classes":
        raise Refusal(f"mean_loss refuses {bound!r}, which is for more than two classes.", PLACES_REFUSE)
    if np.ndim(pos_label) or is_missing(pos_label):
        raise ValueError(f"pos_label must be one label; got {shown(pos_label)}.")
    with cluster(client) as at:
        found = placed_columns(at, predictions, y, groups)
        for size, other in zip(found.places.tell(len, found.X), found.places.tell(len, found.y), strict=True):
            if size != other:
                raise ValueError(
                    "predictions and y must have the same number of rows in each partition; "
                    f"got {size} and {other} in one."
                )
        parts = found.places.tell(np.unique, found.y)
        if bound.reads == "labels":
            parts += found.places.tell(np.unique, found.X)
        labels = {label for part in parts for label in part.tolist()}
        if not labels:
            raise ValueError("y must not be empty in all partitions.")
        if len(labels) > 2 or (len(labels) == 2 and pos_label not in labels):
            raise ValueError(
                f"y and predictions must hold two labels, of which one is pos_label={pos_label!r}; got "
                f"{', '.join(sorted(map(repr, labels))[:10])}."
            )
        scores = found.places.keep(_signs if bound.reads == "labels" else _scores, found.X, pos_label)
        return mean_loss_of(found, bound, found.positives(pos_label), scores)


def _signs(predicted: NDArray[Any], positive: Any) -> Values:
    """1 for the positive label, and -1 for the other one, (m,)."""
    return np.where(predicted == positive, 1.0, -1.0)


def _scores(predicted: NDArray[Any], positive: Any) -> Values:
    """The scores, (m,)."""
    if predicted.dtype.kind not in "biuf":
        raise ValueError(f"predictions must be scores for a loss that reads a ranking; got dtype {predicted.dtype}.")
    return as_float64(predicted, predicted, "predictions")
