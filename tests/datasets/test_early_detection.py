import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setwise import SetClassifier
from setwise.core.batch import Sets
from setwise.datasets import early_detection
from setwise.datasets.synthetic import EARLY, LATE, early_stage
from setwise.losses import EarlyDetection


def bag_loss(y, scores):
    sets = Sets(y == 1, np.arange(0, len(y) + 1, 15))
    return EarlyDetection().values(sets, scores > 0).mean()


def test_shapes_order_and_seed():
    X, y, groups = early_detection(7, random_state=3)
    assert X.shape == (105, 2)
    np.testing.assert_array_equal(groups, np.repeat(np.arange(7), 15))
    assert set(y.tolist()) == {0, 1}
    np.testing.assert_array_equal(X, early_detection(7, random_state=3)[0])
    assert not np.array_equal(X, early_detection(7, random_state=4)[0])


def test_early_positives_lie_elsewhere_than_late_ones_and_negatives_do_not_move():
    X, y, _ = early_detection(4000, random_state=0)
    early = np.tile(early_stage(), 4000)
    np.testing.assert_allclose(X[(y == 1) & early].mean(axis=0), EARLY, atol=0.05)
    np.testing.assert_allclose(X[(y == 1) & ~early].mean(axis=0), LATE, atol=0.05)
    np.testing.assert_allclose(X[(y == 0) & early].mean(axis=0), X[(y == 0) & ~early].mean(axis=0), atol=0.05)


def test_no_threshold_does_what_turning_the_line_does():
    X, y, groups = early_detection(300, random_state=0)
    X_test, y_test, _ = early_detection(1000, random_state=1)
    usual = LogisticRegression().fit(X, y)
    scores = usual.decision_function(X_test)
    # even the best of all thresholds, chosen on the test bags themselves
    best_threshold = min(bag_loss(y_test, scores - t) for t in np.quantile(scores, np.linspace(0, 1, 201)))
    model = SetClassifier("early_detection", C=1000.0).fit(X, y, groups=groups)
    assert bag_loss(y_test, model.decision_function(X_test)) < 0.7 * best_threshold
    # the line has turned: it looks at the second feature, logistic regression more at the first
    assert abs(model.coef_[0, 1]) > 3 * abs(model.coef_[0, 0])
    assert abs(usual.coef_[0, 1]) < abs(usual.coef_[0, 0])


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_bad_counts(n):
    with pytest.raises((ValueError, TypeError), match="n_bags"):
        early_detection(n)
