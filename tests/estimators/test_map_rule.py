"""Rules for maps: the choice, its parts against brute force, dependence and shift, and what is refused."""

import numpy as np
import pytest
from scipy.special import softmax

from setwise import MapRule, ShiftWarning
from setwise.core.exceptions import Refusal
from setwise.decisions.map_rules import (
    MULTIPLIERS,
    MapMeasure,
    PixelSample,
    tallies_along,
    tally_of,
    tuned_rule,
    whole_rule,
)
from setwise.estimators.map_rule import CANDIDATES
from setwise.losses import FBeta, Jaccard


def maps(seed, n=40, side=12, classes=3, bias=0.0):
    """Probabilities of maps whose rare classes get too little, and their labels, which come in patches."""
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, (n, side // 4, side // 4), p=np.array([0.8, 0.12, 0.08])[:classes] / 1.0)
    y = y.repeat(4, axis=1).repeat(4, axis=2)
    logits = 2.0 * np.eye(classes)[y].transpose(0, 3, 1, 2) + rng.standard_normal((n, classes, side, side))
    logits[:, 0] += 1.5
    logits[:, 1:] += bias
    return logits, y


def measured(labels, target, over, loss=None, first=0, ignore=None):
    """The measure by loops over maps and classes."""
    loss, classes = loss or Jaccard(), range(first, int(target.max()) + 1)

    def of(h, y, c):
        seen = np.ones(y.shape, bool) if ignore is None else y != ignore
        return loss((y == c)[seen].ravel(), (h == c)[seen].ravel())

    if over == "dataset":
        return 1 - np.mean([of(labels, target, c) for c in classes if (target == c).any()])
    pairs = zip(labels, target, strict=True)
    each = [[of(h, y, c) for c in classes if over == "all" or (y == c).any()] for h, y in pairs]
    return 1 - np.mean([np.mean(one) for one in each if one])


@pytest.mark.parametrize("over", ["dataset", "present", "all"])
def test_measures_are_those_of_loops(over):
    rng = np.random.default_rng(0)
    y, h = rng.integers(0, 3, (2, 6, 5, 5))
    y[0], y[1] = 0, 2
    for loss in (Jaccard(), FBeta()):
        tallies = np.stack([tally_of(a.ravel(), b.ravel(), 3) for a, b in zip(h, y, strict=True)])
        for first in (0, 1):
            found = MapMeasure(loss, over, first).values(tallies, np.ones((1, 6)))[0]
            assert found == pytest.approx(measured(h, y, over, loss, first))


@pytest.mark.parametrize("over", ["dataset", "present", "all"])
def test_a_gain_comes_from_the_maps_without_which_it_is_lost(over):
    rng = np.random.default_rng(0)
    y, h, plain = rng.integers(0, 3, (3, 8, 5, 5))
    y[0], y[1], plain[2] = 0, 2, h[2]
    owners = np.array([0, 0, 1, 2, 3, 3, 4, 5])
    lost = []
    for owner in range(6):
        kept = np.where((owners == owner)[:, None, None], plain, h)
        lost.append(measured(h, y, over) - measured(kept, y, over))
    ours, theirs = (
        np.stack([tally_of(a.ravel(), b.ravel(), 3) for a, b in zip(g, y, strict=True)]) for g in (h, plain)
    )
    found = MapMeasure(Jaccard(), over, 0).carriers(theirs, ours, owners)
    assert found == pytest.approx(np.abs(lost).sum() ** 2 / (np.array(lost) ** 2).sum())
    assert MapMeasure(Jaccard(), over, 0).carriers(theirs, theirs, owners) == 0


@pytest.mark.parametrize("over", ["dataset", "present", "all"])
def test_all_multipliers_of_a_class_are_tried_at_once(over):
    logits, y = maps(0, n=6)
    q = softmax(logits, axis=1).reshape(6, 3, -1).transpose(0, 2, 1).reshape(-1, 3)
    drawn = PixelSample(q, y.ravel(), np.repeat(np.arange(6), 144), np.ones(len(q)), 6)
    logs = np.log(q)
    logs[:, 2] = -np.inf
    other = logs.argmax(axis=1)
    place = np.searchsorted(MULTIPLIERS, logs.max(axis=1) - np.log(q[:, 2]), side="right")
    found = MapMeasure(Jaccard(), over, 0).values(tallies_along(drawn, place, other, 2), np.ones((1, 6)))[..., 0]
    for k in range(0, len(MULTIPLIERS), 7):
        h = (q * np.exp([0.0, 0.0, MULTIPLIERS[k]])).argmax(axis=1).reshape(y.shape)
        assert found[k] == pytest.approx(measured(h, y, over), abs=1e-9)
    rule = tuned_rule(drawn, MapMeasure(Jaccard(), over, 0))
    assert measured(rule.labels(q.T).reshape(y.shape), y, over) >= found.max() - 1e-9


def test_the_whole_set_is_decided_for_the_least_expected_loss():
    # Of two classes the rule is a threshold; all are tried on the expected counts.
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2.0, 4000)
    q = np.column_stack([1 - p, p])
    drawn = PixelSample(q, np.zeros(4000, int), np.zeros(4000, int), np.ones(4000), 1)
    h = whole_rule(drawn, MapMeasure(Jaccard(), "dataset", 1)).labels(q.T) == 1

    def expected(h):
        return p[h].sum() / (p.sum() + h.sum() - p[h].sum())

    assert expected(h) == pytest.approx(max(expected(p > t) for t in np.linspace(0, 1, 500)), abs=1e-4)


