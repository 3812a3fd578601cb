"""Margin rescaling, slack rescaling and the ramp of logits, for losses whose loss-augmented maximum is found."""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, final

import numpy as np
import torch
from torch import Tensor

from setwise.core.attributes import cached_property
from setwise.core.checks import Floats
from setwise.core.loss import Loss
from setwise.core.pages import EXACT_OR_BOUNDED
from setwise.core.surrogate import Surrogate
from setwise.core.terms import Trait
from setwise.surrogates import MarginRescaling, Ramp, SlackRescaling
from setwise.surrogates.ramp import NUDGE
from setwise.torch.arguments import Arguments, Classes, Empty, Mode, named
from setwise.torch.criterion import Criterion, Reduction, functional
from setwise.torch.device_forms import DeviceCounts, rescaled
from setwise.torch.layout import ragged
from setwise.torch.operators import Codes, Form, HostValues, ValueAndGradient
from setwise.torch.process_groups import Sync


@final
class SurrogateForm(Form):
    """The value and the gradient of a surrogate of setwise, on the host.

    On a device, margin rescaling, slack rescaling and the ramp of losses of counts are computed as in
    :func:`setwise.torch.device_forms.rescaled`. Where the surrogate is only known to lie between two bounds, a warning
    says how far they are apart.
    """

    def __init__(self, surrogate: Surrogate, key: Hashable) -> None:
        self.surrogate, self._key = surrogate, key

    @property
    def key(self) -> Hashable:
        return SurrogateForm, type(self.surrogate), self._key

    def on_host(self, scores: Floats, codes: Codes) -> HostValues:
        found = ragged(codes)
        sets = found.sets
        if sets is None:
            return HostValues(np.zeros_like(scores, shape=len(scores)), np.zeros_like(scores))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            seen = self.surrogate.on(sets)(found.take(scores))
            values = found.spread_rows(seen.values, scores)
        if not np.isfinite(values).all():
            raise OverflowError(
                f"logits are too large: {self.surrogate!r} leaves torch.{scores.dtype}. Scale them down."
            )
        if not seen.exact.all():
            gap = float((seen.upper - seen.values).max())
            warnings.warn(
                f"{self.surrogate!r} is known only to within {gap:.3g} here, and the gradient is that of its lower "
                f"bound: these sets are too large for an exact search.{EXACT_OR_BOUNDED.see}",
                stacklevel=2,
            )
        return HostValues(values, found.spread(seen.gradient, scores))

    @cached_property
    def _counts(self) -> DeviceCounts | None:
        """The loss on tensors; None where they can not run it, or where a method of inference was chosen."""
        if not isinstance(self.surrogate, MarginRescaling | SlackRescaling | Ramp):
            return None
        return DeviceCounts.of(self.surrogate.loss) if self.surrogate.inference is None else None

    def on_device(self, scores: Tensor, codes: Tensor) -> ValueAndGradient | None:
        counts, surrogate = self._counts, self.surrogate
        if counts is None or not isinstance(surrogate, MarginRescaling | SlackRescaling | Ramp):
            return None
        increasing = Trait.INCREASING in surrogate.loss.traits
        if isinstance(surrogate, SlackRescaling):
            return rescaled(counts, scores, codes, increasing, slack=True)
        scale = (codes >= 0).sum(dim=1, keepdim=True).clamp(min=1).to(scores.dtype)
        if not isinstance(surrogate.scale, str):
            scale = torch.full_like(scale, surrogate.scale)
        scaled, ramp = scores / scale, isinstance(surrogate, Ramp)
        if ramp:
            # As on the host, scores of 0 are moved towards the truth, here so little that the value hardly changes.
            nudge = torch.where(codes == 1, 1e-5 * NUDGE, -1e-5 * NUDGE).double()
            scaled = torch.where(scores == 0, nudge, scaled.double())
        found = rescaled(counts, scaled, codes, increasing, ramp=ramp)
        if found is None:
            return None
        return ValueAndGradient(found.values.to(scores.dtype), (found.gradient / scale).to(scores.dtype))

    def __repr__(self) -> str:
        return repr(self.surrogate)


