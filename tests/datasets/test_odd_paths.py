"""Messages of errors show the control characters of a path as escapes."""

import pytest

from setwise import FileClassifier
from setwise.compare import load_model
from setwise.core.checkpoint import Checkpoint
from setwise.datasets import load, load_horses, load_labeled_images, load_sample, load_table

ODD = "no\x1b[31m"


def damaged(suffix):
    """A file with such a name that holds no data."""
    with open(f"{ODD}{suffix}", "wb") as file:
        file.write(b"\xff\n")
    return f"{ODD}{suffix}"


@pytest.mark.parametrize(
    "read",
    [
        lambda: load_table(f"{ODD}.csv"),
        lambda: load(damaged(".csv")),
        lambda: load_table(damaged(".npz")),
        lambda: load_table(damaged(".svm")),
        lambda: load_table(damaged(".parquet")),
        lambda: load_table(damaged(".odd")),
        lambda: load_sample(f"{ODD}.csv", 10),
        lambda: load_sample(damaged(".parquet"), 10),
        lambda: load_horses(ODD),
        lambda: load_labeled_images(ODD, ODD),
        lambda: load_model(f"{ODD}.skops"),
        lambda: load_model(damaged(".skops")),
        lambda: FileClassifier("f1").fit(damaged(".parquet"), "y"),
        lambda: Checkpoint(f"{ODD}/x.npz").open(),
        lambda: Checkpoint(damaged(".npz")).open(),
        lambda: Checkpoint(damaged(".npz")).open(resume=True),
    ],
)
def test_no_message_has_control_characters(read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, OSError)) as caught:
        read()
    assert r"no\x1b[31m" in str(caught.value)
    assert "\x1b" not in str(caught.value)
