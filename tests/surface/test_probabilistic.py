"""setwise.probabilistic, BinaryDenoiser and LogSupermodularModel: every argument of every name."""

import numpy as np
import pytest
from sklearn.base import clone

from setwise import BinaryDenoiser, LogSupermodularModel
from setwise.core.batch import Sets
from setwise.losses import CountRange, Jaccard
from setwise.probabilistic import (
    AllowedPartition,
    BagDivergence,
    CallableSetFunction,
    ConcaveSizeFunction,
    CountLikelihood,
    Cut,
    Energies,
    HiddenLikelihood,
    LFieldLikelihood,
    LogSupermodularDistribution,
    ModularFunction,
    PerturbedLikelihood,
    ProportionLoss,
    base_point,
    exact,
    l_field,
    logistic,
    mean_field,
    perturbed_maxima,
    sample,
    superdifferential,
    tree_reweighted,
)
from surface.refusals import COUNTS, NO_NUMBERS, NUMBERS, OBJECTS, Dummy, Parameter, Proxy, numbers, try_all, without

MODEL = LogSupermodularDistribution([Cut.grid(2, 2)], np.ones(4))
IMAGES = (np.random.default_rng(0).random((6, 3, 4)) < 0.5).astype(int)
BOUNDS = (base_point, exact, l_field, logistic, mean_field, sample, superdifferential, tree_reweighted)
SIZES = without(COUNTS, "truth") | {"zero": 0}
SEEDS = without(NO_NUMBERS, "truth", "None") | {"negative": -1, "half": 0.5}
LABELS = {
    "None": None, "text": "a", "number": 1, "short": [0, 1], "long": [0, 1, 0, 1, 1], "two": [0, 1, 2, 0],
    "NaN": [0, 1, np.nan, 0], "cube": np.zeros((2, 2, 4)), "object": Dummy(), "Nones": [None] * 4, "dict": {},
}  # fmt: skip
EDGES = {
    "None": None, "text": "a", "number": 1, "row": [0, 1], "triple": [[0, 1, 2]], "loop": [[1, 1]], "far": [[0, 4]],
    "negative": [[-1, 0]], "halves": [[0.0, 1.0]], "object": Dummy(), "dict": {},
}  # fmt: skip
TERMS = OBJECTS | {
    "empty": [],
    "a cut": Cut(4, []),
    "numbers": [1],
    "several sizes": [Cut(4, []), Cut(3, [])],
    "class": [Cut],
}
PICTURES = {
    "None": None, "text": "a", "number": 1, "empty": [], "a row": np.ones(3), "empty images": np.ones((2, 0, 3)),
    "two": 2 * np.ones((6, 3, 4)), "halves": np.full((6, 3, 4), 0.5), "NaN": np.full((6, 3, 4), np.nan),
    "four axes": np.ones((2, 2, 2, 2)), "object": Dummy(), "Nones": [None] * 3, "texts": ["a"] * 3, "dict": {},
}  # fmt: skip


