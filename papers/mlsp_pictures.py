"""The picture of windows of MLSP Table 1b: test images with true and predicted boxes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Ints


@final
@dataclass(frozen=True, eq=False)
class BoxPictures:
    """Some images, their true boxes, and the predicted boxes of each method."""

    images: Sequence[NDArray[np.uint8]]
    truth: Sequence[Ints]
    predicted: Mapping[str, Sequence[Ints]]


def pictures(shown: BoxPictures) -> Callable[[], Any]:
    """A function that draws an image in each row, with the boxes of each method in a column of its own."""

    def draw() -> Any:
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle

        from setwise.plotting.colors import BLUE, GRAY, RED

        names, n = list(shown.predicted), len(shown.images)
        high, wide = shown.images[0].shape
        figure = Figure(figsize=(2.6 * len(names), 2.6 * high / wide * n + 0.6), layout="constrained")
        axes = figure.subplots(n, len(names), squeeze=False)
        for i, row in enumerate(axes):
            for one, name in zip(row, names, strict=True):
                one.imshow(shown.images[i], cmap="gray", vmin=0, vmax=255)
                for boxes, color, line, width in (
                    (shown.truth[i], BLUE, "-", 2.5),
                    (shown.predicted[name][i], RED, "--", 1.2),
                ):
                    for top, left, bottom, right in boxes.tolist():
                        frame = (left - 0.5, top - 0.5), right - left, bottom - top
                        one.add_patch(Rectangle(*frame, fill=False, color=color, linestyle=line, linewidth=width))
                one.axis("off")
                if i == 0:
                    one.set_title(name, fontsize=9, color=GRAY)
        figure.suptitle("true boxes (blue) and predicted ones (red, dashed)", fontsize=9)
        return figure

    return draw
