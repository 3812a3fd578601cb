"""A file is a noun of the field: few enough lines to be read at once, in functions that fit on a screen."""

import ast
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from sklearn.datasets import make_classification

import setwise
from setwise.cli import main
from setwise.graphs import from_image

FILES = sorted(Path(setwise.__file__).parent.rglob("*.py"))


def test_files_have_800_lines_at_most():
    assert [file for file in FILES if len(file.read_text("utf-8").splitlines()) > 800] == []


def test_functions_have_60_lines_at_most_beside_their_docstring():
    # Kernels are loops, which Numba compiles best in one piece.
    files = [file for file in FILES if file.parent.name != "kernels"]
    found = [
        (file, one.name)
        for file in files
        for one in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(one, ast.FunctionDef) and lines_of(one) > 60
    ]
    assert found == []


def lines_of(one):
    """The lines of a function without its docstring."""
    said = one.body[0].end_lineno - one.body[0].lineno + 1 if ast.get_docstring(one) else 0
    return one.end_lineno - one.lineno + 1 - said


def test_a_class_has_a_name_of_its_own():
    # Users know the two of Dask by the names of those that they stand for.
    homes = {}
    for file in FILES:
        for one in ast.parse(file.read_text("utf-8")).body:
            if isinstance(one, ast.ClassDef):
                homes.setdefault(one.name, []).append(file)
    assert {name for name, files in homes.items() if len(files) > 1} == {"SetClassifier", "MeasureClassifier"}


X, Y = make_classification(200, 5, weights=[0.8], random_state=0)


def networks():
    rng = np.random.default_rng(0)
    mask = np.zeros((12, 12), bool)
    mask[3:8, 4:9] = True
    graphs = [from_image(mask + 0.4 * rng.standard_normal(mask.shape)) for _ in range(4)]
    setwise.GraphClassifier("jaccard", tol=0.2).fit(graphs, [graph.labels_of(mask) for graph in graphs])


def hinge():
    torch, losses = import_module("torch"), import_module("setwise.torch")
    logits = torch.randn(4, 64, requires_grad=True)
    losses.LovaszHingeLoss("jaccard")(logits, (logits > 0.3).long().detach()).backward()


def compared():
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        run = ["compare", "--quick", "--time-budget", "7200", "--n-jobs", "1", "--out", f"{folder}/report"]
        with suppress(SystemExit):
            main(run)


CALLS = {
    "groups": (45, 12, lambda: setwise.SetClassifier("jaccard").fit(X, Y, groups=np.repeat(np.arange(20), 10))),
    "one set": (42, 12, lambda: setwise.SetClassifier("f1").fit(X, Y)),
    "threshold": (27, 11, lambda: setwise.MeasureClassifier(loss="f1", strategies=["threshold"]).fit(X, Y)),
    "all strategies": (62, 16, lambda: setwise.MeasureClassifier(loss="f1").fit(X, Y)),
    "networks": (62, 20, networks),
    "hinge": (15, 7, hinge),
    "compare": (88, 22, compared),
}
"""Calls, how many files of the library one may enter, and how often the deepest call may go from one file to another.

The numbers may fall, and not rise.
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_call_enters_few_files(name):
    most_files, most_doors, _ = CALLS[name]
    # In a process of its own, since the plain twins of kernels make way for these one after another.
    code = f"import test_house as t; call = t.CALLS[{name!r}][2]; call(); print(*t.rooms(call))"
    found = []
    # On a busy machine kernels make way earlier, and a call may enter some files more.
    while len(found) < 3 and not any(files <= most_files and doors <= most_doors for files, doors in found):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
        found.append(tuple(map(int, done.stdout.split()[-2:])))
    assert any(files <= most_files and doors <= most_doors for files, doors in found), found


def rooms(call):
    """How many files of the library a call enters, and through how many of them its deepest call has come."""
    root, files, stack, doors = str(Path(setwise.__file__).parent), set(), [], 0

    def seen(frame, event, _):
        nonlocal doors
        file = frame.f_code.co_filename
        if not file.startswith(root):
            return
        if event == "call":
            files.add(file)
            stack.append((file, id(frame)))
            doors = max(doors, 1 + sum(one[0] != other[0] for one, other in pairwise(stack)))
        elif event == "return" and stack and stack[-1][1] == id(frame):
            stack.pop()

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(before)
    return len(files), doors
