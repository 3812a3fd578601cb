"""Fits for several C on the same rows, each of which begins with what the one before has found."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from setwise.core.checks import Values
from setwise.estimators.fitting import solve
from setwise.estimators.problem import problem_of
from setwise.estimators.set_classifier import SetClassifier


def path(model: SetClassifier, data: Sequence[Any], Cs: Values) -> Iterator[SetClassifier]:
    """Copies of ``model``, fitted for each C in turn; ``data`` are X, y, groups and sample_weight.

    The sets, the surrogate and the logistic start are bound once. A fit of a convex surrogate begins at the weights of
    the last one, with its planes. A fit of the ramp begins at the start, so that it is what ``fit`` alone gives. No
    threshold is chosen.
    """
    X, y, groups, sample_weight = data
    problem, last, seen = None, None, {}
    for C in Cs:
        one = clone(model).set_params(C=float(C), warm_start=False)
        if problem is None:
            problem = problem_of(one, X, y, groups, sample_weight, one._intercept, path=True).in_order()
            # The number and the names of the features.
            seen = {name: value for name, value in one.__dict__.items() if name.endswith("_in_")}
        one.__dict__.update(seen)
        trained = solve(one, problem, last)
        one._keep(problem, trained, 0.0, groups is not None)
        if trained.fit.status == "interrupted":
            raise KeyboardInterrupt
        last = None if np.isnan(trained.radius) else trained.w
        yield one
