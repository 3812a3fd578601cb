"""Risks: the functions of the weights that learners minimize."""

from setwise.core.risk import Risk
from setwise.risks.distributed_risk import DistributedRisk
from setwise.risks.mean import MeanRisk, Remembering, Shifted

__all__ = ["DistributedRisk", "MeanRisk", "Remembering", "Risk", "Shifted"]
