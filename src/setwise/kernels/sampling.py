"""Random draws: noise, cuts of perturbed scores, likelihood by stochastic gradients on them, and exact samples.

Each draw is noise, a minimum cut, and counts, in one loop; exact samples of labels that attract each other come by
coupling from the past (Propp and Wilson 1996). Noise is a function of its place (seed, set, sample, node), logistic or
Gaussian. Its bits are those of SplitMix64 (Steele, Lea and Flood 2014): a mixed counter, so any number can be had
without the others.
"""

from typing import Any, NamedTuple

import numpy as np

from setwise.kernels.cuts import cut
from setwise.kernels.jit import Array, bare, kernel
from setwise.kernels.max_flow import SOURCE, SearchForest
from setwise.kernels.networks import MASK, begin, end, head

LOGISTIC, GAUSSIAN = 0, 1
"""Kinds of noise: the logistic distribution, whose variance is pi^2 / 3, and the standard normal one."""

GAMMA, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

ONE, SHIFTS = np.uint64(1), (np.uint64(30), np.uint64(27), np.uint64(31))

TWO_PI = 2.0 * np.pi


@bare
def mix(bits: Any) -> Any:
    """The finalizer of SplitMix64, a bijection of 64 bits."""
    bits = (bits ^ (bits >> SHIFTS[0])) * FIRST
    bits = (bits ^ (bits >> SHIFTS[1])) * SECOND
    return bits ^ (bits >> SHIFTS[2])


@bare
def stream(seed: Any, unit: Any, sample: Any) -> Any:
    """Where the counter of a sample of a set begins."""
    key = mix(np.uint64(seed) + GAMMA)
    key = mix(key ^ mix(np.uint64(unit) * GAMMA + FIRST))
    return mix(key ^ mix(np.uint64(sample) * GAMMA + SECOND))


@bare
def uniform(key: Any, i: Any) -> float:
    """The i-th number of a stream, uniform in (0, 1): an odd multiple of 2^-54, so neither end occurs."""
    bits = mix(key + (np.uint64(i) + ONE) * GAMMA) >> np.uint64(11)
    return (np.float64(bits) + 0.5) * 2.0**-53


@bare
def draw(kind: int, key: Any, out: Array) -> None:
    """Writes the noise of the nodes of a stream, (p,)."""
    if kind == LOGISTIC:
        for i in range(len(out)):
            u = uniform(key, i)
            out[i] = np.log(u / (1.0 - u))
        return
    # Two numbers of Box and Muller (1958) from two uniform ones.
    for i in range(0, len(out), 2):
        radius, angle = np.sqrt(-2.0 * np.log(uniform(key, i))), TWO_PI * uniform(key, i + 1)
        out[i] = radius * np.cos(angle)
        if i + 1 < len(out):
            out[i + 1] = radius * np.sin(angle)


@kernel
def draws(kind: int, seed: Any, unit: Any, first: int, out: Array) -> None:
    """Writes the noise of the samples ``first``, ``first + 1``, .. of a set into the rows of ``out``, (samples, p)."""
    for k in range(len(out)):
        draw(kind, stream(seed, unit, first + k), out[k])


@kernel
def perturbed_cuts(
    network: Any,
    forest: SearchForest,
    capacities: Array,
    unary: Array,
    given: Array,
    kind: int,
    seed: Any,
    unit: Any,
    first: int,
    paired: bool,
    point: Array,
    values: Array,
    controls: Array,
    ones: Array,
    apart: Array,
) -> None:
    """The samples ``first``, ``first + 1``, .. of ``max_y <z + t, y> - cut(y)`` for noise z, each cut from nothing.

    Writes the values (samples,), and the controls ``sum_d max(z_d - point_d, 0)``. Adds to ``ones`` (n,) where a node
    has label 1, and to ``apart`` (arcs,) where an arc leads from label 1 to label 0; it may be empty. The noise is the
    rows of ``given`` (samples, n), or if there are none it depends on (seed, unit, sample) alone; where samples are
    paired, each odd one has the noise of the one before with the other sign.
    """
    n, drawn = len(unary), np.int64(-1)
    if len(given) > 0 and (len(given) != len(values) or given.shape[1] != n):
        raise ValueError("there is other noise than samples and nodes")
    noise, scores = np.empty(n), np.empty(n)
    for k in range(len(values)):
        sample, sign = np.int64(first + k), 1.0
        if len(given) > 0:
            noise[:] = given[k]
        else:
            if paired:
                sign = -1.0 if sample % 2 == 1 else 1.0
                sample //= 2
            if sample != drawn:
                draw(kind, stream(seed, unit, sample), noise)
                drawn = sample
        control = 0.0
        for i in range(n):
            z = sign * noise[i]
            scores[i] = z + unary[i]
            control += max(z - point[i], 0.0)
        cut(network, forest, capacities, scores)
        values[k], controls[k] = _count(network, forest, capacities, scores, ones, apart), control


