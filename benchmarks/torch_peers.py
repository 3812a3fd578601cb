"""Lovász losses of other projects, each as a function of logits (1, C, H, W) and int64 labels (1, H, W).

Their modules are loaded without the packages around them, which need more than PyTorch.
"""

import contextlib
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

from torch import Tensor

Run = Callable[[Tensor, Tensor], Tensor]


def hinges(berman: Path | None) -> dict[str, Run]:
    """The binary Lovász hinges that are at hand."""
    found: dict[str, Run] = {}
    if berman is not None:
        its = _file(berman)
        found["Berman"] = lambda logits, target: its.lovasz_hinge(logits[:, 0], target, per_image=False)
    with contextlib.suppress(ImportError):
        smp = _alone("segmentation_models_pytorch", "losses.lovasz").LovaszLoss("binary")
        found[_named("segmentation_models_pytorch", "smp")] = smp
    with contextlib.suppress(ImportError):
        # One image in a batch: kornia takes the mean over images, and knows no set of a whole batch.
        kornia = _alone("kornia", "losses.lovasz_hinge")
        found[_named("kornia", "kornia")] = kornia.LovaszHingeLoss()
    return found


def softmaxes(berman: Path | None) -> dict[str, Run]:
    """The Lovász-softmax losses that are at hand."""
    found: dict[str, Run] = {}
    if berman is not None:
        its = _file(berman)
        found["Berman"] = lambda logits, target: its.lovasz_softmax(logits.softmax(dim=1), target)
    with contextlib.suppress(ImportError):
        smp = _alone("segmentation_models_pytorch", "losses.lovasz").LovaszLoss("multiclass")
        found[_named("segmentation_models_pytorch", "smp")] = smp
    with contextlib.suppress(ImportError):
        # It takes the mean over all classes, which is that over the present ones where all are present.
        kornia = _alone("kornia", "losses.lovasz_softmax")
        found[_named("kornia", "kornia")] = kornia.LovaszSoftmaxLoss()
    return found


def _named(package: str, name: str) -> str:
    try:
        return f"{name} {version(package)}"
    except PackageNotFoundError:
        return name


def _file(path: Path) -> ModuleType:
    """The module in one file."""
    spec = importlib.util.spec_from_file_location("berman", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


def _alone(package: str, name: str) -> ModuleType:
    """A module of a package, which is found without running the ``__init__`` of the packages around it."""
    if package not in sys.modules:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(package)
        root = Path(next(iter(spec.submodule_search_locations)))
        for inner in (".", "losses", "core"):
            full = package if inner == "." else f"{package}.{inner}"
            shell = ModuleType(full)
            shell.__path__ = [str(root / inner)]
            sys.modules[full] = shell
    return importlib.import_module(f"{package}.{name}")
