"""Checkpoints: what is refused before the work, what is written when, and what happens where nothing can be written."""

import errno
import os
import warnings

import numpy as np
import pytest

from setwise.core import checkpoint as module
from setwise.core.checkpoint import Checkpoint, fingerprint, opened, read_sealed

ABOUT = {"X": fingerprint(np.arange(3.0)), "loss": "Jaccard()", "C": "1.0"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.npz"


def written(path, about=ABOUT):
    kept = Checkpoint(path).open(about)
    kept.part("rows").put({"w": np.arange(3.0)})
    kept.write()
    return kept


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Checkpoint(3), TypeError, "checkpoint must be the path of a file; got 3"),
        (lambda: Checkpoint(""), TypeError, "checkpoint must be the path of a file; got ''"),
        (lambda: Checkpoint(b"fit"), TypeError, "checkpoint must be the path of a file; got b'fit'"),
        (lambda: Checkpoint("fit", every=-1), ValueError, "every must be"),
        (lambda: Checkpoint("fit", every=np.nan), ValueError, "every must be"),
        (lambda: Checkpoint("fit", every="often"), TypeError, "every must be"),
        (lambda: Checkpoint("fit").open(resume=1), TypeError, "resume must be"),
        (lambda: Checkpoint("fit").open([1]), TypeError, "about must"),
        (lambda: Checkpoint("fit").open({"C": 1.0}), TypeError, "C must be"),
        (lambda: opened(None, True, dict), ValueError, "resume=True needs checkpoint, the file to continue from"),
        (lambda: opened(None, "yes", dict), TypeError, "resume must be"),
    ],
)
def test_malformed_arguments(make, error, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=sentence):
        make()
    assert not os.listdir(tmp_path)


def test_no_file_is_no_checkpoint():
    assert opened(None, False, dict) is None


def test_places_where_no_file_can_be(tmp_path):
    (tmp_path / "file").touch()
    for place in (tmp_path / "none" / "fit.npz", tmp_path / "file" / "fit.npz"):
        with pytest.raises(FileNotFoundError, match="checkpoint must be a file in a folder that exists; got"):
            Checkpoint(place).open()
    for place in (tmp_path, os.devnull):
        with pytest.raises(
            ValueError, match="checkpoint must be a regular file; got .*, which is a folder, a device or"
        ):
            Checkpoint(place).open()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            Checkpoint(tmp_path / "fit.npz").open()
    finally:
        tmp_path.chmod(0o700)


def test_a_file_is_not_overwritten_by_another_fit(path):
    path.write_text("the only copy of my thesis")
    with pytest.raises(FileExistsError, match=r"there is a file fit.npz already: pass resume=True to continue from it"):
        Checkpoint(path).open(ABOUT)
    with pytest.raises(ValueError, match="not a checkpoint of setwise"):
        Checkpoint(path).open(ABOUT, resume=True)
    assert path.read_text() == "the only copy of my thesis"


def test_without_a_file_resume_begins_anew(path):
    assert Checkpoint(path).open(ABOUT, resume=True).arrays == {}
    assert not os.listdir(path.parent)


def test_what_was_written_is_found_again(path):
    written(path)
    kept = Checkpoint(path).open(ABOUT, resume=True)
    np.testing.assert_array_equal(kept.part("rows").arrays["w"], np.arange(3.0))
    assert list(kept.arrays) == ["rows/w"]
    assert kept.part("ro").arrays == {}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"X": fingerprint(np.arange(4.0))}, "fit: X differs. Take"),
        ({"C": "2.0"}, r"fit: C is 1.0 there and 2.0 here. Take another file for this fit"),
        ({"loss": "FBeta()", "C": "2.0"}, r"loss is Jaccard\(\) there and FBeta\(\) here; C is 1.0 there and 2.0 here"),
        ({"loss": "x" * 99}, "fit: loss differs"),
        ({"learner": "'nrbm'"}, "learner is not given there and 'nrbm' here"),
    ],
)
def test_a_file_of_another_fit_is_refused(path, changes, sentence):
    written(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=sentence):
        Checkpoint(path).open(ABOUT | changes, resume=True)
    assert path.read_bytes() == before


