"""Labels that are not known are completed: a difference of two maxima, its majorant, and descent by alternation."""

import numpy as np
import pytest

from cases import every_loss
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.learners import OneSlack
from setwise.losses import Hamming, Jaccard
from setwise.models import RowModel
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling


def partly_known(rng, p=5):
    return Sets(rng.integers(-1, 2, p).astype(np.int8), np.array([0, p]))


def by_enumeration(loss, sets, s):
    """``max_y [loss + <s, y>] - max over labelings of least loss <s, y>``."""
    bound_loss, rows = loss.bind(sets), brute.labelings(sets.total, 2)
    values = bound_loss.take(np.zeros(len(rows), dtype=np.int64)).values(rows.ravel())
    return (values + rows @ s).max() - (rows @ s)[values <= values.min() + 1e-12].max()


@pytest.mark.slow
def test_the_value_is_what_enumeration_says():
    rng = np.random.default_rng(0)
    for loss in every_loss(5):
        for _ in range(4):
            sets, s = partly_known(rng), rng.standard_normal(5)
            if sets.known is None:
                continue
            try:
                evaluator = MarginRescaling(loss).on(sets)
            except Refusal as refusal:
                words = ("does not tell which of its labelings have the least value", "paths need neighbors")
                assert any(one in str(refusal) for one in words)
                continue
            except ValueError as error:
                # The known labels of a bag may rule out its range.
                assert "low and high must hold a number of positives that set 0 may have" in str(error)
                continue
            found = evaluator(s)
            assert not evaluator.convex
            assert found.values[0] == pytest.approx(by_enumeration(loss, sets, s), abs=1e-9)
            assert found.values[0] >= evaluator.floor
            assert found.upper[0] >= found.values[0] - 1e-12
            majorant = evaluator.majorant(s)
            assert majorant.convex
            assert majorant(s).values[0] == pytest.approx(found.values[0], abs=1e-9)
            for other in rng.standard_normal((5, 5)):
                assert majorant(other).values[0] >= evaluator(other).values[0] - 1e-9


def test_alternation_descends():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    truth = X[:, 0] + 0.3 * rng.standard_normal(60) > 0
    sets = Sets(np.where(rng.random(60) < 0.5, -1, truth).astype(np.int8), np.arange(0, 61, 6))
    for loss in (Jaccard(), Hamming()):
        risk = MeanRisk(RowModel(X, sets.offsets), MarginRescaling(loss).on(sets))
        with pytest.raises(Refusal, match="OneSlack refuses a risk that is not convex"):
            OneSlack().minimize(risk)
        w, C = np.zeros(3), 10.0
        before = 0.5 * w @ w + C * risk.cut(w).value
        for _ in range(4):
            w = OneSlack(C=C, tol=1e-6).minimize(risk.majorant(w), w0=w).w
            now = 0.5 * w @ w + C * risk.cut(w).value
            assert now <= before + 1e-5 * (1 + abs(before))
            before = now
