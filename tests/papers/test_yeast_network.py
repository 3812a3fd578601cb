import sys

import numpy as np
import pytest

from papers import find
from papers.experiment import Settings
from papers.yeast_network import COLUMNS, LOSSES, ROWS, NetworkSize, YeastRows, measured, parts_of, words

SMALL = NetworkSize(seeds=2, hidden=8, rates=(1e-2, 3e-2), epochs=6, every=2, batch=32)


def parts():
    """Labels that a network can learn: signs of two features and of their product."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)).astype(np.float32)
    return [
        YeastRows(x, np.stack([x[:, 0] > 0, x[:, 1] > 0, x[:, 0] * x[:, 1] > 0], axis=1)) for x in (X[:200], X[200:])
    ]


@pytest.mark.slow
def test_every_loss_learns_and_every_measure_is_one_of_the_test_part():
    pytest.importorskip("torch")
    from papers import yeast_network

    train, test = parts()
    said = []
    found = yeast_network.samples(train, test, SMALL, 0, said.append)
    assert found.shape == (len(ROWS), len(COLUMNS), 2)
    assert len(said) == 2 * len(LOSSES)
    nothing = measured(test.Y, np.zeros_like(test.Y))
    assert (found[[i for i, row in enumerate(ROWS) if "ramp" not in row]].mean(axis=2) < 0.75 * nothing).all()
    # Without chance in it, a second run gives the same.
    np.testing.assert_array_equal(yeast_network.samples(train, test, SMALL, 0, said.append), found)
    assert len(words(found)) == len(COLUMNS)


def test_measures_are_those_of_rows():
    truth = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]], dtype=bool)
    labels = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1]], dtype=bool)
    np.testing.assert_allclose(measured(truth, labels), [0.5 / 3, (2 / 3) / 3, 1 / 3, 2 / 12])


def test_quick_needs_no_files():
    train, test = parts_of(Settings(quick=True))
    assert train.X.shape == (300, 64)
    assert test.Y.shape == (300, 6)
    np.testing.assert_allclose(train.X.mean(axis=0), 0.0, atol=1e-5)


def test_without_torch_a_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "setwise.torch", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match="setwise.torch needs PyTorch 2.4 or later: pip install"):
        find("yeast-network").run(Settings(quick=True), lambda text: None)
