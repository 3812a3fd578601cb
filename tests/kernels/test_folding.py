"""Folded probabilities have all digits near 0 and near 1, and so has the gradient that goes back through them."""

import numpy as np
import pytest

from setwise.kernels.folding import BLOCK, UNIT, _units, folded_softmax, softmax_gradient
from setwise.kernels.threads import thread_limit

SHAPES = [(1, 2, 1), (3, 5, 7), (2, 19, BLOCK + 3), (300, 4, 1), (1, 1, 9), (0, 3, 4), (2, 3, 0)]


def drawn(shape, dtype, scale):
    """Logits one class of which stands out, and a gradient."""
    rng = np.random.default_rng(0)
    logits = rng.standard_normal(shape)
    if logits.size:
        np.put_along_axis(logits, rng.integers(0, shape[1], (shape[0], 1, shape[2])), scale * rng.random(), axis=1)
    return logits.astype(dtype), rng.standard_normal(shape).astype(dtype)


def by_definition(logits):
    """The softmax q, and ``1 - q`` as the sum of the other classes, in extended precision."""
    exps = np.exp(logits.astype(np.longdouble) - logits.max(axis=1, keepdims=True, initial=-np.inf))
    others = np.stack([np.delete(exps, c, axis=1).sum(axis=1) for c in range(exps.shape[1])], axis=1)
    return exps / exps.sum(axis=1, keepdims=True), others / exps.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("dtype", "tol"), [("f4", 1e-7), ("f8", 1e-14)])
@pytest.mark.parametrize("scale", [0.0, 5.0, 30.0, 80.0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equals_the_definition(shape, scale, dtype, tol):
    logits, change = drawn(shape, dtype, scale)
    folded = folded_softmax(logits)
    q, rest = by_definition(logits)
    assert folded.dtype == logits.dtype
    np.testing.assert_allclose(folded, np.where(q > 0.5, -rest, q), rtol=tol)
    # The gradient is sum_k q_c q_k (g_c - g_k), in which nothing is subtracted from 1.
    terms = q[:, :, None] * q[:, None] * (change[:, :, None].astype(np.longdouble) - change[:, None])
    expected, found = terms.sum(axis=2), softmax_gradient(folded, change)
    sizes = np.sqrt((terms**2).sum(axis=(1, 2)))
    assert found.dtype == logits.dtype
    assert (np.sqrt(((found - expected) ** 2).sum(axis=1)) <= 10 * tol * sizes).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_extremes(dtype):
    big = 1e4
    logits = np.array([[0, 0], [big, -big], [-np.inf, 3], [np.inf, 0], [np.nan, 0], [0, np.nan]], dtype)[:, :, None]
    found = folded_softmax(logits)[:, :, 0]
    np.testing.assert_array_equal(found[:3], np.array([[0.5, 0.5], [-0.0, 0], [0, -0.0]], dtype))
    np.testing.assert_array_equal(np.signbit(found[:3]), [[False, False], [True, False], [False, True]])
    assert np.isnan(found[3:]).all()
    # A probability of 1 has no slope.
    slope = softmax_gradient(found[1:3, :, None], np.ones((2, 2, 1), dtype))
    np.testing.assert_array_equal(slope, 0.0)


def test_the_bits_do_not_depend_on_the_number_of_threads():
    logits, change = drawn((3, 5, UNIT // 7), "f4", 9.0)
    folded = folded_softmax(logits)
    slope = softmax_gradient(folded, change)
    for threads in (2, 3):
        with thread_limit(threads):
            np.testing.assert_array_equal(folded_softmax(logits), folded)
            np.testing.assert_array_equal(softmax_gradient(folded, change), slope)


def test_units_hold_all_pixels_once():
    units = _units((3, 5, UNIT))
    assert [first for first, _ in units] == [0, *(last for _, last in units[:-1])]
    assert units[-1][1] == 3 * UNIT
    assert _units((2, 3, 0)) == []
