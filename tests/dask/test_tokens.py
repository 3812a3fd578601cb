"""Dask knows two fits apart, although their parameters are equal."""

from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest

import setwise
from setwise.estimators.base import with_parameters

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


def test_a_class_that_cannot_be_decorated_leaves_its_bases_as_they_were():
    with pytest.raises(TypeError, match="non-default argument"):

        @with_parameters
        class WithoutDefault(setwise.SetClassifier):  # type: ignore[misc]
            mine: int

    assert not is_dataclass(setwise.SetClassifier)


def test_other_dataclasses_keep_their_fields():
    @dataclass
    class Mixin:
        a: int = 1

    @with_parameters
    class Made(Mixin, setwise.SetClassifier):  # type: ignore[misc]
        b: int = 2

    assert [field.name for field in fields(Mixin)] == ["a"]


def test_a_subclass_that_is_a_dataclass_is_refused():
    @dataclass(eq=False, repr=False)
    class Mine(setwise.SetClassifier):  # type: ignore[misc]
        mine: int = 2

    with pytest.raises(TypeError, match=r"^Mine must not be a dataclass; write its __init__"):
        Mine()
