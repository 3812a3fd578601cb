"""What is asked of losses, surrogates and single sets: every argument of every call."""

from functools import partial

import numpy as np
import pytest

from setwise import describe, loss_augmented_inference, max_marginals
from setwise.core.batch import Sets
from setwise.losses import (
    LOSSES,
    EqualCosts,
    GivenCosts,
    Hamming,
    Jaccard,
    MeanOverClasses,
    NearestCosts,
    NearestHammingCosts,
    as_loss,
    parse_losses,
)
from setwise.surrogates import SURROGATES, LovaszHinge, MarginRescaling, is_extension, margin_scale
from surface.refusals import FLAGS, NO_NUMBERS, NUMBERS, OBJECTS, PARTS, Parameter, labels, numbers, try_all, without

P = 4
Y = [1, 0, 1, 0]
S = np.array([0.25, 0.5, -0.75, 1.0])
LOSS = OBJECTS | {"unknown name": "jacard", "needs parameters": "capped", "class": Jaccard}
METHOD = without(OBJECTS, "None") | {"name": "greedy", "loss": Jaccard()}
BATCH = OBJECTS | {"labels": Y, "class": Sets}
LABELS, SCORES, WEIGHTS = labels(P), numbers(P, negative=True), numbers(P)
LENGTHS = {"short": [1, 0, 1], "long": [1, 0, 1, 0, 1]}
CLASSES = without(LABELS, "another label") | {"a million": [0, 1, 10**6, 1]}
PREDICTIONS = {"scores": SCORES, "labels": LABELS | LENGTHS, "classes": CLASSES | LENGTHS}


def losses():
    """A loss of each class, called and evaluated on a batch."""
    batch = Sets.single(Y)
    for kind in LOSSES.values():
        loss, name = kind.examples(P)[0], kind.__name__
        good = S if loss.reads == "scores" else Y
        guesses, truths = PREDICTIONS[loss.reads], CLASSES if loss.reads == "classes" else LABELS
        yield Parameter(f"{name}.call(y_pred, scores)", partial(loss, Y), guesses)
        yield Parameter(f"{name}.call(y_true)", lambda v, loss=loss, good=good: loss(v, good), truths)
        yield Parameter(f"{name}.bind(batch)", loss.bind, BATCH)
        yield Parameter(f"{name}.values(batch)", lambda v, loss=loss, good=good: loss.values(v, good), OBJECTS)
        yield Parameter(f"{name}.values(predictions)", partial(loss.values, batch), guesses)


def label_costs():
    """Costs of labels by the nearest true one."""
    table = {"None": None, "text": "a", "flat": [1.0], "wide": np.ones((2, 3)), "negative": -np.ones((2, 2))}
    yield Parameter(
        "NearestCosts(distances)", NearestCosts, table | {"NaN": np.full((2, 2), np.nan), "cube": np.ones((2, 2, 2))}
    )
    yield Parameter("NearestCosts(missed)", lambda v: NearestCosts(np.ones((2, 2)), v), NUMBERS)
    yield Parameter("NearestHammingCosts(missed)", NearestHammingCosts, NUMBERS)
    yield Parameter("GivenCosts(function)", GivenCosts, without(OBJECTS, "class", "function"))
    yield Parameter("GivenCosts(most)", lambda v: GivenCosts(max, v), NUMBERS)
    for costs in (EqualCosts, NearestHammingCosts, partial(GivenCosts, max)):
        name = getattr(costs, "__name__", "GivenCosts")
        yield Parameter(f"{name}(factor)", lambda v, costs=costs: costs(factor=v), NUMBERS)


def functions_of_mistakes():
    """A loss as a set function."""
    f = Jaccard().of_mistakes(Y)
    yield Parameter("of_mistakes(y_true)", Jaccard().of_mistakes, LABELS)
    flags = {"numbers": [0, 1, 0, 1], "short": [True], "text": "a", "None": None, "ragged": [[True], [True, False]]}
    yield Parameter("of_mistakes(mistakes)", f, flags)
    orders = {"twice": [1, 1], "outside": [0, 4], "negative": [-1], "floats": [0.0, 1.0], "matrix": [[0, 1]]}
    orders |= {"words": ["a"], "None": None, "ragged": [[1], [1, 2]], "text": "01", "NaN": [np.nan], "number": 1}
    yield Parameter("of_mistakes.gains(order)", f.gains, orders)


