"""Every method of inference on every loss, its multiples and sums: ``value <= best <= bound``, equal where exact."""

from dataclasses import MISSING, fields
from functools import cache

import numpy as np
import pytest

from cases import KINDS, close, every_loss, examples, fits, objectives, problem
from setwise.core import enumerate as brute
from setwise.core.batch import Classes, Sets
from setwise.core.exceptions import Refusal
from setwise.inference import INFERENCES, Auto, Enumeration, KnownLabels
from setwise.losses import (
    BreakEven,
    ErrorRate,
    FBeta,
    Hamming,
    Jaccard,
    MeanOverClasses,
    OneClass,
    PrecisionAtK,
    RecallAtK,
    ZeroOne,
)
from setwise.spaces import SEARCHES


def made(kind):
    """An instance; methods that need another one inside get the default."""
    needs = [f for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    return kind(Auto()) if needs else kind()


METHODS = {name: made(kind) for name, kind in sorted({**INFERENCES, **SEARCHES}.items())}
# A part of the problems of all losses, others for each method; all of them are long.
SHARES = pytest.mark.parametrize("share", [5, pytest.param(1, marks=pytest.mark.long)])


def part_of(problems, method, share):
    """One in ``share`` problems, beginning with another one for each method."""
    part = problems[list(METHODS).index(method.name) % share :: share]
    assert part
    return part


@pytest.fixture(params=METHODS, ids=str)
def method(request):
    return METHODS[request.param]


def variants(loss):
    """The loss, a multiple, and sums with a modular and another loss."""
    more = [2.5 * loss] if loss.reads == "scores" else [2.5 * loss, loss + 0.3 * Hamming(), 0.5 * (loss + Jaccard())]
    return [loss, *more]


@cache
def every_variant(p):
    losses = [loss for loss in every_loss(p) + examples(p, "scores") if fits(loss, p)]
    return [variant for loss in losses for variant in variants(loss)]


@pytest.mark.draw(4)
@SHARES
@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("p", [1, 2, 5])
def test_value_best_and_bound(method, slack, p, share):
    taken = 0
    for where, bound_loss in part_of(problems(p), method, share):
        _, _, y, scores = where
        if method.refuses(bound_loss, slack) is not None:
            with pytest.raises(Refusal, match=r"refuses|knows no method"):
                method.prepare(bound_loss, slack)
            continue
        if not isinstance(bound_loss.batch, Sets):
            continue
        taken += 1
        found = method.prepare(bound_loss, slack).maximize(scores)
        all_values = objectives_of(bound_loss, tuple(y), tuple(scores), slack)
        best = all_values.max()
        row = int((found.labels ^ y) @ (1 << np.arange(p)))
        assert close(found.values[0], all_values[row], scores), where
        assert found.values[0] <= best or close(found.values[0], best, scores), where
        assert found.bounds[0] >= best or close(found.bounds[0], best, scores), where
        if found.exact[0]:
            assert close(found.values[0], best, scores), where
        if not method.approximate:
            assert found.exact.all(), where
    others = {"by_sequences", "by_matchings", "by_networks", "by_windows"}
    refuses_all = (
        {"worst_ranking", "by_class", "by_order"}
        | others
        | ({"modular", "by_area", "by_submodular_minimum", "known_labels"} if slack else set())
    )
    assert not (taken and method.name in refuses_all)
    assert taken or method.name not in ("auto", "enumeration", "greedy")


@cache
def problems(p):
    """A few problems of each loss, the same for all methods: ((loss, kind, y, scores), bound loss)."""
    rng, out = np.random.default_rng(p), []
    for loss in every_variant(p):
        for kind in rng.choice(KINDS, 3, replace=False):
            y, scores = problem(rng, p, kind, np.float64)
            out.append(((loss, kind, y, scores), loss.bind(Sets.single(y))))
    return out


@cache
def objectives_of(bound_loss, y, scores, slack):
    """The objective of every set of mistakes; enumerated once for all methods."""
    y, scores = np.array(y), np.array(scores)
    rows = brute.subsets(len(y)) ^ y
    copies = bound_loss.take(np.zeros(len(rows), dtype=np.int64))
    values = copies.values(rows.ravel())
    won = -(brute.subsets(len(y)) @ brute.margins(y, scores))
    allowed = values > -np.inf
    shift = bound_loss.batch.target_shift
    shift = 0.0 if shift is None else float(shift @ scores)
    return np.where(allowed, np.where(allowed, values, 0.0) * (1.0 + won) if slack else values + won, -np.inf) + shift


@pytest.mark.draw(2)
@SHARES
@pytest.mark.parametrize("p", [4, 30])
def test_a_method_takes_a_multiple_as_exactly_as_the_loss(method, p, share):
    rng = np.random.default_rng(0)
    y, scores = rng.random(p) < 0.4, 0.05 * rng.standard_normal(p)
    sets = Sets.single(y)
    for loss in part_of(every_loss(p) + examples(p, "scores"), method, share):
        for slack in (False, True):
            if p > 12 and (method.name == "by_submodular_minimum" or not fits(loss, p)):
                continue
            once, thrice = loss.bind(sets), (3.0 * loss).bind(sets)
            assert (method.refuses(once, slack) is None) == (method.refuses(thrice, slack) is None), loss
            if method.refuses(once, slack) is None and not (slack or "uniform" in repr(loss)):
                a = method.prepare(once).maximize(scores)
                b = method.prepare(thrice).maximize(3.0 * scores)
                assert (a.exact == b.exact).all(), loss
                assert close(3.0 * a.values, b.values, 3.0 * scores), loss


@pytest.mark.draw(2)
@SHARES
def test_a_ragged_batch_is_its_sets_one_by_one(method, share):
    rng = np.random.default_rng(2)
    sizes = np.array([4, 4, 4, 4, 4])
    sets = Sets(rng.random(20) < np.repeat([0.0, 0.3, 0.6, 1.0, 0.5], 4), np.concatenate(([0], np.cumsum(sizes))))
    scores = np.round(rng.standard_normal(20), 1) / 3
    for loss in part_of(every_variant(4), method, share):
        bound_loss = loss.bind(sets)
        for slack in (False, True):
            if method.refuses(bound_loss, slack) is not None:
                continue
            maximizer = method.prepare(bound_loss, slack)
            together = maximizer.maximize(scores)
            for i in range(5):
                alone = maximizer.take(np.array([i])).maximize(scores[4 * i : 4 * i + 4])
                assert alone.values[0] == pytest.approx(together.values[i], abs=1e-12), loss
                if method.name != "by_class":
                    np.testing.assert_array_equal(alone.labels, together.labels[4 * i : 4 * i + 4])


@pytest.mark.draw(2)
@SHARES
@pytest.mark.parametrize("p", [1, 2, 4])
def test_forced_labels_max_marginals_k_best_and_above(method, p, share):
    if method.approximate:
        return
    rows = brute.labelings(p, 2)
    for (loss, y, scores, forced), bound_loss in part_of(forced_problems(p), method, share):
        if method.refuses(bound_loss) is not None or not isinstance(bound_loss.batch, Sets):
            continue
        maximizer = method.prepare(bound_loss)
        values = every_objective(bound_loss, tuple(scores))
        obeys = ((rows == forced) | (forced < 0)).all(axis=1)
        if values[obeys].max() > -np.inf:
            found = maximizer.best(scores, forced)
            assert close(found.values[0], values[obeys].max(), scores), (loss, y, scores, forced)
            assert ((found.labels == forced) | (forced < 0)).all()
        expected = np.array([[values[rows[:, i] == v].max() for v in (0, 1)] for i in range(p)])
        assert close(maximizer.max_marginals(scores), expected, scores), (loss, y, scores)
        allowed = np.sort(values[values > -np.inf])[::-1]
        (best,) = maximizer.k_best(scores, 5)
        assert close(np.array([one.value for one in best]), allowed[:5], scores), (loss, y, scores)
        assert len({tuple(one.labels) for one in best}) == len(best)
        limit = float(np.median(allowed))
        (above,) = maximizer.above(scores, limit, 6)
        assert close(np.array([one.value for one in above]), allowed[allowed > limit][:6], scores), (loss, y, scores)


@cache
def forced_problems(p):
    """A problem of each loss and labels that it must keep, the same for all methods."""
    rng, out = np.random.default_rng(p), []
    for loss in every_variant(p)[:: 1 if p < 4 else 4]:
        y, scores = problem(rng, p, str(rng.choice(["normal", "small", "zero", "ties"])), np.float64)
        out.append(((loss, y, scores, rng.integers(-1, 2, p)), loss.bind(Sets.single(y))))
    return out


@cache
def every_objective(bound_loss, scores):
    """The objectives of all labelings; enumerated once for all methods."""
    return brute.objectives(bound_loss, np.array(scores), brute.labelings(len(scores), 2))


def test_losses_of_classes_by_every_method_that_takes_them(method):
    rng = np.random.default_rng(3)
    losses = [
        MeanOverClasses(Jaccard()),
        MeanOverClasses(FBeta()) + 0.1 * Hamming(),
        OneClass(FBeta(), 1),
        3 * OneClass(Jaccard(), 0) + Hamming(),
        Hamming(),
        *(loss for loss in examples(4, "classes")),
    ]
    for loss in losses:
        for scale in (0.0, 0.1, 0.5, 1e3):
            y, scores = rng.integers(0, 3, 4), scale * rng.standard_normal(12)
            bound_loss = loss.bind(Classes.single(y, 3))
            if method.refuses(bound_loss) is not None:
                continue
            found = method.prepare(bound_loss).maximize(scores)
            values = brute.objectives(bound_loss, scores, brute.labelings(4, 3))
            reached = brute.objectives(bound_loss, scores, found.labels[None])[0]
            assert close(found.values[0], reached, scores)
            slack = 1e-9 * (1 + np.abs(scores).sum())
            assert found.values[0] - slack <= values.max() <= found.bounds[0] + slack
            if found.exact[0]:
                assert found.values[0] == pytest.approx(values.max(), abs=slack)


@pytest.mark.draw(2)
@SHARES
def test_unknown_labels_by_every_method_that_takes_them(method, share):
    taken = 0
    for (loss, y, scores), bound_loss in part_of(unknown_problems(), method, share):
        if method.refuses(bound_loss) is not None:
            continue
        taken += 1
        found = method.prepare(bound_loss).maximize(scores)
        values = every_objective(bound_loss, tuple(scores))
        assert found.bounds[0] >= values.max() - 1e-9
        assert found.values[0] == pytest.approx(values.max(), abs=1e-9), (loss, y)
    assert taken or method.name not in ("auto", "enumeration", "known_labels", "modular")


@cache
def unknown_problems():
    """Problems of four labels of which some are not known, the same for all methods."""
    rng, out = np.random.default_rng(4), []
    for loss in every_variant(4):
        # To these, unknown labels are boxes, borders and bags, which have tests of their own.
        if any(name in repr(loss) for name in ("BoxFullness", "BorderConvexity", "CountRange")):
            continue
        for _ in range(3):
            y, scores = np.append(rng.integers(-1, 2, 3), -1).astype(np.int8), 0.5 * rng.standard_normal(4)
            if loss.reads != "scores":
                out.append(((loss, y, scores), loss.bind(Sets(y, np.array([0, 4])))))
    return out


def test_unknown_labels_under_slack_rescaling_are_refused(method):
    # The scores of unknown labels multiply the loss there, and no method searches over both.
    for loss in (Jaccard(), ErrorRate(), ZeroOne(), FBeta() + Hamming()):
        assert method.refuses(loss.bind(Sets(np.array([-1, 0, -1, 1], np.int8), np.array([0, 4]))), True)


@pytest.mark.parametrize("loss", [PrecisionAtK(1), RecallAtK(1), BreakEven()])
def test_a_given_number_of_positives_binds_unknown_labels_too(loss, rng):
    small = loss.bind(Sets(np.array([0, -1, -1], np.int8), np.array([0, 3])))
    scores = rng.standard_normal(3)
    best = brute.objectives(small, scores, brute.labelings(3, 2)).max()
    assert Auto().prepare(small).maximize(scores).values[0] == pytest.approx(best)
    assert KnownLabels(Auto()).refuses(small)
    assert Auto().refuses(loss.bind(Sets(np.append(0, np.full(24, -1)).astype(np.int8), np.array([0, 25]))))


def test_wrong_scores_never_reach_a_kernel(method):
    bound_loss = Jaccard().bind(Sets.single(np.arange(12) % 2))
    for loss in (Jaccard(), Hamming(), *examples(12, "scores")):
        bound_loss = loss.bind(Sets.single(np.arange(12) % 2))
        if method.refuses(bound_loss) is not None:
            continue
        maximizer = method.prepare(bound_loss)
        for bad in (
            np.zeros(3),
            np.zeros(1000),
            np.zeros((12, 1)),
            np.full(12, np.nan),
            np.full(12, np.inf),
            None,
            "a",
        ):
            with pytest.raises((ValueError, TypeError), match="scores must"):
                maximizer.maximize(bad)
        with pytest.raises(ValueError, match="forced must be"):
            maximizer.best(np.zeros(12), np.full(12, 2))
        with pytest.raises(ValueError, match="forced must be whole numbers of shape"):
            maximizer.best(np.zeros(12), [0, 1])


def test_the_table_of_auto_names_its_methods_in_their_order():
    from setwise.inference import auto

    text = Auto.__doc__
    names = [type(one).__name__ + (f"({one.limit})" if isinstance(one, Enumeration) else "") for one in auto.METHODS]
    at = 0
    for name in names:
        # A method may have two rows; this fails where none is left below the row before.
        at = text.index(f"``{name}", at) + 1


def test_a_batch_of_an_unknown_kind_is_refused_in_a_sentence(method):
    from setwise.core.batch import Batch

    class Pairs(Batch):
        n_labels = 2
        labels, offsets = np.array([True, False]), np.array([0, 2])
        score_offsets, target = np.array([0, 1]), np.zeros(1)

        def encode(self, labels):
            return np.array([float(labels[0] != labels[1])])

        def take(self, parts):
            return self

    why = method.refuses(Hamming().bind(Pairs()))
    assert why is not None
    assert "Pairs" in why or "does not read a ranking" in why
    assert objectives(Hamming(), np.array([True, False]), np.zeros(2)).max() == 2.0