def distributions():
    """The base functions, their sums and the bounds."""
    pairs = [[0, 1], [1, 2]]
    yield Parameter("Cut(total)", lambda v: Cut(v, []), SIZES)
    yield Parameter("Cut(edges)", lambda v: Cut(4, v), EDGES)
    yield Parameter("Cut(weights)", lambda v: Cut(4, pairs, v), without(numbers(2), "None"))
    yield Parameter("Cut.grid(height)", lambda v: Cut.grid(v, 2), SIZES)
    yield Parameter("Cut.grid(width)", lambda v: Cut.grid(2, v), SIZES)
    some = without(OBJECTS, "None") | {"another": (2, 1), "one": (1,), "text": "right"}
    yield Parameter("Cut.grid(direction)", lambda v: Cut.grid(2, 2, v), some)
    tables = {
        "number": 1.0,
        "one": [1.0],
        "bent": [0, 0, 1],
        "matrix": np.ones((2, 2)),
        "NaN": [0, np.nan],
        "text": "a",
    }
    yield Parameter(
        "ConcaveSizeFunction(table)", ConcaveSizeFunction, tables | {"None": None, "text": "a", "object": Dummy()}
    )
    yield Parameter("CallableSetFunction(total)", lambda v: CallableSetFunction(v, lambda y: 0.0), SIZES)
    functions = without(OBJECTS, "class") | {
        "text": lambda y: "a",
        "NaN": lambda y: np.nan,
        "array": lambda y: np.ones(2),
    }
    yield Parameter("CallableSetFunction(function)", lambda v: CallableSetFunction(2, v), functions)
    yield Parameter("LogSupermodularDistribution(terms)", LogSupermodularDistribution, TERMS)
    cuts = [Cut(4, pairs), Cut(4, [])]
    signed = without(numbers(4, negative=True), "None")
    yield Parameter("LogSupermodularDistribution(unary)", lambda v: LogSupermodularDistribution(cuts, v), signed)
    yield Parameter(
        "LogSupermodularDistribution(weights)",
        lambda v: LogSupermodularDistribution(cuts, None, v),
        without(numbers(2), "None"),
    )
    yield Parameter(
        "LogSupermodularDistribution(constant)",
        lambda v: LogSupermodularDistribution(cuts, constant=v),
        without(NUMBERS, "negative"),
    )
    yield Parameter("LogSupermodularDistribution.values(labels)", MODEL.values, LABELS)
    yield Parameter("LogSupermodularDistribution.extension(x)", MODEL.extension, signed)
    fixed = LABELS | {"all": [0, 1, 0, 1], "far": [-2, 0, 1, 1]}
    yield Parameter("LogSupermodularDistribution.condition(fixed)", MODEL.condition, fixed)
    some = OBJECTS | {"a cut": Cut(4, []), "class": LogSupermodularDistribution}
    yield Parameter("perturbed_maxima(model)", lambda v: perturbed_maxima(v, np.ones((1, 4))), some)
    for bound in BOUNDS:
        yield Parameter(
            f"{bound.__name__}(model)", bound, OBJECTS | {"a cut": Cut(4, []), "class": LogSupermodularDistribution}
        )
    yield Parameter("exact(max_width)", lambda v: exact(MODEL, v), SIZES)
    yield Parameter("l_field(point)", lambda v: l_field(MODEL, v), signed)
    yield Parameter("mean_field(start)", lambda v: mean_field(MODEL, v), signed | {"two": 2 * np.ones(4)})
    yield Parameter("mean_field(max_iter)", lambda v: mean_field(MODEL, max_iter=v), SIZES)
    yield Parameter("tree_reweighted(max_iter)", lambda v: tree_reweighted(MODEL, v), SIZES)
    yield Parameter("logistic(samples)", lambda v: logistic(MODEL, v), SIZES | {"one": 1})
    yield Parameter("logistic(noise)", lambda v: logistic(MODEL, noise=v), OBJECTS | {"another": "gumbel"})
    yield Parameter("logistic(control)", lambda v: logistic(MODEL, control=v), OBJECTS | {"two": 2, "text": "no"})
    yield Parameter("logistic(level)", lambda v: logistic(MODEL, level=v), NUMBERS | {"one": 1.0, "zero": 0.0})
    yield Parameter("logistic(random_state)", lambda v: logistic(MODEL, random_state=v), SEEDS)
    rows = without(numbers(4), "matrix") | {"a row": np.ones(4), "no rows": np.zeros((0, 4)), "wide": np.ones((2, 5))}
    yield Parameter("perturbed_maxima(noise)", lambda v: perturbed_maxima(MODEL, v), rows)
    yield Parameter("sample(size)", lambda v: sample(MODEL, v), SIZES)
    yield Parameter("sample(chains)", lambda v: sample(MODEL, 2, chains=v), without(SIZES, "None"))
    yield Parameter("sample(gap)", lambda v: sample(MODEL, gap=v), SIZES)
    yield Parameter("sample(budget)", lambda v: sample(MODEL, budget=v), SIZES)
    yield Parameter("sample(random_state)", lambda v: sample(MODEL, random_state=v), SEEDS)


def likelihoods():
    """Batches of energies, and the likelihood as a surrogate."""
    cuts, ends, rows = [Cut.grid(2, 2)], np.array([0, 4]), np.eye(4)
    labels = np.zeros(4, bool)
    more = {"None": None, "one": np.ones(1), "matrix": np.ones((2, 2)), "text": "a", "object": Dummy(), "NaN": [np.nan]}
    yield Parameter("ModularFunction(slopes)", ModularFunction, without(more, "one") | {"number": 1.0, "none": []})
    yield Parameter("Energies(terms)", lambda v: Energies(v, labels, ends), TERMS | {"lists of numbers": [[1]]})
    yield Parameter("Energies(labels, offsets)", lambda v: Energies([cuts], v, ends), LABELS)
    offsets = OBJECTS | {"short": np.array([0]), "far": np.array([0, 5]), "halves": np.array([0.0, 4.0])}
    yield Parameter("Energies(offsets)", lambda v: Energies([cuts], labels, v), offsets)
    yield Parameter("Energies(target)", lambda v: Energies([cuts], labels, ends, v), without(more, "None"))
    yield Parameter("Energies.joint(terms)", lambda v: Energies.joint(v, rows), TERMS)
    yield Parameter("Energies.joint(rows)", lambda v: Energies.joint(cuts, v), LABELS)
    yield Parameter("Energies.hidden(terms)", lambda v: Energies.hidden(v, rows), TERMS)
    yield Parameter("Energies.hidden(observed)", lambda v: Energies.hidden(cuts, v), more | {"row": np.ones(4)})
    batch = Energies.joint(cuts, rows)
    yield Parameter("Energies.design(X)", batch.design, more | {"row": np.ones(4), "empty": np.ones((0, 2))})
    for kind in (PerturbedLikelihood, HiddenLikelihood):
        title = kind.__name__
        yield Parameter(f"{title}(samples)", kind, SIZES | {"one": 1})
        yield Parameter(
            f"{title}(noise)", lambda v, kind=kind: kind(noise=v), without(OBJECTS, "text") | {"another": "gumbel"}
        )
        yield Parameter(f"{title}(random_state)", lambda v, kind=kind: kind(random_state=v), SEEDS)
    for made in (PerturbedLikelihood(), HiddenLikelihood(), LFieldLikelihood()):
        yield Parameter(f"{type(made).__name__}.on(batch)", made.on, OBJECTS | {"a cut": cuts[0], "rows": rows})
    evaluator, few = PerturbedLikelihood(2).on(batch), {"short": np.ones(4), "NaN": np.full(5, np.nan), "text": "a"}
    yield Parameter("Evaluator(scores)", evaluator, few | {"None": None, "object": Dummy(), "negative": -np.ones(5)})
    yield Parameter("Evaluator.redrawn(seed)", evaluator.redrawn, SEEDS)