@pytest.mark.draw(3)
@pytest.mark.parametrize("over", ["dataset", "present", "all"])
def test_the_gain_is_that_of_new_maps(over):
    (logits, y), (new, truth) = maps(1, n=60), maps(2, n=200)
    rule = MapRule(over, random_state=0).fit(logits, y)
    # Of all classes in each map the best rule is within two standard errors of none.
    assert (rule.rule_ == "plain") == (over == "all")
    gain = measured(rule.predict(new), truth, over) - measured(new.argmax(axis=1), truth, over)
    assert abs(gain - rule.gain_) < 4 * rule.gain_se_ + 0.01
    assert gain > 0 or rule.rule_ == "plain"
    row = next(row for row in rule.table_ if row["rule"] == rule.rule_)
    assert row[over] - rule.table_[0][over] == pytest.approx(rule.gain_)
    assert str(rule).startswith(CANDIDATES[rule.rule_])


def discs(rng, n, empty, side=24):
    """Noisy probabilities of masks that hold a disc, too low by 1.5 in the logit, or are empty."""
    y, grid = np.zeros((n, side, side), int), np.mgrid[:side, :side]
    for i in np.flatnonzero(rng.random(n) >= empty):
        center, radius = rng.uniform(0, side, 2), rng.uniform(1.5, 7)
        y[i] = ((grid - center[:, None, None]) ** 2).sum(axis=0) < radius**2
    noise = 1.2 * rng.standard_normal((n, 1, 1)) + rng.standard_normal((n, side, side))
    return (4.0 * y - 3.5 + noise)[:, None], y


@pytest.mark.slow
def test_no_rule_rests_on_a_few_maps_that_have_the_object():
    gains = []
    for seed in range(20, 40):
        rng = np.random.default_rng(seed)
        rule = MapRule("present", random_state=0).fit(*discs(rng, 12, 0.9))
        if rule.rule_ != "plain":
            new, truth = discs(rng, 150, 0.9)
            labels = (measured(h, truth, "present", first=1) for h in (rule.predict(new), (new[:, 0] > 0).astype(int)))
            gains.append(next(labels) - next(labels))
    assert all(gain > -0.005 for gain in gains), gains


