"""Batches of labelings whose scores are unary terms and the weights of base functions.

Mean maxima of perturbed scores over their labelings have as a gradient the mean phi of the labelings that attain them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_matrix, csr_matrix, issparse

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, as_truth, segments
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Floats, Ints, Values, as_kind, as_offsets, as_reals, shown
from setwise.core.exceptions import Refusal
from setwise.core.inference import Maximizer
from setwise.core.networks import Graphs
from setwise.core.pages import LIKELIHOOD
from setwise.inference.auto import Auto
from setwise.inference.max_flow import FlowNetwork, MaxFlow, attracting, wirings
from setwise.kernels.max_flow import arcs_of, new_forest
from setwise.kernels.sampling import perturbed_cuts
from setwise.kernels.threads import map_units
from setwise.probabilistic.base_functions import BaseFunction, CutNetwork, ModularFunction, as_rows, wiring_of
from setwise.probabilistic.log_supermodular_distribution import LogSupermodularDistribution
from setwise.probabilistic.perturbations import noise_of

Terms = tuple[BaseFunction, ...]

ROUNDING = 1e-12
"""Weights below 0 by this share of the largest one are taken for 0: sums of a start and of steps round so."""


class Design(NamedTuple):
    """The map from the weights ``[u | alpha]`` to the scores of a batch, and the least values of the weights, (d + K,).

    ``setwise.models.RowModel(rows, batch.score_offsets, intercept=0.0, lower=lower)`` is the model.
    """

    rows: csr_matrix
    lower: Values


@final
class Energies(Batch):
    """``n`` sets of binary decisions with the scores ``[t | alpha]`` and ``phi(y) = [y | -f_1(y) .. -f_K(y)]`` (LSM 4).

    The score of a labeling is ``<t, y> - sum_k alpha_k f_k(y) = -f(y)``, the logarithm of its probability but for a
    constant. Scores of base functions must be 0 or above.

    Parameters
    ----------
    terms : for each set the K base functions of its decisions, all sets with as many of them
    labels : (total,) bool, or int8 of 0 and 1, and -1 where a label is unknown
    offsets : (n + 1,) int64; set i owns the decisions ``offsets[i]:offsets[i + 1]``
    target : (n_scores,) what labelings are compared with; None takes phi of the labels. The mean of phi over many
        labelings makes one set of all of them. It is the user's word that it is such a mean

    Attributes
    ----------
    given : whether the target was given, so that unknown labels do not matter

    Raises
    ------
    TypeError : for terms that are no lists of base functions
    ValueError : for labels, offsets, sizes of functions and targets other than these
    Refusal : when used, for scores of base functions below 0

    Examples
    --------
    >>> from setwise.probabilistic import Cut, Energies
    >>> batch = Energies([[Cut.grid(1, 2)]], np.array([True, False]), np.array([0, 2]))
    >>> batch.target  # the two labels, and less one edge that is cut
    array([ 1.,  0., -1.])
    >>> batch.model(0, np.array([2.0, 0.5, 0.7])).weights  # of the scores: t is 2 and 0.5, and alpha is 0.7
    array([0.7])
    >>> Energies.joint([Cut.grid(1, 2)], [[1, 1], [1, 0]]).target  # the mean over two labelings
    array([ 1. ,  0.5, -0.5])
    """

    n_labels = 2
    """The number of labels of a decision: two."""

    def __init__(
        self, terms: Sequence[Sequence[BaseFunction]], labels: ArrayLike, offsets: Ints, target: Values | None = None
    ) -> None:
        self.labels: NDArray[Any] = as_truth(labels)
        self.offsets = as_offsets(offsets, len(self.labels))
        if isinstance(terms, str | bytes | BaseFunction) or not isinstance(terms, Iterable):
            raise TypeError(f"terms must be a list of base functions for each set; got {shown(terms)}.")
        self.terms: tuple[Terms, ...] = tuple(as_terms(each) for each in terms)
        if len(self.terms) != len(self) or len({len(each) for each in self.terms}) != 1:
            counts = sorted({len(each) for each in self.terms})
            raise ValueError(
                f"terms must be {len(self)} lists of equally many base functions; got {len(self.terms)} with {counts}."
            )
        for i, each in enumerate(self.terms):
            for one in each:
                if one.total != self.sizes[i]:
                    raise ValueError(f"terms must be functions of {self.sizes[i]} labels in set {i}; got {one.total}.")
        self.given = target is not None
        if target is not None:
            self.__dict__["target"] = as_reals(target, "target", (self.n_scores,))
            own = self.target[self.node_places]
            if own.size and (own.min() < 0.0 or own.max() > 1.0):
                raise ValueError(
                    f"target must hold means of labels, 0 to 1, at decisions; got {own.min():.4g} to {own.max():.4g}."
                )

    @classmethod
    def joint(cls, terms: Sequence[BaseFunction], rows: ArrayLike) -> "Energies":
        """One set whose target is the mean of phi over the rows (n, p): what the joint likelihood needs of them."""
        functions = as_terms(terms)
        Y = as_rows(rows, functions[0].total, "rows")
        if not len(Y):
            raise ValueError("rows must hold a labeling or more; got none.")
        target = np.concatenate([Y.mean(axis=0), [-float(one.values(Y).mean()) for one in functions]])
        p = functions[0].total
        return cls([functions], np.full(p, -1, np.int8), np.array([0, p]), target)

    @classmethod
    def hidden(cls, terms: Sequence[BaseFunction], observed: ArrayLike) -> "Energies":
        """Sets of unknown labels that were seen through noise: ``observed`` (n, p) is q, and c q adds to t (LSM 4.4).

        A label that was seen as 1 has a q above 0, one that was seen as 0 a q below 0, and one that was not seen 0. The
        weight c comes last among the weights of base functions: that of ``-<q, y>``. The target is 0.
        """
        functions, q = as_terms(terms), as_reals(observed, "observed")
        p = functions[0].total
        if q.ndim != 2 or q.shape[1] != p or not len(q):
            raise ValueError(f"observed must have shape (n, {p}), a row for each labeling; got shape {q.shape}.")
        each = [(*functions, ModularFunction(-row)) for row in q]
        n_scores = len(q) * (p + len(functions) + 1)
        return cls(each, np.full(q.size, -1, np.int8), np.arange(len(q) + 1) * p, np.zeros(n_scores))

    @property
    def n_terms(self) -> int:
        """K, the number of base functions of a set."""
        return len(self.terms[0])

    @cached_property
    def score_offsets(self) -> Ints:
        """Set ``i`` owns the scores ``score_offsets[i]:score_offsets[i+1]``, (n+1,)."""
        return self.offsets + self.n_terms * np.arange(len(self) + 1)

    @cached_property
    def node_places(self) -> Ints:
        """The position of the unary score of each decision, (total,)."""
        return np.arange(self.total) + self.n_terms * np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def unary(self) -> Ints:
        """The positions of the scores of decisions, (total, 2): they belong to label 1, and label 0 has none."""
        return np.column_stack([np.full(self.total, -1), self.node_places])

    @cached_property
    def term_places(self) -> Ints:
        """The positions of the scores of the base functions, (n, K)."""
        return self.score_offsets[1:, None] - self.n_terms + np.arange(self.n_terms)

    def encode(self, labels: NDArray[Any]) -> Values:
        positive: Bools = np.asarray(labels == 1)
        out = np.empty(self.n_scores)
        out[self.node_places] = positive
        for i, each in enumerate(self.terms):
            row = positive[None, self.offsets[i] : self.offsets[i + 1]]
            out[self.term_places[i]] = [-one.values(row)[0] for one in each]
        return out

    def take(self, parts: Ints) -> "Energies":
        at, scores = self.decisions(parts), segments(parts, self.score_offsets)
        ends = np.concatenate([[0], np.cumsum(self.sizes[parts])])
        return Energies([self.terms[i] for i in parts], self.labels[at], ends, self.target[scores])

    def design(self, X: Any) -> Design:
        """``t = X u`` for features X (total, d), dense or CSR, and one alpha for all sets, which is 0 or above."""
        given = X if issparse(X) else as_reals(X, "X")
        if given.ndim != 2 or given.shape[0] != self.total:
            raise ValueError(f"X must have {self.total} rows, one for each decision; got shape {given.shape}.")
        (d, K), cells = (given.shape[1], self.n_terms), coo_matrix(given)
        if not np.isfinite(cells.data).all():
            raise ValueError("X must be finite.")
        rows = np.concatenate([self.node_places[cells.row], self.term_places.ravel()])
        columns = np.concatenate([cells.col, d + np.tile(np.arange(K), len(self))])
        values = np.concatenate([cells.data, np.ones(len(self) * K)])
        shape = (self.n_scores, d + K)
        return Design(csr_matrix((values, (rows, columns)), shape), np.repeat([-np.inf, 0.0], [d, K]))

    def couplings(self, i: int, scores: Floats) -> Values:
        """Alpha of set ``i`` in the scores of the whole batch, (K,), without what rounding has taken off 0."""
        alpha = np.asarray(scores[self.term_places[i]], dtype=np.float64)
        slip = ROUNDING * float(np.abs(alpha).max(initial=0.0))
        if alpha.min() < -slip:
            raise Refusal(
                f"Energies refuse scores of base functions below 0; got {alpha.min():.4g}: f would not be submodular. "
                "Bound their weights by 0, as design(X) does.",
                LIKELIHOOD,
            )
        return np.maximum(alpha, 0.0)

    def model(self, i: int, scores: Floats) -> LogSupermodularDistribution:
        """The distribution of set ``i`` for the scores of the whole batch."""
        unary = scores[self.node_places[self.offsets[i] : self.offsets[i + 1]]]
        return LogSupermodularDistribution(self.terms[i], unary, self.couplings(i, scores))


def as_terms(terms: Any) -> Terms:
    """Check base functions of one set, one or more."""
    if isinstance(terms, BaseFunction) or not isinstance(terms, Iterable):
        raise TypeError(f"terms must be lists of base functions, such as [Cut.grid(5, 5)]; got {shown(terms)}.")
    found = tuple(as_kind(one, "terms", BaseFunction, "Cut.grid(5, 5)") for one in terms)
    if not found:
        raise ValueError("terms must hold a base function or more; got none.")
    return found


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

    def cuts(
        self, i: int, network: Any, capacities: Values, unary: Values, first: int, last: int
    ) -> tuple[float, Ints, Ints]:
        """Of some samples of set ``i``: the sum of the maxima, how often labels are 1, and how often arcs are cut."""
        p, values = len(unary), np.empty(last - first)
        ones, apart = np.zeros(p, np.int64), np.zeros(len(capacities), np.int64)
        perturbed_cuts(
            network, new_forest(network, p), capacities, unary, np.zeros((0, p)), self.kind, self.seed, self.units[i],
            first, True, np.zeros(p), values, np.empty(len(values)), ones, apart,
        )  # fmt: skip
        return float(values.sum()), ones, apart


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
        return _EnergyMaxima(batch, {})
    unary = batch.unary
    if not batch.binary or unary is None or (unary[:, 0] >= 0).any():
        kind = type(batch).__name__
        raise Refusal(
            f"The likelihood refuses {kind}: noise is added to one score of each binary decision.", LIKELIHOOD
        )
    maximizer = Auto().prepare(BoundLoss(batch))
    if isinstance(batch, Graphs) and isinstance(maximizer.method, MaxFlow):
        wires = [wirings(batch.take(np.array([i])), int(batch.sizes[i])) for i in range(len(batch))]
        if all(len(own) == 1 for own in wires):
            return _GraphMaxima(batch, [own for (own,) in wires])
    return _InferenceMaxima(maximizer)


class _SampleMaxima(MeanMaxima):
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
class _GraphMaxima(_SampleMaxima):
    """By minimum cuts inside one kernel, for graphs each of which is one network."""

    def __init__(self, batch: Graphs, wires: Sequence[FlowNetwork]) -> None:
        self.batch, self._wires = batch, wires

    def take(self, parts: Ints) -> "_GraphMaxima":
        return _GraphMaxima(self.batch.take(parts), [self._wires[i] for i in parts])

    def _run(self, scores: Values, source: Source, i: int, first: int, last: int) -> tuple[float, Values]:
        p, wires = int(self.batch.sizes[i]), self._wires[i]
        own = scores[self.batch.score_offsets[i] : self.batch.score_offsets[i + 1]]
        edges = attracting(own, own[p:])
        # Each arc has the number of its edge, from 1 on.
        owners, capacities = np.zeros((2, arcs_of(wires.network, p)))
        wires.place(np.arange(1, len(edges) + 1, dtype=np.float64), owners)
        wires.place(edges, capacities)
        value, ones, apart = source.cuts(i, wires.network, capacities, own[:p], first, last)
        differ = np.bincount(owners.astype(np.int64), apart, len(edges) + 1)[1:]
        # Cuts count what edges lose.
        return float(value + (last - first) * edges.sum()), np.concatenate([ones, last - first - differ])


@final
class _EnergyMaxima(_SampleMaxima):
    """By minimum cuts inside one kernel, or by the exact minimizers of set functions."""

    def __init__(self, batch: Energies, wirings: dict[tuple[int, ...], CutNetwork | None]) -> None:
        self.batch, self._wirings = batch, wirings
        self._keys = []
        for each, p in zip(batch.terms, batch.sizes.tolist(), strict=True):
            # Sets of the same cuts share one network; what is modular differs, and has no arcs.
            key = (p, *(0 if isinstance(one, ModularFunction) else id(one) for one in each))
            self._keys.append(key)
            if key not in wirings:
                wirings[key] = wiring_of(each, p)

    def take(self, parts: Ints) -> "_EnergyMaxima":
        return _EnergyMaxima(self.batch.take(parts), self._wirings)

    def _run(self, scores: Values, source: Source, i: int, first: int, last: int) -> tuple[float, Values]:
        model, wiring, p = self.batch.model(i, scores), self._wirings[self._keys[i]], int(self.batch.sizes[i])
        if wiring is None:
            found = [model.minimizer(model.scores + z) for z in source.of(i, p)[first:last]]
            rows = np.array([one.labels for one in found])
            ones, functions = rows.sum(axis=0), model.base_values(rows).sum(axis=0)
            return -sum(one.value for one in found), np.concatenate([ones, -functions])
        capacities = model.weights @ wiring.capacities
        value, ones, apart = source.cuts(i, wiring.network, capacities, model.scores, first, last)
        functions = wiring.capacities @ apart
        for k, one in enumerate(model.terms):
            if isinstance(one, ModularFunction):
                functions[k] = one.slopes @ ones
        return value, np.concatenate([ones, -functions])


@final
class _InferenceMaxima(MeanMaxima):
    """By the maximization of the score alone."""

    def __init__(self, maximizer: Maximizer) -> None:
        self._maximizer, self.batch = maximizer, maximizer.bound_loss.batch

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

    def take(self, parts: Ints) -> "_InferenceMaxima":
        return _InferenceMaxima(self._maximizer.take(parts))
