"""How fast dual decomposition closes its gap by default, against the printed steps: ``python`` this file.

    python benchmarks/dual_decomposition_steps.py [SIDES ...] [--every K]

Sixty instances: the Jaccard loss of a disk on grids of 60 x 60 and 200 x 200 pixels, three scales of the scores, two
couplings, five seeds. For each the CPU seconds until value and bound differ by 1e-2, 1e-3 and 1e-4, on one thread, from
nothing, the first cut among them: by default, that is by turns and a bundle; by the steps ``1 / sqrt(t)`` of DD
section 3; and by the best of seven multiples of these, chosen for each instance and gap after all were run. All use
the same cuts, the same search over counts and the same candidates. A run of printed steps ends after 1,000 steps, or
when it has taken 40 times as long as the default took to its last gap, ten times for the multiples; its time so far
then counts, so its ratio is at least what is printed. In the performance profiles, the shares of instances in which a
method is within a factor of the fastest, such a run has not solved its instance. ``--every K`` takes each K-th one.
"""

import argparse
import sys
import time
from itertools import islice, product

import numpy as np

from dual_decomposition import grid, scored
from setwise.core.networks import Graphs
from setwise.inference import DualDecomposition
from setwise.inference.dual_decomposition import Subproblem, descend_as_printed, descend_by_bundle
from setwise.losses import Jaccard
from timing import table

GAPS = (1e-2, 1e-3, 1e-4)
SCALES = tuple(10.0**-k for k in range(8))
"""The printed steps, and the seven multiples of them."""

STEPS, LEAST, PATIENCE = 1000, 0.02, (40.0, *[10.0] * 7)
"""The most printed steps, and when runs end: after so many times the seconds of the default, but not before so many."""

RATIOS = (1.0, 1.5, 2.0, 4.0, 8.0, 16.0)


def seconds(problem: Subproblem, scale: float | None, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """The CPU seconds to each gap, or the time so far where it was not reached; and whether it was."""
    search = problem.descent(problem.one.graphs.truth, 0.0, STEPS)
    take, begin, reached = search.see, time.process_time(), np.full(len(GAPS), np.nan)

    def see(answer):
        found, now = take(answer), time.process_time() - begin
        gap = search.bound - search.best
        for k, wanted in enumerate(GAPS):
            if gap <= wanted and np.isnan(reached[k]):
                reached[k] = now
        if gap <= GAPS[-1] or now > limit:
            search.left = 0
        return found

    search.see = see
    if scale is None:
        descend_by_bundle(problem, search, None)
    else:
        descend_as_printed(search, scale)
    closed = ~np.isnan(reached)
    return np.where(closed, reached, time.process_time() - begin), closed


def instances(sides):
    for side, size, coupling, seed in product(sides, (1.0, 10.0, 100.0), (0.3, 2.0), range(5)):
        rng = np.random.default_rng(seed)
        row, column = np.indices((side, side))
        middle, radius = side * rng.uniform(0.4, 0.6, 2), side * rng.uniform(0.15, 0.3)
        disk = np.ravel(np.hypot(row - middle[0], column - middle[1]) < radius)
        graphs = Graphs(disk, np.array([0, side * side]), grid(side, side))
        yield (side, size, coupling, seed), graphs, scored(graphs, size / side**2, coupling, rng)


def main(sides, every) -> None:
    method, names, times, solved = DualDecomposition(), [], [], []
    for name, graphs, scores in islice(instances(sides), 0, None, every):
        bound_loss = Jaccard().bind(graphs)

        def fresh(bound_loss=bound_loss, scores=scores):
            return Subproblem(method.one_set(bound_loss), scores)

        if not names:
            # All kernels are compiled before the clock runs.
            seconds(fresh(), None, np.inf)
        own, closed = seconds(fresh(), None, np.inf)
        limits = [max(LEAST, patience * own[-1]) for patience in PATIENCE]
        rivals = [seconds(fresh(), scale, limit) for scale, limit in zip(SCALES, limits, strict=True)]
        names.append(name)
        times.append(np.array([own, *(t for t, _ in rivals)]))
        solved.append([closed, *(c for _, c in rivals)])
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    report(names, np.array(times), np.array(solved))


def report(names, times, solved) -> None:
    """Geometric means, performance profiles, and the instances that the default loses."""
    own, printed, best = times[:, 0], times[:, 1], times[:, 1:].min(axis=1)
    shown = [("gap", "default, ms", "printed / default", "best multiple / default", "its least", "default loses")]
    for k, gap in enumerate(GAPS):
        ratios = best[:, k] / own[:, k]
        shown.append((
            f"{gap:g}", f"{1e3 * mean(own[:, k]):.1f}", f"{mean(printed[:, k] / own[:, k]):.1f}", f"{mean(ratios):.1f}",
            f"{ratios.min():.2f}", f"{(ratios < 1.0).sum()} of {len(ratios)}",
        ))  # fmt: skip
    table(shown)
    print()
    profile(np.where(solved, times, np.inf))
    print()
    shown = [("pixels", "score of a pixel", "coupling", "seed", "gap", "best multiple / default", "default, ms")]
    for i, (side, size, coupling, seed) in enumerate(names):
        for k, gap in enumerate(GAPS):
            if best[i, k] < own[i, k]:
                row = (f"{side} x {side}", f"{size:g} / {side}^2", f"{coupling:g}", str(seed), f"{gap:g}")
                shown.append((*row, f"{best[i, k] / own[i, k]:.2f}", f"{1e3 * own[i, k]:.1f}"))
    table(shown)


def profile(times) -> None:
    """Performance profiles, and where the default is more than twice as slow; times are infinite where not solved."""
    own, best = times[:, 0], times[:, 1:].min(axis=1)
    fastest = np.minimum(own, best)
    shown = [("gap", "method", "not solved", *(f"within {r:g} x" for r in RATIOS))]
    for k, gap in enumerate(GAPS):
        for name, given in (("default", own), ("printed", times[:, 1]), ("best multiple", best)):
            solved = np.isfinite(given[:, k])
            shares = [f"{100 * (solved & (given[:, k] <= r * fastest[:, k])).mean():.0f} %" for r in RATIOS]
            shown.append((f"{gap:g}", name, str((~solved).sum()), *shares))
    table(shown)
    slow = [f"{(own[:, k] > 2.0 * best[:, k]).sum()} to {gap:g}" for k, gap in enumerate(GAPS)]
    print(f"\ndefault more than 2 times slower than the best multiple: {', '.join(slow)}, of {len(times)}")


def mean(ratios) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(ratios).mean()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sides", nargs="*", type=int, default=(60, 200))
    parser.add_argument("--every", type=int, default=1, metavar="K")
    chosen = parser.parse_args()
    main(chosen.sides, chosen.every)
