import numpy as np
import pytest

from setwise.core.learner import Fit
from setwise.estimators.linear_training import certain, radius


def fit(lower, upper):
    """A fit that has nothing but its bounds."""
    made = object.__new__(Fit)
    for name, value in (("lower_bound", lower), ("upper_bound", upper)):
        object.__setattr__(made, name, value)
    return made


def test_the_minimizer_of_a_quadratic_is_as_far_away_as_its_radius():
    # F(w) = |w - c|^2 / 2 is 1-strongly convex, and its gap at w is that of the radius.
    center, w = np.array([1.0, -2.0]), np.array([4.0, 2.0])
    gap = 0.5 * ((w - center) ** 2).sum()
    assert radius(fit(0.0, gap), True) == pytest.approx(np.linalg.norm(w - center))
    assert radius(fit(1.0, 1.0 - 1e-17), True) == 0.0
    assert np.isnan(radius(fit(0.0, gap), False))


def test_a_score_is_certain_beyond_its_length_times_the_radius():
    scores, lengths = np.array([0.9, 1.1, -1.1]), np.ones(3)
    assert certain(scores, lengths, False, 1.0).tolist() == [False, True, True]
    assert certain(np.array([[0.0, 1.5, 3.0], [0.0, 1.5, 2.8]]), np.ones(2), True, 1.0).tolist() == [True, False]