def test_a_file_of_a_fit_that_says_more_is_refused(path):
    written(path)
    with pytest.raises(ValueError, match="X differs; loss is .* there and not given here"):
        Checkpoint(path).open(resume=True)


def test_parts_share_a_file(path):
    kept = written(path)
    kept.part("fold 0").put({"w": np.ones(2)})
    kept.part("fold 1").part("start").put({"w": np.ones(1)})
    kept.part("fold 0").put({"v": np.ones(2)})
    assert set(read_sealed(path)) == {"about/X", "about/loss", "about/C", "work/rows/w"}
    kept.write()
    assert list(Checkpoint(path).open(ABOUT, resume=True).arrays) == ["rows/w", "fold 1/start/w", "fold 0/v"]


def test_numbers_are_checked(path):
    kept = written(path).part("rows")
    np.testing.assert_array_equal(kept.numbers("w", (3,)), np.arange(3.0))
    for name, shape in (("w", (4,)), ("v", (3,))):
        with pytest.raises(ValueError, match=rf"not a checkpoint of this fit: it has no {name} of shape"):
            kept.numbers(name, shape)
    kept.put({"w": np.array([1.0, np.nan, 0.0])})
    with pytest.raises(ValueError, match="it has no w of shape"):
        kept.numbers("w", (3,))


def test_it_is_written_every_so_often(path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    kept = Checkpoint(path, every=30.0).open(ABOUT)
    assert kept.due
    kept.put({"w": np.ones(1)})
    kept.write()
    assert not kept.due
    now[0] += 29.0
    assert not kept.due
    now[0] += 1.0
    assert kept.due
    # A writing that takes 10 seconds is not repeated before 200 seconds have passed.
    monkeypatch.setattr(module, "write_sealed", lambda *_: now.__setitem__(0, now[0] + 10.0))
    kept.put({"w": np.ones(1)})
    kept.write()
    now[0] += 199.0
    assert not kept.due
    now[0] += 1.0
    assert kept.due


def test_nothing_new_is_not_written(path):
    kept = written(path)
    path.unlink()
    kept.write()
    assert not path.exists()


def test_a_full_disk_warns_once_and_the_fit_goes_on(path, monkeypatch):
    kept = written(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    kept.put({"w": np.ones(1)})
    with pytest.warns(
        RuntimeWarning, match=r"fit.npz cannot be written \(No space left on device\); the fit continues"
    ):
        kept.write()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept.write()
    assert path.read_bytes() == before
    monkeypatch.undo()
    kept.write()
    assert list(Checkpoint(path).open(ABOUT, resume=True).arrays) == ["w"]


def test_fingerprints_tell_arrays_apart():
    x = np.arange(6.0)
    different = [
        (x,), (x.reshape(2, 3),), (x.reshape(3, 2),), (x.astype(np.float32),), (x[::-1],), (x, None), (None, x),
        (None,), (x[:3], x[3:]), (x[:2], x[2:]), (), ("a", "b"), ("ab",), (["a", "b"],), (["ab", ""],),
        (np.array([1, "1"], object),), (np.array(["1", "1"], object),), (np.zeros((0, 3)),), (np.zeros((3, 0)),),
        (np.array(["2020"], "M8[D]"),), (np.array(["2021"], "M8[D]"),), (np.array([True, False]),),
        (np.array([1, 0], np.int8),),
    ]  # fmt: skip
    found = [fingerprint(*values) for values in different]
    assert len(set(found)) == len(found)
    assert all(len(one) == 32 for one in found)
    assert fingerprint(np.asfortranarray(x.reshape(2, 3))) == fingerprint(x.reshape(2, 3).copy())
    assert fingerprint(np.array(["a", "bc"], "U9")) == fingerprint(np.array(["a", "bc"]))