def surrogates():
    """Every surrogate, of one set and of a batch."""
    tols = without(NUMBERS, "truth", "array") | {"three": [0.0] * 3, "tuple": (1.0, -1.0), "NaNs": [0.0, np.nan]}
    for kind in SURROGATES.values():
        surrogate, name = kind("max"), kind.__name__
        evaluator = surrogate.on(Sets.rows([Y[:2], Y[2:]]))
        yield Parameter(f"{name}.call(y)", lambda v, one=surrogate: one(v, S), LABELS)
        yield Parameter(f"{name}.call(scores)", partial(surrogate, Y), SCORES)
        yield Parameter(f"{name}.on(batch)", surrogate.on, BATCH)
        yield Parameter(f"{name}.batch(batch)", lambda v, one=surrogate: one.batch(v, S), BATCH)
        yield Parameter(f"{name}.batch(scores)", partial(surrogate.batch, evaluator.batch), SCORES)
        yield Parameter(f"{name}.evaluator(scores)", evaluator, SCORES)
        yield Parameter(f"{name}.evaluator(tol)", partial(evaluator, S), tols)
        yield Parameter(f"{name}.evaluator.take(parts)", evaluator.take, PARTS)


def single_sets():
    """The questions about one set, of labels and of classes."""
    yield Parameter("as_loss(loss)", as_loss, LOSS)
    yield Parameter("parse_losses(loss)", parse_losses, LOSS | {"nothing": "", "colon": "f1:", "word": "fbeta:a"})
    yield Parameter("loss_augmented_inference(loss)", lambda v: loss_augmented_inference(v, Y, S), LOSS)
    yield Parameter("max_marginals(loss)", lambda v: max_marginals(v, Y, S), LOSS)
    mean, columns = MeanOverClasses("f1"), np.column_stack([S, -S, 0.5 * S])
    flat = without(SCORES, "column", "matrix")
    wide = {"NaN": np.full((4, 3), np.nan), "text": np.full((4, 3), "a"), "huge": np.full((4, 3), 1e308)}
    wide |= {"one column": np.zeros((4, 1)), "none": np.zeros((4, 0)), "complex": np.ones((4, 3)) * 1j}
    wide |= {"rows": np.zeros((3, 3)), "three axes": np.zeros((4, 3, 1)), "dates": np.zeros((4, 3), "M8[D]")}
    for ask in (loss_augmented_inference, max_marginals):
        name = ask.__name__
        yield Parameter(f"{name}(y)", lambda v, ask=ask: ask("jaccard", v, S), LABELS)
        yield Parameter(f"{name} of classes(y)", lambda v, ask=ask: ask(mean, v, columns), labels(P, 2))
        yield Parameter(f"{name}(scores)", partial(ask, "jaccard", Y), flat)
        yield Parameter(f"{name} of classes(scores)", partial(ask, mean, Y), flat | wide)
        yield Parameter(f"{name}(inference)", lambda v, ask=ask: ask("f1", Y, S, inference=v), METHOD)
    weights = without(WEIGHTS, "None") | {"zero": [1.0, 0.0, 1.0, 1.0]}
    yield Parameter("inference(weights)", partial(loss_augmented_inference, "jaccard", Y, S), weights)
    yield Parameter("inference(slack)", lambda v: loss_augmented_inference("jaccard", Y, S, slack=v), FLAGS)


def descriptions():
    """What is told of a loss, and whether a surrogate is tight."""
    yield Parameter("describe(loss)", lambda v: describe(v, Y), LOSS)
    yield Parameter("describe(y_true)", partial(describe, "jaccard"), LABELS)
    seeds = NO_NUMBERS | {"negative": -1, "half": 0.5}
    yield Parameter("describe(random_state)", lambda v: describe(Hamming(), [0, 1] * 20, random_state=v), seeds)
    yield Parameter("margin_scale(loss)", lambda v: margin_scale(v, Y), LOSS)
    yield Parameter("margin_scale(y)", partial(margin_scale, "jaccard"), LABELS | {"large": [1] * 17})
    hinge = LovaszHinge("jaccard")
    truths = without(LABELS, "number") | {"none": 0, "many": 17, "negative": -1, "truth": True, "large": [1] * 17}
    yield Parameter("is_extension(y)", partial(is_extension, hinge), truths)
    wrong = OBJECTS | {"name": "lovasz", "class": MarginRescaling, "loss": Jaccard()}
    yield Parameter("is_extension(surrogate)", lambda v: is_extension(v, Y), wrong)
    yield Parameter("is_extension(tolerance)", partial(is_extension, hinge, Y), NUMBERS)


PARAMETERS = [*losses(), *label_costs(), *functions_of_mistakes(), *surrogates(), *single_sets(), *descriptions()]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
