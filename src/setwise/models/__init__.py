"""Models: linear functions that turn features and weights into scores."""

from setwise.core.risk import Features
from setwise.models.joint_labels import JointLabels, WithConstant
from setwise.models.kernel_features import JointKernel, Kernel
from setwise.models.networks import GraphModel, GridModel, LandmarkModel
from setwise.models.rows import Independent, MultiLabel, RowBlock

__all__ = [
    "Features",
    "GraphModel",
    "GridModel",
    "Independent",
    "JointKernel",
    "JointLabels",
    "Kernel",
    "LandmarkModel",
    "MultiLabel",
    "RowBlock",
    "WithConstant",
]
