"""The arguments of losses in PyTorch: what the channels of logits mean, which decisions make a set, and names.

Losses have the names that measures have where images are segmented. Refusals speak in the words of the modules.
"""

import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar, final

import torch
from torch import Tensor, nn

from setwise.core.checks import as_choice, as_flag, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import ARGUMENTS, MODES
from setwise.losses import as_loss

Mode = Literal["binary", "multiclass", "multilabel"]

Classes = Literal["present", "all"] | Sequence[int]

Empty = Literal["perfect", "fraction", "ignore"]


@final
@dataclass(frozen=True)
class Arguments:
    """What the channels of logits mean, which decisions make a set, and which sets count.

    Source: this library.

    Parameters
    ----------
    mode : ``"binary"``: one channel, whose decisions are positive above 0; ``"multiclass"``: one label for each pixel;
        ``"multilabel"``: any number of labels for each pixel. Of several channels each class is a set, against the rest
    ignore_index : the value of the target at which pixels do not count; None counts all. In multiclass mode it may be a
        class, whose pixels do not count then
    per_image : whether each image has sets of its own, or else the whole batch is one set of each class
    classes : ``"present"`` counts the sets that have positives, ``"all"`` counts all, and a list counts the classes
        of these indices; binary mode has one class, which counts
    include_background : whether class 0 counts where there are several
    empty : what a set without positives costs: None leaves it to the loss, ``"perfect"`` and ``"fraction"`` are those
        of :class:`setwise.losses.Jaccard` (``"perfect"`` is ``zero_division=1`` of other losses), and ``"ignore"``
        leaves the set out of the mean

    Raises
    ------
    Refusal : for classes, or without the background, in binary mode
    ValueError : for words and numbers that are none of these
    TypeError : for flags that are no bools, and an ``ignore_index`` that is no whole number

    Examples
    --------
    >>> from setwise.torch import Arguments, LovaszHingeLoss
    >>> LovaszHingeLoss(mode="multiclass", include_background=False).arguments.channels(3)
    [1, 2]
    >>> Arguments(per_image=True).only_present, Arguments("multilabel").only_present
    (False, True)
    """

    mode: Mode = "binary"
    ignore_index: int | None = None
    per_image: bool = False
    classes: Classes = "present"
    include_background: bool = True
    empty: Empty | None = None

    def __post_init__(self) -> None:
        as_choice(self.mode, "mode", ("binary", "multiclass", "multilabel"))
        as_flag(self.per_image, "per_image")
        as_flag(self.include_background, "include_background")
        if self.ignore_index is not None:
            if not _whole(self.ignore_index):
                raise TypeError(f"ignore_index must be None or a whole number; got {shown(self.ignore_index)}.")
            if not -(2**63) <= int(self.ignore_index) < 2**63:
                raise ValueError(f"ignore_index must be a whole number of int64; got {shown(self.ignore_index)}.")
            object.__setattr__(self, "ignore_index", int(self.ignore_index))
        if self.empty is not None:
            as_choice(self.empty, "empty", ("perfect", "fraction", "ignore"))
        object.__setattr__(self, "classes", _as_classes(self.classes))
        if self.mode == "binary" and not (self.classes == "present" and self.include_background):
            raise Refusal(
                "classes and include_background choose among several channels, but mode='binary' has one.", ARGUMENTS
            )

    @property
    def only_present(self) -> bool:
        """Whether sets without positives are left out."""
        return self.empty == "ignore" or (self.mode != "binary" and self.classes == "present")

    def channels(self, count: int) -> list[int]:
        """The numbers of the channels that may count, of ``count`` that logits have."""
        found = list(range(count))
        if not isinstance(self.classes, str):
            found = list(self.classes)
            if max(found) >= count:
                raise ValueError(f"classes must be below the {count} channels of logits; got {max(found)}.")
        if not self.include_background:
            found = [c for c in found if c != 0]
        if not found:
            raise ValueError(f"classes must leave at least one of the {count} channels of logits; none is left.")
        return found

    def of(self, loss: Loss) -> Loss:
        """The loss, with the cost of sets without positives that ``empty`` asks for."""
        if loss.reads == "classes":
            raise Refusal(
                f"setwise.torch refuses {loss!r}: here each class is a set against the rest. Pass the loss of one "
                "class, with mode='multiclass'.",
                MODES,
            )
        if self.empty in (None, "ignore"):
            return loss
        choices: set[str] = {field.name for field in fields(loss)} if is_dataclass(loss) else set()
        # The value of a measure that is 0/0 where there is no positive and none is predicted.
        divides = self.empty == "perfect" and "zero_division" in choices
        chosen: dict[str, Any] = {"zero_division": 1.0} if divides else {"empty": self.empty}
        if not is_dataclass(loss) or not choices.issuperset(chosen):
            raise Refusal(
                f"empty={self.empty!r} is for losses that have this choice, such as Jaccard; {loss!r} has its own "
                "cost of sets without positives. Leave empty out, or use empty='ignore'.",
                ARGUMENTS,
            )
        return replace(loss, **chosen)


