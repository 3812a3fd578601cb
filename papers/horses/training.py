"""Train a network in one way, and judge it."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from papers.horses.data import HorseSize, Parts, Pictures
from papers.horses.decoding import decoded, indices
from papers.horses.losses import ImageLoss, TrainingWay, ways
from papers.horses.network import UNet, made
from papers.horses.store import Run, TrainingJob
from setwise.core.checks import Values

SHOWN = 6
"""The number of test images whose masks are kept."""


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch uses one thread in the block, since small networks gain nothing from more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train(job: TrainingJob, parts: Parts, size: HorseSize) -> Run:
    """The result of one training."""
    with one_thread():
        return _train(job, ways(drawn(job, 4))[job.way], parts, size)


def drawn(job: TrainingJob, use: int) -> int:
    """A seed for PyTorch."""
    return int(np.random.default_rng([job.base, job.seed, use]).integers(2**31))


def _train(job: TrainingJob, way: TrainingWay, parts: Parts, size: HorseSize) -> Run:
    seed = (job.base, job.seed)
    fitted, held = parts.split(size.held, seed)
    network = made(size.widths, way.channels, drawn(job, 2))
    optimizer, clock, curve = torch.optim.Adam(network.parameters(), lr=job.rate), StepClock(), []
    images, masks = as_input(fitted.images), torch.from_numpy(fitted.masks)
    rng = np.random.default_rng([*seed, 3])
    steps = len(masks) // size.batch
    for epoch in range(size.epochs):
        network.train()
        order, flipped = torch.from_numpy(rng.permutation(len(masks))), torch.from_numpy(rng.random(len(masks)) < 0.5)
        for k in range(steps):
            chosen = order[k * size.batch : (k + 1) * size.batch]
            own = flipped[chosen][:, None, None]
            x = torch.where(own[:, None], images[chosen].flip(3), images[chosen])
            y = torch.where(own, masks[chosen].flip(2), masks[chosen])
            _set_rate(optimizer, job.rate * _share_of_rate(epoch * steps + k, steps, size.epochs * steps))
            clock.step(network, optimizer, way.first if 2 * epoch < size.epochs else way.second, x, y)
        if (epoch + 1) % size.every == 0:
            scores = way.scores(outputs_of(network, held), False)
            curve.append(float(indices(scores > 0.0, held.masks)[0]))
    held_scores, scores = (way.scores(outputs_of(network, part), True) for part in (held, parts.test))
    found = decoded(held_scores, held.masks, scores, parts.test.masks)
    validation = float(indices(held_scores > 0.0, held.masks)[0])
    return Run(validation, found.cells, np.array(curve), clock.share, clock.whole, found.masks[:, :SHOWN])


class StepClock:
    """Steps of training, with the processor time ``whole`` of all, and the share of it that a loss takes.

    The first step with a loss may compile it, and has no part in the share.
    """

    def __init__(self) -> None:
        self.whole = 0.0
        self._loss = self._steps = 0.0
        self._known: ImageLoss | None = None

    @property
    def share(self) -> float:
        """The share of the loss and its gradient in percent, NaN before there are steps that count."""
        return 100.0 * self._loss / self._steps if self._steps else float("nan")

    def step(self, network: UNet, optimizer: torch.optim.Optimizer, loss: ImageLoss, x: Tensor, y: Tensor) -> None:
        """One step, in which the gradient of the outputs is found first, and the chain rule applied to it after."""
        begin = process_time()
        optimizer.zero_grad()
        outputs = network(x)
        leaf = outputs.detach().requires_grad_()
        before = process_time()
        loss(leaf, y).backward()  # type: ignore[no-untyped-call]
        spent = process_time() - before
        torch.autograd.backward(outputs, leaf.grad)
        optimizer.step()
        step = process_time() - begin
        self.whole += step
        if loss is self._known:
            self._loss, self._steps = self._loss + spent, self._steps + step
        self._known = loss


def _share_of_rate(step: int, warm: int, steps: int) -> float:
    """The learning rate as a share of the largest: it rises in the first epoch, and falls as a cosine to 0."""
    return min(1.0, (step + 1) / warm) * 0.5 * (1.0 + float(np.cos(np.pi * step / steps)))


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def as_input(images: NDArray[np.uint8]) -> Tensor:
    """Images (n, H, W, 3) as the network reads them, (n, 3, H, W), near -2 to 2."""
    scaled = (images.astype(np.float32) / 255.0 - 0.5) / 0.25
    return torch.from_numpy(scaled).permute(0, 3, 1, 2)


def outputs_of(network: UNet, pictures: Pictures) -> Values:
    """The outputs (n, channels, H, W) float64."""
    network.eval()
    with torch.inference_mode():
        found = [network(part).double().numpy() for part in torch.split(as_input(pictures.images), 32)]
    return np.concatenate(found)
