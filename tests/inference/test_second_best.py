"""SecondBestLabeling on the zero-one loss equals enumeration, also with unknown labels, and where the truth is best."""

from itertools import product

import numpy as np
import pytest

from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.inference import Auto, SecondBestLabeling
from setwise.losses import CappedLoss, Hamming, Jaccard, ZeroOne

EDGES = np.array([[0, 1], [1, 2], [0, 3], [3, 4], [1, 4], [6, 7], [7, 8]])


def problem(rng, unknown, kind):
    """Two sets, one of which has no edges to two of its nodes; their scores favor the truth more or less."""
    labels = rng.integers(0, 2, 9).astype(np.int8)
    if unknown:
        labels[rng.random(9) < 0.4] = -1
    graphs = Graphs(labels, np.array([0, 6, 9]), EDGES)
    scores = rng.random(graphs.n_scores)
    toward = np.where(graphs.truth, 1.0, -1.0) * rng.choice([0.0, 0.5, 3.0])
    scores[graphs.node_places] = rng.standard_normal(9) + toward
    return graphs, {"reals": scores, "ties": np.round(scores), "zeros": 0 * scores, "huge": 1e9 * scores}[kind]


@pytest.mark.draw(6)
@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("loss", [ZeroOne(), 2.5 * ZeroOne(), ZeroOne() + 0.3 * Hamming()], ids=repr)
def test_it_is_enumeration(loss, unknown):
    rng, truths = np.random.default_rng(0), 0
    rows = np.array(list(product([False, True], repeat=9)))
    for k in range(rounds(60, 25)):
        graphs, scores = problem(rng, unknown, ("reals", "ties", "zeros", "huge", "reals")[k % 5])
        bound_loss = loss.bind(graphs)
        assert isinstance(Auto().choice(bound_loss), SecondBestLabeling)
        found = SecondBestLabeling().prepare(bound_loss).maximize(scores)
        best = np.max([bound_loss.values(row) + graphs.won(scores, row) for row in rows], axis=0)
        slip = 1e-10 * (1.0 + np.abs(scores).max())
        np.testing.assert_allclose(found.values, best, rtol=0, atol=slip)
        assert found.exact.all()
        assert (found.bounds >= best - slip).all()
        truths += (bound_loss.values(found.labels) == 0).sum()
        again = SecondBestLabeling().prepare(bound_loss).take(np.array([1])).maximize(scores[graphs.score_offsets[1] :])
        assert again.values[0] == pytest.approx(found.values[1], abs=slip)
    assert truths > 0


def test_what_does_not_fit_is_refused():
    graphs = Graphs(np.array([True, False]), np.array([0, 2]), np.array([[0, 1]]))
    for bound_loss, words in (
        (ZeroOne().bind(Sets.single([1, 0])), "SecondBestLabeling refuses Sets: it takes Graphs"),
        (Jaccard().bind(graphs), "not all labelings with a mistake cost the same"),
        (Hamming().bind(graphs), "not all labelings with a mistake cost the same"),
        (CappedLoss([1.0, 1.0], 1.5).bind(graphs), "not all labelings with a mistake cost the same"),
    ):
        with pytest.raises(Refusal, match=words):
            SecondBestLabeling().prepare(bound_loss)
    with pytest.raises(Refusal, match="SecondBestLabeling refuses slack rescaling"):
        SecondBestLabeling().prepare(ZeroOne().bind(graphs), slack=True)