@pytest.mark.slow
def test_nothing_is_gained_where_objects_are_absent_and_pixels_depend_on_each_other():
    rng = np.random.default_rng(0)
    q = np.full((60, 1, 32, 32), 0.01)
    q[:30, 0, 5:15, 5:15] = 0.9
    y = (q[:, 0] > 0.5) & (rng.random((60, 32, 32)) < 0.9)
    for over in ("dataset", "present", "all"):
        rule = MapRule(over, from_logits=False, random_state=0).fit(q, y)
        assert (rule.predict(q) == (q[:, 0] > 0.5)).all()
    # If pixels were independent an object would nearly never be absent, but half of the maps have none.
    expected, true = rule.absent_
    assert expected < 0.01
    assert true == 0.5


def test_small_spots_are_left_out_where_a_least_area_pays():
    rng = np.random.default_rng(0)
    q = np.full((80, 1, 16, 16), 0.05)
    q[:40, 0, 4:12, 4:12] = 0.9
    q[np.arange(80), 0, rng.integers(0, 3, 80), rng.integers(0, 16, 80)] = 0.7
    y = np.zeros((80, 16, 16), bool)
    y[:40, 4:12, 4:12] = True
    rule = MapRule("all", from_logits=False, random_state=0).fit(q, y)
    assert rule.gain_ > 0.4
    assert measured(rule.predict(q).astype(int), y.astype(int), "all", first=1) == pytest.approx(1.0)


def test_maps_without_labels_give_the_rule_of_the_whole_set():
    logits, y = maps(1, n=60)
    rule = MapRule("dataset", random_state=0).fit(logits[:25])
    assert rule.rule_ == "whole"
    assert np.isnan(rule.gain_)
    assert measured(rule.predict(logits), y, "dataset") > measured(logits.argmax(axis=1), y, "dataset")
    with pytest.raises(ValueError, match="target may be None for over='dataset' alone; got over='all'"):
        MapRule("all").fit(logits)


def test_maps_of_another_source_are_flagged():
    logits, y = maps(1, n=60)
    rule = MapRule("dataset", random_state=0).fit(logits, y)
    rule.predict(maps(3, n=60)[0])
    assert rule.shift(maps(3, n=60)[0]) < 0.7
    with pytest.warns(ShiftWarning, match=r"these 60 maps are unlike the 60 maps of the fit: .* an AUC of"):
        rule.predict(maps(3, n=60, bias=1.0)[0])


def test_groups_stay_together_and_pixels_may_be_ignored():
    logits, y = maps(1, n=30)
    frames = np.repeat(np.arange(6), 5)
    target = y.copy()
    target[:, :2] = 255
    rule = MapRule("dataset", ignore_index=255, random_state=0).fit(logits, target, groups=frames)
    base = measured(logits.argmax(axis=1), target * (target < 255) + (target == 255) * 0, "all")
    assert rule.table_[0]["accuracy"] == pytest.approx((logits.argmax(axis=1) == y)[:, 2:].mean())
    assert base > 0
    with pytest.raises(ValueError, match="cv must be at most the number of maps or groups, 6; got 7"):
        MapRule("dataset", cv=7).fit(logits, y, groups=frames)


def test_tensors_lists_and_files_are_taken():
    torch = pytest.importorskip("torch")
    logits, y = maps(1, n=20)
    plain = MapRule("dataset", random_state=0).fit(logits, y)
    tensors = MapRule("dataset", random_state=0).fit(torch.from_numpy(logits), torch.from_numpy(y))
    listed = MapRule("dataset", random_state=0).fit(list(logits), list(y))
    assert np.allclose(plain.a_, tensors.a_)
    assert np.allclose(plain.a_, listed.a_)
    found = tensors.predict(torch.from_numpy(logits))
    assert torch.is_tensor(found)
    assert (found.numpy() == plain.predict(logits)).all()
    mixed = listed.predict([logits[0], logits[1][:, :8]])
    assert [labels.shape for labels in mixed] == [(12, 12), (8, 12)]


