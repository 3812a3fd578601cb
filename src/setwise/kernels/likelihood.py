"""Stochastic gradient descent on perturbed likelihoods of cuts: each step is noise, a cut, and counts, in one loop."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.cuts import cut
from setwise.kernels.jit import bare, kernel
from setwise.kernels.networks import MASK, begin, end, head
from setwise.kernels.noise import draw, stream
from setwise.kernels.search_trees import SOURCE, Forest

Array = NDArray[Any]


class Data(NamedTuple):
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


class Plan(NamedTuple):
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
def descend(network: Any, forest: Forest, data: Data, plan: Plan, order: Array, first: int, state: State) -> None:
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
        for a in range(len(capacities)):
            capacities[a] = 0.0
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
            for d in range(p):
                known[d] = data.labels[i, d]
            for k in range(K):
                truth[k] = data.functions[i, k]
        draw(plan.kind, stream(plan.seed, 2 * i, h), noise)
        seen = 0.0 if plan.hidden else c
        for d in range(p):
            scores[d] = noise[d] + state.unary[0, d * stride] + seen * data.observed[i, d]
        cut(network, forest, capacities, scores)
        _read(network, forest, data.capacities, found, functions)
        _move(data, plan, i, h, found, functions, known, truth, state)


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
def _read(network: Any, forest: Forest, base: Array, labels: Array, functions: Array) -> None:
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
def _move(
    data: Data, plan: Plan, i: int, h: int, found: Array, functions: Array, known: Array, truth: Array, state: State
) -> None:
    """One step of all weights."""
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


@kernel
def move(
    data: Data, plan: Plan, i: int, h: int, found: Array, functions: Array, known: Array, truth: Array, state: State
) -> None:
    """Step number ``h``, on labeling ``i``, in place, for a maximum with labels ``found`` (p,) and ``functions`` (K,).

    They are compared with ``known`` (p,) and ``truth`` (K,).
    """
    _move(data, plan, i, h, found, functions, known, truth, state)


@bare
def _step(rows: Array, at: int, gradient: float, length: float, adaptive: bool, h: int, least: float) -> None:
    """One step of one number, and of its average over steps, of which later ones weigh more: step h weighs h + 1."""
    rows[2, at] += gradient * gradient if adaptive else 1.0
    if rows[2, at] > 0.0:
        rows[0, at] = max(rows[0, at] - length * gradient / np.sqrt(rows[2, at]), least)
    rows[1, at] += 2.0 / (h + 2.0) * (rows[0, at] - rows[1, at])
