"""Probabilities of labelings: log-supermodular (Shpakova and Bach 2016; LSM), and of bags whose counts are known."""

from setwise.probabilistic.base_functions import (
    BaseFunction,
    CallableSetFunction,
    ConcaveSizeFunction,
    Cut,
    ModularFunction,
)
from setwise.probabilistic.counts import AllowedPartition, BagDivergence, CountLikelihood, ProportionLoss
from setwise.probabilistic.energies import Energies
from setwise.probabilistic.exact_sums import exact
from setwise.probabilistic.likelihood import HiddenLikelihood, LFieldLikelihood, PerturbedLikelihood
from setwise.probabilistic.log_supermodular_distribution import LogSupermodularDistribution
from setwise.probabilistic.perturbations import Maxima, logistic, perturbed_maxima
from setwise.probabilistic.sampling import Samples, sample
from setwise.probabilistic.tree_bounds import tree_reweighted
from setwise.probabilistic.variational_bounds import LogPartition, base_point, l_field, mean_field, superdifferential

__all__ = [
    "AllowedPartition",
    "BagDivergence",
    "BaseFunction",
    "CallableSetFunction",
    "ConcaveSizeFunction",
    "CountLikelihood",
    "Cut",
    "Energies",
    "HiddenLikelihood",
    "LFieldLikelihood",
    "LogPartition",
    "LogSupermodularDistribution",
    "Maxima",
    "ModularFunction",
    "PerturbedLikelihood",
    "ProportionLoss",
    "Samples",
    "base_point",
    "exact",
    "l_field",
    "logistic",
    "mean_field",
    "perturbed_maxima",
    "sample",
    "superdifferential",
    "tree_reweighted",
]
