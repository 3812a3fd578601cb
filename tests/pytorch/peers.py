"""Modules of other packages, each loaded without the package around it.

They are found in the folders that SETWISE_PEERS names, separated as in PATH, or where they are installed.
"""

import importlib
import importlib.metadata
import importlib.util
import os
import sys
import warnings
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest


def folders():
    return [Path(each) for each in os.environ.get("SETWISE_PEERS", "").split(os.pathsep) if each]


def each(package, name):
    """``(version, module)`` of every version of a package at hand, as cases of a test; a skipped case if none is."""
    found = [folder / package for folder in folders() if (folder / package).is_dir()]
    if not found and (spec := importlib.util.find_spec(package)):
        found = [Path(spec.origin).parent]
    cases = [(version_of(root), alone(root, name)) for root in found]
    reason = f"needs {package}: pip install 'setwise[benchmark]', or name a folder that has it by SETWISE_PEERS"
    return cases or [pytest.param((None, None), marks=pytest.mark.skip(reason=reason))]


def version_of(root):
    found = importlib.metadata.distributions(path=[str(root.parent)])
    named = {dist.name.replace("-", "_"): dist.version for dist in found}
    return tuple(int(part) for part in named[root.name].split("."))


def alone(root, name):
    """A module of the package in ``root``; the folders on its way are packages whose ``__init__`` has not run."""
    shells = {}
    for inner in ("", *(each.name for each in root.iterdir() if each.is_dir())):
        shell = ModuleType(".".join(filter(None, (root.name, inner))))
        shell.__path__ = [str(root / inner)]
        shells[shell.__name__] = shell
    others = {key: None for key in sys.modules if key.split(".")[0] == root.name}
    with patch.dict(sys.modules, shells), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key in others.keys() - shells.keys():
            del sys.modules[key]
        return importlib.import_module(f"{root.name}.{name}")


def berman():
    """The functions of the first authors of Lovász-softmax, ``berman.py`` in a folder of SETWISE_PEERS, or a skip."""
    files = [folder / "berman.py" for folder in folders() if (folder / "berman.py").is_file()]
    if not files:
        pytest.skip("needs berman.py, lovasz_losses.py of LovaszSoftmax, in a folder that SETWISE_PEERS names")
    spec = importlib.util.spec_from_file_location("berman", files[0])
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module
