"""Graphs of decisions with neighbors, as the pixels or superpixels of an image."""

from setwise.graphs.features import NODE_FEATURES
from setwise.graphs.graph import Graph
from setwise.graphs.images import from_image

__all__ = ["NODE_FEATURES", "Graph", "from_image"]
