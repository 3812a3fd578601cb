"""The Lovász hinge: the tight convex surrogate of a submodular loss (LH section 4)."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch, Orders, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values, as_kind, shown
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.networks import Graphs
from setwise.core.pages import NETWORKS_REFUSE, NOT_INCREASING, PROMISES, WHICH_SURROGATE
from setwise.core.surrogate import Evaluation, Evaluator, PiecedEvaluator, Surrogate
from setwise.core.terms import Trait
from setwise.kernels.lovasz import MARGINS, NO_LIMIT, lovasz_values, modular_hinge, quotient_extension
from setwise.kernels.sorting import sort_falling
from setwise.losses import as_loss
from setwise.surrogates.pieces.bins import bound_loss_of_totals
from setwise.surrogates.pieces.lovasz import LovaszInPieces, of_large_set


@final
@dataclass(frozen=True, eq=False)
class LovaszHinge(Surrogate):
    """``l(none) + sum_j (u_(j))_+ gain_j`` along the margin errors ``u = 1 - s (2y - 1)``, sorted down (LH Def. 5).

    For losses that do not increase, the sum is clipped at 0 as a whole instead of each of its terms:
    ``(l(none) + sum_j u_(j) gain_j)_+`` (LH Def. 6). The surrogate is convex and an extension of the loss, and it is
    computed exactly in O(p log p). Under Def. 5 only the active decisions, those with ``u > 0``, are sorted.

    It takes any submodular loss, any model with one score for each decision, and every learner; graphs only without
    edges.

    Parameters
    ----------
    loss : a loss, or the name of one. It must promise ``Trait.SUBMODULAR``, or have tables of counts that show it;
        otherwise it is refused, because the surrogate would not be convex (LH Prop. 4)
    increasing : None chooses the definition by the traits of the loss; True forces Def. 5, and False Def. 6. Def. 5 is
        not convex for a loss that does not increase (LH Prop. 9), so such a surrogate can be plotted but not learned

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text, and ``increasing`` other than None, True and False
    ValueError : for a name that no loss has
    Refusal : for losses of a ranking or of several classes, and those known not to be submodular; from :meth:`on` for
        losses that do not promise to be, graphs with edges, and labels that are not known

    Examples
    --------
    >>> from setwise.surrogates import LovaszHinge
    >>> hinge = LovaszHinge("jaccard")
    >>> found = hinge([1, 0, 0], [0.5, 0.5, -2.0])  # u = 0.5, 1.5, -1: the false alarm gains 1/2, then the miss 1/2
    >>> print(found.value, found.gradient)
    1.0 [-0.5  0.5  0. ]
    """

    loss: Loss
    increasing: bool | None = None

    name: ClassVar[str] = "lovasz"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))
        if self.increasing is not None and not isinstance(self.increasing, bool | np.bool_):
            raise TypeError(f"increasing must be None, True or False; got {shown(self.increasing)}.")
        if self.loss.reads != "labels":
            why = "it reads a ranking" if self.loss.reads == "scores" else "it is for more than two labels"
            raise Refusal(
                f"LovaszHinge refuses {self.loss!r}: {why}, not a set of mistakes. Use surrogate='margin'.",
                WHICH_SURROGATE,
            )
        # A loss that is known not to be submodular is refused here; ``on`` asks for a promise or a table.
        if Trait.SUBMODULAR in self.loss.denied:
            raise Refusal(
                f"LovaszHinge refuses {self.loss!r}: the loss is not submodular. Use surrogate='margin'.",
                WHICH_SURROGATE,
            )

    def on(self, batch: Any) -> Evaluator:
        as_kind(batch, "batch", Batch, "Sets.single(y)")
        if isinstance(batch, Graphs):
            if len(batch.edges):
                raise Refusal(
                    "LovaszHinge refuses Graphs with edges: it sorts independent decisions. Leave the edges out, which "
                    "holds their weights at 0, or use surrogate='margin'.",
                    NETWORKS_REFUSE,
                )
            batch = batch.nodes
        if not isinstance(batch, Sets) or batch.known is not None or batch.totals is not None:
            what = type(batch).__name__ if not isinstance(batch, Sets) else "sets with unknown labels"
            raise Refusal(
                f"LovaszHinge refuses {what}: it sorts independent decisions. Use surrogate='margin'.", WHICH_SURROGATE
            )
        bound_loss = self.loss.bind(batch)
        return of_large_set(self, batch, LovaszExtension(bound_loss, self._thresholded(bound_loss)))

    def in_pieces(self, negatives: int, positives: int) -> PiecedEvaluator:
        """The surrogate bound to one set in several places, for losses of counts: found from bins of margin errors.

        Raises
        ------
        Refusal : for losses that are no function of (fn, fp, P, N), or where the surrogate is not convex
        """
        bound_loss, counts = bound_loss_of_totals(self.loss, negatives, positives)
        thresholded = self._thresholded(bound_loss)
        if self.increasing and Trait.INCREASING not in bound_loss.traits:
            raise Refusal(
                f"LovaszHinge refuses increasing=True for {self.loss!r} of a set in pieces: the loss does not "
                "increase, so the surrogate is not convex. Use increasing=None.",
                NOT_INCREASING,
            )
        return LovaszInPieces(counts, thresholded)

    def _thresholded(self, bound_loss: BoundLoss) -> bool:
        """Whether each error is clipped at 0 (LH Def. 5); Refusal where the loss does not promise to be submodular."""
        if Trait.SUBMODULAR not in bound_loss.traits:
            raise Refusal(
                f"LovaszHinge refuses {self.loss!r}: the loss does not promise to be submodular. Use "
                "surrogate='margin', or promises=[Trait.SUBMODULAR] where that holds.",
                PROMISES,
            )
        # Tables may show that a loss increases though it does not promise it, so the bound loss is asked.
        return Trait.INCREASING in bound_loss.traits if self.increasing is None else bool(self.increasing)


@final
class LovaszExtension(Evaluator):
    """The Lovász extension of a bound loss at the margin errors, with each error or the whole sum clipped at 0.

    The extension of a sum of losses is the sum of their extensions. So the modular part is computed without a sort, and
    a quotient of counts directly from the sorted keys.

    Parameters
    ----------
    bound_loss : a submodular loss bound to binary sets
    thresholded : whether each error is clipped at 0 (LH Def. 5), or else the whole sum (LH Def. 6)
    """

    def __init__(self, bound_loss: BoundLoss, thresholded: bool) -> None:
        self.bound_loss, self.thresholded, self.batch, self.floor = bound_loss, thresholded, bound_loss.batch, 0.0
        self.convex = not thresholded or Trait.INCREASING in bound_loss.traits
        costs, remainder = bound_loss.split()
        # A sum that is clipped as a whole cannot be split into parts.
        self._costs, self._remainder = (costs, remainder) if thresholded else (None, bound_loss)
        self._at_empty = self._remainder.at_empty()
        # A single quotient of counts has a kernel of its own; it counts decisions and knows no areas.
        term = self._remainder.terms[0] if len(self._remainder.terms) == 1 else None
        fast = thresholded and isinstance(term, Counts) and term.areas is None
        self._quotient = term.quotient if fast and isinstance(term, Counts) else None
        # Hardly ever are all positives wrong, so that a look for the last of them would save nothing.
        self._limits = np.full(len(self._at_empty), NO_LIMIT, dtype=np.uint32)

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        sets = self.batch
        # A modular loss leaves no remainder.
        if not self._remainder.terms and self.thresholded:
            values, gradient = np.zeros(len(sets)), np.zeros_like(scores)
        elif self._quotient is not None:
            codes, limits, start = sets.truth.view(np.int8), self._limits, self._at_empty
            found = quotient_extension(scores, codes, sets.offsets, MARGINS, limits, *self._quotient, start)
            values, gradient = found[:2]
        else:
            values, gradient = self._of_gains(scores)
        # The kernel adds its gradient to the one of the remainder.
        if self._costs is not None:
            values = values + modular_hinge(scores, sets.truth, sets.offsets, self._costs, gradient)
        return Evaluation(values, gradient, values, np.ones(len(sets), dtype=bool))

    def _of_gains(self, scores: Floats) -> tuple[Values, Floats]:
        """The value and the gradient of any remainder, from its gains along the sorted errors."""
        sets = self.batch
        # Errors that are clipped at 0 add nothing, so their decisions are left out of the sort.
        items, labels, ordered, starts = sort_falling(
            scores, sets.truth, sets.offsets, errors=True, above_zero=self.thresholded
        )
        gains = self._remainder.gains_of(Orders(items, labels, starts))
        gradient = np.zeros_like(scores)
        values = lovasz_values(ordered, gains, items, labels, starts, self._at_empty, gradient)
        return values, gradient

    def take(self, parts: Ints) -> "LovaszExtension":
        return LovaszExtension(self.bound_loss.take(parts), self.thresholded)

    def __repr__(self) -> str:
        return f"the Lovász hinge of {self.bound_loss!r}"
