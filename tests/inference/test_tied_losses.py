import numpy as np
import pytest

from setwise.core.inference import Problem
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.inference import Enumeration, Greedy
from setwise.losses import BreakEven, Hamming, PrecisionAtK, RecallAtK
from setwise.surrogates import MarginRescaling


@pytest.mark.parametrize("loss", [BreakEven(), PrecisionAtK(3), RecallAtK(3), 2 * BreakEven()], ids=repr)
def test_a_tie_is_never_dropped_in_silence(loss):
    problem = Problem(loss, Sets.single([0, 1, 1, 0, 0]), np.zeros(5))
    assert loss.tied
    for method in (Enumeration(), Greedy()):
        assert "it ties the number of predicted positives. Use CountSearch" in method.refuses(problem)
    with pytest.raises(Refusal, match="ties the number of predicted positives"):
        loss + Hamming()
    with pytest.raises(Refusal, match="Train for it alone"):
        Hamming() + loss


def test_a_multiple_judges_by_the_same_labeling():
    y, s = np.array([1, 0, 1, 0]), np.array([-1.0, -2.0, -3.0, -4.0])
    sets = Sets.single(y)
    assert (2 * BreakEven()).judge(sets, s)[0] == pytest.approx(2 * BreakEven().judge(sets, s)[0]) == pytest.approx(1.0)


def test_break_even_bounds_its_loss():
    rng = np.random.default_rng(0)
    for _ in range(50):
        y, s = rng.random(12) < 0.4, rng.standard_normal(12)
        assert MarginRescaling(BreakEven())(y, s).value >= BreakEven().judge(Sets.single(y), s)[0] - 1e-12
