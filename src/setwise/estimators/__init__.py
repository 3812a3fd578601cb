"""Estimators with the interface of scikit-learn."""

from setwise.estimators.binary_denoiser import BinaryDenoiser
from setwise.estimators.file_classifier import FileClassifier
from setwise.estimators.gibbs_bound import GibbsBound, gibbs_bound
from setwise.estimators.graph_classifier import GraphClassifier
from setwise.estimators.independent_svms import IndependentSVMs
from setwise.estimators.joint_kernel_support import JointKernelSupport
from setwise.estimators.log_supermodular_model import LogSupermodularModel
from setwise.estimators.measure_classifier import MeasureClassifier
from setwise.estimators.multilabel_structured_predictor import MultilabelStructuredPredictor
from setwise.estimators.powerset_ssvm import PowersetSSVM
from setwise.estimators.set_classifier import SetClassifier
from setwise.estimators.set_classifier_cv import SetClassifierCV
from setwise.estimators.ssvm import SSVM
from setwise.estimators.svmperf import SVMperf
from setwise.estimators.table_encoder import TableEncoder, tree_categories
from setwise.estimators.vacuous import VacuousBoundWarning
from setwise.estimators.weak.weak_set_classifier import WeakSetClassifier

__all__ = [
    "SSVM",
    "BinaryDenoiser",
    "FileClassifier",
    "GibbsBound",
    "GraphClassifier",
    "IndependentSVMs",
    "JointKernelSupport",
    "LogSupermodularModel",
    "MeasureClassifier",
    "MultilabelStructuredPredictor",
    "PowersetSSVM",
    "SVMperf",
    "SetClassifier",
    "SetClassifierCV",
    "TableEncoder",
    "VacuousBoundWarning",
    "WeakSetClassifier",
    "gibbs_bound",
    "tree_categories",
]
