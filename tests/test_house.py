"""A file is a noun of the field: few enough lines to be read at once, in functions that fit on a screen."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

import setwise

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
CALLS = {
    "groups": (51, lambda: setwise.SetClassifier("jaccard").fit(X, Y, groups=np.repeat(np.arange(20), 10))),
    "one set": (48, lambda: setwise.SetClassifier("jaccard").fit(X, Y)),
    "threshold": (28, lambda: setwise.MeasureClassifier(loss="f1", strategies=["threshold"]).fit(X, Y)),
    "all strategies": (67, lambda: setwise.MeasureClassifier(loss="f1").fit(X, Y)),
}
"""Calls, and how many files of the library one may enter. The numbers may fall, and not rise."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_call_enters_few_files(name):
    most, call = CALLS[name]
    call()
    entered = set()
    root = str(Path(setwise.__file__).parent)
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: entered.add(frame.f_code.co_filename) if event == "call" else None)
    try:
        call()
    finally:
        sys.setprofile(before)
    assert len([file for file in entered if file.startswith(root)]) <= most
