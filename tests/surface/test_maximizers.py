"""Every method of inference, bound to each kind of batch that it takes, and what surrogates make of it."""

from functools import partial

import numpy as np
import pytest

from setwise.core.batch import Classes, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.networks import ClassGraphs, Graphs
from setwise.core.rankings import Rankings
from setwise.inference import INFERENCES, Auto, minimize_submodular
from setwise.losses import Hamming, Jaccard, MeanOverClasses, OneClass, OrderedPoints, RocArea
from setwise.spaces import SEARCHES
from setwise.surrogates import Difference, LinearEvaluator, MarginRescaling, Slack, Support
from surface.refusals import COUNTS, FLAGS, NUMBERS, OBJECTS, PARTS, Parameter, numbers, try_all, without

SETS = Sets.rows([[1, 0], [1, 0]])
CLASSES = Classes(np.array([0, 2, 1, 0]), SETS.offsets, 3)
BOUND_LOSSES = [loss.bind(SETS) for loss in (Hamming(), Jaccard(), RocArea())] + [
    loss.bind(CLASSES) for loss in (MeanOverClasses("f1"), OneClass("jaccard", 1), OrderedPoints(2, "pair"), Hamming())
]
# Without edges all scores are those of nodes, which may be negative.
BOUND_LOSSES.append(Hamming().bind(Graphs(SETS.truth, SETS.offsets, np.zeros((0, 2), np.int64))))
BOUND_LOSSES.append(Hamming().bind(ClassGraphs(CLASSES.labels, SETS.offsets, np.array([[0, 1], [3, 2]]), 3)))
TOLS = without(NUMBERS, "truth", "array") | {"three": [0.0] * 3, "tuple": (1.0, -1.0), "NaNs": [0.0, np.nan]}
LIMITS = without(NUMBERS, "negative", "inf", "-inf")
FORCED = {
    "None": None, "text": "a", "short": [0, 1], "floats": [0.0] * 4, "outside": [3, 0, 0, 0], "below": [-2, 0, 0, 0],
    "matrix": [[0, 1, 0, 1]], "words": ["a"] * 4, "ragged": [[0], [0, 1], [], []], "complex": [0j] * 4,
}  # fmt: skip


def methods():
    given = OBJECTS | {"loss": Jaccard(), "batch": SETS, "class": BoundLoss}
    for kind in (INFERENCES | SEARCHES).values():
        method = kind(Auto()) if "inner" in kind.__dataclass_fields__ else kind()
        yield Parameter(f"{kind.__name__}.prepare(bound_loss)", method.prepare, given)
        yield Parameter(f"{kind.__name__}.prepare(slack)", partial(method.prepare, BOUND_LOSSES[0]), FLAGS)
        for bound_loss in BOUND_LOSSES:
            if method.refuses(bound_loss) is None:
                where = f"{kind.__name__} of {bound_loss!r} on {type(bound_loss.batch).__name__}: "
                yield from maximizer(where, method.prepare(bound_loss))


def maximizer(where, one):
    batch = one.bound_loss.batch
    s, scores = np.linspace(-1, 1, batch.n_scores), numbers(batch.n_scores, negative=True)
    yield Parameter(f"{where}maximize(scores)", one.maximize, scores)
    yield Parameter(f"{where}maximize(tol)", partial(one.maximize, s), TOLS)
    yield Parameter(f"{where}take(parts)", one.take, PARTS)
    if isinstance(batch, Rankings):
        return
    yield Parameter(f"{where}max_marginals(scores)", one.max_marginals, scores)
    yield Parameter(f"{where}best(scores)", lambda v: one.best(v, np.full(4, -1)), scores)
    yield Parameter(f"{where}best(forced)", partial(one.best, s), FORCED)
    yield Parameter(f"{where}k_best(scores)", lambda v: one.k_best(v, 2), scores)
    yield Parameter(f"{where}k_best(k)", partial(one.k_best, s), COUNTS)
    yield Parameter(f"{where}above(scores)", lambda v: one.above(v, 0.0), scores)
    yield Parameter(f"{where}above(threshold)", partial(one.above, s), LIMITS)
    yield Parameter(f"{where}above(limit)", partial(one.above, s, 0.0), COUNTS)


def minimization():
    def of(answer):
        return lambda order: answer

    yield Parameter("minimize_submodular(gains)", lambda v: minimize_submodular(v, 3), without(OBJECTS, "class"))
    answers = {label: of(value) for label, value in numbers(3, negative=True).items()}
    answers = without(answers, "huge", "all huge")
    yield Parameter("minimize_submodular, its answers(gains)", lambda v: minimize_submodular(v, 3), answers)
    yield Parameter("minimize_submodular(p)", lambda v: minimize_submodular(lambda order: 0.0 * order, v), COUNTS)
    yield Parameter("minimize_submodular(max_iter)", partial(minimize_submodular, len, 2), COUNTS | {"zero": 0})


def evaluators():
    prepared = Auto().prepare(Hamming().bind(SETS))
    support, other = Support(prepared), Support(Auto().prepare(Hamming().bind(Sets.single([1, 0]))))
    wrong = OBJECTS | {"inference": Auto(), "loss": Jaccard()}
    slack = Auto().prepare(Hamming().bind(SETS), slack=True)
    yield Parameter("Support(maximizer)", Support, wrong | {"with slack": slack})
    scales = without(NUMBERS, "array", "tuple") | {"zero": 0.0, "three": np.ones(3), "NaNs": np.array([1.0, np.nan])}
    yield Parameter("Support(scale)", partial(Support, prepared), scales | {"zeros": np.zeros(2)})
    yield Parameter("Slack(maximizer)", Slack, wrong | {"without slack": prepared})
    flat = without(numbers(4, negative=True), "huge", "all huge")
    yield Parameter("LinearEvaluator(batch)", lambda v: LinearEvaluator(v, np.zeros(4), np.zeros(2)), OBJECTS)
    yield Parameter("LinearEvaluator(direction)", lambda v: LinearEvaluator(SETS, v, np.zeros(2)), flat)
    yield Parameter("LinearEvaluator(constant)", partial(LinearEvaluator, SETS, np.zeros(4)), flat)
    wrong = OBJECTS | {"another batch": other}
    yield Parameter("Difference(first)", lambda v: Difference(v, support), wrong)
    yield Parameter("Difference(second)", partial(Difference, support), wrong)
    floors = without(NUMBERS, "negative", "-inf")
    yield Parameter("Difference(floor)", partial(Difference, support, support), floors)
    unknown = Sets(np.array([1, -1, 0], dtype=np.int8), np.array([0, 3]))
    ramp = MarginRescaling("hamming").on(unknown)
    yield Parameter("Difference.majorant(scores)", ramp.majorant, numbers(3, negative=True))


PARAMETERS = [*methods(), *minimization(), *evaluators()]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter):
    try_all(parameter)
