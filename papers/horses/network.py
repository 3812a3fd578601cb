"""A small U-Net (Ronneberger, Fischer and Brox 2015)."""

from itertools import pairwise
from typing import final

import torch
from torch import Tensor, nn


def _block(inputs: int, outputs: int) -> nn.Sequential:
    """A convolution of 3 x 3 pixels with batch normalization."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


@final
class UNet(nn.Module):
    """``channels`` numbers for each pixel of images (N, 3, H, W).

    One convolution at each resolution on the way down, and one on the way up, which sees that of the way down too.

    Parameters
    ----------
    widths : the channels at each resolution, from the full one; sides are divisible by 2 for each one after the first
    channels : the channels of the output
    """

    def __init__(self, widths: tuple[int, ...], channels: int) -> None:
        super().__init__()
        self.down = nn.ModuleList(_block(a, b) for a, b in pairwise((3, *widths)))
        self.up = nn.ModuleList(_block(a + b, a) for a, b in pairwise(widths))
        # Made last, so that networks of one seed differ in nothing else.
        self.head = nn.Conv2d(widths[0], channels, 1)

    def forward(self, images: Tensor) -> Tensor:
        """The output, (N, channels, H, W)."""
        # Convolutions of few channels are faster in this order.
        x = self.down[0](images.contiguous(memory_format=torch.channels_last))
        kept = []
        for block in list(self.down)[1:]:
            kept.append(x)
            x = block(nn.functional.max_pool2d(x, 2))
        for block, fine in zip(reversed(list(self.up)), reversed(kept), strict=True):
            x = block(torch.cat([fine, nn.functional.interpolate(x, scale_factor=2)], dim=1))
        found: Tensor = self.head(x)
        return found


def made(widths: tuple[int, ...], channels: int, seed: int) -> UNet:
    """A network with random weights of this seed; the random numbers of others do not change."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return UNet(widths, channels)
