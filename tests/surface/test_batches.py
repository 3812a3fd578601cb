"""What holds the truth, and what losses are bound to: batches, orders, bound losses."""

from functools import partial

import numpy as np
import pytest

from setwise.core.batch import Classes, Orders, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.networks import ClassGraphs, Graphs
from setwise.core.rankings import Rankings
from setwise.losses import LOSSES
from surface.refusals import COUNTS, FLAGS, OBJECTS, OFFSETS, PARTS, Parameter, labels, numbers, try_all, without

P = 4
Y = [1, 0, 1, 0]
BOOLS, CODES, ENDS = np.array(Y, dtype=bool), np.array([0, 2, 1, 0]), np.array([0, 4])
SETS = Sets.rows([Y[:2], Y[2:]])
EDGES = np.array([[0, 1], [2, 3]])
FLAT = without(labels(P), "generator") | {"ints": Y, "floats": np.ones(P), "short": BOOLS[:-1]}


def batches():
    # Whole numbers of any type may be labels, and -1 is one that is not known.
    known = without(FLAT, "ints", "negative")
    yield Parameter("Sets(labels, offsets)", lambda v: Sets(v, ENDS), known)
    yield Parameter("Sets(offsets)", partial(Sets, BOOLS), OFFSETS)
    yield Parameter("Sets(compared)", partial(Sets, BOOLS, ENDS), without(numbers(P), "None"))
    totals = without(numbers(2), "None", "matrix") | {"flat": [2.0, 2.0], "NaN": [[np.nan, 2.0]], "few": [[1.0, 1.0]]}
    yield Parameter("Sets(totals)", partial(Sets, BOOLS, ENDS, None), totals)
    yield Parameter("Sets.single(y_true)", Sets.single, labels(P))
    rows = {"flat": Y, "ragged": [[1], [1, 0]], "twos": [[0, 2]], "cube": np.zeros((2, 2, 2)), "words": [["a"]]}
    rows |= {"None": None, "text": "a", "empty": [[]], "NaN": [[np.nan]], "complex": [[1j]], "number": 1}
    yield Parameter("Sets.rows(Y)", Sets.rows, rows)
    codes = without(FLAT, "another label") | {"ints": None, "bools": BOOLS, "high": CODES + 1, "negative": CODES - 2}
    yield Parameter("Classes(labels, offsets)", lambda v: Classes(v, ENDS, 3), codes)
    yield Parameter("Classes(offsets)", lambda v: Classes(CODES, v, 3), OFFSETS)
    sizes = COUNTS | {"one": 1, "huge": 2**40}
    yield Parameter("Classes(k)", partial(Classes, CODES, ENDS), sizes)
    yield Parameter("Classes.single(y_true)", lambda v: Classes.single(v, 3), labels(P, 2))
    yield Parameter("Classes.single(k)", partial(Classes.single, CODES), sizes)
    yield Parameter("Rankings(labels, offsets)", lambda v: Rankings(v, ENDS), FLAT)
    yield Parameter("Rankings(offsets)", partial(Rankings, BOOLS), OFFSETS)
    yield Parameter(
        "Graphs(labels, offsets)", lambda v: Graphs(v, ENDS, EDGES), known | {"another label": BOOLS * np.int8(2)}
    )
    yield Parameter("Graphs(offsets)", lambda v: Graphs(BOOLS, v, EDGES[:0]), OFFSETS)
    joined = {
        "None": None, "text": "a", "number": 1, "flat": EDGES[0], "floats": EDGES + 0.5, "beyond": EDGES + P,
        "int32": EDGES.astype(np.int32), "three ends": np.zeros((2, 3), np.int64), "ragged": [[0], [0, 1]],
        "negative": EDGES - 9, "loop": EDGES * 0, "two sets": np.array([[0, P - 1]]), "words": [["a", "b"]],
        "unsorted": np.array([[P - 1, P - 2], [0, 1]]), "objects": np.full((1, 2), None),
    }  # fmt: skip
    yield Parameter("Graphs(edges)", partial(Graphs, BOOLS, SETS.offsets), joined)
    masks = {
        "None": None, "text": "a", "number": 1, "empty": [], "flat": BOOLS, "no axes": [True],
        "ragged": [[[1], [1, 0]]],
        "floats": np.zeros((1, 2, 2)), "mixed": [BOOLS, BOOLS[None]], "without pixels": np.zeros((1, 0, 2), bool),
        "another label": np.full((1, 2, 2), 2, np.int8), "four axes": [[[[[True]]]]],
    }  # fmt: skip
    yield Parameter("Graphs.images(labels)", Graphs.images, masks)
    yield Parameter("Graphs.images(neighbors)", partial(Graphs.images, BOOLS.reshape(1, 2, 2)), COUNTS | {"six": 6})
    images = partial(Graphs.images, BOOLS.reshape(2, 1, 2), 4)
    yield Parameter("Graphs.images(offsets)", images, without(OFFSETS, "None"))
    yield Parameter("ClassGraphs(labels, offsets)", lambda v: ClassGraphs(v, ENDS, EDGES, 3), codes)
    yield Parameter("ClassGraphs(offsets)", lambda v: ClassGraphs(CODES, v, EDGES[:0], 3), OFFSETS)
    yield Parameter("ClassGraphs(edges)", lambda v: ClassGraphs(CODES, SETS.offsets, v, 3), joined)
    yield Parameter("ClassGraphs(k)", partial(ClassGraphs, CODES, ENDS, EDGES), sizes)
    yield Parameter("ClassGraphs(tables)", partial(ClassGraphs, CODES, ENDS, EDGES, 3), FLAGS)
    graphs = [Graphs(BOOLS, SETS.offsets, EDGES), ClassGraphs(CODES, SETS.offsets, EDGES, 3)]
    for batch in (SETS, Classes(CODES, SETS.offsets, 3), Rankings(BOOLS, SETS.offsets), *graphs):
        yield Parameter(f"{type(batch).__name__}.take(parts)", batch.take, PARTS)
        yield Parameter(f"{type(batch).__name__}.decisions(parts)", batch.decisions, PARTS)


