from itertools import product

import numpy as np
import pytest

from setwise.inference import mean_over_classes, multi_class_inference
from setwise.losses import FBeta, Hamming, Jaccard


def problems(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        p, k = int(rng.integers(1, 6)), int(rng.integers(2, 4))
        yield rng.integers(0, k, p), rng.standard_normal((p, k)) * rng.choice([0.0, 0.1, 0.5]), p, k


@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), Hamming()], ids=repr)
def test_one_positive_label_equals_enumeration(loss):
    for y, s, p, k in problems(40):
        for positive in range(k):

            def objective(guess, y=y, s=s, p=p, positive=positive):
                return loss(y == positive, np.array(guess) == positive) + s[np.arange(p), list(guess)].sum()

            truth = max(objective(guess) for guess in product(range(k), repeat=p))
            found = multi_class_inference(loss, y, s, positive)
            assert found.exact
            assert found.value == pytest.approx(truth, abs=1e-9)
            assert objective(found.labels) == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), Hamming()], ids=repr)
def test_mean_over_classes_is_certified_and_nearly_always_right(loss):
    right = []
    for y, s, p, k in problems(60):

        def objective(guess, y=y, s=s, p=p, k=k):
            return np.mean([loss(y == c, np.array(guess) == c) for c in range(k)]) + s[np.arange(p), list(guess)].sum()

        truth = max(objective(guess) for guess in product(range(k), repeat=p))
        found = mean_over_classes(loss, y, s)
        assert found.value - 1e-9 <= truth <= found.bound + 1e-9
        assert objective(found.labels) == pytest.approx(found.value, abs=1e-9)
        right.append(truth - found.value < 1e-9)
        if found.exact:
            assert right[-1]
    assert np.mean(right) > 0.9


@pytest.mark.parametrize(
    ("y", "scores", "words"),
    [
        ([0, 1], [0.0, 1.0], r"scores must have shape \(p, k\)"),
        ([0, 1], [[0.0, np.nan], [1.0, 2.0]], "scores must be finite"),
        ([0, 2], [[0.0, 1.0], [1.0, 2.0]], "y must hold 2 labels in 0..1"),
        ([0, 1, 1], [[0.0, 1.0], [1.0, 2.0]], "y must hold 2 labels"),
    ],
)
def test_bad_input_is_refused(y, scores, words):
    with pytest.raises(ValueError, match=words):
        mean_over_classes(Jaccard(), y, scores)
    with pytest.raises(ValueError, match="positive must be one of the labels"):
        multi_class_inference(Jaccard(), [0, 1], [[0.0, 1.0], [1.0, 2.0]], 2)