def estimators():
    """The two estimators."""
    jobs = without(NO_NUMBERS, "truth", "None") | {"half": 1.5, "zero": 0}
    shared = {
        "steps": SIZES, "samples": SIZES | {"one": 1}, "random_state": SEEDS, "n_jobs": jobs,
        "ridge": without(NUMBERS, "truth", "tuple") | {"three": (1, 1, 1), "negative pair": (1.0, -1.0), },
        "step": without(NUMBERS, "truth", "tuple") | {"three": (1, 1, 1), "negative pair": (1.0, -1.0), "zero": 0.0},
    }  # fmt: skip
    names = OBJECTS | {"another": "median", "class": Jaccard, "two": 2, "half": 0.5}
    for kind, data, more in (
        (
            BinaryDenoiser(steps=3),
            (IMAGES, IMAGES),
            dict.fromkeys(("noise", "decode", "bias", "observation", "draws"), names),
        ),
        (LogSupermodularModel(steps=3), (IMAGES,), {"terms": without(TERMS, "None")}),
    ):
        title = type(kind).__name__
        for name, values in (shared | more).items():
            call = lambda v, kind=kind, name=name, data=data: clone(kind).set_params(**{name: v}).fit(*data)  # noqa: E731
            yield Parameter(f"{title}({name})", call, values)
        fitted, axes = Proxy(lambda kind=kind, data=data: clone(kind).fit(*data)), {"wider": np.ones((2, 3, 5))}
        if len(data) == 2:
            fit = clone(kind).fit
            yield Parameter("BinaryDenoiser.fit(X)", lambda v, fit=fit: fit(v, IMAGES), PICTURES)
            yield Parameter(
                "BinaryDenoiser.fit(y)", lambda v, fit=fit: fit(IMAGES, v), without(PICTURES, "None") | axes
            )
            yield Parameter("BinaryDenoiser.transform(X)", fitted.transform, PICTURES | axes)
            yield Parameter("BinaryDenoiser.predict_marginals(X)", fitted.predict_marginals, PICTURES | axes)
            for name, call in (
                ("X", lambda v, m=fitted: m.log_likelihood(v)),
                ("y", lambda v, m=fitted: m.log_likelihood(IMAGES, v)),
            ):
                yield Parameter(f"BinaryDenoiser.log_likelihood({name})", call, without(PICTURES, "None") | axes)
            yield Parameter("BinaryDenoiser.score(X)", lambda v, m=fitted: m.score(v, IMAGES), PICTURES | axes)
            known = without(PICTURES, "None") | axes
            yield Parameter("BinaryDenoiser.score(y)", lambda v, m=fitted: m.score(IMAGES, v), known)
        else:
            yield Parameter("LogSupermodularModel.fit(Y)", clone(kind).fit, PICTURES)
            yield Parameter("LogSupermodularModel.log_likelihood(Y)", fitted.log_likelihood, PICTURES | axes)
            yield Parameter("LogSupermodularModel.score(Y)", fitted.score, PICTURES | axes)
            yield Parameter("LogSupermodularModel.sample(size)", fitted.sample, SIZES)
            seeded = lambda v, m=fitted: m.sample(1, v)  # noqa: E731
            yield Parameter("LogSupermodularModel.sample(random_state)", seeded, SEEDS)


def bags():
    """What is known of numbers of positives of sets."""
    sets = Sets(np.array([-1, -1, 1], dtype=np.int8), np.array([0, 3]))
    others = OBJECTS | {"a loss": CountRange(1), "sets": sets}
    for kind in (AllowedPartition, BagDivergence):
        yield Parameter(f"{kind.__name__}(bound_loss)", kind, others)
    names = OBJECTS | {"unknown name": "counts", "class": CountRange, "needs parameters": "count_range"}
    for kind in (CountLikelihood, ProportionLoss):
        yield Parameter(f"{kind.__name__}(loss)", kind, names)
        yield Parameter(f"{kind.__name__}.on(batch)", kind(CountRange(1)).on, OBJECTS | {"labels": [0, 1]})
    evaluator = CountLikelihood(CountRange(1)).on(sets)
    scores = {"None": None, "short": np.ones(2), "NaN": np.full(3, np.nan), "text": "a", "object": Dummy()}
    yield Parameter("CountLikelihood of sets(scores)", evaluator, scores)


@pytest.mark.parametrize(
    "parameter", [*distributions(), *likelihoods(), *bags(), *estimators()], ids=lambda parameter: parameter.where
)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
