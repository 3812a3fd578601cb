"""Sealed files: whole or not there, and nothing in them is ever run."""

import hashlib
import io
import os
import pickle
import re
import threading
import zipfile

import numpy as np
import pytest

from setwise.core.checkpoint import SEAL, part_of, read_sealed, write_sealed

ARRAYS = {
    "w": np.linspace(-1.0, 1.0, 7),
    "deep/slopes": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "empty": np.zeros((0, 3)),
    "flag": np.array(True),
    "text": np.array("Jaccard() — Lovász"),
    "counts": np.arange(5, dtype=np.int32),
}


@pytest.fixture
def path(tmp_path):
    write_sealed(tmp_path / "fit.npz", ARRAYS)
    return tmp_path / "fit.npz"


class Payload:
    """A pickle of this makes a folder when it is loaded."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def forged(path, members, compression=zipfile.ZIP_STORED):
    """Write members, bytes by their names, under a seal that is right."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.comment = SEAL + b"0" * 64
        for name, content in members:
            archive.writestr(name, content)
    content = path.read_bytes()[:-64]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def npy(array, **changes):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=changes.get("version", (1, 0)), allow_pickle=True)
    return file.getvalue()


def test_arrays_come_back_as_they_were(path):
    found = read_sealed(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    assert not part_of(path).exists()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_the_file_behind_it_is_written(there, path, tmp_path):
    link = tmp_path / "link.npz"
    link.symlink_to(path)
    if not there:
        path.unlink()
    write_sealed(link, {"w": np.ones(2)})
    assert link.is_symlink()
    assert list(read_sealed(path)) == ["w"]
    assert {file.name for file in tmp_path.iterdir()} == {"link.npz", "fit.npz"}


def test_numpy_reads_the_file_too(path):
    with np.load(path, allow_pickle=False) as found:
        np.testing.assert_array_equal(found["deep/slopes"], ARRAYS["deep/slopes"])


def test_objects_are_not_written_and_the_old_file_stays(path):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="arrays must hold numbers or text; 'o' holds object"):
        write_sealed(path, {"w": np.zeros(3), "o": np.array([{}], dtype=object)})
    assert path.read_bytes() == before
    assert not part_of(path).exists()


def test_files_that_were_cut_off_are_refused_100_of_100(path):
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for size in rng.choice(len(content), 100, replace=False):
        path.write_bytes(content[:size])
        with pytest.raises(
            ValueError, match=r"^fit.npz is not a checkpoint of setwise, or it is truncated: its checksum"
        ):
            read_sealed(path)


def test_flipped_bits_are_refused_200_of_200(path):
    content, rng = path.read_bytes(), np.random.default_rng(1)
    for _ in range(200):
        changed = bytearray(content)
        changed[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"^fit.npz is (a damaged|not a) checkpoint"):
            read_sealed(path)


def test_pieces_that_were_swapped_or_appended_are_refused(path):
    content = path.read_bytes()
    for changed in (content + b"\0", content + content, b"\0" + content, content[100:], content[::-1]):
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="checkpoint"):
            read_sealed(path)


def test_foreign_files_are_refused_and_nothing_is_run(tmp_path):
    path, proof = tmp_path / "fit.npz", tmp_path / "proof"
    payload = pickle.dumps(Payload(proof))
    np.savez(path, w=np.zeros(3))
    foreign = [path.read_bytes(), b"", b"\0" * 5000, b"PK\x03\x04", payload, payload + b"\0" * 200, b"x,y\n1,2\n" * 99]
    np.savez(path, w=np.array([Payload(proof)], dtype=object))
    foreign.append(path.read_bytes())
    for content in foreign:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not a checkpoint of setwise, or it is truncated"):
            read_sealed(path)
    assert not proof.exists()


def test_a_forged_seal_runs_nothing_either(tmp_path):
    path, proof = tmp_path / "fit.npz", tmp_path / "proof"
    objects = npy(np.array([Payload(proof)], dtype=object))
    plain = npy(np.zeros(3))
    huge = plain.replace(b"(3,), }", b"(3" + b"0" * 12 + b",), }").replace(b" " * 12 + b"\n", b"\n", 1)
    records = npy(np.zeros(2, dtype=[("a", "f8")]))
    cases = [
        ([("w.npy", objects)], "'w.npy' holds object"),
        ([("w.npy", records)], "'w.npy' holds"),
        ([("w.npy", huge)], "does not have the size that its shape says"),
        ([("w.npy", plain[:-1])], "does not have the size that its shape says"),
        ([("w.npy", plain + b"\0")], "does not have the size that its shape says"),
        ([("w.npy", npy(np.zeros(3), version=(2, 0)))], "'w.npy' is of another version"),
        ([("w.txt", plain)], "are not arrays"),
        ([("w.npy", b"")], "not a checkpoint"),
        ([("w.npy", pickle.dumps(Payload(proof)))], "not a checkpoint"),
    ]
    for members, why in cases:
        forged(path, members)
        with pytest.raises(ValueError, match=re.escape(why)):
            read_sealed(path)
    forged(path, [("w.npy", npy(np.zeros(10**6)))], zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="compressed"):
        read_sealed(path)
    with pytest.warns(UserWarning, match="Duplicate name"):
        forged(path, [("w.npy", plain), ("w.npy", plain)])
    with pytest.raises(ValueError, match="overlap"):
        read_sealed(path)
    assert not proof.exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("call", ["os.fsync", "os.replace", "numpy.lib.format.write_array", "hashlib.sha256"])
def test_a_writing_that_fails_leaves_the_old_file(path, monkeypatch, call, error):
    def fail(*args, **kwargs):
        raise error

    before = path.read_bytes()
    monkeypatch.setattr(call, fail)
    with pytest.raises(error):
        write_sealed(path, {"w": np.ones(4)})
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert not part_of(path).exists()


def test_what_a_killed_process_has_left_is_replaced(path):
    part_of(path).write_bytes(b"half of a file")
    write_sealed(path, {"w": np.ones(4)})
    assert not part_of(path).exists()
    assert read_sealed(path)["w"].sum() == 4


def test_the_file_can_be_read_at_any_time_while_it_is_written(tmp_path):
    path, done = tmp_path / "fit.npz", threading.Event()
    write_sealed(path, {"k": np.array(0), "w": np.zeros(20_000)})

    def write():
        for k in range(1, 60):
            write_sealed(path, {"k": np.array(k), "w": np.full(20_000, float(k))})
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    while not done.is_set():
        found = read_sealed(path)
        assert (found["w"] == found["k"]).all()
        seen.append(int(found["k"]))
    writer.join()
    assert seen == sorted(seen)
    assert int(read_sealed(path)["k"]) == 59
