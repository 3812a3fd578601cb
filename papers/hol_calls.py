"""Single loss-augmented calls of HOL's pairwise models, timed beside those of the paper."""

from time import process_time

import numpy as np

from papers.experiment import Table
from papers.hol_images import GraphImages
from setwise.core.checks import Values
from setwise.core.loss import Loss
from setwise.core.networks import Graphs
from setwise.inference import Auto
from setwise.losses import ZeroOne
from setwise.models import GraphModel


def timed(loss: Loss, w: Values, one: GraphImages) -> tuple[float, float]:
    """The CPU seconds of one loss-augmented call on an image with edges, and the gap at its end."""
    batch = Graphs.images([mask == 1 for mask in one.masks])
    scores = GraphModel(one.graphs[0].X, one.graphs[0].Z, batch).scores(w)
    scale = 1.0 if isinstance(loss, ZeroOne) else float(batch.total)
    start = process_time()
    found = Auto().prepare(loss.bind(batch)).maximize(scores / scale, tol=1e-3)
    return process_time() - start, float(found.bounds[0] - found.values[0])


def seconds(calls: list[tuple[str, float, float]]) -> tuple[Table, str]:
    """The table of loss-augmented calls, and a sentence that compares them with HOL."""
    names = list(dict.fromkeys(call[0] for call in calls))
    rows = []
    for name in names:
        took, gaps = np.array([call[1:] for call in calls if call[0] == name]).T
        rows.append((float(np.median(took)), float(took.max()), float(np.median(gaps)), float(gaps.max())))
    means = np.array(rows)
    columns = ("median seconds", "longest", "median gap", "largest gap")
    title = (
        "One loss-augmented call of a pairwise model, CPU seconds from a cold start; the gap is in units of the loss."
    )
    table = Table(title, tuple(names), columns, means, best=np.zeros(means.shape, dtype=bool), digits=4)
    return table, (
        f"HOL: one loss-augmented call takes 2 to 120 seconds. Here the longest of {len(calls)} took "
        f"{means[:, 1].max():.2f} seconds, the median of Jaccard {means[names.index('Jaccard'), 0]:.3f}."
    )
