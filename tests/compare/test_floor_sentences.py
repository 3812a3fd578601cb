"""Sentences and pictures of an answer under a floor do not contradict each other."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from compare.test_floors import PRECISION, rare
from compare.test_run import FAST
from setwise.compare import FlooredThreshold, compare
from setwise.compare.answer import ThresholdRange
from setwise.compare.floor_sentences import chance_below, lower, often
from setwise.compare.plan import FIRST, PLAIN
from setwise.compare.report import write_report
from setwise.compare.sentences import headline
from setwise.estimators.selection.floors import FloorShares


@pytest.fixture(scope="module")
def found():
    plan = replace(FAST, grid=(0.03, 1.0), bases=("linear",), floor=FlooredThreshold(recall=0.85, confidence=0.9))
    return compare(rare(100, shift=1.6), [PRECISION], plan)[0]


def with_shares(found, whole, parts, **plan):
    """The answer with other shares of the recommended way, on all rows and on the outer test parts."""
    key = found.winner.key
    plan = replace(found.plan, **plan)
    folds = tuple({key: part} for part in parts)
    floored = replace(found.floored, floor=plan.floor, all_rows={key: whole}, folds=folds)
    return replace(found, floored=floored, plan=plan)


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
    assert "The same model at the usual 0.5 breaks the floor" in " ".join(headline(found)["HOW MUCH"])


def test_a_threshold_with_a_floor_is_not_said_to_stay_at_one_half(found):
    flat = replace(found.winner.flat, low=0.4, high=0.6)
    one = replace(found, winner=replace(found.winner, threshold=0.59, flat=flat))
    assert "move its threshold to 0.59" in headline(one)["WHAT TO DO"][0]


def test_a_small_chance_is_not_called_none():
    assert (often(0.0), often(0.004), often(0.149)) == ("less than 1 %", "less than 1 %", "15 %")


@pytest.mark.parametrize(("right", "ends"), [(860, "."), (990, ", so the folds differ by more than chance.")])
def test_one_miss_of_three_parts_is_by_chance_or_not(found, right, ends):
    whole = FloorShares(right, 2000, 1000, 5000, True)
    parts = [FloorShares(round(right * 2), 400, 200, 1000, right >= 85) for right in (95, 80, 90)]
    text = " ".join(headline(with_shares(found, whole, parts))["HOW MUCH"])
    chance = often(chance_below(0.85, 200, right / 1000))
    assert (
        f"2 of 3 kept the floor. At a recall of .{right} a part with 200 positive rows misses the floor by chance in "
        f"{chance} of the cases{ends}"
    ) in text


def test_the_lower_figure_of_the_folds_is_explained(found):
    whole = FloorShares(90, 300, 100, 1000, True)
    for called, said in ((400, True), (300, False), (250, False)):
        parts = [FloorShares(90, called, 100, 1000, True)] * 3
        text = " ".join(headline(with_shares(found, whole, parts))["HOW MUCH"])
        assert ("A fair precision for new rows lies between .225 and .300: the first is of" in text) == said


def test_a_file_may_miss_the_floor_by_chance(found):
    whole = FloorShares(900, 2000, 1000, 5000, True)
    text = " ".join(headline(with_shares(found, whole, [whole] * 3))["EXPECT"])
    chance = 100 * chance_below(0.85, 100, 0.9)
    assert (
        f"at a recall of .900 a file with 100 positive rows misses the floor by chance in {chance:.0f} % of the cases."
        in text
    )
    free = with_shares(found, whole, [whole] * 3, floor=FlooredThreshold(recall=0.85))
    assert "long run" not in " ".join(headline(free)["EXPECT"])


@pytest.mark.slow
def test_the_picture_says_why_the_threshold_keeps_a_distance(found, tmp_path):
    pytest.importorskip("matplotlib")
    from setwise.compare.pictures import threshold

    (axes,) = threshold(found, found.winner.flat).axes
    (band,) = [one for one in axes.collections if one.get_label() == "lower end: recall that is 90 % sure"]
    corners, at = band.get_paths()[0].vertices, found.winner.threshold
    places = np.unique(corners[:, 0])
    ends = corners[corners[:, 0] == places[np.argmin(np.abs(places - at))], 1]
    reached = found.floored.all_rows[found.winner.key]
    assert ends.min() == pytest.approx(lower(reached.found, reached.positives, 0.9), abs=0.02)
    assert ends.max() == pytest.approx(reached.recall, abs=0.02)
    text = write_report(tmp_path, [found], "rare", 1.0)[0].read_text("utf-8")
    assert "the lower end of a band below the recall is the recall that is sure." in text


def test_the_threshold_is_drawn_where_the_recall_is_near_the_floor(found):
    pytest.importorskip("matplotlib")
    from setwise.compare.pictures import threshold

    at = np.linspace(0.0, 1.0, 401)
    flat = ThresholdRange(at, at, 0.02, 0.03, 0.01, np.stack([1.0 - at, at, 1.0 - at]))
    one = replace(found, winner=replace(found.winner, threshold=0.025, flat=flat))
    low, high = threshold(one, flat).axes[0].get_xlim()
    assert low < 0.025
    assert high == pytest.approx(0.35, abs=0.03)


def test_the_picture_of_ways_has_no_way_that_breaks_the_floor(found):
    pytest.importorskip("matplotlib")
    from setwise.compare.pictures import ways

    assert PLAIN not in found.floored.able
    (axes,) = ways(found).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["tuned threshold"]
