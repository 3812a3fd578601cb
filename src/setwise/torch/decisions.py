"""What to predict from logits: the labels of least expected loss, with a bound of what any labels can reach."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from setwise.core.checks import Bools, Values, as_flag, as_number
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import ARGUMENTS, FROM_LOGITS, MAP_RULES
from setwise.decisions import least_expected_loss, least_expected_loss_of_map
from setwise.kernels.threads import thread_limit
from setwise.losses import Jaccard
from setwise.torch.arguments import (
    Arguments,
    Classes,
    Empty,
    Mode,
    in_unit,
    named,
    refuse_tracing,
    warn_of_probabilities,
)
from setwise.torch.layout import as_scores, channels_of, kind_of

OFTEN, SEVERAL, LARGE = 0.1, 10, 1024
"""A warning is due if in such a share of the sets, in so many of them, or in half of those of each image, and of so
many pixels, a class is certainly there and no pixel is near to it."""

BLOCK = 1 << 22
"""So many decisions are brought to the host at a time, or one image."""


@final
class TensorDecision(NamedTuple):
    """Labels with ``bounds <= least expected loss <= values``; equal, up to rounding, where ``exact``.

    All are tensors of the device of the logits. ``values``, ``bounds`` and ``exact`` are those of the sets: (N,), or
    (N, classes) where each class has a mask; without the first axis where the batch is one set.

    Attributes
    ----------
    labels : int64 class numbers (N, ...) in multiclass mode; else bool, of the shape of the logits
    values : (N,) float64, the expected loss of the labels, and 0 for sets without a pixel that counts
    bounds : (N,) float64, a lower bound of the expected loss of any labels
    exact : (N,) bool, whether no labels have a smaller expected loss

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import decide
    >>> found = decide(torch.tensor([[0.6, 0.4, 0.4], [0.9, 0.1, 0.1]]), from_logits=False)
    >>> found.labels.int().tolist()
    [[1, 1, 1], [1, 0, 0]]
    >>> [round(value, 2) for value in found.values.tolist()], found.exact.tolist()  # of 1 - IoU
    ([0.53, 0.19], [True, True])
    """

    labels: Tensor
    values: Tensor
    bounds: Tensor
    exact: Tensor


@torch.no_grad()
def decide(
    logits: Tensor,
    loss: Loss | str = "jaccard",
    mode: Mode = "binary",
    *,
    mask: Tensor | None = None,
    per_image: bool = True,
    classes: Literal["all"] | Sequence[int] = "all",
    include_background: bool = True,
    empty: Empty | None = None,
    overlapping: bool = False,
    from_logits: bool = True,
    tol: float = 1e-3,
) -> TensorDecision:
    """``argmin over h of E[loss(y, h)]`` of every set, where the pixels are independent given their probabilities.

    The probabilities are the sigmoid of the logits, and their softmax in multiclass mode. In binary and multilabel mode
    each channel has a mask of its own. In multiclass mode each pixel gets one class, for the mean of the expected
    losses of the classes against the rest. Its bound lets each class take every pixel that it wants: it is the mean of
    the best that each class could have alone. So in large maps the gap may be far above ``tol``: 1e-3 to 8e-2 were
    measured, and more where classes are rare. In maps of up to 10 pixels all ways are tried, and the bound is the value
    itself. With ``overlapping`` each class gets its best mask instead.

    It is computed on the host, also for tensors of an accelerator, and has no gradient. O(p log p) for p pixels of a
    class with quotients such as Dice and Jaccard. Tables take O(p^3) for sets of up to 128 decisions.

    Source: own; :func:`setwise.decisions.least_expected_loss` has the search, and docs/guide/decisions.md tells of it.

    Parameters
    ----------
    logits : (N, C, ...) floats; in binary mode (N, 1, ...) or (N, ...). One image needs a leading 1: (H, W) is read as
        H sets. Pass ``logits[None]``
    loss : a loss of counts, or its name; sets of few decisions may have any loss of labels. ``"dice"`` is
        ``FBeta()``, where an empty mask of an empty set costs nothing (``FBeta(zero_division=0.0)`` lets it cost 1),
        and ``"iou"`` is ``Jaccard()``
    mode : ``"binary"``, ``"multiclass"`` or ``"multilabel"``, as in :class:`setwise.torch.Arguments`
    mask : (N, ...) or (N, 1, ...) bool, or (N, C, ...) where each channel has a mask of its own; False where pixels do
        not count. There the label is the most probable one
    per_image : whether each image has sets of its own, as if it came alone, or else the whole batch is one set
    classes : ``"all"``, or the numbers of the classes whose expected losses are averaged or whose masks are decided; of
        the others a pixel gets the most probable one, and masks hold what is more probable than 1/2
    include_background : whether class 0 is among them
    empty : what sets without positives cost, as in the losses; ``"ignore"`` lets them cost nothing
    overlapping : whether pixels may have several classes, or none, in multiclass mode
    from_logits : whether logits are given, or else probabilities
    tol : the gap at which the search for a mask may stop in a large set. It is no promise for the labels of multiclass
        mode, whose ``bounds`` say how large the gap is

    Returns
    -------
    decision : the labels, their expected loss, and a lower bound of it for each set, as
        :class:`setwise.torch.TensorDecision`. Compare ``values.mean()`` with the true loss on held-out
        images; far below it, the network is too sure of itself, and ``decide`` gains little

    Raises
    ------
    ValueError : for NaN, shapes and classes that do not fit, and probabilities outside of [0, 1] or without the sum 1
    TypeError : for tensors and arguments of other types
    Refusal : for losses that cannot be decided, see :func:`setwise.decisions.least_expected_loss`, and for arguments
        that do not fit each other

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import decide
    >>> q = torch.tensor([[0.6, 0.4, 0.4]])  # of few pixels that are sure, IoU would rather have more than q > 0.5
    >>> decide(q, "jaccard", from_logits=False).labels.tolist()
    [[True, True, True]]
    >>> decide(q, "error_rate", from_logits=False).labels.tolist()
    [[True, False, False]]
    """
    refuse_tracing("decide")
    arguments = _arguments(mode, per_image, classes, include_background, empty)
    as_flag(from_logits, "from_logits")
    if as_flag(overlapping, "overlapping") and mode != "multiclass":
        raise Refusal(
            f"overlapping=True is for mode='multiclass': in {mode} mode each channel has a mask anyway.", FROM_LOGITS
        )
    images, channels, pixels = channels_of(as_scores(logits), arguments)
    if from_logits and in_unit(logits):
        # One level more, for the decorator.
        warn_of_probabilities("decide reads them as logits: give from_logits=False for probabilities", 4)
    masks, chosen = overlapping or mode != "multiclass", arguments.channels(channels)
    task = _PixelTask(_loss(loss, arguments), as_number(tol, "tol", low=0.0), chosen, masks)
    flat = logits.detach().reshape(images, channels, pixels)
    counts = _as_mask(mask, logits, (images, channels, pixels), masks)
    labels = torch.empty((images, channels if masks else 1, pixels), dtype=torch.bool if masks else torch.int64)
    presence = Presence()
    numbers = np.zeros((2, images if per_image else 1, len(chosen) if masks else 1))
    step = max(1, BLOCK // max(channels * pixels, 1)) if per_image else max(images, 1)
    with thread_limit(torch.get_num_threads()):
        for start in range(0, images if pixels else 0, step):
            part = slice(start, start + step)
            keep = counts[part].cpu().numpy()
            q = _probabilities(flat[part], keep, mode, from_logits)
            if per_image:
                presence.see(q[:, chosen], keep[:, chosen] if keep.shape[1] > 1 else keep)
                found, numbers[:, part] = task.decide(q, keep)
            else:
                one, numbers[:] = task.decide(_joined(q), _joined(keep))
                found = one.reshape(-1, images, pixels).swapaxes(0, 1)
            labels[part] = torch.from_numpy(found)
    presence.warn()
    shape = logits.shape if masks else (images, *logits.shape[2:])
    values, bounds = torch.from_numpy(numbers if per_image else numbers[:, 0])
    if mode == "binary" or not masks:
        values, bounds = values[..., 0], bounds[..., 0]
    every = (labels.reshape(shape), values, bounds, bounds >= values)
    return TensorDecision(*(each.to(logits.device) for each in every))


@final
class _PixelTask(NamedTuple):
    """What is decided: masks of the chosen classes, or one label for each pixel."""

    loss: Loss
    tol: float
    chosen: list[int]
    masks: bool

    def decide(self, q: Values, keep: Bools) -> tuple[NDArray[Any], Values]:
        """Labels (n, k or 1, p) and their values and bounds (2, n, chosen or 1), for probabilities (n, k, p)."""
        if not self.masks:
            return self._maps(q, keep[:, 0])
        n, _, p = q.shape
        labels, rows = q > 0.5, q[:, self.chosen].reshape(-1, p)
        kept = np.broadcast_to(keep, q.shape)[:, self.chosen].reshape(-1, p)
        sizes = kept.sum(axis=1)
        some, numbers = sizes > 0, np.zeros((2, len(rows)))
        decided = labels[:, self.chosen].reshape(-1, p)
        if some.any():
            offsets = np.concatenate(([0], np.cumsum(sizes[some])))
            found = least_expected_loss(rows[kept], self.loss, offsets, self.tol)
            decided[kept], numbers[:, some] = found.labels, (found.values, found.bounds)
        labels[:, self.chosen] = decided.reshape(n, -1, p)
        return labels, numbers.reshape(2, n, -1)

    def _maps(self, q: Values, keep: Bools) -> tuple[NDArray[Any], Values]:
        labels, numbers = q.argmax(axis=1), np.zeros((2, len(q), 1))
        for i, (each, kept) in enumerate(zip(q, keep, strict=True)):
            if kept.any():
                found = least_expected_loss_of_map(each.T[kept], self.loss, tol=self.tol, classes=self.chosen)
                labels[i, kept], numbers[:, i] = found.labels, (found.values, found.bounds)
        return labels[:, None], numbers


@final
class Presence:
    """How often classes are present for certain, if pixels are independent, though no pixel is near to them."""

    def __init__(self) -> None:
        self.sets = self.odd = self.unlike = 0
        self.absent = 0.0

    def see(self, q: Values, keep: Bools) -> None:
        """Count the sets of probabilities (n, k, p) of which the pixels ``keep`` count."""
        if q.shape[2] < LARGE:
            return
        seen = np.where(keep, q, 0.0)
        # Of a sum above 3 prod(1 - q) is below .05.
        odd = (seen.sum(axis=2) > 3.0) & (seen.max(axis=2, initial=0.0) < 0.5)
        self.sets, self.odd = self.sets + odd.size, self.odd + int(odd.sum())
        self.unlike += int((odd.mean(axis=1) < 0.5).sum())
        if odd.any():
            self.absent += float(np.exp(np.log1p(-seen[odd]).sum(axis=1)).sum())

    def warn(self) -> None:
        """Warn where they are a tenth of all sets or more, and ten, or half of those of each image."""
        few = self.odd < SEVERAL and self.unlike > 0
        if not self.odd or few or self.odd < OFTEN * self.sets:
            return
        warnings.warn(
            f"in {self.odd:,} of {self.sets:,} set{'' if self.sets == 1 else 's'} no pixel has the class with a "
            "probability of 0.5 or more, but if pixels are independent, some pixel almost surely has it: "
            f"prod(1 - q) is {self.absent / self.odd:.2g} there on average. Where a class is absent more often than "
            "that, these decisions predict it where it is not: fit a MapRule on held-out maps "
            f"instead.{MAP_RULES.see}",
            UserWarning,
            stacklevel=4,
        )


def _arguments(
    mode: Mode, per_image: bool, classes: Classes, include_background: bool, empty: Empty | None
) -> Arguments:
    """The arguments of the losses, where all classes are there."""
    if classes == "present":
        raise Refusal(
            "classes='present' needs a target, and a decision has none. Use classes='all', and empty='ignore' where "
            "classes that are absent cost nothing.",
            ARGUMENTS,
        )
    none = mode == "binary" and classes == "all"
    return Arguments(mode, None, per_image, "present" if none else classes, include_background, empty)


def _loss(loss: Loss | str, arguments: Arguments) -> Loss:
    """The loss with the cost of sets without positives that is asked for."""
    found = named(loss)
    if arguments.empty != "ignore":
        return arguments.of(found)
    # The losses leave such sets out of their mean. To an expected loss they add nothing if they cost nothing.
    if isinstance(found, Jaccard):
        without: Loss = Jaccard("ignore")
        return without
    raise Refusal(
        f"empty='ignore' is for Jaccard: {found!r} has a cost of its own of sets without positives. Leave empty out.",
        ARGUMENTS,
    )


def _probabilities(logits: Tensor, keep: Bools, mode: Mode, from_logits: bool) -> Values:
    """The probabilities of logits (n, k, p), in float64 on the host."""
    given = as_scores(logits).cpu().double()
    if from_logits:
        q = given.softmax(dim=1) if mode == "multiclass" else torch.sigmoid(given)
    else:
        q = _scaled(given, logits.dtype) if mode == "multiclass" else given
    found: Values = q.numpy()
    if np.isnan(found).any(where=keep):
        raise ValueError("logits must be numbers that have probabilities where pixels count; got NaN, or only -inf.")
    return found


def _scaled(q: Tensor, dtype: torch.dtype) -> Tensor:
    """Probabilities (n, k, p) whose sums differ from 1 by no more than the rounding of their type, with the sum 1."""
    sums = q.sum(dim=1, keepdim=True)
    near = (sums - 1.0).abs() <= q.shape[1] * torch.finfo(dtype).eps
    return torch.where(near, q / sums, q)


def _joined(each: NDArray[Any]) -> NDArray[Any]:
    """Images (n, k, p) as one of n p pixels, (1, k, n p)."""
    return each.swapaxes(0, 1).reshape(1, each.shape[1], -1)


def _as_mask(mask: Tensor | None, logits: Tensor, shape: tuple[int, int, int], masks: bool) -> Tensor:
    """The pixels that count, (n, 1, p), or (n, k, p) where each channel has its own."""
    images, _, pixels = shape
    if mask is None:
        return torch.ones((images, 1, pixels), dtype=torch.bool)
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(f"mask must be a tensor of bools; got {kind_of(mask)}.")
    spatial = tuple(logits.shape[2:])
    if tuple(mask.shape) == tuple(logits.shape) and masks:
        return mask.reshape(shape)
    fits = tuple(mask.shape) in ((images, *spatial), (images, 1, *spatial), (images, 1, *logits.shape[1:]))
    if fits and mask.numel() == images * pixels:
        return mask.reshape(images, 1, pixels)
    raise ValueError(f"mask must have one value for each pixel of logits; got shape {tuple(mask.shape)}.")
