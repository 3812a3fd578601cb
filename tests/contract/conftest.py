"""The makers of all losses, by name."""

import numpy as np
import pytest

from contract.loss_examples import MAKERS, OF_LABELS


@pytest.fixture(params=OF_LABELS)
def make(request):
    """Instances of a loss of labels for a size p."""
    return MAKERS[request.param]


@pytest.fixture(params=sorted(MAKERS))
def make_any(request):
    """Instances of any loss for a size p."""
    return MAKERS[request.param]


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)
