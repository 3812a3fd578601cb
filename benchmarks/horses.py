"""Networks trained on horses for Jaccard, for wrong pixels and for 0-1, beside a tuned threshold: ``python`` this file.

The protocol was written before the first result.

*Data.* The Weizmann horses at 50 x 50 pixels, in the folder ``weizmann_horses`` of SETWISE_DATA. Split 0 is the stored
one of 200 images for training and 119 for testing; splits 1 to 4 divide the same 319 images at random, with these
numbers as seeds. Features are those of ``from_image``; the pairwise models have edges between 4 neighbors with a
constant and the contrast, the others have none.

*Models.* Logistic regression of pixels with the bias of least Jaccard loss on its training images; margin rescaling of
the Jaccard loss, of wrong pixels and of 0-1, each image a set; the ramp of the Jaccard loss from logistic regression.

*C.* Each model is fitted to the first 150 training images of split 0 for each C of a grid of four (five numbers of
scikit-learn for logistic regression); the C with the best mean Jaccard index on the other 50 is used for all splits.
For margin rescaling of Jaccard C x 10 is fitted too.

*Printed.* The mean over the splits, with its standard error, of the Jaccard index on test images, mean over the images;
the same with the bias that is best on the training images, for all models; the index of all pixels together; the share
predicted positive beside the true one; the largest certified relative gap, and the largest objective over C; the mean
seconds of a fit, by the clock and of all threads together, on the threads given: ``python benchmarks/horses.py
[THREADS] [SPLITS]``.
"""

import os
import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from setwise import GraphClassifier
from setwise.core.batch import Sets
from setwise.core.networks import Graphs
from setwise.datasets import load_horses
from setwise.decisions import best_threshold
from setwise.graphs import Graph, from_image
from setwise.inference.cuts import flips
from setwise.losses import Jaccard
from setwise.models import GraphModel
from timing import table

SIDE, TRAIN, HELD = 50, 200, 50


@dataclass(frozen=True)
class TrainingSetup:
    """A way of training: the loss, the surrogate, whether there are edges, and the values of C that are tried."""

    loss: str
    surrogate: str
    edges: bool
    grid: tuple[float, ...]


MARGIN, RAMP = (30.0, 300.0, 3000.0, 30000.0), (1e2, 1e3, 1e4, 1e5)
WAYS = {
    "Jaccard, margin, edges": TrainingSetup("jaccard", "margin", True, MARGIN),
    "Jaccard, ramp, edges": TrainingSetup("jaccard", "ramp", True, RAMP),
    "wrong pixels, edges": TrainingSetup("error_rate", "margin", True, MARGIN),
    "0-1, edges": TrainingSetup("zero_one", "margin", True, MARGIN),
    "Jaccard, margin, alone": TrainingSetup("jaccard", "margin", False, MARGIN),
    "Jaccard, ramp, alone": TrainingSetup("jaccard", "ramp", False, RAMP),
}
LOGISTIC = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True)
class Horses:
    """Some images: their graphs with and without edges, and the labels of their pixels."""

    graphs: tuple[Graph, ...]
    alone: tuple[Graph, ...]
    labels: tuple[np.ndarray, ...]

    def take(self, at) -> "Horses":
        """The images at the places ``at``."""
        return Horses(*(tuple(all_of[i] for i in at) for all_of in (self.graphs, self.alone, self.labels)))


def read() -> tuple[Horses, np.ndarray]:
    """All images, and the 319 numbers of the stored split, those for training first."""
    folder = os.path.join(os.environ["SETWISE_DATA"], "weizmann_horses")
    found = load_horses(folder, SIDE)
    graphs = tuple(from_image(image) for image in found.images)
    with np.load(os.path.join(folder, "masks.npz"), allow_pickle=False) as data:
        stored = data["names"][np.concatenate([data["seg_train"], data["seg_test"]]).astype(int)]
    order = np.array([found.names.index(str(name)) for name in stored])
    alone = tuple(Graph(graph.X, []) for graph in graphs)
    return Horses(graphs, alone, tuple(one.ravel().astype(np.int64) for one in found.labels)), order


def split(horses: Horses, order: np.ndarray, seed: int) -> tuple[Horses, Horses]:
    """The training and the test images of a split."""
    order = order if seed == 0 else np.random.default_rng(seed).permutation(order)
    return horses.take(order[:TRAIN]), horses.take(order[TRAIN:])


def seconds() -> tuple[float, float]:
    """Now, by the clock and of all threads together."""
    return time.perf_counter(), time.process_time()


def since(begin: tuple[float, float]) -> dict[str, float]:
    """The seconds since then."""
    now = seconds()
    return {"seconds": now[0] - begin[0], "cpu": now[1] - begin[1]}


def flips_of(model: GraphClassifier, graphs, labels) -> tuple[Sets, np.ndarray]:
    """The images as sets, and the score of each pixel that its network turns at, so that biases are thresholds."""
    counts = np.concatenate([[0], np.cumsum([len(graph) for graph in graphs])])
    edges = np.concatenate([graph.edges + first for graph, first in zip(graphs, counts[:-1], strict=True)])
    batch = Graphs(np.concatenate(labels) == 1, counts, edges)
    X, Z = np.concatenate([graph.X for graph in graphs]), np.concatenate([graph.Z for graph in graphs])
    w = np.concatenate([model.coef_[0], model.intercept_, model.edge_coef_])
    return Sets(batch.labels, counts), -flips(batch, GraphModel(X, Z, batch).scores(w))


