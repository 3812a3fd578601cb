"""Bounds on second differences of losses of counts hold in all tables of counts, by enumeration."""

import numpy as np
import pytest

from cases import count_losses
from setwise.core.batch import Sets

SIZES = [(0, 6), (6, 0), (1, 1), (2, 5), (5, 2), (4, 4), (9, 7)]

LOSSES = {repr(loss): loss for loss in count_losses(6)}


def term_of(loss, P, N):
    """The loss as a function of counts of P positives and N negatives, None where it fits other sets."""
    try:
        return loss.bind(Sets.single(np.arange(P + N) < P)).counts
    except ValueError:
        return None


@pytest.mark.draw(5)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_no_difference_is_beyond_its_bound(loss):
    rng = np.random.default_rng(0)
    for P, N in SIZES:
        term = term_of(loss, P, N)
        if term is None or term.curvatures is None:
            continue
        fn, fp = np.meshgrid(np.arange(P + 1.0), np.arange(N + 1.0), indexing="ij")
        table = np.broadcast_to(term.of(fn, fp, 0), fn.shape)
        for _ in range(40):
            a, b = np.sort(rng.integers(0, P + 1, 2)), np.sort(rng.integers(0, N + 1, 2))
            bounds = term.curvature(tuple(a.astype(float)), tuple(b.astype(float)), 0)
            part = table[a[0] : a[1] + 1, b[0] : b[1] + 1]
            differences = np.diff(part, 2, axis=0), np.diff(part, 2, axis=1), -np.diff(np.diff(part, axis=0), axis=1)
            for seen, bound, sign in zip(differences, bounds, (1, 1, -1), strict=True):
                # A bound that is NaN says nothing.
                assert seen.size == 0 or not seen.min() < sign * float(np.ravel(bound)[0]) - 1e-12


def test_most_losses_tell_how_they_bend():
    told = [
        name
        for name, loss in LOSSES.items()
        if (term := term_of(loss, 2, 4)) is not None and term.curvatures is not None
    ]
    for name in ("Jaccard", "FBeta", "Tversky", "MCC", "GMean", "HMean", "KLD", "AE", "ErrorRate", "SaturatingLoss"):
        assert any(found.startswith(name) for found in told), name
