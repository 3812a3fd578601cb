"""Models: linear functions that turn features and weights into scores."""

from setwise.core.risk import Features
from setwise.models.joint_labels import JointLabels, ModelWithConstant
from setwise.models.kernel_features import JointKernel, Kernel
from setwise.models.networks import GraphModel, GridModel, LandmarkModel
from setwise.models.rows import MultilabelModel, RowBlock, RowModel

__all__ = [
    "Features",
    "GraphModel",
    "GridModel",
    "JointKernel",
    "JointLabels",
    "Kernel",
    "LandmarkModel",
    "ModelWithConstant",
    "MultilabelModel",
    "RowBlock",
    "RowModel",
]
