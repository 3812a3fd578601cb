"""Ctrl-C that comes while compiled code runs."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt where Ctrl-C inside would come out as a SystemError.

    A signal that arrives while a kernel runs is handled once Python code runs again. That may be a helper of Numba that
    hands the result over, and Python reports an exception there as a SystemError with this cause.
    """
    try:
        yield
    except SystemError as error:
        if not _of_interrupt(error):
            raise
        raise KeyboardInterrupt from error


def _of_interrupt(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, is a KeyboardInterrupt."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
