"""Surrogates of losses of whole bags: objectives against enumeration, descent, refusals, saving and Ctrl-C."""

import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from setwise import WeakSetClassifier
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.surrogate import Surrogate
from setwise.estimators.weak import methods
from setwise.estimators.weak.bags import Bagging
from setwise.estimators.weak.knowledge import Knowledge, Posterior
from setwise.estimators.weak.methods import Completions
from setwise.estimators.weak.problem import CONSTANT_FEATURE, BagProblem, FitProgress, FitSettings, descend_by_bundles
from setwise.losses import MCC, AreaWeightedLoss, BoxFullness, CountRange, FBeta, Hamming, PrecisionAtK
from setwise.risks import MeanRisk
from setwise.surrogates import LovaszHinge, MarginRescaling, MultilabelHinge, Ramp, SlackRescaling


def known_bags(rng, bags=6):
    """Bags of 1 to 6 rows with all kinds of knowledge, some rows known; the range and the labels of each bag."""
    sizes = rng.integers(1, 7, bags)
    owners = np.repeat(np.arange(bags), sizes)
    labels = np.where(rng.random(len(owners)) < 0.25, rng.integers(0, 2, len(owners)), -1).astype(np.int8)
    given, unknown = np.bincount(owners, labels == 1).astype(int), np.bincount(owners, labels == -1).astype(int)
    low = given + np.floor(rng.random(bags) * (unknown + 1)).astype(int)
    # A number, a range, a least number; and never all numbers at once, which says nothing.
    high = np.choose(rng.integers(0, 3, bags), [low, np.minimum(low + 1, given + unknown), given + unknown])
    low = np.where((low == 0) & (high == sizes), 1, low)
    return Knowledge.of(Bagging.of(owners, len(owners)), labels, low, high)


def agreeing(knowledge, b):
    """All labelings of a bag, and a mask of those that agree with what is known."""
    labels = knowledge.sets.labels[knowledge.sets.offsets[b] : knowledge.sets.offsets[b + 1]]
    rows = np.array(list(product((0, 1), repeat=len(labels))))
    counts = rows.sum(axis=1)
    agree = ((rows == labels) | (labels == -1)).all(axis=1)
    return rows, agree & (counts >= knowledge.low[b]) & (counts <= knowledge.high[b])


def f1(rows, truth):
    both = 2.0 * (rows & truth).sum(axis=1)
    total = rows.sum(axis=1) + truth.sum()
    return np.where(total == 0, 0.0, 1.0 - both / np.maximum(total, 1))


def hamming(rows, truth):
    return (rows != truth).sum(axis=1).astype(float)


def mcc(rows, truth):
    sets = Sets(np.tile(truth == 1, len(rows)), np.arange(len(rows) + 1) * len(truth))
    return MCC().values(sets, rows.ravel())


def margin(losses, won, at_truth):
    return (losses + won - at_truth).max()


def slack(losses, won, at_truth):
    return (losses * (1.0 + won - at_truth)).max()


def ramp(losses, won, at_truth):
    return (losses + won).max() - won.max()


WITH_TRUTH = [
    (MarginRescaling("f1"), f1, margin),
    (SlackRescaling("f1"), f1, slack),
    (Ramp("f1"), f1, ramp),
    (MarginRescaling(2 * Hamming() + FBeta()), lambda rows, y: 2 * hamming(rows, y) + f1(rows, y), margin),
    (LovaszHinge("hamming"), hamming, margin),
    (MarginRescaling("mcc"), mcc, margin),
]
NAMES = [repr(one[0]) for one in WITH_TRUTH]


def brute(knowledge, scores, labels, loss, rescaled):
    """The surrogate of each bag against the given labels, by enumeration."""
    found = []
    for b in range(len(knowledge)):
        part = slice(knowledge.sets.offsets[b], knowledge.sets.offsets[b + 1])
        rows, _ = agreeing(knowledge, b)
        won = rows @ scores[part]
        found.append(rescaled(loss(rows, labels[part].astype(int)), won, labels[part] @ scores[part]))
    return np.array(found)


