from itertools import combinations, product

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from setwise.decisions import top_k_labels


def some_probabilities(rng):
    """Probabilities (n, p), of which many are equal or 0, and k."""
    n, p = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    q = rng.random((n, p)) * (rng.random((n, p)) < rng.choice([0.6, 1.0]))
    return np.round(q, int(rng.choice([1, 8]))), int(rng.integers(1, p + 1))


def value_of(q, labels, measure):
    """The measure at the expected counts, by its definition."""
    y = np.zeros(q.shape)
    np.put_along_axis(y, np.asarray(labels), 1.0, axis=1)
    tp, P, size = (y * q).sum(axis=0), q.sum(axis=0), y.sum(axis=0)
    if measure == "precision":
        return tp.sum() / y.sum()
    top, bottom = (tp, P) if measure == "macro_recall" else (2 * tp, size + P)
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0).mean()


@pytest.mark.parametrize("measure", ["precision", "macro_recall"])
def test_exact_measures_equal_enumeration(measure):
    rng = np.random.default_rng(0)
    for _ in range(100):
        q, k = some_probabilities(rng)
        found = top_k_labels(q, k, measure)
        each = list(combinations(range(q.shape[1]), k))
        best = max(value_of(q, y, measure) for y in product(each, repeat=len(q)))
        assert found.exact
        assert found.labels.shape == (len(q), k)
        assert found.value == pytest.approx(best, abs=1e-12)
        assert found.value == pytest.approx(value_of(q, found.labels, measure), abs=1e-12)


def test_no_row_alone_makes_macro_f1_larger_and_the_best_labels_are_mostly_found():
    rng, best = np.random.default_rng(1), 0
    for _ in range(150):
        q, k = some_probabilities(rng)
        found = top_k_labels(q, k, "macro_f1")
        each = list(combinations(range(q.shape[1]), k))
        assert not found.exact
        assert (np.diff(found.labels, axis=1) > 0).all()
        assert found.value == pytest.approx(value_of(q, found.labels, "macro_f1"), abs=1e-12)
        assert found.value >= value_of(q, top_k_labels(q, k).labels, "macro_f1") - 1e-12
        for i, row in product(range(len(q)), each):
            other = found.labels.copy()
            other[i] = row
            assert value_of(q, other, "macro_f1") <= found.value + 1e-10
        best += found.value >= max(value_of(q, y, "macro_f1") for y in product(each, repeat=len(q))) - 1e-12
    assert best >= 120


@pytest.mark.parametrize("measure", ["precision", "macro_recall", "macro_f1"])
@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_a_sparse_matrix_that_stores_all_is_decided_as_the_dense_one(measure, kind):
    rng = np.random.default_rng(2)
    q = rng.random((30, 8)) + 0.001
    found, want = (top_k_labels(given, 3, measure) for given in (kind(q / 1.001), q / 1.001))
    np.testing.assert_array_equal(found.labels, want.labels)
    assert found.value == want.value


def test_only_stored_entries_are_predicted():
    q = csr_matrix(np.array([[0.0, 0.5, 0.2], [0.9, 0.0, 0.1]]))
    for measure in ("precision", "macro_recall", "macro_f1"):
        assert top_k_labels(q, 2, measure).labels.tolist() == [[1, 2], [0, 2]]
    # A stored 0 is one of them.
    q.data[0] = 0.0
    assert top_k_labels(q, 2).labels.tolist() == [[1, 2], [0, 2]]


def test_what_does_not_fit_is_refused():
    q = csr_matrix(np.array([[0.5, 0.5], [0.0, 0.9]]))
    with pytest.raises(ValueError, match="k must be at most the number of probabilities of each row; got 2, and 1 in"):
        top_k_labels(q, 2)
    with pytest.raises(ValueError, match=r"probabilities must be in \[0, 1\]; got 1\.8"):
        top_k_labels(2 * q, 1)
    with pytest.raises(
        ValueError, match="measure must be one of 'precision', 'macro_f1', 'macro_recall'; got 'recall'"
    ):
        top_k_labels(q, 1, "recall")
    with pytest.raises(ValueError, match=r"probabilities must have shape \(n, p\), both at least 1; got shape \(2,\)"):
        top_k_labels([0.5, 0.5], 1)
