"""Saved models: every argument."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setwise.compare import SavedModel, load_model, save_model
from surface.refusals import COUNTS, FLAGS, OBJECTS, Parameter, try_all, without

FITTED = LogisticRegression().fit(np.eye(4), [0, 1, 0, 1])
USUAL = {"estimator": FITTED, "classes": ("no", "yes"), "loss": "f1", "n_features": 4, "response": "predict_proba"}
PATHS = OBJECTS | {"another ending": "model.pkl", "nothing": "", "zero": "a\0.skops"}


def models():
    wrong = {
        "estimator": OBJECTS,
        "classes": OBJECTS | {"one": ("a",), "three": ("a", "b", "c"), "numbers": (0, 1)},
        "loss": OBJECTS,
        "columns": OBJECTS | {"names": ("a",)},
        "n_features": COUNTS | {"zero": 0},
        "first": COUNTS | {"two": 2},
        "places": without(OBJECTS, "None") | {"floats": np.zeros(2), "matrix": np.zeros((2, 2), dtype=np.int64)},
        "response": OBJECTS | {"another": "transform"},
        "threshold": without(OBJECTS, "None", "number", "float") | {"pair": (0.1, 0.2), "NaN": np.nan, "text": "a"},
        "many": FLAGS,
        "group": without(OBJECTS, "None"),
        "joint": FLAGS,
        "version": OBJECTS,
    }
    for name, values in wrong.items():
        yield Parameter(f"SavedModel({name})", lambda v, name=name: SavedModel(**(USUAL | {name: v})), values)


def files():
    yield Parameter("load_model(path, file)", load_model, PATHS | {"no such": str(Path("no/such.skops"))})
    yield Parameter("save_model(path)", lambda v: save_model(SavedModel(**USUAL), v), PATHS)
    yield Parameter("save_model(model)", lambda v: save_model(v, "model.skops"), OBJECTS)


@pytest.mark.parametrize("parameter", [*models(), *files()], ids=lambda parameter: parameter.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter, tmp_path, monkeypatch):
    pytest.importorskip("skops.io")
    monkeypatch.chdir(tmp_path)
    try_all(parameter)
    assert not list(tmp_path.iterdir())