class _ScaledCriterion(Criterion):
    """A surrogate of a loss whose scores are divided by a scale."""

    _surrogate: ClassVar[type[MarginRescaling] | type[Ramp]]

    def __init__(
        self,
        loss: Loss | str,
        mode: Mode = "binary",
        *,
        scale: float | str = 1.0,
        ignore_index: int | None = None,
        per_image: bool = False,
        classes: Classes = "present",
        include_background: bool = True,
        class_weight: Sequence[float] | Tensor | None = None,
        empty: Empty | None = None,
        reduction: Reduction = "mean",
        sync: Sync | None = None,
    ) -> None:
        arguments = Arguments(mode, ignore_index, per_image, classes, include_background, empty)
        bound = arguments.of(named(loss))
        form = SurrogateForm(self._surrogate(bound, scale=scale), (bound, scale))
        super().__init__(form, arguments, class_weight, reduction, sync)


@final
class MarginRescalingLoss(_ScaledCriterion):
    """``max_h loss(h) + <s, h - y> / g`` over all labelings h of a set (LH Eq. 21, where g = 1).

    On CUDA losses of counts are maximized where the tensors are: in sets of up to 1,024 decisions by a search of the
    whole table of counts, and in larger ones for sums of costs, Jaccard, F_beta, Tversky with ``alpha + beta = 1`` or
    ``beta = 1``, and MCC, and for sums of some of them, in O(p log p). All else goes through the host: other losses,
    larger sets, and losses that fix the number of predicted positives, as precision at k.

    Parameters
    ----------
    loss : any loss of labels or of a ranking, or its name
    scale : g > 0, or ``"size"`` for the number of decisions of each set. The scores of a large set add up while a loss
        like F1 stays below 1, so at g = 1 tiny scores would be enough
    mode, ignore_index, per_image, classes, include_background, empty : what the channels mean, which decisions make a
        set, and which sets count; see :class:`setwise.torch.Arguments`
    class_weight, reduction, sync : a weight of each channel (C,), what is made of the values of the sets, and whether
        sets go over several processes; see :class:`setwise.torch.Criterion`

    Raises
    ------
    Refusal : for arguments that do not fit each other, and a loss of several classes; when called, where no inference
        fits the loss
    ValueError, TypeError, OverflowError : as :class:`setwise.torch.Criterion` says

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import MarginRescalingLoss
    >>> value = MarginRescalingLoss("f1")(torch.tensor([[2.0, 2.0, -1.0]]), torch.tensor([[1, 0, 0]]))
    >>> round(value.item(), 3)  # labels (1, 1, 0): the loss 1/3, and 2 more in score than the truth
    2.333
    """

    _surrogate = MarginRescaling


@final
class SlackRescalingLoss(Criterion):
    """``max_h loss(h) (1 + <s, h - y>)`` over all labelings h of a set (LH Eq. 22).

    On CUDA losses of counts are maximized where the tensors are, in sets of up to 1,024 decisions; larger sets and
    other losses go through the host.

    Parameters
    ----------
    loss : any loss of labels, or its name
    mode, ignore_index, per_image, classes, include_background, empty : what the channels mean, which decisions make a
        set, and which sets count; see :class:`setwise.torch.Arguments`
    class_weight, reduction, sync : a weight of each channel (C,), what is made of the values of the sets, and whether
        sets go over several processes; see :class:`setwise.torch.Criterion`

    Raises
    ------
    Refusal : for arguments that do not fit each other, and a loss of several classes; when called, for a loss of a
        ranking, and where no inference fits the loss
    ValueError, TypeError, OverflowError : as :class:`setwise.torch.Criterion` says

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import SlackRescalingLoss
    >>> value = SlackRescalingLoss("f1")(torch.tensor([[2.0, 2.0, -1.0]]), torch.tensor([[1, 0, 0]]))
    >>> round(value.item(), 3)  # labels (1, 1, 0): the loss 1/3 times 1 + 2
    1.0
    """

    def __init__(
        self,
        loss: Loss | str,
        mode: Mode = "binary",
        *,
        ignore_index: int | None = None,
        per_image: bool = False,
        classes: Classes = "present",
        include_background: bool = True,
        class_weight: Sequence[float] | Tensor | None = None,
        empty: Empty | None = None,
        reduction: Reduction = "mean",
        sync: Sync | None = None,
    ) -> None:
        arguments = Arguments(mode, ignore_index, per_image, classes, include_background, empty)
        bound = arguments.of(named(loss))
        super().__init__(SurrogateForm(SlackRescaling(bound), bound), arguments, class_weight, reduction, sync)


