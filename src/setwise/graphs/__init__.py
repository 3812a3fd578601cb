"""Graphs of decisions with neighbors, as the pixels or superpixels of an image."""

from setwise.graphs.features import NODE_FEATURES
from setwise.graphs.graph import Graph
from setwise.graphs.images import from_image
from setwise.graphs.weak import box_labels, known_part, trimap_labels

__all__ = ["NODE_FEATURES", "Graph", "box_labels", "from_image", "known_part", "trimap_labels"]
