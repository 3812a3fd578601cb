"""Estimators with the interface of scikit-learn."""

from typing import TYPE_CHECKING

from setwise.core.attributes import lazily

if TYPE_CHECKING:
    from setwise.estimators.binary_denoiser import BinaryDenoiser as BinaryDenoiser
    from setwise.estimators.gibbs import GibbsBound as GibbsBound
    from setwise.estimators.gibbs import gibbs_bound as gibbs_bound
    from setwise.estimators.graph_classifier import GraphClassifier as GraphClassifier
    from setwise.estimators.linear_training import VacuousBoundWarning as VacuousBoundWarning
    from setwise.estimators.log_supermodular_model import LogSupermodularModel as LogSupermodularModel
    from setwise.estimators.map_rule import MapRule as MapRule
    from setwise.estimators.map_rule import ShiftWarning as ShiftWarning
    from setwise.estimators.measure_classifier import MeasureClassifier as MeasureClassifier
    from setwise.estimators.multilabel_baselines import SSVM as SSVM
    from setwise.estimators.multilabel_baselines import IndependentSVMs as IndependentSVMs
    from setwise.estimators.multilabel_baselines import JointKernelSupport as JointKernelSupport
    from setwise.estimators.multilabel_baselines import PowersetSSVM as PowersetSSVM
    from setwise.estimators.multilabel_structured_predictor import (
        MultilabelStructuredPredictor as MultilabelStructuredPredictor,
    )
    from setwise.estimators.set_classifier import SetClassifier as SetClassifier
    from setwise.estimators.set_classifier_cv import SetClassifierCV as SetClassifierCV
    from setwise.estimators.svmperf import SVMperf as SVMperf
    from setwise.estimators.table_encoder import TableEncoder as TableEncoder
    from setwise.estimators.table_encoder import tree_categories as tree_categories
    from setwise.estimators.weak.weak_set_classifier import WeakSetClassifier as WeakSetClassifier

_NAMES = {
    "binary_denoiser": ["BinaryDenoiser"],
    "gibbs": ["GibbsBound", "gibbs_bound"],
    "graph_classifier": ["GraphClassifier"],
    "linear_training": ["VacuousBoundWarning"],
    "log_supermodular_model": ["LogSupermodularModel"],
    "map_rule": ["MapRule", "ShiftWarning"],
    "measure_classifier": ["MeasureClassifier"],
    "multilabel_baselines": ["IndependentSVMs", "JointKernelSupport", "PowersetSSVM", "SSVM"],
    "multilabel_structured_predictor": ["MultilabelStructuredPredictor"],
    "set_classifier": ["SetClassifier"],
    "set_classifier_cv": ["SetClassifierCV"],
    "svmperf": ["SVMperf"],
    "table_encoder": ["TableEncoder", "tree_categories"],
    "weak.weak_set_classifier": ["WeakSetClassifier"],
}

__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
