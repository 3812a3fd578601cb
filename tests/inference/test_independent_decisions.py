"""Graphs without edges are independent decisions."""

import numpy as np
import pytest

from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.inference import Auto, EdgelessReduction
from setwise.losses import Hamming, Jaccard, ZeroOne


@pytest.mark.parametrize("slack", [False, True])
def test_graphs_without_edges_are_independent_decisions(slack):
    rng = np.random.default_rng(0)
    graphs = Graphs(rng.random(9) < 0.5, np.array([0, 4, 9]), np.zeros((0, 2), np.int64))
    sets, s = Sets(graphs.labels, graphs.offsets), rng.standard_normal(9)
    for loss in (Hamming(), Jaccard(), ZeroOne()):
        one, other = (Auto().prepare(loss.bind(batch), slack) for batch in (graphs, sets))
        assert isinstance(one.method, EdgelessReduction)
        found, expected = one.maximize(s), other.maximize(s)
        assert (found.labels == expected.labels).all()
        assert found.values == pytest.approx(expected.values)
        assert found.exact.all()
        if not slack:
            assert one.max_marginals(s) == pytest.approx(other.max_marginals(s))
        part = one.take(np.array([1])).maximize(s[4:])
        assert part.values == pytest.approx(expected.values[1:])
    edged = Graphs(graphs.labels, graphs.offsets, np.array([[0, 1]]))
    with pytest.raises(Refusal, match="EdgelessReduction refuses Jaccard.* on graphs with edges"):
        EdgelessReduction(Auto()).prepare(Jaccard().bind(edged))
