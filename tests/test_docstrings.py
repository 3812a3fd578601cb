"""Every public name has a docstring: what it takes, returns and refuses, its source, and an example that runs.

So has every method of an estimator, but for source and example, which are those of its class.
"""

import doctest
import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import setwise
from packages import PACKAGES, WITH_METHODS
from public_names import EXTRA, public_methods, public_names

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


# What needs another package than torch is slow.
@pytest.fixture(
    params=[
        pytest.param(name, marks=() if EXTRA.get(name, "torch") == "torch" else pytest.mark.slow) for name in PACKAGES
    ]
)
def names(request):
    """The public names of one package; skipped where its extra is not installed."""
    if request.param in EXTRA:
        pytest.importorskip(EXTRA[request.param])
    return public_names(request.param)


def test_every_package_that_exports_names_has_pages():
    root = Path(setwise.__file__).parent
    exporting = [file.parent for file in root.rglob("__init__.py") if "\n__all__" in file.read_text("utf-8")]
    assert {".".join(folder.relative_to(root.parent).parts) for folder in exporting} == set(PACKAGES)


def test_every_public_name_says_all_that_a_user_needs(names):
    lacking = {str(name): name.missing for name in names if name.missing}
    assert not lacking, "\n" + "\n".join(f"{name}: {', '.join(lacks)}" for name, lacks in lacking.items())


@pytest.mark.parametrize("package", WITH_METHODS)
def test_every_method_says_what_it_takes_returns_and_refuses(package):
    if package in EXTRA:
        pytest.importorskip(EXTRA[package])
    lacking = {str(name): name.missing for name in public_methods(package) if name.missing}
    assert not lacking, "\n" + "\n".join(f"{name}: {', '.join(lacks)}" for name, lacks in lacking.items())


def test_every_example_runs_and_prints_what_it_says(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(names[0].package)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    printed = []
    # The same classes stand in these packages and in setwise, and their examples run in one.
    homes = ("setwise.estimators", "setwise.distributed") if names[0].package == "setwise" else ()
    again = {name.text for home in homes for name in public_names(home)}
    for name in filter(_can_run, (name for name in names if name.text not in again)):
        test = doctest.DocTestParser().get_doctest(name.text, {"np": np}, str(name), module.__file__, 0)
        runner.run(test, out=printed.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(printed)


def _can_run(name):
    """Whether all that the example needs is installed; what it does not import itself is in EXTRA."""
    needed = [*re.findall(r">>> (?:from|import) (\w+)", name.text), EXTRA.get(str(name), "setwise")]
    return all(find_spec(module) for module in needed)


def test_help_shows_the_arguments_of_decisions_as_they_are_written():
    for name in public_names("setwise.decisions"):
        assert "numpy._typing" not in str([argument.annotation for argument in name.arguments]), str(name)
