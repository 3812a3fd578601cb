"""Data from synthetic problems and from local files. Nothing is ever downloaded."""

from setwise.datasets.early_detection import early_detection
from setwise.datasets.files import Data, load

__all__ = ["Data", "early_detection", "load"]
