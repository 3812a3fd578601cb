"""Dask knows two fits apart, although their parameters are equal."""

from dataclasses import is_dataclass

import numpy as np
import pytest

import setwise

tokenize = pytest.importorskip("dask.base").tokenize


def test_fits_with_equal_parameters_have_other_tokens():
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = (X[:, 0] > 0.5).astype(int)
    for kind in (setwise.SetClassifier, setwise.MeasureClassifier):
        one, other = kind(loss="f1").fit(X, y), kind(loss="f1").fit(X, 1 - y)
        assert tokenize(one) == tokenize(one)
        assert tokenize(one) != tokenize(other)


@pytest.mark.parametrize("name", [name for name in setwise.__all__ if isinstance(getattr(setwise, name), type)])
def test_an_estimator_is_no_dataclass(name):
    # Whoever hashes dataclasses takes their fields alone, which are the parameters.
    assert not is_dataclass(getattr(setwise, name)) or not hasattr(getattr(setwise, name), "fit")
