"""Set losses for neural networks: the surrogates of setwise as PyTorch modules, and decisions and metrics beside them.

Every module has a functional twin. Logits, targets and arguments mean the same in all of them; see
:class:`setwise.torch.Criterion`.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    # Of a PyTorch that is there, but broken, the error itself says more.
    if error.name != "torch":
        raise
    raise ImportError("setwise.torch needs PyTorch 2.4 or later: pip install torch.") from None

from setwise.torch.arguments import Arguments
from setwise.torch.criterion import Criterion
from setwise.torch.deciding import Decision, decide
from setwise.torch.grid_decisions import marginals, max_marginals, most_probable
from setwise.torch.grids import (
    GridCriterion,
    LogSupermodularLoss,
    MaxMarginMRFLoss,
    log_supermodular_loss,
    max_margin_mrf_loss,
)
from setwise.torch.lovasz import LovaszHingeLoss, LovaszSoftmaxLoss, lovasz_hinge_loss, lovasz_softmax_loss
from setwise.torch.lovasz_extension import lovasz_extension
from setwise.torch.ranking import AveragePrecisionLoss, RocAreaLoss, average_precision_loss, roc_area_loss
from setwise.torch.rescaling import (
    MarginRescalingLoss,
    RampLoss,
    SlackRescalingLoss,
    margin_rescaling_loss,
    ramp_loss,
    slack_rescaling_loss,
)
from setwise.torch.set_metric import SetMetric

__all__ = [
    "Arguments",
    "AveragePrecisionLoss",
    "Criterion",
    "Decision",
    "GridCriterion",
    "LogSupermodularLoss",
    "LovaszHingeLoss",
    "LovaszSoftmaxLoss",
    "MarginRescalingLoss",
    "MaxMarginMRFLoss",
    "RampLoss",
    "RocAreaLoss",
    "SetMetric",
    "SlackRescalingLoss",
    "average_precision_loss",
    "decide",
    "log_supermodular_loss",
    "lovasz_extension",
    "lovasz_hinge_loss",
    "lovasz_softmax_loss",
    "margin_rescaling_loss",
    "marginals",
    "max_margin_mrf_loss",
    "max_marginals",
    "most_probable",
    "ramp_loss",
    "roc_area_loss",
    "slack_rescaling_loss",
]
