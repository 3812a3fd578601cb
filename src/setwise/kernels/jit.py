"""Kernels: functions that Numba compiles when they are first called, and that are kept on disk where there is a place.

To compile takes longer than to sort a million numbers. So what a first call of the library needs has a plain twin as
well, the same in NumPy, and the same bits. A twin is called until that has taken about as long as its kernel takes to
compile, or to load where it is on disk: who decides once does not wait for a compiler, and who decides often or for
many rows soon has the kernel.
"""

import inspect
import math
import os
import pickle
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial, update_wrapper
from hashlib import sha256
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""An array as kernels take it: Numba compiles for the type of its numbers and for its dimensions."""

UNCOUNTED: dict[str, Any] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
"""Without counts of the references to arrays, which take longer than a short step. Such kernels make no arrays."""

PATIENCE = 0.5
"""How many seconds the calls of a plain twin may take in all: compiling a usual kernel takes as long or longer."""

GLANCE = 0.05
"""How many seconds they may take before it is looked up whether the kernel is on disk: to load it takes as long."""

LARGE = 1 << 20
"""A first array of so many entries pays for a kernel at once."""

DEBUGGED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether kernels run as Python, so that a debugger can enter them; their twins are then left out."""

Called = TypeVar("Called", bound=Callable[..., Any])

_LOCK = threading.RLock()
"""Held while a kernel is made, and while Numba is imported for the first one."""

_STARTED = threading.Event()
"""Whether the first kernel was made."""

_NEWS: list[Callable[[], None]] = []
"""What Numba is to be told before that."""


class CompiledFunction:
    """A function that Numba compiles for the types of its arguments when it is first called with them; others load it.

    Numba is imported then, so that who needs no kernel does not wait for it. Kernels may call one another.

    Parameters
    ----------
    function : the source
    options : those of ``numba.njit``
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        # Names that Numba asks of a function that another kernel calls, beside its type.
        self.py_func, self.targetoptions = function, options
        self._made: Any = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:  # noqa: D102
        return (self._made or self.compiled)(*arguments)

    @property
    def compiled(self) -> Any:
        """What Numba makes of the function: its dispatcher, or the function itself under ``NUMBA_DISABLE_JIT=1``."""
        if self._made is None:
            with _LOCK:
                self._made = self._made or _dispatcher(self.py_func, self.targetoptions)
        return self._made

    @property
    def is_on_disk(self) -> bool:
        """Whether code of it, for some types, was kept on disk by an earlier process, or by this one."""
        cache = getattr(self.compiled, "_cache", None)
        return isinstance(cache, _DiskCache) and cache.has_code()

    def __reduce__(self) -> str:
        return str(self.py_func.__qualname__)

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_


class FunctionWithTwin:
    """A kernel, or a function that calls some, with a plain twin, which is called until that took ``patience`` seconds.

    Less where the kernel is on disk, and Numba was imported for another one.

    Parameters
    ----------
    kernel : the kernel or function; its attributes are those of this object
    twin : a function of the same arguments, which returns and writes the same bits. The size of the first argument,
        mostly an array, tells how much there is to do
    patience : seconds
    large, counted : so many entries of the argument of this number, as those of sets over which the twin loops, pay for
        the kernel at once; a first argument of ``LARGE`` entries does so too
    calls : the kernel that a function calls
    """

    def __init__(
        self,
        kernel: Any,
        twin: Callable[..., Any],
        patience: float,
        large: int = LARGE,
        counted: int = 0,
        calls: Any = None,
    ) -> None:
        self.kernel, self.twin, self.left = kernel, twin, 0.0 if DEBUGGED else patience
        self.large, self.counted = large, counted
        self.looked = kernel if isinstance(kernel, CompiledFunction) else calls
        self.look_at = -math.inf if self.looked is None else patience - GLANCE
        self._made: Any = None
        update_wrapper(self, kernel, updated=())

    def __call__(self, *arguments: Any) -> Any:  # noqa: D102
        if (
            self.left > 0.0
            and getattr(arguments[0], "size", 1) < LARGE
            and getattr(arguments[self.counted], "size", 1) < self.large
        ):
            begin = time.perf_counter()
            with np.errstate(all="ignore"):
                found = self.twin(*arguments)
            self.left -= time.perf_counter() - begin
            # To import Numba takes longer than what is saved: only who needs it for another kernel looks.
            if self.left < self.look_at and _STARTED.is_set():
                self.look_at = -math.inf
                if self.looked.is_on_disk:
                    self.left = 0.0
            return found
        # Numba's own function: one call more in between is a twentieth of a short step.
        made = self._made
        if made is None:
            made = self._made = self.kernel.compiled if isinstance(self.kernel, CompiledFunction) else self.kernel
        return made(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __reduce__(self) -> str:
        return str(self.kernel.__qualname__)


def _options(**more: Any) -> Callable[[Called], Called]:
    # To type checkers a kernel is the function that it is made of.
    return cast("Callable[[Called], Called]", partial(CompiledFunction, options=more))


# Division by zero gives inf or NaN as in NumPy: a test before every division would cost the vector instructions.
# Python and other kernels alone call a kernel. A function for callers in C would be compiled with each.
kernel = _options(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
bare = _options(cache=True, nogil=True, **UNCOUNTED)
# Sums may be taken in another order, so that they use vector instructions; the order is fixed for a machine.
reordered = _options(
    cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy", no_cfunc_wrapper=True
)
inlined = _options(inline="always", **UNCOUNTED)


def plain_first(
    twin: Callable[..., Any], patience: float = PATIENCE, large: int = LARGE, counted: int = 0, calls: Any = None
) -> Callable[[Called], Called]:
    """A decorator of kernels with a twin in NumPy, and of functions that call some; see :class:`FunctionWithTwin`."""

    def decorated(kernel: Called) -> Called:
        return cast("Called", FunctionWithTwin(kernel, twin, patience, large, counted, calls))

    return decorated


def interpreted_first(kernel: Called) -> Called:
    """A decorator of kernels whose twin is their own source, run by Python: they work on few numbers as a rule."""
    return cast("Called", FunctionWithTwin(kernel, source(kernel), PATIENCE, 1 << 15))


def source(kernel: Called) -> Called:
    """The function of which a kernel is made, for calls by Python."""
    return cast("Called", cast("CompiledFunction", kernel).py_func)


def before_compiling(register: Callable[[], None]) -> None:
    """A decorator of functions that tell Numba something; they are called once, before the first kernel is made."""
    with _LOCK:
        if _STARTED.is_set():
            register()
        else:
            _NEWS.append(register)


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """What Numba makes of a function; where its code cannot be kept on disk, a warning says so once."""
    from numba import njit

    _begin()
    try:
        made = njit(**options)(function)
    except RuntimeError as error:
        # Numba finds no folder in which it could write.
        _warn_once(str(error))
        return njit(**{**options, "cache": False})(function)
    if made is not function and options.get("cache"):
        made._cache = _DiskCache(made._cache)
    return made


class _DiskCache:
    """The code of a kernel on disk, as Numba keeps it; a failure of the disk is a warning, and no error."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.file = inner, inner._cache_file
        self.cache_path, self.flush = inner.cache_path, inner.flush
        self.file._save_data, self.file._load_data = self._save_data, self._load_data

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The code for these types, or None."""
        wanted = signature if isinstance(signature, tuple) else signature.args
        try:
            found = self.inner.load_overload(signature, context)
            # Two processes that began to write at once may have left the code of other types under this name.
            return None if found is None or tuple(found.signature.args) != tuple(wanted) else found
        except Exception as error:  # what a damaged file raises is known to nobody
            self._begin_anew(error)
            return None

    def has_code(self) -> bool:
        """Whether there is code for some types."""
        try:
            return bool(self.file._load_index())
        except Exception:  # as above; the call that wants the code throws the file away
            return False

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keeps the code for these types, if that is possible."""
        try:
            self.inner.save_overload(signature, code)
        except Exception as error:  # a full disk, a folder that vanished, a damaged index
            _warn_once(f"{type(error).__name__}: {error}")

    # Machine code with a wrong bit ends the process, so it comes after its digest.

    def _save_data(self, name: str, data: Any) -> None:
        data = self.file._dump(data)
        with self.file._open_for_write(self.file._data_path(name)) as file:
            file.write(sha256(data).digest() + data)

    def _load_data(self, name: str) -> Any:
        with open(self.file._data_path(name), "rb") as file:
            digest, data = file.read(32), file.read()
        if sha256(data).digest() != digest:
            raise ValueError(f"{name} is damaged.")
        return pickle.loads(data)

    def _begin_anew(self, error: Exception) -> None:
        """Throws away what cannot be read."""
        try:
            self.flush()
        except OSError:
            _warn_once(f"{type(error).__name__}: {error}")


