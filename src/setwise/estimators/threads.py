"""How many threads the linear algebra of a fit may use."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

SMALL_PRODUCT = 1 << 24
"""Products of fewer multiplications take less time on one thread than the threads take to meet on a busy machine."""


@contextmanager
def blas_threads(multiplications: int, n_jobs: int | None) -> Iterator[None]:
    """One thread for small products; ``n_jobs`` for large ones, or what the environment says where it is None."""
    limit = 1 if multiplications < SMALL_PRODUCT else n_jobs
    if limit is None:
        yield
        return
    with _controller().limit(limits=limit, user_api="blas"):
        yield


def threads(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` stands for: None is one, -1 as many as there are processors."""
    if n_jobs == 0:
        raise ValueError("n_jobs must be a number of threads, -1 for all, or None; got 0.")
    return int(effective_n_jobs(n_jobs))


@cache
def _controller() -> Any:
    # Finding the libraries takes milliseconds, so it is done once.
    return ThreadpoolController()
