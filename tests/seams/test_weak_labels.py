"""Weak labels in training: the surrogate is what enumeration says, and alternation with completions descends."""

import numpy as np
import pytest

from losses.small_networks import ROWS, boxed, grid, labelings, scored, values_of, won_by
from rounds import rounds
from setwise.core.inference import Maximizer, Solutions
from setwise.core.networks import Graphs
from setwise.graphs import box_labels, known_part, trimap_labels
from setwise.inference import Auto, FactorDecomposition
from setwise.inference.reductions import CachedMaximizer
from setwise.learners import NRBM, ConvexConcaveProcedure, OneSlack
from setwise.losses import BorderConvexity, BoxFullness, Hamming, Jaccard
from setwise.models import GraphModel
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling, Ramp

EDGES, ENDS = grid(3, 4), np.array([0, 12])
FEW = labelings(4)
SIDE, ONE = 8, grid(8, 8)


def images(seed, n=2):
    """Disks with noisy grey values, and their boxes and trimaps, as labels."""
    rng = np.random.default_rng(seed)
    row, column = np.indices((SIDE, SIDE))
    disks, boxes, maps = [], [], []
    for _ in range(n):
        far = np.hypot(row - rng.uniform(3, 4), column - rng.uniform(3, 4))
        disk = far < rng.uniform(2, 3)
        rows, columns = np.flatnonzero(disk.any(axis=1)), np.flatnonzero(disk.any(axis=0))
        disks.append(disk)
        boxes.append(box_labels(disk.shape, [[rows[0], columns[0], rows[-1] + 1, columns[-1] + 1]])[0])
        maps.append(trimap_labels(far < 1.0, far > 3.7))
    disks, boxes, maps = (np.ravel(part) for part in (disks, boxes, maps))
    graphs = Graphs(disks, np.arange(n + 1) * SIDE**2, np.vstack([ONE + i * SIDE**2 for i in range(n)]))
    return graphs, (disks + 0.7 * rng.standard_normal(len(disks)))[:, None], boxes, maps


def labeled(graphs, labels):
    return Graphs(labels, graphs.offsets, graphs.edges)


@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", [BoxFullness(0.6), BoxFullness((0.3, 0.5)), BorderConvexity(2.0), Jaccard()], ids=repr)
@pytest.mark.parametrize("inference", [None, FactorDecomposition()])
def test_the_surrogate_lies_between_the_loss_and_its_bound(loss, inference):
    rng = np.random.default_rng(0)
    exact = 0
    for _ in range(rounds(20, 8)):
        labels = boxed(rng, "strokes")
        labels[0] = 0
        graphs = Graphs(labels, ENDS, EDGES)
        bound_loss, scores = loss.bind(graphs), scored(rng, graphs)
        losses, won = values_of(bound_loss, ROWS), won_by(graphs, scores, ROWS)
        least = losses <= losses.min() + 1e-9
        truth = (losses + won).max() - won[least].max()
        found = MarginRescaling(loss, inference).on(graphs)(scores)
        assert found.upper[0] >= truth - 1e-9
        assert truth >= losses[won >= won.max() - 1e-12].min() - 1e-9, "it is not below the loss of the prediction"
        if found.exact[0]:
            exact += 1
            assert found.values[0] == pytest.approx(truth, abs=1e-9)
        ramp = Ramp(loss, inference).on(graphs)(scores)
        assert ramp.upper[0] >= (losses + won).max() - won.max() - 1e-9
        assert ramp.upper[0] <= found.upper[0] + 1e-9
    assert exact >= rounds(5, 2)


def test_several_images_of_a_set_have_a_joint_share():
    rng = np.random.default_rng(8)
    for _ in range(10):
        # An image that does not show the object, two that do, one known label; and a set of one image.
        labels = [np.full((2, 2), known, np.int8) for known in (0, -1, -1, -1)]
        labels[1][0, 0] = rng.integers(0, 2)
        graphs, ratios = Graphs.images(labels, offsets=[0, 3, 4]), rng.random(2)
        surrogate, bound_loss = MarginRescaling(BoxFullness(ratios)).on(graphs), BoxFullness(ratios).bind(graphs)
        scores = scored(rng, graphs)
        found = surrogate(scores)
        for i, (rows, known, ratio) in enumerate(((ROWS, graphs.labels[:12], ratios[0]), (FEW, labels[3], ratios[1]))):
            free = np.ravel(known) == -1
            losses = np.abs(rows[:, free].sum(axis=1) - ratio * free.sum())
            losses += (rows[:, ~free] != (np.ravel(known)[~free] == 1)).sum(axis=1)
            one = bound_loss.take(np.array([i]))
            np.testing.assert_allclose(values_of(one, rows), losses)
            own = scores[graphs.score_offsets[i] : graphs.score_offsets[i + 1]]
            won = won_by(one.batch, own, rows)
            truth = (losses + won).max() - won[losses <= losses.min() + 1e-9].max()
            assert found.upper[i] >= truth - 1e-9
            assert found.values[i] == pytest.approx(truth, abs=1e-9) or not found.exact[i]