def test_probabilities_where_logits_are_wanted_are_told():
    logits, y = maps(1, n=20)
    q = softmax(logits, axis=1)
    with pytest.warns(
        UserWarning, match=r"all numbers of logits\[0\] are in \[0, 1\], like probabilities, but MapRule"
    ):
        MapRule("dataset", random_state=0).fit(q, y)
    MapRule("dataset", from_logits=False, random_state=0).fit(q, y)


@pytest.mark.draw(2)
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_tensors_of_half_precision_are_taken(kind):
    torch = pytest.importorskip("torch")
    logits, y = maps(1, n=20)
    half, target = torch.from_numpy(logits).to(getattr(torch, kind)), torch.from_numpy(y)
    rule = MapRule("dataset", random_state=0).fit(half, target)
    single = MapRule("dataset", random_state=0).fit(half.float(), target)
    assert np.array_equal(rule.a_, single.a_)
    assert torch.equal(rule.predict(half), single.predict(half.float()))
    assert rule.shift(half) == single.shift(half.float())
    MapRule("dataset", from_logits=False, random_state=0).fit(half.float().softmax(dim=1).to(half.dtype), target)


@pytest.mark.parametrize(
    ("change", "kind", "sentence"),
    [
        ({"over": "mean"}, ValueError, "over must be one of 'dataset', 'present', 'all'; got 'mean'"),
        ({"loss": "auc"}, (TypeError, Refusal), "loss must be of the kind CountLoss"),
        ({"cv": 1}, ValueError, "cv must be at least 2; got 1"),
        ({"pixels": 0}, ValueError, "pixels must be at least 1; got 0"),
        ({"from_logits": 1}, TypeError, "from_logits must be True or False; got 1"),
        ({"logits": iter([1])}, TypeError, "logits must be an array, a tensor or a sequence of maps; got"),
        ({"logits": []}, ValueError, "logits must hold a map; got none"),
        ({"logits": np.zeros((6, 3), int)}, ValueError, r"logits\[0\] must be floats of shape \(C, ...\); got int64"),
        ({"logits": np.full((6, 3, 2, 2), np.nan)}, ValueError, r"logits\[0\] must be finite; got NaN or inf"),
        (
            {"target": np.zeros((5, 2, 2), int)},
            ValueError,
            "target must have one map for each of the 6 maps of logits; got 5",
        ),
        ({"target": np.zeros((6, 2, 3), int)}, ValueError, r"target\[0\] must be whole numbers of shape \(2, 2\)"),
        (
            {"logits": np.zeros((6, 2, 2))},
            ValueError,
            r"logits must be maps \(n, C, H, W\), .*; got logits\[0\] and target\[0\] both of shape \(2, 2\)",
        ),
        (
            {"logits": np.zeros((6, 2, 2)), "from_logits": False},
            ValueError,
            r"logits\[0\] must be probabilities with the sum 1 over the classes C, .* got a map of shape \(2, 2\)",
        ),
        ({"target": np.full((6, 2, 2), 3)}, ValueError, r"target\[0\] must hold labels 0..2, or ignore_index; got 3"),
        ({"from_logits": False}, ValueError, r"logits\[0\] must be probabilities with the sum 1"),
        ({"groups": np.zeros(6)}, ValueError, "cv must be at most the number of maps or groups, 1; got 5"),
    ],
)
def test_what_does_not_fit_is_refused(change, kind, sentence):
    given = {"logits": np.zeros((6, 3, 2, 2)), "target": np.zeros((6, 2, 2), int), "groups": None} | change
    options = {name: given.pop(name) for name in list(given) if name not in ("logits", "target", "groups")}
    with pytest.raises(kind, match=sentence):
        MapRule(options.pop("over", "dataset"), **options).fit(given["logits"], given["target"], given["groups"])
