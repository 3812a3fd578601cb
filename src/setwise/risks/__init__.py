"""Risks: the functions of the weights that learners minimize."""

from typing import TYPE_CHECKING

from setwise.core.attributes import lazily
from setwise.core.risk import Risk
from setwise.risks.mean import MeanRisk, RiskWithPlanes, ShiftedRisk

if TYPE_CHECKING:
    from setwise.risks.distributed_risk import DistributedRisk as DistributedRisk

__all__ = ["DistributedRisk", "MeanRisk", "Risk", "RiskWithPlanes", "ShiftedRisk"]

__getattr__, __dir__ = lazily(__name__, {"DistributedRisk": "distributed_risk"})
