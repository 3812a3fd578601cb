import numpy as np
import pytest

from cases import close, submodular_losses
from rounds import rounds
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.inference.greedy_search import upper_bounds


@pytest.mark.draw(6)
@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("p", [1, 2, 4])
def test_no_labeling_is_above_the_bound_whatever_set_is_given(p, slack):
    rng = np.random.default_rng(p)
    every = brute.subsets(p)
    for loss in submodular_losses(p):
        for _ in range(rounds(3, 3 if p < 4 else 1)):
            y, margins = rng.random(p) < 0.5, rng.standard_normal(p) / p
            bound_loss = loss.bind(Sets.single(y))
            values = brute.table(loss, y)
            best = (values * (1.0 - every @ margins) if slack else values - every @ margins).max()
            for mistakes in every:
                bound = upper_bounds(bound_loss, margins, slack, mistakes)[0]
                assert bound >= best or close(bound, best, margins), (loss, y, mistakes)
