"""Risks: the functions of the weights that learners minimize."""

from setwise.core.risk import Risk
from setwise.risks.distributed import DistributedRisk
from setwise.risks.mean import MeanRisk
from setwise.risks.remembering import Remembering

__all__ = ["DistributedRisk", "MeanRisk", "Remembering", "Risk"]
