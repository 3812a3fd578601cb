"""The loss of rows in several places is that of all rows, also where they are not brought together."""

import numpy as np
import pytest

from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.surrogate import Piece, ended
from setwise.decisions import threshold_pieces
from setwise.decisions.threshold_pieces import twice_swapped
from setwise.distributed import rows as of_sets
from setwise.distributed.rows import LossesOfSets, area_factor
from setwise.losses import NDCG, AreaWeightedLoss, AveragePrecision, Jaccard, RocArea
from setwise.risks.places import LocalObjects, LocalPlaces


def counted(truth, scores, edges, log=None):
    """Twice the number of swapped pairs of pieces that end at the edges."""
    pieces = [Piece(s, y) for s, y in zip(np.split(scores, edges), np.split(truth, edges), strict=True)]

    def ask(question):
        answers = [question(piece) for piece in pieces]
        if log is not None:
            log.append(sum(np.concatenate(answer).size for answer in answers if isinstance(answer, list)))
        return answers

    return ended(twice_swapped(), ask)


def by_pairs(truth, scores):
    """Twice the number, from all pairs."""
    above = scores[~truth][:, None] - scores[truth][None, :]
    return int(2 * (above > 0).sum() + (above == 0).sum())


def scores_of(kind, p, rng):
    normal = rng.normal(size=p)
    return {
        "normal": normal,
        "float32": normal.astype(np.float32),
        "tied": np.round(normal),
        "constant": np.full(p, -3.5),
        "huge": normal * 1e307,
        "tiny": normal * 1e-300,
        "far apart": normal * 10.0 ** rng.integers(-300, 300, p),
        "zeros": np.where(rng.random(p) < 0.5, 0.0, -0.0),
        "near": 1.0 + np.spacing(1.0) * rng.integers(0, 9, p),
    }[kind]


@pytest.mark.draw(2)
@pytest.mark.parametrize("sent", [1, 7, 1 << 22])
@pytest.mark.parametrize(
    "kind", ["normal", "float32", "tied", "constant", "huge", "tiny", "far apart", "zeros", "near"]
)
def test_the_number_of_swapped_pairs(kind, sent, monkeypatch):
    monkeypatch.setattr(threshold_pieces, "SENT", sent)
    monkeypatch.setattr("setwise.decisions.levels.BINS", 16)
    rng = np.random.default_rng(0)
    for _ in range(25):
        p = int(rng.integers(1, 60))
        truth = rng.random(p) < rng.choice([0.0, 0.1, 0.5, 1.0])
        scores = scores_of(kind, p, rng)
        edges = np.sort(rng.integers(0, p + 1, rng.integers(0, 8)))
        assert counted(truth, scores, edges) == by_pairs(truth, scores.astype(float))


def test_scores_are_sent_in_turn(monkeypatch):
    monkeypatch.setattr(threshold_pieces, "SENT", 1_000)
    rng, log = np.random.default_rng(1), []
    truth = rng.random(40_000) < 0.3
    scores = rng.normal(size=40_000) + truth
    found = counted(truth, scores, [100, 9_000], log)
    pairs = int(truth.sum()) * int((~truth).sum())
    assert found == round(2 * pairs * RocArea()(truth.astype(int), scores))
    assert max(log) <= 2_000
    # Scores that separate the classes are hardly sent at all.
    log.clear()
    assert counted(truth, np.where(truth, 2.0, 0.0) + rng.random(40_000), [100], log) == 0
    assert sum(log) <= 1_000


def test_numbers_beyond_int64():
    # 2^33 positives lie below as many negatives, and equal as many others.
    counts = np.array([[1 << 33, 0], [1 << 33, 1 << 33]])
    found = threshold_pieces._twice(counts, np.array([True, True]))
    assert found == 3 * (1 << 66)


def spread(column, edges):
    return None if column is None else LocalObjects(np.split(column, edges))


