"""The joint distribution of silhouettes of horses, and exact samples of what is left after flipping pixels."""

import os
from pathlib import Path

import numpy as np
import pytest

from setwise import LogSupermodularModel

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set"),
]


def test_the_likelihood_of_new_horses_is_far_above_that_of_independent_pixels():
    with np.load(Path(os.environ["SETWISE_DATA"]) / "weizmann_horses" / "masks.npz") as data:
        train, test = (data["masks50"][data[part]] for part in ("denoise_train", "denoise_test"))
    found = LogSupermodularModel(random_state=0).fit(train).log_likelihood(test)
    share = (train.sum(axis=0) + 1.0) / (len(train) + 2.0)
    independent = np.where(test, np.log(share), np.log(1.0 - share)).mean()
    # The noise is fresh, and the end of the interval is the worst of it.
    assert -found.interval[0] <= 0.155
    assert -independent >= 0.33
