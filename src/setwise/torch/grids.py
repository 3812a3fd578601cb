"""Losses of images whose neighbors attract each other, for networks that give unary potentials and couplings."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, cast, final, overload

import numpy as np
import torch
from torch import Tensor

from setwise.core.checks import as_count, as_flag, as_number, shown
from setwise.core.loss import Loss
from setwise.kernels.networks import SHIFTS
from setwise.probabilistic.perturbations import seed_of
from setwise.surrogates.rescaling import check_scale
from setwise.torch.arguments import Arguments, Empty, named, refuse_tracing
from setwise.torch.criterion import FormModule, P, Reduction, counted, functional, reduced
from setwise.torch.grid_operators import GridForm, LikelihoodForm, MarginForm, evaluate_grids
from setwise.torch.layout import as_scores, codes_of
from setwise.torch.process_groups import ScoreRows, Sync, group_of, shared

RandomState = int | torch.Generator | None


def as_potentials(unary: Tensor, coupling: Tensor | float) -> tuple[Tensor, Tensor]:
    """The potentials as (N, ...) and (N, E, ...), in float32 or float64, for grids of one to three axes.

    ``unary`` is (N, 1, ...) or (N, ...). ``coupling`` is a number, or broadcasts to (N, E, ...) from as many axes. A
    second axis of unary of length 1 is the channel, unless the coupling has one axis more than unary. One channel of
    couplings weighs all directions alike.
    """
    refuse_tracing("a grid")
    unary = as_scores(unary, "unary")
    if isinstance(coupling, bool):
        raise TypeError(f"coupling must be a number or a tensor of floats; got {coupling}.")
    if isinstance(coupling, int | float):
        coupling = torch.full((), coupling, dtype=unary.dtype, device=unary.device)
    coupling = as_scores(coupling, "coupling")
    if coupling.device != unary.device:
        raise ValueError(f"coupling must be on the device of unary, {unary.device}; got {coupling.device}.")
    single = coupling.numel() == 1
    if unary.ndim > 2 and unary.shape[1] == 1 and (single or coupling.ndim <= unary.ndim):
        unary = unary.squeeze(1)
    axes, spatial = unary.ndim - 1, tuple(unary.shape[1:])
    known = [neighbors // 2 for dims, neighbors in SHIFTS if dims == axes]
    if not known:
        raise ValueError(
            f"unary must be (N, 1, ...) or (N, ...) with one to three axes of pixels; got {shown(tuple(unary.shape))}."
        )
    if single:
        coupling = coupling.reshape((1,) * (axes + 2))
    fits = coupling.ndim == axes + 2 and coupling.shape[1] in (1, *known)
    ways = coupling.shape[1] if fits and coupling.shape[1] in known else known[0]
    full = (unary.shape[0], ways, *spatial)
    if not fits or any(own not in (1, most) for own, most in zip(coupling.shape, full, strict=True)):
        words = " or ".join(str((full[0], each, *spatial)) for each in known)
        raise ValueError(
            f"coupling must be a number, or {words} here, where any axis may have length 1; "
            f"got {tuple(coupling.shape)}."
        )
    return unary, coupling.expand(full)


def _as_signed(random_state: int) -> int:
    """The seed of a whole number, in the way in which 64 bits travel as a signed number; NumPy would end a graph."""
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(f"random_state must be None, a whole number or a torch.Generator; got {shown(random_state)}.")
    seed = int(random_state)
    return seed if 0 <= seed < 2**63 else int(seed_of(seed).astype(np.int64))


@final
class Seeds:
    """The seed of the noise of each call.

    Parameters
    ----------
    random_state : None draws a seed from the default generator of PyTorch, which ``torch.manual_seed`` sets, and a
        ``torch.Generator`` from itself; an int is the same seed at each call
    """

    def __init__(self, random_state: RandomState) -> None:
        self._generator, self._fixed = None, None
        if isinstance(random_state, torch.Generator):
            self._generator = random_state
        elif random_state is not None:
            self._fixed = _as_signed(random_state)

    def __call__(self) -> Tensor:
        """The next seed, an int64 without axes."""
        if self._fixed is not None:
            return torch.full((), self._fixed, dtype=torch.int64)
        device = None if self._generator is None else self._generator.device
        return torch.randint(2**63 - 1, (), generator=self._generator, device=device)


class GridCriterion(FormModule):
    """A loss of images of binary pixels, for their potentials and a target: what the losses of grids share.

    Each image is a set. The score of a labeling h is ``<s, phi(h)> = sum_i u_i h_i + sum_(i,j) c_ij [h_i = h_j]`` over
    pixels i with unary potential u, and over neighbors i and j, which attract each other with the coupling c of 0 or
    above. All is computed on the host, also for tensors of an accelerator. Pixels that do not count leave the grid
    together with their edges.

    Source: own; docs/guide/torch_grids.md has the conventions of potentials.

    Parameters
    ----------
    form : what the grids are evaluated by, a :class:`setwise.torch.grid_operators.GridForm`
    arguments : which pixels and images count
    reduction : ``"mean"`` over the images that count, ``"sum"``, or ``"none"`` for the value of every image, (N,)
    seeds : of the noise of each call; None where there is none
    sync : as in :class:`setwise.torch.Criterion`: images stay on their rank, and the mean is that of all ranks

    Raises
    ------
    ValueError : for a reduction that is none of these; when called, for couplings below 0, shapes that do not fit,
        labels other than 0 and 1, and potentials that are not finite
    TypeError : for tensors and arguments of other types

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import GridCriterion, MaxMarginMRFLoss
    >>> loss = MaxMarginMRFLoss(reduction="none")
    >>> isinstance(loss, GridCriterion)
    True
    >>> unary, target = torch.tensor([[2.0, -1.0, 1.0], [2.0, -1.0, 1.0]]), torch.tensor([[1, 0, 1], [1, 1, 1]])
    >>> values = loss(unary, 0.0, target)  # two sequences, no couplings: mean hinges of 0 and 2/3
    >>> [round(value, 3) for value in values.tolist()]
    [0.0, 0.667]
    """

    def __init__(
        self,
        form: GridForm,
        arguments: Arguments,
        reduction: Reduction,
        seeds: Seeds | None = None,
        sync: Sync | None = None,
    ) -> None:
        super().__init__(form, arguments, reduction, sync)
        self._seeds = seeds

    def forward(self, unary: Tensor, coupling: Tensor | float, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """The loss of the potentials.

        Parameters
        ----------
        unary : (N, 1, H, W) or (N, H, W) floats, the score of label 1; also (.., L) or (.., D, H, W)
        coupling : (N, 2, H, W) floats of 0 or above: the weight of the edge from each pixel to the right, and down; or
            (N, 4, H, W) with those down to the right and down to the left. What leads beyond the border is not read.
            A number is the weight of all edges. A tensor has all of these axes, and where one has length 1 there is one
            weight for many edges; one channel alone is that of both edges of a pixel. Sequences have one direction,
            volumes three, along the last axis first
        target : 0 and 1 in the shape of unary
        mask : bools in the shape of unary, False where pixels do not count

        Returns
        -------
        value : a scalar, or (N,) with ``reduction="none"``
        """
        refuse_tracing(type(self).__name__)
        own, group = partial(self._images, unary, coupling, target, mask), group_of(self.sync)
        images = own() if group is None else shared(own, self.arguments, group)
        values, counts = images.numbers[0], images.codes[0] == 1
        return reduced(values, counts, (len(values),), None, self.reduction)

    def _images(self, unary: Tensor, coupling: Tensor | float, target: Tensor, mask: Tensor | None) -> ScoreRows:
        """The values of the images, and 1 for those that count, as one row."""
        fields, couplings = as_potentials(unary, coupling)
        codes = codes_of(unary, target, mask, self.arguments)
        seed = torch.zeros((), dtype=torch.int64) if self._seeds is None else self._seeds()
        values, _, _ = evaluate_grids(fields, couplings, codes, seed, self._number)
        totals = torch.stack([(codes == 0).sum(dim=1), (codes == 1).sum(dim=1)], dim=1)
        return ScoreRows(values[None], counted(totals, self.arguments)[None].to(torch.int8))


@final
class MaxMarginMRFLoss(GridCriterion):
    """``max_h loss(h) + <s, phi(h) - phi(y)> / g`` over all labelings h of an image: margin rescaling (DD Eq. 6).

    A maximum is found by minimum cuts: exactly for sums over pixels, as ``"error_rate"`` and ``"hamming"``, and to
    within ``tol`` by dual decomposition (DD) for ``"jaccard"``, ``"f1"`` and other losses of counts. Where a gap above
    ``tol`` is left, the gradient is that of a lower bound, and a warning says how far the value may be off. It is
    computed on the host, also for tensors of an accelerator. See :class:`GridCriterion` for the potentials.

    Parameters
    ----------
    loss : a loss of labels, or its name
    scale : g > 0, or ``"size"`` for the number of pixels of an image that count. With ``"size"`` and the error rate it
        is a mean over pixels, which is the hinge ``(1 - u_i (2 y_i - 1))_+`` where couplings are 0
    tol : the largest gap at which a search of an image may end, in the unit of the loss
    ignore_index : the value of the target at which pixels leave the grid; None keeps all
    empty : what an image without positives costs, as in :class:`setwise.torch.Arguments`
    reduction : ``"mean"`` over the images that count, ``"sum"``, or ``"none"``
    sync : whether the mean is that of several processes, see :class:`GridCriterion`

    Raises
    ------
    Refusal : for a loss of several classes, or without the choice of ``empty``; when called, for a loss of a ranking
    ValueError, TypeError : for a scale, a tolerance and a name that are none; when called, as :class:`GridCriterion`

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import MaxMarginMRFLoss
    >>> unary, target = torch.tensor([[2.0, -1.0, 1.0]]), torch.tensor([[1, 0, 1]])
    >>> value = MaxMarginMRFLoss("error_rate")(unary, 0.4, target)
    >>> round(value.item(), 3)  # labels (1, 1, 1): the loss 1/3, and (-1 + 2 * 0.4) / 3 more in mean score
    0.267
    """

    def __init__(
        self,
        loss: Loss | str = "error_rate",
        *,
        scale: float | str = "size",
        tol: float = 1e-3,
        ignore_index: int | None = None,
        empty: Empty | None = None,
        reduction: Reduction = "mean",
        sync: Sync | None = None,
    ) -> None:
        check_scale(scale)
        arguments = Arguments("binary", ignore_index, per_image=True, empty=empty)
        form = MarginForm(arguments.of(named(loss)), scale, as_number(tol, "tol", low=0.0))
        super().__init__(form, arguments, reduction, sync=sync)


@final
class LogSupermodularLoss(GridCriterion):
    """``mean over z of max_h [<z, h> + <s, phi(h)>] - <s, phi(y)>``: at least ``-log p(y)`` in expectation (LSM Eq. 5).

    ``p(y)`` is proportional to ``exp <s, phi(y)>``: a log-supermodular model, whose parameters the network gives. Over
    all logistic noise z, perturb-and-MAP, the value is not below ``-log p(y)`` (LSM Prop. 1). Few samples are learned
    by heart if the noise is always the same, so each call draws its own by default. The maxima are minimum cuts, which
    are computed on the host, also for tensors of an accelerator. See :class:`GridCriterion` for the potentials.

    Parameters
    ----------
    samples : of each image, 2 or more, in pairs of opposite noise; each is a minimum cut
    per_pixel : whether the value is in nats of a pixel that counts, or else of an image
    random_state : the seed of the noise. None draws fresh noise at each call, from the default generator of PyTorch, so
        that ``torch.manual_seed`` repeats it, and a ``torch.Generator`` does so from itself, which ends a graph of
        ``torch.compile``. With an int the noise is the same at each call, as ``torch.autograd.gradcheck`` needs it
    ignore_index : the value of the target at which pixels leave the grid; None keeps all
    reduction : ``"mean"`` over the images that count, ``"sum"``, or ``"none"``
    sync : whether the mean is that of several processes, see :class:`GridCriterion`

    Raises
    ------
    ValueError, TypeError : for samples below 2, and arguments of other types; when called, as :class:`GridCriterion`

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import LogSupermodularLoss
    >>> unary, target = torch.tensor([[2.0, -1.0, 1.0]]), torch.tensor([[1, 0, 1]])
    >>> value = LogSupermodularLoss(samples=2000, random_state=0)(unary, 0.0, target)
    >>> cross_entropy = torch.nn.functional.binary_cross_entropy_with_logits(unary, target.float())
    >>> abs(value - cross_entropy).item() < 0.05  # without couplings it is that, but for the noise
    True
    """

    def __init__(
        self,
        samples: int = 20,
        *,
        per_pixel: bool = True,
        random_state: RandomState = None,
        ignore_index: int | None = None,
        reduction: Reduction = "mean",
        sync: Sync | None = None,
    ) -> None:
        count = as_count(samples, "samples", low=2)
        form = LikelihoodForm(count, as_flag(per_pixel, "per_pixel"))
        arguments = Arguments("binary", ignore_index, per_image=True)
        super().__init__(form, arguments, reduction, Seeds(random_state), sync)
        self.random_state = random_state


class GridFunction(Protocol[P]):
    """A function of potentials, a target and a mask, and of the arguments ``P`` of a module."""

    @overload
    def __call__(
        self, unary: Tensor, coupling: Tensor | float, target: Tensor, *given: P.args, **options: P.kwargs
    ) -> Tensor: ...

    @overload
    def __call__(self, *given: Any, mask: Tensor | None, **options: Any) -> Tensor: ...


POTENTIALS = """unary, coupling, target, mask : (N, H, W), (N, 2, H, W), (N, H, W) and (N, H, W) or None, see
    :meth:`setwise.torch.GridCriterion.forward`"""


def grid_functional(module: Callable[P, Any]) -> Callable[[Callable[..., Tensor]], GridFunction[P]]:
    """The same decorator as :func:`setwise.torch.criterion.functional`, for functions of potentials."""
    return cast("Callable[[Callable[..., Tensor]], GridFunction[P]]", functional(module, POTENTIALS))


@grid_functional(MaxMarginMRFLoss)
def max_margin_mrf_loss(
    unary: Tensor, coupling: Tensor | float, target: Tensor, *given: Any, mask: Tensor | None = None, **options: Any
) -> Tensor:
    """Margin rescaling of a grid (DD Eq. 6), in one call of :class:`setwise.torch.MaxMarginMRFLoss`.

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import max_margin_mrf_loss
    >>> unary, target = torch.tensor([[2.0, -1.0, 1.0]]), torch.tensor([[1, 0, 1]])
    >>> value = max_margin_mrf_loss(unary, 0.4, target, "jaccard", scale=1.0)
    >>> round(value.item(), 3)  # labels (1, 1, 1): the loss 1/3, and -1 + 2 * 0.4 more in score
    0.133
    """
    return MaxMarginMRFLoss(*given, **options)(unary, coupling, target, mask)


@grid_functional(LogSupermodularLoss)
def log_supermodular_loss(
    unary: Tensor, coupling: Tensor | float, target: Tensor, *given: Any, mask: Tensor | None = None, **options: Any
) -> Tensor:
    """At least ``-log p`` in expectation (LSM Eq. 5), in one call of :class:`setwise.torch.LogSupermodularLoss`.

    Examples
    --------
    >>> import torch
    >>> from setwise.torch import log_supermodular_loss
    >>> unary, smooth, rough = torch.zeros(1, 4), torch.tensor([[1, 1, 1, 1]]), torch.tensor([[1, 0, 1, 0]])
    >>> both = [log_supermodular_loss(unary, 1.0, each, random_state=0).item() for each in (smooth, rough)]
    >>> both[0] < both[1]  # couplings make labels that agree more probable
    True
    """
    return LogSupermodularLoss(*given, **options)(unary, coupling, target, mask)
