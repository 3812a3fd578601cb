"""Models: what turns features and weights into scores."""

from setwise.core.model import Model
from setwise.models.independent import Independent
from setwise.models.label_columns import Columns, LabelColumns
from setwise.models.multi_label import MultiLabel

__all__ = ["Columns", "Independent", "LabelColumns", "Model", "MultiLabel"]