@bare
def _count(network: Any, forest: SearchForest, capacities: Array, scores: Array, ones: Array, apart: Array) -> float:
    """The value of the labels of a cut, which are counted."""
    value = 0.0
    for i in range(len(scores)):
        at = i + network.pad
        if forest.trees[at] == SOURCE:
            ones[i] += 1
            value += scores[i]
            for arc in range(begin(network, at), end(network, at)):
                if forest.trees[head(network, at, arc) & MASK] != SOURCE:
                    value -= capacities[arc & MASK]
                    if len(apart) > 0:
                        apart[arc & MASK] += 1
    return value


MOST = 6
"""The most neighbors of nodes whose thresholds are tabled."""

SHIFT = np.uint64(11)


@bare
def _sweep(
    network: Any, weights: Array, unary: Array, gains: Array, table: Array, width: int, key: Any, low: Array,
    high: Array,
) -> int:  # fmt: skip
    """One Gibbs sweep of two chains over all labels in turn; returns by how many ones they differ.

    The table is that of the :func:`thresholds` of cuts whose nodes have at most ``width`` neighbors, or is empty.
    """
    if len(table) > 0:
        return _sweep_by_table(network, table, width, key, low, high)
    p, below, above = len(unary), 0, 0
    if len(gains) > 0:
        for i in range(p):
            below += low[i + network.pad]
            above += high[i + network.pad]
    apart = 0
    for i in range(p):
        at = i + network.pad
        first, last = unary[i], unary[i]
        for arc in range(begin(network, at), end(network, at)):
            j = head(network, at, arc) & MASK
            first += (2 * low[j] - 1) * weights[arc]
            last += (2 * high[j] - 1) * weights[arc]
        if len(gains) > 0:
            below -= low[at]
            above -= high[at]
            first -= gains[below]
            last -= gains[above]
        u = uniform(key, i)
        # Label 1 has the probability 1 / (1 + exp(-field)), which grows with each other label.
        level = np.log(u / (1.0 - u))
        low[at], high[at] = level < first, level < last
        below += low[at]
        above += high[at]
        apart += high[at] - low[at]
    return int(apart)


@kernel
def couple(
    network: Any, weights: Array, unary: Array, gains: Array, table: Array, width: int, seed: Any, unit: Any,
    start: int, budget: int, low: Array,
) -> int:  # fmt: skip
    """Writes labels that are drawn from ``exp(-f) / Z`` exactly; returns the sweeps from the start that proved it.

    Two chains begin ``start`` sweeps ago, at all zeros and at all ones, and take the same random numbers. A sweep keeps
    their order, and any other chain between them; where they meet, all chains have met, and the labels at present do
    not depend on where they began. If they do not, they begin twice as early, up to ``budget`` sweeps; then -1 is
    returned. The labels do not depend on ``start``. They are those of the nodes with pads, (p + 2 pad,).
    ``gains`` (p,) are those of a concave function of the number of ones, or empty. The table is that of the
    :func:`thresholds`, or is empty where there are none.
    """
    p, pad = len(unary), network.pad
    high = np.zeros(len(low), np.int8)
    while start <= budget:
        low[:] = 0
        high[pad : pad + p] = 1
        apart = p
        for back in range(start, 0, -1):
            apart = _sweep(network, weights, unary, gains, table, width, stream(seed, unit, back), low, high)
        if apart == 0:
            return start
        start *= 2
    return -1


@kernel
def thresholds(network: Any, weights: Array, unary: Array, width: int, table: Array) -> None:
    """Writes the probability of label 1 for all labels of the neighbors, (p << width,), in units of 2^-53.

    The labels of the neighbors are the bits of the index. What is written grows with each of them.
    """
    fields = np.empty(1 << width)
    for i in range(len(unary)):
        at, count = i + network.pad, 1
        fields[0] = unary[i]
        for arc in range(begin(network, at), end(network, at)):
            fields[0] -= weights[arc]
        for arc in range(begin(network, at), end(network, at)):
            for k in range(count):
                fields[count + k] = fields[k] + 2.0 * weights[arc]
            count *= 2
        for k in range(count):
            table[(i << width) + k] = np.int64(np.ceil(2.0**53 / (1.0 + np.exp(-fields[k])) - 0.5))
        # The exponential need not be monotone in its last digit.
        bit = 1
        while bit < count:
            for k in range(count):
                if k & bit:
                    table[(i << width) + k] = max(table[(i << width) + k], table[(i << width) + (k ^ bit)])
            bit *= 2


