"""The methods by their names, for linear models."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from setwise.core.checks import Values
from setwise.estimators.weak import alternation, likelihood, margin, proportions
from setwise.estimators.weak.problem import LinearModel, Problem, Settings

Method = Callable[[Problem, Values | None, Settings], LinearModel]
"""A function of a problem, of the weights (d + 1,) where it begins or None for its own, and of settings."""

LINEAR: Mapping[str, Method] = MappingProxyType(
    {
        "proportion_loss": proportions.fit,
        "count_likelihood": likelihood.fit,
        "alternation": alternation.fit,
        "margin": margin.fit,
        "ramp": margin.ramp,
    }
)
