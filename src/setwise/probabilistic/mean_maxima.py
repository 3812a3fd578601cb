"""Mean maxima of perturbed scores over the labelings of batches, and the mean phi of the labelings that attain them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.inference import Maximizer
from setwise.core.networks import Graphs
from setwise.core.pages import LIKELIHOOD
from setwise.core.structure import Structure
from setwise.inference.auto import Auto
from setwise.inference.max_flow import MaxFlow, Wires, attracting, wirings
from setwise.kernels.max_flow import new_forest
from setwise.kernels.sampling import perturbed_cuts
from setwise.kernels.threads import map_units
from setwise.probabilistic.energies import Energies
from setwise.probabilistic.functions import Modular
from setwise.probabilistic.noise import noise_of
from setwise.probabilistic.wiring import Wiring, wiring_of

CHUNK = 8
"""Samples of a set that a thread draws at a time."""


class Source(NamedTuple):
    """Where noise comes from: its kind, the seed, the number of each set there, and how many samples a set has.

    Noise is a function of (seed, set, sample), and samples come in pairs of opposite noise.
    """

    kind: int
    seed: np.uint64
    units: Ints
    samples: int

    def of(self, i: int, size: int) -> Values:
        """The noise of set ``i``, (samples, size)."""
        return noise_of(self.kind, self.seed, int(self.units[i]), 0, self.samples, size, True)


class Means(NamedTuple):
    """Means over samples: of the maxima, (n,), of upper bounds of them, and of phi, (n_scores,); and what is exact."""

    values: Values
    upper: Values
    phi: Values
    exact: Bools


class MeanMaxima(ABC):
    """``max_y <z, y> + <s, phi(y)>`` for the sets of a batch and noise z on the scores of its decisions."""

    batch: Any

    @abstractmethod
    def means(self, scores: Floats, source: Source, tol: Values) -> Means:
        """The means over the samples of a source."""

    @abstractmethod
    def take(self, parts: Ints) -> "MeanMaxima":
        """Those of the chosen sets."""


def mean_maxima_of(batch: Batch) -> MeanMaxima:
    """By cuts for ``Graphs`` and ``Energies``; for other binary decisions by the inference that ``Auto`` takes."""
    if isinstance(batch, Energies):
        return _OfEnergies(batch, {})
    unary = batch.unary
    if not batch.binary or unary is None or (unary[:, 0] >= 0).any():
        kind = type(batch).__name__
        raise Refusal(
            f"The likelihood refuses {kind}: noise is added to one score of each binary decision.", LIKELIHOOD
        )
    maximizer = Auto().prepare(Structure(batch))
    if isinstance(batch, Graphs) and isinstance(maximizer.method, MaxFlow):
        wires = [wirings(batch.take(np.array([i])), int(batch.sizes[i])) for i in range(len(batch))]
        if all(len(own) == 1 for own in wires):
            return _OfGraphs(batch, [own for (own,) in wires])
    return _ByInference(maximizer)


class _BySamples(MeanMaxima):
    """The samples of a set are independent, and threads share them."""

    def means(self, scores: Floats, source: Source, tol: Values) -> Means:
        runs = [
            (i, a, b)
            for i in range(len(self.batch))
            for a, b in pairwise([*range(0, source.samples, CHUNK), source.samples])
        ]
        found = map_units(lambda run: self._run(scores.astype(np.float64, copy=False), source, *run), runs)
        values, phi = np.zeros(len(self.batch)), np.zeros(self.batch.n_scores)
        for (i, _, _), (value, sums) in zip(runs, found, strict=True):
            values[i] += value
            phi[self.batch.score_offsets[i] : self.batch.score_offsets[i + 1]] += sums
        values, phi = values / source.samples, phi / source.samples
        return Means(values, values, phi, np.ones(len(values), dtype=bool))

    @abstractmethod
    def _run(self, scores: Values, source: Source, i: int, first: int, last: int) -> tuple[float, Values]:
        """The sums over some samples of a set: of the maxima, and of phi."""


@final
class _OfGraphs(_BySamples):
    """By minimum cuts inside one kernel, for graphs each of which is one network."""

    def __init__(self, batch: Graphs, wires: Sequence[Wires]) -> None:
        self.batch, self._wires = batch, wires

    def take(self, parts: Ints) -> "_OfGraphs":
        return _OfGraphs(self.batch.take(parts), [self._wires[i] for i in parts])

    def _run(self, scores: Values, source: Source, i: int, first: int, last: int) -> tuple[float, Values]:
        p, wires = int(self.batch.sizes[i]), self._wires[i]
        own = scores[self.batch.score_offsets[i] : self.batch.score_offsets[i + 1]]
        unary, edges = own[:p], attracting(own, own[p:])
        forest = new_forest(wires.network, p)
        # Each arc has the number of its edge, from 1 on.
        owners, capacities = np.zeros(len(forest.capacities)), np.zeros(len(forest.capacities))
        wires.place(np.arange(1, len(edges) + 1, dtype=np.float64), owners)
        wires.place(edges, capacities)
        values, ones, apart = np.empty(last - first), np.zeros(p, np.int64), np.zeros(len(capacities), np.int64)
        perturbed_cuts(
            wires.network, forest, capacities, unary, np.zeros((0, p)), source.kind, source.seed, source.units[i],
            first, True, np.zeros(p), values, np.empty(last - first), ones, apart,
        )  # fmt: skip
        differ = np.bincount(owners.astype(np.int64), apart, len(edges) + 1)[1:]
        # Cuts count what edges lose.
        return float(values.sum() + (last - first) * edges.sum()), np.concatenate([ones, last - first - differ])


@final
class _OfEnergies(_BySamples):
    """By minimum cuts inside one kernel, or by the exact minimizers of set functions."""

    def __init__(self, batch: Energies, wirings: dict[tuple[int, ...], Wiring | None]) -> None:
        self.batch, self._wirings = batch, wirings
        self._keys = []
        for each, p in zip(batch.terms, batch.sizes.tolist(), strict=True):
            # Sets of the same cuts share one network; what is modular differs, and has no arcs.
            key = (p, *(0 if isinstance(one, Modular) else id(one) for one in each))
            self._keys.append(key)
            if key not in wirings:
                wirings[key] = wiring_of(each, p)

    def take(self, parts: Ints) -> "_OfEnergies":
        return _OfEnergies(self.batch.take(parts), self._wirings)

    def _run(self, scores: Values, source: Source, i: int, first: int, last: int) -> tuple[float, Values]:
        model, wiring, p = self.batch.model(i, scores), self._wirings[self._keys[i]], int(self.batch.sizes[i])
        if wiring is None:
            found = [model.minimizer(model.scores + z) for z in source.of(i, p)[first:last]]
            rows = np.array([one.labels for one in found])
            return -sum(one.value for one in found), _phi(rows.sum(axis=0), model.base_values(rows).sum(axis=0))
        forest, count = new_forest(wiring.network, p), last - first
        values, ones, apart = np.empty(count), np.zeros(p, np.int64), np.zeros(len(forest.capacities), np.int64)
        perturbed_cuts(
            wiring.network, forest, model.weights @ wiring.capacities, model.scores, np.zeros((0, p)), source.kind,
            source.seed, source.units[i], first, True, np.zeros(p), values, np.empty(count), ones, apart,
        )  # fmt: skip
        functions = wiring.capacities @ apart
        for k, one in enumerate(model.terms):
            if isinstance(one, Modular):
                functions[k] = one.slopes @ ones
        return float(values.sum()), _phi(ones, functions)


def _phi(ones: Any, functions: Any) -> Values:
    return np.concatenate([ones, -functions])


@final
class _ByInference(MeanMaxima):
    """By the maximization of the score alone."""

    def __init__(self, maximizer: Maximizer) -> None:
        self._maximizer, self.batch = maximizer, maximizer.structure.batch

    def means(self, scores: Floats, source: Source, tol: Values) -> Means:
        batch, places, sizes = self.batch, self.batch.unary[:, 1], self.batch.sizes.tolist()
        noise = np.concatenate([source.of(i, size) for i, size in enumerate(sizes)], axis=1)
        values, upper = np.zeros(len(batch)), np.zeros(len(batch))
        phi, exact = np.zeros(batch.n_scores), np.ones(len(batch), dtype=bool)
        for z in noise:
            moved = scores.astype(np.float64)
            moved[places] += z
            found = self._maximizer.solve(moved, tol)
            # Values of maximizers are relative to the target.
            base = batch.at_target(moved)
            values, upper, exact = values + found.values + base, upper + found.bounds + base, exact & found.exact
            phi += batch.encode(found.labels)
        count = source.samples
        return Means(values / count, upper / count, phi / count, exact)

    def take(self, parts: Ints) -> "_ByInference":
        return _ByInference(self._maximizer.take(parts))
