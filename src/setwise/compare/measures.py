"""How a loss is shown to a reader: as the measure that it is one minus of, or as a cost."""

from dataclasses import dataclass
from typing import final

from setwise.core.checks import as_choice, as_kind, as_text
from setwise.core.loss import Loss

SCORES: dict[str, str] = {
    "auc": "AUC",
    "average_precision": "average precision",
    "balanced_error": "balanced accuracy",
    "break_even": "precision at break-even",
    "error_rate": "accuracy",
    "f1": "F1",
    "g_mean": "G-mean",
    "h_mean": "H-mean",
    "jaccard": "Jaccard index",
    "mcc": "Matthews correlation",
    "ndcg": "NDCG",
    "precision_at_k": "precision at k",
    "recall_at_k": "recall at k",
    "tversky": "Tversky index",
}
"""The losses that are one minus a measure by which users know them, with the names of these measures."""

HEADINGS = {"tversky:1:1e-9": "precision", "tversky:1e-9:1": "recall"}
"""The names of losses with parameters that users know under another name."""


@final
@dataclass(frozen=True)
class Measured:
    """A loss with the words for it.

    Attributes
    ----------
    name : what was asked for, as ``"f1"`` or ``"fbeta:2"``
    loss : the loss
    average : what a set is in a label matrix, as for :class:`setwise.SetClassifier`

    Raises
    ------
    ValueError : for an empty name, another average, and losses of more than two labels
    TypeError : for a name or a loss of another kind

    Examples
    --------
    >>> from setwise.compare import Measured
    >>> from setwise.losses import FBeta
    >>> f1 = Measured("f1", FBeta())
    >>> f1.title, f1.better, f1.shown(0.25)
    ('F1', 'higher is better', 0.75)
    """

    name: str
    loss: Loss
    average: str = "samples"

    def __post_init__(self) -> None:
        if not as_text(self.name, "name"):
            raise ValueError("name must not be empty; it is what the loss is called, as 'f1'.")
        if as_kind(self.loss, "loss", Loss, "FBeta()").reads not in ("labels", "scores"):
            raise ValueError(f"loss must judge labels 0 and 1 or scores; {self.loss!r} judges {self.loss.reads}.")
        as_choice(self.average, "average", ("samples", "macro", "micro"))

    @property
    def is_score(self) -> bool:
        """Whether readers know the measure ``1 - loss``, of which more is better."""
        return self.loss.name in SCORES

    @property
    def title(self) -> str:
        """The name of what is shown, as ``"F1"``."""
        if self.name in HEADINGS:
            return HEADINGS[self.name]
        if self.name == self.loss.name:
            return SCORES.get(self.name, f"{self.name.replace('_', ' ')} loss")
        return self.name if self.is_score else f"{self.name} loss"

    @property
    def better(self) -> str:
        """``"higher is better"`` or ``"lower is better"``."""
        return "higher is better" if self.is_score else "lower is better"

    @property
    def orders(self) -> bool:
        """Whether the loss reads scores, of which only the order counts, so that no threshold occurs in it."""
        return self.loss.reads == "scores"

    def shown(self, loss: float) -> float:
        """The figure that is shown for a value of the loss."""
        return 1.0 - loss if self.is_score else loss