@pytest.mark.draw(6)
@pytest.mark.parametrize(
    "learner", [NRBM(C=2.0, tol=1e-2, max_iter=15), ConvexConcaveProcedure(C=2.0, tol=1e-2, max_iter=15)]
)
@pytest.mark.parametrize("loss", [BoxFullness(0.7, unit="share"), BorderConvexity(2.0)], ids=repr)
def test_training_descends_and_beats_its_start(loss, learner):
    graphs, grey, boxes, maps = images(1)
    weak = labeled(graphs, boxes if isinstance(loss, BoxFullness) else maps)
    features = GraphModel(grey, np.ones((len(graphs.edges), 1)), graphs)
    # The first completions are those of a model of the known nodes, or of boxes that are taken for the truth.
    part, nodes, edges = known_part(weak if isinstance(loss, BorderConvexity) else labeled(graphs, boxes == -1))
    known = GraphModel(grey[nodes], features.Z[edges], part)
    start = OneSlack(C=2.0, tol=1e-2).minimize(MeanRisk(known, MarginRescaling(Hamming()).on(part))).w
    risk = MeanRisk(features, MarginRescaling(loss).on(weak))
    before = 0.5 * start @ start + 2.0 * risk.cut(start).value
    fit = learner.minimize(risk, w0=start)
    assert fit.objective < 0.999 * before
    if isinstance(loss, BoxFullness):
        # The first maximum is exact here, and no later completion is worse than those that the learner saw.
        assert 0.5 * fit.w @ fit.w + 2.0 * risk.cut(fit.w).value <= fit.objective + 1e-9


class WorseningMaximizer(Maximizer):
    """Finds the best labeling at first, and worse and worse ones later."""

    def __init__(self, bound_loss, worse=None):
        self.method, self.bound_loss, self.slack, self.worse = Auto(), bound_loss, False, worse or []

    def take(self, parts):
        return WorseningMaximizer(self.bound_loss.take(parts), self.worse)

    def solve(self, scores, tol):
        labels = np.arange(self.bound_loss.batch.total) >= len(self.worse)
        self.worse.append(0)
        found = self.solved(scores, labels)
        return Solutions(labels, found.values, found.values + 5.0, np.zeros(len(found.values), dtype=bool))


def test_a_completion_is_given_up_for_better_ones_alone():
    labels = np.full(6, -1, np.int8)
    bound_loss = Hamming().bind(Graphs(labels, np.array([0, 3, 6]), np.zeros((0, 2), np.int64)))
    kept = CachedMaximizer(WorseningMaximizer(bound_loss))
    ones = np.ones(6)
    assert kept.maximize(ones).values.tolist() == [3.0, 3.0]
    found = kept.maximize(ones)
    assert found.values.tolist() == [3.0, 3.0]
    assert found.labels.all()
    assert not found.exact.any()
    part = kept.take(np.array([1]))
    assert part.maximize(ones[:3]).values.tolist() == [3.0]
    # At other scores the labeling from before is worse, and what is found takes its place.
    found = kept.maximize(-ones)
    assert found.values.tolist() == [0.0, -3.0]
    assert kept.take(np.array([0])).maximize(-ones[:3]).values.tolist() == [0.0]


def test_boxes_trimaps_and_known_parts():
    labels, numbers = box_labels((4, 5), [[0, 0, 3, 4], [1, 1, 3, 2], [2, 2, 2, 5], [2, 3, 4, 5]])
    assert labels.tolist() == [[-1, -1, -1, -1, 0]] * 2 + [[-1] * 5, [0, 0, 0, -1, -1]]
    assert numbers.tolist() == [[0] * 4 + [-1], [0, 1, 0, 0, -1], [0, 1, 0, 3, 3], [-1, -1, -1, 3, 3]]
    none, numbers = box_labels((2, 2), [])
    assert none.tolist() == [[0, 0], [0, 0]]
    assert numbers.max() == -1
    core = np.array([[True, False, False]])
    assert trimap_labels(core, np.array([[False, False, True]])).tolist() == [[1, -1, 0]]
    graphs = Graphs(np.array([1, -1, 0, -1, -1, 0, 1], np.int8), np.array([0, 3, 5, 7]), np.array([[0, 2], [5, 6]]))
    part, nodes, edges = known_part(graphs)
    assert part.labels.tolist() == [True, False, False, True]
    assert part.offsets.tolist() == [0, 2, 4]
    assert part.edges.tolist() == [[0, 1], [2, 3]]
    assert (nodes.tolist(), edges.tolist()) == ([0, 2, 5, 6], [0, 1])