def reference(loss, truth, scores, ids):
    order = np.argsort(ids, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.unique(ids, return_counts=True)[1])))
    return float(loss.values(Sets(truth[order], offsets), scores[order]).mean())


@pytest.mark.draw(12)
@pytest.mark.parametrize("loss", [RocArea(), 0.25 * RocArea(), AveragePrecision(), NDCG()], ids=repr)
@pytest.mark.parametrize("kind", ["int", "text", "unsigned", None])
def test_the_mean_over_sets(loss, kind, monkeypatch):
    rng = np.random.default_rng(2)
    for turn in range(200 if kind == "int" else 20):
        monkeypatch.setattr(of_sets, "FEW", int(rng.choice([1, 10, 50])))
        most = 40 if area_factor(loss) is not None else 400
        monkeypatch.setattr(of_sets, "MOST", most)
        monkeypatch.setattr(threshold_pieces, "SENT", int(rng.choice([5, 1000])))
        p = int(rng.integers(1, 400))
        truth = rng.random(p) < rng.choice([0.0, 0.3, 1.0])
        scores = np.round(rng.normal(size=p), int(rng.integers(0, 5)))
        numbers = np.zeros(p, int) if kind is None else rng.integers(0, rng.integers(1, 12), p)
        if turn % 2:
            numbers = np.sort(numbers)
        ids = {"text": np.char.add("a", numbers.astype(str)), "unsigned": numbers.astype(np.uint64) + (1 << 63)}.get(
            kind, numbers
        )
        edges = np.sort(rng.integers(0, p + 1, rng.integers(0, 8)))
        given = None if kind is None else spread(ids, edges)
        placed = LocalPlaces(len(edges) + 1), loss, spread(truth, edges), spread(scores, edges), given
        found = LossesOfSets(*placed).mean()
        assert found == pytest.approx(reference(loss, truth, scores, ids), abs=1e-12)


def test_many_small_sets_of_other_rankings_need_not_come_together(monkeypatch):
    rng = np.random.default_rng(3)
    truth, scores, ids = rng.random(300) < 0.4, rng.normal(size=300), np.sort(rng.integers(0, 40, 300))
    monkeypatch.setattr(of_sets, "MOST", 30)
    places, given = LocalPlaces(3), [spread(column, [90, 200]) for column in (truth, scores, ids)]
    found = LossesOfSets(places, AveragePrecision(), *given).mean()
    assert found == pytest.approx(reference(AveragePrecision(), truth, scores, ids), abs=1e-12)
    with pytest.raises(Refusal, match=r"needs all scores of a set in one place, 300 of 30"):
        LossesOfSets(places, AveragePrecision(), *given[:2], None).mean()
    with pytest.raises(Refusal, match=r"needs all scores in one place, 300 of 30"):
        LossesOfSets(places, AreaWeightedLoss(Jaccard(), np.ones(300)), *given).mean()


def test_places_must_have_as_many_rows():
    with pytest.raises(ValueError, match="equally many rows in each place; got 3 and 2"):
        LossesOfSets(
            LocalPlaces(1), RocArea(), LocalObjects([np.array([True, False])]), LocalObjects([np.zeros(3)]), None
        ).mean()


def test_what_is_a_multiple_of_the_area():
    assert [area_factor(loss) for loss in (RocArea(), 0.5 * RocArea(), NDCG(), 2.0 * NDCG())] == [1.0, 0.5, None, None]


def test_a_large_set():
    rng, log = np.random.default_rng(4), []
    truth = rng.random(300_000) < 0.02
    scores = (rng.normal(size=300_000) + truth).astype(np.float32)
    edges = np.sort(rng.integers(0, 300_000, 7))
    found = LossesOfSets(LocalPlaces(8), RocArea(), spread(truth, edges), spread(scores, edges), None).mean()
    assert found == pytest.approx(reference(RocArea(), truth, scores, np.zeros(300_000, int)), abs=1e-15)
    twice = counted(truth, scores, edges, log)
    assert twice == round(2 * found * int(truth.sum()) * int((~truth).sum()))
