"""The loss of images of which a core and a rim are known: between them, labels should not come back outwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import LARGEST_FACTOR, Ints, as_array, as_number, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.networks import Graphs
from setwise.core.pages import WEAK_LABELS
from setwise.core.terms import Mistakes, PathOrders
from setwise.kernels.networks import arcs
from setwise.kernels.paths import distances_inward, next_inward, path_ends, trace_paths


@final
@dataclass(frozen=True, eq=False, repr=False)
class BorderConvexity(Loss):
    """``mistakes on known labels + alpha |{paths whose labels from inside to outside are not 1, .., 1, 0, .., 0}|``.

    The local border convexity of images of which a core and a rim are known; at least 0. A batch tells the trimap by
    its labels: 1 definitely inside, 0 definitely outside, -1 the band between them. On
    :class:`setwise.core.Graphs` the paths are shortest ones along edges, through unknown nodes alone: first from
    each node next to a 0, by number, that no path before passes, then from each other node that no path before passes,
    farthest first. A path goes on to the neighbor of smallest number that is one step closer to a node next to a 1.
    Unknown nodes from which no path leads to a 1 are free. A batch without unknown labels has the number of mistakes as
    its loss.

    The labelings without a loss are the best ones of one minimum cut. Margin rescaling is bounded: paths may share
    nodes.

    Source: HOL Eq. 8.

    Parameters
    ----------
    alpha : the cost of a path, > 0
    paths : the decisions along each path from inside to outside, all of them without a known label, for batches without
        edges or in place of the shortest paths: a sequence of int64 arrays (length,), those of the first set first

    Raises
    ------
    Refusal : for a batch with unknown labels and without edges, if no paths are given
    TypeError : if alpha is no number, or paths no sequence of one array or more
    ValueError : if alpha is not above 0, or a path holds anything but numbers of decisions without a known label

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.losses import BorderConvexity
    >>> # A core, a band of three pixels, a rim.
    >>> row = Graphs.images(np.array([[[1, -1, -1, -1, 0]]], np.int8))
    >>> # The band changes once.
    >>> BorderConvexity(2.0).values(row, [1, 1, 0, 0, 0]).item()
    0.0
    >>> # A 1 comes after a 0.
    >>> BorderConvexity(2.0).values(row, [1, 0, 0, 1, 0]).item()
    2.0
    """

    alpha: float = 1.0
    paths: Sequence[Any] | None = None

    name: ClassVar[str] = "border_convexity"
    traits = frozenset()
    weak = True

    def __post_init__(self) -> None:
        as_number(self.alpha, "alpha", low=0.0, high=LARGEST_FACTOR, open_low=True)
        if self.paths is not None:
            if isinstance(self.paths, str | bytes) or not isinstance(self.paths, Sequence) or not len(self.paths):
                raise TypeError(f"paths must be a sequence of one int64 array or more; got {shown(self.paths)}.")
            object.__setattr__(self, "paths", tuple(_as_path(path) for path in self.paths))

    @classmethod
    def examples(cls, p: int) -> "list[BorderConvexity]":
        return [BorderConvexity(), BorderConvexity(2.5)]

    def of_one_batch(self, batch: Batch) -> bool:
        return self.paths is not None

    def check(self, batch: Batch) -> None:
        for path in self.paths or ():
            if path.max() >= batch.total or (batch.labels[path] != -1).any():
                raise ValueError(f"paths must hold decisions of the batch without a known label; got {shown(path)}.")

    def _bind(self, batch: Batch) -> BoundLoss:
        known = Mistakes(np.ones(batch.total))
        if batch.known is None:
            return BoundLoss(batch, (known,))
        if self.paths is not None:
            members = np.concatenate([*self.paths, np.zeros(0, np.int64)])
            starts = np.concatenate(([0], np.cumsum([len(path) for path in self.paths]))).astype(np.int64)
        elif isinstance(batch, Graphs):
            members, starts = shortest_paths(batch)
        else:
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: paths need neighbors. Use Graphs, or give paths=...",
                WEAK_LABELS,
            )
        if not len(members):
            return BoundLoss(batch, (known,))
        owners = batch.owners[members[starts[:-1]]]
        return BoundLoss(batch, (known, PathOrders(members, starts, owners, np.full(len(owners), float(self.alpha)))))

    def __repr__(self) -> str:
        return f"BorderConvexity({self.alpha:g}{'' if self.paths is None else f', {len(self.paths)} paths'})"


def shortest_paths(graphs: Graphs) -> tuple[Ints, Ints]:
    """The nodes along the paths of :class:`BorderConvexity`, from inside to outside, and where each path begins.

    Returns ``members`` (entries,) and ``starts`` (paths + 1,), both int64, set by set.
    """
    network, _ = arcs(graphs.edges, graphs.total)
    labels = np.where(graphs.truth, 1, 0) if graphs.known is None else graphs.labels.astype(np.int64)
    distances = distances_inward(labels, network.first, network.heads)
    inward = next_inward(distances, network.first, network.heads)
    ends = path_ends(labels, network.first, network.heads, distances, inward)
    ends = ends[np.argsort(graphs.owners[ends], kind="stable")]
    starts = np.concatenate(([0], np.cumsum(distances[ends])))
    return trace_paths(ends, inward, starts), starts


def _as_path(path: Any) -> Ints:
    """Returns the decisions along one path, checked."""
    found = as_array(path, "paths")
    if found.ndim != 1 or not found.size or found.dtype.kind not in "iu" or found.min() < 0:
        raise ValueError(f"paths must be arrays of whole numbers from 0 on, one or more; got {shown(path)}.")
    return found.astype(np.int64)
