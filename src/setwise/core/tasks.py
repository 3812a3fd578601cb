"""The names to start with, by task: for the first page of the reference, and for ``setwise list --for``."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class TaskNames:
    """A task, and the names that solve it.

    Parameters
    ----------
    title : the heading of its section of the documentation
    page : the start page of the section, a file below ``docs`` without its ending
    names : what each public name is for, by its name below ``setwise``; losses with the text that asks for them
    """

    title: str
    page: str
    names: dict[str, str]


TASKS = {
    "tables": TaskNames(
        "Tables",
        "tables/index",
        {
            "compare.compare": "which model and threshold is best on your table, and how sure that is",
            "MeasureClassifier": "a classifier with the best threshold, or another rule, for a measure; any classes",
            "decisions.best_threshold": "the best threshold for scores that you have",
            "decisions.bagged_threshold": "the same for a few hundred rows, where the best threshold is partly luck",
            "decisions.bootstrap_threshold": "how sure a threshold is",
            "plotting.ThresholdDisplay": "a picture of the loss at all thresholds",
            "compare.tune": "only the threshold of a saved model, on new rows; also ``setwise tune``",
            "compare.save_model": "write a fitted model to a file that holds no code",
            "compare.load_model": "read such a file; none of its code is run",
            "boosting.objective": "an objective for LightGBM and XGBoost",
            "boosting.metric": "a metric for LightGBM and XGBoost",
            "FileClassifier": "a linear model for a file that does not fit into memory",
            "dask.SetClassifier": "a linear model for rows on the workers of a Dask cluster, also for AUC",
            "losses.FBeta": "F1: 'f1', or 'fbeta:2' for another beta",
            "losses.MCC": "Matthews correlation coefficient: 'mcc'",
            "losses.BalancedError": "balanced accuracy: 'balanced_error'",
            "losses.MeanOverClasses": "macro F1 of several classes: 'f1_macro'",
            "losses.RocArea": "area under the ROC curve: 'auc'",
            "losses.AveragePrecision": "average precision: 'average_precision'",
            "losses.PrecisionAtK": "precision among the 20 largest scores: 'precision_at_k:20'",
        },
    ),
    "costs": TaskNames(
        "Costs and floors",
        "costs/index",
        {
            "decisions.precision_at_recall": "the threshold of best precision at a floor of recall",
            "decisions.recall_at_precision": "the threshold of best recall at a floor of precision",
            "decisions.recall_at_alarm_rate": "the threshold of best recall at a limit of alarms",
            "decisions.recall_at_false_positive_rate": "the threshold of best recall at a false positive rate",
            "decisions.constrained_threshold": "the threshold of least loss under several floors",
            "decisions.Floor": "one floor: a rate, its least value, and a confidence",
            "compare.FlooredThreshold": "a floor inside MeasureClassifier",
            "losses.savings_score": "the share of the cost that predictions save",
            "SVMperf": "a linear model that counts positives well (quantification)",
            "losses.RowCosts": "costs of each row, as numbers or columns of the table",
            "losses.ClassWeightedHamming": "an alarm costs 1 and a miss 5: 'class_weighted_hamming:1:5'",
            "losses.KLD": "error of the predicted share of positives: 'kld'",
        },
    ),
    "segmentation": TaskNames(
        "Segmentation",
        "segmentation/index",
        {
            "torch.LovaszHingeLoss": "train a network for the IoU of one class",
            "torch.LovaszSoftmaxLoss": "train a network for the mean IoU of several classes",
            "torch.decide": "the masks of best expected IoU from logits, without training",
            "torch.SetMetric": "IoU or F1 of a data set, batch by batch",
            "MapRule": "the best rule to get labels from the probability maps of a trained network",
            "decisions.least_expected_loss_of_map": "the best labels of one probability map",
            "GraphClassifier": "pixels or superpixels with their neighbors, without a network",
            "graphs.from_image": "the graph of the pixels or superpixels of an image",
            "torch.MaxMarginMRFLoss": "train a network whose neighboring pixels attract each other",
            "BinaryDenoiser": "restore images with flipped pixels",
            "losses.Jaccard": "IoU of one class: 'jaccard'",
            "losses.MeanOverClasses": "mean IoU of several classes: 'mean_over_classes:jaccard'",
        },
    ),
    "labels": TaskNames(
        "Many labels",
        "labels/index",
        {
            "decisions.least_expected_loss": "the best labels of each row from probabilities",
            "decisions.label_thresholds": "a threshold for each label",
            "decisions.gfm": "the labels of best expected F1 where labels depend on each other",
            "MultilabelStructuredPredictor": "train labels together, as those of a hierarchy",
            "spaces.Hierarchy": "a hierarchy of labels",
            "IndependentSVMs": "one support vector machine for each label: the model to beat",
            "spaces.hierarchical_f1": "F1 of the labels of a hierarchy",
            "losses.FBeta": "F1 of the labels of each row: 'f1'",
            "losses.Hamming": "number of wrong labels: 'hamming'",
        },
    ),
    "structured": TaskNames(
        "Structured prediction",
        "structured/index",
        {
            "SetClassifier": "a linear model trained for a measure of groups of rows",
            "WeakSetClassifier": "rows of which only the number of positives of each bag is known",
            "spaces.LabelSequences": "labels of sequences",
            "spaces.Windows": "boxes in images of visual words",
            "spaces.NetworkLabelings": "labels of networks",
            "describe": "what is exact for a loss of your own",
            "losses.EarlyDetection": "early mistakes cost the most: 'early_detection'",
            "losses.CountFunctionLoss": "a function of your own of the confusion matrix",
            "losses.SetFunctionLoss": "any function of your own of the mistakes",
        },
    ),
}
"""The tasks by their words for ``setwise list --for``."""
