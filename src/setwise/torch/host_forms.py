"""Forms on the host: the Lovász extension at errors that come from scores, and any surrogate of setwise."""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import final

import numpy as np
import torch
from torch import Tensor

from setwise.core.attributes import cached_property
from setwise.core.batch import Orders
from setwise.core.checks import LARGEST, Bools, Floats, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.core.pages import EXACT_OR_BOUNDED, PROMISES
from setwise.core.surrogate import Surrogate
from setwise.core.terms import Trait
from setwise.kernels.lovasz import (
    FOLDED,
    GIVEN,
    MARGINS,
    PROBABILITIES,
    limits_of,
    lovasz_values,
    quotient_extension,
    survey,
)
from setwise.kernels.sorting import sort_falling
from setwise.losses import CountFunctionLoss
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp, SlackRescaling
from setwise.surrogates.ramp import NUDGE
from setwise.torch.arguments import worded
from setwise.torch.device_forms import DeviceCounts, extension, rescaled
from setwise.torch.layout import ragged
from setwise.torch.operators import Codes, Form, HostValues, ValueAndGradient


class Errors(Enum):
    """How the error of a decision with score s comes about."""

    MARGIN = "1 - s for positives and 1 + s for negatives (LH Eq. 34)"
    PROBABILITY = "1 - s for positives and s for negatives, where s is the probability of a positive"
    FOLDED = "the same of the probability s, or 1 + s where the sign of s is minus"
    GIVEN = "s itself"


LINES = {
    Errors.MARGIN: (MARGINS, -LARGEST, LARGEST),
    Errors.PROBABILITY: (PROBABILITIES, -0.01, 1.01),
    Errors.FOLDED: (FOLDED, -0.51, 0.51),
    Errors.GIVEN: (GIVEN, 0.0, LARGEST),
}
"""How the errors of :mod:`setwise.kernels.lovasz` come from scores, and the range of these."""