class ProgressRecorder(FitProgress):
    """Keeps the objectives that are shown."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def step(self, objective, iteration):
        self.seen.append((iteration, objective))


def objective(model, values, C):
    w = np.append(model.w[:-1], model.w[-1] / CONSTANT_FEATURE)
    return 0.5 * w @ w + C * values.sum()


@pytest.mark.draw(6)
@pytest.mark.parametrize(("surrogate", "loss", "rescaled"), WITH_TRUTH, ids=NAMES)
def test_rounds_of_completions_descend_on_what_enumeration_computes(surrogate, loss, rescaled):
    rng, longest = np.random.default_rng(0), 0
    for _ in range(20):
        knowledge = known_bags(rng)
        C = rng.choice([0.1, 1.0, 10.0])
        problem = BagProblem(rng.standard_normal((len(knowledge.order), 2)), knowledge)
        watch, bags = ProgressRecorder(), Completions(knowledge, surrogate)
        found = methods.alternated(problem, 3 * rng.standard_normal(3), FitSettings(C, 0.0, 50, watch=watch), bags)
        s, labels = found.scores(problem.X), bags.labels
        values = brute(knowledge, s, labels, loss, rescaled)
        np.testing.assert_allclose(found.objective, objective(found, values, C), rtol=1e-9)
        for b in range(len(knowledge)):
            rows, agree = agreeing(knowledge, b)
            part = slice(knowledge.sets.offsets[b], knowledge.sets.offsets[b + 1])
            assert (rows[agree] == labels[part]).all(axis=1).any()
        shown = np.array([value for _, value in watch.seen])
        assert (np.diff(shown) <= 1e-9 * np.abs(shown[:-1])).all()
        rounds = sum(iteration == 1 for iteration, _ in watch.seen)
        longest = max(longest, rounds)
        assert found.status == "converged"
        if found.message.startswith("no bag"):
            proposed = Posterior(knowledge)(s, np.inf) > 0.5
            assert (brute(knowledge, s, proposed, loss, rescaled) >= values - 1e-9).all()
    assert longest >= 2


@pytest.mark.draw(10)
@pytest.mark.parametrize(("surrogate", "loss", "rescaled"), WITH_TRUTH, ids=NAMES)
def test_a_bag_takes_another_labeling_where_that_costs_less(surrogate, loss, rescaled):
    rng, refused, taken = np.random.default_rng(1), 0, 0
    for _ in range(60):
        knowledge = known_bags(rng)
        bags, n = Completions(knowledge, surrogate), len(knowledge.order)
        bags.improve(rng.standard_normal(n))
        first, s = bags.labels, np.round(rng.choice([0.1, 2.0]) * rng.standard_normal(n), 2)
        proposed = Posterior(knowledge)(s, np.inf) > 0.5
        before = brute(knowledge, s, first, loss, rescaled)
        after = brute(knowledge, s, proposed, loss, rescaled)
        changed = bags.improve(s)
        np.testing.assert_allclose(bags.evaluator(s).values, np.minimum(before, after), atol=1e-9)
        assert changed == (after < before - 1e-8).any()
        refused, taken = refused + (after > before + 1e-9).sum(), taken + (after < before - 1e-9).sum()
    assert taken > 20
    # Where the number of positives is open the labeling of greatest score may have a larger loss to fear.
    assert (refused > 0) == (loss is mcc)


@pytest.mark.draw(3)
@pytest.mark.parametrize(("surrogate", "loss", "rescaled"), WITH_TRUTH, ids=NAMES)
def test_with_a_known_number_the_labeling_of_greatest_score_costs_least(surrogate, loss, rescaled):
    rng = np.random.default_rng(2)
    for _ in range(30):
        knowledge = known_bags(rng)
        s = np.round(rng.choice([0.1, 2.0]) * rng.standard_normal(len(knowledge.order)), 2)
        bags = Completions(knowledge, surrogate)
        bags.improve(s)
        found = bags.evaluator(s).values
        for b in np.flatnonzero(knowledge.low == knowledge.high):
            part = slice(knowledge.sets.offsets[b], knowledge.sets.offsets[b + 1])
            rows, agree = agreeing(knowledge, b)
            each = [rescaled(loss(rows, y), rows @ s[part], y @ s[part]) for y in rows[agree]]
            np.testing.assert_allclose(found[b], min(each), atol=1e-9)


@pytest.mark.draw(4)
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", [MarginRescaling, Ramp])
def test_losses_that_say_what_is_known_are_judged_against_zero_completions(kind, named):
    rng = np.random.default_rng(2)
    for _ in range(30):
        knowledge = known_bags(rng)
        problem = BagProblem(rng.standard_normal((len(knowledge.order), 2)), knowledge)
        loss = knowledge.loss if named else 2 * knowledge.loss + Hamming()
        found = descend_by_bundles(problem, kind(loss).on(knowledge.sets), rng.standard_normal(3), FitSettings(2.0))
        s, values = found.scores(problem.X), []
        for b in range(len(knowledge)):
            part = slice(knowledge.sets.offsets[b], knowledge.sets.offsets[b + 1])
            labels, (rows, agree) = knowledge.sets.labels[part], agreeing(knowledge, b)
            wrong = (rows != labels)[:, labels >= 0].sum(axis=1)
            given, some = rows[:, labels == -1].sum(axis=1) + (labels == 1).sum(), (labels == -1).any()
            outside = np.maximum(np.maximum(knowledge.low[b] - given, given - knowledge.high[b]), 0) * some
            # Hamming is a mean over known labels here, as unknown ones are no mistakes.
            each = wrong + outside if named else 2 * (wrong + outside) + wrong
            won = rows @ s[part]
            assert (each[agree] == 0).all()
            values.append((each + won).max() - (won[agree].max() if kind is MarginRescaling else won.max()))
        np.testing.assert_allclose(found.objective, objective(found, np.array(values), 2.0), rtol=1e-9)


def drawn(seed=0, bags=40, size=10):
    """Rows in bags of random shares, their labels, the bag of each, and the numbers of positives."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(bags), size)
    y = (rng.random(bags * size) < rng.beta(0.8, 1.2, bags)[groups]).astype(int)
    X = rng.standard_normal((bags * size, 3)) * [1, 5, 100] + (y[:, None] * [2, 0, -100]) + 3
    return X, y, groups, np.bincount(groups, y, bags).astype(int)


