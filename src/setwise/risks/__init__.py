"""Risks: the functions of the weights that learners minimize."""

from setwise.core.risk import Risk
from setwise.risks.mean import MeanRisk

__all__ = ["MeanRisk", "Risk"]
