"""The hinge of MLSP: the worst violation of a single label."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

from setwise.core.batch import Batch
from setwise.core.checks import as_choice
from setwise.core.exceptions import Refusal
from setwise.core.inference import Maximizer
from setwise.core.loss import Loss
from setwise.core.pages import HINGE_OF_LABELS
from setwise.core.single_labels import Flips
from setwise.core.structure import Structure
from setwise.core.surrogate import Evaluator, Surrogate
from setwise.core.terms import Largest, OneMistake
from setwise.inference.auto import Auto
from setwise.inference.independent_decisions import ByLargest
from setwise.losses import as_loss
from setwise.surrogates.evaluators import Slack, Support

Rescaling = Literal["slack", "margin"]


@final
@dataclass(frozen=True, eq=False)
class MultilabelHinge(Surrogate):
    """``max_i costs_i (1 - v_i s_i)``, not below 0, for labels v_i of -1 and 1 (MLSP Eq. 6); Eq. 7 by the margin.

    That is slack rescaling of the max loss, over the labelings that differ from the truth in one label at most. It is
    not below the max loss, and not above slack or margin rescaling over all labelings. On labels that are too many to
    list, as those of :class:`setwise.core.label_sequences.Sequences`, inference searches for the worst one.

    Parameters
    ----------
    loss : a :class:`setwise.losses.MaxLoss`
    rescaling : ``"slack"``; or ``"margin"`` for ``max_i costs_i - v_i s_i``, which agrees where all costs are 1

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text
    ValueError : for a name that no loss has, and another rescaling
    Refusal : from :meth:`on`, for losses that single mistakes do not bound, as all but ``MaxLoss``

    Examples
    --------
    >>> from setwise.losses import MaxLoss
    >>> from setwise.surrogates import MultilabelHinge
    >>> found = MultilabelHinge(MaxLoss([1.0, 1.0, 3.0]))([1, 0, 0], [0.5, -2.0, -0.5])
    >>> print(found.value, found.gradient)  # the third label is the worst one: 3 (1 - 0.5)
    1.5 [0. 0. 3.]
    """

    loss: Loss
    rescaling: Rescaling = "slack"

    name: ClassVar[str] = "multilabel_hinge"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        as_choice(self.rescaling, "rescaling", ("slack", "margin"))

    def on(self, batch: Batch) -> Evaluator:
        structure, slack = self.loss.structure(batch), self.rescaling == "slack"
        if isinstance(batch, Flips):
            return _evaluator(Auto().prepare(structure, slack=slack))
        if not all(isinstance(term, Largest) for term in structure.terms) or not structure.terms:
            raise Refusal(
                f"MultilabelHinge refuses {self.loss!r}: single mistakes do not bound it. Use MaxLoss, or "
                "surrogate='margin'.",
                HINGE_OF_LABELS,
            )
        single = Structure(structure.batch, (*structure.terms, OneMistake()), self.loss)
        return _evaluator(ByLargest().prepare(single, slack=slack))


def _evaluator(maximizer: Maximizer) -> Evaluator:
    return Slack(maximizer) if maximizer.slack else Support(maximizer)
