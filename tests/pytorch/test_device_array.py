"""NumPy's functions of tensors give what they give of arrays, or are refused."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from setwise.torch.device_array import _ASKS, _BITS, _FUNCTIONS, _REAL, _TRUTH, DeviceArray  # noqa: E402

RNG = np.random.default_rng(0)
NUMBERS = np.concatenate([np.arange(-3.0, 4.0), RNG.standard_normal(20)])
BOOLS = RNG.random(27) < 0.5


def on_device(*arrays):
    return [DeviceArray(torch.from_numpy(np.array(each))) for each in arrays]


def numbers(found):
    assert isinstance(found, DeviceArray)
    return found.tensor.numpy()


@pytest.mark.parametrize("ufunc", [*_REAL, *_ASKS, *_TRUTH], ids=lambda ufunc: ufunc.__name__)
def test_functions_of_numbers(ufunc):
    arrays = [NUMBERS, np.roll(NUMBERS, 5), NUMBERS][: ufunc.nin]
    with np.errstate(all="ignore"):
        expected = ufunc(*arrays)
    found = numbers(ufunc(*on_device(*arrays)))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)
    if ufunc.nin == 2:
        # Numbers and arrays of NumPy may stand on either side.
        with np.errstate(all="ignore"):
            expected = ufunc(0.3, arrays[1]), ufunc(arrays[0], np.float64(1.7)), ufunc(arrays[0], arrays[1])
        first, second = on_device(*arrays)
        found = ufunc(0.3, second), ufunc(first, np.float64(1.7)), ufunc(arrays[0], second)
        for wanted, got in zip(expected, found, strict=True):
            np.testing.assert_allclose(numbers(got), wanted, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("ufunc", [*_TRUTH, *_BITS], ids=lambda ufunc: ufunc.__name__)
def test_functions_of_bools(ufunc):
    arrays = [BOOLS, np.roll(BOOLS, 5)][: ufunc.nin]
    np.testing.assert_array_equal(numbers(ufunc(*on_device(*arrays))), ufunc(*arrays))


FORMULAS = [
    lambda x, b: np.where(b, x, 2.0 * x),
    lambda x, b: np.where(x > 0, 1.0, 0),
    lambda x, b: np.where(b, ~b, b),
    lambda x, b: np.clip(x, -1, 2),
    lambda x, b: np.clip(x, None, 2) + x.clip(0.5),
    lambda x, b: np.zeros_like(x) + 3 * np.ones_like(x) - np.full_like(x, 0.5),
    lambda x, b: np.stack([x, np.broadcast_to(2.0, (27,))], axis=1)[:, ::2],
    lambda x, b: np.broadcast_to(x[:, None], (27, 2)) * x[3],
    lambda x, b: 0.3 * (x > 1) + b * x - (b | (x < 0)),
    lambda x, b: x.astype(bool) & b.astype(bool),
    lambda x, b: b.astype(np.float64) / (1 + x.copy() ** 2),
    lambda x, b: np.sqrt(np.abs(x)) + abs(-x) % 2 + x // 3,
    lambda x, b: x + np.size(x) + np.ndim(x) + np.shape(x)[0] + len(x) + x.ndim + x.size,
    lambda x, b: x * (x.dtype == np.float64) * (b.dtype == bool),
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas(formula):
    expected, found = formula(NUMBERS, BOOLS), numbers(formula(*on_device(NUMBERS, BOOLS)))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)


def test_all_functions_are_tried():
    tried = {np.where, np.clip, np.full_like, np.zeros_like, np.ones_like, np.stack, np.broadcast_to}
    assert set(_FUNCTIONS) == tried | {np.shape, np.ndim, np.size}


def test_results_may_be_written_to_an_array():
    (x,) = on_device(NUMBERS)
    before = x.tensor
    x += 1.0
    np.testing.assert_array_equal(numbers(x), NUMBERS + 1.0)
    np.testing.assert_array_equal(before.numpy(), NUMBERS)
    with pytest.raises(TypeError, match="of its shape"):
        np.add(x, x[:, None], out=x)


@pytest.mark.parametrize(
    "question",
    [
        bool,
        float,
        int,
        np.asarray,
        np.all,
        np.sum,
        np.add.reduce,
        list,
        lambda x: 1 if x[0] > 0 else 2,
        lambda x: x[x > 0],
        lambda x: x[np.array([0, 1])],
        lambda x: np.arange(30)[x],
        lambda x: NUMBERS.copy().__setitem__(0, x[0]),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: x.astype(np.int64),
        lambda x: np.interp(x, NUMBERS, NUMBERS),
        lambda x: (x > 0) + (x > 1),
        lambda x: x & x,
        lambda x: x + "1",
        lambda x: np.arctan2(x, x),
    ],
)
def test_what_would_need_the_numbers_on_the_host_is_refused(question):
    with pytest.raises((TypeError, AttributeError, ValueError)):
        question(*on_device(NUMBERS))
