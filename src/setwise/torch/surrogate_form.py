"""Any surrogate of setwise on the scores of independent decisions."""

import warnings
from collections.abc import Hashable
from typing import final

import numpy as np
import torch
from torch import Tensor

from setwise.core.attributes import cached_property
from setwise.core.checks import Floats
from setwise.core.pages import EXACT_OR_BOUNDED
from setwise.core.surrogate import Surrogate
from setwise.core.terms import Trait
from setwise.surrogates import MarginRescaling, Ramp, SlackRescaling
from setwise.surrogates.ramp import NUDGE
from setwise.torch.device_counts import DeviceCounts
from setwise.torch.device_search import rescaled
from setwise.torch.forms import Codes, Evaluated, Form, OnHost
from setwise.torch.ragged import ragged


@final
class SurrogateForm(Form):
    """The value and the gradient of a surrogate of setwise, on the host.

    On a device, margin rescaling, slack rescaling and the ramp of losses of counts are computed as in
    :func:`setwise.torch.device_search.rescaled`. Where the surrogate is only known to lie between two bounds, a warning
    says how far they are apart.
    """

    def __init__(self, surrogate: Surrogate, key: Hashable) -> None:
        self.surrogate, self._key = surrogate, key

    @property
    def key(self) -> Hashable:
        return SurrogateForm, type(self.surrogate), self._key

    def on_host(self, scores: Floats, codes: Codes) -> OnHost:
        found = ragged(codes)
        sets = found.sets
        if sets is None:
            return OnHost(np.zeros_like(scores, shape=len(scores)), np.zeros_like(scores))
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
        return OnHost(values, found.spread(seen.gradient, scores))

    @cached_property
    def _counts(self) -> DeviceCounts | None:
        """The loss on tensors; None where they can not run it, or where a method of inference was chosen."""
        if not isinstance(self.surrogate, MarginRescaling | SlackRescaling | Ramp):
            return None
        return DeviceCounts.of(self.surrogate.loss) if self.surrogate.inference is None else None

    def on_device(self, scores: Tensor, codes: Tensor) -> Evaluated | None:
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
        return Evaluated(found.values.to(scores.dtype), (found.gradient / scale).to(scores.dtype))

    def __repr__(self) -> str:
        return repr(self.surrogate)
