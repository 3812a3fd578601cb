"""The surface is covered: every public name has its malformed arguments, or takes none."""

from importlib import import_module

import setwise
from surface import (
    test_batches,
    test_boosting,
    test_calls,
    test_comparisons,
    test_constructors,
    test_decisions,
    test_file_classifier,
    test_graph_classifier,
    test_graphs,
    test_large_spaces,
    test_map_rule,
    test_maximizers,
    test_measure_classifier,
    test_multilabel,
    test_pictures,
    test_probabilistic,
    test_saved_models,
    test_set_classifier,
    test_spaces,
    test_svmperf,
    test_thresholds,
    test_training,
    test_weak_set_classifier,
    test_windows,
)

PARAMETERS = [
    *test_batches.batches(),
    *test_batches.bound_losses(),
    *test_boosting.PARAMETERS,
    *test_calls.PARAMETERS,
    *test_comparisons.of_compare(),
    *test_comparisons.of_measures(),
    *test_comparisons.of_plans(),
    *test_comparisons.of_problems(),
    *test_constructors.PARAMETERS,
    *test_decisions.PARAMETERS,
    *test_file_classifier.calls(),
    *test_graph_classifier.networks(),
    *test_graphs.graphs(),
    *test_graphs.images(),
    *test_graphs.weak_labels(),
    *test_large_spaces.PARAMETERS,
    *test_map_rule.calls(),
    *test_maximizers.PARAMETERS,
    *test_measure_classifier.PARAMETERS_OF_ALL,
    *test_multilabel.PARAMETERS,
    *test_pictures.PARAMETERS,
    *test_probabilistic.distributions(),
    *test_probabilistic.likelihoods(),
    *test_probabilistic.bags(),
    *test_probabilistic.estimators(),
    *test_saved_models.files(),
    *test_saved_models.models(),
    *test_saved_models.tuning(),
    *test_set_classifier.calls(),
    *test_spaces.PARAMETERS,
    *test_svmperf.calls(),
    *test_thresholds.PARAMETERS,
    *test_training.features(),
    *test_training.landmarks(),
    *test_training.single_labels(),
    *test_training.networks(),
    *test_training.grids(),
    *test_training.risks(),
    *test_weak_set_classifier.calls(),
    *test_windows.PARAMETERS,
]

ROOMS = (
    "losses",
    "surrogates",
    "inference",
    "models",
    "risks",
    "learners",
    "decisions",
    "graphs",
    "plotting",
    "probabilistic",
    "spaces",
    "compare",
    "boosting",
)

ABSTRACT = {
    "BaseFunction",
    "Evaluator",
    "Features",
    "Inference",
    "LargeSpace",
    "LegalSets",
    "Learner",
    "Loss",
    "Maximizer",
    "Risk",
    "Space",
    "Surrogate",
}
RESULTS = {
    "BootstrapThreshold",
    "ClassOffsets",
    "Decision",
    "LabelThresholds",
    "OperatingPoint",
    "Threshold",
    "TopLabels",
    "UnmetFloor",
}
RESULTS |= {"DecisionInPieces"}
RESULTS |= {
    "Answer",
    "LegalDecisions",
    "GraphScores",
    "LogPartition",
    "Maxima",
    "Samples",
    "Evaluation",
    "Fit",
    "Record",
    "SetEvaluation",
    "Solution",
    "Solutions",
    "TunedModel",
}
# These are made by functions of the same arguments, which are tried.
RESULTS |= {"Metric", "Objective"}
# Its labels are checked as those of the loss are, which tests/losses/test_row_costs.py tries.
OTHERS = {"savings_score", "ShiftWarning", "Trait", "VacuousBoundWarning", "loss_forms", "plain_losses"}


def test_every_public_name_is_tried():
    tried = {parameter.where.split("(")[0].split(".")[0].split(" of ")[0] for parameter in PARAMETERS}
    public = set(setwise.__all__)
    for room in ROOMS:
        public |= {name for name in import_module(f"setwise.{room}").__all__ if not name.isupper()}
    assert public - ABSTRACT - RESULTS - OTHERS - tried == set()


def test_there_are_many_cases():
    assert sum(len(parameter.values) for parameter in PARAMETERS) >= 5000
