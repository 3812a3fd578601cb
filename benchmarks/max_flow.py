"""Minimum cuts of lattices and lists of arcs against PyMaxflow, if it is installed: ``python benchmarks/max_flow.py``.

Scores are standard normal and capacities uniform in [0, 1], both directions alike ("potts"), or the image is two
halves of means -1 and 1 under noise of deviation 1.5 with capacities .5 ("image"). Each row is one thread; ratios are
seconds of PyMaxflow over ours, medians of turns. Building the peer's graph is not counted, for its cuts destroy it;
copying our capacities is. Warm rows change the scores of 1 % of the nodes, or of all by a little, and both reuse their
trees. The last lines are two cuts by two threads, and the peak memory of a cut of 2048 x 2048 nodes, by the kernel and
by ``MaxFlow`` on ``Graphs.images``.

Other solvers can be put beside: ``--peer PROGRAM`` names a program that is called with the path of a file and prints
one line "name seconds value" for each of its solvers. The file holds two int64, the numbers of nodes n and edges m;
int64 (m, 2), the ends of the edges; float64 (m,) the capacities there, and (m,) back; float64 (n,) the scores: those
above 0 are capacities from the source, those below 0, without the sign, to the sink. Values are of the flow, and may
differ by 1e-5 a node, for some solvers round capacities.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np

from setwise.core.bound_loss import BoundLoss
from setwise.core.networks import Graphs
from setwise.inference import MaxFlow
from setwise.kernels.cuts import cut, cut_losses, read_labels, recut
from setwise.kernels.max_flow import new_forest
from setwise.kernels.networks import SHIFTS, arcs, lattice
from timing import table

try:
    import maxflow
except ImportError:
    maxflow = None

ROUNDS = 7


class LatticeProblem:
    """A lattice with its capacities in our layout, and in that of the peer."""

    def __init__(self, kind: str, shape: tuple[int, ...], neighbors: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.shape, self.n, self.directions = shape, int(np.prod(shape)), SHIFTS[len(shape), neighbors]
        noise = rng.standard_normal(shape)
        half = np.where(np.arange(shape[-1]) < shape[-1] // 2, -1.0, 1.0)
        self.scores = (noise if kind == "potts" else half + 1.5 * noise).ravel()
        # The weight of a node's edge in a direction is 0 where the edge would leave the lattice.
        self.weights = []
        for direction in self.directions:
            weight = rng.random(shape) if kind == "potts" else np.full(shape, 0.5)
            for axis, step in enumerate(direction):
                edge = [slice(None)] * len(shape)
                edge[axis] = slice(-1, None) if step > 0 else slice(0, 1)
                if step:
                    weight[tuple(edge)] = 0.0
            self.weights.append(weight)

    def ours(self, listed: bool):
        """The layout, a forest and the capacities."""
        if listed:
            ends, weights = self.edges()
            layout, places = arcs(ends, self.n)
            forest = new_forest(layout, self.n)
            capacities = np.zeros(len(forest.capacities))
            capacities[places] = weights[:, None]
            return layout, forest, capacities
        layout = lattice(self.shape, 2 * len(self.directions))
        forest = new_forest(layout, self.n)
        capacities = np.zeros((len(forest.residues), len(layout.shifts)))
        for k, weight in enumerate(self.weights):
            there = np.arange(self.n) + layout.pad
            capacities[there, 2 * k] = weight.ravel()
            capacities[there + layout.shifts[2 * k], 2 * k + 1] = weight.ravel()
        return layout, forest, capacities.ravel()

    def edges(self):
        """The ends of the edges and their weights."""
        at, steps = np.arange(self.n), lattice(self.shape, 2 * len(self.directions)).shifts[::2]
        inside = [weight.ravel() > 0 for weight in self.weights]
        ends = [np.column_stack([at, at + step])[keep] for step, keep in zip(steps, inside, strict=True)]
        return np.concatenate(ends), np.concatenate([w.ravel()[k] for w, k in zip(self.weights, inside, strict=True)])

    def peer(self):
        """A graph of the peer."""
        graph = maxflow.GraphFloat(self.n, self.n * len(self.directions))
        nodes = graph.add_grid_nodes(self.shape)
        for direction, weight in zip(self.directions, self.weights, strict=True):
            structure = np.zeros((3,) * len(self.shape))
            structure[tuple(1 + np.array(direction))] = 1
            graph.add_grid_edges(nodes, weights=weight, structure=structure, symmetric=True)
        graph.add_grid_tedges(nodes, *(np.maximum(sign * self.scores, 0).reshape(self.shape) for sign in (1, -1)))
        return graph


def seconds(run) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def others(problem: LatticeProblem, program: str) -> dict[str, float]:
    """Seconds of the solvers of another program, which must find the same value."""
    (ends, weights), (layout, forest, capacities) = problem.edges(), problem.ours(True)
    cut(layout, forest, capacities, problem.scores)
    flow = np.maximum(problem.scores, 0.0).sum() - np.maximum(forest.residues, 0.0).sum()
    with tempfile.NamedTemporaryFile() as file:
        sizes = np.array([problem.n, len(ends)])
        for part in (sizes, ends.astype(np.int64), weights, weights, problem.scores):
            file.write(np.ascontiguousarray(part).tobytes())
        file.flush()
        lines = subprocess.run([program, file.name], capture_output=True, text=True, check=True).stdout.split("\n")
    found = {}
    for name, taken, value in (line.split() for line in lines if line):
        assert abs(float(value) - flow) < 1e-5 * problem.n, name
        found[name] = float(taken)
    return found


def cold(problem: LatticeProblem, listed: bool) -> tuple[float, float]:
    """Median seconds of ours and of the peer."""
    layout, forest, capacities = problem.ours(listed)
    cut(layout, forest, capacities, problem.scores)
    mine, theirs = [], []
    for _ in range(ROUNDS):
        mine.append(seconds(lambda: cut(layout, forest, capacities, problem.scores)))
        if maxflow:
            graph = problem.peer()
            theirs.append(seconds(graph.maxflow))
            value = np.maximum(problem.scores, 0).sum() - graph.maxflow()
            assert abs(np.maximum(forest.residues, 0).sum() - value) < 1e-6 * problem.n
    return median(mine), median(theirs) if theirs else np.nan


def warm(problem: LatticeProblem, share: float, size: float) -> tuple[float, float]:
    """Median seconds of ours and of the peer for a change of a share of the scores, by normal numbers of this size."""
    rng = np.random.default_rng(1)
    layout, forest, capacities = problem.ours(False)
    scores = problem.scores.copy()
    cut(layout, forest, capacities, scores)
    graph = problem.peer() if maxflow else None
    if graph:
        graph.maxflow()
    mine, theirs = [], []
    for _ in range(2 * ROUNDS + 1):
        at = np.flatnonzero(rng.random(problem.n) < share)
        step = size * rng.standard_normal(len(at))
        scores[at] += step
        mine.append(seconds(lambda at=at: recut(layout, forest, capacities, scores, at)))
        if graph:
            for i, change in zip(at.tolist(), step.tolist(), strict=True):
                graph.add_tedge(i, max(change, 0.0), max(-change, 0.0))
                graph.mark_node(i)
            theirs.append(seconds(lambda: graph.maxflow(reuse_trees=True)))
    # The first one compiles.
    return median(mine[1:]), median(theirs[1:]) if theirs else np.nan


def marginals(problem: LatticeProblem) -> tuple[float, float]:
    """Seconds of all max-marginals, and of one cut."""
    layout, forest, capacities = problem.ours(False)
    labels, out = np.zeros(problem.n, bool), np.zeros(problem.n)
    times = []
    for _ in range(3):
        cut(layout, forest, capacities, problem.scores)
        read_labels(layout, forest, labels)
        times.append(seconds(lambda: cut_losses(layout, forest, capacities, problem.scores, labels, out)))
    return min(times), seconds(lambda: cut(layout, forest, capacities, problem.scores))


def memory(neighbors: int) -> None:
    """Print the peak memory of a process that cuts 2048 x 2048 nodes once."""
    problem = LatticeProblem("potts", (2048, 2048), neighbors)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    layout, forest, capacities = problem.ours(False)
    cut(layout, forest, capacities, problem.scores)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"2048 x 2048, {neighbors} neighbors: peak {peak / 1e6:.2f} GB resident, {before / 1e6:.2f} GB of it before")


def public_memory(neighbors: int) -> None:
    """Print the peak memory of a process in which MaxFlow cuts an image of 2048 x 2048 pixels once."""
    rng = np.random.default_rng(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    graphs = Graphs.images([rng.random((2048, 2048)) < 0.5], neighbors)
    scores = rng.random(graphs.n_scores)
    scores[: graphs.total] = rng.standard_normal(graphs.total)
    assert MaxFlow().prepare(BoundLoss(graphs)).maximize(scores).exact.all()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"MaxFlow there, {neighbors} neighbors: peak {peak / 1e6:.2f} GB resident, {before / 1e6:.2f} GB of it before"
    )


def beside(program: str, cases: list[tuple[str, tuple[int, ...], int]]) -> None:
    """Print our time for new cuts beside those of another program."""
    rows = []
    for kind, shape, neighbors in cases:
        problem = LatticeProblem(kind, shape, neighbors)
        found, name = others(problem, program), f"{kind} {'x'.join(map(str, shape))}, {neighbors} neighbors"
        if not rows:
            rows.append(("instance", "layout", "ours, ms", *(f"{one} / ours" for one in found)))
        for listed in (False, True):
            mine = cold(problem, listed)[0]
            ratios = (f"{taken / mine:.2f}" for taken in found.values())
            rows.append((name, "arcs" if listed else "lattice", f"{1e3 * mine:.2f}", *ratios))
    table(rows)


def main(program: str | None) -> None:
    rows = [("instance", "layout", "ours, ms", "PyMaxflow / ours")]
    sizes = [(50, 50), (100, 100), (256, 256), (512, 512)]
    cases = [(kind, shape, 4) for kind in ("potts", "image") for shape in sizes]
    cases += [("potts", (256, 256), 8), ("image", (256, 256), 8), ("potts", (40, 40, 40), 6)]
    if program is not None:
        beside(program, cases)
        return
    for kind, shape, neighbors in cases:
        problem = LatticeProblem(kind, shape, neighbors)
        name = f"{kind} {'x'.join(map(str, shape))}, {neighbors} neighbors"
        for listed in (False, True):
            mine, peer = cold(problem, listed)
            rows.append((name, "arcs" if listed else "lattice", f"{1e3 * mine:.2f}", f"{peer / mine:.2f}"))
        if neighbors == 4:
            for share, size in ((0.01, 0.3), (1.0, 0.03)):
                mine, peer = warm(problem, share, size)
                words = f"{name}, {share:.0%} changed"
                rows.append((words, "lattice", f"{1e3 * mine:.3f}", f"{peer / mine:.2f}"))
    table(rows)
    every, one = marginals(LatticeProblem("potts", (100, 100), 4))
    print(f"max-marginals of 100 x 100 nodes: {1e3 * every:.1f} ms, as long as {every / one:.1f} cold cuts")
    problems = [LatticeProblem("potts", (256, 256), 4, seed) for seed in (0, 1)]
    states = [(*problem.ours(False), problem.scores) for problem in problems]
    alone = seconds(lambda: [cut(*state) for state in states for _ in range(5)])
    with ThreadPoolExecutor(2) as pool:
        both = seconds(lambda: list(pool.map(lambda state: [cut(*state) for _ in range(5)], states)))
    print(f"two graphs of 256 x 256 nodes, two threads: {alone / both:.2f} times as fast as one")
    for what in ("--memory", "--public-memory"):
        for neighbors in ("4", "8"):
            subprocess.run([sys.executable, __file__, what, neighbors], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="a program to put beside, in place of PyMaxflow")
    parser.add_argument("--memory", type=int, choices=(4, 8), help="print the peak memory of one cut")
    parser.add_argument("--public-memory", type=int, choices=(4, 8), help="the same by MaxFlow")
    given = parser.parse_args()
    if given.memory:
        memory(given.memory)
    elif given.public_memory:
        public_memory(given.public_memory)
    else:
        main(given.peer)