_SAID: list[str] = []
"""Why kernels cannot be kept, once that was said."""


def _warn_once(why: str) -> None:
    if not _SAID:
        _SAID.append(why)
        warnings.warn(
            f"setwise compiles its kernels again in each process, because they cannot be stored on disk ({why}): set "
            "NUMBA_CACHE_DIR to a writable folder.",
            UserWarning,
            stacklevel=outside(),
        )


def outside() -> int:
    """The level, for a warning of the function that calls this, of the first line of neither setwise nor Numba."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(("setwise.", "numba.")):
        frame, level = frame.f_back, level + 1
    return level


def _begin() -> None:
    """What is done once, before the first kernel is made."""
    if _STARTED.is_set():
        return
    from numba import typeof
    from numba.core.compiler_lock import global_compiler_lock

    # It imports more, which a fork must not cut in two.
    typeof(np.zeros(1))  # type: ignore[no-untyped-call]
    _STARTED.set()
    for register in _NEWS:
        register()
    _COMPILER.append(global_compiler_lock)


_COMPILER: list[Any] = []
"""The lock of Numba's compiler, once it is known."""

_FORKING: list[Any] = []
"""The lock of the compiler that the thread that forks holds, or None."""


def _before_fork() -> None:
    """Waits until no other thread makes or compiles a kernel: in the child its locks would stay closed for ever."""
    while True:
        # In the order of who compiles, and then asks for a kernel that this one calls.
        compiler = _COMPILER[0] if _COMPILER else None
        if compiler is not None:
            compiler.acquire()
        _LOCK.acquire()
        if compiler is not None or not _COMPILER:
            _FORKING.append(compiler)
            return
        # Numba came while this thread waited.
        _LOCK.release()


def _after_fork() -> None:
    compiler = _FORKING.pop()
    _LOCK.release()
    if compiler is not None:
        compiler.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