@final
@dataclass(frozen=True, eq=False)
class LovaszForm(Form):
    """``l(none) + sum_j e_(j) gain_j`` along the errors e, sorted down (LH Eq. 33 and 35).

    On a device, losses of counts are evaluated as in :func:`setwise.torch.device_forms.extension`.

    Parameters
    ----------
    loss : a submodular loss of labels
    errors : how errors come from scores. Margin errors of losses that increase are clipped at 0, one by one, and for
        other losses the whole sum is (LH Def. 5 and 6). Other errors must be at least 0, and are not clipped
    only_present : whether sets without positives may have the value 0, as they do not count
    """

    loss: Loss
    errors: Errors
    only_present: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", worded(LovaszHinge, self.loss).loss)

    @property
    def key(self) -> Hashable:
        return LovaszForm, self.loss, self.errors, self.only_present

    def on_host(self, scores: Floats, codes: Codes) -> HostValues:
        return self._of_quotient(scores, codes) or self._of_any(scores, codes)

    @cached_property
    def _increasing_counts(self) -> CountLoss | None:
        """The loss if it may be an increasing quotient of counts that is not modular."""
        loss = self.loss
        if not isinstance(loss, CountLoss) or type(loss).bind is not CountLoss.bind:
            return None
        fits = {Trait.INCREASING, Trait.SUBMODULAR} <= loss.traits and Trait.MODULAR not in loss.traits
        return loss if fits else None

    @cached_property
    def _line(self) -> tuple[Values, float, float]:
        return LINES[self.errors]

    def _of_quotient(self, scores: Floats, codes: Codes) -> HostValues | None:
        """What a kernel finds for an increasing quotient of counts; None for other losses, and for odd scores."""
        loss = self._increasing_counts
        if loss is None:
            return None
        sets, size = scores.shape
        flat, labels = scores.reshape(-1), codes.reshape(-1)
        offsets = np.array([i * size for i in range(sets + 1)])
        line, low, high = self._line
        counts, last = survey(flat, labels, offsets, line)
        _, P, N = counts
        quotient, none = loss.quotient(P, N), np.zeros(len(P))
        if quotient is None:
            return None
        start = loss.of_counts(none, none, P, N)
        limits = limits_of(counts, last, self.only_present, *quotient, start)
        values, gradient, proper = quotient_extension(flat, labels, offsets, line, limits, *quotient, start, low, high)
        if not proper:
            return None
        return HostValues(values.astype(flat.dtype), gradient.reshape(sets, size), counts[:2].T)

    def _of_any(self, scores: Floats, codes: Codes) -> HostValues:
        """What is found for any submodular loss, from its gains."""
        found = ragged(codes)
        sets = found.sets
        if sets is None:
            return HostValues(np.zeros_like(scores, shape=len(scores)), np.zeros_like(scores))
        flat = found.take(scores)
        self._check(flat)
        if self.errors is Errors.MARGIN:
            seen = LovaszHinge(self.loss).on(sets)(flat)
            return HostValues(found.spread_rows(seen.values, scores), found.spread(seen.gradient, scores))
        bound_loss = self.loss.bind(sets)
        if Trait.SUBMODULAR not in bound_loss.traits:
            raise Refusal(
                f"the Lovász extension refuses {self.loss!r}: the loss does not promise to be submodular.", PROMISES
            )
        keys = self._keys(flat, sets.truth)
        items, labels, ordered, starts = sort_falling(keys, sets.truth, sets.offsets, above_zero=True)
        if self.errors is Errors.FOLDED:
            ordered = np.where(ordered > 1.0, 1.0 - 1.0 / ordered, ordered)
        gains = bound_loss.gains_of(Orders(items, labels, starts))
        gradient = np.zeros_like(flat)
        values = lovasz_values(ordered, gains, items, labels, starts, bound_loss.at_empty(), gradient)
        if self.errors is Errors.GIVEN:
            gradient[sets.truth] *= -1
        return HostValues(found.spread_rows(values, scores), found.spread(gradient, scores))

    def _keys(self, flat: Floats, truth: Bools) -> Floats:
        """What rises with the errors of scores: the errors, and ``1 / (1 - e)`` of folded ones e above 1/2.

        Different errors near 1 would be equal in float64.
        """
        if self.errors is Errors.PROBABILITY:
            return np.where(truth, 1 - flat, flat)
        if self.errors is Errors.FOLDED:
            folded = np.where(truth, -flat, flat).astype(np.float64)
            with np.errstate(divide="ignore"):
                return np.where(np.signbit(folded), np.minimum(-1.0 / folded, LARGEST), folded)
        return flat

    def _check(self, flat: Floats) -> None:
        """Raise ValueError for what are no errors or probabilities; the hinge checks its scores itself."""
        if self.errors is Errors.MARGIN:
            return
        least, largest = flat.min(), flat.max()
        if not np.isfinite(least) or not np.isfinite(largest):
            raise ValueError(f"{'errors' if self.errors is Errors.GIVEN else 'logits'} must be finite; got NaN or inf.")
        # Means of probabilities in bfloat16 may be 1 and a rounding error.
        if self.errors is Errors.PROBABILITY and (least < -0.01 or largest > 1.01):
            odd = least if least < 0 else largest
            raise ValueError(f"from_logits=False needs probabilities in [0, 1]; got {odd:g}.")
        if self.errors is Errors.GIVEN and least < 0:
            raise ValueError(f"errors must be at least 0; got {least:g}.")

    @cached_property
    def _counts(self) -> DeviceCounts | None:
        """The loss on tensors; None where its traits are read off the sets, or where tensors can not run it."""
        if Trait.SUBMODULAR not in self.loss.traits:
            return None
        # A function of counts may show that it increases without promising it.
        parts = [part for _, part in self.loss.parts] if isinstance(self.loss, Combination) else [self.loss]
        if Trait.INCREASING not in self.loss.traits and any(isinstance(part, CountFunctionLoss) for part in parts):
            return None
        return DeviceCounts.of(self.loss)

    def on_device(self, scores: Tensor, codes: Tensor) -> ValueAndGradient | None:
        counts = self._counts
        if counts is None:
            return None
        positive = codes == 1
        if self.errors is Errors.GIVEN:
            return extension(counts, scores, codes, clipped=True)
        if self.errors is Errors.MARGIN:
            clipped = Trait.INCREASING in self.loss.traits
            found = extension(counts, torch.where(positive, -scores, scores), codes, clipped, level=1.0)
        elif self.errors is Errors.FOLDED:
            folded = torch.where(positive, -scores, scores).double()
            # Different errors near 1 would be equal in float64.
            keys = torch.where(torch.signbit(folded), -1.0 / folded, folded)
            found = extension(counts, keys, codes, clipped=True, folded=True)
        else:
            found = extension(counts, torch.where(positive, 1 - scores, scores), codes, clipped=True)
        slopes = torch.where(positive, -found.gradient, found.gradient)
        return ValueAndGradient(found.values.to(scores.dtype), slopes.to(scores.dtype))

    def __repr__(self) -> str:
        return f"the Lovász extension of {self.loss!r} at {self.errors.name.lower()} errors"


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
                f"{self.surrogate!r} is known to within {gap:.3g} here, and the gradient is that of its lower bound: "
                f"these sets are too large for an exact search.{EXACT_OR_BOUNDED.see}",
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
