"""Data from synthetic problems and from local files. Nothing is ever downloaded."""

from setwise.datasets.early_detection import early_detection
from setwise.datasets.files import Data, load, load_table
from setwise.datasets.images import LabeledImages, load_horses, load_labeled_images
from setwise.datasets.landmarks import landmarks
from setwise.datasets.new_rows import NewRows, load_numbered, load_rows
from setwise.datasets.object_scenes import ObjectScenes, object_scenes
from setwise.datasets.sampling import load_sample
from setwise.datasets.textured_objects import textured_objects

__all__ = [
    "Data",
    "LabeledImages",
    "NewRows",
    "ObjectScenes",
    "early_detection",
    "landmarks",
    "load",
    "load_horses",
    "load_labeled_images",
    "load_numbered",
    "load_rows",
    "load_sample",
    "load_table",
    "object_scenes",
    "textured_objects",
]
