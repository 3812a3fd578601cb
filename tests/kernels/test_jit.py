"""Kernels are compiled when they are called, and a folder that cannot keep their code is no failure."""

import errno
import os
import pickle
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

from setwise.kernels import jit
from setwise.kernels.jit import CompiledFunction, FunctionWithTwin, kernel, plain_first
from setwise.kernels.segments import differences

CALL = """
import sys, warnings
import numpy as np
warnings.simplefilter("always")
from setwise.kernels.segments import differences, running_sums
assert "numba" not in sys.modules
x, offsets = np.arange(4.0), np.array([0, 4])
print(running_sums(x, offsets).tolist(), differences(x, offsets, np.zeros(1)).tolist())
print([(f.stats.cache_hits and "read" or "made") for f in (running_sums.compiled, differences.compiled)])
"""
ANSWER = "[0.0, 1.0, 3.0, 6.0] [0.0, 1.0, 1.0, 1.0]"


def run(**more):
    """What a fresh process prints and says of a call of two kernels."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"} | more
    command = [sys.executable, "-c", CALL]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    answer, ways = ran.stdout.splitlines()
    assert answer == ANSWER
    return ways, ran.stderr


@pytest.mark.slow
def test_two_processes_at_once_and_a_later_one(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", CALL]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    assert [one.communicate()[0].splitlines()[0] for one in both] == [ANSWER] * 2
    assert run(NUMBA_CACHE_DIR=str(tmp_path)) == ("['read', 'read']", "")


GIVEN = np.array([1.0, 3.0]), np.array([0, 2]), np.zeros(1)


def fresh(function):
    """A kernel of the same source that was not called yet."""
    return CompiledFunction(function.py_func, function.targetoptions)


def was_read(one):
    """Whether the code of a kernel came from the disk when it was called first."""
    assert one(*GIVEN).tolist() == [1.0, 2.0]
    return bool(one.compiled.stats.cache_hits)


CALLS = was_read.__code__.co_firstlineno + 2
"""The line that calls the kernel: a warning names it, and none of setwise or Numba."""


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty folder for code."""
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.draw(16)
@pytest.mark.parametrize(
    ("ending", "damage"),
    [(ending, damage) for ending in ("nbi", "nbc") for damage in ("empty", "cut", "zeros", "words")] + [("nbc", "bit")],
)
def test_a_damaged_file_is_written_anew(folder, damage, ending):
    assert not was_read(fresh(differences))
    (file,) = folder.rglob(f"*differences*.{ending}")
    data = file.read_bytes()
    wrong = {"empty": b"", "cut": data[: len(data) // 2], "zeros": bytes(len(data)), "words": b"no code " * 99}
    # A bit of the machine code, which is the longest part of the file.
    wrong["bit"] = data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :]
    file.write_bytes(wrong[damage])
    assert not was_read(fresh(differences))
    assert was_read(fresh(differences))


def test_a_damaged_file_that_cannot_be_written_anew(folder, monkeypatch, unsaid):
    from numba.core.caching import IndexDataCacheFile

    was_read(fresh(differences))
    (file,) = folder.rglob("*differences*.nbi")
    file.write_bytes(b"")
    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", full)
    with pytest.warns(UserWarning, match="cannot be stored on disk"):
        was_read(fresh(differences))


@pytest.fixture
def unsaid(monkeypatch):
    monkeypatch.setattr(jit, "_SAID", [])


def full(*unused, **named):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_no_folder_can_be_written(monkeypatch, unsaid):
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    one_sentence = r"^setwise compiles [^.]*\(.*\): set NUMBA_CACHE_DIR to a writable folder\.$"
    with pytest.warns(UserWarning, match=one_sentence) as said:
        assert not was_read(fresh(differences))
    assert [(one.filename, one.lineno) for one in said] == [(__file__, CALLS)]
    assert not was_read(fresh(differences))


def test_a_full_disk(folder, monkeypatch, unsaid):
    from numba.core.caching import IndexDataCacheFile

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", full)
    with pytest.warns(UserWarning, match=r"cannot be stored on disk \(OSError: .*No space left") as said:
        assert not was_read(fresh(differences))
    assert [(one.filename, one.lineno) for one in said] == [(__file__, CALLS)]
    # Said once is enough: a second warning would be an error here.
    assert not was_read(fresh(differences))


def test_code_of_other_types_is_not_taken(folder, monkeypatch):
    one, other = fresh(differences), fresh(differences)
    one(*GIVEN)
    (wrong,) = one.compiled.overloads.values()
    monkeypatch.setattr(other.compiled._cache.inner, "load_overload", lambda signature, context: wrong)
    assert other(GIVEN[0].astype(np.float32), *GIVEN[1:]).tolist() == [1.0, 2.0]


def test_twins_are_left_when_they_took_long_and_for_large_arrays(monkeypatch):
    @kernel
    def doubled(x):
        return 2.0 * x

    calls = []

    def twin(x):
        calls.append(len(x))
        return 2.0 * x

    found = plain_first(twin, patience=1e-9)(doubled)
    assert isinstance(found, FunctionWithTwin)
    monkeypatch.setattr(doubled, "_made", lambda x: 2.0 * x)
    assert found(np.ones(3)).tolist() == found(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    patient = plain_first(twin, patience=1e9)(doubled)
    monkeypatch.setattr(jit, "LARGE", 5)
    for size in (4, 5, 4):
        patient(np.ones(size))
    assert calls == ([3, 4, 4] if not jit.DEBUGGED else [])


@pytest.mark.skipif(jit.DEBUGGED, reason="nothing is compiled")
def test_twins_are_left_soon_where_the_kernel_is_on_disk(folder):
    def twin(array, offsets, out):
        calls.append(len(array))
        time.sleep(jit.GLANCE)
        return np.array([1.0, 2.0])

    for stored in (False, True):
        calls, one = [], fresh(differences)
        both = plain_first(twin, patience=1e9)(one)
        assert one.is_on_disk == stored
        for _ in range(3):
            assert both(*GIVEN).tolist() == [1.0, 2.0]
        assert len(calls) == (1 if stored else 3)
        one(*GIVEN)


@pytest.mark.skipif(jit.DEBUGGED, reason="nothing is compiled")
def test_code_that_cannot_be_read_is_not_on_disk(folder):
    fresh(differences)(*GIVEN)
    (index,) = folder.rglob("*.nbi")
    index.write_bytes(b"")
    assert not fresh(differences).is_on_disk


def test_kernels_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(differences)) is differences
