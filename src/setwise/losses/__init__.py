"""Losses: one file, one formula. Each is callable and says what it promises.

Losses of mistakes are set functions of what is wrong; losses of a ranking judge the order of the scores.
"""

from setwise.core.loss import Loss
from setwise.core.ranking import RankLoss
from setwise.core.traits import Trait
from setwise.losses.area_weighted import AreaWeighted
from setwise.losses.average_precision import AveragePrecision
from setwise.losses.balanced_error import BalancedError
from setwise.losses.break_even import BreakEven
from setwise.losses.capped import Capped
from setwise.losses.cardinality import Cardinality
from setwise.losses.class_weighted import ClassWeighted
from setwise.losses.class_weighted_hamming import ClassWeightedHamming
from setwise.losses.count_loss import CountLoss
from setwise.losses.describe import describe
from setwise.losses.early_detection import EarlyDetection
from setwise.losses.error_rate import ErrorRate
from setwise.losses.f_beta import FBeta
from setwise.losses.g_mean import GMean
from setwise.losses.h_mean import HMean
from setwise.losses.hamming import Hamming
from setwise.losses.jaccard import Jaccard
from setwise.losses.mcc import MCC
from setwise.losses.ndcg import NDCG
from setwise.losses.precision_at_k import PrecisionAtK
from setwise.losses.recall_at_k import RecallAtK
from setwise.losses.roc_area import RocArea
from setwise.losses.saturating import Saturating
from setwise.losses.set_function_loss import SetFunctionLoss
from setwise.losses.tversky import Tversky
from setwise.losses.zero_one import ZeroOne

__all__ = [
    "MCC",
    "NDCG",
    "AreaWeighted",
    "AveragePrecision",
    "BalancedError",
    "BreakEven",
    "Capped",
    "Cardinality",
    "ClassWeighted",
    "ClassWeightedHamming",
    "CountLoss",
    "EarlyDetection",
    "ErrorRate",
    "FBeta",
    "GMean",
    "HMean",
    "Hamming",
    "Jaccard",
    "Loss",
    "PrecisionAtK",
    "RankLoss",
    "RecallAtK",
    "RocArea",
    "Saturating",
    "SetFunctionLoss",
    "Trait",
    "Tversky",
    "ZeroOne",
    "describe",
]