@bare
def _sweep_by_table(network: Any, table: Array, width: int, key: Any, low: Array, high: Array) -> int:
    """As :func:`_sweep`, by thresholds."""
    apart: Any = 0
    for i in range(len(table) >> width):
        at = i + network.pad
        below: Any = i << width
        above: Any = i << width
        for bit, arc in enumerate(range(begin(network, at), end(network, at))):
            j = head(network, at, arc) & MASK
            below |= np.int64(low[j]) << bit
            above |= np.int64(high[j]) << bit
        key += GAMMA
        u = np.int64(mix(key) >> SHIFT)
        low[at & MASK], high[at & MASK] = u < table[below & MASK], u < table[above & MASK]
        apart += np.int64(high[at & MASK]) - np.int64(low[at & MASK])
    return int(apart)


@kernel
def continued(
    network: Any, weights: Array, unary: Array, gains: Array, table: Array, width: int, seed: Any, unit: Any, gap: int,
    labels: Array,
) -> None:  # fmt: skip
    """Continues the first row of labels (n, p + 2 pad) by ``gap`` Gibbs sweeps from each row to the next."""
    for k in range(1, len(labels)):
        labels[k] = labels[k - 1]
        for step in range(gap):
            # Coupling has the streams from 1 on, of another unit.
            key = stream(seed, unit, (k - 1) * gap + step)
            _sweep(network, weights, unary, gains, table, width, key, labels[k], labels[k])


class LabelingData(NamedTuple):
    """What is known of n labelings of p nodes.

    Attributes
    ----------
    observed : (n, p) what the labels of nodes were seen as, -1 to 1; 0 for what was not seen
    labels : (n, p) their labels, or means of them; where labels are hidden, -1 for those that are not known
    functions : (n, K) the values of the base functions there, or means of them
    capacities : (K, arcs) those of the base functions
    """

    observed: Array
    labels: Array
    functions: Array
    capacities: Array


class State(NamedTuple):
    """Weights, their averages over all steps, and their sums of squared gradients, or numbers of steps.

    Attributes
    ----------
    unary : (3, p), or (3, 1) where all nodes have the same; observation : (3, 1), weights : (3, K)
    done : (1,) the number of steps that were made
    """

    unary: Array
    observation: Array
    weights: Array
    done: Array


class StepPlan(NamedTuple):
    """How the steps are made.

    Attributes
    ----------
    kind : the noise
    seed : of the noise
    hidden : whether labels are drawn, all but those that are known
    learned : whether the weight of the observations moves
    lengths : (3,) the lengths of the first steps of unary terms, observation and weights
    ridges : (2,) the regularizers of unary terms and weights, ``0.5 ridge |.|^2``
    adaptive : whether steps are divided by the root of the sum of squared gradients, or by that of their number
    """

    kind: int
    seed: Any
    hidden: bool
    learned: bool
    lengths: Array
    ridges: Array
    adaptive: bool


