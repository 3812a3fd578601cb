"""Losses, problems and slow twins for tests. Losses come from their own examples: a new file brings its cases along."""

from functools import cache

import numpy as np
from hypothesis import strategies as st

from rounds import rounds
from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.counts import Counts
from setwise.core.terms import Trait
from setwise.losses import LOSSES, MCC, Cardinality, CountFunctionLoss, EarlyDetection, FBeta, Hamming, Jaccard, ZeroOne


def weights(p):
    """Weights with ties and zeros."""
    return np.random.default_rng(p).integers(0, 9, p) / 4


def waves(fn, fp, P, N):
    """A function of counts without any shape."""
    return np.abs(np.sin(3.1 * fn + fp**2)) + 0.0 * (P + N)


def composites(p):
    """What is made of losses is a loss too."""
    count = Jaccard() + 0.5 * ZeroOne()
    timely = 3 * (EarlyDetection() + Hamming())
    mixed = MCC() + (CountFunctionLoss(waves) + Hamming())
    bent = Hamming(weights(p)) + Cardinality(np.arange(p + 1.0) ** 2)
    return [count, 0.1 * count, timely, 2.0 * Hamming(weights(p)), mixed, bent, 7 * FBeta(0.5), Jaccard() + FBeta()]


def examples(p, reads="labels"):
    """Every example of every loss that reads labels, scores or classes, for sets of p decisions."""
    return [loss for kind in LOSSES.values() for loss in kind.examples(p) if loss.reads == reads]


@cache
def every_loss(p):
    """The losses of labels, and what is made of them."""
    return examples(p) + composites(p)


@cache
def submodular_losses(p):
    """Those that are submodular for every ground truth, as far as they promise."""
    return [loss for loss in every_loss(p) if Trait.SUBMODULAR in loss.traits]


def counts_of(loss, y):
    """The loss bound to one truth as a function of counts, None where it is none."""
    return loss.bind(Sets.single(y)).counts


@cache
def count_losses(p):
    """Losses that are functions of counts, those with a given number of predicted positives among them."""
    y = np.arange(p) % 2
    taken = [loss for loss in examples(p, "scores") if fits(loss, p) and isinstance(counts_of(loss, y), Counts)]
    both = [loss for loss in every_loss(p) + taken if counts_of(loss, y) is not None]
    return [loss for loss in both if counts_of(loss, y).areas is None]


def fits(loss, p):
    """Whether sets of p decisions have the predicted positives that the loss asks for."""
    return p >= (getattr(loss, "k", 0) or 0)


def in_turn(kinds, turn, share=3):
    """About one in ``share`` kinds, others in each turn; with ``SETWISE_LONG=1`` all of them."""
    share = rounds(1, share)
    return kinds[turn % share :: share]


KINDS = ("normal", "small", "zero", "ties", "one value", "in question", "vertices", "huge", "tiny", "some huge")


def problem(rng, p, kind, dtype):
    """Labels, from none to all positive, and scores of a kind."""
    y = rng.random(p) < rng.choice([0.0, 0.3, 0.5, 0.8, 1.0])
    sign, normal = np.where(y, 1.0, -1.0), rng.standard_normal(p)
    huge = 1e290 if dtype == np.float64 else 1e30
    scores = {
        "normal": normal,
        "small": 0.1 * normal,
        "zero": np.zeros(p),
        "ties": np.round(normal),
        "one value": sign / 4,
        "in question": sign * rng.random(p) / p,
        "vertices": sign * rng.integers(0, 2, p),
        "huge": huge * normal,
        "tiny": normal / huge,
        "some huge": np.where(rng.random(p) < 0.3, huge * normal, normal),
    }[kind]
    return y, scores.astype(dtype)


@st.composite
def truths_and_scores(draw, max_p=6, dtypes=("f8", "f4")):
    """(y, scores, rng): labels from none to all positive, scores with ties, zeros, tiny and large values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = draw(st.integers(1, max_p))
    y = rng.random(p) < draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))
    kind = draw(st.sampled_from(["normal", "zero", "ties", "vertices", "tiny", "large"]))
    scores = {
        "normal": rng.standard_normal(p),
        "zero": np.zeros(p),
        "ties": rng.integers(-1, 2, p) * 0.5,
        "vertices": np.where(y, 1.0, -1.0) * rng.integers(0, 2, p),
        "tiny": rng.standard_normal(p) * 1e-9,
        "large": rng.standard_normal(p) * 1e4,
    }[kind]
    return y, scores.astype(draw(st.sampled_from(dtypes))), rng


def objectives(loss, y, scores, slack=False):
    """Loss and score of every set of mistakes relative to the truth, (2^p,), rows as ``brute.subsets``."""
    values, won = brute.table(loss, y), -(brute.subsets(len(y)) @ brute.margins(y, scores))
    if not slack:
        return values + won
    return np.where(values > -np.inf, np.where(values > -np.inf, values, 0.0) * (1.0 + won), -np.inf)


def close(found, truth, scores):
    """Equal up to the rounding of sums of the scores; -inf equals -inf."""
    size = 1.0 + np.abs(np.asarray(scores, dtype=np.float64)).sum()
    with np.errstate(invalid="ignore"):
        return np.all((found == truth) | (np.abs(found - truth) <= 1e-11 * size + 1e-12 * np.abs(truth)))


def table(loss, y, scores):
    """Loss (P+1, N+1), -inf where not allowed, and the sums of the fn and fp smallest margins."""
    counts = counts_of(loss, y)
    P, N = int(np.sum(y)), int(np.sum(~y))
    fn, fp = np.arange(P + 1.0)[:, None], np.arange(N + 1.0)
    values = np.broadcast_to(counts.of(fn, fp, 0), (P + 1, N + 1))
    if counts.predicted is not None:
        values = np.where(P - fn + fp == counts.predicted[0], values, -np.inf)
    m = brute.margins(y, scores)
    return values, *(np.concatenate(([0.0], np.cumsum(np.sort(m[side])))) for side in (y, ~y))


def slow_maximum(loss, y, scores, slack):
    """The maximum over all cells (Joachims 2005, DD Alg. 1)."""
    values, paid, charged = table(loss, y, scores)
    won = -(paid[:, None] + charged)
    with np.errstate(invalid="ignore"):
        return np.max(np.where(values > -np.inf, values * (1.0 + won) if slack else values + won, -np.inf))


def slow_marginals(loss, y, scores):
    """Max-marginals (p, 2) by a table for each decision and value."""
    out = np.empty((len(y), 2))
    m, s = brute.margins(y, scores), np.asarray(scores, dtype=np.float64)
    values = table(loss, y, scores)[0]
    for i in range(len(y)):
        for wrong in (False, True):
            rest = np.arange(len(y)) != i
            paid, charged = (np.concatenate(([0.0], np.cumsum(np.sort(m[rest & side])))) for side in (y, ~y))
            shift = (int(wrong and y[i]), int(wrong and not y[i]))
            part = values[shift[0] : shift[0] + len(paid), shift[1] : shift[1] + len(charged)]
            out[i, int(y[i] != wrong)] = np.max(part - paid[:, None] - charged) - wrong * m[i] + s @ y
    return out
