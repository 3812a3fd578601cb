"""Weights of sets and of classes."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from setwise import SetClassifier
from setwise.core.exceptions import Refusal
from setwise.losses import (
    Jaccard,
)
from setwise.surrogates import MarginRescaling


def test_sample_weight_weighs_sets(bags):
    X, y, groups = bags
    weight = np.where(groups < 6, 2.0, 0.0)
    weighted = SetClassifier(surrogate="convex", C=10).fit(X, y, groups=groups, sample_weight=weight)
    kept = groups < 6
    subset = SetClassifier(surrogate="convex", C=10).fit(X[kept], y[kept], groups=groups[kept])
    np.testing.assert_allclose(weighted.objective_, subset.objective_, rtol=2e-3)
    assert weighted.score(X, y, groups, weight) == pytest.approx(weighted.score(X[kept], y[kept], groups[kept]))
    huge = SetClassifier(surrogate="convex", C=10).fit(X, y, groups=groups, sample_weight=1.7e308 * (weight > 0))
    np.testing.assert_allclose(huge.coef_, weighted.coef_)


@pytest.mark.slow
def test_class_weight_moves_the_balance():
    X, y = make_classification(300, 4, weights=[0.8], flip_y=0.2, random_state=0)
    positives = [
        SetClassifier("hamming", C=0.1, class_weight={0: 1.0, 1: b}).fit(X, y).predict(X).sum() for b in (0.2, 1.0, 5.0)
    ]
    assert positives[0] < positives[1] < positives[2]
    balanced = SetClassifier("jaccard", C=300, class_weight="balanced").fit(X, y)
    assert balanced.predict(X).sum() > SetClassifier("jaccard", C=300).fit(X, y).predict(X).sum() * 0.9


def test_class_weights_belong_to_labels_whichever_is_positive(bags):
    X, y, groups = bags
    cost = {"sick": 1.0, "healthy": 4.0}
    first = SetClassifier(C=100, pos_label="healthy", class_weight=cost).fit(X, y, groups=groups)
    renamed = np.where(y == "healthy", "z", "a")
    twin = SetClassifier(C=100, class_weight={"a": 1.0, "z": 4.0}).fit(X, renamed, groups=groups)
    np.testing.assert_allclose(first.coef_, twin.coef_)
    assert not np.allclose(first.coef_, SetClassifier(C=100, pos_label="healthy").fit(X, y, groups=groups).coef_)


def test_class_weight_is_refused_where_it_has_no_meaning(bags):
    X, y, groups = bags
    with pytest.raises(Refusal, match=r"class_weight refuses EarlyDetection\(\)"):
        SetClassifier("early_detection", class_weight="balanced").fit(X, y, groups=groups)
    with pytest.raises(Refusal, match="class_weight refuses a surrogate object"):
        SetClassifier(surrogate=MarginRescaling(Jaccard()), class_weight="balanced").fit(X, y)
