"""Perturb-and-MAP against PyMaxflow, and the control variate: ``python benchmarks/perturbed_cuts.py``.

*Instances.* A posterior: an image of a disk of which one pixel in ten is flipped, ``t = log(9) (2 x - 1)``, and cuts of
the two directions with weights 1 and 2.2. A flat prior: t = 0, and both weights .8. Both at 50 x 50 and 256 x 256.

*Speed.* Seconds of 100 samples (20 at 256 x 256) of ``max_y <z + t, y> - cut(y)`` with logistic z, drawn by us for
both sides: in our kernel; by PyMaxflow with a new graph for each sample; and by PyMaxflow with one graph, whose flow
and trees are used again. Turns, medians; one thread, and ours with two. The labels agree but for ties. Beside two
threads stands what the machine lets them gain at most: two processes draw the same samples on one thread each, at the
same time. Other processes take their part of both, so the two are to be compared with each other.

*Error.* The squared error of the mean of samples, as the variance of the mean that is left by the control variate and
pairs of opposite noise, beside independent samples, times the seconds of each: how many times fewer seconds for the
same error. The point of L-Field, which the control variate needs, is counted once for 100 samples.

*Growth.* Medians of 5 runs of 4 samples, after one unmeasured.
"""

import multiprocessing
import sys

import numpy as np

from setwise.kernels.sampling import LOGISTIC
from setwise.kernels.threads import thread_limit
from setwise.probabilistic import Cut, LogSupermodularDistribution, base_point
from setwise.probabilistic.perturbations import controlled, noise_of, perturbed, seed_of
from timing import race, table

try:
    import maxflow
except ImportError:
    maxflow = None


def instance(kind: str, side: int) -> LogSupermodularDistribution:
    """The posterior or the prior."""
    cuts = [Cut.grid(side, side, direction) for direction in ((0, 1), (1, 0))]
    if kind == "prior":
        return LogSupermodularDistribution(cuts, np.zeros(side * side), [0.8, 0.8])
    rng, (row, column) = np.random.default_rng(0), np.indices((side, side)) / side - 0.5
    seen = (np.hypot(row, column) < 0.3) ^ (rng.random((side, side)) < 0.1)
    return LogSupermodularDistribution(cuts, (np.log(9.0) * (2.0 * seen - 1.0)).ravel(), [1.0, 2.2])


class PyMaxflowModel:
    """PyMaxflow on one model."""

    def __init__(self, model: LogSupermodularDistribution) -> None:
        self.model, self.pairs = model, model.pairwise

    def graph(self, scores):
        """A new graph with its edges and its scores."""
        made = maxflow.Graph[float](self.model.total, len(self.pairs.edges))
        nodes = made.add_nodes(self.model.total)
        made.add_edges(*self.pairs.edges.T, self.pairs.weights, self.pairs.weights)
        made.add_grid_tedges(nodes, np.maximum(scores, 0.0), np.maximum(-scores, 0.0))
        return made, nodes

    def anew(self, noise) -> np.ndarray:
        """How often each label is 1, with a graph for each sample."""
        ones = np.zeros(self.model.total, np.int64)
        for z in noise:
            made, nodes = self.graph(z + self.model.unary)
            made.maxflow()
            ones += ~made.get_grid_segments(nodes)
        return ones

    def again(self, noise) -> np.ndarray:
        """The same with one graph, whose terminal capacities are raised by the changes."""
        ones, before = np.zeros(self.model.total, np.int64), noise[0] + self.model.unary
        made, nodes = self.graph(before)
        for k, z in enumerate(noise):
            if k:
                change = z + self.model.unary - before
                before = before + change
                made.add_grid_tedges(nodes, np.maximum(change, 0.0), np.maximum(-change, 0.0))
                made.mark_grid_nodes(nodes) if hasattr(made, "mark_grid_nodes") else [made.mark_node(i) for i in nodes]
            made.maxflow(reuse_trees=k > 0) if reuses() else made.maxflow()
            ones += ~made.get_grid_segments(nodes)
        return ones


def reuses() -> bool:
    """Whether this release of PyMaxflow can use its trees again."""
    return "reuse" in (maxflow.Graph[float].maxflow.__doc__ or "")


