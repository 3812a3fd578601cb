"""The parameters of every loss, surrogate, method of inference and learner that is found in its room."""

import pytest

from setwise.inference import INFERENCES, Auto
from setwise.learners import LEARNERS
from setwise.losses import LOSSES
from setwise.spaces import SEARCHES
from setwise.surrogates import SURROGATES
from surface.field_parameters import P, parameters
from surface.refusals import try_all

EXAMPLES = (
    [kind.examples(P)[0] for kind in LOSSES.values()]
    + [kind("jaccard") for kind in SURROGATES.values()]
    + [kind(Auto()) if "inner" in kind.__dataclass_fields__ else kind() for kind in (INFERENCES | SEARCHES).values()]
    + [kind() for kind in LEARNERS.values()]
)
PARAMETERS = [parameter for example in EXAMPLES for parameter in parameters(type(example), example)]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.where)
def test_a_malformed_parameter_is_refused_in_a_sentence(parameter):
    try_all(parameter)