def orders():
    """Orders of mistakes, of which kernels read."""
    items, two, ends = np.array([0, 3], dtype=np.int32), np.array([True, False]), np.array([0, 1, 2])
    part = {"None": None, "text": "a", "floats": [0.0, 1.0], "matrix": [[0, 1]], "short": items[:1], "list": [2, 0]}
    found = {f"items {label}": Orders(value, two, ends) for label, value in part.items()}
    found |= {f"labels {label}": Orders(items, value, ends) for label, value in part.items()}
    part |= {"falls": np.array([0, 3, 2]), "late": np.array([1, 1, 2]), "one set": np.array([0, 2])}
    found |= {f"offsets {label}": Orders(items, two, value) for label, value in part.items()}
    for label, wrong in {"outside": [0, 4], "below": [-1, 3], "of another set": [0, 1], "twice": [1, 1]}.items():
        found[label] = Orders(np.array(wrong, dtype=np.int32), two, np.array([0, 2, 2]) if label == "twice" else ends)
    return found | {"None": None, "text": "a", "list": [0, 1]}


def bound_losses():
    """What every loss is bound to."""
    wrong = {"None": None, "text": "a", "short": [1, 0], "matrix": [Y], "floats": np.ones(P), "words": ["a"] * 4}
    wrong |= {"NaN": np.full(4, np.nan), "complex": [1j] * 4, "ragged": [[1], [1, 0], [], []], "one": [1]}
    wrong |= {"another label": [1, 2, 0, 0], "below": [1, -1, 0, 0], "huge": [1, 10**9, 0, 0]}
    yield Parameter("BoundLoss(batch)", BoundLoss, OBJECTS)
    for kind in LOSSES.values():
        loss = kind.examples(2)[0]
        name, bound = f"{kind.__name__}.bind", loss.bind(SETS)
        yield Parameter(f"{name}.values(labels)", bound.values, wrong)
        yield Parameter(f"{name}.take(parts)", bound.take, PARTS)
        if loss.reads == "labels":
            yield Parameter(f"{name}.marginals(labels)", bound.marginals, wrong)
            yield Parameter(f"{name}.gains(orders)", bound.gains, orders())
            yield Parameter(f"{name}.sweep(orders)", bound.sweep, orders())


@pytest.mark.parametrize("parameter", [*batches(), *bound_losses()], ids=lambda parameter: parameter.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
