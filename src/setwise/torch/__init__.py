"""Set losses for neural networks: the surrogates of setwise as PyTorch modules, and decisions and metrics beside them.

Every module has a functional twin. Logits, targets and arguments mean the same in all of them; see
:class:`setwise.torch.Criterion`.
"""

from typing import TYPE_CHECKING

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    # Of a PyTorch that is there, but broken, the error itself says more.
    if error.name != "torch":
        raise
    raise ImportError("setwise.torch needs PyTorch 2.4 or later: pip install torch.") from None

from setwise.core.attributes import lazily

if TYPE_CHECKING:
    from setwise.torch.arguments import Arguments as Arguments
    from setwise.torch.criterion import Criterion as Criterion
    from setwise.torch.decisions import TensorDecision as TensorDecision
    from setwise.torch.decisions import decide as decide
    from setwise.torch.grid_decisions import marginals as marginals
    from setwise.torch.grid_decisions import max_marginals as max_marginals
    from setwise.torch.grid_decisions import most_probable as most_probable
    from setwise.torch.grids import GridCriterion as GridCriterion
    from setwise.torch.grids import LogSupermodularLoss as LogSupermodularLoss
    from setwise.torch.grids import MaxMarginMRFLoss as MaxMarginMRFLoss
    from setwise.torch.grids import log_supermodular_loss as log_supermodular_loss
    from setwise.torch.grids import max_margin_mrf_loss as max_margin_mrf_loss
    from setwise.torch.lovasz import LovaszHingeLoss as LovaszHingeLoss
    from setwise.torch.lovasz import LovaszSoftmaxLoss as LovaszSoftmaxLoss
    from setwise.torch.lovasz import lovasz_extension as lovasz_extension
    from setwise.torch.lovasz import lovasz_hinge_loss as lovasz_hinge_loss
    from setwise.torch.lovasz import lovasz_softmax_loss as lovasz_softmax_loss
    from setwise.torch.metric import SetMetric as SetMetric
    from setwise.torch.ranking import AveragePrecisionLoss as AveragePrecisionLoss
    from setwise.torch.ranking import RocAreaLoss as RocAreaLoss
    from setwise.torch.ranking import average_precision_loss as average_precision_loss
    from setwise.torch.ranking import roc_area_loss as roc_area_loss
    from setwise.torch.rescaling import MarginRescalingLoss as MarginRescalingLoss
    from setwise.torch.rescaling import RampLoss as RampLoss
    from setwise.torch.rescaling import SlackRescalingLoss as SlackRescalingLoss
    from setwise.torch.rescaling import margin_rescaling_loss as margin_rescaling_loss
    from setwise.torch.rescaling import ramp_loss as ramp_loss
    from setwise.torch.rescaling import slack_rescaling_loss as slack_rescaling_loss

_NAMES = {
    "arguments": ["Arguments"],
    "criterion": ["Criterion"],
    "decisions": ["TensorDecision", "decide"],
    "grid_decisions": ["marginals", "max_marginals", "most_probable"],
    "grids": [
        "GridCriterion",
        "LogSupermodularLoss",
        "MaxMarginMRFLoss",
        "log_supermodular_loss",
        "max_margin_mrf_loss",
    ],
    "lovasz": ["LovaszHingeLoss", "LovaszSoftmaxLoss", "lovasz_extension", "lovasz_hinge_loss", "lovasz_softmax_loss"],
    "metric": ["SetMetric"],
    "ranking": ["AveragePrecisionLoss", "RocAreaLoss", "average_precision_loss", "roc_area_loss"],
    "rescaling": [
        "MarginRescalingLoss",
        "RampLoss",
        "SlackRescalingLoss",
        "margin_rescaling_loss",
        "ramp_loss",
        "slack_rescaling_loss",
    ],
}

__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
