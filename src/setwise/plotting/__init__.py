"""Pictures with matplotlib. Every function returns a ``matplotlib.figure.Figure``, and none uses ``pyplot``.

``CandidatesDisplay`` and ``ThresholdDisplay`` are displays as those of scikit-learn; their figures are in ``figure_``.
"""

try:
    import matplotlib  # noqa: F401
except ImportError:
    raise ImportError("setwise.plotting needs matplotlib: pip install 'setwise[plot]'.") from None

from setwise.plotting.candidates import CandidatesDisplay
from setwise.plotting.gaps import gap_curves
from setwise.plotting.lines import curves
from setwise.plotting.scores import plane, scores
from setwise.plotting.segmentations import segmentations
from setwise.plotting.surfaces import surface, surfaces
from setwise.plotting.thresholds import ThresholdDisplay
from setwise.plotting.train_by_test import cross_table

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