TAUGHT = [
    MarginRescaling("f1"),
    SlackRescaling("f1"),
    LovaszHinge("jaccard"),
    Ramp("hamming"),
    MarginRescaling("auc"),
    MarginRescaling(BoxFullness((0.0, 1.0)) + 0.5 * Hamming()),
]


@pytest.mark.parametrize("surrogate", [*TAUGHT[:-1], MarginRescaling(PrecisionAtK(3))], ids=repr)
def test_counts_teach_rows(surrogate):
    X, y, groups, counts = drawn()
    model = WeakSetClassifier(method=surrogate, C=1.0).fit(X, groups=groups, counts=counts)
    new, truth, *_ = drawn(1, 100)
    full = LogisticRegression().fit(X, y).score(new, truth)
    # F1 has more rows predicted positive than accuracy has.
    assert (model.predict(new) == truth).mean() > full - 0.04
    assert model.method_ == repr(surrogate)
    assert model.choice_ == f"{surrogate!r} with C = 1, as asked for"


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", [None, "f1"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_ramp_begins_at_its_convex_bound(loss, C):
    X, y, groups, counts = drawn()
    pair = ("margin", "ramp") if loss is None else (MarginRescaling(loss), Ramp(loss))
    above, below = (WeakSetClassifier(method=each, C=C).fit(X, groups=groups, counts=counts) for each in pair)
    assert below.objective_ < above.objective_
    assert (below.predict(X) == y).mean() > 0.8


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_values_of_bags_in_a_loss_follow_the_sorted_ids(order):
    X, _, groups, counts = drawn()
    places = np.arange(400) if order == "sorted" else np.random.default_rng(0).permutation(400)
    names = np.array([f"bag {b:02}" for b in groups])[places]
    given = dict(zip(np.unique(names), counts.tolist(), strict=True))
    named = WeakSetClassifier(method="margin").fit(X[places], groups=names, counts=given)
    for loss in (CountRange(counts, counts), BoxFullness(counts / 10)):
        model = WeakSetClassifier(method=MarginRescaling(loss)).fit(X[places], groups=names, counts=given)
        # The race takes the values of its bags too.
        assert [(one.C, one.method == "constant") for one in model.candidates_] == [
            (one.C, one.method == "constant") for one in named.candidates_
        ]
        likelihoods = [[one.likelihood for one in each.candidates_] for each in (model, named)]
        np.testing.assert_allclose(likelihoods[0], likelihoods[1], rtol=1e-4)
        np.testing.assert_allclose(model.coef_, named.coef_, rtol=1e-3)
    with pytest.raises(ValueError, match="low must be one whole number or 40, one for each set; got 39"):
        WeakSetClassifier(method=MarginRescaling(CountRange(counts[1:])), C=1.0).fit(X, groups=groups, counts=counts)


def test_a_loss_of_ones_own_replaces_what_is_told():
    # The loss says that 70 % of each bag are positive; the counts serve the start and the scale of the log-odds.
    X, y, groups, counts = drawn()
    plain = WeakSetClassifier(method=MarginRescaling(CountRange(counts, counts)), C=1.0)
    other = clone(plain).set_params(method=MarginRescaling(BoxFullness(0.7)))
    plain.fit(X, groups=groups, counts=counts)
    other.fit(X, groups=groups, counts=counts)
    assert abs(plain.predict(X).mean() - y.mean()) < 0.1
    assert y.mean() < 0.45
    assert other.predict(X).mean() > 0.55


