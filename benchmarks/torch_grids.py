"""What losses of grids cost a training step: ``python benchmarks/torch_grids.py``.

Sixteen images of a disk, 64 x 64 and 128 x 128, whose pixels have 4 neighbors, in float32, one thread. Three stages of
training: at the start the unary potentials are noise of standard deviation .1, in the middle they are right by 1 with
noise of 1.5, and at the end right by 4 with noise of 1; the coupling is softplus(0) = .69 at all edges, a tensor. A
step is the value and the gradients of both potentials. Milliseconds of the processor, medians of turns, after one
unmeasured turn, with the potentials drawn anew for each turn. Beside them stand cross-entropy, and forward and backward
of a U-Net of three levels of 16, 32 and 64 channels. Warnings say which gaps dual decomposition has left.
"""

import sys
import warnings
from time import process_time

import numpy as np
import torch
from torch import nn

from setwise.torch import LogSupermodularLoss, MaxMarginMRFLoss, marginals, most_probable
from timing import table

LOSSES = {
    "cross-entropy": lambda u, c, y: nn.functional.binary_cross_entropy_with_logits(u, y),
    "max-margin, error rate": MaxMarginMRFLoss("error_rate"),
    "max-margin, Jaccard": MaxMarginMRFLoss("jaccard"),
    "max-margin, Jaccard, tol=0": MaxMarginMRFLoss("jaccard", tol=0.0),
    "max-margin, F1": MaxMarginMRFLoss("f1"),
    "log-supermodular, 20 samples": LogSupermodularLoss(20),
    "log-supermodular, 4 samples": LogSupermodularLoss(4),
}
DECISIONS = {
    "most probable labeling": most_probable,
    "marginals, 20 samples": lambda u, c: marginals(u, c, 20),
}
STAGES = {"start": (0.0, 0.1), "middle": (1.0, 1.5), "end": (4.0, 1.0)}


class SmallUNet(nn.Module):
    """Two convolutions at each of three levels."""

    def __init__(self) -> None:
        super().__init__()

        def block(a: int, b: int) -> nn.Module:
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())

        self.down = nn.ModuleList([block(3, 16), block(16, 32), block(32, 64)])
        self.up = nn.ModuleList([block(96, 32), block(48, 16)])
        self.last = nn.Conv2d(16, 3, 1)

    def forward(self, x):
        """Three numbers for each pixel."""
        first = self.down[0](x)
        second = self.down[1](nn.functional.max_pool2d(first, 2))
        x = self.down[2](nn.functional.max_pool2d(second, 2))
        for level, seen in zip(self.up, (second, first), strict=True):
            x = level(torch.cat([nn.functional.interpolate(x, scale_factor=2), seen], dim=1))
        return self.last(x)


def potentials(rng, side, stage, count=16):
    """Unary potentials, couplings and masks."""
    (row, column), (right, noise) = np.indices((side, side)) / side, STAGES[stage]
    middle, radius = rng.uniform(0.35, 0.65, (2, count, 1, 1)), rng.uniform(0.15, 0.35, (count, 1, 1))
    mask = np.hypot(row - middle[0], column - middle[1]) < radius
    unary = right * (2.0 * mask - 1.0) + noise * rng.standard_normal(mask.shape)
    couplings = torch.full((count, 2, side, side), float(np.log(2.0)))
    made = (torch.tensor(unary, dtype=torch.float32), couplings)
    return *(part.requires_grad_() for part in made), torch.tensor(mask, dtype=torch.float32)


def milliseconds(run, *inputs):
    """Those of the processor."""
    begun = process_time()
    run(*inputs)
    return 1e3 * (process_time() - begun)


def train(network, x):
    """Forward and backward."""
    network(x).sum().backward()


def main(turns: int = 7) -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    steps = {name: lambda u, c, y, loss=loss: loss(u, c, y).backward() for name, loss in LOSSES.items()}
    steps |= {name: lambda u, c, y, decide=decide: decide(u, c) for name, decide in DECISIONS.items()}
    rows, told = [], set()
    for side in (64, 128):
        network = SmallUNet()
        found = {name: {stage: [] for stage in STAGES} for name in steps}
        of_network = []
        for _ in range(turns + 1):
            x = torch.randn(16, 3, side, side)
            of_network.append(milliseconds(train, network, x))
            for stage in STAGES:
                drawn = potentials(rng, side, stage)
                for name, step in steps.items():
                    with warnings.catch_warnings(record=True) as seen:
                        warnings.simplefilter("always")
                        found[name][stage].append(milliseconds(step, *drawn))
                    told |= {f"{name}, {side}, {stage}: {one.message}" for one in seen}
        rows += [(f"{name}, {side}", *(np.median(each[1:]) for each in found[name].values())) for name in steps]
        rows.append((f"U-Net, {side}", *[np.median(of_network[1:])] * len(STAGES)))
    table([("milliseconds of a step", *STAGES), *((name, *(f"{each:.1f}" for each in cells)) for name, *cells in rows)])
    for line in sorted(told):
        print(line)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
