"""Losses: one file, one formula. Each is callable, is a set function of the mistakes, and says what it promises."""

from setwise.core.loss import Loss
from setwise.core.traits import Trait
from setwise.losses.capped import Capped
from setwise.losses.cardinality import Cardinality
from setwise.losses.describe import describe
from setwise.losses.early_detection import EarlyDetection
from setwise.losses.hamming import Hamming
from setwise.losses.jaccard import Jaccard
from setwise.losses.saturating import Saturating
from setwise.losses.set_function_loss import SetFunctionLoss
from setwise.losses.zero_one import ZeroOne

__all__ = [
    "Capped",
    "Cardinality",
    "EarlyDetection",
    "Hamming",
    "Jaccard",
    "Loss",
    "Saturating",
    "SetFunctionLoss",
    "Trait",
    "ZeroOne",
    "describe",
]
