"""Any surrogate of setwise on the scores of independent decisions."""

import warnings
from collections.abc import Hashable
from typing import final

import torch
from torch import Tensor

from setwise.core.evaluator import Surrogate
from setwise.torch.forms import Evaluated, Form
from setwise.torch.ragged import ragged


@final
class SurrogateForm(Form):
    """The value and the gradient of a surrogate of setwise, which are computed on the host.

    Where the surrogate is only known to lie between two bounds, a warning says how far they are apart.
    """

    def __init__(self, surrogate: Surrogate, key: Hashable) -> None:
        self.surrogate, self._key = surrogate, key

    @property
    def key(self) -> Hashable:
        return SurrogateForm, type(self.surrogate), self._key

    def on_host(self, scores: Tensor, codes: Tensor) -> Evaluated:
        found = ragged(codes)
        sets = found.sets
        if sets is None:
            return Evaluated(scores.new_zeros(len(scores)), torch.zeros_like(scores))
        seen = self.surrogate.on(sets)(found.take(scores))
        if not seen.exact.all():
            gap = float((seen.upper - seen.values).max())
            warnings.warn(
                f"{self.surrogate!r} is known to within {gap:.3g} here, and the gradient is that of its lower bound: "
                "these sets are too large for an exact search.",
                stacklevel=2,
            )
        return Evaluated(found.spread_rows(seen.values, scores), found.spread(seen.gradient, scores))

    def __repr__(self) -> str:
        return repr(self.surrogate)
