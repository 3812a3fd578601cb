"""Features, risks and learners: every argument of every call."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_matrix

from setwise.core.batch import Sets
from setwise.core.networks import ClassGraphs, Graphs
from setwise.learners import LEARNERS, Checkpoint
from setwise.models import (
    GraphModel,
    GridModel,
    JointKernel,
    JointLabels,
    Kernel,
    LandmarkModel,
    ModelWithConstant,
    MultilabelModel,
    RowBlock,
    RowModel,
)
from setwise.risks import DistributedRisk, MeanRisk, RiskWithPlanes, ShiftedRisk
from setwise.risks.places import LocalObjects, LocalPlaces
from setwise.spaces import SequenceModel
from setwise.surrogates import LovaszHinge
from surface.refusals import (
    COUNTS,
    FLAGS,
    NUMBERS,
    OBJECTS,
    OFFSETS,
    PARTS,
    Dummy,
    Parameter,
    numbers,
    try_all,
    without,
)

X, ENDS = np.arange(12.0).reshape(4, 3), np.array([0, 2, 4])
MODELS = {
    "RowModel": lambda X=X, offsets=ENDS, **more: RowModel(X, offsets, **more),
    "MultilabelModel": lambda X=X, offsets=ENDS, **more: MultilabelModel(X, 2, offsets, **more),
    "JointLabels": lambda X=X, offsets=ENDS, **more: JointLabels(X, np.eye(2), offsets, **more),
}
MATRICES = {
    "None": None, "text": "a", "number": 1.0, "flat": X[0], "cube": X[None], "words": [["a"]], "NaN": X * np.nan,
    "inf": X + np.inf, "complex": X + 1j, "ragged": [[1.0], [1.0, 2.0]], "empty": np.zeros((0, 3)), "dict": {},
    "objects": np.full((4, 3), Dummy()), "dates": np.zeros((4, 3), "M8[D]"), "digits": [["1"] * 3] * 4,
    "sparse complex": csr_matrix(X + 1j), "sparse NaN": csr_matrix(X * np.nan), "sparse": coo_array(X[0]),
}  # fmt: skip
SOME = without(PARTS, "None")
HUGE = ("huge", "all huge")


def features():
    for name, make in MODELS.items():
        model = make()
        n_scores = 4 if name == "RowModel" else 8
        base = without(numbers(n_scores, negative=True), "None", *HUGE)
        weights = numbers(model.size, negative=True)
        low, gradients = without(weights, "None", *HUGE), without(numbers(n_scores, negative=True), "NaN", "inf", *HUGE)
        w, half = np.ones(model.size), np.ones(n_scores // 2)
        yield Parameter(f"{name}(X)", make, MATRICES)
        for parameter, values in {"offsets": OFFSETS, "intercept": NUMBERS, "base": base, "lower": low}.items():
            yield Parameter(f"{name}({parameter})", lambda v, m=make, k=parameter: m(**{k: v}), values)
        yield Parameter(f"{name}.scores(w)", model.scores, weights)
        yield Parameter(f"{name}.scores(parts)", partial(model.scores, w), SOME)
        yield Parameter(f"{name}.pullback(gradient)", model.pullback, gradients)
        yield Parameter(f"{name}.pullback(parts)", partial(model.pullback, half), SOME)
        yield Parameter(f"{name}.pullbacks(gradient)", model.pullbacks, gradients)
        yield Parameter(f"{name}.pullbacks(parts)", partial(model.pullbacks, half), SOME)
        yield Parameter(f"{name}.centred(w)", model.centred, weights)
        yield Parameter(f"{name}.based(base)", lambda v, m=model: m.based(v, None), base)
        yield Parameter(f"{name}.based(lower)", partial(model.based, None), low)
    yield Parameter("JointLabels(kappa)", partial(JointLabels, X), without(MATRICES, "sparse complex", "sparse NaN"))
    yield Parameter("JointLabels(bias)", lambda v: JointLabels(X, np.eye(2), bias=v), NUMBERS)
    for kernel in (Kernel, JointKernel):
        name = kernel.__name__
        yield Parameter(f"{name}(function)", kernel, without(OBJECTS, "class", "function"))
        yield Parameter(f"{name}(rank)", lambda v, kernel=kernel: kernel(max, rank=v), without(COUNTS, "None"))
        yield Parameter(f"{name}(tol)", lambda v, kernel=kernel: kernel(max, tol=v), NUMBERS)
    yield Parameter("MultilabelModel(p)", partial(MultilabelModel, X), COUNTS)
    yield Parameter("MultilabelModel(columns)", lambda v: MultilabelModel(X, 2, columns=v), FLAGS)
    columns = MultilabelModel(X, 2, columns=True)
    yield Parameter("MultilabelModel by columns: scores(parts)", partial(columns.scores, np.ones(8)), SOME)
    yield Parameter("MultilabelModel by columns: pullback(parts)", partial(columns.pullback, np.ones(4)), SOME)


def networks():
    """A model of networks, whose edges have features of their own."""
    graphs = Graphs(np.array([True, False, True, False]), np.array([0, 2, 4]), np.array([[0, 1], [3, 2]]))
    Z, signed, w = np.ones((2, 3)), numbers(6, negative=True), np.ones(7)
    model = GraphModel(X, Z, graphs)
    yield Parameter("GraphModel(X)", lambda v: GraphModel(v, Z, graphs), MATRICES)
    edges = {"negative": -Z, "three edges": np.ones((3, 3)), "no edges": Z[:0]}
    yield Parameter("GraphModel(Z)", lambda v: GraphModel(X, v, graphs), without(MATRICES, "empty") | edges)
    yield Parameter("GraphModel(graphs)", partial(GraphModel, X, Z), OBJECTS)
    several = ClassGraphs(np.array([0, 2, 1, 0]), graphs.offsets, graphs.edges, 3, tables=True)
    yield Parameter("GraphModel of tables(Z)", lambda v: GraphModel(X, v, several), without(MATRICES, "empty"))
    yield Parameter("GraphModel(intercept)", lambda v: GraphModel(X, Z, graphs, v), NUMBERS)
    base, low = without(signed, "None", *HUGE), without(numbers(7, negative=True), "None", *HUGE)
    yield Parameter("GraphModel(base)", lambda v: GraphModel(X, Z, graphs, base=v), base)
    yield Parameter("GraphModel(lower)", lambda v: GraphModel(X, Z, graphs, lower=v), low)
    yield Parameter("GraphModel.scores(w)", model.scores, numbers(7, negative=True))
    yield Parameter("GraphModel.scores(parts)", partial(model.scores, w), SOME)
    gradients = without(signed, "NaN", "inf", *HUGE)
    for name in ("pullback", "pullbacks"):
        yield Parameter(f"GraphModel.{name}(gradient)", getattr(model, name), gradients)
        yield Parameter(f"GraphModel.{name}(parts)", partial(getattr(model, name), np.ones(3)), SOME)


def single_labels():
    """Models of labels that are too many to list: two sequences of two places with one label, and their constants."""
    sequences = SequenceModel(X, ENDS, 1)
    models = {
        "SequenceModel": (sequences, lambda X=X, offsets=ENDS, k=1, **more: SequenceModel(X, offsets, k, **more)),
        "ModelWithConstant": (
            ModelWithConstant(sequences, sequences.score_offsets),
            lambda inner=sequences, offsets=sequences.score_offsets, **more: ModelWithConstant(inner, offsets, **more),
        ),
    }
    for name, (model, make) in models.items():
        n_scores = len(model.row_lengths)
        base, low = (without(numbers(n, negative=True), "None", *HUGE) for n in (n_scores, model.size))
        gradients = without(numbers(n_scores, negative=True), "NaN", "inf", *HUGE)
        w, half = np.ones(model.size), np.ones(n_scores // 2)
        own = {"X": MATRICES, "k": COUNTS, "offsets": OFFSETS} if name == "SequenceModel" else {}
        own = own or {"inner": OBJECTS | {"fixed": sequences.based(np.ones(6), None)}, "constant": NUMBERS}
        for parameter, values in (own | {"base": base, "lower": low}).items():
            yield Parameter(f"{name}({parameter})", lambda v, m=make, k=parameter: m(**{k: v}), values)
        yield Parameter(f"{name}.scores(w)", model.scores, numbers(model.size, negative=True))
        yield Parameter(f"{name}.scores(parts)", partial(model.scores, w), SOME)
        for call in ("pullback", "pullbacks"):
            yield Parameter(f"{name}.{call}(gradient)", getattr(model, call), gradients)
            yield Parameter(f"{name}.{call}(parts)", partial(getattr(model, call), half), SOME)
    yield Parameter(
        "ModelWithConstant(offsets)", partial(ModelWithConstant, RowModel(X, ENDS, 0.0)), OFFSETS | {"None": None}
    )


def landmarks():
    """A model of landmarks, for two sets of two points with three states."""
    X, w = np.arange(18.0).reshape(2, 3, 3), np.ones(6)
    model, signed = LandmarkModel(X, 2), numbers(12, negative=True)
    wrong = without(MATRICES, "cube", "objects") | {
        "matrix": X[0],
        "no states": X[:, :0],
        "three points": np.ones((2, 3, 3, 1)),
    }
    yield Parameter("LandmarkModel(X)", lambda v: LandmarkModel(v, 2), wrong | {"objects": np.full((2, 3, 3), Dummy())})
    yield Parameter("LandmarkModel(k)", partial(LandmarkModel, X), COUNTS)
    base, low = without(signed, "None", *HUGE), without(numbers(6, negative=True), "None", *HUGE)
    yield Parameter("LandmarkModel(base)", lambda v: LandmarkModel(X, 2, v), base)
    yield Parameter("LandmarkModel(lower)", lambda v: LandmarkModel(X, 2, lower=v), low)
    yield Parameter("LandmarkModel.scores(w)", model.scores, numbers(6, negative=True))
    yield Parameter("LandmarkModel.scores(parts)", partial(model.scores, w), SOME)
    for name in ("pullback", "pullbacks"):
        yield Parameter(f"LandmarkModel.{name}(gradient)", getattr(model, name), without(signed, "NaN", "inf", *HUGE))
        yield Parameter(f"LandmarkModel.{name}(parts)", partial(getattr(model, name), np.ones(6)), SOME)


def grids():
    """A model of images, whose features have their shape."""
    masks, maps, w = np.array([[[True, False]], [[False, False]]]), np.arange(12.0).reshape(2, 1, 2, 3), np.ones(5)
    graphs, signed = Graphs.images(masks), numbers(6, negative=True)
    model = GridModel(maps, graphs)
    wrong = without(MATRICES, "sparse complex", "sparse NaN", "sparse", "None") | {
        "one image": maps[:1], "turned": maps.transpose(0, 2, 1, 3), "no features": maps[..., :0],
        "of two sizes": [maps[0], maps[1, :, :, :1]], "NaN in one": [maps[0], maps[1] * np.nan], "numbers": [1, 2],
    }  # fmt: skip
    yield Parameter("GridModel(X)", lambda v: GridModel(v, graphs), wrong | {"None": None})
    yield Parameter("GridModel(graphs)", partial(GridModel, maps), OBJECTS)
    yield Parameter("GridModel(colors)", partial(GridModel, maps, graphs), wrong)
    right, down = np.ones((2, 1, 1, 2)), np.ones((2, 0, 2, 2))
    ways = {
        "one direction": [right],
        "negative": [-right, down],
        "turned": [down, right],
        "of two": [right, down[..., :1]],
    }
    yield Parameter("GridModel(Z)", partial(GridModel, maps, graphs, None), wrong | ways)
    yield Parameter("GridModel(intercept)", lambda v: GridModel(maps, graphs, intercept=v), NUMBERS)
    base, low = without(signed, "None", *HUGE), without(numbers(5, negative=True), "None", *HUGE)
    yield Parameter("GridModel(base)", lambda v: GridModel(maps, graphs, base=v), base)
    yield Parameter("GridModel(lower)", lambda v: GridModel(maps, graphs, lower=v), low)
    yield Parameter("GridModel.scores(w)", model.scores, numbers(5, negative=True))
    yield Parameter("GridModel.scores(parts)", partial(model.scores, w), SOME)
    gradients = without(signed, "NaN", "inf", *HUGE)
    for name in ("pullback", "pullbacks"):
        yield Parameter(f"GridModel.{name}(gradient)", getattr(model, name), gradients)
        yield Parameter(f"GridModel.{name}(parts)", partial(getattr(model, name), np.ones(3)), SOME)


def risks():
    model, evaluator = RowModel(X, ENDS), LovaszHinge("jaccard").on(Sets.rows([[1, 0], [1, 0]]))
    risk, w, point = MeanRisk(model, evaluator), np.ones(4), numbers(4, negative=True)
    wrong = OBJECTS | {"another batch": RowModel(np.ones((3, 2)))}
    yield Parameter("MeanRisk(features)", lambda v: MeanRisk(v, evaluator), wrong)
    wrong = OBJECTS | {"surrogate": LovaszHinge("jaccard"), "name": "lovasz"}
    yield Parameter("MeanRisk(evaluator)", partial(MeanRisk, model), wrong)
    weights = without(numbers(2), "None", *HUGE) | {"zeros": [0.0, 0.0]}
    yield Parameter("MeanRisk(weights)", partial(MeanRisk, model, evaluator), weights)
    yield Parameter("MeanRisk(n_jobs)", lambda v: MeanRisk(model, evaluator, n_jobs=v), COUNTS)
    yield Parameter("MeanRisk.cut(w)", risk.cut, point)
    yield Parameter("MeanRisk.cut(tol)", partial(risk.cut, w), NUMBERS)
    yield Parameter("MeanRisk.cuts(w)", lambda v: risk.cuts(v, np.array([0])), point)
    yield Parameter("MeanRisk.cuts(parts)", partial(risk.cuts, w), PARTS)
    yield Parameter("MeanRisk.cuts(tol)", partial(risk.cuts, w, np.array([1])), NUMBERS)
    places, rows, truth = (
        LocalPlaces(1),
        LocalObjects([RowBlock(X)]),
        LocalObjects([np.array([True, False, True, False])]),
    )
    far, hinge = partial(DistributedRisk, places), LovaszHinge("jaccard")
    yield Parameter("DistributedRisk(places)", lambda v: DistributedRisk(v, rows, truth, hinge), OBJECTS)
    yield Parameter("DistributedRisk(rows)", lambda v: far(v, truth, hinge), OBJECTS | {"array": X})
    yield Parameter("DistributedRisk(truth)", lambda v: far(rows, v, hinge), OBJECTS | {"list": [True]})
    yield Parameter("DistributedRisk(surrogate)", lambda v: far(rows, truth, v), OBJECTS | {"name": "lovasz"})
    yield Parameter(
        "DistributedRisk(ids)", lambda v: far(rows, truth, hinge, v), without(OBJECTS, "None") | {"list": [0, 0, 1, 1]}
    )
    weights = without(numbers(1), "None", *HUGE) | {"zero": [0.0]}
    yield Parameter("DistributedRisk(weights)", lambda v: far(rows, truth, hinge, weights=v), weights)
    yield Parameter("DistributedRisk.cut(w)", far(rows, truth, hinge).cut, point)
    yield Parameter("DistributedRisk.cut(tol)", partial(far(rows, truth, hinge).cut, w), NUMBERS)
    steps = ShiftedRisk(risk, w)
    yield Parameter(
        "ShiftedRisk(inner)", lambda v: ShiftedRisk(v, w), OBJECTS | {"evaluator": evaluator, "features": model}
    )
    yield Parameter("ShiftedRisk(origin)", partial(ShiftedRisk, risk), without(point, "None", *HUGE))
    yield Parameter("ShiftedRisk.cut(w)", steps.cut, point)
    yield Parameter("ShiftedRisk.cut(tol)", partial(steps.cut, w), NUMBERS)
    yield Parameter("RowBlock(X)", RowBlock, without(MATRICES, "empty"))
    yield Parameter("RowBlock(intercept)", partial(RowBlock, X), NUMBERS)
    yield Parameter("RiskWithPlanes(inner)", RiskWithPlanes, OBJECTS | {"evaluator": evaluator, "features": model})
    memory = RiskWithPlanes(risk)
    yield Parameter("RiskWithPlanes.keep(w)", memory.keep, point)
    yield Parameter("RiskWithPlanes.cut(w)", memory.cut, point)
    yield Parameter("RiskWithPlanes.cut(tol)", partial(memory.cut, w), NUMBERS)
    for kind in LEARNERS.values():
        learner, name = kind(max_iter=2), f"{kind.__name__}.minimize"
        yield Parameter(f"{name}(risk)", learner.minimize, OBJECTS | {"evaluator": evaluator, "features": model})
        starts = without(point, "None", *HUGE)
        yield Parameter(f"{name}(w0)", lambda v, one=learner: one.minimize(risk, w0=v), starts)
        calls = {"text": "a", "number": 3, "list": []}
        yield Parameter(f"{name}(callback)", lambda v, one=learner: one.minimize(risk, callback=v), calls)
        files = without(OBJECTS, "None") | {"text": "fit.npz", "not open": Checkpoint("fit.npz")}
        yield Parameter(f"{name}(checkpoint)", lambda v, one=learner: one.minimize(risk, checkpoint=v), files)
    yield Parameter("Checkpoint(path)", Checkpoint, OBJECTS | {"empty text": ""})
    yield Parameter("Checkpoint(every)", partial(Checkpoint, "fit.npz"), NUMBERS)
    new = Checkpoint("fit.npz")
    yield Parameter("Checkpoint.open(resume)", lambda v: new.open(resume=v), FLAGS)
    texts = without(OBJECTS, "None", "dict") | {"number in it": {"about": 1.0}, "None in it": {"about": None}}
    yield Parameter("Checkpoint.open(about)", new.open, texts)


@pytest.mark.parametrize(
    "parameter",
    [*features(), *networks(), *grids(), *landmarks(), *single_labels(), *risks()],
    ids=lambda parameter: parameter.where,
)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_products_of_what_is_taken_are_finite(make):
    with pytest.raises(OverflowError, match="the length of a row, with its intercept, overflows float64; scale X down"):
        make(X=1e154 * X)
    model = make(X=1e153 * np.sign(X - 5))
    for w in (np.full(model.size, 4e153), -np.full(model.size, 4e153)):
        assert np.isfinite(model.scores(w)).all()
