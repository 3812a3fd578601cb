"""Slack rescaling: the loss of a labeling is multiplied by 1 + its score relative to the truth (LH Eq. 22)."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.batch import Batch
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, check_inference
from setwise.core.loss import Loss
from setwise.core.pages import WHICH_SURROGATE
from setwise.core.rankings import Rankings
from setwise.core.surrogate import Evaluator, Surrogate
from setwise.inference.auto import Auto
from setwise.losses import as_loss
from setwise.surrogates.evaluators import Slack


@final
@dataclass(frozen=True, eq=False)
class SlackRescaling(Surrogate):
    """``max_y loss(y) (1 + <s, phi(y) - phi(truth)>)``, with phi(y) = y for 0/1 labels (LH Eq. 22).

    The surrogate is convex, and never below the loss of what the scores predict. It is an extension exactly of the
    increasing losses (LH Prop. 1). The table of :class:`setwise.inference.Auto` says for which losses the maximum is
    exact. For the others ``exact`` is False, and ``upper`` is a true upper bound.

    Parameters
    ----------
    loss : any loss of labels, or the name of one
    inference : None chooses by the loss; an object forces one

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text, and for anything but an inference
    ValueError : for a name that no loss has
    Refusal : from :meth:`on`, for losses of a ranking or of a given number predicted, for labels that are not known,
        and where the inference does not fit the loss and the batch

    Examples
    --------
    >>> from setwise.surrogates import SlackRescaling
    >>> found = SlackRescaling("jaccard")([1, 0], [2.0, 0.5])  # the worst labeling is (1, 1): 1/2 (1 + 0.5)
    >>> print(found.value, found.gradient)
    0.75 [0.  0.5]
    """

    loss: Loss
    inference: Inference | None = None

    name: ClassVar[str] = "slack"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        check_inference(self.inference)

    def on(self, batch: Batch) -> Evaluator:
        structure = self.loss.structure(batch)
        # A loss that is bound to another batch has labelings or a target of its own.
        if structure.batch is not batch:
            ranks = isinstance(structure.batch, Rankings)
            why = "it ranks and makes no set of mistakes" if ranks else "the truth is none of the labelings it takes"
            raise Refusal(f"SlackRescaling refuses {self.loss!r}: {why}. Use surrogate='margin'.", WHICH_SURROGATE)
        if batch.known is not None:
            why = "labels that are not known: their scores would multiply the loss"
            raise Refusal(f"SlackRescaling refuses {why}. Use surrogate='margin'.", WHICH_SURROGATE)
        return Slack((self.inference or Auto()).prepare(structure, slack=True))
