"""Pictures with matplotlib. Every function returns a ``matplotlib.figure.Figure``, and none uses ``pyplot``.

``CandidatesDisplay`` and ``ThresholdDisplay`` are displays as those of scikit-learn; their figures are in ``figure_``.
"""

try:
    import matplotlib  # noqa: F401
except ImportError:
    raise ImportError("setwise.plotting needs matplotlib: pip install 'setwise[compare]'.") from None

from setwise.plotting.candidates import CandidatesDisplay, ThresholdDisplay
from setwise.plotting.curves import cross_table, curves, gap_curves
from setwise.plotting.scores import plane, scores, segmentations, surface, surfaces

__all__ = [
    "CandidatesDisplay",
    "ThresholdDisplay",
    "cross_table",
    "curves",
    "gap_curves",
    "plane",
    "scores",
    "segmentations",
    "surface",
    "surfaces",
]
