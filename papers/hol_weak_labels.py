"""Weak labels of images after HOL 5.2, and the models that are trained on them."""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, find_objects, label

from papers.hol_images import GraphImages
from setwise.core.attributes import cached_property
from setwise.core.checks import Values
from setwise.core.inference import Inference
from setwise.core.loss import Loss
from setwise.core.networks import Graphs
from setwise.estimators.graph_training import GraphScaling
from setwise.graphs import box_labels, known_part, trimap_labels
from setwise.learners import NRBM, OneSlack
from setwise.losses import Hamming
from setwise.models import GraphModel
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling

EROSION, DILATION = 5.5, 10.0
"""The radii of HOL's erosion and dilation, in pixels of images whose shorter side has 100."""

SPECK = 0.05
"""Pieces of an object with less than this share of its pixels get no box of their own."""

TOL, MOST = 1e-2, 50
"""The gap, and the largest number of iterations, of the descent."""

Masks = Sequence[NDArray[np.int8]]


def boxes(mask: NDArray[np.int64]) -> NDArray[np.int8]:
    """Labels of an image by the boxes of the connected pieces of its object: 0 outside of all boxes, -1 inside."""
    pieces, count = label(mask)
    sizes = np.bincount(pieces.ravel(), minlength=count + 1)
    corners = [
        (rows.start, columns.start, rows.stop, columns.stop)
        for i, (rows, columns) in enumerate(find_objects(pieces), 1)
        if sizes[i] >= SPECK * sizes[1:].sum()
    ]
    return box_labels(mask.shape, np.array(corners, dtype=np.int64).reshape(-1, 4))[0]


def fullness(masks: Sequence[NDArray[np.int64]]) -> float:
    """The mean share of the pixels in boxes that belong to the object."""
    return float(np.mean([mask[boxes(mask) == -1].mean() for mask in masks]))


def eroded(mask: NDArray[np.int64]) -> NDArray[np.int8]:
    """A trimap: 1 in the object eroded by a disk, -1 within the dilation of that, 0 elsewhere.

    Where nothing is left of the object all is 0, as in HOL: small objects vanish.
    """
    scale = min(mask.shape) / 100.0
    # Nothing outside of the image is known, so its border erodes nothing.
    core = mask == 1 if mask.all() else distance_transform_edt(mask) > EROSION * scale
    near = distance_transform_edt(~core) <= DILATION * scale if core.any() else core
    return trimap_labels(core, ~near)


@final
class WeakImages:
    """Images to train on, with weak labels in place of the true ones.

    Parameters
    ----------
    part : the images
    labels : the weak labels of each image, (H, W) int8 of -1, 0, 1
    edges : whether the model has edges
    C : HOL's constant, for sums over images and pixels; the training here has twice that, for HOL adds ``|w|^2`` and
        setwise half of it
    """

    def __init__(self, part: GraphImages, labels: Masks, edges: bool, C: float) -> None:
        self.graphs = Graphs.images(list(labels)) if edges else _bare(labels)
        X = np.concatenate([graph.X for graph in part.graphs])
        Z = np.concatenate([graph.Z for graph in part.graphs])[: len(self.graphs.edges)]
        self.scaling = GraphScaling.of(X, Z, True)
        self.X, self.Z, self.C = self.scaling.nodes(X), Z / self.scaling.edge_mean, C * len(labels)

    def features(self) -> GraphModel:
        """The model of the scores of all pixels."""
        return GraphModel(self.X, self.Z, self.graphs, 1.0)

    @cached_property
    def known(self) -> Values:
        """Scaled weights of the SVM of known pixels and of the edges between them ("Modified Loss SVM")."""
        graphs, nodes, edges = known_part(self.graphs)
        return self._svm(GraphModel(self.X[nodes], self.Z[edges], graphs, 1.0), graphs)

    @cached_property
    def filled(self) -> Values:
        """Scaled weights of the SVM that takes unknown pixels for positive: a box for the truth."""
        graphs = Graphs(self.graphs.labels != 0, self.graphs.offsets, self.graphs.edges)
        return self._svm(GraphModel(self.X, self.Z, graphs, 1.0), graphs)

    def _svm(self, features: GraphModel, graphs: Graphs) -> Values:
        w: Values = OneSlack(self.C, TOL).minimize(MeanRisk(features, MarginRescaling(Hamming()).on(graphs))).w
        return w

    def train(self, loss: Loss, start: Values, inference: Inference | None = None) -> tuple[Values, float]:
        """Scaled weights of margin rescaling of a loss with completions, and the share of the start's objective."""
        risk = MeanRisk(self.features(), MarginRescaling(loss, inference).on(self.graphs))
        before = 0.5 * float(start @ start) + self.C * risk.cut(start).value
        fit = NRBM(self.C, TOL, MOST).minimize(risk, w0=start)
        return fit.w, fit.objective / before

    def given(self, w: Values) -> Values:
        """Weights for features as given: of nodes, of the constant, of edges."""
        coef, bias, edges = self.scaling.given(w)
        return np.concatenate([coef[0], bias, np.maximum(edges, 0.0)])


def _bare(labels: Masks) -> Graphs:
    """The images without edges."""
    ends = np.concatenate([[0], np.cumsum([one.size for one in labels])])
    return Graphs(np.concatenate([one.ravel() for one in labels]), ends, np.zeros((0, 2), dtype=np.int64))
