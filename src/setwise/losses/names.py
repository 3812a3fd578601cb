"""Losses by their short names, for the estimator and the command line."""

from collections.abc import Callable

from setwise.core.loss import Loss
from setwise.core.ranking import RankLoss
from setwise.losses.average_precision import AveragePrecision
from setwise.losses.balanced_error import BalancedError
from setwise.losses.break_even import BreakEven
from setwise.losses.early_detection import EarlyDetection
from setwise.losses.error_rate import ErrorRate
from setwise.losses.f_beta import FBeta
from setwise.losses.g_mean import GMean
from setwise.losses.h_mean import HMean
from setwise.losses.hamming import Hamming
from setwise.losses.jaccard import Jaccard
from setwise.losses.mcc import MCC
from setwise.losses.ndcg import NDCG
from setwise.losses.roc_area import RocArea
from setwise.losses.saturating import Saturating
from setwise.losses.zero_one import ZeroOne

LOSSES: dict[str, Callable[[], Loss | RankLoss]] = {
    "auc": RocArea,
    "average_precision": AveragePrecision,
    "balanced_error": BalancedError,
    "break_even": BreakEven,
    "early_detection": EarlyDetection,
    "error_rate": ErrorRate,
    "f1": FBeta,
    "g_mean": GMean,
    "h_mean": HMean,
    "hamming": Hamming,
    "jaccard": Jaccard,
    "mcc": MCC,
    "ndcg": NDCG,
    "saturating": Saturating,
    "zero_one": ZeroOne,
}
"""Losses that need no parameters."""
