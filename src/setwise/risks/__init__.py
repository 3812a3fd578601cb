"""Risks: the functions of the weights that learners minimize."""

from setwise.core.risk import Risk
from setwise.risks.distributed_risk import DistributedRisk
from setwise.risks.mean import MeanRisk, RiskWithPlanes, ShiftedRisk

__all__ = ["DistributedRisk", "MeanRisk", "Risk", "RiskWithPlanes", "ShiftedRisk"]
