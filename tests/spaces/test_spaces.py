"""Spaces of labels: matrices and back, features of nodes, distances, and hierarchical scores by their definition."""

import pickle
import warnings
from collections import deque

import numpy as np
import pandas as pd
import pytest

from setwise.losses import MaxLoss, NearestCosts
from setwise.spaces import FiniteSpace, Hierarchy, hierarchical_f1, hierarchical_precision, hierarchical_recall

ANIMALS = {"cow": "animal", "horse": "animal", "car": "vehicle", "bus": "vehicle"}


def random_parents(rng, p, dag):
    """Each node has parents among those of a smaller number, or none."""
    return {
        j: [int(i) for i in rng.choice(j, size=min(j, int(rng.integers(3 if dag else 2))), replace=False)]
        for j in range(p)
    }


def ancestors_of(parents, node):
    """The node and all that is above it, by a walk."""
    found, queue = {node}, deque([node])
    while queue:
        for parent in parents.get(queue.popleft(), ()):
            if parent not in found:
                found.add(parent)
                queue.append(parent)
    return found


def test_lists_of_labels_become_truths_and_come_back():
    space = FiniteSpace(["b", ("a", 1), 3])
    assert (len(space), space.names, space.kappa) == (3, ("b", ("a", 1), 3), None)
    Y = [[], ["b", "b"], {3, ("a", 1)}, (3,), (label for label in ["b"]), np.array(["b"])]
    matrix = space.encode(Y)
    np.testing.assert_array_equal(matrix, [[0, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0], [1, 0, 0]])
    assert space.decode(matrix) == [[], ["b"], [("a", 1), 3], [3], ["b"], ["b"]]
    for kind in (bool, int, float):
        np.testing.assert_array_equal(space.encode(matrix.astype(kind)), matrix)
    assert space.encode([]).shape == (0, 3)
    assert pickle.loads(pickle.dumps(space)).names == space.names


@pytest.mark.parametrize("dag", [False, True])
def test_hierarchies_know_their_ancestors(dag):
    rng = np.random.default_rng(dag)
    for _ in range(20):
        parents = random_parents(rng, 7, dag)
        space = Hierarchy(parents)
        above = {node: ancestors_of(parents, node) for node in range(7)}
        for node, place in space.places.items():
            assert {space.names[j] for j in np.flatnonzero(space.kappa[place])} == above[node]
        Y = [rng.choice(7, size=rng.integers(4), replace=False).tolist() for _ in range(5)]
        closed = space.closed(Y)
        assert [set(row) for row in space.decode(closed)] == [set().union(*(above[y] for y in row)) for row in Y]
        np.testing.assert_array_equal(space.closed(closed), closed)
        # Each bias of labels is one of features of nodes.
        assert np.linalg.matrix_rank(space.kappa) == 7


def test_distances_are_lengths_of_paths():
    rng = np.random.default_rng(2)
    for _ in range(20):
        parents = random_parents(rng, 7, True)
        space = Hierarchy(parents)
        near = {node: set(above) or {"top"} for node, above in parents.items()}
        for node, above in list(near.items()):
            for parent in above:
                near.setdefault(parent, set())
                near[parent] |= {node}
        for node, place in space.places.items():
            steps, queue = {node: 0}, deque([node])
            while queue:
                now = queue.popleft()
                for other in near[now]:
                    if other not in steps:
                        steps[other] = steps[now] + 1
                        queue.append(other)
            assert space.distances()[place].tolist() == [steps[other] for other in space.names]
    space = Hierarchy(ANIMALS)
    loss = MaxLoss(NearestCosts(space.distances() / 4))
    truth = space.encode([["cow"]])[0]
    assert [loss(truth, truth | row) for row in space.encode([["horse"], ["car"], ["animal"]])] == [0.5, 1.0, 0.25]


def test_one_node_and_the_root():
    assert Hierarchy({"a": []}).distances().tolist() == [[0.0]]
    tree = Hierarchy(ANIMALS | {"animal": "root", "vehicle": "root"})
    assert tree.distances()[tree.places["cow"], tree.places["bus"]] == 4
    tuples = Hierarchy({("a", 1): ("a", 0), ("a", 2): [("a", 0)]})
    assert tuples.names == (("a", 1), ("a", 0), ("a", 2))
    assert Hierarchy(tuples.parents).names == tuples.names
    assert Hierarchy(ANIMALS).names == ("cow", "animal", "horse", "car", "vehicle", "bus")


def test_hierarchical_scores_by_definition():
    rng = np.random.default_rng(3)
    for trial in range(20):
        parents = random_parents(rng, 6, trial % 2)
        space = Hierarchy(parents)
        Y, P = ([rng.choice(6, size=rng.integers(3), replace=False).tolist() for _ in range(4)] for _ in range(2))
        full = [
            (set().union(*(ancestors_of(parents, y) for y in a)), set().union(*(ancestors_of(parents, y) for y in b)))
            for a, b in zip(Y, P, strict=True)
        ]
        both, true, seen = (sum(sizes) for sizes in zip(*((len(a & b), len(a), len(b)) for a, b in full), strict=True))
        precision, recall = (both / total if total else 0.0 for total in (seen, true))
        assert hierarchical_precision(space, Y, P) == precision
        assert hierarchical_recall(space, Y, P) == recall
        harmonic = 2 * precision * recall / (precision + recall) if both else 0.0
        assert hierarchical_f1(space, Y, P) == pytest.approx(harmonic)


