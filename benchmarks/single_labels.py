"""How often searches for one wrong label settle Hamming costs to several right labels, with and without weights.

The plain search goes down the labels in the order of their scores, with the bound that no label costs more than 1. The
other one goes down the scores with weighted distances from the right labels. Each looks at 300 labels at most. Scores
are noise of the given size, and the first right label has the score 1.

    python benchmarks/single_labels.py
"""

import time
from typing import Any

import numpy as np

from setwise.core.bound_loss import BoundLoss
from setwise.core.single_labels import FlipCosts
from setwise.losses import GivenCosts, NearestHammingCosts
from setwise.spaces import ByMatchings, BySequences
from setwise.spaces.matchings import Assignments
from setwise.spaces.sequences import Sequences

LIMIT, INPUTS, RIGHT = 300, 20, 3


def nearest(truths: Any, label: Any) -> float:
    """The same costs as a function of one's own, of which no method knows more than the largest."""
    return float((label != truths).mean(axis=1).min()) or 1.0


def sequences(rng: np.random.Generator, T: int, k: int) -> Sequences:
    """One sequence of T places with k labels."""
    return Sequences([T], k, [rng.integers(k, size=(RIGHT, T))])


def matchings(rng: np.random.Generator, n: int) -> Assignments:
    """One assignment of n rows to n columns."""
    return Assignments([[n, n]], [np.array([rng.permutation(n) for _ in range(RIGHT)])])


def solved(make: Any, costs: FlipCosts, slack: bool, size: float) -> str:
    """How many of the inputs are settled, the mean gap of the others, and the time of a call."""
    exact, gaps, seconds = 0, [], 0.0
    for seed in range(INPUTS):
        rng = np.random.default_rng(seed)
        batch = make(rng)
        scores = size * rng.standard_normal(batch.n_scores)
        scores[-1] += 1.0 - batch.label_scores(0, scores, batch.truths[0][:1])[0]
        method: Any = BySequences(LIMIT) if isinstance(batch, Sequences) else ByMatchings(LIMIT)
        maximizer = method.prepare(BoundLoss(batch, (costs,)), slack)
        begin = time.perf_counter()
        found = maximizer.maximize(scores)
        seconds += time.perf_counter() - begin
        exact += int(found.exact[0])
        if not found.exact[0]:
            gaps.append(float(found.bounds[0] - found.values[0]) / float(found.values[0]))
    gap = f"{np.mean(gaps):.0%}" if gaps else "-"
    return f"{exact:2d} of {INPUTS}, gap {gap:>4}, {1e3 * seconds / INPUTS:6.1f} ms"


def main() -> None:
    """Print a line for each kind of label, rescaling and size of the scores."""
    kinds = {
        "sequences 8 x 4": lambda rng: sequences(rng, 8, 4),
        "sequences 30 x 6": lambda rng: sequences(rng, 30, 6),
        "matchings 10 x 10": lambda rng: matchings(rng, 10),
        "matchings 15 x 15": lambda rng: matchings(rng, 15),
    }
    solved(kinds["sequences 8 x 4"], NearestHammingCosts(), True, 0.1)
    for name, make in kinds.items():
        for slack in (True, False):
            for size in (0.05, 0.5):
                weighted, plain = (
                    solved(make, NearestHammingCosts(), slack, size),
                    solved(make, GivenCosts(nearest), slack, size),
                )
                print(f"{name:18} {'slack' if slack else 'margin':7} {size:4}: weighted {weighted}; plain {plain}")


if __name__ == "__main__":
    main()
