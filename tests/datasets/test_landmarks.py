import numpy as np

from setwise.datasets import landmarks


def test_shapes_and_seed():
    X, y = landmarks(5, g=12, k=2, random_state=3)
    assert X.shape == (5, 144, 4)
    assert y.shape == (5, 2)
    assert y.dtype == np.int64
    np.testing.assert_array_equal(X, landmarks(5, g=12, k=2, random_state=3)[0])
    assert not np.array_equal(X, landmarks(5, g=12, k=2, random_state=4)[0])
    assert landmarks(3, g=1, k=1, random_state=0)[1].max() == 0


def test_points_are_apart_and_in_every_order():
    _, y = landmarks(4000, g=20, random_state=0)
    for lines in (y // 20, y % 20):
        apart = np.abs(lines[:, :, None] - lines[:, None, :])[:, [0, 0, 1], [1, 2, 2]]
        assert apart.min() == 4
        assert set(lines.ravel().tolist()) == set(range(20))
        _, times = np.unique(lines.argsort(axis=1), axis=0, return_counts=True)
        assert len(times) == 6
        assert times.min() > 4000 / 6 - 150


def test_the_precise_feature_is_right_or_anywhere_and_the_broad_one_is_near():
    X, y = landmarks(3000, noise=0.3, random_state=1)
    precise, broad = X[:, :, :3].argmax(axis=1), X[:, :, 3:].argmax(axis=1)
    assert abs((precise != y).mean() - 0.3) < 0.02
    away = precise[precise != y]
    assert np.bincount(away // 20, minlength=20).min() > 0.7 * len(away) / 20
    far = np.hypot(broad // 20 - y // 20, broad % 20 - y % 20)
    assert (far < 5).mean() > 0.999
    assert (far == 0).mean() < 0.3