@final
class RampLoss(_ScaledCriterion):
    """``max_h [loss(h) + <s, h> / g] - max_h <s, h> / g``: between the loss and margin rescaling, and not convex.

    Do, Le, Teo, Chapelle and Smola (2008). On CUDA it is computed where :class:`MarginRescalingLoss` is. It is a
    difference of two sums of scores in float64, so where these are beyond about 1e12 its digits are lost.

    Parameters
    ----------
    loss : any loss of labels or of a ranking, or its name
    scale : g > 0, or ``"size"``, as in :class:`MarginRescalingLoss`
    mode, ignore_index, per_image, classes, include_background, empty : what the channels mean, which decisions make a
        set, and which sets count; see :class:`setwise.torch.Arguments`
    class_weight, reduction, sync : a weight of each channel (C,), what is made of the values of the sets, and whether
        sets go over several processes; see :class:`setwise.torch.Criterion`

    Raises
    ------
    Refusal : for arguments that do not fit each other, and a loss of several classes; when called, where no inference
        fits the loss
    ValueError, TypeError, OverflowError : as :class:`setwise.torch.Criterion` says

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import RampLoss
    >>> value = RampLoss("f1")(torch.tensor([[2.0, 2.0, -1.0]]), torch.tensor([[1, 0, 0]]))
    >>> round(value.item(), 3)  # the loss of the labels (1, 1, 0), which have the largest score
    0.333
    """

    _surrogate = Ramp


@functional(MarginRescalingLoss)
def margin_rescaling_loss(
    logits: Tensor, target: Tensor, *given: Any, mask: Tensor | None = None, **options: Any
) -> Tensor:
    """Margin rescaling of logits (LH Eq. 21), in one call of :class:`setwise.torch.MarginRescalingLoss`.

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import margin_rescaling_loss
    >>> value = margin_rescaling_loss(torch.tensor([[2.0, 2.0, -1.0]]), torch.tensor([[1, 0, 0]]), "f1")
    >>> round(value.item(), 3)
    2.333
    """
    return MarginRescalingLoss(*given, **options)(logits, target, mask)


@functional(SlackRescalingLoss)
def slack_rescaling_loss(
    logits: Tensor, target: Tensor, *given: Any, mask: Tensor | None = None, **options: Any
) -> Tensor:
    """Slack rescaling of logits (LH Eq. 22), in one call of :class:`setwise.torch.SlackRescalingLoss`.

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import slack_rescaling_loss
    >>> value = slack_rescaling_loss(torch.tensor([[2.0, 2.0, -1.0]]), torch.tensor([[1, 0, 0]]), "f1")
    >>> round(value.item(), 3)
    1.0
    """
    return SlackRescalingLoss(*given, **options)(logits, target, mask)


@functional(RampLoss)
def ramp_loss(logits: Tensor, target: Tensor, *given: Any, mask: Tensor | None = None, **options: Any) -> Tensor:
    """The ramp of logits (Do et al. 2008), in one call of :class:`setwise.torch.RampLoss`.

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import ramp_loss
    >>> value = ramp_loss(torch.tensor([[2.0, 2.0, -1.0]]), torch.tensor([[1, 0, 0]]), "f1")
    >>> round(value.item(), 3)
    0.333
    """
    return RampLoss(*given, **options)(logits, target, mask)