def jaccards(sets: Sets, positive: np.ndarray) -> tuple[float, float]:
    """The mean Jaccard index of the images, and that of all pixels together."""
    whole = Sets.single(sets.truth.astype(int))
    return tuple(1.0 - Jaccard().bind(one).values(positive).mean() for one in (sets, whole))


def row(train, test, C, fit=None) -> dict[str, float]:
    """What is printed, of pairs (sets, scores) of training and test images."""
    bias = best_threshold(*train, Jaccard()).threshold
    sets, scores = test
    index, whole = jaccards(sets, scores > 0)
    out = {"index": index, "tuned": jaccards(sets, scores >= bias)[0], "pooled": whole}
    out |= {"positive": float((scores > 0).mean()), "true": float(sets.truth.mean()), "C": C}
    return out | (fit or {})


def fitted(way: TrainingSetup, C: float, train: Horses, threads: int) -> tuple[GraphClassifier, dict[str, float]]:
    """The model, its certificates and its seconds."""
    model = GraphClassifier(way.loss, way.surrogate, C=C, tol=1e-2, max_iter=300, n_jobs=threads)
    begin = seconds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train.graphs if way.edges else train.alone, train.labels)
    return model, {"gap": model.duality_gap_, "objective": model.objective_ / C, **since(begin)}


def network_row(way: TrainingSetup, C: float, train: Horses, test: Horses, threads: int) -> dict[str, float]:
    model, end = fitted(way, C, train, threads)
    sides = [flips_of(model, one.graphs if way.edges else one.alone, one.labels) for one in (train, test)]
    return row(*sides, C, end)


def logistic_row(C: float, train: Horses, test: Horses) -> dict[str, float]:
    """Logistic regression, with the bias of least training loss."""
    begin = seconds()
    X, y = np.concatenate([graph.X for graph in train.alone]), np.concatenate(train.labels)
    scaler = StandardScaler().fit(X)
    model = LogisticRegression(C=C, max_iter=1000).fit(scaler.transform(X), y)
    end = since(begin)
    sides = []
    for one in (train, test):
        ends = np.concatenate([[0], np.cumsum([len(graph) for graph in one.alone])])
        scores = model.decision_function(scaler.transform(np.concatenate([graph.X for graph in one.alone])))
        sides.append((Sets(np.concatenate(one.labels) == 1, ends), scores))
    bias = best_threshold(*sides[0], Jaccard()).threshold
    return row(*((sets, scores - bias) for sets, scores in sides), C, end)


def chosen(make, grid, train: Horses) -> float:
    """The C of the best mean index on held-out images."""
    first, held = train.take(range(TRAIN - HELD)), train.take(range(TRAIN - HELD, TRAIN))
    found = {C: make(C, first, held)["index"] for C in grid}
    print("    held out:", ", ".join(f"C {C:g} {index:.3f}" for C, index in found.items()), flush=True)
    return max(found, key=found.__getitem__)


def line(name: str, rows: list[dict[str, float]]) -> tuple[str, ...]:
    """A line of the table."""

    def mean(key: str) -> str:
        values = [one[key] for one in rows]
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        return f"{np.mean(values):.3f} +- {error:.3f}"

    def most(key: str) -> str:
        return f"{max(one[key] for one in rows):.3g}" if key in rows[0] else ""

    shares = f"{np.mean([one['positive'] for one in rows]):.3f} / {np.mean([one['true'] for one in rows]):.3f}"
    spent = (f"{np.mean([one[key] for one in rows]):.0f}" for key in ("seconds", "cpu"))
    ends = (most("gap"), most("objective"), *spent)
    return (name, f"{rows[0]['C']:g}", mean("index"), mean("tuned"), mean("pooled"), shares, *ends)


HEAD = ("model", "C", "index", "bias tuned", "pooled", "positive / true", "gap", "objective / C", "s", "CPU s")


def main(threads: int, splits: int) -> None:
    horses, order = read()
    parts = [split(horses, order, seed) for seed in range(splits)]
    shown, found = [HEAD], {}
    ways = {"logistic regression, tuned": (logistic_row, LOGISTIC)}
    for name, way in WAYS.items():
        ways[name] = (lambda C, train, test, way=way: network_row(way, C, train, test, threads), way.grid)
    for name, (make, grid) in ways.items():
        print(name, flush=True)
        C = chosen(make, grid, parts[0][0])
        for more in (1.0, 10.0) if name == "Jaccard, margin, edges" else (1.0,):
            title = name if more == 1.0 else f"{name}, C x 10"
            found[title] = [make(more * C, *part) for part in parts]
            shown.append(line(title, found[title]))
            print("   ", *shown[-1], sep="  ", flush=True)
    print()
    table(shown)
    if splits > 1:
        print()
        for kind in ("margin", "ramp"):
            more, less = (
                np.array([one["index"] for one in found[f"Jaccard, {kind}, {e}"]]) for e in ("edges", "alone")
            )
            error = (more - less).std(ddof=1) / np.sqrt(splits)
            print(f"edges gain {(more - less).mean():+.3f} +- {error:.3f} over pixels alone, {kind}")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:]]
    main(*(numbers + [2, 5][len(numbers) :]))
