"""Loss-augmented maximization for losses of the number of mistakes."""

from typing import Any

from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def best_prefix(
    losses: Array, at_empty: Array, gains: Array, items: Array, starts: Array, slack: bool, mistakes: Array
) -> None:
    """Marks the first k ``items`` of each set, for the k that maximizes ``loss_k + G_k``, or ``loss_k (1 + G_k)``.

    ``G_k`` is the sum of the first k ``gains`` in score, which fall inside each set; the product is that of slack
    rescaling. ``losses`` (total,) holds the loss of 1, 2, ... mistakes and ``at_empty`` (n,) that of none. ``mistakes``
    (total,) bool must be all False on entry. O(total).
    """
    for i in range(len(starts) - 1):
        best = at_empty[i]
        stop = starts[i]
        total = 0.0
        # The gains fall, so the best set of k mistakes consists of the first k items.
        for j in range(starts[i], starts[i + 1]):
            total += gains[j]
            value = losses[j] * (1.0 + total) if slack else losses[j] + total
            # Of equal values the one with fewest mistakes is kept.
            if value > best:
                best = value
                stop = j + 1
        for j in range(starts[i], stop):
            mistakes[items[j]] = True
