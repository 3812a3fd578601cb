"""Models: linear functions that turn features and weights into scores."""

from setwise.core.risk import Features
from setwise.models.graph_model import GraphModel
from setwise.models.grid_model import GridModel
from setwise.models.independent import Independent
from setwise.models.joint_labels import JointLabels
from setwise.models.kernels import JointKernel, Kernel
from setwise.models.landmark_model import LandmarkModel
from setwise.models.multi_label import MultiLabel
from setwise.models.row_block import RowBlock
from setwise.models.sequence_model import SequenceModel
from setwise.models.with_constant import WithConstant

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
    "SequenceModel",
    "WithConstant",
]
