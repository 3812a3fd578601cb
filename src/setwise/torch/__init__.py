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

_HOMES = {
    "Arguments": "arguments",
    "AveragePrecisionLoss": "ranking",
    "Criterion": "criterion",
    "TensorDecision": "decisions",
    "GridCriterion": "grids",
    "LogSupermodularLoss": "grids",
    "LovaszHingeLoss": "lovasz",
    "LovaszSoftmaxLoss": "lovasz",
    "MarginRescalingLoss": "rescaling",
    "MaxMarginMRFLoss": "grids",
    "RampLoss": "rescaling",
    "RocAreaLoss": "ranking",
    "SetMetric": "metric",
    "SlackRescalingLoss": "rescaling",
    "average_precision_loss": "ranking",
    "decide": "decisions",
    "log_supermodular_loss": "grids",
    "lovasz_extension": "lovasz",
    "lovasz_hinge_loss": "lovasz",
    "lovasz_softmax_loss": "lovasz",
    "margin_rescaling_loss": "rescaling",
    "marginals": "grid_decisions",
    "max_margin_mrf_loss": "grids",
    "max_marginals": "grid_decisions",
    "most_probable": "grid_decisions",
    "ramp_loss": "rescaling",
    "roc_area_loss": "ranking",
    "slack_rescaling_loss": "rescaling",
}

__all__ = sorted(_HOMES)

__getattr__, __dir__ = lazily(__name__, _HOMES)
