"""Every kind of label space on its examples: searches against lists of all labels, its model, and training."""

from itertools import product

import numpy as np
import pytest

from setwise import MultilabelStructuredPredictor
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.inference import Auto
from setwise.losses import MaxLoss
from setwise.spaces import SPACES, LargeSpace

FINITE = [
    pytest.param(space, id=f"{name}-{i}")
    for name, kind in SPACES.items()
    if not issubclass(kind, LargeSpace)
    for i, space in enumerate(kind.examples())
]
LARGE = [
    pytest.param(space, X, id=f"{name}-{i}")
    for name, kind in SPACES.items()
    if issubclass(kind, LargeSpace)
    for i, (space, X) in enumerate(kind.examples())
]


def test_every_space_brings_examples():
    assert not [name for name, kind in SPACES.items() if not kind.examples()]


@pytest.mark.parametrize("space", FINITE)
def test_sets_of_labels_and_their_matrices_are_the_same(space):
    p = len(space)
    matrix = brute.subsets(p)
    assert (space.encode(space.decode(matrix)) == matrix).all()
    assert [space.places[name] for name in space.names] == list(range(p))
    assert space.kappa is None or (len(space.kappa) == p and np.isfinite(space.kappa).all())


def bound(space, X, Y=None):
    """The batch, its model, and scores by weights that the model allows."""
    batch, features = space.bind(X, Y)
    w = np.random.default_rng(0).standard_normal(features.size)
    w = w if features.lower is None else np.where(np.isinf(features.lower), w, features.lower + np.abs(w))
    return batch, features, features.scores(w)


def sets(batch, scores):
    """Each input alone, as a batch, with its scores and all its labelings."""
    for i in range(len(batch)):
        one = batch.take(np.array([i]))
        largest = np.broadcast_to(one.largest, one.total)
        rows = np.array([row for row in product(*(range(most + 1) for most in largest)) if is_labeling(one, row)])
        yield one, scores[batch.score_offsets[i] : batch.score_offsets[i + 1]], rows


def is_labeling(one, row):
    """Whether whole numbers are a labeling of an input: decisions, or the numbers of one label plus one, or zeros."""
    if isinstance(one, Sets) or not any(row):
        return True
    try:
        one.check_labels(0, np.array([row]) - 1, "label")
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("space", "X"), LARGE)
def test_lists_hold_all_labels_with_their_scores(space, X):
    batch, _, scores = bound(space, X)
    best = space.best(batch, scores, 10_000)
    for i, (one, own, rows) in enumerate(sets(batch, scores)):
        rows = np.eye(one.total, dtype=np.int64) if isinstance(one, Sets) else rows[rows.all(axis=1)]
        wanted = brute.objectives(BoundLoss(one), own, rows)
        np.testing.assert_allclose([f for _, f in best[i]], np.sort(wanted)[::-1], atol=1e-12)
        # Labels that go back into the space are all of them, each once.
        again, _ = space.bind([X[i]], [[label for label, _ in best[i]]])
        found = again.labels.sum() if isinstance(again, Sets) else len(np.unique(again.truths[0], axis=0))
        assert found == len(rows)


@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("right", [0, 1, 2])
@pytest.mark.parametrize(("space", "X"), LARGE)
def test_the_worst_mistake_is_the_maximum_over_all_labelings(space, X, right, slack):
    batch, _, scores = bound(space, X)
    Y = [[label for label, _ in ranked[:right]] for ranked in space.best(batch, scores, right or 1)]
    batch, _ = space.bind(X, Y)
    found = Auto().prepare(MaxLoss().bind(batch), slack).maximize(scores)
    for i, (one, own, rows) in enumerate(sets(batch, scores)):
        most = brute.objectives(MaxLoss().bind(one), own, rows, slack).max()
        assert found.values[i] == pytest.approx(most, abs=1e-12)
        assert found.bounds[i] >= most - 1e-9


@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize(("space", "X"), LARGE)
def test_the_pullback_of_the_model_is_the_adjoint_of_its_scores(space, X, constant):
    rng = np.random.default_rng(0)
    batch, features = space.bind(X, constant=constant)
    w, g = rng.standard_normal(features.size), rng.standard_normal(batch.n_scores)
    assert g @ features.scores(w) == pytest.approx(features.pullback(g) @ w)


@pytest.mark.parametrize(("space", "X"), LARGE)
def test_a_predictor_is_trained_for_it(space, X):
    batch, _, scores = bound(space, X)
    Y = [[ranked[0][0]] for ranked in space.best(batch, scores, 1)]
    model = MultilabelStructuredPredictor(space, MaxLoss(), surrogate="hinge", tol=1e-4).fit(X, Y)
    assert model.lower_bound_ <= model.objective_
    assert model.duality_gap_ <= 1e-4
    assert [len(found) for found in model.top(X, 1)] == [1] * len(X)