def test_a_ranking_has_the_boundary_of_greatest_likelihood():
    X, y, groups, counts = drawn()
    model = WeakSetClassifier(method=MarginRescaling("auc"), C=1.0).fit(X, groups=groups, counts=counts)
    assert abs(model.predict(X).mean() - y.mean()) < 0.1
    interval = model.interval_
    np.testing.assert_allclose(interval.low, -interval.high, rtol=0.2)
    # Other losses set a boundary, and the factor alone is chosen.
    margin = WeakSetClassifier(method=MarginRescaling("f1"), C=1.0).fit(X, groups=groups, counts=counts)
    assert abs(margin.interval_.low + margin.interval_.high) > 1e-3


def test_multiple_instances_by_a_loss_of_one_number():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 6)
    y = (rng.random(600) < 0.15).astype(int)
    X = rng.standard_normal((600, 2)) + 3 * y[:, None]
    some = np.bincount(groups, y) > 0
    between = np.column_stack([some, np.where(some, 6, 0)])
    model = WeakSetClassifier(method=MarginRescaling(CountRange(1)), C=1.0).fit(X, groups=groups, between=between)
    same = WeakSetClassifier(method="margin", C=1.0).fit(X, groups=groups, between=between)
    np.testing.assert_allclose(model.coef_, same.coef_)
    assert (model.predict(X) == y).mean() > 0.93


class SurrogateStub(Surrogate):
    name = "none"

    def on(self, batch):
        raise NotImplementedError


def test_refusals():
    X, y, groups, counts = drawn()
    told = {"groups": groups, "counts": counts}

    def fit(method, estimator=None, target=None, **more):
        WeakSetClassifier(estimator, method, C=1.0).fit(X, target, **{**told, **more})

    with pytest.raises(
        ValueError, match=r"where estimator is given, since all others are for linear models; got MarginRescaling\("
    ):
        fit(MarginRescaling("f1"), LogisticRegression())
    with pytest.raises(
        ValueError, match="where estimator is given, since all others are for linear models; got 'ramp'"
    ):
        fit("ramp", LogisticRegression())
    for method in ("slack", "lovasz", LovaszHinge):
        with pytest.raises(ValueError, match="The 'method' parameter of WeakSetClassifier"):
            fit(method)
    with pytest.raises(Refusal, match="method must be a surrogate of a loss, such as MarginRescaling"):
        fit(SurrogateStub())
    with pytest.raises(Refusal, match="LovaszHinge refuses sets with unknown labels"):
        fit(LovaszHinge(CountRange(1) + Hamming()))
    with pytest.raises(Refusal, match="SlackRescaling refuses unknown labels"):
        fit(SlackRescaling(CountRange(1)))
    with pytest.raises(Refusal, match="method refuses AreaWeightedLoss.*it numbers all decisions in one order"):
        fit(MarginRescaling(AreaWeightedLoss("jaccard", np.ones(400))))
    with pytest.raises(ValueError, match="nothing is known of 10 of 400 rows: leave them out, or give counts"):
        fit(MarginRescaling(CountRange(1)), counts=dict(enumerate(counts[1:], 1)))
    with pytest.raises(ValueError, match="nothing is known of 9 of 400 rows"):
        fit(MarginRescaling(CountRange(1)), None, np.where(np.arange(400) < 391, y, -1), counts=None)
    with pytest.raises(ValueError, match="PrecisionAtK.* fits sets of 11 decisions or more; got one of 10"):
        fit(MarginRescaling(PrecisionAtK(11)))
    shares = np.column_stack([counts, 10 - counts, np.zeros(40)]) / 10
    with pytest.raises(ValueError, match="for 3 classes; got one of .*which itself says what is known of one class"):
        WeakSetClassifier(method=MarginRescaling(CountRange(1))).fit(X, groups=groups, proportions=shares)


@pytest.mark.parametrize("surrogate", [MarginRescaling("f1"), MarginRescaling(CountRange(1) + 0.5 * Hamming())])
def test_copies_and_files_keep_the_surrogate(surrogate, tmp_path):
    X, _, groups, counts = drawn(bags=10)
    model = WeakSetClassifier(method=surrogate, C=1.0)
    assert model.get_params()["method"] is surrogate
    assert repr(clone(model).method) == repr(surrogate)
    between = np.column_stack([np.minimum(counts, 1), counts])
    model.fit(X, groups=groups, between=between)
    again = clone(model).fit(X, groups=groups, between=between)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.fit(X, groups=groups, between=between).coef_, model.coef_)
    skops = pytest.importorskip("skops.io")
    skops.dump(model, tmp_path / "model.skops")
    unknown = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(name.startswith("setwise.") for name in unknown)
    loaded = skops.load(tmp_path / "model.skops", trusted=unknown)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert repr(loaded.method) == repr(surrogate)


