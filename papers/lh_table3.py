"""LH Table 3: three labels with a capped and a saturating submodular loss (Eq. 52 and 53)."""

from papers.experiment import Experiment
from papers.lh_multilabel import Protocol, TableHalf
from setwise.losses import CappedLoss, SaturatingLoss

# The weights of mistakes in the three labels, the most frequent label first.
BETA = (1.0, 0.5, 0.2)

CAPPED = TableHalf(
    "Δ2",
    CappedLoss(BETA, cap=1.3),
    {"L": (0.4371, 0.9329), "0-1": (0.5091, 0.8320), "S": (0.4927, 0.8731), "M": (0.4437, 1.0010)},
    {"L": (0.0045, 0.0097), "0-1": (0.0023, 0.0074), "S": (0.0067, 0.0073), "M": (0.0034, 0.0080)},
)

SATURATING = TableHalf(
    "Δ3",
    SaturatingLoss(1.0, BETA),
    {"L": (0.9447, 0.8786), "0-1": (0.9877, 0.8173), "S": (0.9784, 0.8337), "M": (0.9718, 0.9425)},
    {"L": (0.0069, 0.0077), "0-1": (0.0044, 0.0061), "S": (0.0052, 0.0054), "M": (0.0041, 0.0054)},
)

PROTOCOL = Protocol(
    "lh_table3",
    "PASCAL VOC (person, dining table, chair)",
    (CAPPED, SATURATING),
    p=3,
    total=480,
    weights=(150.0, 150.0, 150.0, 30.0),
)

EXPERIMENT = Experiment(
    "lh_table3", "LH Table 3, three labels at once with submodular losses (Eq. 52, 53)", PROTOCOL.steps, PROTOCOL.run
)