class SamplingProcess:
    """Another process, which draws samples when it is told to."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        context.Process(target=serve, args=(other,), daemon=True).start()

    def ready(self, kind: str, side: int, samples: int) -> None:
        """Let it make an instance."""
        self.pipe.send((kind, side, samples))
        self.pipe.recv()

    def both(self, run) -> None:
        """Run at the same time."""
        self.pipe.send(None)
        run()
        self.pipe.recv()


def serve(pipe) -> None:
    """The loop of the other process: a new instance, or samples of the last one."""
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            return  # the benchmark has ended
        if asked is not None:
            kind, side, samples = asked
            model, zero = instance(kind, side), np.zeros(side * side)
        perturbed(model, samples if asked is None else 2, LOGISTIC, seed_of(0), zero)
        pipe.send(None)


def speed(kind: str, side: int, samples: int, beside: SamplingProcess) -> list[str]:
    """A line of the first table."""
    model, zero = instance(kind, side), np.zeros(side * side)
    beside.ready(kind, side, samples)

    def noise():
        return noise_of(LOGISTIC, seed_of(0), 0, 0, samples, model.total, True)

    def ours(threads: int):
        with thread_limit(threads):
            return perturbed(model, samples, LOGISTIC, seed_of(0), zero)

    ways = {"ours": lambda: ours(1), "two": lambda: ours(2), "beside": lambda: beside.both(lambda: ours(1))}
    if maxflow is not None:
        peer = PyMaxflowModel(model)
        ways |= {"anew": lambda: peer.anew(noise()), "again": lambda: peer.again(noise())}
        apart = np.mean(peer.anew(noise()) != ours(1).ones)
        print(f"{kind} {side}: counts differ at {100 * apart:.2f} % of the nodes", file=sys.stderr)
    seconds = race(ways, 11)
    ratios = [f"{seconds[name] / seconds['ours']:.2f}" if name in seconds else "" for name in ("anew", "again")]
    each = 1e3 * seconds["ours"] / samples
    gains = [seconds["ours"] / seconds["two"], 2.0 * seconds["ours"] / seconds["beside"]]
    return [kind, f"{side} x {side}", f"{each:.2f}", *ratios, *(f"{gain:.2f}" for gain in gains)]


def variance(kind: str, side: int) -> list[str]:
    """A line of the second table."""
    model = instance(kind, side)
    point = base_point(model).point
    seconds = race(
        {"point": lambda: base_point(model), "samples": lambda: perturbed(model, 100, LOGISTIC, seed_of(1), point)}
    )
    found_point, each = seconds["point"], seconds["samples"] / 100
    found = perturbed(model, 1000, LOGISTIC, seed_of(1), point)
    pairs, controls = (v.reshape(-1, 2).mean(axis=1) for v in (found.values, found.controls))
    left = controlled(pairs, controls, float(np.logaddexp(0.0, -point).sum()))
    # A pair costs two samples.
    fewer = found.values.var(ddof=1) / (2.0 * left.var(ddof=1))
    faster = fewer * 100 * each / (100 * each + found_point)
    return [kind, f"{side} x {side}", f"{fewer:.1f}", f"{found_point / each:.0f}", f"{faster:.1f}"]


def growth(kind: str, side: int) -> list[str]:
    """A line of the third table."""
    model = instance(kind, side)
    each = 1e3 * race({"": lambda: perturbed(model, 4, LOGISTIC, seed_of(0), np.zeros(model.total))}, 5)[""] / 4
    return [kind, f"{side} x {side}", f"{each:.2f}", f"{1e3 * each / side**2:.3f}"]


def main() -> None:
    head = ["instance", "size", "ms a sample", "new graph / ours", "one graph / ours", "two threads", "two processes"]
    kinds, beside = ("posterior", "prior"), SamplingProcess()
    rows = [speed(kind, side, 100 if side == 50 else 20, beside) for kind in kinds for side in (50, 256)]
    table([head, *rows])
    print()
    head = ["instance", "size", "samples saved, times", "point, in samples", "seconds saved at 100, times"]
    table([head, *(variance(kind, 50) for kind in kinds)])
    print()
    head = ["instance", "size", "ms a sample", "ms a sample and 1,000 pixels"]
    table([head, *(growth(kind, side) for kind in kinds for side in (50, 100, 200, 400, 800))])


if __name__ == "__main__":
    main()
