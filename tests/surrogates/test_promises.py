"""What users promise of their losses: false promises are refused, true ones are seen where a table shows them."""

import numpy as np
import pytest

from setwise import SetClassifier, describe
from setwise.core.batch import Sets
from setwise.core.exceptions import BrokenPromise, Refusal
from setwise.learners import LEARNERS
from setwise.losses import CountFunctionLoss, Trait
from setwise.surrogates import LovaszHinge

BOTH = [Trait.SUBMODULAR, Trait.INCREASING]
SEEDS = range(6)


def products(fn, fp):
    """Supermodular: each miss makes each false alarm dearer."""
    return fn * fp / 3


def late(fn, fp):
    """Modular up to 600 mistakes of each kind, and supermodular beyond."""
    return fn + fp + np.maximum(fn - 600, 0) * np.maximum(fp - 600, 0) / 100


def tolerant(fn, fp):
    """A miss costs five false alarms, and more than 20 is no matter."""
    return np.minimum(5 * fn + fp, 20)


def noisy(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, (X[:, 0] + rng.standard_normal(n) > 0).astype(int)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_false_promise_is_refused_in_every_seed(seed):
    false = CountFunctionLoss(products, BOTH)
    for n, groups in ((200, np.arange(200) // 10), (3000, None)):
        X, y = noisy(seed, n)
        for surrogate in ("lovasz", "margin", "slack", "auto"):
            with pytest.raises(BrokenPromise, match="breaks its promise: on these sets it is not submodular"):
                SetClassifier(false, surrogate, C=10.0).fit(X, y, groups=groups)


@pytest.mark.draw(2)
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_no_corner_of_a_table_shows_is_seen_by_the_learner(name, seed):
    X, y = noisy(seed, 5000)
    false = CountFunctionLoss(late, BOTH)
    false.bind(Sets.single(y))
    model = SetClassifier(false, "lovasz", name, C=1000.0, max_iter=50, random_state=0)
    with pytest.raises(BrokenPromise, match=r"a plane has the value .* where the risk is at most"):
        model.fit(X, y)


@pytest.mark.draw(4)
@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
def test_traits_that_a_table_shows_train_as_if_they_were_promised(C):
    X, y = noisy(0, 300)
    groups = np.arange(300) // 10
    found, promised = (
        SetClassifier(CountFunctionLoss(tolerant, promises), C=C).fit(X, y, groups=groups) for promises in ((), BOTH)
    )
    np.testing.assert_array_equal(found.coef_, promised.coef_)
    assert found.lower_bound_ <= found.objective_ == promised.objective_


def test_the_refusal_and_the_description_tell_how_to_promise():
    y = np.arange(5000) % 3 == 0
    silent = CountFunctionLoss(tolerant)
    with pytest.raises(Refusal, match=r"promises=\[Trait.SUBMODULAR\] where that holds"):
        LovaszHinge(silent).on(Sets.single(y))
    text = describe(silent, y)
    assert "  submodular    no violation found, not promised\n" in text
    assert "say so: promises=[Trait.INCREASING, Trait.SUBMODULAR]." in text
    assert "lovasz  refused: the loss does not promise to be submodular." in text
    said = CountFunctionLoss(tolerant, BOTH)
    assert LovaszHinge(said).on(Sets.single(y)).convex
    text = describe(said, y)
    assert "  submodular    promised, no violation found\n" in text
    assert "lovasz  convex; tight; tractable" in text


def test_where_a_table_is_whole_the_description_is_certain():
    y = np.arange(60) % 3 == 0
    for promises in ((), BOTH):
        text = describe(CountFunctionLoss(tolerant, promises), y)
        assert "  submodular    yes\n" in text
        assert ("say so" in text) == (not promises)
    assert "Broken promise: the loss says that it is submodular; here it is not." in describe(
        CountFunctionLoss(products, BOTH), y
    )
