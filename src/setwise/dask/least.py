"""The labeling of least expected loss of probabilities on the workers of a Dask cluster."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client

from setwise.core.loss import Loss
from setwise.dask.clusters import cluster
from setwise.dask.partitions import partitions
from setwise.dask.workers import Workers, packs_of
from setwise.decisions.expected_loss import DecisionInPieces
from setwise.distributed.decisions import NAME, as_probabilities, least_of, predicted, ties_of
from setwise.losses import as_loss


def least_expected_loss(
    probabilities: Any, loss: Loss | str = "f1", tol: float = 1e-3, client: Client | None = None
) -> DecisionInPieces:
    """``argmin over h of E[loss(y, h)]`` for all rows as one set, where ``y_i = 1`` with probability ``q_i``.

    It is :func:`setwise.decisions.least_expected_loss` of the joined vector: the k most probable decisions are
    predicted. The probabilities stay on the workers, which send histograms of them, the distributions of two counts,
    whose length is that of a few standard deviations, and at most some thousand single probabilities; see
    :class:`setwise.decisions.expected_loss_pieces.LeastInPieces`.

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
    series = [delayed(_series)(some, part) for some, part in parts]
    meta = pd.Series([], dtype=bool, name=probabilities.name, index=probabilities._meta.index[:0])
    return dd.from_delayed(series, meta=meta, divisions=probabilities.divisions, verify_meta=False)


def _series(labels: Any, part: Any) -> Any:
    import pandas as pd

    return pd.Series(np.asarray(labels), index=part.index, name=part.name)
