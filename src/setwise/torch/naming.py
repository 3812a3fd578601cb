"""The names of losses in PyTorch, with those that measures have where images are segmented, and of modules."""

import inspect

from torch import Tensor, nn

from setwise.core.loss import Loss
from setwise.losses import as_loss
from setwise.losses.names import SYNONYMS


def named(loss: Loss | str) -> Loss:
    """The loss itself, or the loss of this name, which is also ``"iou"`` for Jaccard and ``"dice"`` for F1."""
    return as_loss(SYNONYMS.get(loss, loss) if isinstance(loss, str) else loss)


def as_call(module: nn.Module, *parts: object) -> str:
    """The arguments with which the module is made once more, but for those that are as by default.

    They are attributes of the module, or of the ``parts`` that it has made of them.
    """
    words = []
    for name, parameter in inspect.signature(type(module)).parameters.items():
        sources = (module, *parts, *(getattr(part, "surrogate", None) for part in parts))
        value = next((getattr(one, name) for one in sources if hasattr(one, name)), parameter.default)
        value = value.tolist() if isinstance(value, Tensor) else value
        if parameter.default is inspect.Parameter.empty or value != parameter.default:
            words.append(f"{name}={value!r}")
    return ", ".join(words)