@kernel
def descend(
    network: Any, forest: SearchForest, data: LabelingData, plan: StepPlan, order: Array, first: int, state: State
) -> None:
    """Steps number ``first``, ``first + 1``, .. with the labelings ``order`` (steps,), in place.

    Step h draws ``z`` and finds ``y* = argmax <z + t + c q, y> - sum_k alpha_k f_k(y)``. The gradients are ``y* - y``
    for t, ``<q, y* - y>`` for c and ``f_k(y) - f_k(y*)`` for alpha. Each number moves by its length times its gradient
    over the root of the sum of the squares of its gradients so far (AdaGrad; Duchi, Hazan and Singer 2011), or over
    that of the number of steps so far (LSM 4.2), alpha and c not below 0. Where labels are hidden, ``y`` is drawn as
    ``y*`` is, its known labels being forced, and ``y*`` without the observation.
    """
    n, p, K = len(data.labels), data.labels.shape[1], len(data.capacities)
    # Where all nodes have the same unary weight, they all read the first one.
    stride = 0 if state.unary.shape[1] == 1 else 1
    noise, scores, capacities = np.empty(p), np.empty(p), np.empty(len(forest.capacities))
    found, known = np.empty(p), np.empty(p)
    functions, truth = np.empty(K), np.empty(K)
    if n == 0:
        raise ValueError("there are no labelings")
    for step in range(len(order)):
        i, h = order[step], first + step
        capacities[:] = 0.0
        for k in range(K):
            for a in range(len(capacities)):
                capacities[a] += state.weights[0, k] * data.capacities[k, a]
        c = state.observation[0, 0]
        if plan.hidden:
            draw(plan.kind, stream(plan.seed, 2 * i + 1, h), noise)
            for d in range(p):
                scores[d] = noise[d] + state.unary[0, d * stride] + c * data.observed[i, d]
            _force(network, capacities, data.labels[i], scores)
            cut(network, forest, capacities, scores)
            _read(network, forest, data.capacities, known, truth)
        else:
            known[:], truth[:] = data.labels[i], data.functions[i]
        draw(plan.kind, stream(plan.seed, 2 * i, h), noise)
        seen = 0.0 if plan.hidden else c
        for d in range(p):
            scores[d] = noise[d] + state.unary[0, d * stride] + seen * data.observed[i, d]
        cut(network, forest, capacities, scores)
        _read(network, forest, data.capacities, found, functions)
        move(data, plan, i, h, found, functions, known, truth, state)


@bare
def _force(network: Any, capacities: Array, labels: Array, scores: Array) -> None:
    """Scores that outweigh all arcs of a node, and its own score, for labels that are known."""
    for d in range(len(scores)):
        if labels[d] >= 0.0:
            force, at = abs(scores[d]) + 1.0, d + network.pad
            for arc in range(begin(network, at), end(network, at)):
                force += capacities[arc & MASK]
            scores[d] = force if labels[d] > 0.5 else -force


@bare
def _read(network: Any, forest: SearchForest, base: Array, labels: Array, functions: Array) -> None:
    """The labels of a cut, and the values of the base functions there."""
    functions[:] = 0.0
    for d in range(len(labels)):
        at = d + network.pad
        labels[d] = 1.0 if forest.trees[at] == SOURCE else 0.0
        if forest.trees[at] == SOURCE:
            for arc in range(begin(network, at), end(network, at)):
                if forest.trees[head(network, at, arc) & MASK] != SOURCE:
                    for k in range(len(functions)):
                        functions[k] += base[k, arc & MASK]


@bare
def move(
    data: LabelingData,
    plan: StepPlan,
    i: int,
    h: int,
    found: Array,
    functions: Array,
    known: Array,
    truth: Array,
    state: State,
) -> None:
    """Step number ``h``, on labeling ``i``, in place, for a maximum with labels ``found`` (p,) and ``functions`` (K,).

    They are compared with ``known`` (p,) and ``truth`` (K,).
    """
    p, c, width = len(found), state.observation[0, 0], state.unary.shape[1]
    mean, slope = 0.0, 0.0
    for d in range(p):
        away = found[d] - known[d]
        mean += away
        q = data.observed[i, d]
        if plan.hidden:
            # Of log p(observed) = A(t + c q) - A(t) - sum over what was seen as 1 of c - log(1 + exp(-c)).
            slope -= q * known[d]
            if q > 0.0:
                slope += q
            slope -= abs(q) / (1.0 + np.exp(c * abs(q)))
        else:
            slope += q * away
    for d in range(width):
        g = (found[d] - known[d] if width > 1 else mean) + plan.ridges[0] * state.unary[0, d]
        _step(state.unary, d, g, plan.lengths[0], plan.adaptive, h, -np.inf)
    if plan.learned:
        _step(state.observation, np.int64(0), slope, plan.lengths[1], plan.adaptive, h, 0.0)
    for k in range(len(functions)):
        g = truth[k] - functions[k] + plan.ridges[1] * state.weights[0, k]
        _step(state.weights, k, g, plan.lengths[2], plan.adaptive, h, 0.0)
    state.done[0] = h + 1


@bare
def _step(rows: Array, at: int, gradient: float, length: float, adaptive: bool, h: int, least: float) -> None:
    """One step of one number, and of its average over steps, of which later ones weigh more: step h weighs h + 1."""
    rows[2, at] += gradient * gradient if adaptive else 1.0
    # Before the first gradient that is not 0 there is nothing to divide by, and no step to make.
    if rows[2, at] > 0.0:
        rows[0, at] = max(rows[0, at] - length * gradient / np.sqrt(rows[2, at]), least)
    rows[1, at] += 2.0 / (h + 2.0) * (rows[0, at] - rows[1, at])
