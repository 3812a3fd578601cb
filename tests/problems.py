"""Small random and nasty problems for tests."""

import numpy as np
from hypothesis import strategies as st

from setwise.losses import (
    Capped,
    Cardinality,
    EarlyDetection,
    Hamming,
    Jaccard,
    Saturating,
    SetFunctionLoss,
    Trait,
    ZeroOne,
)


@st.composite
def truths_and_scores(draw, max_p=6, dtypes=("f8", "f4")):
    """(y, scores, rng): labels from none to all positive, scores with ties, zeros, tiny and huge values."""
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


def submodular_losses(p, rng):
    """One instance of every submodular loss, for sets of p decisions."""
    return [
        Hamming(),
        Hamming(rng.random(p)),
        ZeroOne(),
        Jaccard(),
        Jaccard("fraction"),
        Jaccard("ignore"),
        EarlyDetection(),
        EarlyDetection(rng.random(p)),
        Capped(rng.random(p), 0.7),
        Saturating(),
        Saturating(0.5, rng.random(p)),
        Cardinality(np.sqrt(np.arange(p + 1))),
        Cardinality(np.arange(p + 1.0) * (p - 0.8 * np.arange(p + 1))),
        Hamming() + 2 * Jaccard(),
        0.5 * (Capped(rng.random(p), 0.7) + ZeroOne()),
        SetFunctionLoss(lambda _, wrong: min(1.0, 0.6 * wrong.sum()), (Trait.SUBMODULAR, Trait.INCREASING)),
    ]


def other_losses(p, rng):
    """Losses that are not submodular: supermodular ones and one of no shape at all."""
    pairs = rng.random((p, p)) * 0.3
    quadratic = SetFunctionLoss(
        lambda _, wrong: float(wrong @ pairs @ wrong), (Trait.SUPERMODULAR, Trait.INCREASING, Trait.LABEL_FREE)
    )
    return [
        Cardinality(np.arange(p + 1.0) ** 2 / p),
        quadratic,
        Hamming(rng.random(p)) + quadratic,
        Cardinality(rng.random(p + 1)),
        SetFunctionLoss(lambda y, wrong: float((wrong & y).any() and not wrong.all())),
    ]