def _whole(value: object) -> bool:
    """Whether a value is a whole number."""
    return not isinstance(value, bool) and hasattr(value, "__index__")


def _as_classes(classes: object) -> Classes:
    """The word, or the different class numbers as a tuple."""
    if isinstance(classes, str) and classes in ("present", "all"):
        return classes  # type: ignore[return-value]
    numbers = tuple(classes) if isinstance(classes, Iterable) and not isinstance(classes, str) else ()
    if not numbers or not all(_whole(c) and c >= 0 for c in numbers) or len(set(numbers)) < len(numbers):
        raise ValueError(f"classes must be 'present', 'all' or different class numbers from 0; got {shown(classes)}.")
    return tuple(int(c) for c in numbers)


def named(loss: Loss | str) -> Loss:
    """The loss itself, or the loss of this name, which is also ``"iou"`` for Jaccard and ``"dice"`` for F1."""
    return as_loss(loss)


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


Found = TypeVar("Found")

MANY = 20
"""So many logits, of which each is as often below 0 as above, are all in [0, 1] in one of a million networks."""

WORDS = (("surrogate='margin'", "MarginRescalingLoss"), ("LovaszHinge refuses", "the Lovász extension refuses"))


def worded(function: Callable[..., Found], *given: object) -> Found:
    """``function(*given)``, whose refusals name modules in place of estimators, and ``logits`` in place of scores."""
    try:
        return function(*given)
    except Refusal as refusal:
        sentence = refusal.sentence
        for there, here in WORDS:
            sentence = sentence.replace(there, here)
        raise Refusal(sentence, refusal.page) from None
    except (ValueError, OverflowError) as error:
        if not str(error).startswith("scores "):
            raise
        raise type(error)(str(error).replace("scores", "logits", 1)) from None


_is_tracing: Callable[[], bool] = vars(torch.jit)["is_tracing"]


def refuse_tracing(name: str) -> None:
    """Raise RuntimeError while ``torch.jit.trace`` runs, for it takes what the host computes for a constant."""
    # torch.jit.script reads comments that begin with "type:" for types, so mypy is told by a name.
    if _is_tracing():
        raise RuntimeError(
            f"torch.jit.trace refuses {name}: what it computes outside of PyTorch would stay that of the first batch. "
            "Trace the network alone, or use torch.compile."
        )


def in_unit(logits: torch.Tensor) -> bool:
    """Whether logits of the CPU, many of them, are all in [0, 1] and reach far in it, as probabilities do; O(n)."""
    if logits.layout != torch.strided or not logits.is_cpu or not logits.is_floating_point() or logits.numel() < MANY:
        return False
    low, high = torch.aminmax(logits.detach())
    return bool(0 <= low < 0.25 and 0.75 < high <= 1)


def warn_of_probabilities(what: str, level: int = 3) -> None:
    """Warn that what is given looks like probabilities, where it is taken for logits."""
    warnings.warn(
        f"all given numbers are in [0, 1], like probabilities, but {what}.{MODES.see}", UserWarning, stacklevel=level
    )


def taken(x: Tensor, channels: Sequence[int], dim: int = 1) -> Tensor:
    """The chosen entries along an axis; all of them, in order, are the tensor itself.

    A list as an index would be copied to the device of the tensor first, and the host would wait for that.
    """
    if list(channels) == list(range(x.shape[dim])):
        return x
    each = x.unbind(dim)
    return torch.stack([each[c] for c in channels], dim)
