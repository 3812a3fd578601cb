"""LH Table 4: six labels with two saturating submodular losses (Eq. 54 and 55)."""

from papers.experiment import Experiment
from papers.lh_multilabel import Protocol, TableHalf
from setwise.losses import SaturatingLoss

BETA = (1.0, 0.8, 0.7, 0.6, 0.5, 0.4)

COUNT = TableHalf(
    "Δ4",
    SaturatingLoss(1.0),
    {"L": (0.5567, 1.4295), "0-1": (0.5729, 1.3924), "S": (0.5875, 1.4940), "M": (0.5820, 1.4802)},
    {"L": (0.0057, 0.0194), "0-1": (0.0060, 0.0195), "S": (0.0065, 0.0233), "M": (0.0063, 0.0233)},
)

# Our copy of the paper lacks the row M of this half.
WEIGHTED = TableHalf(
    "Δ5",
    SaturatingLoss(1.0, BETA),
    {"L": (1.3767, 1.3003), "0-1": (1.3813, 1.2975), "S": (1.4711, 1.3832)},
    {"L": (0.0143, 0.0176), "0-1": (0.0135, 0.0152), "S": (0.0153, 0.0156)},
)

PROTOCOL = Protocol(
    "lh_table4",
    "Microsoft COCO (person, cup, fork, knife, chair, dining table)",
    (COUNT, WEIGHTED),
    p=6,
    total=1050,
    # As many rows with each number of labels present, 0 to 6.
    weights=(150.0,) * 7,
)

EXPERIMENT = Experiment(
    "lh_table4", "LH Table 4, six labels at once with submodular losses (Eq. 54, 55)", PROTOCOL.steps, PROTOCOL.run
)
