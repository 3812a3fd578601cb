"""The number of threads for the linear algebra of a fit, and for base models."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import _num_samples
from threadpoolctl import ThreadpoolController

SMALL_PRODUCT, SMALL_TABLE = 1 << 24, 1 << 19
"""Below so many multiplications, or numbers of a table, one thread is faster than several that must meet: beside two
busy processes boosted trees of 500 rows took .6 s with one thread, and more than a minute with two; twenty logistic
regressions of 800 rows of 6 numbers took .04 s of processor time, and .6 s.
"""


@contextmanager
def blas_threads(multiplications: int, n_jobs: int | None) -> Iterator[None]:
    """Limit BLAS to one thread for small products and to ``n_jobs`` for large ones; None leaves large ones alone."""
    limit = 1 if multiplications < SMALL_PRODUCT else n_jobs
    if limit is None:
        yield
        return
    with _controller().limit(limits=limit, user_api="blas"):
        yield


@contextmanager
def base_threads(X: Any) -> Iterator[None]:
    """Limit OpenMP, as of boosted trees, and BLAS to one thread for rows ``X`` that hold few numbers."""
    # Rows may be anything that the base model reads, as a list of texts, or a table whose shape is not known.
    shape: Any = getattr(X, "shape", None)
    known = isinstance(shape, tuple) and all(isinstance(size, Integral) for size in shape)
    if np.prod(shape if known else _num_samples(X)) >= SMALL_TABLE:
        yield
        return
    with _controller().limit(limits=1):
        yield


def threads(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` stands for: 1 for None, and the number of processors for -1."""
    if n_jobs == 0:
        raise ValueError("n_jobs must be a number of threads, -1 for all, or None; got 0.")
    return int(effective_n_jobs(n_jobs))


@cache
def _controller() -> Any:
    """The object that sets the number of threads of the libraries of BLAS and OpenMP that are loaded."""
    # Finding the libraries takes milliseconds, so it is done only once.
    return ThreadpoolController()