def test_hierarchical_scores_of_nothing():
    space = Hierarchy(ANIMALS)
    nothing, cow = [[], []], [["cow"], []]
    scores = hierarchical_precision, hierarchical_recall, hierarchical_f1
    assert [score(space, nothing, nothing) for score in scores] == [0, 0, 0]
    assert [score(space, cow, nothing) for score in scores] == [0, 0, 0]
    assert [score(space, nothing, cow) for score in scores] == [0, 0, 0]
    assert [score(space, cow, cow) for score in scores] == [1, 1, 1]
    # A sibling shares the parent.
    assert [score(space, cow, [["horse"], []]) for score in scores] == [0.5, 0.5, 0.5]


def test_hierarchical_scores_are_those_of_hiclass():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metrics = pytest.importorskip("hiclass.metrics")
    rng, space = np.random.default_rng(4), Hierarchy(ANIMALS)
    paths = [["animal", "cow"], ["animal", "horse"], ["vehicle", "car"], ["vehicle", "bus"], ["animal", ""]]
    for _ in range(10):
        rows = [[paths[i] for i in rng.choice(5, size=2)] for _ in range(8)]
        truth, guess = np.array(rows[:4]), np.array(rows[4:])
        # HiClass is handed whole paths, and setwise the last node of each.
        Y, P = ([[path[1] or path[0] for path in row] for row in part.tolist()] for part in (truth, guess))
        for score, other in (
            (hierarchical_precision, metrics.precision),
            (hierarchical_recall, metrics.recall),
            (hierarchical_f1, metrics.f1),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = other(truth, guess)
            assert score(space, Y, P) == pytest.approx(expected)


def test_what_is_refused():
    space, tree = FiniteSpace(["a", "b"]), Hierarchy(ANIMALS)
    for call, words in (
        (lambda: space.encode([["c"]]), r"Y\[0\] must hold labels of the space, \['a', 'b'\]; got 'c'"),
        (lambda: space.encode([[["a"]]]), r"Y\[0\] must hold labels of the space.*got \['a'\]"),
        (lambda: space.encode(["ab"]), r"Y\[0\] must be a collection of labels; got 'ab'"),
        (lambda: space.encode("ab"), "Y must be a list of collections of labels; got 'ab'"),
        (lambda: space.encode(np.ones((2, 3))), "Y must have a column for each of 2 labels"),
        (lambda: space.encode(2 * np.ones((2, 2))), "Y must hold"),
        (lambda: space.decode([True, False]), r"matrix must have shape \(n, 2\)"),
        (lambda: FiniteSpace("ab"), "labels must be a list of labels; got 'ab'"),
        (lambda: FiniteSpace(["a", "a"]), "labels must be distinct"),
        (lambda: FiniteSpace([]), "labels must be distinct, and one or more"),
        (lambda: FiniteSpace([float("nan")]), "labels must be hashable objects that equal themselves; got nan"),
        (lambda: FiniteSpace(["a", "b"], [[1.0]]), r"features must have shape \(p, q\) for p = 2 labels"),
        (lambda: Hierarchy({"a": "b", "b": "a"}), "parents must have no cycle; got"),
        (lambda: Hierarchy({"a": "a"}), "parents must have no cycle; got"),
        (lambda: Hierarchy(["a"]), "parents must be a dict"),
        (lambda: Hierarchy({}), "parents must name one node or more"),
        (lambda: hierarchical_f1(space, [], []), "hierarchy must be of the kind Hierarchy"),
        (lambda: hierarchical_f1(tree, [["cow"]], []), "predictions must be those of 1 rows; got 0"),
        (lambda: hierarchical_f1(tree, [["cow"]], [["cat"]]), r"predictions\[0\] must hold labels"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            call()


def test_tables_are_read_by_the_names_of_their_columns():
    space = FiniteSpace(["a", "b"])
    table = pd.DataFrame({"b": [1, 0], "a": [0, 0]})
    np.testing.assert_array_equal(space.encode(table), [[False, True], [False, False]])
    np.testing.assert_array_equal(space.encode(pd.DataFrame([[0, 1]])), [[False, True]])
    with pytest.raises(ValueError, match=r"Y must have the labels \['a', 'b'\] as columns; got \['a', 'c'\]"):
        space.encode(pd.DataFrame({"a": [1], "c": [0]}))


def test_marks_of_missing_values_are_no_labels():
    for missing in (pd.NA, np.nan, pd.NaT):
        with pytest.raises(ValueError, match="hashable objects that equal themselves"):
            FiniteSpace([missing, "a"])
        with pytest.raises(ValueError, match="hashable objects that equal themselves"):
            Hierarchy({"a": missing})
    assert Hierarchy({"x": (name for name in "ab")}).names == ("x", "a", "b")
    assert Hierarchy({"x": np.array(["a", "b"])}).names == ("x", "a", "b")
