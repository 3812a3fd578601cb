"""Losses by their short names, for the estimator and the command line."""

from collections.abc import Callable

from setwise.core.loss import Loss
from setwise.losses.early_detection import EarlyDetection
from setwise.losses.hamming import Hamming
from setwise.losses.jaccard import Jaccard
from setwise.losses.saturating import Saturating
from setwise.losses.zero_one import ZeroOne

LOSSES: dict[str, Callable[[], Loss]] = {
    "early_detection": EarlyDetection,
    "hamming": Hamming,
    "jaccard": Jaccard,
    "saturating": Saturating,
    "zero_one": ZeroOne,
}
