"""Sets divided into pieces, for tests, and what travels between them."""

import pickle

import numpy as np

from cases import KINDS, problem
from setwise.core.surrogate import Piece
from setwise.surrogates.pieces.bins import Leaves


def divided(rng, y, scores, n=None):
    """Pieces of a set, 1 to 8 of them: even or not, some empty, some of one class alone."""
    n = n or int(rng.integers(1, 9))
    order = rng.permutation(len(y))
    if rng.random() < 0.3:
        order = order[np.argsort(y[order], kind="stable")]
    cuts = np.sort(rng.integers(0, len(y) + 1, n - 1))
    return [Piece(scores[part], y[part]) for part in np.split(order, cuts)], np.split(order, cuts)


def problems(n, dtypes=(np.float64, np.float32), sizes=(1, 2, 3, 8, 40, 150), seed=0):
    """Random (rng, y, scores, pieces, places) with ties, zeros, huge and tiny scores."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        y, scores = problem(rng, int(rng.choice(sizes)), KINDS[i % len(KINDS)], dtypes[i // len(KINDS) % len(dtypes)])
        yield (rng, y, scores, *divided(rng, y, scores))


def gathered(found, pieces, places, size):
    """The gradient of the whole set; the questions have to survive a journey."""
    out = np.full(size, np.nan)
    for question, piece, place in zip(found.gradients, pieces, places, strict=True):
        part = pickle.loads(pickle.dumps(question))(piece)
        assert part.dtype == piece.scores.dtype
        out[place] = part
    return out


def leaves_of(keys, truth, tops):
    """The bins up to each of ``tops`` that hold keys, with no more than is known of them; their tops are keys."""
    at = np.searchsorted(tops, keys)
    masks = [at == b for b in np.unique(at)]
    high = np.array([keys[mask].max() for mask in masks])
    classes = [(mask & ~truth, mask & truth) for mask in masks]
    counts = [[side.sum() for side in both] for both in classes]
    sums = [[(keys[side] - top).sum() for side in both] for both, top in zip(classes, high, strict=True)]
    low = np.array([keys[mask].min() for mask in masks])
    return Leaves(-np.inf, high, np.array(counts, dtype=np.float64), np.array(sums), low, high)


def traffic(evaluator, pieces, tol):
    """The evaluation, the number of rounds, and the most bytes that go to and come from one piece."""
    search = evaluator.search(tol)
    rounds = sent = received = 0
    try:
        question = next(search)
        while True:
            answers = [question(piece) for piece in pieces]
            rounds, sent = rounds + 1, sent + len(pickle.dumps(question))
            received += max(len(pickle.dumps(answer)) for answer in answers)
            question = search.send(answers)
    except StopIteration as end:
        return end.value, rounds, sent + len(pickle.dumps(end.value.gradients[0])), received
