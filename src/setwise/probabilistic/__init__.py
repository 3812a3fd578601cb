"""Probabilities of labelings: log-supermodular (Shpakova and Bach 2016; LSM), and of bags whose counts are known."""

from setwise.probabilistic.base_function import BaseFunction
from setwise.probabilistic.bounds.exact import exact
from setwise.probabilistic.bounds.l_field import base_point, l_field
from setwise.probabilistic.bounds.log_partition import LogPartition
from setwise.probabilistic.bounds.logistic import logistic
from setwise.probabilistic.bounds.mean_field import mean_field
from setwise.probabilistic.bounds.perturbed import Maxima, perturbed_maxima
from setwise.probabilistic.bounds.superdifferential import superdifferential
from setwise.probabilistic.bounds.tree_reweighted import tree_reweighted
from setwise.probabilistic.count_likelihood import AllowedPartition, CountLikelihood
from setwise.probabilistic.energies import Energies
from setwise.probabilistic.functions import ConcaveOfSize, Cut, Modular, SetFunctionOf
from setwise.probabilistic.hidden_likelihood import HiddenLikelihood
from setwise.probabilistic.likelihood import LFieldLikelihood, PerturbedLikelihood
from setwise.probabilistic.log_supermodular import LogSupermodular
from setwise.probabilistic.perfect import Samples, sample
from setwise.probabilistic.proportion_loss import BagDivergence, ProportionLoss

__all__ = [
    "AllowedPartition",
    "BagDivergence",
    "BaseFunction",
    "ConcaveOfSize",
    "CountLikelihood",
    "Cut",
    "Energies",
    "HiddenLikelihood",
    "LFieldLikelihood",
    "LogPartition",
    "LogSupermodular",
    "Maxima",
    "Modular",
    "PerturbedLikelihood",
    "ProportionLoss",
    "Samples",
    "SetFunctionOf",
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
