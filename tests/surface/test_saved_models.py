"""Saved models: every argument."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from setwise.compare import SavedModel, load_model, save_model, tune
from setwise.datasets.columns import Number
from setwise.losses import RowCosts
from surface.refusals import COUNTS, FLAGS, OBJECTS, Parameter, try_all, without

FITTED = LogisticRegression().fit(np.eye(4), [0, 1, 0, 1])
USUAL = {"estimator": FITTED, "classes": ("no", "yes"), "loss": "f1", "n_features": 4, "response": "predict_proba"}
PATHS = OBJECTS | {"another ending": "model.pkl", "nothing": "", "zero": "a\0.skops"}


def models():
    wrong = {
        "estimator": OBJECTS,
        "classes": OBJECTS | {"one": ("a",), "numbers": (0, 1)},
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
        "fitted_to": OBJECTS | {"another": "table", "a frame without columns": "frame"},
    }
    for name, values in wrong.items():
        yield Parameter(f"SavedModel({name})", lambda v, name=name: SavedModel(**(USUAL | {name: v})), values)


def files():
    yield Parameter("load_model(path, file)", load_model, PATHS | {"no such": str(Path("no/such.skops"))})
    yield Parameter("save_model(path)", lambda v: save_model(SavedModel(**USUAL), v), PATHS)
    yield Parameter("save_model(model)", lambda v: save_model(v, "model.skops"), OBJECTS)

    usual = {"model": FITTED, "path": "own.skops", "table": pd.DataFrame(np.eye(4), columns=list("abcd"))}
    wrong = {
        "table": without(OBJECTS, "None") | {"a column too few": usual["table"][["a", "b", "c"]]},
        "pos_label": without(OBJECTS, "None", "number") | {"another": 2},
        "labels": without(OBJECTS, "None") | {"one, of numbers": (1,)},
    }
    for name, values in wrong.items():
        yield Parameter(f"save_model({name})", lambda v, name=name: save_model(**(usual | {name: v})), values)


def tuning():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=list("abcd"))
    fitted = LogisticRegression().fit(table.to_numpy(), np.arange(40) % 2)
    columns = tuple(map(Number, "abcd"))
    model = SavedModel(fitted, ("no", "yes"), "f1", columns, response="predict_proba")
    data = table.assign(y=["no", "yes"] * 20, pay="much")
    usual = {"model": model, "data": data, "new_rows": True}
    wrong = {
        "model": PATHS | {"no such": "no/such.skops"},
        "data": OBJECTS
        | {"no such": "no/such.csv", "no rows": data[:0], "no labels": table, "a word": data.assign(a="b")},
        "target": without(OBJECTS, "None") | {"two": "y,a", "numbers": "a", "no such": "z"},
        "loss": OBJECTS | {"no such": "f", "an order": "auc", "two": "f1,jaccard", "text as costs": RowCosts(fn="pay")},
        "floor": without(OBJECTS, "None"),
        "group": without(OBJECTS, "None") | {"no such": "z"},
        "average": OBJECTS | {"of a matrix": "macro"},
        "sample_weight": without(OBJECTS, "None") | {"too few": np.ones(3), "negative": -np.ones(40)},
        "new_rows": FLAGS | {"no word": False},
        "sep": without(OBJECTS, "None") | {"of a frame": ";"},
        "encoding": without(OBJECTS, "None") | {"of a frame": "utf-8"},
    }
    other = {"model": "model, path, file", "data": "data, file, target", "target": "target, data", "loss": "loss, pay"}
    other |= {"group": "group, data"}
    for name, values in wrong.items():
        yield Parameter(f"tune({other.get(name, name)})", lambda v, name=name: tune(**(usual | {name: v})), values)


@pytest.mark.parametrize("parameter", [*models(), *files(), *tuning()], ids=lambda parameter: parameter.where)
def test_a_malformed_argument_is_refused_in_a_sentence(parameter, tmp_path, monkeypatch):
    pytest.importorskip("skops.io")
    monkeypatch.chdir(tmp_path)
    try_all(parameter)
    assert not list(tmp_path.iterdir())
