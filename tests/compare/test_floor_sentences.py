"""Sentences and pictures of an answer under a floor do not contradict each other."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from compare.test_floors import PRECISION, rare
from compare.test_run import FAST
from setwise.compare import FlooredThreshold, compare
from setwise.compare.answer import ThresholdRange
from setwise.compare.plan import FIRST, PLAIN
from setwise.compare.sentences import headline, verdict


@pytest.fixture(scope="module")
def found():
    plan = replace(FAST, grid=(0.03, 1.0), bases=("linear",), floor=FlooredThreshold(recall=0.85, confidence=0.9))
    return compare(rare(100, shift=1.6), [PRECISION], plan)[0]


def test_the_usual_threshold_is_that_of_the_recommended_model(found):
    # At 0.5 the other constant has the better precision, and the less recall.
    assert (found.winner.key, found.winner.constant) == ((FIRST, "threshold"), 1.0)
    # The drawn curves are those of the recommended model, out of fold on all rows.
    flat, usual = found.winner.flat, found.floored.all_rows[PLAIN]
    drawn = flat.shares[:, np.searchsorted(flat.thresholds, 0.5)]
    assert [usual.recall, usual.precision] == pytest.approx(drawn[:2], abs=0.02)
    model = LogisticRegression(C=found.winner.constant).fit(found.problem.X, found.problem.y)
    calls = (model.predict_proba(found.problem.X)[:, 1] >= 0.5).sum()
    assert usual.called == pytest.approx(calls, abs=3)
    assert "Logistic regression at the usual 0.5 breaks the floor" in headline(found)["FLOOR"][-1]


def test_a_threshold_with_a_floor_is_not_said_to_stay_at_one_half(found):
    flat = replace(found.winner.flat, low=0.4, high=0.6)
    one = replace(found, winner=replace(found.winner, threshold=0.59, flat=flat))
    assert verdict(one) == "Stay with logistic regression, but move its threshold to 0.59."


def test_the_threshold_is_drawn_where_the_recall_is_near_the_floor(found):
    pytest.importorskip("matplotlib")
    from setwise.compare.pictures import threshold

    at = np.linspace(0.0, 1.0, 401)
    flat = ThresholdRange(at, at, 0.02, 0.03, 0.01, np.stack([1.0 - at, at, 1.0 - at]))
    one = replace(found, winner=replace(found.winner, threshold=0.025, flat=flat))
    low, high = threshold(one, flat).axes[0].get_xlim()
    assert low < 0.025
    assert high == pytest.approx(0.35, abs=0.03)
    # Probabilities of rare positives are small, and nothing is to be seen at larger thresholds.
    low, high = threshold(replace(one, plan=replace(one.plan, floor=None)), flat).axes[0].get_xlim()
    assert low < 0.025
    assert high == pytest.approx(0.95, abs=0.01)
