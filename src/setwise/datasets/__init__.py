"""Data from synthetic problems and from local files. Nothing is ever downloaded."""

from setwise.datasets.early_detection import early_detection
from setwise.datasets.files import Data, load, load_table
from setwise.datasets.landmarks import landmarks
from setwise.datasets.new_rows import NewRows, load_numbered, load_rows

__all__ = ["Data", "NewRows", "early_detection", "landmarks", "load", "load_numbered", "load_rows", "load_table"]
