"""Losses of counts on tensors: their formulas run on any device as they are written for NumPy."""

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from setwise.core.batch import Sets
from setwise.core.checks import Values
from setwise.core.counts import Counts, Quotient
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.core.terms import Trait
from setwise.torch.device_array import DeviceArray

SIZES = [(P, N) for P in range(4) for N in range(4) if P + N] + [(6, 11), (40, 7), (1, 60), (60, 1), (25, 25)]
"""Numbers of positives and negatives at which each formula on tensors is compared with the loss itself."""

LARGE = (1 << 10, 1 << 17, 1 << 24)
"""Numbers of decisions at which it is compared with the formula of NumPy."""


class Part(NamedTuple):
    """``factor`` times a loss of counts, and what its coefficients say.

    ``quotient`` says whether its coefficients are known on a device. By ``fixed_fp`` the loss is affine in fn where fp
    is fixed, and by ``fixed_predicted`` where the number of predicted positives is.
    """

    factor: float
    loss: Loss
    quotient: bool
    fixed_fp: bool
    fixed_predicted: bool


@final
@dataclass(frozen=True)
class DeviceCounts:
    """``sum of factor * f(fn, fp, P, N)`` on tensors of any device, without waiting for it."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, loss: Loss) -> "DeviceCounts | None":
        """The loss on tensors, or None for what is no formula of counts, or has one that tensors can not run.

        Whether they can is tried on small tensors of the CPU: the results must be those of the loss on the host.
        """
        pairs = loss.parts if isinstance(loss, Combination) else ((1.0, loss),)
        try:
            return cls(tuple(_part(factor, part) for factor, part in pairs))
        # Any error of a formula that is not made for these arrays means that its place is the host.
        except Exception:
            return None

    @property
    def fixed_fp(self) -> bool:
        """Whether the loss is affine in fn where fp is fixed."""
        return all(part.fixed_fp for part in self.parts)

    @property
    def fixed_predicted(self) -> bool:
        """Whether the loss is affine in fn where the number of predicted positives is fixed."""
        return all(part.fixed_predicted for part in self.parts)

    def __call__(self, fn: Tensor, fp: Tensor, P: Tensor, N: Tensor) -> Tensor:
        """The loss at these counts, float64; all four broadcast."""
        return self._sum([_values(part.loss, fn, fp, P, N) for part in self.parts])

    def origin(self, P: Tensor, N: Tensor) -> Tensor:
        """The loss of no mistake, (S,)."""
        none = torch.zeros_like(P)
        return self(none, none, P, N)

    def gains(self, misses: Tensor, before: int, P: Tensor, N: Tensor) -> Tensor:
        """What each of k consecutive mistakes adds, (S, k) float64, for the numbers (S,) of positives and negatives.

        ``misses`` (S, k + 1) are the numbers of false negatives before the first of these mistakes, which comes after
        ``before`` others, and after each of them. Gains beyond the P + N mistakes of a set have no meaning. Gains of a
        quotient N/D are ``(t D - b N) / (D (D + b))`` where a mistake adds t to N and b to D; those of other losses are
        differences of neighboring values.
        """
        fn = misses.double()
        made = torch.arange(before, before + fn.shape[1], device=fn.device, dtype=torch.float64)
        fp = torch.minimum(made - fn, N[:, None])
        return self._sum([_gains(part, fn, fp, P, N) for part in self.parts])

    def _sum(self, each: list[Tensor]) -> Tensor:
        """The sum of one tensor for each loss, times its factor."""
        factors = [part.factor for part in self.parts]
        return reduce(torch.add, [x if c == 1.0 else c * x for c, x in zip(factors, each, strict=True)])


def _gains(part: Part, fn: Tensor, fp: Tensor, P: Tensor, N: Tensor) -> Tensor:
    """The gains of one loss, for the counts (S, k + 1) before the first mistake and after each."""
    if not part.quotient:
        return _values(part.loss, fn, fp, P[:, None], N[:, None]).diff(dim=1)
    top, bottom = _quotient(part.loss, P, N)
    before = fn[:, :-1], fp[:, :-1]
    numerator, denominator = (c[:, :1] + c[:, 1:2] * before[0] + c[:, 2:] * before[1] for c in (top, bottom))
    positive = fn[:, 1:] > before[0]
    t, b = (torch.where(positive, c[:, 1:2], c[:, 2:]) for c in (top, bottom))
    after = denominator + b
    # The denominator may be 0 before the first mistake, where the loss is defined apart from the formula.
    first = (numerator[:, :1] + t[:, :1]) / after[:, :1] - _values(part.loss, 0 * P, 0 * P, P, N)[:, None]
    return torch.where(denominator > 0, (t * denominator - b * numerator) / (denominator * after), first)


def _values(loss: Loss, fn: Tensor, fp: Tensor, P: Tensor, N: Tensor) -> Tensor:
    """The formula of one loss; its result may be constant along some of the counts."""
    formula = loss.formula
    assert formula is not None
    shape: tuple[int, ...] = torch.broadcast_shapes(fn.shape, fp.shape, P.shape, N.shape)  # type: ignore[no-untyped-call]
    found = formula(*(DeviceArray(each) for each in (fn, fp, P, N)))  # type: ignore[arg-type]
    if not isinstance(found, DeviceArray):
        raise TypeError(f"the formula of {loss!r} must return an array like those that it is given.")
    return found.tensor.double().broadcast_to(shape)


def _quotient(loss: Loss, P: Tensor, N: Tensor) -> tuple[Tensor, Tensor]:
    """The coefficients (S, 3) of 1, fn and fp in numerator and denominator."""
    assert isinstance(loss, CountLoss)
    positives = DeviceArray(P)
    found = loss.quotient(positives, DeviceArray(N))  # type: ignore[arg-type]
    assert found is not None
    # Coefficients that do not depend on the counts are arrays of NumPy.
    return positives.as_tensor(found[0]), positives.as_tensor(found[1])


def _part(factor: float, loss: Loss) -> Part:
    """One loss, compared with itself on the host; TypeError or whatever else is raised where it does not fit."""
    _compare(loss)
    P, N = _large_counts()[2:]
    modular = Trait.MODULAR in loss.traits
    if not isinstance(loss, CountLoss):
        return Part(factor, loss, False, modular, modular)
    with np.errstate(all="ignore"):
        term = loss.counts(P, N)
    flat = term.quotient is not None and not term.quotient[1][:, 1].any()
    diagonal = term.affine is True
    return Part(factor, loss, _knows_quotient(loss, term, P, N), modular or flat, modular or diagonal)


def _compare(loss: Loss) -> None:
    """Raise where the formula on tensors differs from the loss."""
    formula = loss.formula
    if formula is None:
        raise TypeError(f"{loss!r} has no formula of counts.")
    with np.errstate(all="ignore"):
        for P, N in SIZES:
            fn, fp = (each.ravel() for each in np.meshgrid(np.arange(P + 1.0), np.arange(N + 1.0)))
            truth = np.broadcast_to(np.arange(P + N) < P, (len(fn), P + N))
            rank = np.concatenate([np.arange(P), np.arange(N)])
            wrong = np.where(truth, rank < fn[:, None], rank < fp[:, None])
            expected = loss.structure(Sets.rows(truth)).values((wrong ^ truth).ravel())
            _agree(expected, _on_cpu(loss, fn, fp, np.full_like(fn, P), np.full_like(fp, N)))
        counts = _large_counts()
        _agree(np.asarray(formula(*counts)), _on_cpu(loss, *counts))


def _knows_quotient(loss: CountLoss, term: Counts, P: Values, N: Values) -> bool:
    """Whether tensors give the coefficients of a quotient; False for losses that are none."""
    if term.quotient is None:
        return False
    small = np.array(SIZES, dtype=np.float64).T
    pairs = [(term.quotient, P, N), (loss.quotient(*small), *small)]
    try:
        for expected, positives, negatives in pairs:
            _same_quotient(expected, _quotient(loss, torch.from_numpy(positives), torch.from_numpy(negatives)))
    # The coefficients are made in a way that tensors can not follow, so gains are differences.
    except Exception:
        return False
    return True


def _same_quotient(expected: Quotient | None, found: tuple[Tensor, Tensor]) -> None:
    """Raise where coefficients differ."""
    assert expected is not None
    for wanted, got in zip(expected, found, strict=True):
        _agree(wanted, got.numpy())


def _large_counts() -> tuple[Values, Values, Values, Values]:
    """Counts (fn, fp, P, N) of large sets."""
    rng = np.random.default_rng(0)
    total = np.repeat(LARGE, 50)
    P = rng.integers(1, total)
    fn, fp = rng.integers(0, P + 1), rng.integers(0, total - P + 1)
    return tuple(each.astype(np.float64) for each in (fn, fp, P, total - P))  # type: ignore[return-value]


def _on_cpu(loss: Loss, *counts: Values) -> Values:
    """The formula on tensors of the CPU."""
    found: Values = _values(loss, *(torch.from_numpy(each.copy()) for each in counts)).numpy()
    return found


def _agree(expected: Values, found: Values) -> None:
    """Raise where two arrays differ by more than rounding."""
    if not np.allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-12, atol=1e-13):
        raise ValueError("a formula differs on tensors.")
