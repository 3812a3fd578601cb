"""Graphs of decisions with neighbors, as the pixels or superpixels of an image."""

from setwise.graphs.graph import NODE_FEATURES, Graph
from setwise.graphs.images import box_labels, from_image, known_part, trimap_labels

__all__ = ["NODE_FEATURES", "Graph", "box_labels", "from_image", "known_part", "trimap_labels"]
