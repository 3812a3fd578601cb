"""Data from synthetic problems and from local files. Nothing is ever downloaded."""

from setwise.datasets.files import Data, NewRows, load, load_numbered, load_rows, load_sample, load_table
from setwise.datasets.images import LabeledImages, load_horses, load_labeled_images
from setwise.datasets.synthetic import ObjectScenes, early_detection, landmarks, object_scenes, textured_objects

__all__ = [
    "Data", "LabeledImages", "NewRows", "ObjectScenes", "early_detection", "landmarks", "load", "load_horses",
    "load_labeled_images", "load_numbered", "load_rows", "load_sample", "load_table", "object_scenes",
    "textured_objects",
]  # fmt: skip