@pytest.mark.draw(2)
@pytest.mark.parametrize("cuts", [0, 1, 5, 16])
@pytest.mark.parametrize("method", ["margin", "ramp", MarginRescaling("f1", scale="size")], ids=repr)
def test_ctrl_c_leaves_the_best_weights_so_far(monkeypatch, method, cuts):
    X, y, groups, counts = drawn()
    original, left = MeanRisk.cut, [np.inf]

    def cut(self, w, tol=0.0):
        # Descent on soft labels has a risk of its own, which is left in peace.
        if self.evaluator.floor == 0.0:
            left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return original(self, w, tol)

    monkeypatch.setattr(MeanRisk, "cut", cut)
    full = WeakSetClassifier(method=method, C=1.0).fit(X, groups=groups, counts=counts)
    left[0] = cuts
    model = clone(full)
    with pytest.warns(RuntimeWarning, match="WeakSetClassifier was interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(X, groups=groups, counts=counts)
    assert model.status_ == "interrupted"
    assert model.interval_ is None
    assert (model.predict(X) == y).mean() > 0.75
    # A ramp that is interrupted has the objective of its bound, or of its own.
    assert not model.objective_ < full.objective_ - 1e-9


def test_ctrl_c_while_labels_are_completed(monkeypatch):
    X, y, groups, counts = drawn()
    model = WeakSetClassifier(method=MarginRescaling("f1", scale="size"), C=1.0)
    original, calls = Posterior.__call__, []

    def call(self, scores, sharpness=1.0):
        calls.append(scores)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, scores, sharpness)

    monkeypatch.setattr(Posterior, "__call__", call)
    with pytest.warns(RuntimeWarning, match="these are the best weights so far"), pytest.raises(KeyboardInterrupt):
        model.fit(X, groups=groups, counts=counts)
    assert model.n_iter_ > 1
    assert (model.predict(X) == y).mean() > 0.8
    # In a race nothing has been fitted but the start.
    calls.clear()
    with pytest.warns(RuntimeWarning, match="while methods were compared"), pytest.raises(KeyboardInterrupt):
        clone(model).set_params(C="auto").fit(X, groups=groups, counts=counts)


@pytest.mark.draw(3)
@pytest.mark.parametrize("surrogate", [*TAUGHT, MultilabelHinge("max"), MarginRescaling("zero_one")], ids=repr)
def test_odd_bags(surrogate):
    X, y, groups, counts = drawn(bags=6, size=5)
    model = WeakSetClassifier(method=surrogate, C=1.0)
    for value in (0, 1):
        # All rows of one class, by their bags and by their labels.
        assert (clone(model).fit(X, groups=groups, proportions=value).predict(X) == value).all()
        assert (clone(model).fit(X, np.full(30, value), groups=groups).predict(X) == value).all()
    # Rows that are all alike, and a single row.
    same = clone(model).fit(np.ones((30, 2)), groups=groups, counts=counts)
    assert np.isfinite(same.decision_function(np.ones((1, 2)))).all()
    assert clone(model).fit(X[:1], groups=[0], counts=1).predict(X[:1]) == [1]
    # Bags of one row are rows with labels.
    single = clone(model).fit(X, groups=np.arange(30), counts=y)
    assert np.isfinite(single.predict_proba(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(np.where(X > 5, np.nan, X), groups=groups, counts=counts)
    with pytest.raises(OverflowError, match="X is too large"):
        clone(model).fit(X * 1e200, groups=groups, counts=counts)


def test_several_classes_one_against_the_rest():
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 3, 300), np.arange(300) // 6
    X = 4 * np.eye(3)[y] + rng.standard_normal((300, 3))
    counts = np.array([np.bincount(y[groups == b], minlength=3) for b in range(50)])
    model = WeakSetClassifier(method=MarginRescaling("f1", scale="size"), C=1.0).fit(X, groups=groups, counts=counts)
    assert (model.predict(X) == y).mean() > 0.9
    assert model.method_ == [repr(model.method)] * 3


def test_a_small_max_iter_is_told():
    X, _, groups, counts = drawn()
    model = WeakSetClassifier(method=MarginRescaling("hamming"), C=100.0, max_iter=1)
    with pytest.warns(UserWarning, match="stopped after max_iter=1 completions; raise max_iter"):
        model.fit(X, groups=groups, counts=counts)
    assert model.status_ == "max_iter"
