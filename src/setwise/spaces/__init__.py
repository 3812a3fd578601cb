"""Spaces: which labels there are, the features that labels share, and how sets of labels become matrices of truths."""

from collections.abc import Mapping
from typing import Any

from setwise.core.inference import Inference
from setwise.core.registry import discover
from setwise.spaces.boxes import ByWindows, Overlap
from setwise.spaces.hierarchy import Hierarchy, hierarchical_f1, hierarchical_precision, hierarchical_recall
from setwise.spaces.label_scores import label_f1, label_precision, label_recall, mean_average_precision
from setwise.spaces.large_space import Candidates, LargeSpace
from setwise.spaces.legal_sets import ClosedSets, LegalDecisions, LegalSets, ListedSets
from setwise.spaces.matchings import ByMatchings, Matchings
from setwise.spaces.network_labelings import ByNetworks, NetworkLabelings
from setwise.spaces.sequences import BySequences, LabelSequences, SequenceModel
from setwise.spaces.spaces import FiniteSpace, Space
from setwise.spaces.window_scores import window_average_precision, window_f1, window_precision, window_recall
from setwise.spaces.windows import Windows, WordImage

SPACES: Mapping[str, type[Space | LargeSpace]] = {**discover(__name__, Space), **discover(__name__, LargeSpace)}
"""The kinds of label spaces by their short names.

>>> from setwise.spaces import SPACES
>>> SPACES["sequences"].__name__
'LabelSequences'
"""

SEARCHES = discover(__name__, Inference)  # type: ignore[type-abstract]
"""The methods of inference that know the labelings of one space alone, by their short names.

>>> from setwise.spaces import SEARCHES
>>> SEARCHES["by_windows"].about
'branch and bound over windows, then pairs of rows'
"""

__all__ = [
    "SEARCHES",
    "SPACES",
    "ByMatchings",
    "ByNetworks",
    "BySequences",
    "ByWindows",
    "Candidates",
    "ClosedSets",
    "FiniteSpace",
    "Hierarchy",
    "LabelSequences",
    "LargeSpace",
    "LegalDecisions",
    "LegalSets",
    "ListedSets",
    "Matchings",
    "NetworkLabelings",
    "Overlap",
    "SequenceModel",
    "Space",
    "Windows",
    "WordImage",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "label_f1",
    "label_precision",
    "label_recall",
    "mean_average_precision",
    "window_average_precision",
    "window_f1",
    "window_precision",
    "window_recall",
]

# What a new file defines is exported without a line here.
_FOUND = {kind.__name__: kind for kind in (*SPACES.values(), *SEARCHES.values())}
globals().update(_FOUND)
__all__ += [name for name in _FOUND if name not in __all__]


def __getattr__(name: str) -> Any:
    # Names are there since the import; this tells type checkers that more may be found here than they see.
    raise AttributeError(f"module 'setwise.spaces' has no attribute {name!r}")
